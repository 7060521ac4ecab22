func.func @matmul_transpose_a_f32(%a0: memref<?x?xf32>, %a1: memref<?x?xf32>, %out: memref<?x?xf32>) {
  linalg.matmul_transpose_a ins(%a0, %a1 : memref<?x?xf32>, memref<?x?xf32>)
      outs(%out : memref<?x?xf32>)
  return
}

func.func @matmul_transpose_b_f32(%a0: memref<?x?xf32>, %a1: memref<?x?xf32>, %out: memref<?x?xf32>) {
  linalg.matmul_transpose_b ins(%a0, %a1 : memref<?x?xf32>, memref<?x?xf32>)
      outs(%out : memref<?x?xf32>)
  return
}

func.func @matmul_i32(%a0: memref<4x3xi8>, %a1: memref<3x5xi8>, %out: memref<4x5xi32>) {
  linalg.matmul ins(%a0, %a1 : memref<4x3xi8>, memref<3x5xi8>)
      outs(%out : memref<4x5xi32>)
  return
}

func.func @batch_matmul_f32(%a0: memref<?x?x?xf32>, %a1: memref<?x?x?xf32>, %out: memref<?x?x?xf32>) {
  linalg.batch_matmul ins(%a0, %a1 : memref<?x?x?xf32>, memref<?x?x?xf32>)
      outs(%out : memref<?x?x?xf32>)
  return
}

func.func @batch_matmul_transpose_a_f32(%a0: memref<?x?x?xf32>, %a1: memref<?x?x?xf32>, %out: memref<?x?x?xf32>) {
  linalg.batch_matmul_transpose_a ins(%a0, %a1 : memref<?x?x?xf32>, memref<?x?x?xf32>)
      outs(%out : memref<?x?x?xf32>)
  return
}

func.func @batch_matmul_transpose_b_f32(%a0: memref<?x?x?xf32>, %a1: memref<?x?x?xf32>, %out: memref<?x?x?xf32>) {
  linalg.batch_matmul_transpose_b ins(%a0, %a1 : memref<?x?x?xf32>, memref<?x?x?xf32>)
      outs(%out : memref<?x?x?xf32>)
  return
}

func.func @batch_reduce_matmul_f32(%a0: memref<?x?x?xf32>, %a1: memref<?x?x?xf32>, %out: memref<?x?xf32>) {
  linalg.batch_reduce_matmul ins(%a0, %a1 : memref<?x?x?xf32>, memref<?x?x?xf32>)
      outs(%out : memref<?x?xf32>)
  return
}

func.func @matvec_f64(%a0: memref<?x?xf64>, %a1: memref<?xf64>, %out: memref<?xf64>) {
  linalg.matvec ins(%a0, %a1 : memref<?x?xf64>, memref<?xf64>)
      outs(%out : memref<?xf64>)
  return
}

func.func @vecmat_f32(%a0: memref<?xf32>, %a1: memref<?x?xf32>, %out: memref<?xf32>) {
  linalg.vecmat ins(%a0, %a1 : memref<?xf32>, memref<?x?xf32>)
      outs(%out : memref<?xf32>)
  return
}

func.func @batch_matvec_f32(%a0: memref<?x?x?xf32>, %a1: memref<?x?xf32>, %out: memref<?x?xf32>) {
  linalg.batch_matvec ins(%a0, %a1 : memref<?x?x?xf32>, memref<?x?xf32>)
      outs(%out : memref<?x?xf32>)
  return
}

func.func @batch_vecmat_f32(%a0: memref<?x?xf32>, %a1: memref<?x?x?xf32>, %out: memref<?x?xf32>) {
  linalg.batch_vecmat ins(%a0, %a1 : memref<?x?xf32>, memref<?x?x?xf32>)
      outs(%out : memref<?x?xf32>)
  return
}

func.func @dot_f32(%a0: memref<?xf32>, %a1: memref<?xf32>, %out: memref<f32>) {
  linalg.dot ins(%a0, %a1 : memref<?xf32>, memref<?xf32>)
      outs(%out : memref<f32>)
  return
}

func.func @conv_1d_f32(%a0: memref<9xf32>, %a1: memref<3xf32>, %out: memref<7xf32>) {
  linalg.conv_1d ins(%a0, %a1 : memref<9xf32>, memref<3xf32>)
      outs(%out : memref<7xf32>)
  return
}

