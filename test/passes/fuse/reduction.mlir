// RUN: %girih-opt --pass-pipeline=fuse %s | filecheck %s

// Softmax with what comes before and after is one kernel.
// CHECK-LABEL: func.func @softmax
// CHECK-COUNT-1: "graph.fusion"(%arg0, %arg1)
// CHECK: graph.add
// CHECK: "graph.reduce_max"({{.*}}) {dims = array<i64: 1>}
// CHECK: graph.exp
// CHECK: "graph.reduce_sum"({{.*}}) {dims = array<i64: 1>}
// CHECK: graph.div
// CHECK: graph.relu
// CHECK: {domain = [64, 32], reduced = array<i64: 1>}
// CHECK-NEXT: return
func.func @softmax(%x: tensor<64x32xf32>, %mask: tensor<32xf32>) -> tensor<64x32xf32> {
  %0 = "graph.add"(%x, %mask) : (tensor<64x32xf32>, tensor<32xf32>) -> tensor<64x32xf32>
  %1 = "graph.reduce_max"(%0) {dims = array<i64: 1>}
      : (tensor<64x32xf32>) -> tensor<64x1xf32>
  %2 = "graph.sub"(%0, %1) : (tensor<64x32xf32>, tensor<64x1xf32>) -> tensor<64x32xf32>
  %3 = "graph.exp"(%2) : (tensor<64x32xf32>) -> tensor<64x32xf32>
  %4 = "graph.reduce_sum"(%3) {dims = array<i64: 1>}
      : (tensor<64x32xf32>) -> tensor<64x1xf32>
  %5 = "graph.div"(%3, %4) : (tensor<64x32xf32>, tensor<64x1xf32>) -> tensor<64x32xf32>
  %6 = "graph.relu"(%5) : (tensor<64x32xf32>) -> tensor<64x32xf32>
  return %6 : tensor<64x32xf32>
}

// The reduced value loses its dim and gets it back; both sides are one kernel.
// CHECK-LABEL: func.func @mean_without_dim
// CHECK-COUNT-1: graph.fusion
// CHECK: [[SUM:%.+]] = "graph.reduce_sum"
// CHECK-NEXT: [[SQRT:%.+]] = "graph.sqrt"([[SUM]]) : (tensor<64x1xf32>) -> tensor<64x1xf32>
// CHECK-NEXT: "graph.sub"({{.*}}, [[SQRT]]) : (tensor<64x32xf32>, tensor<64x1xf32>)
// CHECK: return
func.func @mean_without_dim(%x: tensor<64x32xf32>) -> tensor<64x32xf32> {
  %0 = "graph.reduce_sum"(%x) {dims = array<i64: 1>}
      : (tensor<64x32xf32>) -> tensor<64x1xf32>
  %1 = "graph.reshape"(%0) : (tensor<64x1xf32>) -> tensor<64xf32>
  %2 = "graph.sqrt"(%1) : (tensor<64xf32>) -> tensor<64xf32>
  %3 = "graph.reshape"(%2) : (tensor<64xf32>) -> tensor<64x1xf32>
  %4 = "graph.sub"(%x, %3) : (tensor<64x32xf32>, tensor<64x1xf32>) -> tensor<64x32xf32>
  return %4 : tensor<64x32xf32>
}

// CHECK-LABEL: func.func @other_dims
// CHECK: graph.fusion
// CHECK: reduced = array<i64: 1>
// CHECK: graph.fusion
// CHECK: reduced = array<i64: 0>
func.func @other_dims(%x: tensor<64x32xf32>) -> (tensor<64x1xf32>, tensor<1x32xf32>) {
  %0 = "graph.reduce_sum"(%x) {dims = array<i64: 1>}
      : (tensor<64x32xf32>) -> tensor<64x1xf32>
  %1 = "graph.reduce_sum"(%x) {dims = array<i64: 0>}
      : (tensor<64x32xf32>) -> tensor<1x32xf32>
  return %0, %1 : tensor<64x1xf32>, tensor<1x32xf32>
}

