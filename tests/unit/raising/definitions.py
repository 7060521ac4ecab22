"""Definitions of common operations, for tests."""

from __future__ import annotations

from planish.ir.text.parser import parse_kernel
from planish.raising.operation import Operation

_TEXTS = """
kernel gemm_scaled(m, n, k; alpha: f64, beta: f64; A: f64[m, k], B: f64[k, n], C: f64[m, n])
{ for i in 0 .. m { for j in 0 .. n { C[i, j] *= beta for p in 0 .. k { C[i, j] += alpha * A[i, p] * B[p, j] } } } }

kernel gemm(m, n, k; alpha: f64; A: f64[m, k], B: f64[k, n], C: f64[m, n])
{ for i in 0 .. m { for j in 0 .. n { C[i, j] = 0.0 for p in 0 .. k { C[i, j] += alpha * A[i, p] * B[p, j] } } } }

kernel syrk(n, k; alpha: f64, beta: f64; A: f64[n, k], C: f64[n, n])
{ for i in 0 .. n { for j in 0 .. i + 1 { C[i, j] *= beta for p in 0 .. k { C[i, j] += alpha * A[i, p] * A[j, p] } } } }

kernel syrk_set(n, k; alpha: f64; A: f64[n, k], C: f64[n, n])
{ for i in 0 .. n { for j in 0 .. i + 1 { C[i, j] = 0.0 for p in 0 .. k { C[i, j] += alpha * A[i, p] * A[j, p] } } } }

kernel syrk_strict(n, k; alpha: f64; A: f64[n, k], C: f64[n, n])
{ for i in 0 .. n { for j in 0 .. i { C[i, j] = 0.0 for p in 0 .. k { C[i, j] += alpha * A[i, p] * A[j, p] } } } }

kernel syr2k(n, k; alpha: f64, beta: f64; A: f64[n, k], B: f64[n, k], C: f64[n, n])
{ for i in 0 .. n { for j in 0 .. i + 1 { C[i, j] *= beta for p in 0 .. k {
  C[i, j] += alpha * A[i, p] * B[j, p] + alpha * B[i, p] * A[j, p] } } } }

kernel symm(m, n; alpha: f64, beta: f64; A: f64[m, m], B: f64[m, n], C: f64[m, n])
{ for i in 0 .. m { for j in 0 .. n { C[i, j] *= beta
  for p in 0 .. i + 1 { C[i, j] += alpha * A[i, p] * B[p, j] }
  for p in i + 1 .. m { C[i, j] += alpha * A[p, i] * B[p, j] } } } }

kernel trmm(m, n; alpha: f64; A: f64[m, m], B: f64[m, n])
{ for i in 0 .. m { for j in 0 .. n { for p in i + 1 .. m { B[i, j] += A[p, i] * B[p, j] } B[i, j] *= alpha } } }

kernel gemv_scaled(m, n; alpha: f64, beta: f64; A: f64[m, n], x: f64[n], y: f64[m])
{ for i in 0 .. m { y[i] *= beta for j in 0 .. n { y[i] += alpha * A[i, j] * x[j] } } }

kernel gemv(m, n; alpha: f64; A: f64[m, n], x: f64[n], y: f64[m])
{ for i in 0 .. m { y[i] = 0.0 for j in 0 .. n { y[i] += alpha * A[i, j] * x[j] } } }

kernel ger2(m, n; alpha: f64; A: f64[m, n], u: f64[m], v: f64[n], w: f64[m], z: f64[n])
{ for i in 0 .. m { for j in 0 .. n { A[i, j] += alpha * u[i] * v[j] + alpha * w[i] * z[j] } } }

kernel ger(m, n; alpha: f64; A: f64[m, n], x: f64[m], y: f64[n])
{ for i in 0 .. m { for j in 0 .. n { A[i, j] += alpha * x[i] * y[j] } } }

kernel conv2d(h, w, r, s; I: f64[h + r - 1, w + s - 1], W: f64[r, s], O: f64[h, w])
{ for x in 0 .. h { for y in 0 .. w { O[x, y] = 0.0 for a in 0 .. r { for b in 0 .. s {
  O[x, y] += I[x + a, y + b] * W[a, b] } } } } }

kernel dot(n; x: f64[n], y: f64[n], s: f64[]) { s[] = 0.0 for i in 0 .. n { s[] += x[i] * y[i] } }

kernel dot_add(n; alpha: f64; x: f64[n], y: f64[n], s: f64[]) { for i in 0 .. n { s[] += alpha * x[i] * y[i] } }

kernel axpby(n; alpha: f64, beta: f64; x: f64[n], y: f64[n]) { for i in 0 .. n { y[i] = alpha * x[i] + beta * y[i] } }

kernel jacobi1d(n; alpha: f64; x: f64[n + 2], y: f64[n + 2])
{ for i in 1 .. n + 1 { y[i] = alpha * (x[i - 1] + x[i] + x[i + 1]) } }

kernel colsum(m, n; alpha: f64; A: f64[m, n], y: f64[n])
{ for j in 0 .. n { y[j] = 0.0 for i in 0 .. m { y[j] += alpha * A[i, j] } } }

kernel conv2d_nchw(n, f, c, h, w, r, s; I: f64[n, c, h + r - 1, w + s - 1], W: f64[f, c, r, s], O: f64[n, f, h, w])
{ for b in 0 .. n { for k in 0 .. f { for x in 0 .. h { for y in 0 .. w { O[b, k, x, y] = 0.0
  for q in 0 .. c { for u in 0 .. r { for v in 0 .. s {
    O[b, k, x, y] += I[b, q, x + u, y + v] * W[k, q, u, v] } } } } } } } }

kernel conv2d_nchw_add(n, f, c, h, w, r, s;
  I: f64[n, c, h + r - 1, w + s - 1], W: f64[f, c, r, s], O: f64[n, f, h, w])
{ for b in 0 .. n { for k in 0 .. f { for x in 0 .. h { for y in 0 .. w {
  for q in 0 .. c { for u in 0 .. r { for v in 0 .. s {
    O[b, k, x, y] += I[b, q, x + u, y + v] * W[k, q, u, v] } } } } } } } }

kernel conv1d(n, t; x: f64[n + t - 1], h: f64[t], y: f64[n])
{ for i in 0 .. n { y[i] = 0.0 for a in 0 .. t { y[i] += h[a] * x[i + a] } } }

kernel maxpool(h, w, r, s; I: f64[h, w, r, s], O: f64[h, w])
assume r > 0 && s > 0
{ for y in 0 .. h { for x in 0 .. w { O[y, x] = I[y, x, 0, 0]
  for a in 0 .. r { for b in 0 .. s { O[y, x] max= I[y, x, a, b] } } } } }

kernel minplus(m, n, k; A: f64[m, k], B: f64[k, n], C: f64[m, n])
{ for i in 0 .. m { for j in 0 .. n { for p in 0 .. k { C[i, j] min= A[i, p] + B[p, j] } } } }

kernel relu(n; x: f64[n]) { for i in 0 .. n { x[i] max= 0.0 } }

kernel scal(n; alpha: f64; x: f64[n]) { for i in 0 .. n { x[i] *= alpha } }

kernel copy(n; x: f64[n], y: f64[n]) { for i in 0 .. n { y[i] = x[i] } }

kernel copy2(m, n; x: f64[m, n], y: f64[m, n]) { for i in 0 .. m { for j in 0 .. n { y[i, j] = x[i, j] } } }

kernel axpbyc(m, n; alpha: f64; x: f64[m, n], y: f64[m, n], z: f64[m, n])
{ for i in 0 .. m { for j in 0 .. n { z[i, j] = alpha * x[i, j] + alpha * y[i, j] } } }

kernel asum(n; x: f64[n], s: f64[]) { for i in 0 .. n { s[] += fabs(x[i]) } }

kernel transpose(n; x: f64[n, n]) { for i in 0 .. n { for j in 0 .. i + 1 { x[i, j] = x[j, i] } } }

kernel transpose_strict(n; x: f64[n, n]) { for i in 0 .. n { for j in 0 .. i { x[i, j] = x[j, i] } } }

kernel sub_row(m, n; alpha: f64; x: f64[m, n], y: f64[n])
{ for i in 0 .. m { for j in 0 .. n { x[i, j] += alpha * y[j] } } }

kernel cholesky(n; A: f64[n, n])
{ for i in 0 .. n {
  for j in 0 .. i { for k in 0 .. j { A[i, j] += -(A[i, k] * A[j, k]) } A[i, j] = A[i, j] / A[j, j] }
  for k in 0 .. i { A[i, i] += -(A[i, k] * A[i, k]) } A[i, i] = sqrt(A[i, i]) } }

kernel lu(n; A: f64[n, n])
{ for k in 0 .. n {
  for i in k + 1 .. n { A[i, k] = A[i, k] / A[k, k] }
  for i in k + 1 .. n { for j in k + 1 .. n { A[i, j] += -(A[i, k] * A[k, j]) } } } }

kernel lu_rows(n; A: f64[n, n])
{ for i in 0 .. n {
  for j in 0 .. i { for k in 0 .. j { A[i, j] += -(A[i, k] * A[k, j]) } A[i, j] = A[i, j] / A[j, j] }
  for j in i .. n { for k in 0 .. i { A[i, j] += -(A[i, k] * A[k, j]) } } } }

kernel trsv(n; L: f64[n, n], x: f64[n])
{ for i in 0 .. n { for j in 0 .. i { x[i] += -(L[i, j] * x[j]) } x[i] = x[i] / L[i, i] } }

kernel trsm(n, m; L: f64[n, n], B: f64[n, m])
{ for i in 0 .. n { for j in 0 .. m {
  for k in 0 .. i { B[i, j] += -(L[i, k] * B[k, j]) } B[i, j] = B[i, j] / L[i, i] } } }

kernel floyd_warshall(n; D: f64[n, n])
{ for k in 0 .. n { for i in 0 .. n { for j in 0 .. n { D[i, j] min= D[i, k] + D[k, j] } } } }

kernel prefix(n; x: f64[n], y: f64[n], s: f64[]) { for i in 0 .. n { s[] += x[i] y[i] = s[] } }

kernel softmax(m, n; x: f64[m, n], y: f64[m, n])
{ alloc top: f64[m] alloc sum: f64[m]
  for i in 0 .. m {
    top[i] = x[i, 0] sum[i] = 0.0
    for j in 1 .. n { top[i] max= x[i, j] }
    for j in 0 .. n { y[i, j] = exp(x[i, j] - top[i]) sum[i] += y[i, j] }
    for j in 0 .. n { y[i, j] = y[i, j] / sum[i] } } }

kernel fill(n; alpha: f64; x: f64[n]) { for i in 0 .. n { x[i] = alpha } }
"""

OPERATIONS = tuple(Operation(k.name, k) for k in map(parse_kernel, _TEXTS.strip().split("\n\n")))
"""The more specific ones first."""
