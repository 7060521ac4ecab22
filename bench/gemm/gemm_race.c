/* Races GEMM contestants in turns on one core: reads shapes `m n k`, prints a line of JSON for each.
 *
 *     echo 64 64 64 | gemm_race ROUNDS SECONDS BETA PAD  openblas cblas lib.so cblas_sgemm  ours plain own.so gemm
 *
 * Built for the elements of ELEMENT_F32, _F64, _BF16, _U8S8 or _I16; with LIBXSMM_DISPATCH also "libxsmm" takes part,
 * with ONEDNN_MATMUL "onednn-matmul", which are linked. Results are compared with those of plain loops. Exit code 1: a
 * result is wrong; 2: the race cannot be held.
 */

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <float.h>
#include <math.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gemm_types.h"

#include "gemm_contestants.h"

enum { ALIGNMENT = 64, GUARD = 64, LEAST_ROUNDS = 3, MOST_CONTESTANTS = 16 };

static const double SAMPLE_SECONDS = 2e-3;

typedef struct {
  double cpu, wall;
} Seconds;

typedef struct {
  const char *name;
  void *function;
  Repeat repeat;
  void *(*make)(const Problem *problem); /* the function for a shape, NULL where there is none; otherwise NULL */
  void (*destroy)(void *function);       /* what was made; NULL where it may stay */
  double error;                          /* the largest distance from the reference */
  long times;                            /* calls in a sample */
  Seconds *samples;
} Contestant;

/* Data and checking. */

