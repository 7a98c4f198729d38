// RUN: girih-opt --print-layouts %s | filecheck %s

// CHECK: %[[E:.*]] = graph.extern: extern, shape [4, 6], strides [1, 4], offset 0
// CHECK-NEXT: %[[P:.*]] = graph.permute: view of %[[E]], shape [6, 4], strides [4, 1], offset 0
// CHECK-NEXT: %{{.*}} = graph.reshape: view of %[[E]], shape [24], strides [1], offset 0
// CHECK-NEXT: %{{.*}} = graph.reshape: kernel, shape [24], strides [1], offset 0
// CHECK-NEXT: %{{.*}} = graph.slice: view of %[[E]], shape [2, 2], strides [2, 8], offset 5
// CHECK-NEXT: %{{.*}} = graph.broadcast_to: view of %[[E]], shape [3, 4, 6], strides [0, 1, 4], offset 0
// CHECK-NEXT: %{{.*}} = graph.window: view of %[[E]], shape [4, 2, 3], strides [1, 8, 4], offset 0
// CHECK-NEXT: %{{.*}} = graph.exp: kernel, shape [4, 6], strides [1, 4], offset 0
// CHECK-NEXT: %{{.*}} = graph.flip: kernel, shape [6, 4], strides [4, 1], offset 0
func.func @views(%x: tensor<4x6xf32>) {
  %0 = "graph.extern"(%x) {op = "aten.exp.default", args = [{operand = 0}], kwargs = {}, strides = [[1, 4]]} : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = "graph.permute"(%0) {permutation = array<i64: 1, 0>} : (tensor<4x6xf32>) -> tensor<6x4xf32>
  %2 = "graph.reshape"(%1) : (tensor<6x4xf32>) -> tensor<24xf32>
  %3 = "graph.reshape"(%0) : (tensor<4x6xf32>) -> tensor<24xf32>
  %4 = "graph.slice"(%0) {starts = [1, 1], steps = array<i64: 2, 2>} : (tensor<4x6xf32>) -> tensor<2x2xf32>
  %5 = "graph.broadcast_to"(%0) : (tensor<4x6xf32>) -> tensor<3x4x6xf32>
  %8 = "graph.window"(%0) {dim = 1, step = 2} : (tensor<4x6xf32>) -> tensor<4x2x3xf32>
  %6 = "graph.exp"(%0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %7 = "graph.flip"(%1) {dims = array<i64: 0>} : (tensor<6x4xf32>) -> tensor<6x4xf32>
  return
}
