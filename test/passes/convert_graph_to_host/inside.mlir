// RUN: %girih-opt --convert-graph-to-host --split-input-file %s | filecheck %s

// A pooled image lies as the image does, with its channels innermost.
// CHECK-LABEL: func.func @pooled
// CHECK: host.launch
// CHECK-SAME: !tile.buffer<f32, [1, 8, 4, 4, 1, 1], [128, 1, 32, 8,
func.func @pooled(%x: tensor<1x8x9x9xf32> {graph.strides = [648, 1, 72, 8]}) -> tensor<16x8xf32> {
  %0 = "graph.fusion"(%x) <{domain = [1, 8, 4, 4, 3, 3], reduced = array<i64: 4, 5>}> ({
  ^bb0(%a: tensor<1x8x9x9xf32>):
    %2 = "graph.window"(%a) {dim = 2 : i64, step = 2} : (tensor<1x8x9x9xf32>) -> tensor<1x8x4x9x3xf32>
    %3 = "graph.window"(%2) {dim = 3 : i64, step = 2} : (tensor<1x8x4x9x3xf32>) -> tensor<1x8x4x4x3x3xf32>
    %4 = "graph.reduce_max"(%3) {dims = array<i64: 4, 5>} : (tensor<1x8x4x4x3x3xf32>) -> tensor<1x8x4x4x1x1xf32>
    "graph.yield"(%4) : (tensor<1x8x4x4x1x1xf32>) -> ()
  }) : (tensor<1x8x9x9xf32>) -> tensor<1x8x4x4x1x1xf32>
  %1 = "graph.reshape"(%0) : (tensor<1x8x4x4x1x1xf32>) -> tensor<1x8x4x4xf32>
  %5 = "graph.permute"(%1) {permutation = array<i64: 0, 2, 3, 1>} : (tensor<1x8x4x4xf32>) -> tensor<1x4x4x8xf32>
  %6 = "graph.reshape"(%5) : (tensor<1x4x4x8xf32>) -> tensor<16x8xf32>
  %7 = "graph.extern"(%6) {op = "aten.exp.default", args = [{operand = 0 : i64}], kwargs = {}} : (tensor<16x8xf32>) -> tensor<16x8xf32>
  return %7 : tensor<16x8xf32>
}
