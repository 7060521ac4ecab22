/// while_count_down regions=1 least=0
void f(int n, float *d, const float *s) { while (n--) *d++ = *s++ * 2; }

/// while_count_down_size regions=1
#include <stddef.h>
void f(size_t n, float *d, const float *s) { while (n--) *d++ = *s++ * 2; }

/// do_while regions=1
void f(int n, float *d) { int k = 5; do { *d++ += 1; } while (--k); }

/// do_while_sizes regions=1
void f(int n, float *d) { int k = n; do { *d++ += 1; k--; } while (k > 0); }

/// down_to_zero regions=1
void f(int n, float *d) { int i; for (i = n - 1; i >= 0; i--) d[i] = d[i + 1] + i; }

/// down_in_condition regions=1
void f(unsigned n, float *d) { for (unsigned i = n; i-- > 0;) d[i] += d[i + 1]; }

/// decided_choice regions=1
#define FIRST(a, p, whole) a[(whole) ? 0 : (p)]
#define HELD(b, p) ((b == 0) ? 1 : b[p])
void f(int n, int *d, const signed char *b, const int *s) {
  for (int i = 0; i < n; i++) { if (!HELD(b, i)) continue; d[i] = FIRST(s, i, 0) + s[1 ? i : n]; } }

/// step_two regions=1
void f(int n, int *d) { for (int i = 1; i <= n; i += 2) { d[i] = i; d[i + 1] = 2 * i; } }

/// down_by_three regions=1
void f(int n, int *d) { for (int i = n; i > 2; i -= 3) d[i] = i + 1; }

/// comma_step regions=1
void f(int n, float *a, float *x) {
  int i; float *p; for (i = 0, p = a; i < n; ++i, p += 3) { x[i] = p[0] + p[1] * p[2]; } }

/// pointer_end regions=1
float f(int n, const float *a) {
  const float *end = a + n; float s = 0; for (; a < end; a++) s += *a; return s; }

/// pointer_end_unequal regions=1 least=0
float f(int n, const float *a) {
  const float *p = a, *end = a + n; float s = 0; while (p != end) s += *p++; return s; }

/// counter_after regions=1
int f(int n, int *a) { int i; for (i = 3; i < n; i++) a[i] = 7; return i; }

/// counter_after_step regions=1
int f(int n, int *a) { int i; for (i = 3; i < n; i += 4) a[i] = 7; return i; }

/// pointer_after regions=1
long f(int n, int *a) { int *p = a, i; for (i = 0; i < n; i++) *p++ = 7; return p - a; }

/// two_counters regions=1
int f(int n, int *a) { int i = 0, j = 9; while (i < j) { a[i] = j; i++; j--; } return i * 100 + j; }

/// count_if regions=1
int f(int n, const float *a) { int c = 0; for (int i = 0; i < n; i++) if (a[i] > 1.0f) c++; return c; }

/// sum_if regions=1
float f(int n, const float *a) { float c = 0; for (int i = 0; i < n; i++) if (a[i] > 1) c += a[i]; return c; }

/// count_in_memory regions=1
void f(int n, const int *a, int *count) { *count = 0; for (int i = 0; i < n; i++) if (a[i] > 3) (*count)++; }

/// counts_that_go_on regions=1
void f(int n, const int *a, int *c, unsigned *d) { for (int i = 0; i < n; i++) {
  if (a[i] > 3) { (*c)++; d[2] += 1000000000u; } else if (a[i] & 1) *c -= a[i]; } }

/// stores_of_both_branches regions=1
void f(int n, const int *a, int *b) { for (int i = 0; i < n; i++) {
  if (a[i] & 1) { int t = a[i] * n; b[2 * i] = t; if (t > 9) { b[2 * i + 1] = 1; } else { t--; b[2 * i + 1] = t; } }
  else { b[2 * i + 1] = 7; b[2 * i] = a[i]; } } }

/// branches_that_change_what_is_stored regions=1
void f(int n, const int *a, int *b) { for (int i = 0; i < n; i++) {
  int t = a[i]; if (t > 3) { b[2 * i] = t; b[2 * i + 1] = b[2 * i] + t; } else { t = 5; b[2 * i] = t - 1; } } }

/// a_branch_that_reads_what_the_other_stores regions=1
void f(int n, const int *a, int *b) { for (int i = 0; i < n; i++) {
  int t = b[i]; if (a[i] > 3) { b[i] = 2; t = b[i]; } else { t = b[i] + b[i + n]; b[i] = t; } b[i + 2 * n] = t; } }

/// shifted_bounds regions=1
static void moved(const int *v, int *lo, int *hi) {
  int up = *v - *hi, down = *lo - *v;
  if (up > 0) { *lo = *lo + up; *hi = *hi + up < 99 ? *hi + up : 99; } if (down > 0) { *lo -= down; *hi -= down; } }
void f(int n, const int *a, int *b, int *c) { for (int i = 0; i < n; i++) moved(&a[i], &b[i], &c[i]); }

/// weights_of_reals regions=1
static const int green = (int)(0.587 * 1024 + 0.5); enum { RED = (int)(-0.299 * 1024 + 1 / 4.0) };
static int scaled(int x, double by) { return x * (int)(by * 64 + 0.5f) + (int)(0.1f * 30); }
void f(int n, int *d) { for (int i = 0; i < n; i++) d[i] = scaled(d[i], 0.35) - green * RED; }

/// narrow_parameter_held regions=1
void f(int n, unsigned char m, int *d) {
  for (int i = 0; i < n; i++) { int low = -m, high = m; d[i] = d[i] < low ? low : d[i] < high ? d[i] : high; } }

/// arg_max regions=1
int f(int n, const int *a) {
  int m = a[0], at = 0, i; for (i = 1; i < n; i++) if (a[i] > m) { m = a[i]; at = i; } return at * 10 + m; }

/// int_max regions=1
int f(int n, const int *a) { int m = a[0]; for (int i = 1; i < n; i++) m = a[i] > m ? a[i] : m; return m; }

/// int_min_if regions=1
int f(int n, const int *a) { int m = a[0]; for (int i = 1; i < n; i++) if (m > a[i]) m = a[i]; return m; }

/// saturate_a_wider_sum regions=1
void f(int n, int *a, const int *b) { for (int i = 0; i < n; i++) { long v = b[i] * -1000000000L;
  a[i] = v > 2147483647 ? 2147483647 : v < -2147483647 - 1 ? -2147483647 - 1 : (int)v; } }

