/* Runs one loop of TSVC out of several libraries: compares each with the first, or times all of them in turns.
   Before it: the arrays, initialise_arrays(), `enum { REAL_ARRAYS }` and what the loop's caller has to be. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xmmintrin.h>

struct place { void *now; size_t bytes; unsigned char *first, *right; };

static struct place places[] = {
    { a, sizeof a, 0, 0 }, { b, sizeof b, 0, 0 }, { c, sizeof c, 0, 0 }, { d, sizeof d, 0, 0 }, { e, sizeof e, 0, 0 },
    { x, sizeof x, 0, 0 }, { aa, sizeof aa, 0, 0 }, { bb, sizeof bb, 0, 0 }, { cc, sizeof cc, 0, 0 },
    { tt, sizeof tt, 0, 0 }, { flat_2d_array, sizeof flat_2d_array, 0, 0 }, { indx, sizeof indx, 0, 0 },
};
enum { PLACES = sizeof places / sizeof *places, REALS = PLACES - 1 };

static void keep(void)
{
    for (int i = 0; i < PLACES; i++) {
        if (!places[i].first) {
            places[i].first = malloc(places[i].bytes);
            places[i].right = malloc(places[i].bytes);
        }
        memcpy(places[i].first, places[i].now, places[i].bytes);
    }
}

static void reset(void)
{
    for (int i = 0; i < PLACES; i++) memcpy(places[i].now, places[i].first, places[i].bytes);
}

/* Both signs, all magnitudes near 1: conditions hold here and there. */
static void draw(uint64_t seed)
{
    for (int i = 0; i < REALS; i++)
        for (size_t j = 0; j < places[i].bytes / sizeof(real_t); j++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            ((real_t *)places[i].now)[j] = (real_t)((double)(seed >> 33) / 1073741824.0 - 1.0);
        }
}

static double distance(double right, double ours, double scale)
{
    if (right == ours || (right != right && ours != ours)) return 0;
    const double far = right > ours ? right - ours : ours - right;
    return far == far ? far / scale : 1e9;
}

typedef void run(void *function, double *result, int times);

/* The largest difference, relative to the largest finite element of its array. */
static double compare(run *go, void *right, void *ours)
{
    double expected = 0, result = 0, worst;
    reset();
    go(right, &expected, 1);
    for (int i = 0; i < PLACES; i++) memcpy(places[i].right, places[i].now, places[i].bytes);
    reset();
    go(ours, &result, 1);
    worst = distance(expected, result, expected > 1 ? expected : expected < -1 ? -expected : 1);
    for (int i = 0; i < REALS; i++) {
        const real_t *p = (const real_t *)places[i].right, *q = places[i].now;
        const size_t count = places[i].bytes / sizeof(real_t);
        double scale = 1e-30;
        for (size_t j = 0; j < count; j++) {
            const double size = p[j] < 0 ? -p[j] : p[j];
            if (size > scale && size < 1e30) scale = size;
        }
        for (size_t j = 0; j < count; j++) {
            const double far = distance(p[j], q[j], scale);
            if (far > worst) worst = far;
        }
    }
    return memcmp(places[REALS].right, indx, sizeof indx) ? 1e9 : worst;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* DRIVER check RANDOM|time ROUNDS LIBRARY...: a line for each library (check: for each but the first). */
static int drive(int count, char **argument, const char *name, run *go, void (*begin)(void))
{
    const int rounds = atoi(argument[2]), libraries = count - 3;
    void *function[16];
    double worst[16] = { 0 };
    for (int i = 0; i < libraries; i++) {
        void *library = dlopen(argument[3 + i], RTLD_NOW | RTLD_LOCAL);
        function[i] = library ? dlsym(library, name) : NULL;
        if (!function[i]) {
            fprintf(stderr, "%s: %s\n", argument[3 + i], dlerror());
            return 1;
        }
    }
    if (argument[1][0] == 'c') {
        for (int data = 0; data <= rounds; data++) {
            begin();
            if (data) draw((uint64_t)data);
            keep();
            for (int i = 1; i < libraries; i++) {
                const double far = compare(go, function[0], function[i]);
                if (far > worst[i]) worst[i] = far;
            }
        }
        for (int i = 1; i < libraries; i++) printf("%.3g\n", worst[i]);
        return 0;
    }
    _mm_setcsr(_mm_getcsr() | 0x8040); /* no contestant meets denormal numbers */
    begin();
    keep();
    double result;
    int times = 1;
    for (double took = 0; times < 1024; times *= 2) {
        reset();
        const double start = now();
        go(function[0], &result, times);
        took = now() - start;
        if (took > 5e-5) break;
    }
    for (int i = 0; i < libraries; i++) worst[i] = 1e9;
    for (int r = 0; r < rounds; r++)
        for (int i = 0; i < libraries; i++) {
            reset();
            go(function[i], &result, 1);
            const double start = now();
            go(function[i], &result, times);
            const double took = (now() - start) / times;
            if (took < worst[i]) worst[i] = took;
        }
    for (int i = 0; i < libraries; i++) printf("%.6g\n", worst[i]);
    return 0;
}
