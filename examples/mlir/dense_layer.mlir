// A dense layer of a neural network: Y = max(X W + b, 0), as named operations and an elementwise one.
#all = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (j)>

func.func @dense_layer(%X: memref<?x?xf32>, %W: memref<?x?xf32>, %b: memref<?xf32>, %Y: memref<?x?xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%Y : memref<?x?xf32>)
  linalg.matmul ins(%X, %W : memref<?x?xf32>, memref<?x?xf32>) outs(%Y : memref<?x?xf32>)
  linalg.generic {indexing_maps = [#column, #all], iterator_types = ["parallel", "parallel"]}
      ins(%b : memref<?xf32>) outs(%Y : memref<?x?xf32>) {
  ^bb0(%bias: f32, %y: f32):
    %sum = arith.addf %y, %bias : f32
    %positive = arith.maximumf %sum, %zero : f32
    linalg.yield %positive : f32
  }
  return
}