// CHECK-LABEL: func.func @siblings
// CHECK-COUNT-1: graph.fusion
// CHECK: graph.reduce_sum
// CHECK: graph.reduce_max
// CHECK: return
func.func @siblings(%x: tensor<64x32xf32>) -> (tensor<64x1xf32>, tensor<64x1xf32>) {
  %0 = "graph.reduce_sum"(%x) {dims = array<i64: 1>}
      : (tensor<64x32xf32>) -> tensor<64x1xf32>
  %1 = "graph.reduce_max"(%x) {dims = array<i64: 1>}
      : (tensor<64x32xf32>) -> tensor<64x1xf32>
  return %0, %1 : tensor<64x1xf32>, tensor<64x1xf32>
}

// Threads share the one row, so its sum is known only when the kernel has ended.
// CHECK-LABEL: func.func @full_reduction_ends_the_kernel
// CHECK: graph.fusion
// CHECK: graph.reduce_sum
// CHECK: graph.sqrt
// CHECK: graph.yield
// CHECK: graph.fusion
// CHECK: graph.div
func.func @full_reduction_ends_the_kernel(%x: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %0 = "graph.reduce_sum"(%x) {dims = array<i64: 0, 1>}
      : (tensor<512x512xf32>) -> tensor<1x1xf32>
  %1 = "graph.sqrt"(%0) : (tensor<1x1xf32>) -> tensor<1x1xf32>
  %2 = "graph.div"(%x, %1) : (tensor<512x512xf32>, tensor<1x1xf32>) -> tensor<512x512xf32>
  return %2 : tensor<512x512xf32>
}

// A small one stays in the cache.
// CHECK-LABEL: func.func @small_full_reduction
// CHECK-COUNT-1: graph.fusion
// CHECK: return
func.func @small_full_reduction(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = "graph.reduce_sum"(%x) {dims = array<i64: 0, 1>}
      : (tensor<8x8xf32>) -> tensor<1x1xf32>
  %1 = "graph.div"(%x, %0) : (tensor<8x8xf32>, tensor<1x1xf32>) -> tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}

// Groups of channels and channels: the domain has the dims of both.
// CHECK-LABEL: func.func @group_norm
// CHECK: "graph.reduce_sum"({{.*}}) {dims = array<i64: 2, 3>} : (tensor<8x3x2x5xf32>)
// CHECK: "graph.mul"({{.*}}) : (tensor<8x3x2x5xf32>, tensor<1x3x2x1xf32>)
// CHECK: {domain = [8, 3, 2, 5], reduced = array<i64: 2, 3>}
// CHECK: "graph.reshape"({{.*}}) : (tensor<8x3x2x5xf32>) -> tensor<8x6x5xf32>
func.func @group_norm(%x: tensor<8x6x5xf32>, %w: tensor<6x1xf32>) -> tensor<8x6x5xf32> {
  %0 = "graph.reshape"(%x) : (tensor<8x6x5xf32>) -> tensor<8x3x10xf32>
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 2>}
      : (tensor<8x3x10xf32>) -> tensor<8x3x1xf32>
  %2 = "graph.sub"(%0, %1) : (tensor<8x3x10xf32>, tensor<8x3x1xf32>) -> tensor<8x3x10xf32>
  %3 = "graph.reshape"(%2) : (tensor<8x3x10xf32>) -> tensor<8x6x5xf32>
  %4 = "graph.mul"(%3, %w) : (tensor<8x6x5xf32>, tensor<6x1xf32>) -> tensor<8x6x5xf32>
  return %4 : tensor<8x6x5xf32>
}

// CHECK-LABEL: func.func @symbolic_rows
// CHECK: {domain = ["s0", 32], reduced = array<i64: 1>}
// CHECK-NOT: graph.fusion
// CHECK: return
func.func @symbolic_rows(%x: tensor<?x32xf32, ["s0"]>) -> tensor<?x32xf32, ["s0"]> {
  %0 = "graph.reduce_sum"(%x) {dims = array<i64: 1>}
      : (tensor<?x32xf32, ["s0"]>) -> tensor<?x1xf32, ["s0"]>
  %1 = "graph.sub"(%x, %0) : (tensor<?x32xf32, ["s0"]>, tensor<?x1xf32, ["s0"]>)
      -> tensor<?x32xf32, ["s0"]>
  return %1 : tensor<?x32xf32, ["s0"]>
}
