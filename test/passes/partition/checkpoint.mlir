// RUN: %girih-opt --partition %s | filecheck %s

// The product is computed again from what enters the region, though it is a library
// op.
// CHECK-LABEL: func.func @main
// CHECK-SAME: ([[X:%.+]]: tensor<4x4xf32> {graph.requires_grad}, [[W:%.+]]: tensor<4x4xf32>)
// CHECK: [[H:%.+]] = "graph.mm"([[X]], [[W]])
// CHECK-NOT: graph.checkpoint
// CHECK: [[E:%.+]] = "graph.exp"([[H]])
// CHECK: [[Y:%.+]] = "graph.mm"([[E]], [[W]])
// CHECK: return [[Y]] : tensor<4x4xf32>
// CHECK-LABEL: func.func @backward
// CHECK-SAME: ([[X:%.+]]: tensor<4x4xf32> {graph.saved = "arg0"},
// CHECK-SAME: [[W:%.+]]: tensor<4x4xf32> {graph.saved = "arg1"},
// CHECK-SAME: [[G:%.+]]: tensor<4x4xf32> {graph.cotangent = 0 : i64})
// CHECK: [[H:%.+]] = "graph.mm"([[X]], [[W]])
// CHECK: [[E:%.+]] = "graph.exp"([[H]])
// CHECK: "graph.mul"([[G]], [[E]])
func.func @main(%x: tensor<4x4xf32> {graph.requires_grad}, %w: tensor<4x4xf32>,
    %g: tensor<4x4xf32> {graph.cotangent = 0 : i64})
    -> (tensor<4x4xf32>, tensor<4x4xf32> {graph.gradient = 0 : i64}) {
  %0 = "graph.mm"(%x, %w) {graph.checkpoint = 1 : i64}
      : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = "graph.exp"(%0) {graph.checkpoint = 1 : i64}
      : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = "graph.mm"(%1, %w) {graph.checkpoint = 1 : i64}
      : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = "graph.mul"(%g, %1) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = "graph.mm"(%3, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2, %4 : tensor<4x4xf32>, tensor<4x4xf32>
}
