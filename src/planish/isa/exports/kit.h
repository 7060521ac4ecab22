/* Reads and writes of bits, and arithmetic on whole numbers and on the bits of floats, that definitions are made of. */

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "this header is for processors whose first byte is the lowest one"
#endif

#define PLANISH_INLINE static inline __attribute__((unused))

/* The bits of a value as another type of the same size. */
#define PLANISH_AS(type, value) __extension__({ \
  __typeof__(value) planish_from = (value); \
  type planish_to; \
  _Static_assert(sizeof planish_to == sizeof planish_from, "types of one size"); \
  __builtin_memcpy(&planish_to, &planish_from, sizeof planish_to); \
  planish_to; \
})
#ifdef __cplusplus
#define _Static_assert static_assert
#endif

#ifdef __SIZEOF_INT128__
__extension__ typedef __int128 planishk_int128;
__extension__ typedef unsigned __int128 planishk_uint128;
#endif

#define PLANISH_READ(letter, width, type) \
  PLANISH_INLINE type planishk_##letter##width(const void *from, long long byte) { \
    type found; \
    __builtin_memcpy(&found, (const char *)from + byte, sizeof found); \
    return found; \
  }
PLANISH_READ(u, 8, uint8_t)
PLANISH_READ(u, 16, uint16_t)
PLANISH_READ(u, 32, uint32_t)
PLANISH_READ(u, 64, uint64_t)
PLANISH_READ(s, 8, int8_t)
PLANISH_READ(s, 16, int16_t)
PLANISH_READ(s, 32, int32_t)
PLANISH_READ(s, 64, int64_t)
#ifdef __SIZEOF_INT128__
PLANISH_READ(u, 128, planishk_uint128)
#endif

#define PLANISH_WRITE(width) \
  PLANISH_INLINE void planishk_put##width(void *to, long long byte, uint##width##_t value) { \
    __builtin_memcpy((char *)to + byte, &value, sizeof value); \
  }
PLANISH_WRITE(8)
PLANISH_WRITE(16)
PLANISH_WRITE(32)
PLANISH_WRITE(64)

/* Some bits, at most 64, from any place; what lies beyond `room` bits is zero, where there is such a bound. */
PLANISH_INLINE uint64_t planishk_get(const void *from, long long room, long long offset, int width) {
  const int skipped = (int)(offset & 7), last = skipped + width;
  uint64_t found = 0;
  for (int at = 0; at < last; at += 8) {
    const long long place = (offset >> 3) + (at >> 3), left = room ? room - 8 * place : 8;
    if (room && (place < 0 || left <= 0)) continue;
    const uint64_t byte = ((const unsigned char *)from)[place] & (left < 8 ? (1u << left) - 1 : 255u);
    found |= at < skipped ? byte >> (skipped - at) : byte << (at - skipped);
  }
  return width < 64 ? found & (((uint64_t)1 << width) - 1) : found;
}

PLANISH_INLINE void planishk_put(void *to, long long room, long long offset, int width, uint64_t value) {
  const int skipped = (int)(offset & 7), last = skipped + width;
  for (int at = 0; at < last; at += 8) {
    const long long place = (offset >> 3) + (at >> 3), left = room ? room - 8 * place : 8;
    if (room && (place < 0 || left <= 0)) continue;
    const int low = at < skipped ? skipped - at : 0, end = last - at < 8 ? last - at : 8;
    const int high = left < end ? (int)left : end;
    const unsigned mask = ((1u << high) - 1) & ~((1u << low) - 1);
    const unsigned bits = (unsigned)(at < skipped ? value << (skipped - at) : value >> (at - skipped)) & mask;
    unsigned char *byte = (unsigned char *)to + place;
    *byte = (unsigned char)((*byte & ~mask) | bits);
  }
}

PLANISH_INLINE int64_t planishk_signed(uint64_t bits, int width) {
  return (int64_t)(bits << (64 - width)) >> (64 - width);
}

