#ifndef PLANISH_SYS_TYPES_H
#define PLANISH_SYS_TYPES_H
#include <stddef.h>
typedef long ssize_t;
typedef long off_t;
#endif
