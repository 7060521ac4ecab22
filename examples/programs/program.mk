# `make run` builds and runs PROGRAM; `make planish` does with PART.c replaced by what planish makes of it.
CC = gcc
CFLAGS = -O2
PLANISH = planish
# What the first lines of the drop-in say.
FAST = $(shell sed -n 's/^ \*   compile: [^ ]* //p' planish-out/$(PART).c)

$(PROGRAM): main.c $(PART).c $(PART).h
	$(CC) $(CFLAGS) -o $@ main.c $(PART).c -lm

planish-out/$(PART).c: $(PART).c $(PART).h
	$(PLANISH) build $(PART).c

$(PROGRAM)-planish: main.c planish-out/$(PART).c $(PART).h
	$(CC) $(CFLAGS) -c -o main.o main.c
	$(CC) $(FAST) -I. -c -o $(PART).o planish-out/$(PART).c
	$(CC) -o $@ main.o $(PART).o -lm

run: $(PROGRAM)
	time ./$(PROGRAM)

planish: $(PROGRAM)-planish
	time ./$(PROGRAM)-planish

# Both print the same.
compare: $(PROGRAM) $(PROGRAM)-planish
	./$(PROGRAM) > plain.txt
	./$(PROGRAM)-planish > planish.txt
	diff plain.txt planish.txt

clean:
	rm -rf $(PROGRAM) $(PROGRAM)-planish *.o planish-out plain.txt planish.txt

.PHONY: run planish compare clean
