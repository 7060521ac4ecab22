/* Times micro-kernels by themselves, on data in the first cache, beside what multiply-adds alone reach.
 *
 *     solo LIBRARY ROUNDS < lines of "NAME FLOPS_A_STEP COLUMNS DEPTH MASKED"
 *
 * Each line names a function f([n,] k, ldc, A, B, C) of the library; all take turns, and each has a line of JSON.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef void (*Whole)(ptrdiff_t, ptrdiff_t, void *, void *, void *);
typedef void (*Part)(ptrdiff_t, ptrdiff_t, ptrdiff_t, void *, void *, void *);

typedef struct {
  char name[128];
  void *function;
  double work; /* floating operations for each step of k */
  long columns, depth, masked, times;
  double *seconds, *peaks; /* of a call, and what multiply-adds reached right before: one for each round */
} Kernel;

/* BYTES: of the vectors that the kernels use, of which there are 16 or, with AVX-512, 32. */
enum { STREAMS = BYTES == 64 ? 24 : 12 };
/* The length of C's rows, more than the columns of a tile, as in a product. */
enum { ROW = 80 };
typedef REAL Vector __attribute__((vector_size(BYTES)));

static const double SAMPLE = 1e-3;
static volatile REAL half = 0.5, sink;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static double measure_peak(void) {
  enum { STEPS = 100000 };
  Vector factor = {0}, sums[STREAMS], total = {0};
  factor += half;
#pragma GCC unroll 24
  for (int i = 0; i < STREAMS; i++) sums[i] = factor * (REAL)i;
  double start = now();
  for (long step = 0; step < STEPS; step++)
#pragma GCC unroll 24
    for (int i = 0; i < STREAMS; i++) sums[i] = sums[i] * factor + factor;
  double seconds = now() - start;
#pragma GCC unroll 24
  for (int i = 0; i < STREAMS; i++) total += sums[i];
  sink = total[0];
  return 2.0 * STEPS * STREAMS * (BYTES / sizeof(REAL)) / seconds;
}

static double run(const Kernel *x, void *a, void *b, void *c) {
  double start = now();
  for (long i = 0; i < x->times; i++) {
    if (x->masked)
      ((Part)x->function)(x->columns, x->depth, ROW, a, b, c);
    else
      ((Whole)x->function)(x->depth, ROW, a, b, c);
  }
  return (now() - start) / (double)x->times;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *values, int count) {
  qsort(values, (size_t)count, sizeof *values, ascending);
  return values[count / 2];
}

int main(int count, char **given) {
  int rounds = count == 3 ? atoi(given[2]) : 0;
  if (rounds < 1) return 2;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  sched_setaffinity(0, sizeof one, &one);
  void *library = dlopen(given[1], RTLD_NOW);
  if (!library) return fprintf(stderr, "%s\n", dlerror()), 2;
  int kernels = 0;
  static Kernel all[4096];
  while (kernels < 4096 && scanf("%127s %lf %ld %ld %ld", all[kernels].name, &all[kernels].work, &all[kernels].columns,
                                 &all[kernels].depth, &all[kernels].masked) == 5) {
    Kernel *x = &all[kernels++];
    if (!(x->function = dlsym(library, x->name))) return fprintf(stderr, "no %s\n", x->name), 2;
    x->seconds = calloc((size_t)rounds, sizeof(double));
    x->peaks = calloc((size_t)rounds, sizeof(double));
  }
  enum { ROOM = 1 << 22 };
  REAL *a = aligned_alloc(4096, ROOM), *b = aligned_alloc(4096, ROOM), *c = aligned_alloc(4096, ROOM);
  for (size_t i = 0; i < ROOM / sizeof(REAL); i++) a[i] = b[i] = (REAL)0.001, c[i] = 0;
  for (Kernel *x = all; x < all + kernels; x++) {
    x->times = 1;
    while (run(x, a, b, c) * (double)x->times < SAMPLE) x->times *= 2;
  }
  for (int round = 0; round < rounds; round++) {
    for (int i = 0; i < kernels; i++) {
      Kernel *x = &all[(i + round) % kernels];
      x->peaks[round] = measure_peak();
      x->seconds[round] = run(x, a, b, c);
    }
  }
  double *shares = calloc((size_t)rounds, sizeof *shares);
  for (Kernel *x = all; x < all + kernels; x++) {
    double work = x->work * (double)x->depth;
    /* The clock's frequency drifts: each call is compared with the peak beside it. */
    for (int round = 0; round < rounds; round++) shares[round] = work / x->seconds[round] / x->peaks[round];
    double share = median(shares, rounds), typical = median(x->seconds, rounds), peak = median(x->peaks, rounds);
    printf("{\"name\": \"%s\", \"columns\": %ld, \"depth\": %ld, \"gflops\": %.4g, \"share\": %.5g, "
           "\"peak\": %.4g, \"seconds\": %.4g}\n",
           x->name, x->columns, x->depth, work / typical / 1e9, share, peak / 1e9, typical);
  }
}
