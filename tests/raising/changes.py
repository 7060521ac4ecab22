"""The changes that make a right program a near miss, one by one.

Each names a program (`group/name`), the operation in it that is no longer there (`gemv:y`: the one that writes y), a
piece of its text, what stands there instead, and where that matters the parameter with which it is wrong.

>>> len(CHANGES) > 100
True
"""

from __future__ import annotations

from collections.abc import Iterator


def _wrong_initials() -> Iterator[tuple[str, ...]]:
    """A beginning that is missing, comes again, or is of other elements: no product that overwrites its output."""
    clear = "beta=0"
    yield "gemm/order_ikj", "gemm", "C[i][j] = 0.0f;", "C[i][j] += 0.0f;", clear
    yield "gemm/order_ikj", "gemm", "C[i][j] = 0.0f;", "C[i][j] = 1.0f;", clear
    yield "gemm/order_ikj", "gemm", "C[i][j] = 0.0f;", "C[i][0] = 0.0f;", clear
    yield "gemm/order_ikj", "gemm", "C[i][j] = 0.0f;", "C[j][i] = 0.0f;", clear
    yield "gemm/order_ikj", "gemm", "for (j = 0; j < nj; j++)\n            C[i][j] = 0.0f", \
        "for (j = 1; j < nj; j++)\n            C[i][j] = 0.0f", clear  # fmt: skip
    yield "gemm/linearised", "gemm", "C[i * N + j] = 0.0;", "C[j * N + i] = 0.0;", clear
    yield "gemm/linearised", "gemm", "C[i * N + j] = 0.0;", "C[i * N + j] -= 0.5;", clear
    yield "gemm/vla", "gemm", "C[i][j] = 0;", "C[i][j] = A[i][0];", clear
    yield "gemm/vla", "gemm", "C[i][j] = 0;", "C[i][0] = 0;", clear
    yield "gemm/collapsed", "gemm", "float sum = 0.0f;", "float sum = C[t];", clear
    yield "gemm/unrolled", "gemm", "double s = 0.0;", "double s = C[i][j];", clear
    yield "gemm/peeled", "gemm", "k = 1;", "k = 0;", clear
    yield "gemm/peeled", "gemm", "A[i][0] * B[0][j]", "A[i][0] * B[0][i]", clear
    yield "gemm/peeled", "gemm", "A[i][0] * B[0][j]", "A[i][0] + B[0][j]", clear
    yield "gemm/accumulator", "gemm", "acc = 0;", "acc = i;", clear
    yield "gemm/split_init", "gemm", "C[i][j] = 0.0;", "C[j][i] = 0.0;", clear
    yield "gemm/split_init", "gemm", "C[i][j] = 0.0;", "C[i][j] = A[i][j];", clear
    yield "gemm/transposed_right", "gemm", "dot = 0.f", "dot = A[i][0]", clear
    yield "gemm/local_row", "gemm", "row[j] = 0.0;", "row[j] = C[i][j];", clear
    yield "programs/3mm", "gemm:E", "E[i][j] = 0.0;", "E[i][j] *= 0.5;", clear
    yield "programs/atax", "gemv:y", "y[j] = 0.0;", "y[j] = x[j];", clear
    yield "programs/atax", "gemv:tmp", "tmp[i] = 0.0;", "tmp[i] = x[i];", clear
    yield "programs/bicg", "gemv:s", "s[j] = 0;", "s[j] = p[j];", clear
    yield "programs/gesummv", "gemv:tmp", "tmp[i] = 0.0;", "tmp[i] = y[i];", clear
    yield "programs/2mm", "gemm:D", "D[i][j] *= beta;", "D[i][j] *= beta * beta;", "beta=beta"
    yield "programs/gemm", "gemm", "C[i][j] *= beta;", "C[i][j] += beta;", "beta=beta"
    yield "gemm/order_kji", "gemm", "C[i][j] *= beta;", "C[i][i] *= beta;", "beta=beta"
    yield "gemm/beta_per_element", "gemm", "C[i][j] *= beta;", "C[j][i] *= beta;", "beta=beta"
    yield "gemm/beta_from_other", "gemm", "beta * C[i][j]", "beta * C[i][0]", "beta=beta"
    yield "gemm/alpha_beta_last", "gemm", "+ beta * C[i * ldc + j]", "+ beta * C[j * ldc + i]", "beta=beta"
    yield "gemm/alpha_in_register", "gemm", "C[i][j] * beta", "C[i][j] * C[i][j]", "beta=beta"


