/*
 * Shared macros of the PolyBench-style examples.
 *
 * A kernel file picks its array extents by -DMINI_DATASET, -DSMALL_DATASET,
 * -DMEDIUM_DATASET or -DLARGE_DATASET (the default), then includes this
 * header.  The element type is double unless DATA_TYPE_IS_FLOAT or
 * DATA_TYPE_IS_INT is defined first.
 */
#ifndef POLYBENCH_H
#define POLYBENCH_H

/* The scop marks are meant for other tools than the C compiler. */
#ifdef __GNUC__
# pragma GCC diagnostic ignored "-Wunknown-pragmas"
#endif

#if defined(DATA_TYPE_IS_INT)
# define DATA_TYPE int
# define SCALAR_VAL(x) x
#elif defined(DATA_TYPE_IS_FLOAT)
# define DATA_TYPE float
# define SCALAR_VAL(x) x##f
# define SQRT_FUN(x) sqrtf(x)
# define EXP_FUN(x) expf(x)
# define POW_FUN(x, y) powf(x, y)
#else
# define DATA_TYPE double
# define SCALAR_VAL(x) x
# define SQRT_FUN(x) sqrt(x)
# define EXP_FUN(x) exp(x)
# define POW_FUN(x, y) pow(x, y)
#endif

/* Loops run to the run-time size; with POLYBENCH_USE_SCALAR_LB they run to
   the constant extent instead. */
#ifdef POLYBENCH_USE_SCALAR_LB
# define POLYBENCH_LOOP_BOUND(extent, size) (extent)
#else
# define POLYBENCH_LOOP_BOUND(extent, size) (size)
#endif

/* Array parameters: name, constant extents, run-time sizes. */
#define POLYBENCH_1D(var, d1, s1) var[d1]
#define POLYBENCH_2D(var, d1, d2, s1, s2) var[d1][d2]
#define POLYBENCH_3D(var, d1, d2, d3, s1, s2, s3) var[d1][d2][d3]

#endif /* POLYBENCH_H */
