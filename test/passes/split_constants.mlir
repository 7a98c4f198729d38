// RUN: %girih-opt --split-constants --split-input-file %s | filecheck %s

// CHECK-LABEL: func.func @main
// CHECK-SAME: %arg1: tensor<4xf32> {graph.static}, %arg2: tensor<4xf32> {graph.constant}
// CHECK-NEXT: graph.mul"(%arg0, %arg2)
// CHECK-NEXT: return
// CHECK: func.func @constants(%arg0: tensor<4xf32> {graph.argument = 1 : i64, graph.static}) -> (tensor<4xf32> {graph.equal = 0 : i64})
// CHECK-NEXT: [[Y:%.*]] = "graph.exp"(%arg0)
// CHECK-NEXT: return [[Y]]
func.func @main(%x: tensor<4xf32>, %w: tensor<4xf32> {graph.static}) -> tensor<4xf32> {
  %0 = "graph.exp"(%w) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "graph.mul"(%x, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// A view of a weight costs nothing; a view of a constant shows it.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %arg2: tensor<4x4xf32> {graph.constant}
// CHECK-NEXT: [[W:%.*]] = "graph.permute"(%arg1)
// CHECK-NEXT: [[C:%.*]] = "graph.permute"(%arg2)
// CHECK: "graph.mm"(%arg0, [[W]])
// CHECK: "graph.mm"(%{{.*}}, [[C]])
// CHECK: func.func @constants
// CHECK-NEXT: graph.exp
// CHECK-NEXT: return
func.func @main(%x: tensor<4x4xf32>, %w: tensor<4x4xf32> {graph.static}) -> tensor<4x4xf32> {
  %0 = "graph.permute"(%w) {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = "graph.exp"(%w) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = "graph.permute"(%1) {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = "graph.mm"(%x, %0) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = "graph.mm"(%3, %2) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %4 : tensor<4x4xf32>
}

// -----

// The caller may write what is returned, and what it shares memory with.
// CHECK-LABEL: func.func @main
// CHECK-NOT: graph.constant
// CHECK-NOT: @constants
func.func @main(%x: tensor<4xf32>, %w: tensor<4xf32> {graph.static}) -> (tensor<4xf32>, tensor<2x2xf32>) {
  %0 = "graph.exp"(%w) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "graph.add"(%x, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = "graph.reshape"(%0) : (tensor<4xf32>) -> tensor<2x2xf32>
  return %1, %2 : tensor<4xf32>, tensor<2x2xf32>
}
