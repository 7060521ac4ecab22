/* What functions of the host call to launch kernels by the driver of CUDA, whose addresses the caller gives.
 *
 * Compile their text as C++ behind this header, and link it to a function that calls them. Before each call of that,
 * planish_begin gets where the arrays of the device lie, the order of launches, and the kernels by their numbers. While
 * `asking`, nothing is launched or copied: only guards are evaluated. */
#ifndef PLANISH_LAUNCHES_H
#define PLANISH_LAUNCHES_H
#include <cstdint>
#include <initializer_list>
#include <math.h>
#include <stddef.h>

#define __global__
#define __launch_bounds__(...)
#define _Bool bool

typedef struct planish_stream *cudaStream_t;

extern "C" {
struct planish_driver {
  int (*launch)(void *kernel, unsigned x, unsigned y, unsigned z, unsigned tx, unsigned ty, unsigned tz,
                unsigned shared, void *stream, void **arguments, void **more);
  int (*allocate)(uint64_t *out, size_t bytes, void *pool, void *stream);
  int (*release)(uint64_t at, void *stream);
  int (*into)(uint64_t to, const void *from, size_t bytes, void *stream);
  int (*back)(void *to, uint64_t from, size_t bytes, void *stream);
  int (*wait)(void *stream);
};

struct planish_call {
  const planish_driver *driver;
  void *pool, *stream;
  void *const *kernels;
  const uint64_t *ranges; /* first and end of each array on the device */
  int32_t count, asking, declined, error;
  int32_t changed; /* An error came when arrays of the host were being written: they may have changed in part. */
};
}

namespace planish {

static __thread planish_call *call;

static inline bool failed(int status)
{
  if (status != 0 && call->error == 0) call->error = status;
  return status != 0;
}

static inline bool ready() { return call->error == 0; }
static inline cudaStream_t stream() { return (cudaStream_t)call->stream; }
static inline int declined() { return call->declined++, 1; }

static inline bool is_resident(const void *at)
{
  for (int i = 0; i < call->count; i++) {
    if ((uint64_t)at >= call->ranges[2 * i] && (uint64_t)at < call->ranges[2 * i + 1]) return true;
  }
  return false;
}

/* An array during a nest: where it is on the device. */
struct Held {
  void *of, *place;
  size_t bytes;
  bool out, own;
  Held(const void *of, size_t bytes, bool into, bool out)
      : of((void *)of), place((void *)of), bytes(bytes), out(out), own(false)
  {
    if (call->asking || bytes == 0 || is_resident(of) || !ready()) return;
    uint64_t made = 0;
    if (failed(call->driver->allocate(&made, bytes, call->pool, call->stream))) return;
    place = (void *)made, own = true;
    if (into) failed(call->driver->into(made, of, bytes, call->stream));
  }
};

/* Copies back what was copied, where all went well: that is known before anything of the host changes. */
static inline int finish(int status, std::initializer_list<Held *> every)
{
  bool copied = false, back = false;
  for (Held *x : every) copied = copied || (x->own && x->of != nullptr);
  if (copied && ready()) failed(call->driver->wait(call->stream));
  for (Held *x : every) {
    if (!x->own || !x->out || status != 0 || !ready()) continue;
    back = true;
    failed(call->driver->back(x->of, (uint64_t)x->place, x->bytes, call->stream));
  }
  for (Held *x : every) {
    if (x->own) failed(call->driver->release((uint64_t)x->place, call->stream));
  }
  if (copied) failed(call->driver->wait(call->stream));
  if (back && !ready()) call->changed = 1;
  return status != 0 || !ready();
}

template <typename Kernel> struct Launch;
template <typename... Parameters> struct Launch<void(Parameters...)> {
  static void run(int number, unsigned x, unsigned y, unsigned z, unsigned tx, unsigned ty, unsigned tz,
                  cudaStream_t stream, Parameters... given)
  {
    if (call->asking || !ready()) return;
    void *arguments[] = {(void *)&given..., nullptr};
    failed(call->driver->launch(call->kernels[number], x, y, z, tx, ty, tz, 0, stream, arguments, nullptr));
  }
};

} // namespace planish

#define planish_declined planish::declined()
#define PLANISH_LAUNCH(kernel, x, y, z, tx, ty, tz, stream, ...) \
  planish::Launch<decltype(kernel)>::run(planish_number_##kernel, (unsigned)(x), (unsigned)(y), (unsigned)(z), tx, ty, \
                                         tz, stream, __VA_ARGS__)

static inline int cudaGetLastError() { return planish::call->error; }

extern "C" {
/* What the next calls of this thread launch with. */
void planish_begin(planish_call *given) { planish::call = given; }
/* A nest cannot be launched with these sizes or arrays. */
void planish_decline(void) { planish::call->declined++; }
}
#endif
