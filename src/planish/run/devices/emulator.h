/* Runs kernels of CUDA on the processor: blocks in a loop, threads as fibers that go from barrier to barrier together.
 *
 * Compile the text of the kernels as C++ behind this header: g++ -std=c++17 -include emulator.h -x c++ kernels.cu
 * PLANISH_ORDER: blocks, and in each phase threads, run 0 forward, 1 backward, 2 shuffled. Two threads that use one cell
 * without a barrier between them, one of them writing, so come to different results. Shared memory is poisoned for each
 * block, memory of the device when it is allocated, and ends at a page that may not be touched. Copies that are under
 * way land as late as they may, when the thread waits for them. */
#ifndef PLANISH_EMULATOR_H
#define PLANISH_EMULATOR_H
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <math.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

#ifndef PLANISH_ORDER
#define PLANISH_ORDER 0
#endif

#define __global__
#define __device__
#define __host__
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __shared__ static __attribute__((section("planish_shared")))
#define __restrict__ __restrict
#define __forceinline__ inline
#define _Bool bool

namespace planish {

struct Id { int x, y, z; };
enum { MOST = 1024, STACK = 64 * 1024 };

static Id thread_id, block_id, block_size, grid_size;
#if defined(__x86_64__)
static void *fibers[MOST], *host;
#else
static ucontext_t fibers[MOST], host;
#endif
static char *stacks;
static int waits[MOST]; /* The line of the barrier at which a thread waits; 0: it has ended. */
static int current;
static void (*body)(const void *);
static const void *argument;
static uint64_t seed = 88172645463325252ull;

[[noreturn]] static void fail(const char *what)
{
  fprintf(stderr, "emulator: %s\n", what);
  abort();
}

static void run_body()
{
  body(argument);
  waits[current] = 0;
}

#if defined(__x86_64__)
extern "C" void planish_switch(void **from, void *to);
__asm__(
  ".text\n.p2align 4\n.weak planish_switch\n.type planish_switch,@function\nplanish_switch:\n"
  "pushq %rbp\npushq %rbx\npushq %r12\npushq %r13\npushq %r14\npushq %r15\n"
  "movq %rsp, (%rdi)\nmovq %rsi, %rsp\n"
  "popq %r15\npopq %r14\npopq %r13\npopq %r12\npopq %rbx\npopq %rbp\nret\n"
  ".size planish_switch,.-planish_switch\n");

static void enter()
{
  run_body();
  planish_switch(&fibers[current], host);
  fail("a thread went on behind its end");
}

static void start(int number)
{
  uintptr_t top = ((uintptr_t)(stacks + (size_t)(number + 1) * STACK)) & ~(uintptr_t)15;
  void **at = (void **)top;
  *--at = nullptr;       /* keeps the stack aligned as behind a call */
  *--at = (void *)enter; /* where the first switch returns to */
  for (int i = 0; i < 6; i++) *--at = nullptr;
  fibers[number] = at;
}

static void resume(int number) { planish_switch(&host, fibers[number]); }
static void leave() { planish_switch(&fibers[current], host); }
#else
static void start(int number)
{
  getcontext(&fibers[number]);
  fibers[number].uc_stack.ss_sp = stacks + (size_t)number * STACK;
  fibers[number].uc_stack.ss_size = STACK;
  fibers[number].uc_link = &host;
  makecontext(&fibers[number], run_body, 0);
}

static void resume(int number) { swapcontext(&host, &fibers[number]); }
static void leave() { swapcontext(&fibers[current], &host); }
#endif

/* Copies of each thread that are under way: they land when it waits for them; in shuffled order some land at once. */
struct Copy { void *to; const void *from; size_t bytes; };
enum { COPIES = 256 };
static Copy under_way[MOST][COPIES];
static int copies[MOST];

static void copy(void *to, const void *from, size_t bytes)
{
  if (((uintptr_t)to | (uintptr_t)from) % bytes != 0) fail("a copy to shared memory is not aligned");
  if (PLANISH_ORDER == 2) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    if (seed % 2) {
      memcpy(to, from, bytes);
      return;
    }
  }
  if (copies[current] == COPIES) fail("more than 256 copies of a thread are under way");
  under_way[current][copies[current]++] = Copy{to, from, bytes};
}

static void land()
{
  for (int i = 0; i < copies[current]; i++) {
    const Copy &x = under_way[current][i];
    memcpy(x.to, x.from, x.bytes);
  }
  copies[current] = 0;
}

static void barrier(int line)
{
  waits[current] = line;
  leave();
}

