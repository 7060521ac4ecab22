/* The convolution of conv2d.c by oneDNN 2, for arrays in the same order: plain images in and out, plain windows.
 *
 * PLAIN: it works on these arrays as they are. Otherwise in the order that it likes best, and reorders what it is given
 * and what it returns; WINDOWS_KEPT: the windows once only. Primitives are made at the first call.
 */

#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#include <stdlib.h>

enum { SOURCE, WEIGHTS, OUTPUT, OPERANDS };

static const int uses[OPERANDS] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
#ifdef BYTES
static const dnnl_data_type_t types[OPERANDS] = {dnnl_u8, dnnl_s8, dnnl_s32};
#elif defined(HALVES)
static const dnnl_data_type_t types[OPERANDS] = {dnnl_bf16, dnnl_bf16, dnnl_f32};
#else
static const dnnl_data_type_t types[OPERANDS] = {dnnl_f32, dnnl_f32, dnnl_f32};
#endif
static dnnl_engine_t engine;
static dnnl_stream_t stream;
static dnnl_primitive_t convolution, reorders[OPERANDS];
static dnnl_memory_t given[OPERANDS], own[OPERANDS];

static void must(dnnl_status_t status) {
  if (status != dnnl_success) fprintf(stderr, "oneDNN: status %d\n", (int)status), abort();
}

static void prepare(int nf, int nc, int oh, int ow, int ih, int iw) {
  const dnnl_dims_t dims[OPERANDS] = {{1, nc, ih, iw}, {nf, nc, WINDOW, WINDOW}, {1, nf, oh, ow}};
  const dnnl_dims_t strides = {STRIDE, STRIDE};
  const dnnl_dims_t before = {0, 0}, behind = {(oh - 1) * STRIDE + WINDOW - ih, (ow - 1) * STRIDE + WINDOW - iw};
  dnnl_memory_desc_t plain[OPERANDS], wanted[OPERANDS];
  must(dnnl_engine_create(&engine, dnnl_cpu, 0));
  must(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));
  for (int i = 0; i < OPERANDS; i++) {
    dnnl_format_tag_t tag = i == WEIGHTS ? dnnl_oihw : dnnl_nchw;
    must(dnnl_memory_desc_init_by_tag(&plain[i], 4, dims[i], types[i], tag));
#ifndef PLAIN
    tag = dnnl_format_tag_any;
#endif
    must(dnnl_memory_desc_init_by_tag(&wanted[i], 4, dims[i], types[i], tag));
  }
  dnnl_convolution_desc_t kind;
  dnnl_primitive_desc_t chosen;
  must(dnnl_convolution_forward_desc_init(&kind, dnnl_forward_inference, dnnl_convolution_auto, &wanted[SOURCE],
                                          &wanted[WEIGHTS], NULL, &wanted[OUTPUT], strides, before, behind));
  must(dnnl_primitive_desc_create(&chosen, &kind, NULL, engine, NULL));
  must(dnnl_primitive_create(&convolution, chosen));
  const dnnl_query_t asked[OPERANDS] = {dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md};
  for (int i = 0; i < OPERANDS; i++) {
    const dnnl_memory_desc_t *best = dnnl_primitive_desc_query_md(chosen, asked[i], 0);
    must(dnnl_memory_create(&given[i], &plain[i], engine, DNNL_MEMORY_NONE));
    if (dnnl_memory_desc_equal(best, &plain[i])) continue;
    must(dnnl_memory_create(&own[i], best, engine, DNNL_MEMORY_ALLOCATE));
    dnnl_primitive_desc_t moved;
    if (i == OUTPUT)
      must(dnnl_reorder_primitive_desc_create(&moved, best, engine, &plain[i], engine, NULL));
    else
      must(dnnl_reorder_primitive_desc_create(&moved, &plain[i], engine, best, engine, NULL));
    must(dnnl_primitive_create(&reorders[i], moved));
  }
}

static void reorder(int i, dnnl_memory_t from, dnnl_memory_t to) {
  const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
  if (reorders[i]) must(dnnl_primitive_execute(reorders[i], stream, 2, arguments));
}

void conv2d(int nf, int nc, int oh, int ow, int ih, int iw, void *out, void *in, void *weight) {
  static int known[6];
  const int sizes[6] = {nf, nc, oh, ow, ih, iw};
  int anew = 0;
  for (int i = 0; i < 6; i++) anew |= known[i] != sizes[i], known[i] = sizes[i];
  if (anew) {
    for (int i = 0; i < OPERANDS; i++) reorders[i] = NULL, own[i] = NULL;
    prepare(nf, nc, oh, ow, ih, iw);
  }
  void *const data[OPERANDS] = {in, weight, out};
  dnnl_exec_arg_t arguments[OPERANDS];
  for (int i = 0; i < OPERANDS; i++) {
    must(dnnl_memory_set_data_handle(given[i], data[i]));
    arguments[i] = (dnnl_exec_arg_t){uses[i], own[i] ? own[i] : given[i]};
  }
#ifdef WINDOWS_KEPT
  if (anew)
#endif
    reorder(WEIGHTS, given[WEIGHTS], own[WEIGHTS]);
  reorder(SOURCE, given[SOURCE], own[SOURCE]);
  must(dnnl_primitive_execute(convolution, stream, OPERANDS, arguments));
  reorder(OUTPUT, own[OUTPUT], given[OUTPUT]);
  must(dnnl_stream_wait(stream));
}