static void *allocate(size_t count, size_t size) {
  void *array = aligned_alloc(ALIGNMENT, (count * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
  if (!array) fail("out of memory", "a smaller shape is needed");
  return array;
}

static double draw(void) {
  static uint64_t state = 1;
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (double)(state >> 11) / (1ull << 52) - 1;
}

static Left *draw_left(size_t count) {
  Left *array = allocate(count, sizeof *array);
  for (size_t i = 0; i < count; i++) array[i] = make_left(draw());
  return array;
}

static Right *draw_right(size_t count) {
  Right *array = allocate(count, sizeof *array);
  for (size_t i = 0; i < count; i++) array[i] = make_right(draw());
  return array;
}

static Sum *draw_sums(size_t count) {
  Sum *array = allocate(count, sizeof *array);
  for (size_t i = 0; i < count; i++) array[i] = make_sum(draw());
  return array;
}

/* C as a contestant finds it: where beta is zero it must not be read, and the padding must stay as it is. */
static void fill_result(const Problem *p, const Sum *initial, size_t count) {
  memcpy(p->c, initial, count * sizeof *initial);
  if (p->beta != 0) return;
  for (int i = 0; i < p->m; i++)
    for (int j = 0; j < p->n; j++) p->c[(size_t)i * p->ldc + j] = UNTOUCHED;
}

static void add_scaled(int count, Sum factor, const Sum *restrict from, Sum *restrict to) {
  for (int i = 0; i < count; i++) to[i] += factor * from[i];
}

/* C as it has to be, where it is as it was: by plain loops, a few rows of B at a time, which stay in a cache. */
static void multiply_plainly(const Problem *p, Sum *c) {
  enum { BLOCK = 64 };
  Sum *b = allocate((size_t)BLOCK * p->n, sizeof *b);
  for (int i = 0; i < p->m; i++)
    for (int j = 0; j < p->n; j++) c[(size_t)i * p->ldc + j] *= p->beta;
  for (int first = 0; first < p->k; first += BLOCK) {
    int depth = p->k - first < BLOCK ? p->k - first : BLOCK;
    for (int k = 0; k < depth; k++)
      for (int j = 0; j < p->n; j++) b[(size_t)k * p->n + j] = widen_right(p->b[(size_t)(first + k) * p->ldb + j]);
    for (int i = 0; i < p->m; i++)
      for (int k = 0; k < depth; k++) {
        Sum factor = widen_left(p->a[(size_t)i * p->lda + first + k]);
        add_scaled(p->n, factor, b + (size_t)k * p->n, c + (size_t)i * p->ldc);
      }
  }
  free(b);
}

static double find_error(const Sum *expected, const Sum *found, size_t count) {
  double worst = 0;
  for (size_t i = 0; i < count; i++) {
    double error = fabs((double)expected[i] - (double)found[i]);
    if (!(error <= DBL_MAX)) return DBL_MAX; /* JSON knows neither infinity nor what is no number */
    if (error > worst) worst = error;
  }
  return worst;
}

/* Many times what rounding does to sums of products in [-1, 1], and far less than a lost product; 0 for integers. */
static double tolerance(const Problem *p) { return 16 * EPSILON * (p->k + 4); }

/* The clock. */

static double read_clock(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static Seconds sample(const Contestant *contestant, const Problem *problem, long times) {
  double wall = read_clock(CLOCK_MONOTONIC), cpu = read_clock(CLOCK_THREAD_CPUTIME_ID);
  contestant->repeat(contestant->function, problem, times);
  cpu = read_clock(CLOCK_THREAD_CPUTIME_ID) - cpu;
  wall = read_clock(CLOCK_MONOTONIC) - wall;
  return (Seconds){cpu / (double)times, wall / (double)times};
}

static long choose_times(const Contestant *contestant, const Problem *problem) {
  long times = 1;
  while (sample(contestant, problem, times).cpu * (double)times < SAMPLE_SECONDS) times *= 2;
  return times;
}

/* Whether all have computed what plain loops compute. */
static int check(Contestant *contestants, int count, const Problem *p, const Sum *initial, size_t size) {
  Sum *expected = allocate(size, sizeof *expected);
  memcpy(expected, initial, size * sizeof *expected);
  multiply_plainly(p, expected);
  int right = 1;
  for (Contestant *x = contestants; x < contestants + count; x++) {
    if (x->repeat == repeat_peak) continue;
    fill_result(p, initial, size);
    x->repeat(x->function, p, 1);
    x->error = find_error(expected, p->c, size);
    if (x->error <= tolerance(p)) continue;
    fprintf(stderr, "wrong: %s at %d %d %d: error %g\n", x->name, p->m, p->n, p->k, x->error);
    right = 0;
  }
  free(expected);
  return right;
}

/* The number of rounds for which there was time; each begins with another contestant. */
static int take_turns(Contestant *contestants, int count, const Problem *p, int rounds, double seconds) {
  for (int i = 0; i < count; i++) contestants[i].times = choose_times(&contestants[i], p);
  double start = read_clock(CLOCK_MONOTONIC);
  int done = 0;
  while (done < rounds && (done < LEAST_ROUNDS || read_clock(CLOCK_MONOTONIC) - start < seconds)) {
    for (int turn = 0; turn < count; turn++) {
      Contestant *x = &contestants[(done + turn) % count];
      x->samples[done] = sample(x, p, x->times);
    }
    done++;
  }
  return done;
}

static int compare_samples(const void *a, const void *b) {
  double x = ((const Seconds *)a)->cpu, y = ((const Seconds *)b)->cpu;
  return (x > y) - (x < y);
}

static void print_scores(Contestant *contestants, int count, const Problem *p, int rounds) {
  printf("{\"shape\": [%d, %d, %d], \"rounds\": %d, \"scores\": {", p->m, p->n, p->k, rounds);
  for (int i = 0; i < count; i++) {
    Contestant *x = &contestants[i];
    qsort(x->samples, (size_t)rounds, sizeof *x->samples, compare_samples);
    Seconds median = x->samples[rounds / 2];
    double work = 1e-9 * (x->repeat == repeat_peak ? PEAK_WORK : 2.0 * p->m * p->n * p->k);
    printf("%s\"%s\": {\"gflops\": %.6g, \"best\": %.6g, \"seconds\": %.6g, \"wall\": %.6g, \"error\": %.3g}",
           i ? ", " : "", x->name, work / median.cpu, work / x->samples[0].cpu, median.cpu, median.wall, x->error);
  }
  printf("}}\n");
  fflush(stdout);
}

/* One shape from its data to its line; whether all results were right. */
static int race(const Contestant *contestants, int count, Problem p, int rounds, double seconds) {
  size_t size = (size_t)p.m * (size_t)p.ldc + GUARD;
  Left *a = draw_left((size_t)p.m * (size_t)p.lda);
  Right *b = draw_right((size_t)p.k * (size_t)p.ldb);
  Sum *initial = draw_sums(size);
  p.a = a, p.b = b, p.c = allocate(size, sizeof *p.c);
  Contestant racing[MOST_CONTESTANTS];
  int here = 0;
  for (const Contestant *x = contestants; x < contestants + count; x++) {
    racing[here] = *x;
    if (x->make) racing[here].function = x->make(&p);
    if (!x->make || racing[here].function) here++;
  }
  int right = check(racing, here, &p, initial, size);
  memcpy(p.c, initial, size * sizeof *initial);
  print_scores(racing, here, &p, take_turns(racing, here, &p, rounds, seconds));
  for (Contestant *x = racing; x < racing + here; x++)
    if (x->destroy) x->destroy(x->function);
  free(a), free(b), free(initial), free(p.c);
  return right;
}

/* Setting up. */

static Contestant *enter(Contestant *entry, const char *name, void *function, Repeat repeat, int rounds) {
  *entry = (Contestant){.name = name, .function = function, .repeat = repeat};
  entry->samples = calloc((size_t)rounds, sizeof *entry->samples);
  if (!entry->samples) fail("out of memory", "fewer rounds are needed");
  return entry;
}

static void *load(const char *name, const char *path, const char *symbol) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void *function = library ? dlsym(library, symbol) : NULL;
  if (!function) fail(name, dlerror());
  return function;
}

/* Before any library is used, so that none of them sees another core. */
static void pin(void) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(sched_getcpu(), &cores);
  if (sched_setaffinity(0, sizeof cores, &cores)) fail("cannot pin", "to the core that this runs on");
}

/* The clock reads this thread's time alone: help of another one would not be counted. */
static void check_alone(void) {
  int threads = 0;
  DIR *tasks = opendir("/proc/self/task");
  if (!tasks) fail("cannot count the threads", "there is no /proc/self/task");
  for (struct dirent *entry; (entry = readdir(tasks));) threads += entry->d_name[0] != '.';
  closedir(tasks);
  if (threads != 1) fail("not alone", "a contestant has started threads");
}

int main(int argc, char **argv) {
  if (argc < 5 || (argc - 5) % 4) fail("usage", "ROUNDS SECONDS BETA PAD (NAME cblas|onednn|plain|fixed LIBRARY SYMBOL)...");
  int rounds = atoi(argv[1]), pad = atoi(argv[4]), count = 0, right = 1;
  double seconds = atof(argv[2]);
  if (rounds < 1 || (argc - 5) / 4 > MOST_CONTESTANTS - 3) fail("usage", "no rounds, or too many contestants");
  pin();
  Contestant contestants[MOST_CONTESTANTS];
  for (char **given = argv + 5; *given; given += 4) {
    void *function = load(given[0], given[2], given[3]);
    if (strcmp(given[1], "fixed")) {
      enter(&contestants[count++], given[0], function, find_style(given[1]), rounds);
      continue;
    }
    find_fixed = (Finder)function;
    enter(&contestants[count++], given[0], NULL, repeat_fixed, rounds)->make = make_fixed;
  }
  enter(&contestants[count++], "peak", NULL, repeat_peak, rounds);
#ifdef LIBXSMM_DISPATCH
  enter(&contestants[count++], "libxsmm", NULL, repeat_libxsmm, rounds)->make = make_libxsmm;
#endif
#ifdef ONEDNN_MATMUL
  Contestant *matmul = enter(&contestants[count++], "onednn-matmul", NULL, repeat_matmul, rounds);
  matmul->make = make_matmul, matmul->destroy = destroy_matmul;
#endif
  Problem p = {.beta = (Sum)atof(argv[3])};
  while (scanf("%d %d %d", &p.m, &p.n, &p.k) == 3) {
    p.lda = p.k + pad, p.ldb = p.n + pad, p.ldc = p.n + pad;
    right &= race(contestants, count, p, rounds, seconds);
    check_alone();
  }
  return right ? 0 : 1;
}
