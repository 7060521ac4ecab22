#ifndef PLANISH_IMMINTRIN_H
#define PLANISH_IMMINTRIN_H
typedef struct planish_m64 __m64;
typedef struct planish_m128 __m128;
typedef struct planish_m128i __m128i;
typedef struct planish_m128d __m128d;
typedef struct planish_m256 __m256;
typedef struct planish_m256i __m256i;
typedef struct planish_m256d __m256d;
typedef struct planish_m512 __m512;
typedef struct planish_m512i __m512i;
typedef struct planish_m512d __m512d;
#endif
