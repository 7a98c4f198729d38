// RUN: %girih-opt --write-out-convolutions=target=cpu %s | filecheck %s
// RUN: %girih-opt --write-out-convolutions %s | filecheck %s --check-prefix=GPU

// GPU-NOT: graph.mm

// Images that lie row by row: pixels are columns.
// CHECK-LABEL: func.func @rows
// CHECK-SAME: ([[X:%.+]]: tensor<1x8x5x6xf32>, [[W:%.+]]: tensor<16x8x1x1xf32>, [[B:%.+]]: tensor<16xf32>)
// CHECK-DAG: [[WEIGHT:%.+]] = "graph.reshape"([[W]]) : (tensor<16x8x1x1xf32>) -> tensor<16x8xf32>
// CHECK-DAG: [[PIXELS:%.+]] = "graph.reshape"([[X]]) : (tensor<1x8x5x6xf32>) -> tensor<8x30xf32>
// CHECK: [[Y:%.+]] = "graph.mm"([[WEIGHT]], [[PIXELS]])
// CHECK: [[IMAGES:%.+]] = "graph.reshape"([[Y]]) : (tensor<16x30xf32>) -> tensor<1x16x5x6xf32>
// CHECK: [[BIAS:%.+]] = "graph.reshape"([[B]]) : (tensor<16xf32>) -> tensor<16x1x1xf32>
// CHECK: "graph.add"([[IMAGES]], [[BIAS]])
func.func @rows(%x: tensor<1x8x5x6xf32>, %w: tensor<16x8x1x1xf32>, %b: tensor<16xf32>) -> tensor<1x16x5x6xf32> {
  %0 = "graph.convolution"(%x, %w, %b) {stride = array<i64: 1, 1>, padding = [0, 0], dilation = array<i64: 1, 1>, transposed = false, output_padding = [0, 0], groups = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<1x8x5x6xf32>, tensor<16x8x1x1xf32>, tensor<16xf32>) -> tensor<1x16x5x6xf32>
  return %0 : tensor<1x16x5x6xf32>
}

// Several images are a batch, and a stride leaves pixels out.
// CHECK-LABEL: func.func @batch
// CHECK: [[SOME:%.+]] = "graph.slice"({{.*}}) {starts = [0, 0, 0, 0], steps = array<i64: 1, 1, 2, 2>} : (tensor<3x8x5x6xf32>) -> tensor<3x8x3x3xf32>
// CHECK: "graph.broadcast_to"({{.*}}) : (tensor<16x8xf32>) -> tensor<3x16x8xf32>
// CHECK: "graph.bmm"({{.*}}) : (tensor<3x16x8xf32>, tensor<3x8x9xf32>) -> tensor<3x16x9xf32>
func.func @batch(%x: tensor<3x8x5x6xf32>, %w: tensor<16x8x1x1xf32>) -> tensor<3x16x3x3xf32> {
  %0 = "graph.convolution"(%x, %w) {stride = array<i64: 2, 2>, padding = [0, 0], dilation = array<i64: 1, 1>, transposed = false, output_padding = [0, 0], groups = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<3x8x5x6xf32>, tensor<16x8x1x1xf32>) -> tensor<3x16x3x3xf32>
  return %0 : tensor<3x16x3x3xf32>
}

// Channels innermost: pixels are rows.
// CHECK-LABEL: func.func @channels_innermost
// CHECK: "graph.permute"(%arg0) {permutation = array<i64: 0, 2, 3, 1>}
// CHECK: "graph.mm"({{.*}}) : (tensor<60x8xf32>, tensor<8x16xf32>) -> tensor<60x16xf32>
// CHECK: "graph.permute"({{.*}}) {permutation = array<i64: 0, 3, 1, 2>}
func.func @channels_innermost(%x: tensor<2x8x5x6xf32>, %w: tensor<16x8x1x1xf32>) -> tensor<2x16x5x6xf32> {
  %0 = "graph.convolution"(%x, %w) {stride = array<i64: 1, 1>, padding = [0, 0], dilation = array<i64: 1, 1>, transposed = false, output_padding = [0, 0], groups = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0>, operand_strides = [[240, 1, 48, 8], [8, 1, 1, 1]], strides = [[480, 1, 96, 16]]} : (tensor<2x8x5x6xf32>, tensor<16x8x1x1xf32>) -> tensor<2x16x5x6xf32>
  return %0 : tensor<2x16x5x6xf32>
}