func.func @conv_2d_f32(%a0: memref<6x7xf32>, %a1: memref<3x2xf32>, %out: memref<4x6xf32>) {
  linalg.conv_2d ins(%a0, %a1 : memref<6x7xf32>, memref<3x2xf32>)
      outs(%out : memref<4x6xf32>)
  return
}

func.func @conv_3d_f32(%a0: memref<4x5x6xf32>, %a1: memref<2x2x3xf32>, %out: memref<3x4x4xf32>) {
  linalg.conv_3d ins(%a0, %a1 : memref<4x5x6xf32>, memref<2x2x3xf32>)
      outs(%out : memref<3x4x4xf32>)
  return
}

func.func @conv_1d_nwc_wcf_f32(%a0: memref<2x11x3xf32>, %a1: memref<3x3x4xf32>, %out: memref<2x4x4xf32>) {
  linalg.conv_1d_nwc_wcf {dilations = dense<2> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>} ins(%a0, %a1 : memref<2x11x3xf32>, memref<3x3x4xf32>)
      outs(%out : memref<2x4x4xf32>)
  return
}

func.func @conv_1d_ncw_fcw_f32(%a0: memref<2x3x11xf32>, %a1: memref<4x3x3xf32>, %out: memref<2x4x4xf32>) {
  linalg.conv_1d_ncw_fcw {dilations = dense<2> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>} ins(%a0, %a1 : memref<2x3x11xf32>, memref<4x3x3xf32>)
      outs(%out : memref<2x4x4xf32>)
  return
}

func.func @conv_2d_nhwc_hwcf_f32(%a0: memref<2x7x8x3xf32>, %a1: memref<2x3x3x4xf32>, %out: memref<2x3x4x4xf32>) {
  linalg.conv_2d_nhwc_hwcf {dilations = dense<[1, 2]> : tensor<2xi64>, strides = dense<[2, 1]> : tensor<2xi64>} ins(%a0, %a1 : memref<2x7x8x3xf32>, memref<2x3x3x4xf32>)
      outs(%out : memref<2x3x4x4xf32>)
  return
}

func.func @conv_2d_nhwc_fhwc_f32(%a0: memref<2x7x8x3xf32>, %a1: memref<4x2x3x3xf32>, %out: memref<2x3x4x4xf32>) {
  linalg.conv_2d_nhwc_fhwc {dilations = dense<[1, 2]> : tensor<2xi64>, strides = dense<[2, 1]> : tensor<2xi64>} ins(%a0, %a1 : memref<2x7x8x3xf32>, memref<4x2x3x3xf32>)
      outs(%out : memref<2x3x4x4xf32>)
  return
}

func.func @conv_2d_nchw_fchw_f32(%a0: memref<2x3x7x8xf32>, %a1: memref<4x3x2x3xf32>, %out: memref<2x4x3x4xf32>) {
  linalg.conv_2d_nchw_fchw {dilations = dense<[1, 2]> : tensor<2xi64>, strides = dense<[2, 1]> : tensor<2xi64>} ins(%a0, %a1 : memref<2x3x7x8xf32>, memref<4x3x2x3xf32>)
      outs(%out : memref<2x4x3x4xf32>)
  return
}

func.func @conv_2d_ngchw_fgchw_f32(%a0: memref<2x2x3x7x8xf32>, %a1: memref<4x2x3x2x3xf32>, %out: memref<2x2x4x3x4xf32>) {
  linalg.conv_2d_ngchw_fgchw {dilations = dense<[1, 2]> : tensor<2xi64>, strides = dense<[2, 1]> : tensor<2xi64>} ins(%a0, %a1 : memref<2x2x3x7x8xf32>, memref<4x2x3x2x3xf32>)
      outs(%out : memref<2x2x4x3x4xf32>)
  return
}

func.func @conv_2d_ngchw_gfchw_f32(%a0: memref<2x2x3x7x8xf32>, %a1: memref<2x4x3x2x3xf32>, %out: memref<2x2x4x3x4xf32>) {
  linalg.conv_2d_ngchw_gfchw {dilations = dense<[1, 2]> : tensor<2xi64>, strides = dense<[2, 1]> : tensor<2xi64>} ins(%a0, %a1 : memref<2x2x3x7x8xf32>, memref<2x4x3x2x3xf32>)
      outs(%out : memref<2x2x4x3x4xf32>)
  return
}

