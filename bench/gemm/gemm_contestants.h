/* The contestants' ways of calling, each for many calls of one product; `gemm_types.h` comes first.
 *
 *     Repeat repeat = find_style("cblas");
 *     repeat(function, &problem, 100);
 */

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef LIBXSMM_DISPATCH
#include <libxsmm.h>
#endif
#ifdef ONEDNN_MATMUL
#include <oneapi/dnnl/dnnl.h>
#endif
#if defined __AVX512VNNI__ || defined __AVX512BF16__
#include <immintrin.h>
#endif

typedef struct {
  int m, n, k, lda, ldb, ldc;
  Sum beta;
  const Left *a;
  const Right *b;
  Sum *c;
} Problem;

typedef void (*Repeat)(void *function, const Problem *problem, long times);

static void fail(const char *what, const char *detail) {
  fprintf(stderr, "%s: %s\n", what, detail);
  exit(2);
}

/* Ours. */

typedef void (*Plain)(ptrdiff_t, ptrdiff_t, ptrdiff_t, Sum, const Left *, ptrdiff_t, const Right *, ptrdiff_t, Sum,
                      Sum *, ptrdiff_t);

static void repeat_plain(void *function, const Problem *p, long times) {
  Plain gemm = (Plain)function;
  for (long i = 0; i < times; i++) gemm(p->m, p->n, p->k, 1, p->a, p->lda, p->b, p->ldb, p->beta, p->c, p->ldc);
}

/* Ours for one size, kept for a shape like libxsmm's below. NULL where there is none. */

typedef void (*Fixed)(Sum, const Left *, const Right *, Sum *);
typedef Fixed (*Finder)(int m, int n, int k, int lda, int ldb, int ldc);

static Finder find_fixed;

static void repeat_fixed(void *function, const Problem *p, long times) {
  Fixed gemm = (Fixed)function;
  for (long i = 0; i < times; i++) gemm(1, p->a, p->b, p->c);
}

static void *make_fixed(const Problem *p) {
  return p->beta == 0 ? (void *)find_fixed(p->m, p->n, p->k, p->lda, p->ldb, p->ldc) : NULL;
}

/* CBLAS, and oneDNN's functions like it; those on integers also add offsets, all of which are zero. */

enum { ROW_MAJOR = 101, AS_STORED = 111, ONE_OFFSET = 173 };

#ifdef INTEGERS
typedef void (*Cblas)(int, int, int, int, int, int, int, float, const void *, int, Right, const void *, int, Right,
                      float, Sum *, int, const Sum *);
typedef int (*Onednn)(char, char, char, int64_t, int64_t, int64_t, float, const Left *, int64_t, Left, const Right *,
                      int64_t, Right, float, Sum *, int64_t, const Sum *);

static const Sum NO_OFFSET = 0;

static void repeat_cblas(void *function, const Problem *p, long times) {
  Cblas gemm = (Cblas)function;
  for (long i = 0; i < times; i++)
    gemm(ROW_MAJOR, AS_STORED, AS_STORED, ONE_OFFSET, p->m, p->n, p->k, 1, p->a, p->lda, 0, p->b, p->ldb, 0,
         (float)p->beta, p->c, p->ldc, &NO_OFFSET);
}

static void repeat_onednn(void *function, const Problem *p, long times) {
  Onednn gemm = (Onednn)function;
  for (long i = 0; i < times; i++)
    gemm('N', 'N', 'F', p->m, p->n, p->k, 1, p->a, p->lda, 0, p->b, p->ldb, 0, (float)p->beta, p->c, p->ldc,
         &NO_OFFSET);
}
#else
typedef void (*Cblas)(int, int, int, int, int, int, Sum, const Left *, int, const Right *, int, Sum, Sum *, int);
typedef int (*Onednn)(char, char, int64_t, int64_t, int64_t, Sum, const Left *, int64_t, const Right *, int64_t, Sum,
                      Sum *, int64_t);

