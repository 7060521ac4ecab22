/* The programs of bench/programs/dense, and files of PolyBench, as calls of OpenBLAS, one each, for arrays that are as large as
 * the sizes say.
 *
 * Compiled for one program at a time, with PROGRAM_name defined; SciPy's build of the library has prefixed names.
 */

#include <stddef.h>
#include <stdlib.h>

enum { ROWS = 101, PLAIN = 111, TRANSPOSED = 112, LOWER = 122, NONUNIT = 131, UNIT = 132, LEFT = 141 };

void scipy_cblas_dsymm(int order, int side, int uplo, int m, int n, double alpha, const double *a, int lda,
                       const double *b, int ldb, double beta, double *c, int ldc);
void scipy_cblas_dsyrk(int order, int uplo, int t, int n, int k, double alpha, const double *a, int lda, double beta,
                       double *c, int ldc);
void scipy_cblas_dsyr2k(int order, int uplo, int t, int n, int k, double alpha, const double *a, int lda,
                        const double *b, int ldb, double beta, double *c, int ldc);
void scipy_cblas_dtrmm(int order, int side, int uplo, int t, int diag, int m, int n, double alpha, const double *a,
                       int lda, double *b, int ldb);
void scipy_cblas_dtrsm(int order, int side, int uplo, int t, int diag, int m, int n, double alpha, const double *a,
                       int lda, double *b, int ldb);
void scipy_dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info, size_t length);
void scipy_dgetrf_(const int *m, const int *n, double *a, const int *lda, int *pivots, int *info);

#if defined PROGRAM_symm
void kernel_symm(int m, int n, double alpha, double beta, double *C, double *A, double *B) {
  scipy_cblas_dsymm(ROWS, LEFT, LOWER, m, n, alpha, A, m, B, n, beta, C, n);
}
#elif defined PROGRAM_syrk
void kernel_syrk(int n, int k, double alpha, double beta, double *C, double *A) {
  scipy_cblas_dsyrk(ROWS, LOWER, PLAIN, n, k, alpha, A, k, beta, C, n);
}
#elif defined PROGRAM_syr2k
void kernel_syr2k(int n, int k, double alpha, double beta, double *C, double *A, double *B) {
  scipy_cblas_dsyr2k(ROWS, LOWER, PLAIN, n, k, alpha, A, k, B, k, beta, C, n);
}
#elif defined PROGRAM_trmm
void kernel_trmm(int m, int n, double alpha, double *A, double *B) {
  scipy_cblas_dtrmm(ROWS, LEFT, LOWER, TRANSPOSED, UNIT, m, n, alpha, A, m, B, n);
}
#elif defined PROGRAM_trsm
void trsm(int m, int n, double *A, double *B) {
  scipy_cblas_dtrsm(ROWS, LEFT, LOWER, PLAIN, NONUNIT, m, n, 1, A, m, B, n);
}
#elif defined PROGRAM_cholesky
/* Rows are columns there, and the lower triangle is the upper one. */
void kernel_cholesky(int n, double *A) {
  int info;
  scipy_dpotrf_("U", &n, A, &n, &info, 1);
}
#elif defined PROGRAM_lu
/* It factorises the transposed matrix, with ones on the other diagonal: the scales change sides. What is not largest on
 * its diagonal would be pivoted, which the comparison of results would tell. */
void kernel_lu(int n, double *A) {
  static int *pivots = NULL;
  static double *scales = NULL;
  static int there = 0;
  int info;
  if (n > there) {
    free(pivots);
    free(scales);
    pivots = malloc(sizeof *pivots * (size_t)n);
    scales = malloc(sizeof *scales * (size_t)n);
    there = n;
    if (!pivots || !scales) abort();
  }
  scipy_dgetrf_(&n, &n, A, &n, pivots, &info);
  for (int i = 0; i < n; i++) scales[i] = 1 / A[(long)i * n + i];
  for (int i = 0; i < n; i++) {
    double *row = A + (long)i * n, diagonal = row[i];
    for (int j = 0; j < i; j++) row[j] *= scales[j];
    for (int j = i + 1; j < n; j++) row[j] *= diagonal;
  }
}
#endif
