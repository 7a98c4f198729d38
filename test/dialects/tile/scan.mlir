// RUN: %girih-opt %s | %girih-opt | filecheck %s

// CHECK-LABEL: func.func @scans
// CHECK: "tile.block_scan"(%{{.*}}, %{{.*}}) {combines = "logaddexp", dim = 0 : i64} : (vector<8xf32>, vector<f32>) -> (vector<8xf32>, vector<f32>)
// CHECK: "tile.block_scan"(%{{.*}}, %{{.*}}) {combines = "logaddexp", dim = 1 : i64} : (vector<4x8xf64>, vector<4xf64>) -> (vector<4x8xf64>, vector<4xf64>)
func.func @scans(%x: vector<8xf32>, %a: vector<f32>, %y: vector<4x8xf64>, %b: vector<4xf64>) {
  %0:2 = "tile.block_scan"(%x, %a) {combines = "logaddexp", dim = 0 : i64} : (vector<8xf32>, vector<f32>) -> (vector<8xf32>, vector<f32>)
  %1:2 = "tile.block_scan"(%y, %b) {combines = "logaddexp", dim = 1 : i64} : (vector<4x8xf64>, vector<4xf64>) -> (vector<4x8xf64>, vector<4xf64>)
  return
}
