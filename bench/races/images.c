/* Races functions that compute one image of another: each is checked against the first, then all are timed in turns.
 *
 * Compiled with -DPIXEL=TYPE, -DROWS (a scratch image is passed), -DWEIGHTS (weights are), and a list of contestants:
 * -D'PLAIN(X)=X(gcc) X(clang) X(ours)' and -D'HALIDE(X)=X(name_schedule) …'. Arguments: width, height, rounds.
 * Prints a line `NAME NANOSECONDS` a contestant: the median time of a pixel; 1 where an output differs.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef ROWS
#define PARAMETERS int, int, const PIXEL *restrict, ptrdiff_t, PIXEL *restrict, PIXEL *restrict, ptrdiff_t
#define ARGUMENTS width, height, in, in_stride, rows, out, width
#elif defined WEIGHTS
#define PARAMETERS int, int, const PIXEL *restrict, ptrdiff_t, PIXEL *restrict, ptrdiff_t, const int8_t *restrict
#define ARGUMENTS width, height, in, in_stride, out, width, weights
#else
#define PARAMETERS int, int, const PIXEL *restrict, ptrdiff_t, PIXEL *restrict, ptrdiff_t
#define ARGUMENTS width, height, in, in_stride, out, width
#endif

/* What Halide calls a buffer (its C interface, version 21). */
typedef struct { int32_t min, extent, stride; uint32_t flags; } Dimension;
typedef struct { uint8_t code, bits; uint16_t lanes; } Type;
typedef struct {
    uint64_t device; const void *interface; uint8_t *host; uint64_t flags; Type type; int32_t rank; Dimension *of; void *pad;
} Buffer;

enum { MORE = 512, BORDER = 16, CONTESTANTS = 64, ROUNDS = 4096 };
static int width, height, in_stride;
static PIXEL *in, *rows, *out, *first;
static int8_t weights[9];

void *halide_malloc(void *context, size_t bytes) { (void)context; return aligned_alloc(128, (bytes + 255) & ~(size_t)127); }
void halide_free(void *context, void *block) { (void)context; free(block); }
int halide_error_out_of_memory(void *context) { (void)context; return -1; }

#define DECLARE(name) void name(PARAMETERS); static void run_##name(void) { name(ARGUMENTS); }
PLAIN(DECLARE)

#ifdef HALIDE
#ifdef WEIGHTS
#define CALL(name) name(&from, &taps, &to)
#define BUFFERS Buffer *, Buffer *, Buffer *
#else
#define CALL(name) name(&from, &to)
#define BUFFERS Buffer *, Buffer *
#endif
#define DECLARE_HALIDE(name) \
    int name(BUFFERS); \
    static void run_##name(void) \
    { \
        Dimension f[] = {{0, in_stride, 1, 0}, {0, height + BORDER, in_stride, 0}}, t[] = {{0, width, 1, 0}, {0, height, width, 0}}; \
        Dimension w[] = {{0, 3, 1, 0}, {0, 3, 3, 0}}; \
        Buffer from = {.host = (uint8_t *)in, .type = {1, 8 * sizeof(PIXEL), 1}, .rank = 2, .of = f}; \
        Buffer to = {.host = (uint8_t *)out, .type = {1, 8 * sizeof(PIXEL), 1}, .rank = 2, .of = t}; \
        Buffer taps = {.host = (uint8_t *)weights, .type = {0, 8, 1}, .rank = 2, .of = w}; \
        (void)taps; \
        CALL(name); \
    }
HALIDE(DECLARE_HALIDE)
#else
#define HALIDE(X)
#endif

#define ENTRY(name) {#name, run_##name},
static const struct { const char *name; void (*run)(void); } contestants[] = {PLAIN(ENTRY) HALIDE(ENTRY)};
static double times[CONTESTANTS][ROUNDS];

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * t.tv_sec + t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void *image(size_t pixels)
{
    PIXEL *made = aligned_alloc(4096, (pixels * sizeof(PIXEL) + 8191) & ~(size_t)4095);
    uint32_t seed = 12345;
    for (size_t i = 0; made && i < pixels; i++)
        made[i] = (PIXEL)((seed = seed * 1664525u + 1013904223u) >> 12);
    return made;
}

int main(int count, char **arguments)
{
    if (count != 4)
        return 2;
    width = atoi(arguments[1]), height = atoi(arguments[2]);
    const int rounds = atoi(arguments[3]) < ROUNDS ? atoi(arguments[3]) : ROUNDS;
    const int n = sizeof contestants / sizeof *contestants;
    const size_t pixels = (size_t)width * height;
    in_stride = width + MORE;
    in = image((size_t)in_stride * (height + BORDER));
    rows = image((size_t)width * (height + BORDER)), out = image(pixels), first = image(pixels);
    for (int i = 0; i < 9; i++)
        weights[i] = (int8_t)(in[i] % 41 - 20);
    int differ = 0;
    for (int c = 0; c < n; c++) {
        memset(out, 0x5a, pixels * sizeof(PIXEL));
        contestants[c].run();
        if (c == 0)
            memcpy(first, out, pixels * sizeof(PIXEL));
        else if (memcmp(first, out, pixels * sizeof(PIXEL)))
            differ = 1, printf("%s differs\n", contestants[c].name);
    }
    for (int r = 0; r < rounds; r++)
        for (int c = 0; c < n; c++) {
            const double start = now();
            int calls = 0;
            do
                contestants[c].run(), calls++;
            while (now() - start < 2e5);
            times[c][r] = (now() - start) / calls / pixels;
        }
    for (int c = 0; c < n; c++) {
        qsort(times[c], rounds, sizeof(double), ascending);
        printf("%s %.6f\n", contestants[c].name, times[c][rounds / 2]);
    }
    return differ;
}
