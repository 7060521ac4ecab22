#ifndef PLANISH_SYS_TIME_H
#define PLANISH_SYS_TIME_H
#include <time.h>
struct timeval { time_t tv_sec; long tv_usec; };
#endif