def _wrong_products() -> Iterator[tuple[str, ...]]:
    """Matrix products with a wrong subscript, bound, operand or step."""
    yield "gemm/order_ijk", "gemm", "k < nk", "k < nk && k <= i"
    yield "gemm/order_ijk", "gemm", "B[k][j]", "B[k + i][j]"
    yield "gemm/order_ijk", "gemm", "A[i][k]", "A[i + j][k]"
    yield "gemm/order_ijk", "gemm", "C[i][j] +=", "C[i][k] +="
    yield "gemm/order_ijk", "gemm", "C[i][j] +=", "C[i][i] +="
    yield "gemm/order_ijk", "gemm", "B[k][j];", "C[k][j];"
    yield "gemm/order_ijk", "gemm", "+= alpha", "+= C[0][0]"
    yield "gemm/order_ijk", "gemm", "int j = 0", "int j = i"
    yield "gemm/order_ijk", "gemm", "+= alpha", "+= k * alpha"
    yield "gemm/order_ijk", "gemm", "+= alpha", "+= (k % 2 ? -alpha : alpha)"
    yield "gemm/order_ikj", "gemm", "C[i][j] += A", "C[i][j] = A"
    yield "gemm/order_ikj", "gemm", "k < nk", "k < nk - i"
    yield "gemm/order_jik", "gemm", "A[row][inner]", "A[row][row]"
    yield "gemm/order_jik", "gemm", "B[inner][col]", "C[inner][col]"
    yield "gemm/order_jik", "gemm", "inner < k", "inner < k && inner < col"
    yield "gemm/order_jik", "gemm", "= C[row][col] +", "= C[col][row] +"
    yield "gemm/order_jki", "gemm", "temp * a[l][i]", "temp * a[l][l]"
    yield "gemm/order_jki", "gemm", "temp = b[j][l]", "temp = c[j][l]"
    yield "gemm/order_jki", "gemm", "temp = b[j][l]", "temp = b[j][0] + l"
    yield "gemm/order_kij", "gemm", "C[i][j] -= A", "C[i][j] *= A"
    yield "gemm/order_kij", "gemm", "-= A[i][k]", "-= C[i][k]"
    yield "gemm/order_kji", "gemm", "A[i][k] * alpha", "A[i][k] + alpha"
    yield "gemm/pointer_walk", "gemm", "p_a = a + i * p;", "p_a = a + (i + j) * p;"
    yield "gemm/pointer_walk", "gemm", "p_b = b + j;", "p_b = b++;"
    yield "gemm/pointer_walk", "gemm", "p_a = a + i * p;", "p_a = a++;"
    yield "gemm/pointer_walk", "gemm", "p_b = b + j;", "p_b = p_a + j;"
    yield "gemm/linearised", "gemm", "A[i * K + k]", "A[i * K + i]"
    yield "gemm/linearised", "gemm", "B[k * N + j]", "B[k * N + k]"
    yield "gemm/linearised", "gemm", "C[i * N + j] += A", "C[i * N + k] += A"
    yield "gemm/linearised", "gemm", "k < K", "k < K && k <= j"
    yield "gemm/vla", "gemm", "A[i][l]", "A[l][l]"
    yield "gemm/collapsed", "gemm", "A[i * k + l]", "A[j * k + l]"
    yield "gemm/collapsed", "gemm", "B[l * n + j]", "B[l * n + l]"
    yield "gemm/tiled", "gemm", "i = ii;", "i = jj;"
    yield "gemm/tiled", "gemm", "k = kk;", "k = 0;"
    yield "gemm/tiled", "gemm", "kk += TILE", "kk += TILE - 1"
    yield "gemm/tiled", "gemm", "jj += TILE", "jj += 2"
    yield "gemm/tiled", "gemm", "A[i][k]", "A[ii][k]"
    yield "gemm/accumulator", "gemm", "acc = 0;", "if (j == 0) acc = 0;"
    yield "gemm/accumulator", "gemm", "C[i][j] = acc;", "C[i][0] = acc;"
    yield "gemm/accumulator", "gemm", "acc += A[i][k] * B[k][j]", "acc = acc * A[i][k] + B[k][j]"
    yield "gemm/alpha_in_register", "gemm", "a = alpha * A[i][k]", "a = alpha * A[k][k]"
    yield "gemm/alpha_in_register", "gemm", "a = alpha * A[i][k]", "a = alpha * C[i][k]"
    yield "gemm/alpha_in_register", "gemm", "a = alpha * A[i][k]", "a = alpha *= A[i][k]"
    yield "gemm/alpha_in_register", "gemm", "a = alpha * A[i][k]", "a = alpha + A[i][k]", "alpha=alpha"
    yield "gemm/beta_per_element", "gemm", "(alpha * A[i][k])", "(alpha * A[i][j])"
    yield "gemm/beta_from_other", "gemm", "c = c + alpha", "c = k + alpha"
    yield "gemm/transposed_right", "gemm", "B[j][k]", "B[k][k]"
    yield "gemm/transposed_right", "gemm", "k < d", "k < d - i"
    yield "gemm/transposed_both", "gemm", "A[k * n + i]", "A[k * n + k]"
    yield "gemm/transposed_both", "gemm", "B[j * d + k]", "B[j * d + i]"
    yield "gemm/reversed", "gemm", "k = nk; k-- > 0;", "k = nk; k-- > i;"
    yield "gemm/reversed", "gemm", "j = nj - 1;", "j = k;"
    yield "gemm/local_row", "gemm", "row[j] = 0.0;", "if (i == 0) row[j] = 0.0;"
    yield "gemm/local_row", "gemm", "row[j] += A", "row[k] += A"
    yield "darknet/nn", "gemm", "ALPHA * A[i * lda + k]", "ALPHA * A[k * lda + k]"
    yield "darknet/nn", "gemm", "ALPHA * A[i * lda + k]", "ALPHA * C[i * ldc + k]"
    yield "darknet/nn", "gemm", "ALPHA * A[i * lda + k]", "ALPHA += A[i * lda + k]"
    yield "darknet/nn", "gemm", "C[i * ldc + j] +=", "C[i * ldc + k] +="
    yield "darknet/nt", "gemm", "B[j * ldb + k]", "B[k * ldb + k]"
    yield "darknet/nt", "gemm", "ALPHA * A[i * lda + k]", "ALPHA * C[i * ldc + k]"
    yield "darknet/nt", "gemm", "k < K", "k < K && k < j"
    yield "darknet/tn", "gemm", "A[k * lda + i]", "A[k * lda + k]"
    yield "darknet/tn", "gemm", "A_PART * B[k * ldb + j]", "A_PART * C[k * ldc + j]"
    yield "darknet/tn", "gemm", "k < K", "k < K && k >= i"
    yield "darknet/tt", "gemm", "A[i + k * lda]", "A[i + j * lda]"
    yield "darknet/tt", "gemm", "B[k + j * ldb]", "B[i + j * ldb]"
    yield "programs/2mm", "gemm:tmp", "A[i][k]", "tmp[i][k]"
    yield "programs/2mm", "gemm:D", "tmp[i][k] * C", "D[i][k] * C"
    yield "programs/3mm", "gemm:G", "E[i][k] * F", "G[i][k] * F"
    yield "polybench/doitgen", "gemm", "C4[s][p]", "C4[s][s]"


