/* The programs of bench/programs/streams as calls of OpenBLAS (LIBRARY), and what moves as many bytes and computes nothing
 * (MOVED): the machine's bandwidth for each of them.
 *
 * Compiled for one program at a time, with PROGRAM_name defined; SciPy's build of the library has prefixed names.
 */

#include <stddef.h>
#include <string.h>

enum { ROWS = 101, PLAIN = 111, TRANSPOSED = 112 };

double scipy_cblas_ddot(int n, const double *x, int incx, const double *y, int incy);
void scipy_cblas_daxpy(int n, double a, const double *x, int incx, double *y, int incy);
void scipy_cblas_dgemv(int order, int t, int m, int n, double alpha, const double *a, int lda, const double *x,
                       int incx, double beta, double *y, int incy);
void scipy_cblas_domatcopy(int order, int t, int m, int n, double alpha, const double *a, int lda, double *b, int ldb);

/* Reads some numbers, eight lines at a time. */
static inline double sum_up(const double *x, size_t n) {
  double sums[64] = {0}, sum = 0;
  size_t i = 0;
  for (; i + 64 <= n; i += 64)
    for (int k = 0; k < 64; k++) sums[k] += x[i + k];
  for (; i < n; i++) sum += x[i];
  for (int k = 0; k < 64; k++) sum += sums[k];
  return sum;
}

#if defined PROGRAM_dot
void dot(int n, const double *x, const double *y, double *s) {
#ifdef LIBRARY
  s[0] = scipy_cblas_ddot(n, x, 1, y, 1);
#else
  s[0] = sum_up(x, (size_t)n) + sum_up(y, (size_t)n);
#endif
}
#elif defined PROGRAM_axpy
void axpy(int n, double a, const double *x, double *y) {
#ifdef LIBRARY
  scipy_cblas_daxpy(n, a, x, 1, y, 1);
#else
  (void)a;
  for (int i = 0; i < n; i++) y[i] += x[i];
#endif
}
#elif defined PROGRAM_gemv
void gemv(int m, int n, const double *A, const double *x, double *y) {
#ifdef LIBRARY
  scipy_cblas_dgemv(ROWS, PLAIN, m, n, 1, A, n, x, 1, 0, y, 1);
#else
  (void)x;
  for (int i = 0; i < m; i++) y[i] = sum_up(A + (size_t)i * (size_t)n, (size_t)n);
#endif
}
#elif defined PROGRAM_transpose
void transpose(int n, const double *A, double *B) {
#ifdef LIBRARY
  scipy_cblas_domatcopy(ROWS, TRANSPOSED, n, n, 1, A, n, B, n);
#else
  memcpy(B, A, sizeof *A * (size_t)n * (size_t)n);
#endif
}
#elif defined PROGRAM_prefix_sum
void prefix_sum(int n, const float *x, float *y) { memcpy(y, x, sizeof *x * (size_t)n); }
#elif defined PROGRAM_softmax
void softmax(int m, int n, const float *x, float *y) { memcpy(y, x, sizeof *x * (size_t)m * (size_t)n); }
#endif
