// RUN: %girih-opt --pass-pipeline=decompose %s | filecheck %s

// A tensor that a kernel makes anew.
// CHECK-LABEL: func.func @fresh
// CHECK: [[BEFORE:%.+]] = "graph.slice"(%arg0) {starts = [0, 0], {{.*}} -> tensor<2x4xf32>
// CHECK: [[AFTER:%.+]] = "graph.slice"(%arg0) {starts = [3, 0], {{.*}} -> tensor<2x4xf32>
// CHECK: "graph.concat"([[BEFORE]], %arg1, [[AFTER]]) {dim = 0 : i64}
func.func @fresh(%x: tensor<5x4xf32>, %p: tensor<1x4xf32>) -> tensor<5x4xf32> {
  %0 = "graph.insert"(%x, %p) {starts = [2, 0], steps = array<i64: 1, 1>}
      : (tensor<5x4xf32>, tensor<1x4xf32>) -> tensor<5x4xf32>
  return %0 : tensor<5x4xf32>
}

// CHECK-LABEL: func.func @with_steps
// CHECK: "graph.take"
// CHECK: "graph.where"
func.func @with_steps(%x: tensor<5x4xf32>, %p: tensor<2x4xf32>) -> tensor<5x4xf32> {
  %0 = "graph.insert"(%x, %p) {starts = [1, 0], steps = array<i64: 2, 1>}
      : (tensor<5x4xf32>, tensor<2x4xf32>) -> tensor<5x4xf32>
  return %0 : tensor<5x4xf32>
}

// A write to a part of an argument stays, also through views.
// CHECK-LABEL: func.func @written
// CHECK: [[TURNED:%.+]] = "graph.permute"(%arg0)
// CHECK: [[FIRST:%.+]] = "graph.insert"([[TURNED]], %arg1)
// CHECK: [[BACK:%.+]] = "graph.permute"([[FIRST]])
// CHECK: "graph.insert"([[BACK]], %arg2)
func.func @written(%x: tensor<5x4xf32>, %p: tensor<1x5xf32>, %q: tensor<1x4xf32>)
    -> (tensor<5x4xf32> {graph.writes = 0 : i64}) {
  %0 = "graph.permute"(%x) {permutation = array<i64: 1, 0>}
      : (tensor<5x4xf32>) -> tensor<4x5xf32>
  %1 = "graph.insert"(%0, %p) {starts = [2, 0], steps = array<i64: 1, 1>}
      : (tensor<4x5xf32>, tensor<1x5xf32>) -> tensor<4x5xf32>
  %2 = "graph.permute"(%1) {permutation = array<i64: 1, 0>}
      : (tensor<4x5xf32>) -> tensor<5x4xf32>
  %3 = "graph.insert"(%2, %q) {starts = [1, 0], steps = array<i64: 1, 1>}
      : (tensor<5x4xf32>, tensor<1x4xf32>) -> tensor<5x4xf32>
  return %3 : tensor<5x4xf32>
}

// Another argument is written.
// CHECK-LABEL: func.func @other
// CHECK-NOT: graph.insert
// CHECK: "graph.concat"
func.func @other(%x: tensor<5x4xf32>, %p: tensor<1x4xf32>, %y: tensor<5x4xf32>)
    -> (tensor<5x4xf32> {graph.writes = 2 : i64}) {
  %0 = "graph.insert"(%x, %p) {starts = [2, 0], steps = array<i64: 1, 1>}
      : (tensor<5x4xf32>, tensor<1x4xf32>) -> tensor<5x4xf32>
  return %0 : tensor<5x4xf32>
}
