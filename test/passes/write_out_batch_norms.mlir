// RUN: %girih-opt --write-out-batch-norms --split-constants %s | filecheck %s

// CHECK-LABEL: func.func @main
// CHECK-SAME: %arg3: tensor<8xf32> {graph.constant}, %arg4: tensor<8xf32> {graph.constant}
// CHECK-NOT: graph.rsqrt
// CHECK: graph.mul
// CHECK-NEXT: graph.reshape
// CHECK-NEXT: graph.add
// CHECK: func.func @constants
// CHECK: graph.rsqrt
func.func @main(%x: tensor<2x8x6x6xf32>, %mean: tensor<8xf32> {graph.static}, %var: tensor<8xf32> {graph.static}) -> tensor<2x8x6x6xf32> {
  %0 = "graph.batch_norm"(%x, %mean, %var) {eps = 1.000000e-05 : f64, operandSegmentSizes = array<i32: 1, 0, 0, 1, 1>} : (tensor<2x8x6x6xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x8x6x6xf32>
  return %0 : tensor<2x8x6x6xf32>
}

// Statistics that vary.
// CHECK-LABEL: func.func @left
// CHECK: graph.batch_norm
func.func @left(%x: tensor<2x8x6x6xf32>, %mean: tensor<8xf32>, %var: tensor<8xf32> {graph.static}) -> tensor<2x8x6x6xf32> {
  %0 = "graph.batch_norm"(%x, %mean, %var) {eps = 1.000000e-05 : f64, operandSegmentSizes = array<i32: 1, 0, 0, 1, 1>} : (tensor<2x8x6x6xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x8x6x6xf32>
  return %0 : tensor<2x8x6x6xf32>
}
