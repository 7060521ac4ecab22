#ifndef PLANISH_STDDEF_H
#define PLANISH_STDDEF_H
typedef unsigned long size_t;
typedef long ptrdiff_t;
#ifdef __WCHAR_TYPE__
typedef __WCHAR_TYPE__ wchar_t;
#else
typedef int wchar_t;
#endif
#define NULL ((void *)0)
#endif
