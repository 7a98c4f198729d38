// RUN: %girih-opt %s -o %t.mlir
// RUN: %girih-opt %t.mlir | diff %t.mlir -
// RUN: filecheck %s --input-file %t.mlir

// Functions that kernels call.

llvm.func @sinf(f32) -> f32
llvm.func @Sleef_powf8_u10(vector<8xf32>, vector<8xf32>) -> vector<8xf32>

// CHECK: "tile.call"(%{{.*}}) {callee = @sinf} : (f32) -> f32
// CHECK: "tile.call"(%{{.*}}, %{{.*}}) {callee = @Sleef_powf8_u10} : (vector<8xf32>, vector<8xf32>) -> vector<8xf32>
func.func @f(%x: f32, %v: vector<8xf32>) {
  %0 = "tile.call"(%x) {callee = @sinf} : (f32) -> f32
  %1 = "tile.call"(%v, %v) {callee = @Sleef_powf8_u10} : (vector<8xf32>, vector<8xf32>) -> vector<8xf32>
  return
}