// Convolutions of single channels, with these innermost, are sums over windows.
// CHECK-LABEL: func.func @channels
// CHECK: "graph.pad"({{.*}}) {high = [0, 1, 1, 0], low = [0, 1, 1, 0], value = 0.000000e+00 : f64}
// CHECK: "graph.window"({{.*}}) {dim = 1 : i64, step = 2 : i64}
// CHECK: [[WINDOWS:%.+]] = "graph.window"({{.*}}) {dim = 2 : i64, step = 1 : i64} : {{.*}} -> tensor<1x3x6x8x3x3xf32>
// CHECK: [[SUMMANDS:%.+]] = "graph.mul"([[WINDOWS]], {{.*}})
// CHECK: "graph.reduce_sum"([[SUMMANDS]]) {dims = array<i64: 4, 5>}
func.func @channels(%x: tensor<1x8x5x6xf32>, %w: tensor<8x1x3x3xf32>) -> tensor<1x8x3x6xf32> {
  %0 = "graph.convolution"(%x, %w) {stride = array<i64: 2, 1>, padding = [1, 1], dilation = array<i64: 1, 1>, transposed = false, output_padding = [0, 0], groups = 8 : i64, operandSegmentSizes = array<i32: 1, 1, 0>, operand_strides = [[240, 1, 48, 8], [9, 9, 3, 1]], strides = [[144, 1, 48, 8]]} : (tensor<1x8x5x6xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x3x6xf32>
  return %0 : tensor<1x8x3x6xf32>
}

// Of few channels, with the results' innermost: sums over windows of all channels.
// CHECK-LABEL: func.func @few
// CHECK: [[PADDED:%.+]] = "graph.extern"(%arg0) {args = [{operand = 0 : i64}, [1, 1, 1, 1], 0.000000e+00], {{.*}}op = "aten.constant_pad_nd.default"}
// CHECK: "graph.window"([[PADDED]]) {dim = 2 : i64, step = 2 : i64}
// CHECK: [[WINDOWS:%.+]] = "graph.window"({{.*}}) {dim = 3 : i64, step = 2 : i64} : {{.*}} -> tensor<1x3x8x9x3x3xf32>
// CHECK: "graph.reduce_sum"({{.*}}) {dims = array<i64: 3, 4, 5>}
// CHECK: "graph.permute"({{.*}}) {permutation = array<i64: 0, 3, 1, 2>} : (tensor<1x8x9x16xf32>) -> tensor<1x16x8x9xf32>
func.func @few(%x: tensor<1x3x16x18xf32>, %w: tensor<16x3x3x3xf32>) -> tensor<1x16x8x9xf32> {
  %0 = "graph.convolution"(%x, %w) {stride = array<i64: 2, 2>, padding = [1, 1], dilation = array<i64: 1, 1>, transposed = false, output_padding = [0, 0], groups = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0>, operand_strides = [[864, 1, 54, 3], [27, 9, 3, 1]], strides = [[1152, 1, 144, 16]]} : (tensor<1x3x16x18xf32>, tensor<16x3x3x3xf32>) -> tensor<1x16x8x9xf32>
  return %0 : tensor<1x16x8x9xf32>
}

// Larger windows, groups, padding and other dims stay convolutions.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-3: "graph.convolution"
// CHECK-NOT: graph.mm
func.func @others(%x: tensor<1x8x5x6xf32>, %w: tensor<16x8x3x3xf32>, %g: tensor<8x4x1x1xf32>, %p: tensor<8x8x1x1xf32>) -> (tensor<1x16x3x4xf32>, tensor<1x8x5x6xf32>, tensor<1x8x7x8xf32>) {
  %0 = "graph.convolution"(%x, %w) {stride = array<i64: 1, 1>, padding = [0, 0], dilation = array<i64: 1, 1>, transposed = false, output_padding = [0, 0], groups = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<1x8x5x6xf32>, tensor<16x8x3x3xf32>) -> tensor<1x16x3x4xf32>
  %1 = "graph.convolution"(%x, %g) {stride = array<i64: 1, 1>, padding = [0, 0], dilation = array<i64: 1, 1>, transposed = false, output_padding = [0, 0], groups = 2 : i64, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<1x8x5x6xf32>, tensor<8x4x1x1xf32>) -> tensor<1x8x5x6xf32>
  %2 = "graph.convolution"(%x, %p) {stride = array<i64: 1, 1>, padding = [1, 1], dilation = array<i64: 1, 1>, transposed = false, output_padding = [0, 0], groups = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<1x8x5x6xf32>, tensor<8x8x1x1xf32>) -> tensor<1x8x7x8xf32>
  return %0, %1, %2 : tensor<1x16x3x4xf32>, tensor<1x8x5x6xf32>, tensor<1x8x7x8xf32>
}

// Weights in panels of channels are the right operands of a batch of products.
// CHECK-LABEL: func.func @panels
// CHECK: %[[X:.*]] = "graph.broadcast_to"({{.*}}) : (tensor<30x8xf32>) -> tensor<2x30x8xf32>
// CHECK: %[[Y:.*]] = "graph.bmm"(%[[X]], %arg1) : (tensor<2x30x8xf32>, tensor<2x8x32xf32>) -> tensor<2x30x32xf32>
// CHECK: "graph.permute"(%[[Y]]) {permutation = array<i64: 1, 0, 2>}
func.func @panels(%x: tensor<1x8x5x6xf32>, %w: tensor<2x8x32xf32>) -> tensor<1x64x5x6xf32> {
  %0 = "graph.permute"(%w) {permutation = array<i64: 0, 2, 1>} : (tensor<2x8x32xf32>) -> tensor<2x32x8xf32>
  %1 = "graph.reshape"(%0) : (tensor<2x32x8xf32>) -> tensor<64x8x1x1xf32>
  %2 = "graph.convolution"(%x, %1) {stride = array<i64: 1, 1>, padding = [0, 0], dilation = array<i64: 1, 1>, transposed = false, output_padding = [0, 0], groups = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0>, operand_strides = [[240, 1, 48, 8], [8, 1, 1, 1]], strides = [[1920, 1, 384, 64]]} : (tensor<1x8x5x6xf32>, tensor<64x8x1x1xf32>) -> tensor<1x64x5x6xf32>
  return %2 : tensor<1x64x5x6xf32>
}
