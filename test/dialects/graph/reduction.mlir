// RUN: %girih-opt %s -o %t.mlir
// RUN: %girih-opt %t.mlir | diff %t.mlir -
// RUN: filecheck %s --input-file %t.mlir

// Reductions keep the dims that they reduce.

// CHECK-LABEL: @rows
// CHECK: "graph.reduce_sum"(%{{.*}}){{.*}}-> tensor<?x1xf32, ["s0"]>
// CHECK: "graph.reduce_prod"(%{{.*}}){{.*}}-> tensor<?x1xf32, ["s0"]>
// CHECK: "graph.reduce_max"(%{{.*}}){{.*}}-> tensor<?x1xf32, ["s0"]>
// CHECK: "graph.reduce_min"(%{{.*}}){{.*}}-> tensor<?x1xf32, ["s0"]>
// CHECK: "graph.mean"(%{{.*}}){{.*}}-> tensor<?x1xf32, ["s0"]>
func.func @rows(%x: tensor<?x16xf32, ["s0"]>) {
  %0 = "graph.reduce_sum"(%x) {dims = array<i64: 1>} : (tensor<?x16xf32, ["s0"]>) -> tensor<?x1xf32, ["s0"]>
  %1 = "graph.reduce_prod"(%x) {dims = array<i64: 1>} : (tensor<?x16xf32, ["s0"]>) -> tensor<?x1xf32, ["s0"]>
  %2 = "graph.reduce_max"(%x) {dims = array<i64: 1>} : (tensor<?x16xf32, ["s0"]>) -> tensor<?x1xf32, ["s0"]>
  %3 = "graph.reduce_min"(%x) {dims = array<i64: 1>} : (tensor<?x16xf32, ["s0"]>) -> tensor<?x1xf32, ["s0"]>
  %4 = "graph.mean"(%x) {dims = array<i64: 1>} : (tensor<?x16xf32, ["s0"]>) -> tensor<?x1xf32, ["s0"]>
  return
}

// CHECK-LABEL: @columns
// CHECK: "graph.reduce_sum"(%{{.*}}){{.*}}-> tensor<1x16xf32>
func.func @columns(%x: tensor<?x16xf32, ["s0"]>) {
  %0 = "graph.reduce_sum"(%x) {dims = array<i64: 0>} : (tensor<?x16xf32, ["s0"]>) -> tensor<1x16xf32>
  return
}

// CHECK-LABEL: @all_dims
// CHECK: "graph.reduce_sum"(%{{.*}}){{.*}}-> tensor<1x1xf32>
func.func @all_dims(%x: tensor<?x16xf32, ["s0"]>) {
  %0 = "graph.reduce_sum"(%x) {dims = array<i64: 0, 1>} : (tensor<?x16xf32, ["s0"]>) -> tensor<1x1xf32>
  return
}

// CHECK-LABEL: @no_dims
// CHECK: "graph.reduce_sum"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
func.func @no_dims(%x: tensor<?x16xf32, ["s0"]>) {
  %0 = "graph.reduce_sum"(%x) {dims = array<i64>} : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  return
}

// CHECK-LABEL: @bools
// CHECK: "graph.reduce_any"(%{{.*}}){{.*}}-> tensor<?x1xi1, ["s0"]>
// CHECK: "graph.reduce_all"(%{{.*}}){{.*}}-> tensor<?x1xi1, ["s0"]>
func.func @bools(%x: tensor<?x16xi1, ["s0"]>) {
  %0 = "graph.reduce_any"(%x) {dims = array<i64: 1>} : (tensor<?x16xi1, ["s0"]>) -> tensor<?x1xi1, ["s0"]>
  %1 = "graph.reduce_all"(%x) {dims = array<i64: 1>} : (tensor<?x16xi1, ["s0"]>) -> tensor<?x1xi1, ["s0"]>
  return
}

// CHECK-LABEL: @arguments
// CHECK: "graph.argmax"(%{{.*}}){{.*}}-> tensor<?x1xi64, ["s0"]>
// CHECK: "graph.argmin"(%{{.*}}){{.*}}-> tensor<?x1xi64, ["s0"]>
func.func @arguments(%x: tensor<?x16xf32, ["s0"]>) {
  %0 = "graph.argmax"(%x) {dim = 1 : i64} : (tensor<?x16xf32, ["s0"]>) -> tensor<?x1xi64, ["s0"]>
  %1 = "graph.argmin"(%x) {dim = 1 : i64} : (tensor<?x16xf32, ["s0"]>) -> tensor<?x1xi64, ["s0"]>
  return
}

// CHECK-LABEL: @variance
// CHECK: "graph.var"(%{{.*}}){{.*}}-> tensor<?x1xf32, ["s0"]>
func.func @variance(%x: tensor<?x16xf32, ["s0"]>) {
  %0 = "graph.var"(%x) {correction = 1.0 : f64, dims = array<i64: 1>} : (tensor<?x16xf32, ["s0"]>) -> tensor<?x1xf32, ["s0"]>
  return
}
