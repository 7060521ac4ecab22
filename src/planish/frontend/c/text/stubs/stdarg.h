#ifndef PLANISH_STDARG_H
#define PLANISH_STDARG_H
typedef struct planish_va_list *va_list;
#endif
