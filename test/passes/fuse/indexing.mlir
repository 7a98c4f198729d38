// RUN: %girih-opt --pass-pipeline=fuse %s | filecheck %s

// CHECK-LABEL: func.func @take_as_prologue
// CHECK-COUNT-1: graph.fusion
// CHECK: [[ROWS:%.+]] = "graph.take"({{.*}}) {dim = 0 : i64}
// CHECK-NEXT: "graph.add"([[ROWS]], {{.*}})
func.func @take_as_prologue(%w: tensor<16x4xf32>, %i: tensor<2x3xi64>, %b: tensor<4xf32>)
    -> tensor<2x3x4xf32> {
  %0 = "graph.take"(%w, %i) {dim = 0 : i64}
      : (tensor<16x4xf32>, tensor<2x3xi64>) -> tensor<2x3x4xf32>
  %1 = "graph.add"(%0, %b) : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  return %1 : tensor<2x3x4xf32>
}

// Only the rows that are taken are computed.
// CHECK-LABEL: func.func @take_of_a_computed_table
// CHECK-COUNT-1: graph.fusion
// CHECK: [[ROWS:%.+]] = "graph.take"
// CHECK-NEXT: "graph.neg"([[ROWS]])
func.func @take_of_a_computed_table(%w: tensor<16x4xf32>, %i: tensor<3xi64>)
    -> tensor<3x4xf32> {
  %0 = "graph.neg"(%w) : (tensor<16x4xf32>) -> tensor<16x4xf32>
  %1 = "graph.take"(%0, %i) {dim = 0 : i64}
      : (tensor<16x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}

// An index may be computed by elementwise ops.
// CHECK-LABEL: func.func @computed_index
// CHECK-COUNT-1: graph.fusion
// CHECK: [[INDEX:%.+]] = "graph.add"
// CHECK-NEXT: "graph.take"({{.*}}, [[INDEX]])
// CHECK: return
func.func @computed_index(%w: tensor<16x4xf32>, %i: tensor<3xi64>, %j: tensor<3xi64>)
    -> tensor<3x4xf32> {
  %0 = "graph.add"(%i, %j) : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %1 = "graph.take"(%w, %0) {dim = 0 : i64}
      : (tensor<16x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}

// One that others need too is read from memory.
// CHECK-LABEL: func.func @stored_index
// CHECK: [[INDEX:%.+]] = "graph.fusion"
// CHECK: graph.add
// CHECK: "graph.fusion"({{.*}}, [[INDEX]])
// CHECK: graph.take
func.func @stored_index(%w: tensor<16x4xf32>, %i: tensor<3xi64>, %j: tensor<3xi64>)
    -> (tensor<3x4xf32>, tensor<3xi64>) {
  %0 = "graph.add"(%i, %j) : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %1 = "graph.take"(%w, %0) {dim = 0 : i64}
      : (tensor<16x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  return %1, %0 : tensor<3x4xf32>, tensor<3xi64>
}

// The position of a maximum is known only after the reduction.
// CHECK-LABEL: func.func @index_from_a_reduction
// CHECK: graph.fusion
// CHECK: graph.argmax
// CHECK: graph.fusion
// CHECK: graph.gather
func.func @index_from_a_reduction(%x: tensor<16x4xf32>) -> tensor<16x1xf32> {
  %0 = "graph.argmax"(%x) {dim = 1 : i64} : (tensor<16x4xf32>) -> tensor<16x1xi64>
  %1 = "graph.gather"(%x, %0) {dim = 1 : i64}
      : (tensor<16x4xf32>, tensor<16x1xi64>) -> tensor<16x1xf32>
  return %1 : tensor<16x1xf32>
}

// Cross entropy: the class is picked in the kernel of the log-softmax.
// CHECK-LABEL: func.func @pick_one_of_each_row
// CHECK-COUNT-1: graph.fusion
// CHECK-DAG: [[SUM:%.+]] = "graph.reduce_sum"
// CHECK-DAG: [[PICKED:%.+]] = "graph.gather"({{.*}}) {dim = 1 : i64} : (tensor<64x32xf32>, tensor<64x1xi64>)
// CHECK: "graph.sub"([[PICKED]], [[SUM]]) : (tensor<64x1xf32>, tensor<64x1xf32>)
// CHECK: return
func.func @pick_one_of_each_row(%x: tensor<64x32xf32>, %i: tensor<64x1xi64>)
    -> tensor<64x1xf32> {
  %0 = "graph.reduce_sum"(%x) {dims = array<i64: 1>}
      : (tensor<64x32xf32>) -> tensor<64x1xf32>
  %1 = "graph.sub"(%x, %0) : (tensor<64x32xf32>, tensor<64x1xf32>) -> tensor<64x32xf32>
  %2 = "graph.gather"(%1, %i) {dim = 1 : i64}
      : (tensor<64x32xf32>, tensor<64x1xi64>) -> tensor<64x1xf32>
  return %2 : tensor<64x1xf32>
}
