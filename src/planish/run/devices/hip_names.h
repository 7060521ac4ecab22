/* What kernels of HIP call, for a compiler of its language that has no headers and no libraries of ROCm. */
#ifndef PLANISH_HIP_NAMES_H
#define PLANISH_HIP_NAMES_H
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(n) __attribute__((launch_bounds(n)))

#define PLANISH_ID(name, of) \
  struct planish_##name { \
    __declspec(property(get = get_x)) int x; \
    __declspec(property(get = get_y)) int y; \
    __declspec(property(get = get_z)) int z; \
    __device__ int get_x() const { return __builtin_amdgcn_##of##_id_x(); } \
    __device__ int get_y() const { return __builtin_amdgcn_##of##_id_y(); } \
    __device__ int get_z() const { return __builtin_amdgcn_##of##_id_z(); } \
  }; \
  extern const __device__ planish_##name name
PLANISH_ID(threadIdx, workitem);
PLANISH_ID(blockIdx, workgroup);

static inline __device__ void __syncthreads()
{
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

#define PLANISH_UNARY(name) \
  static inline __device__ double name(double x) { return __builtin_##name(x); } \
  static inline __device__ float name##f(float x) { return __builtin_##name##f(x); }
#define PLANISH_BINARY(name) \
  static inline __device__ double name(double x, double y) { return __builtin_##name(x, y); } \
  static inline __device__ float name##f(float x, float y) { return __builtin_##name##f(x, y); }
PLANISH_UNARY(sqrt)
PLANISH_UNARY(fabs)
PLANISH_UNARY(floor)
PLANISH_UNARY(ceil)
PLANISH_UNARY(trunc)
PLANISH_UNARY(rint)
PLANISH_UNARY(round)
PLANISH_BINARY(fmin)
PLANISH_BINARY(fmax)
PLANISH_BINARY(copysign)
static inline __device__ double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
static inline __device__ float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
static inline __device__ float expf(float x) { return __builtin_expf(x); }
static inline __device__ float logf(float x) { return __builtin_logf(x); }
static inline __device__ int abs(int x) { return __builtin_abs(x); }
static inline __device__ long long llabs(long long x) { return __builtin_llabs(x); }

/* The host is not compiled. */
typedef struct planish_stream *hipStream_t;
enum { hipMemcpyHostToDevice = 1, hipMemcpyDeviceToHost = 2 };
int hipMalloc(void **, size_t);
int hipFree(void *);
int hipMemcpy(void *, const void *, size_t, int);
int hipDeviceSynchronize();
int hipGetLastError();
#define planish_declined 1
#define PLANISH_LAUNCH(...) ((void)0)
#endif
