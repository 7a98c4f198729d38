// RUN: %girih-opt --autograd --split-input-file %s | filecheck %s

// One call for the gradients that are wanted.
// CHECK-LABEL: func.func @convolution
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<2x4x6x6xf32> {graph.cotangent = 0 : i64}
// CHECK: [[D:%.+]]:2 = "graph.extern"([[G]], %arg0, %arg1)
// CHECK-SAME: [false, true, true]
// CHECK-SAME: op = "aten.convolution_backward.default"
// CHECK: return {{%.+}}, [[D]]#0, [[D]]#1
func.func @convolution(%x: tensor<2x3x8x8xf32>,
    %w: tensor<4x3x3x3xf32> {graph.requires_grad},
    %b: tensor<4xf32> {graph.requires_grad}) -> tensor<2x4x6x6xf32> {
  %0 = "graph.convolution"(%x, %w, %b) {stride = array<i64: 1, 1>, padding = [0, 0],
      dilation = array<i64: 1, 1>, output_padding = [0, 0], groups = 1 : i64,
      transposed = false}
      : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>)
      -> tensor<2x4x6x6xf32>
  return %0 : tensor<2x4x6x6xf32>
}

// -----

// The bias' gradient alone is a sum.
// CHECK-LABEL: func.func @bias_only
// CHECK-NOT: graph.extern
// CHECK: "graph.reduce_sum"({{%.+}}) {dims = array<i64: 0, 2, 3>}
func.func @bias_only(%x: tensor<2x3x8x8xf32>, %w: tensor<4x3x3x3xf32>,
    %b: tensor<4xf32> {graph.requires_grad}) -> tensor<2x4x6x6xf32> {
  %0 = "graph.convolution"(%x, %w, %b) {stride = array<i64: 1, 1>, padding = [0, 0],
      dilation = array<i64: 1, 1>, output_padding = [0, 0], groups = 1 : i64,
      transposed = false}
      : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>)
      -> tensor<2x4x6x6xf32>
  return %0 : tensor<2x4x6x6xf32>
}

// -----

// Channels that are innermost stay so.
// CHECK-LABEL: func.func @channels_last
// CHECK: "graph.extern"
// CHECK-SAME: operand_strides = [{{.}}144, 1, 24, 4], [192, 1, 24, 3], [27, 9, 3, 1]]
// CHECK-SAME: strides = [{{.}}192, 1, 24, 3]]
func.func @channels_last(%x: tensor<2x3x8x8xf32>
    {graph.requires_grad, graph.strides = [192, 1, 24, 3]}, %w: tensor<4x3x3x3xf32>)
    -> (tensor<2x4x6x6xf32> {graph.strides = [144, 1, 24, 4]}) {
  %0 = "graph.convolution"(%x, %w) {stride = array<i64: 1, 1>, padding = [0, 0],
      dilation = array<i64: 1, 1>, output_padding = [0, 0], groups = 1 : i64,
      transposed = false, strides = [[144, 1, 24, 4]],
      operand_strides = [[192, 1, 24, 3], [27, 9, 3, 1]]}
      : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<2x4x6x6xf32>
  return %0 : tensor<2x4x6x6xf32>
}