/* Arithmetic for each type; what is shifted by less than nothing stays as it is. */
#define PLANISH_SIGNED(name, type, unsigned_type, width) \
  PLANISH_INLINE type planishk_shr_##name(type x, int by) { return by < 0 ? x : x >> (by > width - 1 ? width - 1 : by); } \
  PLANISH_INLINE type planishk_abs_##name(type x) { return x < 0 ? -x : x; } \
  PLANISH_INLINE type planishk_mod_##name(type a, type b) { return b == 0 ? 0 : (a % b + b) % b; } \
  PLANISH_COMMON(name, type, unsigned_type, width)
#define PLANISH_UNSIGNED(name, type, width) \
  PLANISH_INLINE type planishk_shr_##name(type x, int by) { return by < 0 ? x : by > width - 1 ? 0 : x >> by; } \
  PLANISH_INLINE type planishk_mod_##name(type a, type b) { return b == 0 ? 0 : a % b; } \
  PLANISH_COMMON(name, type, type, width)
#define PLANISH_COMMON(name, type, unsigned_type, width) \
  PLANISH_INLINE type planishk_shl_##name(type x, int by) { \
    return by < 0 ? x : by > width - 1 ? 0 : (type)((unsigned_type)x << by); \
  } \
  PLANISH_INLINE type planishk_min_##name(type a, type b) { return a < b ? a : b; } \
  PLANISH_INLINE type planishk_max_##name(type a, type b) { return a > b ? a : b; } \
  PLANISH_INLINE type planishk_clamp_##name(type x, type low, type high) { return x < low ? low : x > high ? high : x; } \
  PLANISH_INLINE type planishk_quo_##name(type a, type b) { return b == 0 ? 0 : a / b; }
PLANISH_SIGNED(i32, int32_t, uint32_t, 32)
PLANISH_SIGNED(i64, int64_t, uint64_t, 64)
PLANISH_UNSIGNED(u64, uint64_t, 64)
#ifdef __SIZEOF_INT128__
PLANISH_SIGNED(i128, planishk_int128, planishk_uint128, 128)
PLANISH_UNSIGNED(u128, planishk_uint128, 128)
#endif

PLANISH_INLINE int planishk_popcount(uint64_t x) { return __builtin_popcountll(x); }
PLANISH_INLINE int planishk_parity(uint64_t x) { return __builtin_parityll(x); }
PLANISH_INLINE int planishk_clz(int width, uint64_t x) { return x ? width - 64 + __builtin_clzll(x) : width; }

/* The product of two polynomials over bits. */
PLANISH_INLINE uint64_t planishk_clmul(uint64_t a, uint64_t b) {
  uint64_t found = 0;
  for (; b; b &= b - 1) found ^= a << __builtin_ctzll(b);
  return found;
}

#ifdef __SIZEOF_INT128__
/* What is beyond 2^126 is 2^126, with its sign. */
PLANISH_INLINE planishk_int128 planishk_far_shl(planishk_int128 x, int by) {
  planishk_int128 most = (planishk_int128)1 << 126;
  for (; by > 0; by--) {
    if (x == 0 || x > most / 2 || x < -(most / 2)) break;
    x *= 2;
  }
  return by > 0 && x ? (x < 0 ? -most : most) : x;
}

PLANISH_INLINE planishk_uint128 planishk_clmul128(uint64_t a, uint64_t b) {
  planishk_uint128 found = 0;
  for (; b; b &= b - 1) found ^= (planishk_uint128)a << __builtin_ctzll(b);
  return found;
}
#endif

/* The place of the set bit before which there are so many, and how many set bits there are before a place. */
PLANISH_INLINE int planishk_nth(uint64_t mask, int count) {
  uint64_t left = mask;
  while (left && count--) left &= left - 1;
  return left ? __builtin_ctzll(left) : mask ? 64 - __builtin_clzll(mask) : 0;
}
PLANISH_INLINE int planishk_rank(uint64_t mask, int place) {
  return __builtin_popcountll(place > 63 ? mask : mask & (((uint64_t)1 << place) - 1));
}

