// RUN: %girih-opt --separate-reductions %s | filecheck %s
// RUN: %girih-opt --separate-reductions=max-ops=1 %s | filecheck %s --check-prefix=FEW

// The gradients of a layer norm: columns get their own copy of the normalised x.
// CHECK-LABEL: func.func @rows_and_columns
// CHECK: [[D:%.+]] = "graph.sub"(%arg0, %arg1)
// CHECK: [[OWN_D:%.+]] = "graph.sub"(%arg0, %arg1)
// CHECK: [[Z:%.+]] = "graph.mul"([[D]], %arg2)
// CHECK: [[OWN_Z:%.+]] = "graph.mul"([[OWN_D]], %arg2)
// CHECK: [[OWN_P:%.+]] = "graph.mul"(%arg3, [[OWN_Z]])
// CHECK: "graph.reduce_sum"([[OWN_P]]) {dims = array<i64: 0>}
// CHECK: [[P:%.+]] = "graph.mul"(%arg4, [[Z]])
// CHECK: "graph.reduce_sum"([[P]]) {dims = array<i64: 1>}

// FEW-LABEL: func.func @rows_and_columns
// FEW-COUNT-1: "graph.sub"(%arg0, %arg1)
// FEW-NOT: "graph.sub"(%arg0, %arg1)
// FEW-LABEL: func.func @only_columns
func.func @rows_and_columns(%x: tensor<64x32xf32>, %mean: tensor<64x1xf32>,
    %rstd: tensor<64x1xf32>, %g: tensor<64x32xf32>, %gw: tensor<64x32xf32>)
    -> (tensor<1x32xf32>, tensor<64x32xf32>) {
  %0 = "graph.sub"(%x, %mean) : (tensor<64x32xf32>, tensor<64x1xf32>) -> tensor<64x32xf32>
  %1 = "graph.mul"(%0, %rstd) : (tensor<64x32xf32>, tensor<64x1xf32>) -> tensor<64x32xf32>
  %2 = "graph.mul"(%g, %1) : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %3 = "graph.reduce_sum"(%2) {dims = array<i64: 0>} : (tensor<64x32xf32>) -> tensor<1x32xf32>
  %4 = "graph.mul"(%gw, %1) : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %5 = "graph.reduce_sum"(%4) {dims = array<i64: 1>} : (tensor<64x32xf32>) -> tensor<64x1xf32>
  %6 = "graph.sub"(%gw, %5) : (tensor<64x32xf32>, tensor<64x1xf32>) -> tensor<64x32xf32>
  return %3, %6 : tensor<1x32xf32>, tensor<64x32xf32>
}

// One kernel does this.
// CHECK-LABEL: func.func @only_columns
// CHECK-COUNT-1: "graph.sub"
// CHECK-NOT: "graph.sub"
// CHECK-LABEL: func.func @stored
func.func @only_columns(%x: tensor<64x32xf32>, %mean: tensor<64x1xf32>)
    -> (tensor<1x32xf32>, tensor<64x32xf32>) {
  %0 = "graph.sub"(%x, %mean) : (tensor<64x32xf32>, tensor<64x1xf32>) -> tensor<64x32xf32>
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 0>} : (tensor<64x32xf32>) -> tensor<1x32xf32>
  %2 = "graph.exp"(%0) : (tensor<64x32xf32>) -> tensor<64x32xf32>
  return %1, %2 : tensor<1x32xf32>, tensor<64x32xf32>
}

// What is stored anyway is read by both.
// CHECK-COUNT-1: "graph.sub"(%arg0, %arg1)
// CHECK-NOT: "graph.sub"(%arg0, %arg1)
// CHECK-LABEL: func.func @after_a_reduction
func.func @stored(%x: tensor<64x32xf32>, %mean: tensor<64x1xf32>)
    -> (tensor<1x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>) {
  %0 = "graph.sub"(%x, %mean) : (tensor<64x32xf32>, tensor<64x1xf32>) -> tensor<64x32xf32>
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 0>} : (tensor<64x32xf32>) -> tensor<1x32xf32>
  %2 = "graph.reduce_sum"(%0) {dims = array<i64: 1>} : (tensor<64x32xf32>) -> tensor<64x1xf32>
  %3 = "graph.mul"(%0, %2) : (tensor<64x32xf32>, tensor<64x1xf32>) -> tensor<64x32xf32>
  return %1, %0, %3 : tensor<1x32xf32>, tensor<64x32xf32>, tensor<64x32xf32>
}

// A reduction is never done twice.
// CHECK-COUNT-2: "graph.reduce_sum"
// CHECK-COUNT-1: "graph.sub"
// CHECK-NOT: "graph.sub"
func.func @after_a_reduction(%x: tensor<64x32xf32>)
    -> (tensor<1x32xf32>, tensor<64x32xf32>) {
  %0 = "graph.reduce_sum"(%x) {dims = array<i64: 1>} : (tensor<64x32xf32>) -> tensor<64x1xf32>
  %1 = "graph.reduce_sum"(%x) {dims = array<i64: 1>} : (tensor<64x32xf32>) -> tensor<64x1xf32>
  %2 = "graph.sub"(%x, %0) : (tensor<64x32xf32>, tensor<64x1xf32>) -> tensor<64x32xf32>
  %3 = "graph.reduce_sum"(%2) {dims = array<i64: 0>} : (tensor<64x32xf32>) -> tensor<1x32xf32>
  %4 = "graph.mul"(%2, %1) : (tensor<64x32xf32>, tensor<64x1xf32>) -> tensor<64x32xf32>
  return %3, %4 : tensor<1x32xf32>, tensor<64x32xf32>
}

// What reads %z depends on the sums through other sums: a later kernel.
// CHECK-LABEL: func.func @in_steps
// CHECK: [[Z:%.+]] = "graph.mul"(%arg0, %arg1)
// CHECK: [[OWN:%.+]] = "graph.mul"(%arg0, %arg1)
// CHECK: "graph.reduce_sum"([[OWN]]) {dims = array<i64: 2>}
// CHECK: "graph.mul"([[Z]], %{{.*}})
func.func @in_steps(%x: tensor<4x8x32xf32>, %r: tensor<4x1x1xf32>) -> tensor<4x8x32xf32> {
  %0 = "graph.mul"(%x, %r) : (tensor<4x8x32xf32>, tensor<4x1x1xf32>) -> tensor<4x8x32xf32>
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 2>} : (tensor<4x8x32xf32>) -> tensor<4x8x1xf32>
  %2 = "graph.reduce_sum"(%1) {dims = array<i64: 1>} : (tensor<4x8x1xf32>) -> tensor<4x1x1xf32>
  %3 = "graph.mul"(%0, %2) : (tensor<4x8x32xf32>, tensor<4x1x1xf32>) -> tensor<4x8x32xf32>
  return %3 : tensor<4x8x32xf32>
}
