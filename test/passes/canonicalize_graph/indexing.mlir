// RUN: %girih-opt --pass-pipeline=canonicalize-graph %s | filecheck %s

// CHECK-LABEL: func.func @rows_in_order
// CHECK-SAME: ([[X:%.+]]: tensor<16x4xf32>)
// CHECK: [[ROWS:%.+]] = "graph.slice"([[X]]) {starts = [2, 0], steps = array<i64: 1, 1>}
// CHECK-NEXT: "graph.reshape"([[ROWS]]) : (tensor<8x4xf32>) -> tensor<1x8x4xf32>
func.func @rows_in_order(%x: tensor<16x4xf32>) -> tensor<1x8x4xf32> {
  %0 = "graph.iota"() {start = 2 : i64, step = 1 : i64} : () -> tensor<8xi64>
  %1 = "graph.reshape"(%0) : (tensor<8xi64>) -> tensor<1x8xi64>
  %2 = "graph.take"(%x, %1) {dim = 0 : i64}
      : (tensor<16x4xf32>, tensor<1x8xi64>) -> tensor<1x8x4xf32>
  return %2 : tensor<1x8x4xf32>
}

// Row 16 does not exist: eager raises.
// CHECK-LABEL: func.func @rows_out_of_range_stay
// CHECK: "graph.take"
func.func @rows_out_of_range_stay(%x: tensor<16x4xf32>) -> tensor<8x4xf32> {
  %0 = "graph.iota"() {start = 9 : i64, step = 1 : i64} : () -> tensor<8xi64>
  %1 = "graph.take"(%x, %0) {dim = 0 : i64}
      : (tensor<16x4xf32>, tensor<8xi64>) -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}
