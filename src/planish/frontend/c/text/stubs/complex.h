#ifndef PLANISH_COMPLEX_H
#define PLANISH_COMPLEX_H
#define complex _Complex
#define _Complex_I planish_imaginary_unit
#define I planish_imaginary_unit
#define CMPLX(x, y) __builtin_complex((double)(x), (double)(y))
#define CMPLXF(x, y) __builtin_complex((float)(x), (float)(y))
#endif