/* Floats as their bits. */
PLANISH_INLINE float planishk_f32(uint32_t bits) { return PLANISH_AS(float, bits); }
PLANISH_INLINE double planishk_f64(uint64_t bits) { return PLANISH_AS(double, bits); }
PLANISH_INLINE uint32_t planishk_bits_f32(float x) { return PLANISH_AS(uint32_t, x); }
PLANISH_INLINE uint64_t planishk_bits_f64(double x) { return PLANISH_AS(uint64_t, x); }

/* Products that GCC does not make one with the sum that they are part of. */
#if defined(__GNUC__) && !defined(__clang__)
#if defined(__x86_64__)
#define PLANISH_KEEP(x) __asm__("" : "+x"(x))
#elif defined(__aarch64__)
#define PLANISH_KEEP(x) __asm__("" : "+w"(x))
#else
#define PLANISH_KEEP(x) __asm__("" : "+m"(x))
#endif
#else
#define PLANISH_KEEP(x) (void)0
#endif
PLANISH_INLINE float planishk_product_f32(float a, float b) {
  float found = a * b;
  PLANISH_KEEP(found);
  return found;
}
PLANISH_INLINE double planishk_product_f64(double a, double b) {
  double found = a * b;
  PLANISH_KEEP(found);
  return found;
}

struct planishk_format { int bits, fraction; };
#define PLANISH_FORMAT(bits, fraction) __extension__(struct planishk_format){bits, fraction}
#define PLANISH_F16 PLANISH_FORMAT(16, 10)
#define PLANISH_BF16 PLANISH_FORMAT(16, 7)
#define PLANISH_F32 PLANISH_FORMAT(32, 23)
#define PLANISH_F64 PLANISH_FORMAT(64, 52)

PLANISH_INLINE uint64_t planishk_sign(struct planishk_format f) { return (uint64_t)1 << (f.bits - 1); }
PLANISH_INLINE uint64_t planishk_infinity(struct planishk_format f) {
  return (planishk_sign(f) - 1) & ~(((uint64_t)1 << f.fraction) - 1);
}
PLANISH_INLINE int planishk_bias(struct planishk_format f) { return (1 << (f.bits - f.fraction - 2)) - 1; }
PLANISH_INLINE uint64_t planishk_quiet(struct planishk_format f) { return (uint64_t)1 << (f.fraction - 1); }
PLANISH_INLINE uint64_t planishk_no_number(struct planishk_format f) {
  return planishk_sign(f) | planishk_infinity(f) | planishk_quiet(f);
}
PLANISH_INLINE int planishk_is_nan(struct planishk_format f, uint64_t x) {
  return (x & (planishk_sign(f) - 1)) > planishk_infinity(f);
}
PLANISH_INLINE int planishk_is_infinite(struct planishk_format f, uint64_t x) {
  return (x & (planishk_sign(f) - 1)) == planishk_infinity(f);
}
PLANISH_INLINE int planishk_length(uint64_t x) { return x ? 64 - __builtin_clzll(x) : 0; }

/* A finite float without its sign as a whole number, and the power of two that it counts. */
PLANISH_INLINE uint64_t planishk_apart(struct planishk_format f, uint64_t x, int *power) {
  int exponent = (int)((x & (planishk_sign(f) - 1)) >> f.fraction);
  uint64_t fraction = x & (((uint64_t)1 << f.fraction) - 1);
  *power = (exponent ? exponent : 1) - planishk_bias(f) - f.fraction;
  return exponent ? fraction | (uint64_t)1 << f.fraction : fraction;
}

/* Whether what is dropped makes a number go up. Ways of rounding: 0 and 4 to nearest, ties to even; 1 down, 2 up,
   3 to zero; 8 to nearest, ties away from zero; 9 to odd. */
