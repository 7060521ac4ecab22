#ifndef PLANISH_MALLOC_H
#define PLANISH_MALLOC_H
#include <stddef.h>
#endif
