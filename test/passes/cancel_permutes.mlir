// RUN: %girih-opt --pass-pipeline=cancel-permutes --split-input-file %s | filecheck %s

!image = tensor<2x8x5x6xf32>
!turned = tensor<2x5x6x8xf32>
!one = tensor<2x5x6x1xf32>

// CHECK-LABEL: func.func @norm
// CHECK-NOT: graph.permute
// CHECK: [[SUM:%.+]] = "graph.reduce_sum"(%arg0) {dims = array<i64: 1>} {{.*}} -> tensor<2x1x5x6xf32>
// CHECK: [[CENTRE:%.+]] = "graph.sub"(%arg0, [[SUM]])
// CHECK: [[WEIGHT:%.+]] = "graph.reshape"(%arg1) : (tensor<8xf32>) -> tensor<1x8x1x1xf32>
// CHECK: [[Y:%.+]] = "graph.mul"([[CENTRE]], [[WEIGHT]])
// CHECK-NEXT: return [[Y]]
func.func @norm(%x: !image, %w: tensor<8xf32>) -> !image {
  %0 = "graph.permute"(%x) {permutation = array<i64: 0, 2, 3, 1>} : (!image) -> !turned
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 3>} : (!turned) -> !one
  %2 = "graph.sub"(%0, %1) : (!turned, !one) -> !turned
  %3 = "graph.mul"(%2, %w) : (!turned, tensor<8xf32>) -> !turned
  %4 = "graph.permute"(%3) {permutation = array<i64: 0, 3, 1, 2>} : (!turned) -> !image
  return %4 : !image
}

// -----

!image = tensor<2x8x5x6xf32>
!turned = tensor<2x5x6x8xf32>
!one = tensor<2x5x6x1xf32>

// What else reads the turned result needs it in that order.
// CHECK-LABEL: func.func @read_elsewhere
// CHECK: "graph.permute"(%arg0)
func.func @read_elsewhere(%x: !image) -> (!image, !turned) {
  %0 = "graph.permute"(%x) {permutation = array<i64: 0, 2, 3, 1>} : (!image) -> !turned
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 3>} : (!turned) -> !one
  %2 = "graph.sub"(%0, %1) : (!turned, !one) -> !turned
  %3 = "graph.permute"(%2) {permutation = array<i64: 0, 3, 1, 2>} : (!turned) -> !image
  return %3, %2 : !image, !turned
}

// -----

!image = tensor<2x8x5x6xf32>
!turned = tensor<2x5x6x8xf32>
!one = tensor<2x5x6x1xf32>

// Another tensor has the other order already.
// CHECK-LABEL: func.func @other_order
// CHECK: "graph.permute"(%arg0)
func.func @other_order(%x: !image, %y: !turned) -> !image {
  %0 = "graph.permute"(%x) {permutation = array<i64: 0, 2, 3, 1>} : (!image) -> !turned
  %1 = "graph.add"(%0, %y) : (!turned, !turned) -> !turned
  %2 = "graph.reduce_sum"(%1) {dims = array<i64: 3>} : (!turned) -> !one
  %3 = "graph.sub"(%0, %2) : (!turned, !one) -> !turned
  %4 = "graph.permute"(%3) {permutation = array<i64: 0, 3, 1, 2>} : (!turned) -> !image
  return %4 : !image
}

// -----

!image = tensor<2x8x5xf32>
!turned = tensor<5x2x8xf32>

// Without a reduction `fuse` finds the kernel by itself.
// CHECK-LABEL: func.func @pointwise
// CHECK: "graph.permute"(%arg0)
func.func @pointwise(%x: !image) -> !image {
  %0 = "graph.permute"(%x) {permutation = array<i64: 2, 0, 1>} : (!image) -> !turned
  %1 = "graph.exp"(%0) : (!turned) -> !turned
  %2 = "graph.permute"(%1) {permutation = array<i64: 1, 2, 0>} : (!turned) -> !image
  return %2 : !image
}