PLANISH_INLINE int planishk_up(int negative, int odd, uint64_t rest, uint64_t half, int mode) {
  switch (mode) {
    case 1: return negative && rest;
    case 2: return !negative && rest;
    case 3: return 0;
    case 8: return rest >= half;
    case 9: return rest && !odd;
    default: return rest > half || (rest == half && odd);
  }
}

/* size / 2^drop, rounded. */
PLANISH_INLINE uint64_t planishk_dropped(uint64_t size, int drop, int negative, int mode) {
  if (drop <= 0) return size << -drop;
  if (drop > 64) return (uint64_t)planishk_up(negative, 0, size != 0, 2, mode);
  uint64_t half = (uint64_t)1 << (drop - 1), rest = drop == 64 ? size : size & ((half << 1) - 1);
  uint64_t kept = drop == 64 ? 0 : size >> drop;
  return kept + (uint64_t)planishk_up(negative, (int)(kept & 1), rest, half, mode);
}

/* The float nearest to size * 2^power in a way of rounding. */
PLANISH_INLINE uint64_t planishk_together(struct planishk_format f, int negative, uint64_t size, int power, int mode) {
  uint64_t sign = negative ? planishk_sign(f) : 0;
  int least = 1 - planishk_bias(f) - f.fraction;
  if (size == 0) return sign;
  int drop = planishk_length(size) - f.fraction - 1;
  if (drop < least - power) drop = least - power;
  if (drop > 0) {
    size = planishk_dropped(size, drop, negative, mode);
    power += drop;
  }
  if (size == 0) return sign;
  while (planishk_length(size) <= f.fraction && power > least) {
    size <<= 1;
    power--;
  }
  if (planishk_length(size) > f.fraction + 1) {
    size >>= 1;
    power++;
  }
  int exponent = size >> f.fraction ? power + planishk_bias(f) + f.fraction : 0;
  if (exponent >= (1 << (f.bits - f.fraction - 1)) - 1) {
    int inward = mode == 3 || mode == 9 || (mode == 1 && !negative) || (mode == 2 && negative);
    return sign | (planishk_infinity(f) - (inward ? 1 : 0));
  }
  return sign | (uint64_t)exponent << f.fraction | (size & (((uint64_t)1 << f.fraction) - 1));
}

PLANISH_INLINE int64_t planishk_to_integer(struct planishk_format f, uint64_t x, int bits, int is_signed, int mode) {
  uint64_t indefinite = is_signed ? (uint64_t)1 << (bits - 1) : ~(uint64_t)0 >> (64 - bits);
  int negative = (x & planishk_sign(f)) != 0, power;
  uint64_t size = planishk_apart(f, x, &power);
  int64_t none = is_signed ? planishk_signed(indefinite, bits) : (int64_t)indefinite;
  if (planishk_is_nan(f, x) || planishk_is_infinite(f, x)) return none;
  if (size && power > 0 && planishk_length(size) + power > 64) return none;
  uint64_t whole = planishk_dropped(size, -power, negative, mode);
  uint64_t most = is_signed ? indefinite - (negative ? 0 : 1) : negative ? 0 : indefinite;
  if (whole > most) return none;
  return (int64_t)(negative ? 0 - whole : whole);
}

PLANISH_INLINE uint64_t planishk_from_unsigned(struct planishk_format f, uint64_t x, int mode) {
  return planishk_together(f, 0, x, 0, mode);
}
PLANISH_INLINE uint64_t planishk_from_signed(struct planishk_format f, uint64_t x, int mode) {
  return (int64_t)x < 0 ? planishk_together(f, 1, 0 - x, 0, mode) : planishk_together(f, 0, x, 0, mode);
}