def _wrong_vectors() -> Iterator[tuple[str, ...]]:
    """Products of matrices and vectors."""
    yield "programs/atax", "gemv:tmp", "A[i][j] * x[j]", "A[i][j] * y[j]"
    yield "programs/atax", "gemv:y", "y[j] += A[i][j] * tmp[i]", "y[j] = A[i][j] * tmp[i]"
    yield "programs/bicg", "gemv:s", "r[i] * A[i][j]", "r[i] + A[i][j]"
    yield "programs/bicg", "gemv:q", "A[i][j] * p[j]", "A[i][j] * q[j]"
    yield "programs/gemver", "ger:A", "u1[i] * v1[j]", "u1[i] * v1[i]"
    yield "programs/gemver", "gemv:x", "A[j][i] * y[j]", "A[j][i] * x[j]"
    yield "programs/gemver", "gemv:x", "A[j][i] * y[j]", "A[j][j] * y[j]"
    yield "programs/gemver", "gemv:w", "A[i][j] * x[j]", "A[i][j] * w[j]"
    yield "programs/gemver", "axpy:x", "x[i] += z[i]", "x[i] += z[i] * z[i]"
    yield "programs/gesummv", "gemv:y", "B[i][j] * x[j]", "B[i][j] * y[j]"
    yield "programs/gesummv", "gemv:tmp", "A[i][j] * x[j]", "A[i][i] * x[i]"
    yield "programs/mvt", "gemv:x2", "A[j][i] * y2[j]", "A[j][i] * x2[j]"
    yield "programs/mvt", "gemv:x1", "x1[i] += A[i][j] * y1[j]", "x1[j] += A[i][j] * x1[i]"
    yield "operations/dot", "dot", "x[i] * y[i]", "x[i] * y[i] * i"
    yield "operations/dot", "dot", "x[i] * y[i]", "x[i] - y[i]"
    yield "operations/dot", "dot", "sum += x[i] * y[i]", "sum = sum * x[i] + y[i]"
    yield "operations/axpy", "axpy", "a * x[i]", "a * x[i] * y[i]"
    yield "operations/axpy", "axpy", "y[i] += a * x[i]", "y[i + 1] += a * y[i]"
    yield "operations/scal", "scal", "x[i] *= a", "x[i + 2] = x[i] * a"
    yield "operations/scal", "scal", "x[i] *= a", "x[i] *= a * i"
    yield "operations/nrm2", "nrm2", "x[i] * x[i]", "x[i] * x[0]"
    yield "operations/nrm2", "nrm2", "x[i] * x[i]", "x[i] * x[i] * x[i] * x[i]"
    yield "operations/asum", "asum", "fabs(x[i])", "x[i]"
    yield "operations/asum", "asum", "s += fabs(x[i])", "s = fabs(s + x[i])"
    yield "operations/ger", "ger", "x[i] * y[j]", "x[i] * y[i]"
    yield "operations/ger", "ger", "x[i] * y[j]", "x[i] * y[i + j]"
    yield "operations/syr", "syr", "x[i] * x[j]", "x[i] * x[i]"
    yield "operations/syr", "syr", "x[i] * x[j]", "x[i] + x[j]"
    yield "operations/symv", "symv", "y[j] += A[i][j] * x[i]", "y[j] += A[i][j] * x[j]"
    yield "operations/symv", "symv", "y[j] += A[i][j] * x[i]", "y[j] += A[j][i] * x[i]"
    yield "operations/symv", "symv", "j < i", "j <= i"
    yield "operations/trmv", "trmv", "L[i][j] * x[j]", "L[i][i] * x[j]"
    yield "operations/trmv", "trmv", "L[i][j] * x[j]", "L[i][j] * y[j]"


