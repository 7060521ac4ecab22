"""Branch-free math functions as C text, which compilers vectorise; others are calls of the C library.

The exponential is 2^n e^r with |r| <= ln(2) / 2: n is what a large number leaves of x / ln(2) when it is added, e^r a
polynomial (of Taylor's coefficients for f64; for f32 those of Cephes' expf by S. Moshier), to which what 1 + r loses is
added, and 2^n is multiplied in two parts, so that results without a normal exponent are rounded once. What is beyond
any result comes to the edge as a whole number (the bits of what is negative are the greater ones without a sign, and
the lesser ones with one): compilers make no lanes of comparisons of floats that may trap.
In a block of f32 for AVX-512, n is a float, the polynomial the one of its degree with the least relative error, 2^n
multiplied in one step, and NaN stays as it is under a mask.
`bench/sweeps/lane_functions.py` compares all of f32 and 40 million of f64 with more exact ones.

A square root that may have to tell `errno` of a number below zero is no operation to compilers. gcc has one for another
name of the type, which nothing else calls, and takes the word of a declaration that it tells nothing; a pragma or
attribute `no-math-errno` has no effect. The greater and the lesser of two floats are
compared, with the results of GNU's library: gcc calls it where a float may be no number.

>>> sorted(LANE_FUNCTIONS)[:6]
['planish_exp', 'planish_expf', 'planish_expf_64', 'planish_fmax', 'planish_fmaxf', 'planish_fmin']
"""

from __future__ import annotations

_EXPF = """\
/* e^x to within 0.9 units in the last place. */
static inline float planish_expf(float x)
{
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  const uint32_t none = (bits & 0x7fffffffu) > 0x7f800000u ? bits : 0, least = bits < 0xc2d20000u ? bits : 0xc2d20000u;
  const int32_t near_bits = (int32_t)least < 0x42d20000 ? (int32_t)least : 0x42d20000;
  float near_x, nan_x;
  memcpy(&near_x, &near_bits, sizeof near_x);
  memcpy(&nan_x, &none, sizeof nan_x);
  const float shifted = near_x * 1.44269504f + 12582912.0f;
  memcpy(&bits, &shifted, sizeof bits);
  const int32_t n = (int32_t)(bits - 0x4b400000u), m = n >> 1;
  const float whole = (float)n, r = (near_x - whole * 0.693145752f) - whole * 1.42860677e-06f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 0.5f;
  const float near_p = 1.0f + r;
  p = (p * r * r + (r - (near_p - 1.0f))) + near_p;
  memcpy(&bits, &p, sizeof bits);
  bits += (uint32_t)m << 23;
  memcpy(&p, &bits, sizeof p);
  bits = (uint32_t)(n - m + 127) << 23;
  float scale;
  memcpy(&scale, &bits, sizeof scale);
  return p * scale + nan_x;
}
"""

_EXP = """\
/* e^x to within 0.9 units in the last place. */
static inline double planish_exp(double x)
{
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  const uint64_t none = (bits & 0x7fffffffffffffffu) > 0x7ff0000000000000u ? bits : 0;
  const uint64_t least = bits < 0xc087500000000000u ? bits : 0xc087500000000000u;
  const int64_t near_bits = (int64_t)least < 0x4087500000000000 ? (int64_t)least : 0x4087500000000000;
  double near_x, nan_x;
  memcpy(&near_x, &near_bits, sizeof near_x);
  memcpy(&nan_x, &none, sizeof nan_x);
  const double shifted = near_x * 1.4426950408889634 + 6755399441055744.0;
  memcpy(&bits, &shifted, sizeof bits);
  const int32_t n = (int32_t)(uint32_t)bits, m = n >> 1;
  const double whole = (double)n;
  const double r = (near_x - whole * 0.69314718036912382) - whole * 1.9082149292705877e-10;
  double p = 1.6059043836821613e-10;
  p = p * r + 2.0876756987868099e-9;
  p = p * r + 2.5052108385441720e-8;
  p = p * r + 2.7557319223985888e-7;
  p = p * r + 2.7557319223985893e-6;
  p = p * r + 2.4801587301587302e-5;
  p = p * r + 1.9841269841269841e-4;
  p = p * r + 1.3888888888888889e-3;
  p = p * r + 8.3333333333333333e-3;
  p = p * r + 4.1666666666666667e-2;
  p = p * r + 1.6666666666666667e-1;
  p = p * r + 0.5;
  const double near_p = 1.0 + r;
  p = (p * r * r + (r - (near_p - 1.0))) + near_p;
  memcpy(&bits, &p, sizeof bits);
  bits += (uint64_t)m << 52;
  memcpy(&p, &bits, sizeof p);
  bits = (uint64_t)(n - m + 1023) << 52;
  double scale;
  memcpy(&scale, &bits, sizeof scale);
  return p * scale + nan_x;
}
"""


