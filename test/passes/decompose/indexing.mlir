// RUN: %girih-opt --pass-pipeline=decompose %s | filecheck %s

// CHECK-LABEL: func.func @embedding
// CHECK: "graph.take"(%arg0, %arg1) {dim = 0 : i64}
func.func @embedding(%w: tensor<16x4xf32>, %i: tensor<2x3xi64>) -> tensor<2x3x4xf32> {
  %0 = "graph.embedding"(%w, %i) {padding_idx = -1 : i64}
      : (tensor<16x4xf32>, tensor<2x3xi64>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

// CHECK-LABEL: func.func @index_in_one_dim
// CHECK: "graph.take"(%arg0, %arg1) {dim = 1 : i64, from_end}
func.func @index_in_one_dim(%x: tensor<5x6xf32>, %i: tensor<3xi64>) -> tensor<5x3xf32> {
  %0 = "graph.index"(%x, %i) {dims = array<i64: 1>}
      : (tensor<5x6xf32>, tensor<3xi64>) -> tensor<5x3xf32>
  return %0 : tensor<5x3xf32>
}

// CHECK-LABEL: func.func @index_in_two_dims
// CHECK: "graph.extern"(%arg0, %arg1, %arg2)
// CHECK-SAME: op = "aten.index.Tensor"
func.func @index_in_two_dims(%x: tensor<5x6xf32>, %i: tensor<3xi64>, %j: tensor<3xi64>)
    -> tensor<3xf32> {
  %0 = "graph.index"(%x, %i, %j) {dims = array<i64: 0, 1>}
      : (tensor<5x6xf32>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// CHECK-LABEL: func.func @tril
// CHECK: [[COLUMN:%.+]] = "graph.iota"() {start = 0 : i64, step = 1 : i64} : () -> tensor<4xi64>
// CHECK: [[ROW:%.+]] = "graph.iota"() {start = -1 : i64, step = 1 : i64} : () -> tensor<3xi64>
// CHECK: "graph.le"([[COLUMN]], {{.*}}) : (tensor<4xi64>, tensor<3x1xi64>) -> tensor<3x4xi1>
// CHECK: "graph.where"
func.func @tril(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %0 = "graph.tril"(%x) {diagonal = -1 : i64} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}
