// blur: n=9
// triangle: n=8
#inside = affine_set<(d0)[s0] : (d0 - 1 >= 0, s0 - d0 - 2 >= 0)>
#even = affine_set<(d0) : (d0 mod 2 == 0)>
#tile = affine_map<(d0) -> (d0 * 4)>
#end = affine_map<(d0)[s0] -> (d0 * 4 + 4, s0)>

func.func @blur(%A: memref<?xf32>, %B: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %A, %c0 : memref<?xf32>
  %w = arith.constant 0.25 : f32
  linalg.copy ins(%A : memref<?xf32>) outs(%B : memref<?xf32>)
  affine.for %i = 0 to %n {
    affine.if #inside(%i)[%n] {
      %l = affine.load %A[%i - 1] : memref<?xf32>
      %m = affine.load %A[%i] : memref<?xf32>
      %r = affine.load %A[%i + 1] : memref<?xf32>
      %s = arith.addf %l, %r : f32
      %t = arith.addf %s, %m : f32
      %u = arith.mulf %t, %w : f32
      affine.store %u, %B[%i] : memref<?xf32>
    } else {
      affine.store %w, %B[%i] : memref<?xf32>
    }
  }
  return
}

func.func @tiled(%A: memref<37xf64>, %m: index) {
  %n = arith.constant 37 : index
  affine.for %t = 0 to affine_map<()[s0] -> (s0 ceildiv 4)>()[%n] {
    affine.for %i = #tile(%t) to min #end(%t)[%n] {
      affine.if #even(%i) {
        %x = affine.load %A[%i] : memref<37xf64>
        %y = arith.negf %x : f64
        affine.store %y, %A[%i] : memref<37xf64>
      }
    }
  }
  return
}

func.func @triangle(%n: index, %A: memref<8x8xi32>, %s: memref<8xi32>) {
  affine.for %i = 0 to %n {
    affine.for %j = max affine_map<(d0) -> (0, d0 - 2)>(%i) to affine_map<(d0) -> (d0 + 1)>(%i) step 2 {
      %k = affine.apply affine_map<(d0, d1) -> ((d0 + d1 * 3) floordiv 4)>(%i, %j)
      %a = affine.load %A[%i, %k] : memref<8x8xi32>
      %b = affine.load %s[%j] : memref<8xi32>
      %c = arith.addi %a, %b : i32
      affine.store %c, %s[%j] : memref<8xi32>
    }
  }
  return
}

func.func @carried(%A: memref<?x?xf32>, %out: memref<f32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = memref.dim %A, %c0 : memref<?x?xf32>
  %columns = memref.dim %A, %c1 : memref<?x?xf32>
  %zero = arith.constant 0.0 : f32
  %total = affine.for %i = 0 to %rows iter_args(%outer = %zero) -> (f32) {
    %row = affine.for %j = 0 to %columns iter_args(%inner = %outer) -> (f32) {
      %x = affine.load %A[%i, %j] : memref<?x?xf32>
      %y = arith.addf %inner, %x : f32
      affine.yield %y : f32
    }
    affine.yield %row : f32
  }
  affine.store %total, %out[] : memref<f32>
  return
}

func.func @extrema(%n: index, %m: index, %A: memref<32xindex>) {
  affine.for %i = 0 to 32 {
    %a = affine.min affine_map<(d0)[s0, s1] -> (d0 - s0, s1, 9)>(%i)[%n, %m]
    %b = affine.max affine_map<(d0)[s0] -> (d0 mod 5, d0 - s0 * 2)>(%i)[%n]
    %c = arith.addi %a, %b : index
    affine.store %c, %A[%i] : memref<32xindex>
  }
  return
}