PLANISH_INLINE uint64_t planishk_convert(struct planishk_format f, struct planishk_format old, uint64_t x, int mode) {
  int negative = (x & planishk_sign(old)) != 0, power;
  uint64_t sign = negative ? planishk_sign(f) : 0, fraction = x & (((uint64_t)1 << old.fraction) - 1);
  int step = f.fraction - old.fraction;
  if (planishk_is_nan(old, x))
    return sign | planishk_infinity(f) | (step >= 0 ? fraction << step : fraction >> -step) | planishk_quiet(f);
  if (planishk_is_infinite(old, x)) return sign | planishk_infinity(f);
  uint64_t size = planishk_apart(old, x, &power);
  return planishk_together(f, negative, size, power, mode);
}

/* Half floats as floats: sums, products, quotients and roots of these are exact enough to be rounded again. */
PLANISH_INLINE float planishk_f16(uint16_t bits) {
  return planishk_f32((uint32_t)planishk_convert(PLANISH_F32, PLANISH_F16, bits, 0));
}
PLANISH_INLINE uint16_t planishk_bits_f16(double x) {
  return (uint16_t)planishk_convert(PLANISH_F16, PLANISH_F64, planishk_bits_f64(x), 0);
}
PLANISH_INLINE float planishk_product_f16(float a, float b) { return planishk_product_f32(a, b); }

/* The product is exact; the sum is rounded to odd, so that it may be rounded again. */
PLANISH_INLINE double planishk_fma_f16(float a, float b, float c) {
  double product = planishk_product_f64(a, b), total = product + c;
  double part = total - product, error = (product - (total - part)) + ((double)c - part);
  uint64_t bits = planishk_bits_f64(total);
  if (error == 0 || error != error || total - total != 0) return total;
  return planishk_f64(((error > 0) == (total > 0) ? bits : bits - 1) | 1);
}

/* The float rounded to so many binary digits after the point. */
PLANISH_INLINE uint64_t planishk_round(struct planishk_format f, uint64_t x, int digits, int mode) {
  int negative = (x & planishk_sign(f)) != 0, power;
  if (planishk_is_nan(f, x)) return x | planishk_quiet(f);
  uint64_t size = planishk_apart(f, x, &power);
  if (planishk_is_infinite(f, x) || power + digits >= 0) return x;
  return planishk_together(f, negative, planishk_dropped(size, -(power + digits), negative, mode), -digits, 3);
}

/* a * 2^floor(b). */
PLANISH_INLINE uint64_t planishk_scale(struct planishk_format f, uint64_t a, uint64_t b, int mode) {
  uint64_t sign = a & planishk_sign(f);
  int below = (b & planishk_sign(f)) != 0, power, step;
  if (planishk_is_nan(f, a)) {
    if (planishk_is_infinite(f, b) && (a & planishk_quiet(f))) return below ? 0 : planishk_infinity(f);
    return a | planishk_quiet(f);
  }
  if (planishk_is_nan(f, b)) return b | planishk_quiet(f);
  uint64_t size = planishk_apart(f, a, &power), by = planishk_apart(f, b, &step);
  if (planishk_is_infinite(f, b)) {
    if (below) return planishk_is_infinite(f, a) ? planishk_no_number(f) : sign;
    return size == 0 ? planishk_no_number(f) : sign | planishk_infinity(f);
  }
  if (planishk_is_infinite(f, a)) return a;
  uint64_t far = by && step > 0 && planishk_length(by) + step > 20 ? 1 << 14 : planishk_dropped(by, -step, below, 1);
  int moved = far > 1 << 14 ? 1 << 14 : (int)far;
  return planishk_together(f, sign != 0, size, power + (below ? -moved : moved), mode);
}

/* The exponent of a float, as a float. */
PLANISH_INLINE uint64_t planishk_exponent(struct planishk_format f, uint64_t x) {
  int power;
  if (planishk_is_nan(f, x)) return x | planishk_quiet(f);
  if (planishk_is_infinite(f, x)) return planishk_infinity(f);
  uint64_t size = planishk_apart(f, x, &power);
  if (size == 0) return planishk_sign(f) | planishk_infinity(f);
  int found = power + planishk_length(size) - 1;
  return planishk_together(f, found < 0, (uint64_t)(found < 0 ? -found : found), 0, 0) & ~(found ? 0 : planishk_sign(f));
}

