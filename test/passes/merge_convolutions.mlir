// RUN: %girih-opt --merge-convolutions --split-input-file %s | filecheck %s

// A smaller window is added to the middle of the larger one, and so are the biases.
// CHECK-LABEL: func.func @main
// CHECK: [[W:%.*]] = "graph.extern"(%arg1, %arg2)
// CHECK-SAME: op = "girih.add_windows.default"
// CHECK: [[B:%.*]] = "graph.add"(%arg4, %arg3)
// CHECK: [[Y:%.*]] = "graph.convolution"(%arg0, [[W]], [[B]])
// CHECK-SAME: padding = [1, 1]
// CHECK: return [[Y]]
func.func @main(%x: tensor<2x8x6x6xf32>, %w: tensor<4x8x3x3xf32> {graph.static}, %v: tensor<4x8x1x1xf32> {graph.static}, %a: tensor<4xf32> {graph.static}, %b: tensor<4xf32> {graph.static}) -> tensor<2x4x6x6xf32> {
  %0 = "graph.convolution"(%x, %v, %a) {stride = array<i64: 1, 1>, padding = [0, 0], dilation = array<i64: 1, 1>, transposed = false, output_padding = [0, 0], groups = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<2x8x6x6xf32>, tensor<4x8x1x1xf32>, tensor<4xf32>) -> tensor<2x4x6x6xf32>
  %1 = "graph.convolution"(%x, %w, %b) {stride = array<i64: 1, 1>, padding = [1, 1], dilation = array<i64: 1, 1>, transposed = false, output_padding = [0, 0], groups = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<2x8x6x6xf32>, tensor<4x8x3x3xf32>, tensor<4xf32>) -> tensor<2x4x6x6xf32>
  %2 = "graph.add"(%0, %1) : (tensor<2x4x6x6xf32>, tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  return %2 : tensor<2x4x6x6xf32>
}

// -----

// A batch norm of the image is a window that is 0 but in the middle.
// CHECK-LABEL: func.func @identity
// CHECK: [[W:%.*]]:2 = "graph.extern"(%arg1, %arg2, %arg3)
// CHECK-SAME: op = "girih.add_identity.default"
// CHECK: "graph.convolution"(%arg0, [[W]]#0, [[W]]#1)
// CHECK-NOT: graph.batch_norm
func.func @identity(%x: tensor<2x8x6x6xf32>, %w: tensor<8x1x3x3xf32> {graph.static}, %mean: tensor<8xf32> {graph.static}, %var: tensor<8xf32> {graph.static}) -> tensor<2x8x6x6xf32> {
  %0 = "graph.batch_norm"(%x, %mean, %var) {eps = 1.000000e-05 : f64, operandSegmentSizes = array<i32: 1, 0, 0, 1, 1>} : (tensor<2x8x6x6xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x8x6x6xf32>
  %1 = "graph.convolution"(%x, %w) {stride = array<i64: 1, 1>, padding = [1, 1], dilation = array<i64: 1, 1>, transposed = false, output_padding = [0, 0], groups = 8 : i64, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<2x8x6x6xf32>, tensor<8x1x3x3xf32>) -> tensor<2x8x6x6xf32>
  %2 = "graph.add"(%0, %1) : (tensor<2x8x6x6xf32>, tensor<2x8x6x6xf32>) -> tensor<2x8x6x6xf32>
  return %2 : tensor<2x8x6x6xf32>
}

// -----

// Windows beside one another, strides that differ, and another image.
// CHECK-LABEL: func.func @left
// CHECK-NOT: graph.extern
func.func @left(%x: tensor<2x8x7x7xf32>, %y: tensor<2x8x7x7xf32>, %w: tensor<8x8x3x3xf32> {graph.static}, %v: tensor<8x8x2x2xf32> {graph.static}, %u: tensor<8x8x1x1xf32> {graph.static}) -> (tensor<2x8x5x5xf32>, tensor<2x8x7x7xf32>) {
  %0 = "graph.convolution"(%x, %w) {stride = array<i64: 1, 1>, padding = [0, 0], dilation = array<i64: 1, 1>, transposed = false, output_padding = [0, 0], groups = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<2x8x7x7xf32>, tensor<8x8x3x3xf32>) -> tensor<2x8x5x5xf32>
  %1 = "graph.convolution"(%x, %v) {stride = array<i64: 1, 1>, padding = [0, 0], dilation = array<i64: 2, 2>, transposed = false, output_padding = [0, 0], groups = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<2x8x7x7xf32>, tensor<8x8x2x2xf32>) -> tensor<2x8x5x5xf32>
  %2 = "graph.add"(%0, %1) : (tensor<2x8x5x5xf32>, tensor<2x8x5x5xf32>) -> tensor<2x8x5x5xf32>
  %3 = "graph.convolution"(%x, %u) {stride = array<i64: 1, 1>, padding = [0, 0], dilation = array<i64: 1, 1>, transposed = false, output_padding = [0, 0], groups = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<2x8x7x7xf32>, tensor<8x8x1x1xf32>) -> tensor<2x8x7x7xf32>
  %4 = "graph.convolution"(%y, %u) {stride = array<i64: 1, 1>, padding = [0, 0], dilation = array<i64: 1, 1>, transposed = false, output_padding = [0, 0], groups = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<2x8x7x7xf32>, tensor<8x8x1x1xf32>) -> tensor<2x8x7x7xf32>
  %5 = "graph.add"(%3, %4) : (tensor<2x8x7x7xf32>, tensor<2x8x7x7xf32>) -> tensor<2x8x7x7xf32>
  return %2, %5 : tensor<2x8x5x5xf32>, tensor<2x8x7x7xf32>
}