/// continue_at_the_border regions=1
void f(int n, float *a, const float *b) { for (int i = 0; i < n; i++) { a[i] = 1; for (int j = -2; j < 3; j++) {
  int at = i + j; if (at < 0 || at >= n) continue; if (j) { a[i] += b[at]; } else { a[i] -= b[at]; continue; } a[i] *= 2; } } }

/// continue_for_data regions=1
int f(int n, const int *a) { int s = 0; for (int i = 0; i < n; i++) { if (a[i] == 2) continue; s += a[i]; } return s; }

/// continue_inside_a_branch_stops regions=0
void f(int n, float *a, const float *b) { for (int i = 0; i < n; i++) { if (i > 1) { if (i > 3) continue; a[i] = 2; } a[i] += b[i]; } }

/// loads_on_one_side regions=1
void f(int n, double *a, const double *b) { for (int i = 0; i < n; i++) {
  double left = i > 0 ? b[i - 1] : 0.0; a[i] = 2 * b[i] - left - (i + 1 < n ? b[i + 1] : 0); } }

/// shortest_if regions=1
void f(int n, int *d) { int k, i, j; for (k = 0; k < n; k++) for (i = 0; i < n; i++) for (j = 0; j < n; j++)
  if (d[i*n+k] + d[k*n+j] < d[i*n+j]) d[i*n+j] = d[i*n+k] + d[k*n+j]; }

/// swap_if regions=1
void f(int n, int *a) { for (int t = 0; t < n; t++) for (int i = 0; i < n; i++) if (i + 1 < n && a[i] > a[i + 1]) {
  int u = a[i]; a[i] = a[i + 1]; a[i + 1] = u; } }

/// not_read_in_every_case regions=1
void f(int n, int *a, const int *b) { for (int i = 0; i < n; i++) if (b[i] > 1 && a[i] > 2) a[i] = b[i]; }

/// clamp_if_else regions=1
void f(int n, float *a, const float *b) {
  for (int i = 0; i < n; i++) if (b[i] > 1.0f) a[i] = 1.0f; else a[i] = b[i]; }

/// clamp_after_store regions=1
void f(int n, float *a, const float *b) {
  for (int i = 0; i < n; i++) { a[i] = b[i] * 2; if (a[i] > 2) a[i] = 2; } }

/// nested_data_if regions=1
int f(int n, const int *a, const int *b) {
  int s = 0; for (int i = 0; i < n; i++) { if (a[i] > 0) { if (b[i] > 1) s += a[i]; else s -= b[i]; } else s = s + 1; } return s; }

/// if_in_data_if regions=1
void f(int n, float *a, const float *b) { for (int i = 0; i < n; i++) if (b[i] > 1) a[i] = b[i]; }

/// chained regions=1
void f(int n, float *a, float *b) { int i; for (i = 0; i < n; i++) a[i] = b[i] = i * 0.5f; }

/// chained_narrow regions=1
void f(int n, float *a, int *b) { int i; for (i = 0; i < n; i++) a[i] = b[i] = i * 0.75f; }

/// matrix_walk regions=1
void f(int n, int m, float *a, const float *b) {
  for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) *a++ = *b++ + i * j; }

/// matrix_walk_rows regions=1
void f(int n, int m, float *y, const float *b, const float *x) {
  for (int i = 0; i < n; i++) { const float *p = x; float s = 0; int j = m; while (j-- > 0) s += *b++ * *p++; *y++ = s; } }

/// row_pointer regions=1
void f(int n, double A[20][30]) {
  for (int i = 0; i < 20; i++) { double *row = A[i]; for (int j = 1; j < n; j++) row[j] += row[j - 1]; } }

/// flat_pointer regions=1
void f(int n, double A[20][30]) { double *p = &A[0][0]; for (int i = 0; i < 600; i++) *p++ *= 2; }

/// vla regions=1 least=0
void f(int n, int m, double A[n][m]) { for (int i = 1; i < n; i++) for (int j = 0; j < m; j++) A[i][j] += A[i-1][j]; }

/// pointer_to_rows regions=1
void f(int n, double (*A)[8]) { for (int i = 0; i < n; i++) for (int j = 0; j < 8; j++) A[i][j] *= j; }

/// division regions=1
void f(int n, int *a) { for (int i = 0; i < n; i++) a[i / 2] += a[i % 3 + 1] + i / 3 + (i >> 1) + i % 4; }

/// data_division regions=1
void f(int n, int *a) { for (int i = 0; i < n; i++) a[i] = (a[i] - 2) / 2 + (i - 5) / 3 + (a[i] - 2) % 2; }

/// narrow_sum regions=1
void f(int n, short *a, const signed char *b) { for (int i = 0; i < n; i++) a[0] += b[i] * 300; }

/// unsigned_wrap regions=1
void f(int n, unsigned *a) { for (int i = 0; i < n; i++) a[i] = a[i] * 2654435761u - 7 + (a[i] >> 3) + i; }

/// byte_conversion regions=1
void f(int n, unsigned char *a, const int *b) { for (int i = 0; i < n; i++) a[i] = b[i] * 100 + i; }

/// float_conversion regions=1
void f(int n, float *a, const int *b) { for (int i = 0; i < n; i++) a[i] = b[i] / 3.0 + (int)(a[i] * 10) + i; }

/// double_accumulate regions=1
float f(int n, const float *a) { double s = 0; for (int i = 0; i < n; i++) s += a[i] * a[i]; return s; }

/// float_accumulate_double regions=1
float f(int n, const float *a) { float s = 0; for (int i = 0; i < n; i++) s += a[i] * 0.1; return s; }

/// size_type regions=1
#include <stddef.h>
void f(size_t n, float *a) { for (size_t i = 1; i < n; i++) a[i - 1] = a[n - 1 - i] + a[i]; }

/// unsigned_bound regions=1 least=1
void f(unsigned n, float *a) { for (unsigned i = 0; i < n - 1u; i++) a[i] += a[i + 1]; }

/// unsigned_product regions=1
void f(unsigned n, unsigned m, float *a) { for (unsigned i = 0; i < n; i++) for (unsigned j = 0; j < m; j++) a[i * m + j] += 1; }

/// mixed_bound regions=1
void f(unsigned n, float *a) { for (int i = 0; i < n; i++) a[i] += 1; }

/// shadow regions=1
void f(int n, int *a) { for (int i = 0; i < n; i++) { int n = 3; { int i = n + 1; a[i] += n; } a[i] += i; } }

