/* Races GEMM contestants in turns on one core: reads shapes `m n k`, prints a line of JSON for each.
 *
 *     printf '64 64 64\n' | gemm_race ROUNDS SECONDS BETA PAD  openblas cblas lib.so cblas_sgemm  ours plain own.so gemm
 *
 * Built for one type, REAL; with LIBXSMM_DISPATCH also "libxsmm" takes part, which is linked. The first contestant's
 * results are those of the reference. Exit code 1: a result is wrong; 2: the race cannot be held.
 */

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <float.h>
#include <math.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef LIBXSMM_DISPATCH
#include <libxsmm.h>
#endif

enum { ALIGNMENT = 64, GUARD = 64, LEAST_ROUNDS = 3, MOST_CONTESTANTS = 16, ROW_MAJOR = 101, AS_STORED = 111 };

static const double SAMPLE_SECONDS = 2e-3;
static const double LARGEST_SMALL = 256.0 * 256.0 * 256.0; /* libxsmm does not block for the caches */

typedef struct {
  int m, n, k, lda, ldb, ldc;
  REAL beta;
  const REAL *a, *b;
  REAL *c;
} Problem;

typedef void (*Repeat)(void *function, const Problem *problem, long times);

typedef struct {
  double cpu, wall;
} Seconds;

typedef struct {
  const char *name;
  void *function;
  Repeat repeat;
  double error; /* the largest distance from the reference */
  long times;   /* calls in a sample */
  Seconds *samples;
} Contestant;

typedef void (*Plain)(ptrdiff_t, ptrdiff_t, ptrdiff_t, REAL, const REAL *, ptrdiff_t, const REAL *, ptrdiff_t, REAL,
                      REAL *, ptrdiff_t);
typedef void (*Cblas)(int, int, int, int, int, int, REAL, const REAL *, int, const REAL *, int, REAL, REAL *, int);

static void fail(const char *what, const char *detail) {
  fprintf(stderr, "%s: %s\n", what, detail);
  exit(2);
}

/* The contestants' ways of calling. */

static void repeat_plain(void *function, const Problem *p, long times) {
  Plain gemm = (Plain)function;
  for (long i = 0; i < times; i++) gemm(p->m, p->n, p->k, 1, p->a, p->lda, p->b, p->ldb, p->beta, p->c, p->ldc);
}

static void repeat_cblas(void *function, const Problem *p, long times) {
  Cblas gemm = (Cblas)function;
  for (long i = 0; i < times; i++)
    gemm(ROW_MAJOR, AS_STORED, AS_STORED, p->m, p->n, p->k, 1, p->a, p->lda, p->b, p->ldb, p->beta, p->c, p->ldc);
}

#ifdef LIBXSMM_DISPATCH
typedef __typeof__(LIBXSMM_DISPATCH(0, 0, 0, 0, 0, 0, 0, 0, 0, 0)) Small;

static void repeat_libxsmm(void *function, const Problem *p, long times) {
  Small gemm = (Small)function;
  for (long i = 0; i < times; i++) gemm(p->b, p->a, p->c);
}

/* It is used with a kernel that is kept for a shape, so that making one is not timed; its matrices are column-major. */
static void *dispatch_libxsmm(const Problem *p) {
  const REAL alpha = 1;
  if ((double)p->m * p->n * p->k > LARGEST_SMALL) return NULL;
  return (void *)LIBXSMM_DISPATCH(p->n, p->m, p->k, &p->ldb, &p->lda, &p->ldc, &alpha, &p->beta, NULL, NULL);
}
#endif

/* The peak: multiply-adds that wait for nothing. Two of them a cycle with a latency of four need eight streams; more
 * than these only have to fit the registers, 32 with AVX-512 and else 16. */
#ifdef __AVX512F__
enum { VECTOR_BYTES = 64, STREAMS = 24 };
#else
enum { VECTOR_BYTES = 32, STREAMS = 12 };
#endif
enum { STEPS = 1000 };

typedef REAL Vector __attribute__((vector_size(VECTOR_BYTES)));

static const double PEAK_FLOPS = 2.0 * STEPS * STREAMS * (VECTOR_BYTES / sizeof(REAL));

static volatile REAL half = 0.5, sink; /* so that nothing is computed beforehand or dropped */

static void repeat_peak(void *function, const Problem *problem, long times) {
  (void)function, (void)problem;
  Vector factor = {0}, sums[STREAMS], total = {0};
  factor += half;
#pragma GCC unroll 24
  for (int i = 0; i < STREAMS; i++) sums[i] = factor * (REAL)i; /* equal streams would be computed once */
  for (long step = 0; step < times * STEPS; step++)
#pragma GCC unroll 24
    for (int i = 0; i < STREAMS; i++) sums[i] = sums[i] * factor + factor;
#pragma GCC unroll 24
  for (int i = 0; i < STREAMS; i++) total += sums[i];
  for (size_t i = 0; i < VECTOR_BYTES / sizeof(REAL); i++) sink = total[i];
}

/* Data and checking. */

