// RUN: %girih-opt --choose-convolution-layouts %s | filecheck %s

// On the CPU: what the driver marked, and nothing else. No mark is left.
// CHECK-NOT: girih.channels_last
// CHECK-LABEL: func.func @chain
// CHECK: "graph.convolution"
// CHECK-SAME: operand_strides = {{\[\[}}3072, 1, 96, 3], [27, 9, 3, 1]]
// CHECK-SAME: strides = {{\[\[}}16384, 1, 512, 16]]
// CHECK: "graph.convolution"
// CHECK-SAME: operand_strides = {{\[\[}}16384, 1, 512, 16], [144, 9, 3, 1]]
// CHECK-SAME: strides = {{\[\[}}4096, 1, 256, 16]]
func.func @chain(%x: tensor<8x3x32x32xf32>, %v: tensor<16x3x3x3xf32>, %w: tensor<16x16x3x3xf32>) -> tensor<8x16x16x16xf32> {
  %0 = "graph.convolution"(%x, %v) {girih.channels_last, stride = array<i64: 1, 1>, padding = [1, 1], dilation = array<i64: 1, 1>, transposed = false, output_padding = [0, 0], groups = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<8x3x32x32xf32>, tensor<16x3x3x3xf32>) -> tensor<8x16x32x32xf32>
  %1 = "graph.convolution"(%0, %w) {girih.channels_last, stride = array<i64: 2, 2>, padding = [1, 1], dilation = array<i64: 1, 1>, transposed = false, output_padding = [0, 0], groups = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<8x16x32x32xf32>, tensor<16x16x3x3xf32>) -> tensor<8x16x16x16xf32>
  return %1 : tensor<8x16x16x16xf32>
}

// CHECK-LABEL: func.func @unmarked
// CHECK-NOT: strides
// CHECK: return
func.func @unmarked(%x: tensor<8x3x32x32xf32>, %v: tensor<16x3x3x3xf32>) -> tensor<8x16x32x32xf32> {
  %0 = "graph.convolution"(%x, %v) {stride = array<i64: 1, 1>, padding = [1, 1], dilation = array<i64: 1, 1>, transposed = false, output_padding = [0, 0], groups = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<8x3x32x32xf32>, tensor<16x3x3x3xf32>) -> tensor<8x16x32x32xf32>
  %1 = "graph.convolution"(%x, %v) {stride = array<i64: 1, 1>, padding = [1, 1], dilation = array<i64: 1, 1>, transposed = false, output_padding = [0, 0], groups = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<8x3x32x32xf32>, tensor<16x3x3x3xf32>) -> tensor<8x16x32x32xf32>
  return %1 : tensor<8x16x32x32xf32>
}

// On a GPU also 16-bit floats, and weights have their channels innermost as well; so have
// the images between, where maxima over windows are taken.
// CHECK-LABEL: func.func @on_device
// CHECK: "graph.convolution"
// CHECK-SAME: operand_strides = {{\[\[}}512, 1, 64, 8], [72, 1, 24, 8]]
// CHECK-SAME: strides = {{\[\[}}512, 1, 64, 8]]
func.func @on_device(%x: tensor<2x8x8x8xbf16>, %w: tensor<8x8x3x3xbf16>) -> tensor<2x8x8x8xbf16> attributes {graph.device = "cuda:0"} {
  %0 = "graph.convolution"(%x, %w) {stride = array<i64: 1, 1>, padding = [1, 1], dilation = array<i64: 1, 1>, transposed = false, output_padding = [0, 0], groups = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<2x8x8x8xbf16>, tensor<8x8x3x3xbf16>) -> tensor<2x8x8x8xbf16>
  %1 = "graph.convolution"(%0, %w) {stride = array<i64: 1, 1>, padding = [1, 1], dilation = array<i64: 1, 1>, transposed = false, output_padding = [0, 0], groups = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<2x8x8x8xbf16>, tensor<8x8x3x3xbf16>) -> tensor<2x8x8x8xbf16>
  return %1 : tensor<2x8x8x8xbf16>
}

// CHECK-LABEL: func.func @pooled
// CHECK: "graph.max_pool"
// CHECK-SAME: operand_strides = {{\[\[}}512, 1, 64, 8]]
// CHECK-SAME: strides = {{\[\[}}128, 1, 32, 8], [128, 1, 32, 8]]
func.func @pooled(%x: tensor<2x8x8x8xbf16>, %w: tensor<8x8x3x3xbf16>) -> tensor<2x8x4x4xbf16> attributes {graph.device = "cuda:0"} {
  %0 = "graph.convolution"(%x, %w) {stride = array<i64: 1, 1>, padding = [1, 1], dilation = array<i64: 1, 1>, transposed = false, output_padding = [0, 0], groups = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<2x8x8x8xbf16>, tensor<8x8x3x3xbf16>) -> tensor<2x8x8x8xbf16>
  %1, %2 = "graph.max_pool"(%0) {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, ceil_mode = false} : (tensor<2x8x8x8xbf16>) -> (tensor<2x8x4x4xbf16>, tensor<2x8x4x4xi64>)
  %3 = "graph.convolution"(%1, %w) {stride = array<i64: 1, 1>, padding = [1, 1], dilation = array<i64: 1, 1>, transposed = false, output_padding = [0, 0], groups = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<2x8x4x4xbf16>, tensor<8x8x3x3xbf16>) -> tensor<2x8x4x4xbf16>
  return %3 : tensor<2x8x4x4xbf16>
}

// With the channels innermost oneDNN would write outside of its memory: an image of 3
// channels, of which 1 x 1 windows read every second pixel. Whole vectors are no problem.
// CHECK-LABEL: func.func @strided_points
// CHECK: "graph.convolution"
// CHECK-SAME: operand_strides = {{\[\[}}3072, 1, 96, 3], [27, 9, 3, 1]]
// CHECK: "graph.convolution"
// CHECK-NOT: strides
// CHECK: "graph.convolution"
// CHECK-SAME: operand_strides = {{\[\[}}4096, 1, 256, 16], [16, 1, 1, 1]]
// CHECK: return
func.func @strided_points(%x: tensor<8x3x32x32xf32>, %v: tensor<16x3x3x3xf32>, %w: tensor<16x3x1x1xf32>, %u: tensor<16x16x1x1xf32>) -> (tensor<8x16x16x16xf32>, tensor<8x16x8x8xf32>) {
  %0 = "graph.convolution"(%x, %v) {girih.channels_last, stride = array<i64: 2, 2>, padding = [1, 1], dilation = array<i64: 1, 1>, transposed = false, output_padding = [0, 0], groups = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<8x3x32x32xf32>, tensor<16x3x3x3xf32>) -> tensor<8x16x16x16xf32>
  %1 = "graph.convolution"(%x, %w) {girih.channels_last, stride = array<i64: 2, 2>, padding = [0, 0], dilation = array<i64: 1, 1>, transposed = false, output_padding = [0, 0], groups = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<8x3x32x32xf32>, tensor<16x3x1x1xf32>) -> tensor<8x16x16x16xf32>
  %2 = "graph.convolution"(%0, %u) {girih.channels_last, stride = array<i64: 2, 2>, padding = [0, 0], dilation = array<i64: 1, 1>, transposed = false, output_padding = [0, 0], groups = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<8x16x16x16xf32>, tensor<16x16x1x1xf32>) -> tensor<8x16x8x8xf32>
  return %1, %2 : tensor<8x16x16x16xf32>, tensor<8x16x8x8xf32>
}
