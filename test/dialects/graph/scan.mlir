// RUN: %girih-opt %s -o %t.mlir
// RUN: %girih-opt %t.mlir | diff %t.mlir -
// RUN: filecheck %s --input-file %t.mlir

// Scans, sorting, selecting.

// CHECK-LABEL: @cumsum
// CHECK: "graph.cumsum"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
func.func @cumsum(%x: tensor<?x16xf32, ["s0"]>) {
  %0 = "graph.cumsum"(%x) {dim = 0 : i64} : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  return
}

// CHECK-LABEL: @cumprod
// CHECK: "graph.cumprod"(%{{.*}}){{.*}}-> tensor<4x16xi64>
func.func @cumprod(%x: tensor<4x16xi64>) {
  %0 = "graph.cumprod"(%x) {dim = 1 : i64} : (tensor<4x16xi64>) -> tensor<4x16xi64>
  return
}

// CHECK-LABEL: @logcumsumexp
// CHECK: "graph.logcumsumexp"(%{{.*}}){{.*}}-> tensor<4x16xbf16>
func.func @logcumsumexp(%x: tensor<4x16xbf16>) {
  %0 = "graph.logcumsumexp"(%x) {dim = 1 : i64} : (tensor<4x16xbf16>) -> tensor<4x16xbf16>
  return
}

// CHECK-LABEL: @running_extrema
// CHECK: "graph.scan_max"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.scan_min"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.cummax"(%{{.*}}){{.*}}-> (tensor<?x16xf32, ["s0"]>, tensor<?x16xi64, ["s0"]>)
// CHECK: "graph.cummin"(%{{.*}}){{.*}}-> (tensor<?x16xf32, ["s0"]>, tensor<?x16xi64, ["s0"]>)
func.func @running_extrema(%x: tensor<?x16xf32, ["s0"]>) {
  %0 = "graph.scan_max"(%x) {dim = 0 : i64} : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %1 = "graph.scan_min"(%x) {dim = 1 : i64} : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %2:2 = "graph.cummax"(%x) {dim = 0 : i64} : (tensor<?x16xf32, ["s0"]>) -> (tensor<?x16xf32, ["s0"]>, tensor<?x16xi64, ["s0"]>)
  %3:2 = "graph.cummin"(%x) {dim = 1 : i64} : (tensor<?x16xf32, ["s0"]>) -> (tensor<?x16xf32, ["s0"]>, tensor<?x16xi64, ["s0"]>)
  return
}

// CHECK-LABEL: @topk
// CHECK: "graph.topk"(%{{.*}}){{.*}}-> (tensor<?x3xf32, ["s0"]>, tensor<?x3xi64, ["s0"]>)
func.func @topk(%x: tensor<?x16xf32, ["s0"]>) {
  %0:2 = "graph.topk"(%x) {dim = 1 : i64, k = 3 : i64, largest = true, sorted = true} : (tensor<?x16xf32, ["s0"]>) -> (tensor<?x3xf32, ["s0"]>, tensor<?x3xi64, ["s0"]>)
  return
}

// CHECK-LABEL: @sort
// CHECK: "graph.sort"(%{{.*}}){{.*}}-> (tensor<?x16xf32, ["s0"]>, tensor<?x16xi64, ["s0"]>)
func.func @sort(%x: tensor<?x16xf32, ["s0"]>) {
  %0:2 = "graph.sort"(%x) {descending = false, dim = 1 : i64, stable = true} : (tensor<?x16xf32, ["s0"]>) -> (tensor<?x16xf32, ["s0"]>, tensor<?x16xi64, ["s0"]>)
  return
}
