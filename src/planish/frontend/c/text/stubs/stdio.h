#ifndef PLANISH_STDIO_H
#define PLANISH_STDIO_H
#include <stddef.h>
typedef struct planish_file FILE;
extern FILE *stdin, *stdout, *stderr;
#define EOF (-1)
#define SEEK_SET 0
#define SEEK_CUR 1
#define SEEK_END 2
#define BUFSIZ 8192
#endif
