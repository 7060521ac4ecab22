#ifndef PLANISH_STDLIB_H
#define PLANISH_STDLIB_H
#include <stddef.h>
typedef struct planish_div div_t;
typedef struct planish_ldiv ldiv_t;
#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
#define RAND_MAX 2147483647
#endif
