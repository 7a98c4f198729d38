// RUN: %girih-opt --pass-pipeline=fuse %s | filecheck %s

// A scan is one kernel with what comes before and after at the same points.
// CHECK-LABEL: func.func @fused
// CHECK: "graph.fusion"(%arg0)
// CHECK: graph.exp
// CHECK: "graph.cumsum"({{.*}}) {dim = 1 : i64} : (tensor<64x32xf32>) -> tensor<64x32xf32>
// CHECK: graph.neg
// CHECK: {domain = [64, 32], reduced = array<i64: 1>}
// CHECK-NEXT: return
func.func @fused(%x: tensor<64x32xf32>) -> tensor<64x32xf32> {
  %0 = "graph.exp"(%x) : (tensor<64x32xf32>) -> tensor<64x32xf32>
  %1 = "graph.cumsum"(%0) {dim = 1 : i64} : (tensor<64x32xf32>) -> tensor<64x32xf32>
  %2 = "graph.neg"(%1) : (tensor<64x32xf32>) -> tensor<64x32xf32>
  return %2 : tensor<64x32xf32>
}

// What reads it at other points is another kernel.
// CHECK-LABEL: func.func @flipped
// CHECK: "graph.fusion"
// CHECK: graph.cumsum
// CHECK: reduced = array<i64: 1>
// CHECK: "graph.fusion"
// CHECK: graph.flip
// CHECK: reduced = array<i64>
func.func @flipped(%x: tensor<64x32xf32>) -> tensor<64x32xf32> {
  %0 = "graph.cumsum"(%x) {dim = 1 : i64} : (tensor<64x32xf32>) -> tensor<64x32xf32>
  %1 = "graph.flip"(%0) {dims = array<i64: 1>} : (tensor<64x32xf32>) -> tensor<64x32xf32>
  %2 = "graph.neg"(%1) : (tensor<64x32xf32>) -> tensor<64x32xf32>
  return %2 : tensor<64x32xf32>
}

// So are a reduction, even of the same dim, and a scan of another one.
// CHECK-LABEL: func.func @reduced
// CHECK: graph.cumsum
// CHECK: graph.yield
// CHECK: graph.reduce_sum
// CHECK: graph.yield
// CHECK: "graph.cumsum"({{.*}}) {dim = 0 : i64}
func.func @reduced(%x: tensor<64x32xf32>) -> (tensor<64x1xf32>, tensor<64x32xf32>) {
  %0 = "graph.cumsum"(%x) {dim = 1 : i64} : (tensor<64x32xf32>) -> tensor<64x32xf32>
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 1>} : (tensor<64x32xf32>) -> tensor<64x1xf32>
  %2 = "graph.cumsum"(%0) {dim = 0 : i64} : (tensor<64x32xf32>) -> tensor<64x32xf32>
  return %1, %2 : tensor<64x1xf32>, tensor<64x32xf32>
}

// Few long scans stay with the library, and so do those of unknown length alone.
// CHECK-LABEL: func.func @long
// CHECK-NEXT: "graph.cumsum"(%arg0)
// CHECK-NEXT: "graph.cumsum"(%arg1)
// CHECK-NEXT: return
func.func @long(%x: tensor<2x100000xf32>, %y: tensor<?xf32, ["s0"]>) -> (tensor<2x100000xf32>, tensor<?xf32, ["s0"]>) {
  %0 = "graph.cumsum"(%x) {dim = 1 : i64} : (tensor<2x100000xf32>) -> tensor<2x100000xf32>
  %1 = "graph.cumsum"(%y) {dim = 0 : i64} : (tensor<?xf32, ["s0"]>) -> tensor<?xf32, ["s0"]>
  return %0, %1 : tensor<2x100000xf32>, tensor<?xf32, ["s0"]>
}
