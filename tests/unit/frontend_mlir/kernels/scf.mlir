// fibonacci: n=9
// steps: n=11
func.func @fibonacci(%n: i32, %A: memref<16xi64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %end = arith.index_cast %n : i32 to index
  %zero = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %r:2 = scf.for %i = %c0 to %end step %c1 iter_args(%a = %zero, %b = %one) -> (i64, i64) {
    %s = arith.addi %a, %b : i64
    memref.store %a, %A[%i] : memref<16xi64>
    scf.yield %b, %s : i64, i64
  }
  memref.store %r#0, %A[%end] : memref<16xi64>
  memref.store %r#1, %A[%c0] : memref<16xi64>
  return
}

func.func @steps(%n: index, %A: memref<?xf32>) {
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c0 = arith.constant 0 : index
  %m = memref.dim %A, %c0 : memref<?xf32>
  %e = arith.minsi %n, %m : index
  scf.for %i = %c1 to %e step %c3 {
    %k = arith.subi %i, %c1 : index
    %x = memref.load %A[%k] : memref<?xf32>
    memref.store %x, %A[%i] : memref<?xf32>
  }
  return
}

func.func @choices(%A: memref<?xf32>, %B: memref<?xf32>, %flag: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  %n = memref.dim %A, %c0 : memref<?xf32>
  scf.for %i = %c0 to %c4 step %c1 {
    %x = memref.load %A[%i] : memref<?xf32>
    %p = arith.cmpf ogt, %x, %zero : f32
    %y = scf.if %p -> (f32) {
      %h = arith.addf %x, %x : f32
      scf.yield %h : f32
    } else {
      %g = math.exp %x : f32
      scf.yield %g : f32
    }
    memref.store %y, %B[%i] : memref<?xf32>
    scf.if %flag {
      memref.store %x, %B[%i] : memref<?xf32>
    }
    %z = scf.if %p -> (f32) {
      memref.store %zero, %A[%i] : memref<?xf32>
      %w = memref.load %B[%c0] : memref<?xf32>
      scf.yield %w : f32
    } else {
      scf.yield %x : f32
    }
    %old = memref.load %B[%i] : memref<?xf32>
    %sum = arith.addf %old, %z : f32
    memref.store %sum, %B[%i] : memref<?xf32>
    %big = arith.cmpi sgt, %i, %c1 : index
    scf.if %big {
      memref.store %sum, %A[%i] : memref<?xf32>
    } else {
      memref.store %z, %A[%i] : memref<?xf32>
    }
  }
  return
}

func.func @old_values(%A: memref<6xf32>, %B: memref<6xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c6 = arith.constant 6 : index
  %first = memref.load %A[%c0] : memref<6xf32>
  %double = arith.addf %first, %first : f32
  scf.for %i = %c0 to %c6 step %c1 {
    %a = memref.load %A[%i] : memref<6xf32>
    %b = memref.load %B[%i] : memref<6xf32>
    memref.store %b, %A[%i] : memref<6xf32>
    memref.store %a, %B[%i] : memref<6xf32>
    %again = memref.load %A[%i] : memref<6xf32>
    %s = arith.addf %again, %double : f32
    %t = arith.mulf %s, %first : f32
    memref.store %t, %A[%i] : memref<6xf32>
  }
  memref.store %first, %B[%c0] : memref<6xf32>
  return
}

func.func @any_order(%A: memref<?x?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n = memref.dim %A, %c0 : memref<?x?xf64>
  %m = memref.dim %A, %c1 : memref<?x?xf64>
  scf.parallel (%i, %j) = (%c0, %c1) to (%n, %m) step (%c1, %c2) {
    %x = memref.load %A[%i, %j] : memref<?x?xf64>
    %y = arith.mulf %x, %x : f64
    memref.store %y, %A[%i, %j] : memref<?x?xf64>
    scf.reduce
  }
  return
}

func.func @narrow(%n: i32, %A: memref<16xi32>) {
  %c0 = arith.constant 0 : i32
  %c2 = arith.constant 2 : i32
  scf.for %i = %c0 to %n step %c2 : i32 {
    %k = arith.index_cast %i : i32 to index
    %p = arith.muli %i, %i : i32
    memref.store %p, %A[%k] : memref<16xi32>
  }
  return
}
