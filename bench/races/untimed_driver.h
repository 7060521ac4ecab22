/* Runs one loop out of several libraries: compares each with the first at eight sizes, then times all in turns at three.
   Before it: turns.h. */
#include <math.h>

enum { BUFFERS = 8, SIZES = 8, TIMED = 3 };

/* Elements of so many bytes; real: floats. */
struct kind {
    size_t bytes;
    int real;
};

struct call {
    int n, w, h;
    unsigned char *buffer[BUFFERS];
    double result;
};

static const int widths[SIZES] = { 8, 60, 400, 1, 7, 13, 33, 130 }, heights[SIZES] = { 8, 50, 250, 1, 5, 11, 9, 9 };

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fill(unsigned char *to, struct kind kind, size_t count, uint64_t *seed)
{
    for (size_t i = 0; i < count; i++) {
        *seed = *seed * 6364136223846793005u + 1442695040888963407u;
        const double d = (double)(*seed >> 33) / 1073741824.0 - 1;
        const float f = (float)d;
        const uint64_t bits = *seed >> 24;
        const void *from = !kind.real ? (const void *)&bits : kind.bytes == 4 ? (const void *)&f : (const void *)&d;
        memcpy(to + kind.bytes * i, from, kind.bytes);
    }
}

static double element(const unsigned char *from, struct kind kind, size_t i)
{
    float f;
    double d;
    if (kind.bytes == 8) {
        memcpy(&d, from + 8 * i, 8);
        return d;
    }
    memcpy(&f, from + 4 * i, 4);
    return f;
}

static int is_near(double a, double b)
{
    return fabs(a - b) <= 2e-4 * (1 + fabs(a)) || (isnan(a) && isnan(b));
}

static int is_alike(const unsigned char *a, const unsigned char *b, struct kind kind, size_t count)
{
    if (!kind.real) return !memcmp(a, b, kind.bytes * count);
    for (size_t i = 0; i < count; i++)
        if (!is_near(element(a, kind, i), element(b, kind, i))) return 0;
    return 1;
}

/* DRIVER ROUNDS LIBRARY...: the number of wrong results; then a line for each size with the nanoseconds of each. */
static int drive(int count, char **argument, const char *name, run *go, int buffers, const struct kind *kinds)
{
    const int libraries = count - 2, rounds = atoi(argument[1]);
    void *function[LIBRARIES];
    if (!load_all(function, argument + 2, libraries, name)) return 1;
    int wrong = 0;
    double best[SIZES][LIBRARIES];
    for (int s = 0; s < SIZES; s++) {
        struct call c = { .n = widths[s] * heights[s], .w = widths[s], .h = heights[s] };
        const size_t elements = 4 * (size_t)c.n + 256;
        unsigned char *first[BUFFERS], *wanted[BUFFERS];
        uint64_t seed = 1;
        for (int i = 0; i < buffers; i++) {
            const size_t bytes = elements * kinds[i].bytes;
            c.buffer[i] = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
            first[i] = malloc(bytes);
            wanted[i] = malloc(bytes);
            fill(first[i], kinds[i], elements, &seed);
        }
        double result = 0;
        for (int k = 0; k < libraries; k++) {
            c.result = 0;
            for (int i = 0; i < buffers; i++) memcpy(c.buffer[i], first[i], elements * kinds[i].bytes);
            go(function[k], &c, 1);
            if (k == 0) result = c.result;
            for (int i = 0; i < buffers; i++)
                if (k == 0) memcpy(wanted[i], c.buffer[i], elements * kinds[i].bytes);
                else wrong += !is_alike(wanted[i], c.buffer[i], kinds[i], elements);
            wrong += !is_near(result, c.result);
        }
        int times = 1;
        while (s < TIMED && times < 1 << 20) {
            const double begun = seconds();
            go(function[0], &c, times);
            if (seconds() - begun > 4e-4) break;
            times *= 2;
        }
        for (int k = 0; k < libraries; k++) best[s][k] = 1e9;
        for (int r = 0; s < TIMED && r < rounds; r++)
            for (int k = 0; k < libraries; k++) {
                for (int i = 0; i < buffers; i++) memcpy(c.buffer[i], first[i], elements * kinds[i].bytes);
                go(function[k], &c, 1 + times / 8);
                const double begun = seconds();
                go(function[k], &c, times);
                const double took = (seconds() - begun) / times;
                if (took < best[s][k]) best[s][k] = took;
            }
        for (int i = 0; i < buffers; i++) {
            free(c.buffer[i]);
            free(first[i]);
            free(wanted[i]);
        }
    }
    printf("%d\n", wrong);
    for (int s = 0; s < TIMED; s++) {
        printf("%d", widths[s] * heights[s]);
        for (int k = 0; k < libraries; k++) printf(" %.6g", 1e9 * best[s][k]);
        printf("\n");
    }
    return 0;
}
