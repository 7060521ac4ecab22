#ifndef PLANISH_STRING_H
#define PLANISH_STRING_H
#include <stddef.h>
#endif