/* What is left of a float without its power of two; bits 0 and 1 of the control give the interval, 2 and 3 the sign. */
PLANISH_INLINE uint64_t planishk_mantissa(struct planishk_format f, uint64_t x, int control) {
  int interval = control & 3, power;
  uint64_t sign = control & 4 ? 0 : x & planishk_sign(f);
  if (planishk_is_nan(f, x)) return x | planishk_quiet(f);
  uint64_t size = planishk_apart(f, x, &power);
  if ((x & planishk_sign(f)) && (control & 8) && size) return planishk_no_number(f);
  if (size == 0 || planishk_is_infinite(f, x)) return sign | (uint64_t)planishk_bias(f) << f.fraction;
  int top = planishk_length(size) - 1, first = top ? (int)(size >> (top - 1) & 1) : 0;
  int halved = interval == 1 ? (power + top) & 1 : interval == 2 ? 1 : interval == 3 ? first : 0;
  return planishk_together(f, sign != 0, size, -halved - top, 3);
}

/* Arithmetic in another way of rounding than the one that is set. */
#if __STDC_HOSTED__
#include <fenv.h>
PLANISH_INLINE int planishk_set_rounding(int mode) {
  int before = fegetround();
  if (mode == 0) fesetround(FE_TONEAREST);
#ifdef FE_DOWNWARD
  if (mode == 1) fesetround(FE_DOWNWARD);
  if (mode == 2) fesetround(FE_UPWARD);
#endif
#ifdef FE_TOWARDZERO
  if (mode == 3) fesetround(FE_TOWARDZERO);
#endif
  return before;
}
/* To odd: what is cut off makes the last bit 1. Mode 10 makes an infinity of what is too large, 9 does not. */
#define PLANISH_ROUNDED(format, name, type, parameters, copies, expression) \
  PLANISH_INLINE type planishk_##name##_##format(PLANISH_UNWRAP parameters, int mode) { \
    volatile type PLANISH_UNWRAP copies; \
    fenv_t whole; \
    int odd = mode > 8, flags = 0; \
    if (odd) feholdexcept(&whole); \
    int before = planishk_set_rounding(odd ? 3 : mode); \
    volatile type found = (expression); \
    if (odd) flags = fetestexcept(FE_INEXACT | FE_OVERFLOW); \
    fesetround(before); \
    if (odd) fesetenv(&whole); \
    if (mode == 10 && (flags & FE_OVERFLOW)) return found < 0 ? -(type)__builtin_inf() : (type)__builtin_inf(); \
    return flags ? planishk_##format(planishk_bits_##format(found) | 1) : found; \
  }
#define PLANISH_UNWRAP(...) __VA_ARGS__
#define PLANISH_ROUNDED_ALL(format, type, letter) \
  PLANISH_ROUNDED(format, fadd, type, (type x, type y), (a = x, b = y), a + b) \
  PLANISH_ROUNDED(format, fsub, type, (type x, type y), (a = x, b = y), a - b) \
  PLANISH_ROUNDED(format, fmul, type, (type x, type y), (a = x, b = y), a * b) \
  PLANISH_ROUNDED(format, fdiv, type, (type x, type y), (a = x, b = y), a / b) \
  PLANISH_ROUNDED(format, fsqrt, type, (type x), (a = x), __builtin_sqrt##letter(a)) \
  PLANISH_ROUNDED(format, fma, type, (type x, type y, type z), (a = x, b = y, c = z), __builtin_fma##letter(a, b, c))
PLANISH_ROUNDED_ALL(f32, float, f)
PLANISH_ROUNDED_ALL(f64, double, )
#endif