/// inline_function regions=1
static inline int clip(int x, int lo, int hi) { return x < lo ? lo : x > hi ? hi : x; }
static float scale(float x) { return x * 0.5f + clip(3, 0, 2); }
void f(int n, int *a, float *b) { for (int i = 0; i < n; i++) { a[i] = clip(a[i] * 2, 1, 4); b[i] = scale(b[i]); } }

/// globals regions=1
enum { SIZE = 12 }; static const float taps[] = {1, 2, 3}; static const int count = 3; float out[SIZE];
void f(int n, const float *x, float *y) { int i; for (i = 0; i < SIZE - 2; i++) { out[i] = 0; for (int k = 0; k < count; k++) out[i] += taps[k] * x[i + k]; y[i] = out[i]; } }

/// local_arrays regions=1
void f(int n, int *a) {
  for (int i = 0; i < n; i++) { int t[4] = {1, 2}, u[3] = {i, i + 1, i + 2}; for (int k = 0; k < 3; k++) t[k + 1] += u[k]; a[i] = t[0] + t[1] + t[2] + t[3]; } }

/// local_temporary regions=1
void f(int n, float *a) { float t; int i; for (i = 0; i < n; i++) { t = a[i]; a[i] = a[i + 1]; a[i + 1] = t; } }

/// temporary_across regions=1
float f(int n, float *a) { float t = 1; for (int i = 0; i < n; i++) { a[i] += t; t = a[i] * 0.5f; } return t; }

/// call_between regions=2
int g(int x);
int g(int x) { return x + 1; }
int calls;
void h(int *p) { *p = g(*p); *p += 1; calls++; }
void f(int n, int *a) { int i; for (i = 0; i < n; i++) a[i] += 1; h(a); for (i = 0; i < n; i++) a[i] *= 2; }

/// break_outer regions=1
int f(int n, float *a) { int i, j; for (i = 0; i < 5; i++) { if (a[i] > 1.4f) break;
  for (j = 0; j < n; j++) a[j + i] *= 0.99f; } return i; }

/// return_inside regions=0
int f(int n, const int *a) { for (int i = 0; i < n; i++) if (a[i] == 3) return i; return -1; }

/// indirect regions=0
void f(int n, int *a, const int *b) { for (int i = 0; i < n; i++) a[b[i]] += 1; }

/// volatile regions=0
void f(int n, int *a) { volatile int t = 0; for (int i = 0; i < n; i++) t += a[i]; }

/// macro_loop regions=1
#define EACH(i, n) for (int i = 0; i < n; i++)
void f(int n, int *a) { EACH(i, n) a[i] = 2; }

/// macro_body regions=1
#define TWICE(x) do { x = (x) * 2; } while (0)
void f(int n, int *a) { for (int i = 0; i < n; i++) TWICE(a[i]); }

/// conditional_text regions=0
void f(int n, int *a) {
#ifdef NEVER
  for (int i = 0; i < n; i++) {
#else
  for (int i = 0; i < n - 1; i++) {
#endif
    a[i] = 5;
  }
}

/// conditional_inside regions=1
void f(int n, int *a) {
  for (int i = 0; i < n; i++) {
#ifdef NEVER
    a[i] = 4; }
#else
    a[i] = 5; /* } */ // }
#endif
  }
}

/// comments regions=1
void f(int n, int *a) { /* for (;;) { */
  const char *s = "for (i = 0; { \" }"; // }
  for (int i = 0; i < n; i++) /* ; */ { a[i] = ';' + '}' + '\n'; } /* } */
}

/// affine_if regions=1
void f(int n, int *a) {
  for (int i = 0; i < n; i++) { if (i > 2 && i < n - 3) a[i] = 1; else if (i == 0 || !(i < 7)) a[i] += 2; else a[i] -= i; } }

/// parity_if regions=1
void f(int n, int *a) { for (int i = 0; i < n; i++) { if (i % 2) a[i] = 1; if (!(i & 3)) a[i] = 9; } }

/// boundary_choice regions=1
void f(int n, int *a, const int *b) { for (int i = 0; i < n; i++) a[i] = (i > 0 ? b[i - 1] : 0) + (i < n - 1 ? b[i + 1] : 9); }

/// min_bound regions=1
#define MIN(a, b) ((a) < (b) ? (a) : (b))
void f(int n, int *a) { for (int t = 0; t < n; t += 4) for (int i = t; i < MIN(t + 4, n); i++) a[i] += t; }

/// induction_value regions=1
void f(int n, int *a) { int k = 2; for (int i = 0; i < n; i++) { a[i] = k; k += 3; } }

/// induction_exit regions=1
int f(int n, int *a) { int k = 2; for (int i = 0; i < n; i++) { a[i] = k; k += n; } return k; }

/// register_sum regions=1
float f(int n, const float *a) { register float s = 0; register int i; for (i = 0; i < n; i++) s += a[i]; return s; }

/// triangle_walk regions=1
void f(int n, float *a) {
  for (int i = 0; i < 10; i++) { float *p = a + i * n; for (int j = 0; j <= i && j < n; j++) *p++ += j; } }

/// swap_pointers regions=1
void f(int n, float *a, float *b) {
  for (int t = 0; t < 3; t++) { for (int i = 0; i < n; i++) b[i] = a[i] * 2; float *c = a; a = b; b = c; } }

/// math regions=1
#include <math.h>
#include <stdlib.h>
void f(int n, double *a, float *b, int *c) { for (int i = 0; i < n; i++) {
  a[i] = sqrt(a[i]) + fmax(a[i], 1.0) + fabs(-a[i]); b[i] = sqrtf(b[i]) * fminf(b[i], 1) + floor(b[i] * 3); c[i] = abs(c[i] - 2); } }

/// bits regions=1
void f(int n, unsigned *a) { for (int i = 0; i < n; i++) { a[i] ^= a[i] << 3; a[i] |= 5u; a[i] &= ~i; a[i] = !a[i] + (a[i] && i > 3); } }

/// address_of_local regions=1
void g(int *p) { *p = 3; }
int f(int n, int *a) { int k, s = 0; g(&k); for (int i = 0; i < n; i++) s += a[i] * k; return s; }

/// last_set regions=1
int f(int n, const int *a) { int last = -1; for (int i = 0; i < n; i++) { last = i * 2; if (a[i] > 2) last = -2; } return last; }

/// set_in_branch regions=1
int f(int n, int *a) { int k = 0; for (int i = 0; i < n; i++) { if (i > 3) k = i; a[i] = k; } return k; }

/// const_zero_trip regions=1
void f(int n, int *a) { for (int i = 5; i < 3; i++) a[i] = 1; for (int i = 0; i < n; i++) a[i] += 2; }

