// RUN: %girih-opt --write-out-scatters=target=gpu --split-input-file %s | filecheck %s
// RUN: %girih-opt --write-out-scatters --split-input-file %s | filecheck %s --check-prefix=SAME
// RUN: %girih-opt --write-out-scatters="target=gpu deterministic=true" --split-input-file %s | filecheck %s --check-prefix=SAME

// SAME-NOT: graph.accumulate"(

// CHECK-LABEL: func.func @scatter_add
// CHECK-DAG: [[SOURCE:%.+]] = "graph.slice"(%arg2) {{.*}} -> tensor<3x2xf32>
// CHECK-DAG: [[INDEX:%.+]] = "graph.broadcast_to"(%arg1)
// CHECK-DAG: [[COLUMNS:%.+]] = "graph.iota"() {start = 0 : i64, step = 1 : i64} : () -> tensor<2xi64>
// CHECK-DAG: [[ROWS:%.+]] = "graph.iota"() {start = 0 : i64, step = 1 : i64} : () -> tensor<4xi64>
// CHECK: [[ROW:%.+]] = "graph.take"([[ROWS]], [[INDEX]]) {dim = 0 : i64}
// CHECK: [[START:%.+]] = "graph.mul"([[ROW]], %{{.*}})
// CHECK: [[PLACE:%.+]] = "graph.add"([[START]], %{{.*}})
// CHECK: [[Y:%.+]] = "graph.accumulate"(%arg0, [[PLACE]], [[SOURCE]])
// CHECK-NEXT: return [[Y]]
func.func @scatter_add(%x: tensor<4x5xf32>, %i: tensor<3x2xi64>, %s: tensor<3x3xf32>) -> tensor<4x5xf32> {
  %0 = "graph.scatter_add"(%x, %i, %s) {dim = 0 : i64} : (tensor<4x5xf32>, tensor<3x2xi64>, tensor<3x3xf32>) -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}

// -----

// Negative indices count from the end.
// CHECK-LABEL: func.func @index_put
// CHECK: "graph.take"(%{{.*}}, %{{.*}}) {dim = 0 : i64, from_end}
// CHECK: "graph.accumulate"
func.func @index_put(%x: tensor<4x5xf32>, %i: tensor<3xi64>, %v: tensor<5xf32>) -> tensor<4x5xf32> {
  %0 = "graph.index_put"(%x, %v, %i) {accumulate = true, dims = array<i64: 0>} : (tensor<4x5xf32>, tensor<5xf32>, tensor<3xi64>) -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}

// -----

// What is written, and not added, has an order.
// CHECK-LABEL: func.func @written
// CHECK-NOT: accumulate"(
// CHECK: "graph.index_put"
func.func @written(%x: tensor<4x5xf32>, %i: tensor<3xi64>, %v: tensor<5xf32>) -> tensor<4x5xf32> {
  %0 = "graph.index_put"(%x, %v, %i) {accumulate = false, dims = array<i64: 0>} : (tensor<4x5xf32>, tensor<5xf32>, tensor<3xi64>) -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}

// -----

// No processor adds to two of these at once.
// CHECK-LABEL: func.func @narrow
// CHECK-NOT: graph.accumulate
func.func @narrow(%x: tensor<4xbf16>, %i: tensor<3xi64>, %s: tensor<3xbf16>) -> tensor<4xbf16> {
  %0 = "graph.scatter_add"(%x, %i, %s) {dim = 0 : i64} : (tensor<4xbf16>, tensor<3xi64>, tensor<3xbf16>) -> tensor<4xbf16>
  return %0 : tensor<4xbf16>
}

// -----

// An argument that gets the sum is written in place, without a copy.
// CHECK-LABEL: func.func @in_place
// CHECK-NOT: graph.accumulate
func.func @in_place(%x: tensor<4xf32>, %i: tensor<3xi64>, %s: tensor<3xf32>) -> (tensor<4xf32> {graph.writes = 0 : i64}) {
  %0 = "graph.scatter_add"(%x, %i, %s) {dim = 0 : i64} : (tensor<4xf32>, tensor<3xi64>, tensor<3xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Zeros, and no two elements to one place: what is written might as well be added.
// CHECK-LABEL: func.func @unique
// CHECK-NOT: graph.scatter"
// CHECK: "graph.accumulate"
func.func @unique(%i: tensor<4x2xi64>, %s: tensor<4x2xf32>) -> tensor<4x9xf32> {
  %0 = "graph.full"() {value = 0.000000e+00 : f64} : () -> tensor<4x9xf32>
  %1 = "graph.scatter"(%0, %i, %s) {dim = 1 : i64, unique} : (tensor<4x9xf32>, tensor<4x2xi64>, tensor<4x2xf32>) -> tensor<4x9xf32>
  return %1 : tensor<4x9xf32>
}

// -----

// CHECK-LABEL: func.func @several
// CHECK: graph.scatter"
func.func @several(%i: tensor<4x2xi64>, %s: tensor<4x2xf32>) -> tensor<4x9xf32> {
  %0 = "graph.full"() {value = 0.000000e+00 : f64} : () -> tensor<4x9xf32>
  %1 = "graph.scatter"(%0, %i, %s) {dim = 1 : i64} : (tensor<4x9xf32>, tensor<4x2xi64>, tensor<4x2xf32>) -> tensor<4x9xf32>
  return %1 : tensor<4x9xf32>
}