def _wrong_triangles() -> Iterator[tuple[str, ...]]:
    """Symmetric and triangular matrices, factorisations and solves: the wrong half, the wrong order."""
    yield "polybench/syrk", "syrk", "for (j = 0; j <= i; j++)\n            C[i][j] += ", \
        "for (j = 0; j < n; j++)\n            C[i][j] += "  # fmt: skip
    yield "polybench/syrk", "syrk", "A[i][k] * A[j][k]", "A[i][k] * A[k][k]"
    yield "polybench/syrk", "syrk", "A[i][k] * A[j][k]", "A[i][k] * A[i][k]"
    yield "polybench/syrk", "syrk", "A[i][k] * A[j][k]", "A[i][k] * A[j][m - 1 - k]"
    yield "polybench/syrk", "syrk", "j <= i", "j < i", "beta=beta"
    yield "polybench/syr2k", "syr2k", "+ B[j][k] * alpha", "- B[j][k] * alpha"
    yield "polybench/syr2k", "syr2k", "B[j][k] * alpha * A[i][k]", "B[j][k] * alpha * A[j][k]"
    yield "polybench/syr2k", "syr2k", "A[j][k] * alpha * B[i][k]", "A[j][k] * alpha * A[i][k]"
    yield "polybench/syr2k", "syr2k", "B[j][k] * alpha * A[i][k]", "B[j][k] * A[i][k]"
    yield "polybench/trmm", "trmm", "k = i + 1", "k = 0"
    yield "polybench/trmm", "trmm", "i = 0; i < _PB_M; i++", "i = _PB_M - 1; i >= 0; i--"
    yield "polybench/trmm", "trmm", "A[k][i] * B[k][j]", "A[k][i] * B[i][j]"
    yield "polybench/symm", "symm", "temp2 += B[k][j] * A[i][k]", "temp2 += B[k][j] * A[k][i]"
    yield "polybench/symm", "symm", "k < i", "k <= i"
    yield "polybench/symm", "symm", "+= alpha * B[i][j] * A[i][k]", "+= B[i][j] * A[i][k]"
    yield "polybench/symm", "symm", "C[k][j] +=", "C[k][j] -="
    yield "polybench/trisolv", "trsv", "j < i", "j < i - 1"
    yield "polybench/trisolv", "trsv", "L[i][j] * x[j]", "L[i][j] * b[j]"
    yield "polybench/trisolv", "trsv", "x[i] / L[i][i]", "x[i] / L[0][0]"
    yield "polybench/trisolv", "trsv", "L[i][j] * x[j]", "L[j][i] * x[i]"
    yield "operations/trsm", "trsm", "B[k][j];", "B[k][k];"
    yield "operations/trsm", "trsm", "k < i", "k < i - 1"
    yield "operations/trsm", "trsm", "B[i][j] /= L[i][i]", "B[i][j] /= L[j][j]"
    yield "polybench/ludcmp", "trsv:y", "A[i][j] * y[j]", "A[i][j] * b[j]"
    yield "polybench/ludcmp", "trsv:x", "i = _PB_N - 1; i >= 0; i--", "i = 0; i < _PB_N; i++"
    yield "polybench/ludcmp", "lu", "A[i][j] = w / A[j][j]", "A[i][j] = w / A[i][i]"
    yield "polybench/ludcmp", "lu", "w -= A[i][k] * A[k][j]", "w -= A[i][k] * A[j][k]"
    yield "polybench/ludcmp", "lu", "w -= A[i][k] * A[k][j]", "w += A[i][k] * A[k][j]"
    yield "polybench/ludcmp", "trsv:y", "w -= A[i][j] * y[j]", "w -= A[i][j] * y[0]"
    yield "polybench/ludcmp", "trsv:x", "x[i] = w / A[i][i]", "x[i] = w / A[i][0]"
    yield "polybench/ludcmp", "trsv:x", "j = i + 1; j", "j = i; j"
    yield "polybench/lu", "lu", "k < j", "k < j - 1"
    yield "polybench/lu", "lu", "A[i][j] /= A[j][j]", "A[i][j] /= A[i][i]"
    yield "polybench/lu", "lu", "j = i; j", "j = i + 1; j"
    yield "polybench/lu", "lu", "A[i][j] -= A[i][k] * A[k][j]", "A[i][j] -= A[i][k] * A[j][k]"
    yield "polybench/cholesky", "cholesky", "A[i][k] * A[j][k]", "A[i][k] * A[k][j]"
    yield "polybench/cholesky", "cholesky", "k < j", "k < j - 1"
    yield "polybench/cholesky", "cholesky", "A[i][j] /= A[j][j]", "A[i][j] /= A[i][i]"
    yield "polybench/cholesky", "cholesky", "SQRT_FUN(A[i][i])", "EXP_FUN(A[i][i])"
    yield "polybench/correlation", "syrk", "data[k][i] * data[k][j]", "data[k][i] * data[k][i]"
    yield "polybench/covariance", "syrk", "data[k][i] * data[k][j]", "data[k][i] * data[i][j]"
    yield "polybench/covariance", "transpose", "cov[j][i] = cov[i][j]", "cov[j][i] = cov[i][i]"


