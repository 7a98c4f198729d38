// RUN: %girih-opt --pass-pipeline=sink-permutes{target=cpu} --split-input-file %s | filecheck %s
// RUN: %girih-opt --pass-pipeline=sink-permutes --split-input-file %s | filecheck %s --check-prefix=GPU

// GPU: "graph.permute"(%arg0)

!image = tensor<2x8x5x6xf32>
!rows = tensor<2x5x6x8xf32>

// A bias, an activation and a residual sum, between two products.
// CHECK-LABEL: func.func @residual
// CHECK-NOT: graph.permute
// CHECK: [[BIAS:%.+]] = "graph.reshape"(%arg2) : (tensor<8x1x1xf32>) -> tensor<1x1x1x8xf32>
// CHECK: [[SUM:%.+]] = "graph.add"(%arg0, [[BIAS]]) : (tensor<2x5x6x8xf32>, tensor<1x1x1x8xf32>) -> tensor<2x5x6x8xf32>
// CHECK: [[BOTH:%.+]] = "graph.add"([[SUM]], %arg1)
// CHECK: [[Y:%.+]] = "graph.relu"([[BOTH]])
// CHECK-NOT: graph.permute
// CHECK: return [[Y]]
func.func @residual(%x: !rows, %z: !rows, %bias: tensor<8x1x1xf32>) -> !rows {
  %0 = "graph.permute"(%x) {permutation = array<i64: 0, 3, 1, 2>} : (!rows) -> !image
  %1 = "graph.permute"(%z) {permutation = array<i64: 0, 3, 1, 2>} : (!rows) -> !image
  %2 = "graph.add"(%0, %bias) : (!image, tensor<8x1x1xf32>) -> !image
  %3 = "graph.add"(%2, %1) : (!image, !image) -> !image
  %4 = "graph.relu"(%3) : (!image) -> !image
  %5 = "graph.permute"(%4) {permutation = array<i64: 0, 2, 3, 1>} : (!image) -> !rows
  return %5 : !rows
}

// -----

!image = tensor<2x8x5x6xf32>
!rows = tensor<2x5x6x8xf32>

// Others read the same tensor in its old order: they get a permutation of it.
// CHECK-LABEL: func.func @other_readers
// CHECK: [[Y:%.+]] = "graph.relu"(%arg0) : (tensor<2x5x6x8xf32>) -> tensor<2x5x6x8xf32>
// CHECK: [[IMAGE:%.+]] = "graph.permute"([[Y]]) {permutation = array<i64: 0, 3, 1, 2>}
// CHECK: "graph.reduce_sum"([[IMAGE]])
// CHECK: return [[Y]]
func.func @other_readers(%x: !rows) -> (!rows, tensor<2x8x1x1xf32>) {
  %0 = "graph.permute"(%x) {permutation = array<i64: 0, 3, 1, 2>} : (!rows) -> !image
  %1 = "graph.relu"(%0) : (!image) -> !image
  %2 = "graph.reduce_sum"(%1) {dims = array<i64: 2, 3>} : (!image) -> tensor<2x8x1x1xf32>
  %3 = "graph.permute"(%1) {permutation = array<i64: 0, 2, 3, 1>} : (!image) -> !rows
  return %3, %2 : !rows, tensor<2x8x1x1xf32>
}

// -----

!image = tensor<2x8x5x6xf32>
!rows = tensor<2x5x6x8xf32>

// Nothing takes the permutation back.
// CHECK-LABEL: func.func @returned
// CHECK: [[X:%.+]] = "graph.permute"(%arg0)
// CHECK: "graph.relu"([[X]])
func.func @returned(%x: !rows) -> !image {
  %0 = "graph.permute"(%x) {permutation = array<i64: 0, 3, 1, 2>} : (!rows) -> !image
  %1 = "graph.relu"(%0) : (!image) -> !image
  return %1 : !image
}

// -----

!image = tensor<2x8x5x6xf32>
!rows = tensor<2x5x6x8xf32>

// A large operand that lies in the other order, and a broadcast one whose sizes would
// change places.
// CHECK-LABEL: func.func @another_order
// CHECK: [[X:%.+]] = "graph.permute"(%arg0)
// CHECK: "graph.add"([[X]], %arg1)
// CHECK: "graph.mul"([[X]], %arg2)
func.func @another_order(%x: !rows, %z: !image, %m: tensor<8x5x1xf32>) -> (!rows, !rows) {
  %0 = "graph.permute"(%x) {permutation = array<i64: 0, 3, 1, 2>} : (!rows) -> !image
  %1 = "graph.add"(%0, %z) : (!image, !image) -> !image
  %2 = "graph.mul"(%0, %m) : (!image, tensor<8x5x1xf32>) -> !image
  %3 = "graph.permute"(%1) {permutation = array<i64: 0, 2, 3, 1>} : (!image) -> !rows
  %4 = "graph.permute"(%2) {permutation = array<i64: 0, 2, 3, 1>} : (!image) -> !rows
  return %3, %4 : !rows, !rows
}

// -----

!image = tensor<2x8x5x6xf32>
!rows = tensor<2x5x6x8xf32>

// Scales of each image and channel keep the order of their sizes.
// CHECK-LABEL: func.func @scaled
// CHECK: [[SCALE:%.+]] = "graph.reshape"(%arg1) : (tensor<2x8x1x1xf32>) -> tensor<2x1x1x8xf32>
// CHECK: [[Y:%.+]] = "graph.mul"(%arg0, [[SCALE]])
// CHECK: return [[Y]]
func.func @scaled(%x: !rows, %s: tensor<2x8x1x1xf32>) -> !rows {
  %0 = "graph.permute"(%x) {permutation = array<i64: 0, 3, 1, 2>} : (!rows) -> !image
  %1 = "graph.mul"(%0, %s) : (!image, tensor<2x8x1x1xf32>) -> !image
  %2 = "graph.permute"(%1) {permutation = array<i64: 0, 2, 3, 1>} : (!image) -> !rows
  return %2 : !rows
}
