/* The 16 programs of tests/raising/programs as one who knows BLAS writes them, for arrays that are as large as the
 * sizes say: each calls OpenBLAS directly. Contractions are brought to products in the cheapest way: by products of
 * slices where none has to move, otherwise by moving one operand or both first (TTGT).
 *
 * Compiled for one program at a time, with PROGRAM_name defined; SciPy's build of the library has prefixed names.
 */

#include <stddef.h>
#include <stdlib.h>

enum { ROWS = 101, PLAIN = 111, TRANSPOSED = 112 };

void scipy_cblas_dgemm(int order, int ta, int tb, int m, int n, int k, double alpha, const double *a, int lda,
                       const double *b, int ldb, double beta, double *c, int ldc);
void scipy_cblas_sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float *a, int lda,
                       const float *b, int ldb, float beta, float *c, int ldc);
void scipy_cblas_dgemv(int order, int t, int m, int n, double alpha, const double *a, int lda, const double *x,
                       int incx, double beta, double *y, int incy);
void scipy_cblas_dger(int order, int m, int n, double alpha, const double *x, int incx, const double *y, int incy,
                      double *a, int lda);
void scipy_cblas_daxpy(int n, double alpha, const double *x, int incx, double *y, int incy);

static void gemm_rows(int ta, int tb, int m, int n, int k, double alpha, const double *a, int lda, const double *b,
                      int ldb, double beta, double *c, int ldc) {
  scipy_cblas_dgemm(ROWS, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

static void gemv_rows(int t, int m, int n, double alpha, const double *a, const double *x, double beta, double *y) {
  scipy_cblas_dgemv(ROWS, t, m, n, alpha, a, n, x, 1, beta, y, 1);
}

enum { SIDE = 16 };

/* to[i][j] = from[i * di + j * dj], by squares that fit the cache. */
static void move(double *to, long ldt, const double *from, int m, int n, long di, long dj) {
  for (int ii = 0; ii < m; ii += SIDE)
    for (int jj = 0; jj < n; jj += SIDE)
      for (int i = ii; i < (ii + SIDE < m ? ii + SIDE : m); i++)
        for (int j = jj; j < (jj + SIDE < n ? jj + SIDE : n); j++) to[i * ldt + j] = from[i * di + j * dj];
}

static double *reserve(long count) {
  static double *block = NULL;
  static long there = 0;
  if (count > there) {
    free(block);
    block = aligned_alloc(64, (size_t)(count * 8 + 63) / 64 * 64);
    there = count;
    if (!block) abort();
  }
  return block;
}

#if defined PROGRAM_2mm
void mm2(int ni, int nj, int nk, int nl, double alpha, double beta, double *tmp, double *A, double *B, double *C,
         double *D) {
  gemm_rows(PLAIN, PLAIN, ni, nj, nk, alpha, A, nk, B, nj, 0, tmp, nj);
  gemm_rows(PLAIN, PLAIN, ni, nl, nj, 1, tmp, nj, C, nl, beta, D, nl);
}
#elif defined PROGRAM_3mm
void mm3(int ni, int nj, int nk, int nl, int nm, double *E, double *A, double *B, double *F, double *C, double *D,
         double *G) {
  gemm_rows(PLAIN, PLAIN, ni, nj, nk, 1, A, nk, B, nj, 0, E, nj);
  gemm_rows(PLAIN, PLAIN, nj, nl, nm, 1, C, nm, D, nl, 0, F, nl);
  gemm_rows(PLAIN, PLAIN, ni, nl, nj, 1, E, nj, F, nl, 0, G, nl);
}
#elif defined PROGRAM_atax
void atax(int m, int n, double *A, double *x, double *y, double *tmp) {
  gemv_rows(PLAIN, m, n, 1, A, x, 0, tmp);
  gemv_rows(TRANSPOSED, m, n, 1, A, tmp, 0, y);
}
#elif defined PROGRAM_bicg
void bicg(int m, int n, double *A, double *s, double *q, double *p, double *r) {
  gemv_rows(TRANSPOSED, n, m, 1, A, r, 0, s);
  gemv_rows(PLAIN, n, m, 1, A, p, 0, q);
}
#elif defined PROGRAM_gemm
void gemm(int ni, int nj, int nk, double alpha, double beta, double *C, double *A, double *B) {
  gemm_rows(PLAIN, PLAIN, ni, nj, nk, alpha, A, nk, B, nj, beta, C, nj);
}
#elif defined PROGRAM_gemver
void gemver(int n, double alpha, double beta, double *A, double *u1, double *v1, double *u2, double *v2, double *w,
            double *x, double *y, double *z) {
  scipy_cblas_dger(ROWS, n, n, 1, u1, 1, v1, 1, A, n);
  scipy_cblas_dger(ROWS, n, n, 1, u2, 1, v2, 1, A, n);
  gemv_rows(TRANSPOSED, n, n, beta, A, y, 1, x);
  scipy_cblas_daxpy(n, 1, z, 1, x, 1);
  gemv_rows(PLAIN, n, n, alpha, A, x, 1, w);
}
#elif defined PROGRAM_gesummv
void gesummv(int n, double alpha, double beta, double *A, double *B, double *tmp, double *x, double *y) {
  gemv_rows(PLAIN, n, n, 1, A, x, 0, tmp);
  gemv_rows(PLAIN, n, n, beta, B, x, 0, y);
  scipy_cblas_daxpy(n, alpha, tmp, 1, y, 1);
}
#elif defined PROGRAM_mvt
void mvt(int n, double *x1, double *x2, double *y1, double *y2, double *A) {
  gemv_rows(PLAIN, n, n, 1, A, y1, 1, x1);
  gemv_rows(TRANSPOSED, n, n, 1, A, y2, 1, x2);
}
#elif defined PROGRAM_conv2d_nchw
/* The windows of an image as columns, and one product an image. */
void conv2d_nchw(int nn, int nf, int nc, int oh, int ow, int kh, int kw, float *out, float *in, float *weight) {
  const int ih = oh + kh - 1, iw = ow + kw - 1, depth = nc * kh * kw, pixels = oh * ow;
  float *columns = (float *)reserve((long)depth * pixels / 2 + 1);
  for (int n = 0; n < nn; n++) {
    for (int c = 0; c < nc; c++)
      for (int r = 0; r < kh; r++)
        for (int s = 0; s < kw; s++) {
          float *row = columns + (long)((c * kh + r) * kw + s) * pixels;
          const float *from = in + ((long)(n * nc + c) * ih + r) * iw + s;
          for (int y = 0; y < oh; y++)
            for (int x = 0; x < ow; x++) row[y * ow + x] = from[(long)y * iw + x];
        }
    scipy_cblas_sgemm(ROWS, PLAIN, PLAIN, nf, pixels, depth, 1, weight, depth, columns, pixels, 1,
                      out + (long)n * nf * pixels, pixels);
  }
}
#elif defined PROGRAM_contraction_ab_acd_dbc
void contract_ab_acd_dbc(int na, int nb, int nc, int nd, double *C, double *A, double *B) {
  const int depth = nc * nd;
  double *moved = reserve((long)nb * depth); /* [b][c][d] */
  for (int b = 0; b < nb; b++) move(moved + (long)b * depth, nd, B + (long)b * nc, nc, nd, 1, (long)nb * nc);
  gemm_rows(PLAIN, TRANSPOSED, na, nb, depth, 1, A, depth, moved, depth, 1, C, nb);
}
#elif defined PROGRAM_contraction_ab_cad_dcb
void contract_ab_cad_dcb(int na, int nb, int nc, int nd, double *C, double *A, double *B) {
  for (int c = 0; c < nc; c++)
    gemm_rows(PLAIN, PLAIN, na, nb, nd, 1, A + (long)c * na * nd, nd, B + (long)c * nb, nc * nb, 1, C, nb);
}
#elif defined PROGRAM_contraction_abc_acd_db
void contract_abc_acd_db(int na, int nb, int nc, int nd, double *C, double *A, double *B) {
  for (int a = 0; a < na; a++)
    gemm_rows(TRANSPOSED, TRANSPOSED, nb, nc, nd, 1, B, nb, A + (long)a * nc * nd, nd, 1, C + (long)a * nb * nc, nc);
}
#elif defined PROGRAM_contraction_abc_ad_bdc
void contract_abc_ad_bdc(int na, int nb, int nc, int nd, double *C, double *A, double *B) {
  for (int b = 0; b < nb; b++)
    gemm_rows(PLAIN, PLAIN, na, nc, nd, 1, A, nd, B + (long)b * nd * nc, nc, 1, C + (long)b * nc, nb * nc);
}
#elif defined PROGRAM_contraction_abc_bda_dc
void contract_abc_bda_dc(int na, int nb, int nc, int nd, double *C, double *A, double *B) {
  for (int b = 0; b < nb; b++)
    gemm_rows(TRANSPOSED, PLAIN, na, nc, nd, 1, A + (long)b * nd * na, na, B, nc, 1, C + (long)b * nc, nb * nc);
}
#else
/* A as [a][b][e][f], which is both operations' left operand. */
static void gather_left(double *to, const double *A, int na, int nb, int ne, int nf) {
  for (int a = 0; a < na; a++)
    for (int b = 0; b < nb; b++)
      for (int e = 0; e < ne; e++) {
        const double *from = A + (((long)a * ne + e) * nb + b) * nf;
        for (int f = 0; f < nf; f++) to[(((long)a * nb + b) * ne + e) * nf + f] = from[f];
      }
}
#if defined PROGRAM_contraction_abcd_aebf_dfce
void contract_abcd_aebf_dfce(int na, int nb, int nc, int nd, int ne, int nf, double *C, double *A, double *B) {
  const int depth = ne * nf;
  double *left = reserve((long)depth * (na * nb + nc * nd)), *right = left + (long)na * nb * depth; /* [c][d][e][f] */
  gather_left(left, A, na, nb, ne, nf);
  for (int c = 0; c < nc; c++)
    for (int d = 0; d < nd; d++)
      move(right + ((long)c * nd + d) * depth, nf, B + ((long)d * nf * nc + c) * ne, ne, nf, 1, (long)nc * ne);
  gemm_rows(PLAIN, TRANSPOSED, na * nb, nc * nd, depth, 1, left, depth, right, depth, 1, C, nc * nd);
}
#elif defined PROGRAM_contraction_abcd_aebf_fdec
void contract_abcd_aebf_fdec(int na, int nb, int nc, int nd, int ne, int nf, double *C, double *A, double *B) {
  const int depth = ne * nf;
  double *left = reserve((long)depth * (na * nb + nc * nd)), *right = left + (long)na * nb * depth; /* [e][f][c][d] */
  gather_left(left, A, na, nb, ne, nf);
  for (int e = 0; e < ne; e++)
    for (int f = 0; f < nf; f++)
      move(right + ((long)e * nf + f) * nc * nd, nd, B + ((long)f * nd * ne + e) * nc, nc, nd, 1, (long)ne * nc);
  gemm_rows(PLAIN, PLAIN, na * nb, nc * nd, depth, 1, left, depth, right, nc * nd, 1, C, nc * nd);
}
#endif
#endif
