/* A driver of CUDA whose device is the processor: kernels run in the emulator, memory of the device is the host's.
 * Behind emulator.h and kernels; FAKE_KERNELS(X) lists these. `fake_fails` is the status of the next launches;
 * of the next copies back that of the number `fake_lost` fails, where this is not 0;
 * `fake_launches`, `fake_copies` and `fake_held` count launches, copies, and arrays that were not given back. */
#include <initializer_list>
#include <utility>

template <typename Kernel> struct Fake;
template <typename... P> struct Fake<void(P...)> {
  template <size_t... I> static void call(void (*kernel)(P...), void **given, std::index_sequence<I...>)
  {
    kernel(*(P *)given[I]...);
  }
  static void run(void (*kernel)(P...), void **given) { call(kernel, given, std::index_sequence_for<P...>{}); }
};

struct FakeKernel { const char *name; void (*run)(void **); };
#define FAKE_ENTRY(k) {#k, [](void **given) { Fake<decltype(k)>::run(k, given); }},
static FakeKernel fake_kernels[] = {FAKE_KERNELS(FAKE_ENTRY){nullptr, nullptr}};

extern "C" {
int fake_fails, fake_lost, fake_launches, fake_copies, fake_held, fake_pools = 1, fake_devices = 1;
void *fake_current, *fake_stream;
uint64_t fake_kept;

int cuInit(unsigned) { return 0; }
int cuDeviceGetCount(int *out) { return *out = fake_devices, 0; }
int cuDeviceGet(int *out, int number) { return *out = number, 0; }
int cuDeviceGetAttribute(int *out, int what, int) { return *out = what == 75 ? 9 : what == 115 ? fake_pools : 0, 0; }
int cuDevicePrimaryCtxRetain(void **out, int number) { return *out = (void *)(uintptr_t)(4096 + number), 0; }
int cuCtxGetCurrent(void **out) { return *out = fake_current, 0; }
int cuCtxGetDevice(int *out) { return *out = (int)((uintptr_t)fake_current - 4096), 0; }
int cuCtxPushCurrent_v2(void *given) { return fake_current = given, 0; }
int cuCtxPopCurrent_v2(void **out) { return *out = fake_current, fake_current = nullptr, 0; }
int cuPointerGetAttribute(int *out, int, uint64_t) { return *out = 0, 0; }
int cuGetErrorName(int, const char **out) { return *out = "CUDA_ERROR_FAKE", 0; }
int cuModuleLoadData(void **out, const void *code) { return *out = nullptr, *(const char *)code ? 0 : 200; }
int cuModuleGetFunction(void **out, void *, const char *name)
{
  for (FakeKernel *x = fake_kernels; x->name; x++) {
    if (strcmp(x->name, name) == 0) return *out = x, 0;
  }
  return 500;
}
int cuMemPoolCreate(void **out, const void *) { return *out = (void *)4096, 0; }
int cuMemPoolSetAttribute(void *, int what, void *to) { return what == 4 ? fake_kept = *(uint64_t *)to, 0 : 1; }
int cuMemAlloc_v2(uint64_t *out, size_t bytes)
{
  void *made;
  const int status = cudaMalloc(&made, bytes);
  return *out = (uint64_t)made, fake_held++, status;
}
int cuMemFree_v2(uint64_t at) { return fake_held--, cudaFree((void *)at); }
int cuMemAllocFromPoolAsync(uint64_t *out, size_t bytes, void *, void *) { return cuMemAlloc_v2(out, bytes); }
int cuMemFreeAsync(uint64_t at, void *) { return cuMemFree_v2(at); }
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *)
{
  return fake_copies++, memcpy((void *)to, from, bytes), 0;
}
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *)
{
  if (fake_lost && --fake_lost == 0) return 700;
  return fake_copies++, memcpy(to, (void *)from, bytes), 0;
}
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) { return memcpy((void *)to, from, bytes), 0; }
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) { return memcpy(to, (void *)from, bytes), 0; }
int cuStreamSynchronize(void *) { return 0; }
int cuLaunchKernel(void *kernel, unsigned x, unsigned y, unsigned z, unsigned tx, unsigned ty, unsigned tz, unsigned,
                   void *stream, void **given, void **)
{
  if (fake_fails) return fake_fails;
  fake_launches++, fake_stream = stream;
  FakeKernel *k = (FakeKernel *)kernel;
  planish::launch(planish::Id{(int)x, (int)y, (int)z}, planish::Id{(int)tx, (int)ty, (int)tz}, [&] { k->run(given); });
  return 0;
}
}