/// negative_step_pointer regions=1
void f(int n, float *x, const float *h) { float *p = x + n; for (int i = 0; i <= n; i++) { *p-- += h[i]; } }

/// compound_pointer regions=1
void f(int n, float *x) { for (int i = 0; i < n; i++) { *x++ *= 2; *(x + 1) += *x; x[2] -= 1; } }

/// switch regions=1
void f(int n, int *a) { switch (n & 1) { case 0: for (int i = 0; i < n; i++) a[i] = 1; break; default: a[0] = 3; } }

/// unsized_char_loop regions=1
void f(int n, signed char *a) { short i; for (i = 0; i < 100; i++) a[i] = i * 3; }

/// float_select_max regions=1
float f(int n, const float *a) { float m = a[0]; for (int i = 1; i < n; i++) m = m > a[i] ? m : a[i]; return m; }

/// sum_of_terms regions=1
float f(int n, const float *a) { float s = 0; for (int i = 0; i < n; i++) s = s + a[i] * 2 + a[i + 1]; return s; }

/// goto regions=1
void f(int n, int *a) { int i = 0; again: a[0]++; if (a[0] < 9) goto again; for (i = 0; i < n; i++) a[i] += 1; }

/// label_loop regions=1
void f(int n, int *a) { for (int j = 0; j < 3; j++) { int i; for (i = 0; i < n; i++) a[i] += j; if (a[0] > 100) continue; a[1] = i; } }

/// struct_member regions=1
struct s { int k; };
void f(int n, int *a) { struct s v = {2}; for (int i = 0; i < n; i++) { a[i] += v.k; for (int j = 0; j < n; j++) a[j] += 1; } }

/// logical_value regions=1
void f(int n, int *a, const float *b) { for (int i = 0; i < n; i++) a[i] = (b[i] > 1) + (a[i] == 2 || b[i] < 0.7f) * 2 + (i < 4); }

/// while_plain regions=1
void f(int n, int *a) { int i = 0; while (i < n) { a[i] = i; i++; } }

/// while_two_steps regions=1
void f(int n, int *a) { int i = 0; while (i < n) { a[i] = i; ++i; a[i] = 7; i += 1; } }

/// long_sizes regions=1
void f(long n, long lda, double *a) { for (long i = 0; i < n; i++) for (long j = 0; j < 4; j++) a[i + j * lda] = i * 10 + j; }

/// casts_in_subscripts regions=1
#include <stddef.h>
void f(int n, double *a) { for (int i = 0; i < n; i++) a[(size_t)i * 3 + (long)2] += a[(unsigned)i]; }

/// declared_between regions=1
void f(int n, float *a) { int i; for (i = 0; i < n; i++) a[i] += 1; float t = a[0] * 2; for (i = 0; i < n; i++) a[i] -= t; }

/// declared_used_later regions=2
float f(int n, float *a) { int i; for (i = 0; i < n; i++) a[i] += 1; float t = a[0]; for (i = 0; i < n; i++) a[i] -= 2; return t; }

/// size_changes regions=1
int f(int n, int *a) { for (int i = 0; i < n; i++) a[i] = 1; n = n / 2 + 3; for (int i = 0; i < n; i++) a[i] += 5; return n; }

/// size_shrinks_inside regions=1
int f(int n, int *a) { int i; for (i = 0; i < n; i++) { a[i] = n; n--; } return n * 100 + i; }

/// counter_changed_in_body regions=1
int f(int n, int *a) { int i; for (i = 0; i < n; i++) { a[i] = 1; i++; } return i; }

/// short_counter_wraps regions=1
void f(int n, int *a) { short s = 0; for (int i = 0; i < 40; i++) { a[i] = s; s += 3000; } }

/// byte_counter regions=1
int f(int n, int *a) { unsigned char c = 250; for (int i = 0; i < n; i++) { a[i] = c; c++; } return c; }

/// two_pointers_one_array regions=1
void f(int n, float *a) { float *p = a + 1, *q = a + n + 1; while (p < q) { float t = *p; *p++ = *--q; *q = t; } }

/// zigzag regions=1
void f(int n, float *a) { float *p = a + 50; for (int i = 0; i < n; i++) { *p += 1; p += 2; *p += 3; p -= 1; } }

/// walk_after_inner regions=1
void f(int n, int m, float *a) { float *p = a; for (int i = 0; i < 4; i++) { for (int j = 0; j < m; j++) p[j] += j; p += m; *p = 9; } }

/// walk_guarded_inner regions=1
void f(int n, float *a) { float *p = a; for (int i = 0; i < 5; i++) { int j = 0; while (j < n) { *p++ += i; j += 2; } *p += 0.5f; } }

/// trip_in_subscript regions=1
void f(int n, int *a) { int i; for (i = 0; i < n - 4; i++) a[i] = 2; a[i] = 77; for (; i < n; i++) a[i + 1] = 3; }

/// exit_of_inner_used regions=1
void f(int n, int *a) { for (int i = 0; i < 4; i++) { int j; for (j = 0; j < n; j++) a[j] += i; a[j] = 8; } }

/// sum_of_itself regions=1
void f(int n, float *a) { for (int i = 0; i < n; i++) { a[i] += a[i] * 2; a[i] = a[i] + a[i + 1] - a[i]; } }

/// recurrence_through_sum regions=1
void f(int n, float *a) { for (int i = 1; i < n; i++) a[i] += a[i - 1] * 0.5f; }

/// sub_from regions=1
float f(int n, const float *a) { float s = 3; for (int i = 0; i < n; i++) s = a[i] - s; for (int i = 0; i < n; i++) s -= a[i]; return s; }

/// product regions=1
double f(int n, const double *a) { double s = 1; for (int i = 0; i < n; i++) s *= a[i]; for (int i = 0; i < n; i++) s /= a[i] + 1; return s; }

/// guard_changes_what_it_tests regions=1
int f(int n, int *a) { int m = 0, c = 0; for (int i = 0; i < n; i++) { if (a[i] > m) { m = a[i] + 1; c += m; } else { m--; c = c * 2; } } return m * 1000 + c; }

/// guarded_local regions=1
float f(int n, const float *a) { float s = 0; for (int i = 0; i < n; i++) { if (a[i] > 1) { float t = a[i + 1] * 2; s += t; } } return s; }

/// guarded_division regions=1
int f(int n, const int *a) { int s = 0; for (int i = 0; i < n; i++) if (a[i] != 0) s += 12 / a[i]; return s; }

