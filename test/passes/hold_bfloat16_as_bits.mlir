// RUN: girih-opt --hold-bfloat16-as-bits --split-input-file %s | filecheck %s

// The upper half of a float32 is shifted up, and back after rounding; a NaN stays one.
// CHECK-LABEL: llvm.func @converted
// CHECK: [[X:%.+]] = llvm.load {{.+}} -> vector<4xi16>
// CHECK: [[W:%.+]] = arith.extui [[X]] : vector<4xi16> to vector<4xi32>
// CHECK: [[S:%.+]] = arith.shli [[W]], {{.+}} : vector<4xi32>
// CHECK: [[F:%.+]] = arith.bitcast [[S]] : vector<4xi32> to vector<4xf32>
// CHECK: [[Y:%.+]] = arith.mulf [[F]], [[F]] : vector<4xf32>
// CHECK: [[B:%.+]] = arith.bitcast [[Y]] : vector<4xf32> to vector<4xi32>
// CHECK: [[N:%.+]] = arith.cmpf uno, [[Y]], [[Y]] : vector<4xf32>
// CHECK: [[Q:%.+]] = arith.constant dense<2143289344> : vector<4xi32>
// CHECK: [[R:%.+]] = arith.select [[N]], [[Q]], {{.+}} : vector<4xi1>, vector<4xi32>
// CHECK: [[H:%.+]] = arith.shrui [[R]], {{.+}} : vector<4xi32>
// CHECK: [[Z:%.+]] = arith.trunci [[H]] : vector<4xi32> to vector<4xi16>
// CHECK: llvm.store [[Z]], {{.+}} : vector<4xi16>
llvm.func @converted(%p: !llvm.ptr) {
  %x = llvm.load %p {alignment = 2 : i64} : !llvm.ptr -> vector<4xbf16>
  %f = arith.extf %x : vector<4xbf16> to vector<4xf32>
  %y = arith.mulf %f, %f : vector<4xf32>
  %z = arith.truncf %y : vector<4xf32> to vector<4xbf16>
  llvm.store %z, %p {alignment = 2 : i64} : vector<4xbf16>, !llvm.ptr
  llvm.return
}

// -----

// What is computed on after it was rounded is not put into 16 bits between.
// CHECK-LABEL: llvm.func @rounded
// CHECK: [[R:%.+]] = arith.select {{.+}} : vector<4xi1>, vector<4xi32>
// CHECK: [[U:%.+]] = arith.constant dense<-65536> : vector<4xi32>
// CHECK: [[M:%.+]] = arith.andi [[R]], [[U]] : vector<4xi32>
// CHECK: [[F:%.+]] = arith.bitcast [[M]] : vector<4xi32> to vector<4xf32>
// CHECK-NOT: arith.extui
// CHECK: arith.addf [[F]], [[F]]
llvm.func @rounded(%x: vector<4xf32>) -> vector<4xf32> {
  %y = arith.truncf %x : vector<4xf32> to vector<4xbf16>
  %z = arith.extf %y : vector<4xbf16> to vector<4xf32>
  %w = arith.addf %z, %z : vector<4xf32>
  llvm.return %w : vector<4xf32>
}

// -----

// Constants, addresses, branches and what a loop carries have the type of the bits.
// CHECK-LABEL: llvm.func @moved
// CHECK: arith.constant 16256 : i16
// CHECK: llvm.getelementptr {{.+}} : (!llvm.ptr) -> !llvm.ptr, i16
// CHECK: scf.for {{.+}} -> (i16)
// CHECK: scf.if {{.+}} -> (i16)
// CHECK: arith.select {{.+}} : i16
// CHECK-NOT: bf16
llvm.func @moved(%p: !llvm.ptr, %c: i1) {
  %one = arith.constant 1.0 : bf16
  %i0 = arith.constant 0 : index
  %i1 = arith.constant 1 : index
  %q = llvm.getelementptr %p[1] : (!llvm.ptr) -> !llvm.ptr, bf16
  %r = scf.for %i = %i0 to %i1 step %i1 iter_args(%a = %one) -> (bf16) {
    %b = scf.if %c -> (bf16) {
      %s = arith.select %c, %a, %one : bf16
      scf.yield %s : bf16
    } else {
      scf.yield %one : bf16
    }
    scf.yield %b : bf16
  }
  llvm.store %r, %q {alignment = 2 : i64} : bf16, !llvm.ptr
  llvm.return
}

// -----

// Other types stay as they are, also the other one of 16 bits.
// CHECK-LABEL: llvm.func @half
// CHECK: llvm.load {{.+}} -> f16
// CHECK: arith.extf {{.+}} : f16 to f32
llvm.func @half(%p: !llvm.ptr) -> f32 {
  %x = llvm.load %p {alignment = 2 : i64} : !llvm.ptr -> f16
  %f = arith.extf %x : f16 to f32
  llvm.return %f : f32
}
