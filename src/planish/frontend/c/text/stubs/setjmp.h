#ifndef PLANISH_SETJMP_H
#define PLANISH_SETJMP_H
typedef struct planish_jmp_buf jmp_buf[1];
typedef struct planish_jmp_buf sigjmp_buf[1];
#endif
