// strided: A_0=4 A_1=5 A_stride0=9 A_offset=3 B_offset=2
func.func @strided(%A: memref<?x?xf32, strided<[?, 1], offset: ?>>, %B: memref<4x5xf32, strided<[1, 4], offset: ?>>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c5 = arith.constant 5 : index
  scf.for %i = %c0 to %c4 step %c1 {
    scf.for %j = %c0 to %c5 step %c1 {
      %x = memref.load %A[%i, %j] : memref<?x?xf32, strided<[?, 1], offset: ?>>
      memref.store %x, %B[%i, %j] : memref<4x5xf32, strided<[1, 4], offset: ?>>
    }
  }
  return
}

func.func @views(%A: memref<12x10xf32>, %B: memref<12x10xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %block = memref.subview %A[2, %c1] [%c4, 3] [2, %c3] : memref<12x10xf32> to memref<?x3xf32, strided<[20, ?], offset: ?>>
  %inner = memref.subview %block[%c1, 0] [2, 3] [%c1, 1] : memref<?x3xf32, strided<[20, ?], offset: ?>> to memref<2x3xf32, strided<[?, ?], offset: ?>>
  %column = memref.subview %B[0, 7] [12, 1] [1, 1] : memref<12x10xf32> to memref<12xf32, strided<[10], offset: 7>>
  %rows = memref.dim %block, %c0 : memref<?x3xf32, strided<[20, ?], offset: ?>>
  scf.for %i = %c0 to %rows step %c1 {
    scf.for %j = %c0 to %c3 step %c1 {
      %x = memref.load %block[%i, %j] : memref<?x3xf32, strided<[20, ?], offset: ?>>
      memref.store %x, %column[%i] : memref<12xf32, strided<[10], offset: 7>>
    }
  }
  scf.for %i = %c0 to %c2 step %c1 {
    %y = memref.load %inner[%i, %c2] : memref<2x3xf32, strided<[?, ?], offset: ?>>
    %z = arith.addf %y, %y : f32
    memref.store %z, %inner[%i, %c0] : memref<2x3xf32, strided<[?, ?], offset: ?>>
  }
  %turned = memref.transpose %A (i, j) -> (j, i) : memref<12x10xf32> to memref<10x12xf32, strided<[1, 10]>>
  %t = memref.load %turned[%c3, %c4] : memref<10x12xf32, strided<[1, 10]>>
  memref.store %t, %B[%c0, %c0] : memref<12x10xf32>
  %open = memref.cast %B : memref<12x10xf32> to memref<?x?xf32>
  %n = memref.dim %open, %c1 : memref<?x?xf32>
  scf.for %i = %c0 to %n step %c1 {
    memref.store %t, %open[%c2, %i] : memref<?x?xf32>
  }
  return
}

func.func @locals(%A: memref<?x?xf64>, %r: memref<f64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %A, %c0 : memref<?x?xf64>
  %m = memref.dim %A, %c1 : memref<?x?xf64>
  %row = memref.alloc(%m) : memref<?xf64>
  %fixed = memref.alloca() : memref<8xf64>
  %cell = memref.alloca() : memref<f64>
  memref.store %zero, %cell[] : memref<f64>
  scf.for %i = %c0 to %n step %c1 {
    %again = memref.alloc(%m) {alignment = 64 : i64} : memref<?xf64>
    scf.for %j = %c0 to %m step %c1 {
      %x = memref.load %A[%i, %j] : memref<?x?xf64>
      memref.store %x, %row[%j] : memref<?xf64>
      memref.store %x, %again[%j] : memref<?xf64>
    }
    scf.for %j = %c0 to %m step %c1 {
      %x = memref.load %row[%j] : memref<?xf64>
      %y = memref.load %again[%j] : memref<?xf64>
      %p = arith.mulf %x, %y : f64
      memref.store %p, %fixed[%c0] : memref<8xf64>
      %q = memref.load %fixed[%c0] : memref<8xf64>
      %s = memref.load %cell[] : memref<f64>
      %t = arith.addf %s, %q : f64
      memref.store %t, %cell[] : memref<f64>
    }
    memref.dealloc %again : memref<?xf64>
  }
  %end = memref.load %cell[] : memref<f64>
  memref.store %end, %r[] : memref<f64>
  memref.dealloc %row : memref<?xf64>
  return
}

func.func @expanded(%A: memref<12xf32>, %B: memref<3x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %wide = memref.expand_shape %A [[0, 1]] output_shape [3, 4] : memref<12xf32> into memref<3x4xf32>
  scf.for %i = %c0 to %c3 step %c1 {
    scf.for %j = %c0 to %c4 step %c1 {
      %x = memref.load %wide[%i, %j] : memref<3x4xf32>
      memref.store %x, %B[%i, %j] : memref<3x4xf32>
    }
  }
  return
}

func.func @copied(%A: memref<?x?xf32>, %B: memref<?x?xf32>) {
  memref.copy %A, %B : memref<?x?xf32> to memref<?x?xf32>
  return
}
