// RUN: %girih-opt --pack-convolutions %s | filecheck %s

// CHECK-LABEL: func.func @main
// CHECK: [[PACKED:%.*]] = "graph.extern"(%arg2)
// CHECK-SAME: op = "mkldnn._reorder_convolution_weight.default"
// CHECK: [[Y:%.*]] = "graph.extern"(%arg0, %arg1, [[PACKED]], %arg3)
// CHECK-SAME: str = "add"{{.*}} unit, {{.*}}str = "relu"
// CHECK-SAME: op = "mkldnn._convolution_pointwise.binary"
// CHECK-SAME: operand_strides = {{\[\[}}288, 1, 48, 8], [288, 1, 48, 8], [72, 9, 3, 1], [1]]
// CHECK: return [[Y]]
func.func @main(%x: tensor<2x8x6x6xf32>, %y: tensor<2x8x6x6xf32>, %w: tensor<8x8x3x3xf32> {graph.static}, %b: tensor<8xf32> {graph.static}) -> tensor<2x8x6x6xf32> {
  %0 = "graph.convolution"(%x, %w, %b) {stride = array<i64: 1, 1>, padding = [1, 1], dilation = array<i64: 1, 1>, transposed = false, output_padding = [0, 0], groups = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<2x8x6x6xf32>, tensor<8x8x3x3xf32>, tensor<8xf32>) -> tensor<2x8x6x6xf32>
  %1 = "graph.add"(%y, %0) : (tensor<2x8x6x6xf32>, tensor<2x8x6x6xf32>) -> tensor<2x8x6x6xf32>
  %2 = "graph.relu"(%1) : (tensor<2x8x6x6xf32>) -> tensor<2x8x6x6xf32>
  return %2 : tensor<2x8x6x6xf32>
}

// An activation alone; a second reader keeps both apart.
// CHECK-LABEL: func.func @activations
// CHECK: op = "mkldnn._convolution_pointwise.default"
// CHECK-NOT: graph.silu
// CHECK: op = "mkldnn._convolution_pointwise.default"
// CHECK: graph.silu
func.func @activations(%x: tensor<2x8x6x6xf32>, %w: tensor<8x8x3x3xf32> {graph.static}) -> (tensor<2x8x6x6xf32>, tensor<2x8x6x6xf32>, tensor<2x8x6x6xf32>) {
  %0 = "graph.convolution"(%x, %w) {stride = array<i64: 1, 1>, padding = [1, 1], dilation = array<i64: 1, 1>, transposed = false, output_padding = [0, 0], groups = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<2x8x6x6xf32>, tensor<8x8x3x3xf32>) -> tensor<2x8x6x6xf32>
  %1 = "graph.silu"(%0) : (tensor<2x8x6x6xf32>) -> tensor<2x8x6x6xf32>
  %2 = "graph.convolution"(%x, %w) {stride = array<i64: 1, 1>, padding = [1, 1], dilation = array<i64: 1, 1>, transposed = false, output_padding = [0, 0], groups = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<2x8x6x6xf32>, tensor<8x8x3x3xf32>) -> tensor<2x8x6x6xf32>
  %3 = "graph.silu"(%2) : (tensor<2x8x6x6xf32>) -> tensor<2x8x6x6xf32>
  return %1, %2, %3 : tensor<2x8x6x6xf32>, tensor<2x8x6x6xf32>, tensor<2x8x6x6xf32>
}

// CHECK-LABEL: func.func @varies
// CHECK: graph.convolution
func.func @varies(%x: tensor<2x8x6x6xf32>, %w: tensor<8x8x3x3xf32>) -> tensor<2x8x6x6xf32> {
  %0 = "graph.convolution"(%x, %w) {stride = array<i64: 1, 1>, padding = [1, 1], dilation = array<i64: 1, 1>, transposed = false, output_padding = [0, 0], groups = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<2x8x6x6xf32>, tensor<8x8x3x3xf32>) -> tensor<2x8x6x6xf32>
  return %0 : tensor<2x8x6x6xf32>
}

// On a GPU nothing changes.
// CHECK-LABEL: func.func @on_device
// CHECK: graph.convolution
func.func @on_device(%x: tensor<2x8x6x6xf32>, %w: tensor<8x8x3x3xf32> {graph.static}) -> tensor<2x8x6x6xf32> attributes {graph.device = "cuda:0"} {
  %0 = "graph.convolution"(%x, %w) {stride = array<i64: 1, 1>, padding = [1, 1], dilation = array<i64: 1, 1>, transposed = false, output_padding = [0, 0], groups = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<2x8x6x6xf32>, tensor<8x8x3x3xf32>) -> tensor<2x8x6x6xf32>
  return %0 : tensor<2x8x6x6xf32>
}

// Weights of many channels for pixels lie in panels of 64 channels.
// CHECK-LABEL: func.func @panels
// CHECK: %[[M:.*]] = "graph.reshape"(%{{.*}}) : (tensor<512x256x1x1xf32>) -> tensor<512x256xf32>
// CHECK: %[[R:.*]] = "graph.reshape"(%[[M]]) : (tensor<512x256xf32>) -> tensor<8x64x256xf32>
// CHECK: %[[T:.*]] = "graph.permute"(%[[R]]) {permutation = array<i64: 0, 2, 1>}
// CHECK: %[[C:.*]] = "graph.extern"(%[[T]]) {{.*}}op = "aten.clone.default"{{.*}} -> tensor<8x256x64xf32>
// CHECK: %[[P:.*]] = "graph.permute"(%[[C]]) {permutation = array<i64: 0, 2, 1>}
// CHECK: %[[N:.*]] = "graph.reshape"(%[[P]]) : (tensor<8x64x256xf32>) -> tensor<512x256xf32>
// CHECK: %[[W:.*]] = "graph.reshape"(%[[N]]) : (tensor<512x256xf32>) -> tensor<512x256x1x1xf32>
// CHECK: "graph.convolution"(%{{.*}}, %[[W]])
func.func @panels(%x: tensor<2x8x6x6xf32>, %v: tensor<256x8x3x3xf32> {graph.static}, %w: tensor<512x256x1x1xf32> {graph.static}) -> tensor<2x512x6x6xf32> {
  %0 = "graph.convolution"(%x, %v) {stride = array<i64: 1, 1>, padding = [1, 1], dilation = array<i64: 1, 1>, transposed = false, output_padding = [0, 0], groups = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<2x8x6x6xf32>, tensor<256x8x3x3xf32>) -> tensor<2x256x6x6xf32>
  %1 = "graph.convolution"(%0, %w) {stride = array<i64: 1, 1>, padding = [0, 0], dilation = array<i64: 1, 1>, transposed = false, output_padding = [0, 0], groups = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<2x256x6x6xf32>, tensor<512x256x1x1xf32>) -> tensor<2x512x6x6xf32>
  return %1 : tensor<2x512x6x6xf32>
}