/// guarded_nested_division regions=1
int f(int n, const int *a) { int s = 0; for (int i = 0; i < n; i++) { if (a[i] != 0) { if (12 / a[i] > 4) s += 1; else s += 2; } } return s; }

/// guard_and_affine regions=1
int f(int n, const int *a) { int s = 0; for (int i = 0; i < n; i++) if (i > 2 && a[i - 3] > 1) s += a[i]; return s; }

/// float_guarded_sum_keeps_zero_sign regions=1 strict
float f(int n, const float *a) { float s = -0.0f; for (int i = 0; i < n; i++) if (a[i] > 9) s += a[i]; return 1 / s; }

/// global_scalar regions=1
float gain = 2.5f; int shift = 3;
void f(int n, float *restrict a) { for (int i = 0; i < n; i++) a[i + shift] *= gain; }

/// global_scalar_reached regions=1
float level = 2.5f;
void g(int n, float *a, float *b) { for (int i = 0; i < n; i++) { a[i] = level; b[i] += level; } }
float f(int n, float *b) { g(n & 0, &level, b); for (int i = 0; i < n; i++) b[i] *= level; return level; }

/// static_accumulator regions=1
float f(int n, const float *a) { static float s; s = 1; for (int i = 0; i < n; i++) s += a[i]; return s; }

/// global_counter regions=1
int position; int read_position(void) { return position; }
int f(int n, int *a) { for (position = 0; position < n; position++) a[position] = 4; return read_position(); }

/// switch_of_types regions=1
void f(int n, unsigned char *p, const short *q) { for (int i = 0; i < n; i++) { p[i] += q[i]; p[i] -= 3; p[i] = p[i] << 1; p[i] = -p[i]; } }

/// signed_shift regions=1
void f(int n, int *a) { for (int i = 0; i < n; i++) { a[i] = (a[i] - 3) >> 1; a[i] = a[i] % 3 - (a[i] - 8) / 3; } }

/// unsigned_compare regions=1
int f(int n, const unsigned *a, const int *b) { int c = 0; for (int i = 0; i < n; i++) c += (b[i] - 2 < a[i]) + (a[i] - 3u > 7u); return c; }

/// long_arithmetic regions=1
long f(int n, const int *a) { long s = 0; for (int i = 0; i < n; i++) s += (long)a[i] * 1000000007 * (i + 1); return s; }

/// int_from_index regions=1
void f(int n, double *a, float *b) { for (int i = 0; i < n; i++) { a[i] = (double)(i * (i + 1) % 7) / n; b[i] = (i + 0.5f) * n; } }

/// conditional_operator_sides regions=1
void f(int n, float *a, const int *b) { for (int i = 0; i < n; i++) a[i] = b[i] > 1 ? b[i] : 0.5; }

/// comma_statement regions=1
void f(int n, int *a, int *b) { int i; for (i = 0; i < n; i++) a[i] = i, b[i] = a[i] + 1; }

/// nested_blocks regions=1
void f(int n, int *a) { { { for (int i = 0; i < n; i++) { { a[i] = 1; } ; ; } } } }

/// else_branch_loop regions=2
void f(int n, int *a) { if (a[0] > 2) for (int i = 0; i < n; i++) a[i] = 1; else { for (int i = 0; i < n; i++) a[i] = 2; } }

/// size_branch regions=1
void f(int n, int *a) { if (n > 5) for (int i = 0; i < n; i++) a[i] = 1; else { for (int i = 0; i < n; i++) a[i] = 2; } }

/// recursive_inline regions=0
int g(int x) { return x < 1 ? 0 : g(x - 1) + 1; }
void f(int n, int *a) { for (int i = 0; i < n; i++) a[i] = g(a[i]); }

/// own_sqrt regions=0
double sqrt(double x) { static int calls; calls++; return x + calls; }
void f(int n, double *a) { for (int i = 0; i < n; i++) a[i] = sqrt(a[i]); }

/// attribute regions=1
__attribute__((noinline)) void f(int n, float *__restrict__ a, const float *__restrict b) { for (int i = 0; i < n; i++) a[i] = b[i]; }

/// three_dimensions regions=1
void f(int n, float a[][4][5]) { for (int i = 0; i < n; i++) for (int j = 0; j < 4; j++) { float *p = a[i][j]; for (int k = 0; k < 5; k++) *p++ = i + 10 * j + 100 * k; } }

/// negative_modulo regions=1
void f(int n, int *a) { for (int i = 0; i < n; i++) a[(i + n - 1) % 4] += i; }

/// logical_bound regions=1
void f(int n, int *a, const int *b) { for (int i = 0; i < n && i < 9; i++) a[i] = b[i]; }

/// bound_not_equal regions=1 least=0
int f(int n, int *a) { int i; for (i = 0; i != n; i++) a[i] = i; return i; }

/// folded_rows regions=1
void f(int n, int m, float *a, const float *b) { for (int t = 0; t < n * m; t++) { int i = t / m, j = t % m; a[j * n + i] += b[t]; } }

/// folded_planes regions=1
void f(int n, int m, float *a, const float *b) {
  for (int t = 0; t < 3 * n * m; t++) { int x = t % m, y = (t / m) % n, z = t / (n * m); a[(x * n + y) * 3 + z] = b[t] + y; } }

/// folded_in_steps regions=1
void f(int n, int m, float *a, const float *b) {
  for (int t = 0; t < 4 * n * m; t++) { int z = t / (n * m), rest = t % (n * m); a[(rest % m) * 4 * n + rest / m * 4 + z] += b[t]; } }

/// folded_constant_rows regions=1
void f(int n, float *a, const float *b) { for (int t = 0; t < 6 * 8; t++) a[(t % 8) * 6 + t / 8] += b[t] * n; }

/// folded_inner_rows regions=1
void f(int n, int m, float *a) { float *p = a; for (int t = 0; t < (n - 2) * (m - 2); t++) a[300 + (t % (m - 2)) * 12 + t / (m - 2)] = *p++; }

/// folded_and_walked regions=1
float f(int n, int m, float *a, const float *b) {
  float s = 0; float *p = a; for (int t = 0; t < n * m; t++, p++) { *p = b[t % m] * (t / m); if (t / m == t % m) s += *p; } return s; }

/// folded_unevenly regions=0
void f(int n, int m, float *a, const float *b) { for (int t = 0; t < n * m + 1; t++) a[t / m + t % m] += b[t]; }

/// folded_by_what_moves regions=1
void f(int n, float *a, const float *b) { for (int i = 1; i < 5; i++) for (int t = 0; t < n * i; t++) a[t / i + t % i] += b[t]; }

