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

// Each reader computes an index again that reads no tensor, and reads through a take
// with such an index, if another take is all that reads it.
// CHECK-LABEL: func.func @takes_of_symbolic_sizes
// CHECK-COUNT-1: graph.fusion
// CHECK: [[ROWS:%.+]] = "graph.take"(%{{.*}}) {dim = 0 : i64}
// CHECK: "graph.take"([[ROWS]], {{.*}}) {dim = 1 : i64}
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @takes_of_symbolic_sizes(%x: tensor<?x?xf32, ["s0", "s1"]>) -> tensor<5x7xf32>
    attributes {graph.symbols = {s0 = [2, 64], s1 = [2, 64]}} {
  %0 = "graph.iota"() {start = 0.0 : f64, step = 1.0 : f64} : () -> tensor<5xf32>
  %1 = "graph.iota"() {start = 0.0 : f64, step = 1.0 : f64} : () -> tensor<7xf32>
  %2 = "graph.floor"(%0) : (tensor<5xf32>) -> tensor<5xf32>
  %3 = "graph.cast"(%2) : (tensor<5xf32>) -> tensor<5xi64>
  %4 = "graph.cast"(%1) : (tensor<7xf32>) -> tensor<7xi64>
  %5 = "graph.take"(%x, %3) {dim = 0 : i64}
      : (tensor<?x?xf32, ["s0", "s1"]>, tensor<5xi64>) -> tensor<5x?xf32, ["s1"]>
  %6 = "graph.take"(%5, %4) {dim = 1 : i64}
      : (tensor<5x?xf32, ["s1"]>, tensor<7xi64>) -> tensor<5x7xf32>
  %7 = "graph.relu"(%6) : (tensor<5x7xf32>) -> tensor<5x7xf32>
  return %7 : tensor<5x7xf32>
}

// A few rows that several kernels read are looked up by each: none stores them.
// CHECK-LABEL: func.func @rows_for_two_kernels
// CHECK-COUNT-2: "graph.fusion"
// CHECK-NOT: "graph.fusion"
func.func @rows_for_two_kernels(%w: tensor<40x32xf32>, %i: tensor<3xi64>,
    %x: tensor<3x32xf32>) -> (tensor<1x32xf32>, tensor<3x1xf32>) {
  %0 = "graph.take"(%w, %i) {dim = 0 : i64}
      : (tensor<40x32xf32>, tensor<3xi64>) -> tensor<3x32xf32>
  %1 = "graph.mul"(%0, %x) : (tensor<3x32xf32>, tensor<3x32xf32>) -> tensor<3x32xf32>
  %2 = "graph.reduce_sum"(%1) {dims = array<i64: 0>}
      : (tensor<3x32xf32>) -> tensor<1x32xf32>
  %3 = "graph.reduce_sum"(%0) {dims = array<i64: 1>}
      : (tensor<3x32xf32>) -> tensor<3x1xf32>
  return %2, %3 : tensor<1x32xf32>, tensor<3x1xf32>
}
