// RUN: %girih-opt --write-out-rolls=target=cpu --split-input-file %s | filecheck %s
// RUN: %girih-opt --write-out-rolls --split-input-file %s | filecheck %s --check-prefix=GPU

// GPU-NOT: take

// CHECK-LABEL: func.func @rolled
// CHECK-DAG: [[INDEX:%.+]] = "graph.iota"() {start = 3 : i64, step = 1 : i64} : () -> tensor<14xi64>
// CHECK-DAG: [[BEYOND:%.+]] = "graph.iota"() {start = -10 : i64, step = 1 : i64} : () -> tensor<14xi64>
// CHECK: [[ABOVE:%.+]] = "graph.maximum"([[BEYOND]], %{{.*}})
// CHECK: [[WRAPS:%.+]] = "graph.minimum"([[ABOVE]], %{{.*}})
// CHECK: [[BACK:%.+]] = "graph.mul"([[WRAPS]], %{{.*}})
// CHECK: [[PLACE:%.+]] = "graph.sub"([[INDEX]], [[BACK]])
// CHECK: [[Y:%.+]] = "graph.take"(%arg0, [[PLACE]]) {dim = 0 : i64}
// CHECK-NEXT: return [[Y]]
func.func @rolled(%x: tensor<14x96xf32>) -> tensor<14x96xf32> {
  %0 = "graph.slice"(%x) {starts = array<i64: 3, 0>, steps = array<i64: 1, 1>} : (tensor<14x96xf32>) -> tensor<11x96xf32>
  %1 = "graph.slice"(%x) {starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : (tensor<14x96xf32>) -> tensor<3x96xf32>
  %2 = "graph.concat"(%0, %1) {dim = 0 : i64} : (tensor<11x96xf32>, tensor<3x96xf32>) -> tensor<14x96xf32>
  return %2 : tensor<14x96xf32>
}

// -----

// CHECK-LABEL: func.func @gradient
// CHECK-NOT: graph.pad
// CHECK: [[Y:%.+]] = "graph.take"(%arg0, %{{.*}}) {dim = 0 : i64}
// CHECK-NEXT: return [[Y]]
func.func @gradient(%x: tensor<14x96xf32>) -> tensor<14x96xf32> {
  %0 = "graph.slice"(%x) {starts = array<i64: 11, 0>, steps = array<i64: 1, 1>} : (tensor<14x96xf32>) -> tensor<3x96xf32>
  %1 = "graph.slice"(%x) {starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : (tensor<14x96xf32>) -> tensor<11x96xf32>
  %2 = "graph.pad"(%0) {high = array<i64: 11, 0>, low = array<i64: 0, 0>, value = 0 : i64} : (tensor<3x96xf32>) -> tensor<14x96xf32>
  %3 = "graph.pad"(%1) {high = array<i64: 0, 0>, low = array<i64: 3, 0>, value = 0 : i64} : (tensor<11x96xf32>) -> tensor<14x96xf32>
  %4 = "graph.add"(%3, %2) : (tensor<14x96xf32>, tensor<14x96xf32>) -> tensor<14x96xf32>
  return %4 : tensor<14x96xf32>
}

// -----

// Parts that leave something out are no roll.
// CHECK-LABEL: func.func @apart
// CHECK: graph.concat
func.func @apart(%x: tensor<14x96xf32>) -> tensor<14x96xf32> {
  %0 = "graph.slice"(%x) {starts = array<i64: 4, 0>, steps = array<i64: 1, 1>} : (tensor<14x96xf32>) -> tensor<10x96xf32>
  %1 = "graph.slice"(%x) {starts = array<i64: 1, 0>, steps = array<i64: 1, 1>} : (tensor<14x96xf32>) -> tensor<4x96xf32>
  %2 = "graph.concat"(%0, %1) {dim = 0 : i64} : (tensor<10x96xf32>, tensor<4x96xf32>) -> tensor<14x96xf32>
  return %2 : tensor<14x96xf32>
}