func.func @conv_3d_ndhwc_dhwcf_f32(%a0: memref<1x4x5x6x2xf32>, %a1: memref<2x2x3x2x3xf32>, %out: memref<1x3x4x4x3xf32>) {
  linalg.conv_3d_ndhwc_dhwcf {dilations = dense<1> : tensor<3xi64>, strides = dense<1> : tensor<3xi64>} ins(%a0, %a1 : memref<1x4x5x6x2xf32>, memref<2x2x3x2x3xf32>)
      outs(%out : memref<1x3x4x4x3xf32>)
  return
}

func.func @conv_3d_ncdhw_fcdhw_f32(%a0: memref<1x2x4x5x6xf32>, %a1: memref<3x2x2x2x3xf32>, %out: memref<1x3x3x4x4xf32>) {
  linalg.conv_3d_ncdhw_fcdhw {dilations = dense<1> : tensor<3xi64>, strides = dense<1> : tensor<3xi64>} ins(%a0, %a1 : memref<1x2x4x5x6xf32>, memref<3x2x2x2x3xf32>)
      outs(%out : memref<1x3x3x4x4xf32>)
  return
}

func.func @depthwise_conv_1d_nwc_wc_f32(%a0: memref<2x7x3xf32>, %a1: memref<2x3xf32>, %out: memref<2x3x3xf32>) {
  linalg.depthwise_conv_1d_nwc_wc {dilations = dense<2> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>} ins(%a0, %a1 : memref<2x7x3xf32>, memref<2x3xf32>)
      outs(%out : memref<2x3x3xf32>)
  return
}

func.func @depthwise_conv_1d_ncw_cw_f32(%a0: memref<2x3x7xf32>, %a1: memref<3x2xf32>, %out: memref<2x3x3xf32>) {
  linalg.depthwise_conv_1d_ncw_cw {dilations = dense<2> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>} ins(%a0, %a1 : memref<2x3x7xf32>, memref<3x2xf32>)
      outs(%out : memref<2x3x3xf32>)
  return
}

func.func @depthwise_conv_1d_nwc_wcm_f32(%a0: memref<2x7x3xf32>, %a1: memref<2x3x2xf32>, %out: memref<2x3x3x2xf32>) {
  linalg.depthwise_conv_1d_nwc_wcm {dilations = dense<2> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>} ins(%a0, %a1 : memref<2x7x3xf32>, memref<2x3x2xf32>)
      outs(%out : memref<2x3x3x2xf32>)
  return
}

func.func @depthwise_conv_2d_nhwc_hwc_f32(%a0: memref<2x7x8x3xf32>, %a1: memref<2x3x3xf32>, %out: memref<2x3x4x3xf32>) {
  linalg.depthwise_conv_2d_nhwc_hwc {dilations = dense<[1, 2]> : tensor<2xi64>, strides = dense<[2, 1]> : tensor<2xi64>} ins(%a0, %a1 : memref<2x7x8x3xf32>, memref<2x3x3xf32>)
      outs(%out : memref<2x3x4x3xf32>)
  return
}

func.func @depthwise_conv_2d_nchw_chw_f32(%a0: memref<2x3x7x8xf32>, %a1: memref<3x2x3xf32>, %out: memref<2x3x3x4xf32>) {
  linalg.depthwise_conv_2d_nchw_chw {dilations = dense<[1, 2]> : tensor<2xi64>, strides = dense<[2, 1]> : tensor<2xi64>} ins(%a0, %a1 : memref<2x3x7x8xf32>, memref<3x2x3xf32>)
      outs(%out : memref<2x3x3x4xf32>)
  return
}

func.func @depthwise_conv_2d_nhwc_hwcm_f32(%a0: memref<2x7x8x3xf32>, %a1: memref<2x3x3x2xf32>, %out: memref<2x3x4x3x2xf32>) {
  linalg.depthwise_conv_2d_nhwc_hwcm {dilations = dense<[1, 2]> : tensor<2xi64>, strides = dense<[2, 1]> : tensor<2xi64>} ins(%a0, %a1 : memref<2x7x8x3xf32>, memref<2x3x3x2xf32>)
      outs(%out : memref<2x3x4x3x2xf32>)
  return
}

