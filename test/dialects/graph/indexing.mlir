// RUN: %girih-opt %s -o %t.mlir
// RUN: %girih-opt %t.mlir | diff %t.mlir -
// RUN: filecheck %s --input-file %t.mlir

// Reading and writing at indices that are data.

// CHECK-LABEL: @take
// CHECK: "graph.take"(%{{.*}}, %{{.*}}){{.*}}-> tensor<?x3x16xf32, ["s1"]>
// CHECK: "graph.take"(%{{.*}}, %{{.*}}){{.*}}-> tensor<?x?x3xf32, ["s0", "s1"]>
func.func @take(%x: tensor<?x16xf32, ["s0"]>, %i: tensor<?x3xi64, ["s1"]>) {
  %0 = "graph.take"(%x, %i) {dim = 0 : i64} : (tensor<?x16xf32, ["s0"]>, tensor<?x3xi64, ["s1"]>) -> tensor<?x3x16xf32, ["s1"]>
  %1 = "graph.take"(%x, %i) {dim = 1 : i64} : (tensor<?x16xf32, ["s0"]>, tensor<?x3xi64, ["s1"]>) -> tensor<?x?x3xf32, ["s0", "s1"]>
  return
}

// CHECK-LABEL: @gather
// CHECK: "graph.gather"(%{{.*}}, %{{.*}}){{.*}}-> tensor<4x2xf32>
func.func @gather(%x: tensor<?x16xf32, ["s0"]>, %i: tensor<4x2xi64>) {
  %0 = "graph.gather"(%x, %i) {dim = 1 : i64} : (tensor<?x16xf32, ["s0"]>, tensor<4x2xi64>) -> tensor<4x2xf32>
  return
}

// CHECK-LABEL: @embedding
// CHECK: "graph.embedding"(%{{.*}}, %{{.*}}){{.*}}-> tensor<?x3x8xf32, ["s1"]>
func.func @embedding(%w: tensor<100x8xf32>, %i: tensor<?x3xi64, ["s1"]>) {
  %0 = "graph.embedding"(%w, %i) {padding_idx = -1 : i64} : (tensor<100x8xf32>, tensor<?x3xi64, ["s1"]>) -> tensor<?x3x8xf32, ["s1"]>
  return
}

// CHECK-LABEL: @index_adjacent
// CHECK: "graph.index"(%{{.*}}, %{{.*}}, %{{.*}}){{.*}}-> tensor<4x7x2xf32>
func.func @index_adjacent(%x: tensor<4x5x6xf32>, %i: tensor<7x1xi64>, %j: tensor<2xi64>) {
  %0 = "graph.index"(%x, %i, %j) {dims = array<i64: 1, 2>} : (tensor<4x5x6xf32>, tensor<7x1xi64>, tensor<2xi64>) -> tensor<4x7x2xf32>
  return
}

// CHECK-LABEL: @index_apart
// CHECK: "graph.index"(%{{.*}}, %{{.*}}, %{{.*}}){{.*}}-> tensor<7x2x5xf32>
func.func @index_apart(%x: tensor<4x5x6xf32>, %i: tensor<7x1xi64>, %j: tensor<2xi64>) {
  %0 = "graph.index"(%x, %i, %j) {dims = array<i64: 0, 2>} : (tensor<4x5x6xf32>, tensor<7x1xi64>, tensor<2xi64>) -> tensor<7x2x5xf32>
  return
}

// CHECK-LABEL: @triangles
// CHECK: "graph.tril"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.triu"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
func.func @triangles(%x: tensor<?x16xf32, ["s0"]>) {
  %0 = "graph.tril"(%x) {diagonal = 0 : i64} : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %1 = "graph.triu"(%x) {diagonal = -1 : i64} : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  return
}

// CHECK-LABEL: @scatters
// CHECK: "graph.scatter"(%{{.*}}, %{{.*}}, %{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.scatter_add"(%{{.*}}, %{{.*}}, %{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
func.func @scatters(%x: tensor<?x16xf32, ["s0"]>, %i: tensor<4x2xi64>, %s: tensor<4x2xf32>) {
  %0 = "graph.scatter"(%x, %i, %s) {dim = 0 : i64} : (tensor<?x16xf32, ["s0"]>, tensor<4x2xi64>, tensor<4x2xf32>) -> tensor<?x16xf32, ["s0"]>
  %1 = "graph.scatter_add"(%x, %i, %s) {dim = 0 : i64} : (tensor<?x16xf32, ["s0"]>, tensor<4x2xi64>, tensor<4x2xf32>) -> tensor<?x16xf32, ["s0"]>
  return
}

// CHECK-LABEL: @index_put
// CHECK: "graph.index_put"(%{{.*}}, %{{.*}}, %{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
func.func @index_put(%x: tensor<?x16xf32, ["s0"]>, %v: tensor<f32>, %i: tensor<3xi64>) {
  %0 = "graph.index_put"(%x, %v, %i) {accumulate = true, dims = array<i64: 0>} : (tensor<?x16xf32, ["s0"]>, tensor<f32>, tensor<3xi64>) -> tensor<?x16xf32, ["s0"]>
  return
}

// CHECK-LABEL: @accumulate
// CHECK: "graph.accumulate"(%{{.*}}, %{{.*}}, %{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
func.func @accumulate(%x: tensor<?x16xf32, ["s0"]>, %p: tensor<4x2xi64>, %s: tensor<4x2xf32>) {
  %0 = "graph.accumulate"(%x, %p, %s) : (tensor<?x16xf32, ["s0"]>, tensor<4x2xi64>, tensor<4x2xf32>) -> tensor<?x16xf32, ["s0"]>
  return
}