static int shuffled(int *order, int count)
{
  for (int i = 0; i < count; i++) order[i] = PLANISH_ORDER == 1 ? count - 1 - i : i;
  if (PLANISH_ORDER == 2) {
    for (int i = count - 1; i > 0; i--) {
      seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
      const int k = (int)(seed % (uint64_t)(i + 1)), t = order[i];
      order[i] = order[k], order[k] = t;
    }
  }
  return count;
}

extern "C" char __start_planish_shared[] __attribute__((weak));
extern "C" char __stop_planish_shared[] __attribute__((weak));

static void run_block(int threads)
{
  if (__start_planish_shared) {
    memset(__start_planish_shared, 0xff, (size_t)(__stop_planish_shared - __start_planish_shared));
  }
  int order[MOST];
  for (int i = 0; i < threads; i++) start(i), waits[i] = -1, copies[i] = 0;
  for (;;) {
    shuffled(order, threads);
    for (int i = 0; i < threads; i++) {
      current = order[i];
      thread_id.x = current % block_size.x;
      thread_id.y = current / block_size.x % block_size.y;
      thread_id.z = current / block_size.x / block_size.y;
      resume(current);
    }
    for (int i = 1; i < threads; i++) {
      if (waits[i] != waits[0]) fail("threads of a block wait at different barriers, or some have ended");
    }
    if (waits[0] == 0) return;
  }
}

static void run(Id grid, Id block, void (*function)(const void *), const void *given)
{
  const int threads = block.x * block.y * block.z;
  if (threads < 1 || threads > MOST) fail("a block has no thread, or more than 1024");
  if (grid.x < 1 || grid.y < 1 || grid.z < 1 || grid.y > 65535 || grid.z > 65535) fail("a grid has a wrong extent");
  if (stacks == nullptr) {
    void *made = mmap(nullptr, (size_t)MOST * STACK, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) fail("no memory for threads");
    stacks = (char *)made;
  }
  body = function, argument = given, block_size = block, grid_size = grid;
  const int blocks = grid.x * grid.y * grid.z;
  int *order = (int *)malloc(sizeof(int) * (size_t)blocks);
  if (order == nullptr) fail("no memory for blocks");
  shuffled(order, blocks);
  for (int i = 0; i < blocks; i++) {
    block_id.x = order[i] % grid.x;
    block_id.y = order[i] / grid.x % grid.y;
    block_id.z = order[i] / grid.x / grid.y;
    run_block(threads);
  }
  free(order);
}

template <typename Function> void launch(Id grid, Id block, const Function &function)
{
  run(grid, block, [](const void *given) { (*(const Function *)given)(); }, &function);
}

} // namespace planish

#define threadIdx planish::thread_id
#define blockIdx planish::block_id
#define blockDim planish::block_size
#define gridDim planish::grid_size
#define __syncthreads() planish::barrier(__LINE__)
static inline void planish_copy_4(void *to, const void *from) { planish::copy(to, from, 4); }
static inline void planish_copy_8(void *to, const void *from) { planish::copy(to, from, 8); }
static inline void planish_copy_16(void *to, const void *from) { planish::copy(to, from, 16); }
static inline void planish_land() { planish::land(); }
/* Sizes that kernels decline would leave them unchecked. */
#define planish_declined (planish::fail("kernels were not launched: a guard does not hold"), 1)
#define PLANISH_LAUNCH(kernel, x, y, z, tx, ty, tz, stream, ...) \
  ((void)(stream), planish::launch(planish::Id{(int)(x), (int)(y), (int)(z)}, planish::Id{tx, ty, tz}, \
                                   [&] { kernel(__VA_ARGS__); }))

typedef struct planish_stream *cudaStream_t;
enum { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };

/* The bytes, whose end is that of a page before one that may not be touched. */
static inline int cudaMalloc(void **out, size_t bytes)
{
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (bytes + page - 1) / page * page;
  char *made = (char *)mmap(nullptr, whole + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == (char *)MAP_FAILED) return 2;
  mprotect(made + page + whole, page, PROT_NONE);
  *(size_t *)made = whole + 2 * page;
  memset(made + page, 0xff, whole);
  mprotect(made, page, PROT_READ);
  *out = made + page + (whole - bytes);
  return 0;
}

static inline int cudaFree(void *at)
{
  if (at == nullptr) return 0;
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char *const first = (char *)((uintptr_t)at / page * page) - page;
  return munmap(first, *(size_t *)first);
}

static inline int cudaMemcpy(void *to, const void *from, size_t bytes, int) { return memcpy(to, from, bytes), 0; }
static inline int cudaDeviceSynchronize() { return 0; }
static inline int cudaGetLastError() { return 0; }
#endif