func.func @depthwise_conv_3d_ndhwc_dhwc_f32(%a0: memref<1x4x5x6x2xf32>, %a1: memref<2x2x3x2xf32>, %out: memref<1x3x4x4x2xf32>) {
  linalg.depthwise_conv_3d_ndhwc_dhwc {dilations = dense<1> : tensor<3xi64>, strides = dense<1> : tensor<3xi64>} ins(%a0, %a1 : memref<1x4x5x6x2xf32>, memref<2x2x3x2xf32>)
      outs(%out : memref<1x3x4x4x2xf32>)
  return
}

func.func @pool_nhwc_sum_f32(%a0: memref<2x7x8x3xf32>, %a1: memref<2x3xf32>, %out: memref<2x3x4x3xf32>) {
  linalg.pooling_nhwc_sum {dilations = dense<[1, 2]> : tensor<2xi64>, strides = dense<[2, 1]> : tensor<2xi64>} ins(%a0, %a1 : memref<2x7x8x3xf32>, memref<2x3xf32>)
      outs(%out : memref<2x3x4x3xf32>)
  return
}

func.func @pool_nwc_sum_f32(%a0: memref<2x7x3xf32>, %a1: memref<2xf32>, %out: memref<2x3x3xf32>) {
  linalg.pooling_nwc_sum {dilations = dense<2> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>} ins(%a0, %a1 : memref<2x7x3xf32>, memref<2xf32>)
      outs(%out : memref<2x3x3xf32>)
  return
}

func.func @pool_ndhwc_sum_f32(%a0: memref<1x4x5x6x2xf32>, %a1: memref<2x2x3xf32>, %out: memref<1x3x4x4x2xf32>) {
  linalg.pooling_ndhwc_sum {dilations = dense<1> : tensor<3xi64>, strides = dense<1> : tensor<3xi64>} ins(%a0, %a1 : memref<1x4x5x6x2xf32>, memref<2x2x3xf32>)
      outs(%out : memref<1x3x4x4x2xf32>)
  return
}

func.func @pool_nhwc_max_f32(%a0: memref<2x7x8x3xf32>, %a1: memref<2x3xf32>, %out: memref<2x3x4x3xf32>) {
  linalg.pooling_nhwc_max {dilations = dense<[1, 2]> : tensor<2xi64>, strides = dense<[2, 1]> : tensor<2xi64>} ins(%a0, %a1 : memref<2x7x8x3xf32>, memref<2x3xf32>)
      outs(%out : memref<2x3x4x3xf32>)
  return
}

func.func @pool_nwc_max_f32(%a0: memref<2x7x3xf32>, %a1: memref<2xf32>, %out: memref<2x3x3xf32>) {
  linalg.pooling_nwc_max {dilations = dense<2> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>} ins(%a0, %a1 : memref<2x7x3xf32>, memref<2xf32>)
      outs(%out : memref<2x3x3xf32>)
  return
}

func.func @pool_ndhwc_max_f32(%a0: memref<1x4x5x6x2xf32>, %a1: memref<2x2x3xf32>, %out: memref<1x3x4x4x2xf32>) {
  linalg.pooling_ndhwc_max {dilations = dense<1> : tensor<3xi64>, strides = dense<1> : tensor<3xi64>} ins(%a0, %a1 : memref<1x4x5x6x2xf32>, memref<2x2x3xf32>)
      outs(%out : memref<1x3x4x4x2xf32>)
  return
}

func.func @pool_nhwc_min_f32(%a0: memref<2x7x8x3xf32>, %a1: memref<2x3xf32>, %out: memref<2x3x4x3xf32>) {
  linalg.pooling_nhwc_min {dilations = dense<[1, 2]> : tensor<2xi64>, strides = dense<[2, 1]> : tensor<2xi64>} ins(%a0, %a1 : memref<2x7x8x3xf32>, memref<2x3xf32>)
      outs(%out : memref<2x3x4x3xf32>)
  return
}

func.func @pool_nwc_min_f32(%a0: memref<2x7x3xf32>, %a1: memref<2xf32>, %out: memref<2x3x3xf32>) {
  linalg.pooling_nwc_min {dilations = dense<2> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>} ins(%a0, %a1 : memref<2x7x3xf32>, memref<2xf32>)
      outs(%out : memref<2x3x3xf32>)
  return
}

func.func @pool_ndhwc_min_f32(%a0: memref<1x4x5x6x2xf32>, %a1: memref<2x2x3xf32>, %out: memref<1x3x4x4x2xf32>) {
  linalg.pooling_ndhwc_min {dilations = dense<1> : tensor<3xi64>, strides = dense<1> : tensor<3xi64>} ins(%a0, %a1 : memref<1x4x5x6x2xf32>, memref<2x2x3xf32>)
      outs(%out : memref<1x3x4x4x2xf32>)
  return
}