/// quotient_of_known_rest regions=1
void f(int n, int m, float *a) { for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) { int t = i * m + j; a[t / m] += a[40 + t % m]; } }

/// remainder_alone regions=1
void f(int n, int *a, const int *b) { for (int i = 0; i < 12; i++) a[i % 4] += b[i] * n; }

/// memset_rows regions=1 least=0
#include <string.h>
void f(int n, float (*a)[20], const float *b) {
  for (int i = 0; i < 5; i++) { memset(a[i], 0, n * sizeof(float)); for (int j = 0; j < n; j++) a[i][j] += b[j]; } }

/// memset_before regions=1 least=0
#include <string.h>
void f(int n, double *a, const double *b) { memset(a + 1, 0, sizeof(*a) * n); for (int i = 0; i < n; i++) a[i] += b[i]; }

/// memset_matrix regions=1 least=0
#include <string.h>
void f(int n, int a[][7], const int *b) { memset(a, 0, n * 7 * sizeof(int)); for (int i = 0; i < n; i++) a[i][3] += b[i]; }

/// memcpy_rows regions=1 least=0
#include <string.h>
void f(int n, int m, float *restrict a, const float *restrict b) {
  for (int i = 0; i < n; i++) { memcpy(&a[i * m], b + i * 9, sizeof(float) * m); for (int j = 0; j < m; j++) a[i * m + j] *= 2; } }

/// memset_of_local regions=1 least=0
#include <string.h>
void f(int n, float *a) { float s[8]; memset(s, 0, sizeof(float) * 8); for (int i = 0; i < n; i++) s[i % 8] += a[i]; for (int i = 0; i < 8; i++) a[i] = s[i]; }

/// memset_to_what_it_replaces regions=1 least=0
#include <string.h>
void f(int n, int m, unsigned char *a) { for (int i = 0; i < m; i++) memset(a + i * n, a[i * n + 1] + 1, n); }

/// memset_to_ones regions=1 least=0
#include <string.h>
void f(int n, int *a) { memset(a, 1, n * sizeof(int)); for (int i = 0; i < n; i++) a[i] += i; }

/// own_memset regions=1
static void memset(int *a, int b, int n) { a[n] = b; }
void f(int n, int *a) { memset(a, 0, 8); for (int i = 0; i < n; i++) a[i] += i; }

/// float_literal_in_double regions=1
void f(int n, double *d) { for (int i = 0; i < n; i++) d[i] = 0.4f * d[i] - 1.1f; }

/// by_a_size regions=1
void f(int n, int m, int *a) { for (int i = 1; i < n; i += m) a[i] += i; }

/// by_a_size_and_last regions=1
int f(int n, int m, int *a) { int i; for (i = 0; i <= n; i += m - 2) { a[i] += 1; a[i + 1] = i; } return i; }

/// down_by_a_size regions=1
int f(int n, int m, int *a) { int i; for (i = 9 * n + 30; i > 7; i -= m) a[i] += i; return i; }

/// by_twice_the_rows regions=1
void f(int n, int m, int *a) {
  int i, j; for (j = 0; j < m; j++) for (i = j; i < n * m; i += 2 * m) { a[i] += 1; a[i + m] -= a[i] * j; } }

/// by_what_was_set regions=1
void f(int n, int m, int *a) {
  int half = n / 2, step = m - half % 2; for (int i = 0; i < n; i += step) { int *p = a + i; *p = half; } }

/// by_nothing regions=1 least=0
void f(int n, int m, int *a) { for (int i = 0; i < n; i += m + n) a[i] = i; }

/// window_as_choices regions=1
void f(int n, float *d, const float *s) {
  for (int i = 0; i < n; i++)
    for (int k = (i > 1 ? i - 1 : 0); k < (i + 3 >= n ? n : i + 3); k++) d[i] += s[k]; }

/// window_in_variables regions=1
void f(int n, int *d, const int *s) {
  for (int i = 0; i < n; i++) {
    int low = i - 2 < 0 ? 0 : i - 2, high = i + 2 > n - 1 ? n - 1 : i + 2;
    for (int k = high; k >= low; k--) d[i] += s[k]; } }

/// clipped_start regions=1
void f(int n, int *d, const int *s) {
  for (int i = -3; i < n; i++)
    for (int k = (i < 0 ? 0 : i >= 9 ? 9 : i); k < n; ++k) d[k] += s[i + 3]; }

/// start_that_jumps regions=0
void f(int n, int *d, const int *s) {
  for (int i = 0; i < n; i++) for (int k = (i > 7 ? i - 1 : 0); k < n; ++k) d[k] += s[i]; }

/// remainder_that_goes_round regions=1
void f(int n, int *restrict d, const int *restrict s) {
  for (int i = 0; i < n; i++) d[i] = s[((i - 1) % n + n) % n] + s[(n + (i + 1) % n) % n]; }

/// remainder_of_eight_that_goes_round regions=1
void f(int n, int *d, const int *s) {
  for (int i = -20; i < 30; i++) d[((i % 8) + 8) % 8] += s[(8 + (i - 5) % 8) % 8] + n; }

/// divided_below_zero regions=1
void f(int n, int *restrict d, const int *restrict s) {
  for (int i = 0; i < n; i++) d[i] = s[(i - 7) / 2 + 3] + s[(i - 5) % 4 + 3]; }

/// divided_below_zero_in_a_bound regions=1
void f(int n, int *d) { for (int i = 0; i < n; i++) for (int k = (i - 5) / 2 + 2; k < n; k++) d[k] += i; }

/// steps_in_what_goes_round regions=1
void f(int n, int *restrict d, const int *restrict s) {
  int k = -1; for (int i = 0; i < n; i++) d[i] = s[(k++ % 4 + 4) % 4]; }

/// steps_of_truths regions=1
void f(int n, _Bool *b, _Bool *c, _Bool *d) { for (int i = 0; i < n; i++) { b[i]++; c[i]--; --d[i]; d[i] ^= 1; } }

/// inline_early_returns regions=1
static int clamp(int v, int low, int high) { if (v < low) return low; if (v > high) return high; return v; }
void f(int n, int *a, const int *b) { for (int i = 0; i < n; i++) a[i] = clamp(clamp(b[i] * 3, -9, 9) + i, 0, 12); }

/// inline_return_types regions=1
static long pick(int c, int a, unsigned b) { if (c) return a; return b; }
void f(int n, int *a, const int *b) { for (int i = 0; i < n; i++) a[i] = (int)(pick(b[i] & 1, -b[i], 7u + i) >> 1); }

