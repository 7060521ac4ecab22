/* The element types of a race, chosen by what is defined, and how they are filled and read.
 *
 *     #define ELEMENT_U8S8            ... or F32, F64, BF16, I16
 *     #include "gemm_types.h"         ... A is an array of Left, B of Right, C of Sum
 */

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* The scales make integers of samples in [-1, 1]. Without VNNI, libraries add two products of bytes in 16 bits, which
 * saturate: 2 * 255 * 64 fits. Sums of 8191 products on the scale of I16 fit an int32_t. */
#if defined ELEMENT_F32
typedef float Left, Right, Sum;
#elif defined ELEMENT_F64
typedef double Left, Right, Sum;
#elif defined ELEMENT_BF16
typedef uint16_t Left, Right; /* the upper half of a float */
typedef float Sum;
#elif defined ELEMENT_U8S8
typedef uint8_t Left;
typedef int8_t Right;
typedef int32_t Sum;
#define INTEGERS
static const double LEFT_SCALE = 127.5, RIGHT_SCALE = 64;
#elif defined ELEMENT_I16
typedef int16_t Left, Right;
typedef int32_t Sum;
#define INTEGERS
static const double LEFT_SCALE = 512, RIGHT_SCALE = 512;
#else
#error "which elements?"
#endif

/* What C holds where it must not be read, how far a sum is rounded, and a factor that is no simple number. */
#ifdef INTEGERS
static const Sum UNTOUCHED = 1 << 30;
static const double EPSILON = 0;
#define FACTOR 0x01010101
#else
static const Sum UNTOUCHED = NAN;
static const double EPSILON = sizeof(Sum) == sizeof(float) ? FLT_EPSILON : DBL_EPSILON;
#define FACTOR 0x1.007ep-1 /* as a float it is also two halves in bf16 */
#endif

/* An element of each matrix for a sample in [-1, 1]. */

static Sum make_sum(double sample) {
#ifdef INTEGERS
  return (Sum)(1000 * sample);
#else
  return (Sum)sample;
#endif
}

static Left make_left(double sample) {
#if defined ELEMENT_U8S8
  return (Left)(LEFT_SCALE * (sample + 1));
#elif defined INTEGERS
  return (Left)(LEFT_SCALE * sample);
#elif defined ELEMENT_BF16
  float number = (float)sample;
  uint32_t bits;
  memcpy(&bits, &number, sizeof bits);
  return (Left)(bits >> 16);
#else
  return (Left)sample;
#endif
}

static Right make_right(double sample) {
#ifdef INTEGERS
  return (Right)(RIGHT_SCALE * sample);
#else
  return make_left(sample);
#endif
}

/* What elements of A and B are worth. */

static Sum widen_left(Left element) {
#ifdef ELEMENT_BF16
  uint32_t bits = (uint32_t)element << 16;
  float number;
  memcpy(&number, &bits, sizeof number);
  return number;
#else
  return element;
#endif
}

static Sum widen_right(Right element) {
#ifdef ELEMENT_BF16
  return widen_left(element);
#else
  return element;
#endif
}