static REAL *allocate(size_t count) {
  size_t bytes = (count * sizeof(REAL) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  REAL *array = aligned_alloc(ALIGNMENT, bytes);
  if (!array) fail("out of memory", "a smaller shape is needed");
  return array;
}

static REAL *make_random(size_t count) {
  static uint64_t state = 1;
  REAL *array = allocate(count);
  for (size_t i = 0; i < count; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    array[i] = (REAL)((double)(state >> 11) / (1ull << 52) - 1);
  }
  return array;
}

/* C as a contestant finds it: where beta is zero it must not be read, and the padding must stay as it is. */
static void fill_result(const Problem *p, const REAL *initial, size_t count) {
  memcpy(p->c, initial, count * sizeof(REAL));
  if (p->beta != 0) return;
  for (int i = 0; i < p->m; i++)
    for (int j = 0; j < p->n; j++) p->c[(size_t)i * p->ldc + j] = NAN;
}

static double find_error(const REAL *expected, const REAL *found, size_t count) {
  double worst = 0;
  for (size_t i = 0; i < count; i++) {
    double error = fabs((double)expected[i] - (double)found[i]);
    if (!(error <= DBL_MAX)) return DBL_MAX; /* JSON knows neither infinity nor what is no number */
    if (error > worst) worst = error;
  }
  return worst;
}

/* Many times what rounding does to sums of products in [-1, 1], and far less than one lost product. */
static double tolerance(const Problem *p) {
  return 16 * (sizeof(REAL) == sizeof(float) ? FLT_EPSILON : DBL_EPSILON) * (p->k + 4);
}

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

/* The first contestant's result is what is expected of the others; whether all computed that. */
static int check(Contestant *contestants, int count, const Problem *p, const REAL *initial, size_t size) {
  REAL *expected = allocate(size);
  int right = 1;
  for (Contestant *x = contestants; x < contestants + count; x++) {
    if (x->repeat == repeat_peak) continue;
    fill_result(p, initial, size);
    x->repeat(x->function, p, 1);
    if (x == contestants) memcpy(expected, p->c, size * sizeof(REAL));
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
    double work = 1e-9 * (x->repeat == repeat_peak ? PEAK_FLOPS : 2.0 * p->m * p->n * p->k);
    printf("%s\"%s\": {\"gflops\": %.6g, \"best\": %.6g, \"seconds\": %.6g, \"wall\": %.6g, \"error\": %.3g}",
           i ? ", " : "", x->name, work / median.cpu, work / x->samples[0].cpu, median.cpu, median.wall, x->error);
  }
  printf("}}\n");
  fflush(stdout);
}

/* One shape from its data to its line; whether all results were right. */
static int race(Contestant *contestants, int count, Problem p, int rounds, double seconds) {
  size_t size = (size_t)p.m * (size_t)p.ldc + GUARD;
  REAL *a = make_random((size_t)p.m * (size_t)p.lda), *b = make_random((size_t)p.k * (size_t)p.ldb);
  REAL *initial = make_random(size);
  p.a = a, p.b = b, p.c = allocate(size);
  int right = check(contestants, count, &p, initial, size);
  memcpy(p.c, initial, size * sizeof(REAL));
  print_scores(contestants, count, &p, take_turns(contestants, count, &p, rounds, seconds));
  free(a), free(b), free(initial), free(p.c);
  return right;
}

/* Setting up. */

static void enter(Contestant *entry, const char *name, void *function, Repeat repeat, int rounds) {
  *entry = (Contestant){.name = name, .function = function, .repeat = repeat};
  entry->samples = calloc((size_t)rounds, sizeof *entry->samples);
  if (!entry->samples) fail("out of memory", "fewer rounds are needed");
}

static void *load(const char *name, const char *path, const char *symbol) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void *function = library ? dlsym(library, symbol) : NULL;
  if (!function) fail(name, dlerror());
  return function;
}

/* Before any library is loaded, so that none of them sees another core. */
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
  if (argc < 9 || (argc - 5) % 4) fail("usage", "ROUNDS SECONDS BETA PAD (NAME cblas|plain LIBRARY SYMBOL)...");
  int rounds = atoi(argv[1]), pad = atoi(argv[4]), count = 0, right = 1;
  double seconds = atof(argv[2]);
  if (rounds < 1 || (argc - 5) / 4 > MOST_CONTESTANTS - 2) fail("usage", "no rounds, or too many contestants");
  pin();
  Contestant contestants[MOST_CONTESTANTS];
  for (char **given = argv + 5; *given; given += 4) {
    Repeat repeat = strcmp(given[1], "cblas") ? repeat_plain : repeat_cblas;
    enter(&contestants[count++], given[0], load(given[0], given[2], given[3]), repeat, rounds);
  }
  enter(&contestants[count++], "peak", NULL, repeat_peak, rounds);
#ifdef LIBXSMM_DISPATCH
  enter(&contestants[count], "libxsmm", NULL, repeat_libxsmm, rounds);
#endif
  Problem p = {.beta = (REAL)atof(argv[3])};
  while (scanf("%d %d %d", &p.m, &p.n, &p.k) == 3) {
    int racing = count;
    p.lda = p.k + pad, p.ldb = p.n + pad, p.ldc = p.n + pad;
#ifdef LIBXSMM_DISPATCH
    if ((contestants[count].function = dispatch_libxsmm(&p))) racing++;
#endif
    right &= race(contestants, racing, p, rounds, seconds);
    check_alone();
  }
  return right ? 0 : 1;
}