def _wrong_others() -> Iterator[tuple[str, ...]]:
    """Convolutions, contractions, stencils, paths, scans, copies."""
    yield "programs/conv2d_nchw", "conv2d", "[y + r][x + s]", "[y + r][x + r]"
    yield "programs/conv2d_nchw", "conv2d", "weight[f][c][r][s];", "weight[f][f][r][s];"
    yield "programs/conv2d_nchw", "conv2d", "in[n][c][y", "in[n][n][y"
    yield "programs/conv2d_nchw", "conv2d", "r < kh", "r < kh && r <= y"
    yield "programs/contraction_ab_acd_dbc", "contraction", "A[a][c][d]", "A[a][c][c]"
    yield "programs/contraction_ab_acd_dbc", "contraction", "d < nd", "d < nd && d <= c"
    yield "programs/contraction_abc_acd_db", "contraction", "B[d][b]", "B[d][d]"
    yield "programs/contraction_abc_ad_bdc", "contraction", "C[a][b][c]", "C[a][b][b]"
    yield "programs/contraction_abcd_aebf_fdec", "contraction", "f < nf", "f < nf && f != e"
    yield "contractions/ab-ac-bc-linear", "contraction", "A[a * nc + c]", "A[a * nc + a]"
    yield "contractions/abc-adec-ebd-nd", "contraction", "sum += A", "sum -= sum * A"
    yield "operations/conv1d", "conv1d", "x[i + t]", "x[i * t]"
    yield "operations/conv1d", "conv1d", "h[t] * x[i + t]", "h[t] * y[i + t]"
    yield "operations/conv1d", "conv1d", "t < taps", "t < taps && t <= i"
    yield "polybench/jacobi-2d", "stencil:B", "A[i][j-1]", "A[j-1][i]"
    yield "polybench/jacobi-2d", "stencil:B", "A[i][1+j]", "A[i][0]"
    yield "polybench/jacobi-1d", "stencil:B", "A[i-1] + A[i]", "A[0] + A[i]"
    yield "polybench/heat-3d", "stencil:B", "A[i+1][j][k]", "A[j+1][i][k]"
    yield "polybench/floyd-warshall", "floyd-warshall", "path[i][k] + path[k][j]", "path[i][k] + path[j][k]"
    yield "polybench/floyd-warshall", "floyd-warshall", "path[i][j] < path", "path[i][j] > path"
    yield "operations/minplus", "minplus", "+ B[k][j] < C[i][j]", "+ B[k][j] > C[i][j]"
    yield "operations/minplus", "minplus", "? A[i][k] + B[k][j]", "? A[i][k] - B[k][j]"
    yield "operations/prefix", "prefix", "s[i] = sum;", "s[i] = sum + x[i];"
    yield "operations/prefix", "prefix", "sum += x[i];", "sum = x[i];"
    yield "operations/prefix", "prefix", "sum += x[i];", "sum = x[i] - sum;"
    yield "operations/transpose", "transpose", "A[i * n + j]", "A[i * n + i]"
    yield "operations/transpose", "transpose", "B[j * m + i] = A[i * n + j]", "B[j * m + i] = B[i * n + j]"
    yield "operations/copy", "copy", "*y++ = *x++", "*y++ = *x++ + 1"
    yield "operations/copy", "copy", "*y++ = *x++", "*y++ = *x"
    yield "operations/maxpool", "maxpool", "> m ?", "< m ?"
    yield "operations/maxpool", "maxpool", "r < 2", "r < 2 && r <= x"
    yield "operations/softmax", "softmax", "sum += y[i][j]", "sum = y[i][j]"
    yield "operations/softmax", "softmax", "sum = 0;", "sum = 1;"
    yield "operations/softmax", "softmax", "y[i][j] /= sum", "y[i][j] /= top"
    yield "operations/softmax", "softmax", "expf(x[i][j] - top)", "expf(top - x[i][j])"
    yield "operations/maxpool", "maxpool", "s < 2", "s < 2 && s <= y"
    yield "operations/maxpool", "maxpool", "+ s] : m", "+ r] : m"
    yield "styles/constant_rows", "gemm", "B[k * LENGTH + j]", "B[k * LENGTH + k]"
    yield "styles/constant_rows", "gemm", "A[i * LENGTH + k]", "A[(i + j) * LENGTH + k]"
    yield "styles/constant_rows", "gemm", "C[i * LENGTH + j]", "C[i * LENGTH + k]"
    yield "styles/channels_at_once", "elementwise", "v > 0 ?", "v < 0 ?"
    yield "styles/channels_at_once", "elementwise", "+ bias", "* bias"
    yield "operations/argmax", "argmax", "x[i] > top", "x[i] < top"
    yield "operations/argmax", "argmax", "top = x[i];", "top = x[0];"


CHANGES: tuple[tuple[str, ...], ...] = (
    *_wrong_initials(), *_wrong_products(), *_wrong_vectors(), *_wrong_triangles(), *_wrong_others()
)  # fmt: skip
