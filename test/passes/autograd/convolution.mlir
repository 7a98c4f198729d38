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

// -----

// Of 3 channels, innermost, oneDNN's gradient of the weight would be written outside of
// its memory: it is asked for with row-major images. That of the image is not.
// CHECK-LABEL: func.func @strided_points
// CHECK: aten.convolution_backward
// CHECK-NOT: strides
// CHECK: return
func.func @strided_points(%x: tensor<2x3x8x8xf32> {graph.strides = [192, 1, 24, 3]},
    %w: tensor<4x3x1x1xf32> {graph.requires_grad})
    -> (tensor<2x4x4x4xf32> {graph.strides = [64, 1, 16, 4]}) {
  %0 = "graph.convolution"(%x, %w) {stride = array<i64: 2, 2>, padding = [0, 0],
      dilation = array<i64: 1, 1>, output_padding = [0, 0], groups = 1 : i64,
      transposed = false, operandSegmentSizes = array<i32: 1, 1, 0>,
      operand_strides = [[192, 1, 24, 3], [3, 1, 1, 1]],
      strides = [[64, 1, 16, 4]]}
      : (tensor<2x3x8x8xf32>, tensor<4x3x1x1xf32>) -> tensor<2x4x4x4xf32>
  return %0 : tensor<2x4x4x4xf32>
}

// -----

// CHECK-LABEL: func.func @gradient_of_the_image
// CHECK: aten.convolution_backward
// CHECK-SAME: operand_strides
func.func @gradient_of_the_image(
    %x: tensor<2x3x8x8xf32> {graph.requires_grad, graph.strides = [192, 1, 24, 3]},
    %w: tensor<4x3x1x1xf32>)
    -> (tensor<2x4x4x4xf32> {graph.strides = [64, 1, 16, 4]}) {
  %0 = "graph.convolution"(%x, %w) {stride = array<i64: 2, 2>, padding = [0, 0],
      dilation = array<i64: 1, 1>, output_padding = [0, 0], groups = 1 : i64,
      transposed = false, operandSegmentSizes = array<i32: 1, 1, 0>,
      operand_strides = [[192, 1, 24, 3], [3, 1, 1, 1]],
      strides = [[64, 1, 16, 4]]}
      : (tensor<2x3x8x8xf32>, tensor<4x3x1x1xf32>) -> tensor<2x4x4x4xf32>
  return %0 : tensor<2x4x4x4xf32>
}

// -----

// CHECK-LABEL: func.func @whole_vectors
// CHECK: aten.convolution_backward
// CHECK-SAME: operand_strides
func.func @whole_vectors(%x: tensor<2x16x8x8xf32> {graph.strides = [1024, 1, 128, 16]},
    %w: tensor<4x16x1x1xf32> {graph.requires_grad})
    -> (tensor<2x4x4x4xf32> {graph.strides = [64, 1, 16, 4]}) {
  %0 = "graph.convolution"(%x, %w) {stride = array<i64: 2, 2>, padding = [0, 0],
      dilation = array<i64: 1, 1>, output_padding = [0, 0], groups = 1 : i64,
      transposed = false, operandSegmentSizes = array<i32: 1, 1, 0>,
      operand_strides = [[1024, 1, 128, 16], [16, 1, 1, 1]],
      strides = [[64, 1, 16, 4]]}
      : (tensor<2x16x8x8xf32>, tensor<4x16x1x1xf32>) -> tensor<2x4x4x4xf32>
  return %0 : tensor<2x4x4x4xf32>
}
