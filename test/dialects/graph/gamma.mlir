// RUN: %girih-opt %s -o %t.mlir
// RUN: %girih-opt %t.mlir | diff %t.mlir -
// RUN: filecheck %s --input-file %t.mlir

// Every gamma function, with a symbolic size.

// CHECK-LABEL: @gamma
// CHECK: "graph.lgamma"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.digamma"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.polygamma"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
func.func @gamma(%x: tensor<?x16xf32, ["s0"]>) {
  %0 = "graph.lgamma"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %1 = "graph.digamma"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %2 = "graph.polygamma"(%x) {n = 2 : i64} : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  return
}
