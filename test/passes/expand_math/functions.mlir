// RUN: %girih-opt --pass-pipeline='expand-math{vector-bits=512}' %s | filecheck %s
// RUN: %girih-opt --pass-pipeline='expand-math{vector-bits=256}' %s | filecheck %s --check-prefix=NARROW
// RUN: %girih-opt --pass-pipeline='expand-math{vector-bits=512 vector-library=none}' %s | filecheck %s --check-prefix=LIBM

// CHECK-DAG: llvm.func @Sleef_powf16_u10(vector<16xf32>, vector<16xf32>) -> vector<16xf32> attributes {memory_effects = {{.*}}, no_unwind, will_return}
// CHECK-DAG: llvm.func @Sleef_tand8_u10(vector<8xf64>) -> vector<8xf64>
// CHECK-DAG: llvm.func @tanf(f32) -> f32
// NARROW-DAG: llvm.func @Sleef_powf8_u10(vector<8xf32>, vector<8xf32>)
// NARROW-DAG: llvm.func @Sleef_tand4_u10(vector<4xf64>)
// LIBM-NOT: Sleef
// LIBM: llvm.func @powf(f32, f32) -> f32

// exp is inlined: its constants are at the top, its scaling is one instruction.
// CHECK-LABEL: func.func @exp
// CHECK: arith.constant dense<1.44269502> : vector<16xf32>
// CHECK: scf.for
// CHECK-NOT: arith.constant
// CHECK: math.fma
// CHECK: llvm.call_intrinsic "llvm.ldexp"
// CHECK-NOT: math.exp
// NARROW-LABEL: func.func @exp
// NARROW-NOT: llvm.ldexp
// NARROW: arith.shrsi
// NARROW-NOT: math.exp
// NARROW: return
func.func @exp(%x: vector<16xf32>, %n: index) -> vector<16xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%y = %x) -> vector<16xf32> {
    %0 = math.exp %y : vector<16xf32>
    scf.yield %0 : vector<16xf32>
  }
  return %r : vector<16xf32>
}

// Functions with a formula for part of their arguments call on the rest only.
// CHECK-LABEL: func.func @sin
// CHECK: %[[ANY:.*]] = vector.reduction <or>
// CHECK: scf.if %[[ANY]]
// CHECK: llvm.call @Sleef_sinf16_u10
func.func @sin(%x: vector<16xf32>) -> vector<16xf32> {
  %0 = math.sin %x : vector<16xf32>
  return %0 : vector<16xf32>
}

// Remainders of divisions call for quotients of more than two significands alone.
// CHECK-LABEL: func.func @remainder
// CHECK-NOT: arith.remf
// CHECK: math.fma
// CHECK: scf.if
// CHECK: math.fma
// CHECK: scf.if
// CHECK-COUNT-16: llvm.call @fmodf
// CHECK: return
func.func @remainder(%x: vector<16xf32>, %y: vector<16xf32>) -> vector<16xf32> {
  %0 = arith.remf %x, %y : vector<16xf32>
  return %0 : vector<16xf32>
}

// CHECK-LABEL: func.func @pow
// CHECK: llvm.call @Sleef_powf16_u10(%arg0, %arg1)
// NARROW-LABEL: func.func @pow
// NARROW-COUNT-2: llvm.call @Sleef_powf8_u10
// LIBM-LABEL: func.func @pow
// LIBM-COUNT-16: llvm.call @powf
func.func @pow(%x: vector<16xf32>, %y: vector<16xf32>) -> vector<16xf32> {
  %0 = math.powf %x, %y : vector<16xf32>
  return %0 : vector<16xf32>
}

// Three lanes fill up a register of 256 bits at least.
// CHECK-LABEL: func.func @few_lanes
// CHECK: vector.insert_strided_slice
// CHECK: llvm.call @Sleef_powf8_u10
// CHECK: vector.extract_strided_slice
func.func @few_lanes(%x: vector<3xf32>) -> vector<3xf32> {
  %0 = math.powf %x, %x : vector<3xf32>
  return %0 : vector<3xf32>
}

// CHECK-LABEL: func.func @double
// CHECK: llvm.call @Sleef_tand8_u10
// NARROW-LABEL: func.func @double
// NARROW-COUNT-2: llvm.call @Sleef_tand4_u10
func.func @double(%x: vector<8xf64>) -> vector<8xf64> {
  %0 = math.tan %x : vector<8xf64>
  return %0 : vector<8xf64>
}

// CHECK-LABEL: func.func @scalar
// CHECK: llvm.call @tanf
func.func @scalar(%x: f32) -> f32 {
  %0 = math.tan %x : f32
  return %0 : f32
}

// Narrow floats are computed in f32.
// CHECK-LABEL: func.func @narrow
// CHECK: arith.extf %arg0 : vector<16xbf16> to vector<16xf32>
// CHECK: arith.truncf %{{.*}} : vector<16xf32> to vector<16xbf16>
func.func @narrow(%x: vector<16xbf16>) -> vector<16xbf16> {
  %0 = math.exp2 %x : vector<16xbf16>
  return %0 : vector<16xbf16>
}

// CHECK-LABEL: func.func @rsqrt
// CHECK: %[[ROOT:.*]] = math.sqrt %arg0
// CHECK: arith.divf %{{.*}}, %[[ROOT]]
func.func @rsqrt(%x: f32) -> f32 {
  %0 = math.rsqrt %x : f32
  return %0 : f32
}

// What processors have stays.
// CHECK-LABEL: func.func @native
// CHECK-NEXT: math.sqrt
// CHECK-NEXT: math.floor
// CHECK-NEXT: math.fma
// CHECK-NEXT: return
func.func @native(%x: vector<16xf32>) -> vector<16xf32> {
  %0 = math.sqrt %x : vector<16xf32>
  %1 = math.floor %0 : vector<16xf32>
  %2 = math.fma %1, %1, %x : vector<16xf32>
  return %2 : vector<16xf32>
}
