/* What HIP and OpenCL call what emulator.h does: names of theirs, in terms of those of CUDA. */
#ifndef PLANISH_EMULATOR_DIALECTS_H
#define PLANISH_EMULATOR_DIALECTS_H
#define hipStream_t cudaStream_t
#define hipMalloc cudaMalloc
#define hipFree cudaFree
#define hipMemcpy cudaMemcpy
#define hipMemcpyHostToDevice cudaMemcpyHostToDevice
#define hipMemcpyDeviceToHost cudaMemcpyDeviceToHost
#define hipDeviceSynchronize cudaDeviceSynchronize
#define hipGetLastError cudaGetLastError

#define __kernel
#define __global
#define __local __shared__
#define restrict __restrict

enum { CLK_LOCAL_MEM_FENCE = 1, CLK_GLOBAL_MEM_FENCE = 2 };
static inline int planish_axis(planish::Id id, int axis) { return axis == 0 ? id.x : axis == 1 ? id.y : id.z; }
static inline size_t get_local_id(int axis) { return (size_t)planish_axis(planish::thread_id, axis); }
static inline size_t get_group_id(int axis) { return (size_t)planish_axis(planish::block_id, axis); }
static inline void barrier(int, int line = __builtin_LINE()) { planish::barrier(line); }

/* A buffer, which a kernel has as a pointer. */
struct cl_mem {
  void *at;
  cl_mem(void *given = nullptr) : at(given) {}
  template <typename T> operator T *() const { return (T *)at; }
};
typedef struct planish_queue_of *cl_command_queue;
static inline cl_command_queue planish_queue() { return nullptr; }
static inline int planish_allocate(cl_mem *on, size_t bytes) { return cudaMalloc(&on->at, bytes); }
static inline int planish_write(cl_mem on, const void *of, size_t bytes) { return memcpy(on.at, of, bytes), 0; }
static inline int planish_read(void *of, cl_mem on, size_t bytes) { return memcpy(of, on.at, bytes), 0; }
static inline void planish_release(cl_mem on) { cudaFree(on.at); }
static inline int clFinish(cl_command_queue) { return 0; }
#define PLANISH_READY(nest, queue) ((void)(queue), 0)
#endif