/// inline_locals_nested regions=1
static int square(int x) { int t = x; t *= x; return t; }
static int third(int v) { int s = square(v), r = 0; if (s > 20) { r = square(s & 7) + 1; } else r = s - 1; return r; }
void f(int n, int *a, const int *b) { for (int i = 0; i < n; i++) a[i] = third(b[i]) + third(third(i & 3)); }

/// inline_defined_behind regions=1
static int twice(int);
void f(int n, int *a) { for (int i = 0; i < n; i++) a[i] = twice(a[i]) - twice(i); }
static int twice(int v) { int w = v; w += v; return w; }

/// inline_local_and_return regions=1
static int steps(int v) { if (v == 0) return 100; int w = v * v; if (w > 30) { w -= 30; return w; } return w + v; }
void f(int n, int *a, const int *b) { for (int i = 0; i < n; i++) a[i] = steps(b[i]); }

/// inline_loop regions=1
static int sum(const int *p, int count, int by) { int s = 0; for (int k = 0; k < count; k++) s += p[k * by]; return s; }
void f(int n, int *a, const int *b) { for (int i = 0; i < n; i++) a[i] = sum(b + i, 3, 2) - sum(&b[i + 1], 2, 1); }

/// inline_subscript regions=1
static int at(int row, int column, int width) { return row * width + column; }
void f(int n, int lda, int *a, const int *b) { for (int i = 0; i < n; i++) for (int j = 0; j < 5; j++) {
  a[at(i, j, lda)] += b[at(j, i, 20)]; } }

/// inline_bound regions=1
static int least(int x, int y) { if (x < y) return x; return y; }
void f(int n, int m, int *a) { for (int i = 0; i < least(n, m); i++) a[i] = i; }

/// inline_out_parameters regions=1
static void sort2(int x, int y, int *low, int *high) { *low = x < y ? x : y; *high = x < y ? y : x; }
void f(int n, int *a, const int *b) { for (int i = 0; i < n; i++) { int l, h; sort2(b[i], b[i + 1], &l, &h);
  a[i] = 10 * h - l; } }

/// inline_exchange regions=1
static void order(int *x, int *y) { if (*x > *y) { int t = *x; *x = *y; *y = t; } }
void f(int n, int *a, const int *b) { for (int i = 0; i < n; i++) { int p = b[i], q = b[i + 1], r = b[i + 2];
  order(&p, &q); order(&q, &r); order(&p, &q); a[i] = q; } }

/// inline_out_before_loop regions=1
static void add(int *s, int v) { *s += v; }
int f(int n, const int *b) { int s = 3; for (int i = 0; i < n; i++) add(&s, b[i] * i); return s; }

/// inline_row regions=1
static void row(const int *in, int *out, int count) { if (count <= 0) return; for (int k = 0; k < count; k++) out[k] += 2 * in[k]; }
void f(int n, int lda, int *a, const int *b) { for (int i = 0; i < n; i++) row(b + i * lda, a + i * lda, 6); }

/// inline_walking_pointer regions=1
static int hash(const int *p, const int *end) { int s = 1; while (p < end) s = 3 * s + *p++; return s; }
void f(int n, int *a, const int *b) { for (int i = 0; i < n; i++) a[i] = hash(b + i, b + i + 4); }

/// inline_changed_parameter regions=1
static int fold(unsigned v, int by) { v ^= v >> by; v *= 5; by = by + 1; return v >> by; }
void f(int n, int *a, const int *b) { for (int i = 0; i < n; i++) a[i] = fold(b[i] & 255, 2) + fold(i, 1); }

/// inline_local_array regions=1
static int middle(const int *v) { int s[3]; for (int k = 0; k < 3; k++) s[k] = v[k] * v[k]; return s[0] + 2 * s[1] - s[2]; }
void f(int n, int *a, const int *b) { for (int i = 0; i < n; i++) a[i] = middle(&b[i]); }

/// inline_passes_array regions=1
static void fill(int *v, int x) { for (int k = 0; k < 4; k++) v[k] = x * k + 1; }
static int dot(const int *v, const int *w) { int s = 0; for (int k = 0; k < 4; k++) s += v[k] * w[k]; return s; }
void f(int n, int *a, const int *b) { for (int i = 0; i < n; i++) { int w[4]; fill(w, i); a[i] = dot(w, b + i); } }

/// inline_under_condition regions=1
static int safe(const int *p, int k) { int t = p[k - 1]; t += 1; return t; }
void f(int n, int *a, const int *b) { for (int i = 0; i < n; i++) a[i] = i > 0 ? safe(b, i) : b[i] > 3 && safe(b, 4) > b[i]; }

/// inline_chosen_by_data regions=1
static int half(int v) { int t = v; if (v < 0) t = -v; return t / 2; }
static int power(int v) { int t = v * v; return t + v; }
void f(int n, int *a, const int *b) { for (int i = 0; i < n; i++) a[i] = b[i] > 4 ? half(b[i]) : power(b[i]); }

/// inline_bits regions=1
static int bits(unsigned v) { int k = 0; while (v) { k += v & 1; v >>= 1; } return k; }
static int digits(int v) { int k; for (k = 0; v > 0; v /= 10) k++; return k; }
static int low(unsigned char v) { int k = 0; while (v != 0) { v &= v - 1; k++; } return k; }
void f(int n, int *a, const int *b) { for (int i = 0; i < n; i++) a[i] = bits(b[i]) + 100 * digits(b[i]) - low(b[i]); }

/// inline_floats regions=1
static float mix(float x, float y, float t) { float d = y - x; if (t <= 0.f) return x; return x + d * t; }
void f(int n, float *a, const float *b) { for (int i = 0; i < n; i++) a[i] = mix(b[i], b[i + 1], a[i] - 2.f); }

/// inline_store_is_whole regions=1
static int put(int *p, int v) { *p = v; return v + 1; }
void f(int n, int *a, int *b) { for (int i = 0; i < n; i++) { int t = put(&a[i], b[i]); b[i] = put(a + i, t); } }

/// inline_store_inside regions=0
static int put(int *p, int v) { *p = v; return v + 1; }
void f(int n, int *a, const int *b) { for (int i = 0; i < n; i++) { int t = put(&a[i], b[i]) + b[i]; a[i] = t; } }

/// inline_recursion regions=0
static int fact(int v) { return v < 2 ? 1 : v * fact(v - 1); }
void f(int n, int *a) { for (int i = 0; i < n; i++) a[i] = fact(i & 7); }