def _write_block(head: str, registers: int, own: tuple[str, ...], stages: tuple[str, ...]) -> str:
    """A function of several registers `v`: each stage for all of them before the next one, so that none waits for the
    one before it."""
    loops = [f"  for (int v = 0; v < {registers}; v++) {stage}" for stage in stages]
    return "\n".join((f"static inline void {head}", "{", *(f"  {x};" for x in own), *loops, "}", ""))


def _write_steps(coefficients: tuple[str, ...]) -> tuple[str, ...]:
    """Horner's steps from the first coefficient to the last one."""
    first, *others = (f"_mm512_set1_ps({x}f)" for x in coefficients)
    return (f"p[v] = {first};", *(f"p[v] = _mm512_fmadd_ps(p[v], r[v], {x});" for x in others))


_EXPF_BLOCK = _write_block(
    "planish_expf_64(float *x)",
    4,
    ("__m512 whole[4], n[4], r[4], p[4]",),
    (
        "whole[v] = _mm512_loadu_ps(x + 16 * v);",
        "r[v] = _mm512_range_ps(whole[v], _mm512_set1_ps(105.0f), 2);",
        "n[v] = _mm512_roundscale_ps(_mm512_mul_ps(r[v], _mm512_set1_ps(1.44269504f)), 8);",
        "r[v] = _mm512_fnmadd_ps(n[v], _mm512_set1_ps(0.693145752f), r[v]);",
        "r[v] = _mm512_fnmadd_ps(n[v], _mm512_set1_ps(1.42860677e-06f), r[v]);",
        *_write_steps(("1.38146e-3", "8.36873e-3", "4.166839e-2", "0.16666521", "0.49999993", "1.0", "1.0")),
        "whole[v] = _mm512_mask_scalef_ps(whole[v], _mm512_cmp_ps_mask(whole[v], whole[v], _CMP_ORD_Q), p[v], n[v]);",
        "_mm512_storeu_ps(x + 16 * v, whole[v]);",
    ),
)


def _write_root(suffix: str, spelt: str, bits: int) -> str:
    """The square root of one type."""
    named = f"planish_sqrt{suffix}"
    return f"""\
/* The square root, which tells errno nothing. */
#if defined(__clang__) && defined(__has_builtin)
#if __has_builtin(__builtin_elementwise_sqrt)
#define {named}(x) __builtin_elementwise_sqrt(({spelt})(x))
#endif
#elif defined(__GNUC__) && defined(__GLIBC__) && defined(__x86_64__) && !defined(__cplusplus)
#if __GNUC__ >= 7
__extension__ _Float{bits} __builtin_sqrtf{bits}(_Float{bits}) __attribute__((const));
#define {named}(x) __builtin_sqrtf{bits}(x)
#endif
#endif
#ifndef {named}
#define {named}(x) sqrt{suffix}(x)
#endif
"""


def _write_extremum(op: str, suffix: str, spelt: str) -> str:
    """The lesser or greater of two values, of which either may be no number."""
    sign = "<" if op == "min" else ">"
    return f"""\
static inline {spelt} planish_f{op}{suffix}({spelt} a, {spelt} b)
{{
  const {spelt} found = b {sign} a ? b : a;
  return a != a ? b : found;
}}
"""


LANE_FUNCTIONS = {
    "planish_expf": _EXPF,
    "planish_expf_64": _EXPF_BLOCK,
    "planish_exp": _EXP,
    "planish_sqrtf": _write_root("f", "float", 32),
    "planish_sqrt": _write_root("", "double", 64),
    **{
        f"planish_f{op}{suffix}": _write_extremum(op, suffix, spelt)
        for op in ("min", "max") for suffix, spelt in (("f", "float"), ("", "double"))
    },
}  # fmt: skip
"""The text of each function by its name."""
