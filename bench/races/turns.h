/* What the drivers of races share: a function out of several libraries, and the times of all, which run in turns. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __SSE__
#include <xmmintrin.h>
#endif

enum { LIBRARIES = 16 };

/* Calls a function so many times, with arguments out of `data`. */
typedef void run(void *function, void *data, int times);

/* Whether each library has the function. */
static int load_all(void **function, char **library, int libraries, const char *name)
{
    for (int i = 0; i < libraries; i++) {
        void *loaded = dlopen(library[i], RTLD_NOW | RTLD_LOCAL);
        function[i] = loaded ? dlsym(loaded, name) : NULL;
        if (!function[i]) {
            fprintf(stderr, "%s: %s\n", library[i], dlerror());
            return 0;
        }
    }
    return 1;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A line for each function: the seconds of a call, the least of all rounds. A round makes up to `most` calls. */
static void print_times(void **function, int libraries, run *go, void reset(void *data), void *data, int rounds, int most)
{
    double least[LIBRARIES];
    int times = 1;
#ifdef __SSE__
    _mm_setcsr(_mm_getcsr() | 0x8040); /* no contestant meets denormal numbers */
#endif
    for (; times < most; times *= 2) {
        reset(data);
        const double start = now();
        go(function[0], data, times);
        if (now() - start > 5e-5) break;
    }
    for (int i = 0; i < libraries; i++) least[i] = 1e9;
    for (int r = 0; r < rounds; r++)
        for (int i = 0; i < libraries; i++) {
            reset(data);
            go(function[i], data, 1);
            const double start = now();
            go(function[i], data, times);
            const double took = (now() - start) / times;
            if (took < least[i]) least[i] = took;
        }
    for (int i = 0; i < libraries; i++) printf("%.6g\n", least[i]);
}
