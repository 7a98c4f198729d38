// RUN: %girih-opt --write-out-reductions --split-input-file %s | filecheck %s
// RUN: %girih-opt --write-out-reductions=target=gpu --split-input-file %s | filecheck %s --check-prefix=GPU

// The sum over three coordinates is reduced again: slices and sums of bf16 in f32.
// CHECK-LABEL: func.func @reduced_again
// CHECK: [[X:%.+]] = "graph.mul"
// CHECK: [[W:%.+]] = "graph.cast"([[X]]) : (tensor<8x9x3xbf16>) -> tensor<8x9x3xf32>
// CHECK: [[A:%.+]] = "graph.slice"([[W]]) {starts = [0, 0, 0]
// CHECK: [[B:%.+]] = "graph.slice"([[W]]) {starts = [0, 0, 1]
// CHECK: [[S:%.+]] = "graph.add"([[A]], [[B]])
// CHECK: [[C:%.+]] = "graph.slice"([[W]]) {starts = [0, 0, 2]
// CHECK: [[T:%.+]] = "graph.add"([[S]], [[C]])
// CHECK: "graph.cast"([[T]]) : (tensor<8x9x1xf32>) -> tensor<8x9x1xbf16>
// CHECK: "graph.reduce_min"
func.func @reduced_again(%x: tensor<8x9x3xbf16>) -> tensor<8x1x1xbf16> {
  %0 = "graph.mul"(%x, %x) : (tensor<8x9x3xbf16>, tensor<8x9x3xbf16>) -> tensor<8x9x3xbf16>
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 2>} : (tensor<8x9x3xbf16>) -> tensor<8x9x1xbf16>
  %2 = "graph.reduce_min"(%1) {dims = array<i64: 1>} : (tensor<8x9x1xbf16>) -> tensor<8x1x1xbf16>
  return %2 : tensor<8x1x1xbf16>
}

// -----

// A result that is broadcast to more elements: on a GPU each of them computes it.
// CHECK-LABEL: func.func @broadcast
// CHECK: "graph.reduce_prod"
// GPU-LABEL: func.func @broadcast
// GPU-NOT: "graph.reduce_prod"
// GPU: "graph.mul"({{.+}}) : (tensor<9x1xf32>, tensor<9x1xf32>)
func.func @broadcast(%x: tensor<9x2xf32>, %y: tensor<9x7xf32>) -> tensor<9x7xf32> {
  %0 = "graph.exp"(%x) : (tensor<9x2xf32>) -> tensor<9x2xf32>
  %1 = "graph.reduce_prod"(%0) {dims = array<i64: 1>} : (tensor<9x2xf32>) -> tensor<9x1xf32>
  %2 = "graph.sub"(%y, %1) : (tensor<9x7xf32>, tensor<9x1xf32>) -> tensor<9x7xf32>
  return %2 : tensor<9x7xf32>
}

// -----

// A softmax stays: its elements are combined with the sum.
// CHECK-LABEL: func.func @softmax
// CHECK: "graph.reduce_sum"(%{{.+}}) {dims = array<i64: 1>}
// GPU-LABEL: func.func @softmax
// GPU: "graph.reduce_sum"(%{{.+}}) {dims = array<i64: 1>}
func.func @softmax(%x: tensor<9x4xf32>) -> tensor<1x4xf32> {
  %0 = "graph.exp"(%x) : (tensor<9x4xf32>) -> tensor<9x4xf32>
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 1>} : (tensor<9x4xf32>) -> tensor<9x1xf32>
  %2 = "graph.div"(%0, %1) : (tensor<9x4xf32>, tensor<9x1xf32>) -> tensor<9x4xf32>
  %3 = "graph.reduce_sum"(%2) {dims = array<i64: 0>} : (tensor<9x4xf32>) -> tensor<1x4xf32>
  return %3 : tensor<1x4xf32>
}

// -----

// What is read from memory, has five elements, or symbols for sizes, stays.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-3: "graph.reduce_max"
// CHECK: return
func.func @others(%x: tensor<9x3xf32>, %y: tensor<9x5xf32>) -> (tensor<1x1xf32>, tensor<9x1xf32>) {
  %0 = "graph.reduce_max"(%x) {dims = array<i64: 1>} : (tensor<9x3xf32>) -> tensor<9x1xf32>
  %1 = "graph.reduce_max"(%0) {dims = array<i64: 0>} : (tensor<9x1xf32>) -> tensor<1x1xf32>
  %2 = "graph.exp"(%y) : (tensor<9x5xf32>) -> tensor<9x5xf32>
  %3 = "graph.reduce_max"(%2) {dims = array<i64: 1>} : (tensor<9x5xf32>) -> tensor<9x1xf32>
  return %1, %3 : tensor<1x1xf32>, tensor<9x1xf32>
}