/// inline_return_in_loop regions=0
static int find(const int *p) { for (int k = 0; k < 3; k++) if (p[k] > 2) return k; return 3; }
void f(int n, int *a, const int *b) { for (int i = 0; i < n; i++) a[i] = find(b + i); }

/// inline_kept_address regions=0
int *kept;
static void keep(int *p) { kept = p; }
void f(int n, int *a) { for (int i = 0; i < n; i++) { int t = i; keep(&t); a[i] = t; } }

/// inline_shadowed regions=1
static int i = 4;
static int plus(int n) { int a = n + i; { int n = a * 2; a = n; } return a; }
void f(int n, int *a) { for (int i = 0; i < n; i++) a[i] = plus(a[i]) + i; }

/// inline_aliasing_parameter regions=1
static void both(int *p, int v, int w) { p[0] = w; p[1] = v; }
void f(int n, int *a) { for (int i = 0; i < n; i++) both(a + i, a[i], a[i + 1] + 1); }

/// read_by_products regions=1
void f(int n, int lda, int *restrict a, const int *b) { for (int i = 0; i < n; i++) for (int j = 0; j < 3; j++) a[i * 3 + j] = b[i * n + j * lda]; }

/// asserted_sizes regions=1
#include <assert.h>
void f(int n, int lda, int *restrict a, const int *b) { if (n > 11 || n % 2 == 1) return; assert(lda >= n); for (int i = 0; i < n; i++) a[i] += b[i] + lda; }

/// asserted_numbers regions=1
void f(int n, int lda, short *restrict a, const short *b) { if (lda < 0 || lda > 200) return; for (int i = 0; i < n; i++) a[i] = (b[i] * lda + 8) >> 4; }

/// table_of_bytes regions=1
static const short t[256] = {3, -1, 4, 1, -5, 9};
void f(int n, int lda, int *restrict a, const int *b) { for (int i = 0; i < n; i++) a[i] += t[b[i] & 255] + t[(unsigned char)b[i + lda]]; }

/// table_of_clamped regions=1
static const short t[4][12] = {{3, -1, 4}, {1, -5, 9}};
void f(int n, int lda, int *restrict a, const int *b) { for (int i = 0; i < n; i++) { int v = b[i] - 3; v = v < 0 ? 0 : v > 10 ? 10 : v; a[i] = t[v & 3][v + 1] - t[1][v]; } }

/// table_too_short regions=0
static const short t[10] = {3, -1, 4};
void f(int n, int lda, int *restrict a, const int *b) { for (int i = 0; i < n; i++) { int v = b[i] - 3; v = v < 0 ? 0 : v > 10 ? 10 : v; a[i] = t[v]; } }

/// table_under_a_condition regions=1
static const short t[10] = {3, -1, 4};
void f(int n, int lda, int *restrict a, const int *b) { for (int i = 0; i < n; i++) a[i] = b[i] >= 0 && b[i] < 10 ? t[b[i]] : -1; }

/// table_that_changes regions=0
short t[256] = {3, -1, 4};
void f(int n, int lda, int *restrict a, const int *b) { for (int i = 0; i < n; i++) { t[i] = 1; a[i] = t[b[i] & 255]; } }

/// any_element regions=0
void f(int n, int lda, int *a, const int *b) { for (int i = 0; i < n; i++) a[i] = b[b[i]]; }

/// table_elements regions=1
static const int w[5] = {1, 4, -6}; static const short g[2][3] = {{1, 2}, {7, 8, 9}}; const unsigned char *const no = 0; static int m[2] = {3, 4};
void f(int n, int lda, int *restrict a, const int *b) { for (int i = 0; i < n; i++) a[i] = w[0] * b[i] + w[2] * b[i + 1] + w[4] + g[0][2] + g[1][0] * m[1]; }

/// rows_of_half_a_size regions=1
void f(int n, int lda, int *restrict a, const int *b) { for (int i = 0; i < n / 2; i++) for (int j = 0; j < lda / 4; j++) a[i * (lda / 4) + j] = b[2 * i * (lda / 4) + 4 * j] + n / 2; }

/// rows_of_a_named_half regions=1
void f(int n, int lda, int *restrict a, const int *b) { int w = (lda + 1) >> 1; for (int i = 0; i < n; i += 2) for (int j = 0; j < lda; j += 3) a[(i / 2) * w + j / 3] = b[i * w + j]; }

/// rows_of_half_a_half regions=1
void f(int n, int lda, int *restrict a, const int *b) { int w = lda / 2; for (int i = 0; i < n; i++) for (int j = 0; j < w / 2; j++) a[i * (w / 2) + j] = b[w * i + 2 * j]; }

/// offsets_that_go_around regions=1
#include <stddef.h>
void f(size_t n, size_t lda, int *restrict a, const int *b) { const int *p = b + 2 * lda; for (size_t i = 1; i < n; i++) a[i] = p[-lda] + p[i - lda] + *(p + -lda - i) + p[-(lda - i) + 1]; }

/// loops_up_to_a_product regions=1
void f(int n, int lda, int *restrict a, const int *b) { for (int i = 0; i < n; i++) { for (int j = n; j < n * lda - 1; j++) a[i + j] = b[i + j - n] + b[j]; } }

/// infinities regions=1
#include <math.h>
void f(int n, int lda, double *restrict a, const double *b) { double m = -INFINITY, l = HUGE_VAL; for (int i = 0; i < n; i++) { if (b[i] > m) m = b[i]; l = b[i] < l ? b[i] : l; } a[0] = m; a[1] = l; }

/// not_a_number regions=1
#include <math.h>
void f(int n, int lda, float *restrict a, const float *b) { for (int i = 0; i < n; i++) a[i] = b[i] > lda ? NAN : b[i] < -lda ? -HUGE_VALF : b[i]; }

/// largest_numbers_without_a_sign regions=1
#include <stdint.h>
#include <stddef.h>
void f(size_t n, const int *restrict x, int *restrict y)
{
    for (size_t i = 0; i < n; i++) {
        if (i != SIZE_MAX && i > 0x4000000000000000ull * 4)
            y[i] = x[i] + 1;
        if (i >= 9223372036854775808ull || i < 0xffffffffu + 4u)
            y[i] = x[i] + 3;
    }
}

/// loops_up_to_a_product_of_what_changed regions=1 least=0
void f(int n, int lda, int *restrict a, const int *b) { lda -= 3; for (int i = 0; i < n; i++) { for (int j = n; j < n * lda - 1; j++) a[i + j] = b[i + j - n] + b[j]; } }
