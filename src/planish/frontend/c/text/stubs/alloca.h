#ifndef PLANISH_ALLOCA_H
#define PLANISH_ALLOCA_H
#include <stddef.h>
#endif