static void repeat_cblas(void *function, const Problem *p, long times) {
  Cblas gemm = (Cblas)function;
  for (long i = 0; i < times; i++)
    gemm(ROW_MAJOR, AS_STORED, AS_STORED, p->m, p->n, p->k, 1, p->a, p->lda, p->b, p->ldb, p->beta, p->c, p->ldc);
}

static void repeat_onednn(void *function, const Problem *p, long times) {
  Onednn gemm = (Onednn)function;
  for (long i = 0; i < times; i++)
    gemm('N', 'N', p->m, p->n, p->k, 1, p->a, p->lda, p->b, p->ldb, p->beta, p->c, p->ldc);
}
#endif

static Repeat find_style(const char *name) {
  if (!strcmp(name, "plain")) return repeat_plain;
  if (!strcmp(name, "cblas")) return repeat_cblas;
  if (!strcmp(name, "onednn")) return repeat_onednn;
  fail("no such style", name);
  return NULL;
}

/* Two are used with a kernel that is kept for a shape, so that making one is not timed. */

#ifdef LIBXSMM_DISPATCH
typedef __typeof__(LIBXSMM_DISPATCH(0, 0, 0, 0, 0, 0, 0, 0, 0, 0)) Small;

static const double LARGEST_SMALL = 256.0 * 256.0 * 256.0; /* it does not block for the caches */

static void repeat_libxsmm(void *function, const Problem *p, long times) {
  Small gemm = (Small)function;
  for (long i = 0; i < times; i++) gemm(p->b, p->a, p->c);
}

/* Its matrices are column-major. NULL where it stays out. */
static void *make_libxsmm(const Problem *p) {
  const Sum alpha = 1;
  if ((double)p->m * p->n * p->k > LARGEST_SMALL) return NULL;
  return (void *)LIBXSMM_DISPATCH(p->n, p->m, p->k, &p->ldb, &p->lda, &p->ldc, &alpha, &p->beta, NULL, NULL);
}
#endif

#ifdef ONEDNN_MATMUL
#if defined ELEMENT_BF16
enum { LEFT_KIND = dnnl_bf16, RIGHT_KIND = dnnl_bf16, SUM_KIND = dnnl_f32 };
#elif defined ELEMENT_U8S8
enum { LEFT_KIND = dnnl_u8, RIGHT_KIND = dnnl_s8, SUM_KIND = dnnl_s32 };
#else
enum { LEFT_KIND = dnnl_f32, RIGHT_KIND = dnnl_f32, SUM_KIND = dnnl_f32 };
#endif

typedef struct {
  dnnl_stream_t stream;
  dnnl_primitive_t primitive;
  dnnl_exec_arg_t arguments[3];
} Matmul;

static void repeat_matmul(void *function, const Problem *p, long times) {
  Matmul *matmul = function;
  (void)p;
  for (long i = 0; i < times; i++) dnnl_primitive_execute(matmul->primitive, matmul->stream, 3, matmul->arguments);
}

static void must(dnnl_status_t status) {
  if (status != dnnl_success) fail("onednn-matmul", "cannot be made");
}

static dnnl_exec_arg_t bind(int use, dnnl_memory_desc_t *kind, int rows, int columns, int row, int type,
                            dnnl_engine_t engine, const void *data) {
  dnnl_exec_arg_t argument = {.arg = use};
  must(dnnl_memory_desc_init_by_strides(kind, 2, (dnnl_dims_t){rows, columns}, (dnnl_data_type_t)type,
                                        (dnnl_dims_t){row, 1}));
  must(dnnl_memory_create(&argument.memory, kind, engine, (void *)data));
  return argument;
}

