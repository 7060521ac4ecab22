#ifndef PLANISH_OMP_H
#define PLANISH_OMP_H
typedef struct planish_omp_lock omp_lock_t;
#endif
