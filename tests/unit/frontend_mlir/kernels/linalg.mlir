// scaled: n=3
#rows = affine_map<(i, j) -> (i, j)>
#first = affine_map<(i, j) -> (i)>
#turned = affine_map<(i, j) -> (j, i)>

func.func @product(%A: memref<?x?xf32>, %B: memref<?x?xf32>, %C: memref<?x?xf32>) {
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%C : memref<?x?xf32>)
  linalg.matmul ins(%A, %B : memref<?x?xf32>, memref<?x?xf32>) outs(%C : memref<?x?xf32>)
  return
}

func.func @sums(%A: memref<?x?xf64>, %s: memref<?xf64>, %t: memref<?xf64>) {
  linalg.generic {indexing_maps = [#rows, #first, #first], iterator_types = ["parallel", "reduction"]}
      ins(%A : memref<?x?xf64>) outs(%s, %t : memref<?xf64>, memref<?xf64>) {
  ^bb0(%a: f64, %x: f64, %y: f64):
    %b = arith.addf %x, %a : f64
    %c = arith.mulf %a, %a : f64
    %d = arith.addf %y, %c : f64
    linalg.yield %b, %d : f64, f64
  }
  return
}

func.func @numbered(%A: memref<4x6xi32>, %B: memref<6x4xi32>) {
  linalg.generic {indexing_maps = [#turned, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%B : memref<6x4xi32>) outs(%A : memref<4x6xi32>) {
  ^bb0(%b: i32, %a: i32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %k = arith.muli %i, %j : index
    %n = arith.index_cast %k : index to i32
    %p = arith.cmpi slt, %b, %n : i32
    %q = arith.select %p, %b, %n : i32
    linalg.yield %q : i32
  }
  return
}

func.func @scaled(%n: index, %alpha: f32, %A: memref<5x5xf32>, %B: memref<?x?xf32>) {
  %part = memref.subview %A[1, 0] [%n, %n] [1, 1] : memref<5x5xf32> to memref<?x?xf32, strided<[5, 1], offset: 5>>
  %zero = arith.constant 0.5 : f32
  linalg.generic {indexing_maps = [affine_map<(i, j) -> ()>, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%alpha : f32) outs(%part : memref<?x?xf32, strided<[5, 1], offset: 5>>) {
  ^bb0(%a: f32, %x: f32):
    %y = arith.mulf %a, %x : f32
    linalg.yield %y : f32
  }
  %corner = memref.subview %B[0, 0] [1, 1] [1, 1] : memref<?x?xf32> to memref<f32, strided<[]>>
  linalg.fill ins(%zero : f32) outs(%corner : memref<f32, strided<[]>>)
  return
}

func.func @shapes(%A: memref<?x?xf32>, %T: memref<?x?xf32>, %v: memref<?xf32>, %W: memref<?x?xf32>) {
  linalg.transpose ins(%A : memref<?x?xf32>) outs(%T : memref<?x?xf32>) permutation = [1, 0]
  linalg.broadcast ins(%v : memref<?xf32>) outs(%W : memref<?x?xf32>) dimensions = [0]
  linalg.reduce ins(%W : memref<?x?xf32>) outs(%v : memref<?xf32>) dimensions = [0]
    (%in: f32, %init: f32) {
      %s = arith.addf %in, %init : f32
      linalg.yield %s : f32
    }
  return
}

func.func @elements(%a: memref<?xf32>, %b: memref<?xf32>, %c: memref<?xf32>) {
  linalg.add ins(%a, %b : memref<?xf32>, memref<?xf32>) outs(%c : memref<?xf32>)
  linalg.mul ins(%c, %a : memref<?xf32>, memref<?xf32>) outs(%b : memref<?xf32>)
  linalg.sub ins(%b, %c : memref<?xf32>, memref<?xf32>) outs(%a : memref<?xf32>)
  linalg.exp ins(%a : memref<?xf32>) outs(%c : memref<?xf32>)
  linalg.div ins(%a, %c : memref<?xf32>, memref<?xf32>) outs(%b : memref<?xf32>)
  linalg.max ins(%a, %b : memref<?xf32>, memref<?xf32>) outs(%c : memref<?xf32>)
  linalg.abs ins(%c : memref<?xf32>) outs(%a : memref<?xf32>)
  linalg.sqrt ins(%a : memref<?xf32>) outs(%b : memref<?xf32>)
  linalg.negf ins(%b : memref<?xf32>) outs(%c : memref<?xf32>)
  linalg.square ins(%c : memref<?xf32>) outs(%a : memref<?xf32>)
  linalg.tanh ins(%b : memref<?xf32>) outs(%c : memref<?xf32>)
  return
}

func.func @whole(%a: memref<?xi32>, %b: memref<?xi32>, %c: memref<?xi64>, %d: memref<?xf32>) {
  linalg.add ins(%a, %b : memref<?xi32>, memref<?xi32>) outs(%a : memref<?xi32>)
  linalg.max ins(%a, %b : memref<?xi32>, memref<?xi32>) outs(%b : memref<?xi32>)
  linalg.copy ins(%b : memref<?xi32>) outs(%c : memref<?xi64>)
  linalg.copy {cast = #linalg.type_fn<cast_unsigned>} ins(%b : memref<?xi32>) outs(%d : memref<?xf32>)
  return
}
