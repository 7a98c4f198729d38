// RUN: %girih-opt --fold-batch-norms %s | filecheck %s

// CHECK-LABEL: func.func @main
// CHECK: [[FOLDED:%.*]]:2 = "graph.extern"(%arg1, %arg2, %arg3, %arg4, %arg5)
// CHECK-SAME: unit
// CHECK-SAME: op = "girih.fold_batch_norm.default"
// CHECK: [[Y:%.*]] = "graph.convolution"(%arg0, [[FOLDED]]#0, [[FOLDED]]#1)
// CHECK-NOT: graph.batch_norm
// CHECK: return [[Y]]
func.func @main(%x: tensor<2x8x6x6xf32>, %w: tensor<8x8x3x3xf32> {graph.static}, %gamma: tensor<8xf32> {graph.static}, %beta: tensor<8xf32> {graph.static}, %mean: tensor<8xf32> {graph.static}, %var: tensor<8xf32> {graph.static}) -> tensor<2x8x6x6xf32> {
  %0 = "graph.convolution"(%x, %w) {stride = array<i64: 1, 1>, padding = [1, 1], dilation = array<i64: 1, 1>, transposed = false, output_padding = [0, 0], groups = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<2x8x6x6xf32>, tensor<8x8x3x3xf32>) -> tensor<2x8x6x6xf32>
  %1 = "graph.batch_norm"(%0, %gamma, %beta, %mean, %var) {eps = 1.000000e-05 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>} : (tensor<2x8x6x6xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x8x6x6xf32>
  return %1 : tensor<2x8x6x6xf32>
}

// A weight that varies, and an image that something else reads, too.
// CHECK-LABEL: func.func @left
// CHECK-NOT: fold_batch_norm
// CHECK: graph.batch_norm
// CHECK: graph.batch_norm
func.func @left(%x: tensor<2x8x6x6xf32>, %v: tensor<8x8x3x3xf32>, %w: tensor<8x8x3x3xf32> {graph.static}, %mean: tensor<8xf32> {graph.static}, %var: tensor<8xf32> {graph.static}) -> (tensor<2x8x6x6xf32>, tensor<2x8x6x6xf32>, tensor<2x8x6x6xf32>) {
  %0 = "graph.convolution"(%x, %v) {stride = array<i64: 1, 1>, padding = [1, 1], dilation = array<i64: 1, 1>, transposed = false, output_padding = [0, 0], groups = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<2x8x6x6xf32>, tensor<8x8x3x3xf32>) -> tensor<2x8x6x6xf32>
  %1 = "graph.batch_norm"(%0, %mean, %var) {eps = 1.000000e-05 : f64, operandSegmentSizes = array<i32: 1, 0, 0, 1, 1>} : (tensor<2x8x6x6xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x8x6x6xf32>
  %2 = "graph.convolution"(%x, %w) {stride = array<i64: 1, 1>, padding = [1, 1], dilation = array<i64: 1, 1>, transposed = false, output_padding = [0, 0], groups = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<2x8x6x6xf32>, tensor<8x8x3x3xf32>) -> tensor<2x8x6x6xf32>
  %3 = "graph.batch_norm"(%2, %mean, %var) {eps = 1.000000e-05 : f64, operandSegmentSizes = array<i32: 1, 0, 0, 1, 1>} : (tensor<2x8x6x6xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x8x6x6xf32>
  return %1, %2, %3 : tensor<2x8x6x6xf32>, tensor<2x8x6x6xf32>, tensor<2x8x6x6xf32>
}

// A buffer that the function writes is another one at the next call.
// CHECK-LABEL: func.func @written
// CHECK-NOT: fold_batch_norm
// CHECK: graph.batch_norm
func.func @written(%x: tensor<2x8x6x6xf32>, %w: tensor<8x8x3x3xf32> {graph.static}, %mean: tensor<8xf32> {graph.static}, %var: tensor<8xf32> {graph.static}) -> (tensor<2x8x6x6xf32>, tensor<8xf32> {graph.writes = 2 : i64}) {
  %0 = "graph.convolution"(%x, %w) {stride = array<i64: 1, 1>, padding = [1, 1], dilation = array<i64: 1, 1>, transposed = false, output_padding = [0, 0], groups = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<2x8x6x6xf32>, tensor<8x8x3x3xf32>) -> tensor<2x8x6x6xf32>
  %1 = "graph.batch_norm"(%0, %mean, %var) {eps = 1.000000e-05 : f64, operandSegmentSizes = array<i32: 1, 0, 0, 1, 1>} : (tensor<2x8x6x6xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x8x6x6xf32>
  %2 = "graph.exp"(%mean) : (tensor<8xf32>) -> tensor<8xf32>
  return %1, %2 : tensor<2x8x6x6xf32>, tensor<8xf32>
}

// Two convolutions side by side: each gets its channels of the norm.
// CHECK-LABEL: func.func @beside
// CHECK-NOT: graph.batch_norm
// CHECK: "graph.convolution"
// CHECK: "graph.convolution"
// CHECK: "graph.concat"
// CHECK-NOT: graph.batch_norm
// CHECK: return
func.func @beside(%x: tensor<2x8x6x6xf32>, %v: tensor<4x8x1x1xf32> {graph.static}, %w: tensor<6x8x1x1xf32> {graph.static}, %gamma: tensor<10xf32> {graph.static}, %mean: tensor<10xf32> {graph.static}, %var: tensor<10xf32> {graph.static}) -> tensor<2x10x6x6xf32> {
  %0 = "graph.convolution"(%x, %v) {stride = array<i64: 1, 1>, padding = [0, 0], dilation = array<i64: 1, 1>, transposed = false, output_padding = [0, 0], groups = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<2x8x6x6xf32>, tensor<4x8x1x1xf32>) -> tensor<2x4x6x6xf32>
  %1 = "graph.convolution"(%x, %w) {stride = array<i64: 1, 1>, padding = [0, 0], dilation = array<i64: 1, 1>, transposed = false, output_padding = [0, 0], groups = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<2x8x6x6xf32>, tensor<6x8x1x1xf32>) -> tensor<2x6x6x6xf32>
  %2 = "graph.concat"(%0, %1) {dim = 1 : i64} : (tensor<2x4x6x6xf32>, tensor<2x6x6x6xf32>) -> tensor<2x10x6x6xf32>
  %3 = "graph.batch_norm"(%2, %gamma, %mean, %var) {eps = 1.000000e-05 : f64, operandSegmentSizes = array<i32: 1, 1, 0, 1, 1>} : (tensor<2x10x6x6xf32>, tensor<10xf32>, tensor<10xf32>, tensor<10xf32>) -> tensor<2x10x6x6xf32>
  return %3 : tensor<2x10x6x6xf32>
}