func.func @pool_nchw_sum_f32(%a0: memref<2x3x7x8xf32>, %a1: memref<2x3xf32>, %out: memref<2x3x3x4xf32>) {
  linalg.pooling_nchw_sum {dilations = dense<[1, 2]> : tensor<2xi64>, strides = dense<[2, 1]> : tensor<2xi64>} ins(%a0, %a1 : memref<2x3x7x8xf32>, memref<2x3xf32>)
      outs(%out : memref<2x3x3x4xf32>)
  return
}

func.func @pool_ncw_sum_f32(%a0: memref<2x3x7xf32>, %a1: memref<2xf32>, %out: memref<2x3x3xf32>) {
  linalg.pooling_ncw_sum {dilations = dense<2> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>} ins(%a0, %a1 : memref<2x3x7xf32>, memref<2xf32>)
      outs(%out : memref<2x3x3xf32>)
  return
}

func.func @pool_nchw_max_f32(%a0: memref<2x3x7x8xf32>, %a1: memref<2x3xf32>, %out: memref<2x3x3x4xf32>) {
  linalg.pooling_nchw_max {dilations = dense<[1, 2]> : tensor<2xi64>, strides = dense<[2, 1]> : tensor<2xi64>} ins(%a0, %a1 : memref<2x3x7x8xf32>, memref<2x3xf32>)
      outs(%out : memref<2x3x3x4xf32>)
  return
}

func.func @pool_ncw_max_f32(%a0: memref<2x3x7xf32>, %a1: memref<2xf32>, %out: memref<2x3x3xf32>) {
  linalg.pooling_ncw_max {dilations = dense<2> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>} ins(%a0, %a1 : memref<2x3x7xf32>, memref<2xf32>)
      outs(%out : memref<2x3x3xf32>)
  return
}

func.func @pool_nhwc_max_unsigned_i16(%a0: memref<2x7x8x3xi16>, %a1: memref<2x3xi16>, %out: memref<2x3x4x3xi16>) {
  linalg.pooling_nhwc_max_unsigned {dilations = dense<[1, 2]> : tensor<2xi64>, strides = dense<[2, 1]> : tensor<2xi64>} ins(%a0, %a1 : memref<2x7x8x3xi16>, memref<2x3xi16>)
      outs(%out : memref<2x3x4x3xi16>)
  return
}

func.func @pool_nhwc_min_unsigned_i16(%a0: memref<2x7x8x3xi16>, %a1: memref<2x3xi16>, %out: memref<2x3x4x3xi16>) {
  linalg.pooling_nhwc_min_unsigned {dilations = dense<[1, 2]> : tensor<2xi64>, strides = dense<[2, 1]> : tensor<2xi64>} ins(%a0, %a1 : memref<2x7x8x3xi16>, memref<2x3xi16>)
      outs(%out : memref<2x3x4x3xi16>)
  return
}

func.func @pool_nhwc_max_i16(%a0: memref<2x7x8x3xi16>, %a1: memref<2x3xi16>, %out: memref<2x3x4x3xi16>) {
  linalg.pooling_nhwc_max {dilations = dense<[1, 2]> : tensor<2xi64>, strides = dense<[2, 1]> : tensor<2xi64>} ins(%a0, %a1 : memref<2x7x8x3xi16>, memref<2x3xi16>)
      outs(%out : memref<2x3x4x3xi16>)
  return
}

func.func @pool_nwc_max_unsigned_i8(%a0: memref<2x7x3xi8>, %a1: memref<2xi8>, %out: memref<2x3x3xi8>) {
  linalg.pooling_nwc_max_unsigned {dilations = dense<2> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>} ins(%a0, %a1 : memref<2x7x3xi8>, memref<2xi8>)
      outs(%out : memref<2x3x3xi8>)
  return
}

func.func @pool_nwc_min_unsigned_i8(%a0: memref<2x7x3xi8>, %a1: memref<2xi8>, %out: memref<2x3x3xi8>) {
  linalg.pooling_nwc_min_unsigned {dilations = dense<2> : tensor<1xi64>, strides = dense<2> : tensor<1xi64>} ins(%a0, %a1 : memref<2x7x3xi8>, memref<2xi8>)
      outs(%out : memref<2x3x3xi8>)
  return
}

