// RUN: %girih-opt --split-input-file --verify-diagnostics %s

// What calls in kernels reject.

func.func @f(%x: f32) {
  // expected-error @+1 {{'tile.call' expected callee to be declared by an llvm.func of the module, got @sinf}}
  %0 = "tile.call"(%x) {callee = @sinf} : (f32) -> f32
  return
}

// -----

func.func @sinf(%x: f32) -> f32 {
  // expected-error @+1 {{'tile.call' expected callee to be declared by an llvm.func of the module, got @sinf}}
  %0 = "tile.call"(%x) {callee = @sinf} : (f32) -> f32
  return %0 : f32
}

// -----

llvm.func @sinf(f32) -> f32
func.func @f(%x: f64) {
  // expected-error @+1 {{'tile.call' expected callee to have type !llvm.func<f64 (f64)>, got !llvm.func<f32 (f32)>}}
  %0 = "tile.call"(%x) {callee = @sinf} : (f64) -> f64
  return
}

// -----

llvm.func @powf(f32, f32) -> f32
func.func @f(%x: f32) {
  // expected-error @+1 {{'tile.call' expected callee to have type !llvm.func<f32 (f32)>, got !llvm.func<f32 (f32, f32)>}}
  %0 = "tile.call"(%x) {callee = @powf} : (f32) -> f32
  return
}