/* B comes as it lies in memory, so that whatever reorders it is timed. */
static void *make_matmul(const Problem *p) {
  static dnnl_engine_t engine;
  static Matmul made;
  if (!engine) {
    must(dnnl_engine_create(&engine, dnnl_cpu, 0));
    must(dnnl_stream_create(&made.stream, engine, dnnl_stream_default_flags));
  }
  dnnl_memory_desc_t a, b, c;
  made.arguments[0] = bind(DNNL_ARG_SRC, &a, p->m, p->k, p->lda, LEFT_KIND, engine, p->a);
  made.arguments[1] = bind(DNNL_ARG_WEIGHTS, &b, p->k, p->n, p->ldb, RIGHT_KIND, engine, p->b);
  made.arguments[2] = bind(DNNL_ARG_DST, &c, p->m, p->n, p->ldc, SUM_KIND, engine, p->c);
  dnnl_primitive_attr_t attributes;
  dnnl_post_ops_t after;
  must(dnnl_primitive_attr_create(&attributes));
  must(dnnl_post_ops_create(&after));
  if (p->beta != 0) must(dnnl_post_ops_append_sum(after, (float)p->beta));
  must(dnnl_primitive_attr_set_post_ops(attributes, after));
  dnnl_matmul_desc_t wanted;
  dnnl_primitive_desc_t chosen;
  must(dnnl_matmul_desc_init(&wanted, &a, &b, NULL, &c));
  must(dnnl_primitive_desc_create(&chosen, &wanted, attributes, engine, NULL));
  must(dnnl_primitive_create(&made.primitive, chosen));
  dnnl_primitive_desc_destroy(chosen), dnnl_post_ops_destroy(after), dnnl_primitive_attr_destroy(attributes);
  return &made;
}

static void destroy_matmul(void *function) {
  Matmul *matmul = function;
  for (int i = 0; i < 3; i++) dnnl_memory_destroy(matmul->arguments[i].memory);
  dnnl_primitive_destroy(matmul->primitive);
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

typedef Sum Vector __attribute__((vector_size(VECTOR_BYTES)));

/* With AVX-512 an instruction for narrow elements adds several products to a sum; elsewhere it is the multiply-add of
 * C's elements, which a processor with other instructions for narrow ones can exceed. */
#if defined ELEMENT_BF16 && defined __AVX512BF16__
enum { PRODUCTS = 2 };
static inline Vector multiply_add(Vector sums, Vector factor) {
  return (Vector)_mm512_dpbf16_ps((__m512)sums, (__m512bh)factor, (__m512bh)factor);
}
#elif defined ELEMENT_U8S8 && defined __AVX512VNNI__
enum { PRODUCTS = 4 };
static inline Vector multiply_add(Vector sums, Vector factor) {
  return (Vector)_mm512_dpbusd_epi32((__m512i)sums, (__m512i)factor, (__m512i)factor);
}
#elif defined ELEMENT_I16 && defined __AVX512VNNI__
enum { PRODUCTS = 2 };
static inline Vector multiply_add(Vector sums, Vector factor) {
  return (Vector)_mm512_dpwssd_epi32((__m512i)sums, (__m512i)factor, (__m512i)factor);
}
#else
enum { PRODUCTS = 1 };
static inline Vector multiply_add(Vector sums, Vector factor) { return sums * factor + factor; }
#endif

static const double PEAK_WORK = 2.0 * PRODUCTS * STEPS * STREAMS * (VECTOR_BYTES / sizeof(Sum));

static volatile Sum unknown = FACTOR, sink; /* so that nothing is computed beforehand or dropped */

static void repeat_peak(void *function, const Problem *problem, long times) {
  (void)function, (void)problem;
  Vector factor = {0}, sums[STREAMS], total = {0};
  factor += unknown;
#pragma GCC unroll 24
  for (int i = 0; i < STREAMS; i++) sums[i] = factor + (Sum)i; /* equal streams would be computed once */
  for (long step = 0; step < times * STEPS; step++)
#pragma GCC unroll 24
    for (int i = 0; i < STREAMS; i++) sums[i] = multiply_add(sums[i], factor);
#pragma GCC unroll 24
  for (int i = 0; i < STREAMS; i++) total += sums[i];
  for (size_t i = 0; i < VECTOR_BYTES / sizeof(Sum); i++) sink = total[i];
}
