// RUN: %girih-opt %s -o %t.mlir
// RUN: %girih-opt %t.mlir | diff %t.mlir -
// RUN: filecheck %s --input-file %t.mlir

// Random tensors.

// CHECK-LABEL: @samples
// CHECK: "graph.rand"(){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.randn"(){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.randint"(){{.*}}-> tensor<4xi64>
func.func @samples() {
  %0 = "graph.rand"() : () -> tensor<?x16xf32, ["s0"]>
  %1 = "graph.randn"() : () -> tensor<?x16xf32, ["s0"]>
  %2 = "graph.randint"() {high = 10 : i64, low = 0 : i64} : () -> tensor<4xi64>
  return
}

// CHECK-LABEL: @words
// CHECK: "graph.seed"(%{{.*}}) {index = 2 : i64} : (tensor<3xi64>) -> tensor<i64>
// CHECK: "graph.philox"(%{{.*}}, %{{.*}}){{.*}}-> tensor<?x16xui32, ["s0"]>
func.func @words(%seeds: tensor<3xi64>, %i: tensor<?x16xi32, ["s0"]>) {
  %0 = "graph.seed"(%seeds) {index = 2 : i64} : (tensor<3xi64>) -> tensor<i64>
  %1 = "graph.philox"(%0, %i) : (tensor<i64>, tensor<?x16xi32, ["s0"]>) -> tensor<?x16xui32, ["s0"]>
  return
}

// CHECK-LABEL: @masks
// CHECK: "graph.bernoulli"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.dropout"(%{{.*}}){{.*}}-> (tensor<?x16xf32, ["s0"]>, tensor<?x16xi1, ["s0"]>)
func.func @masks(%x: tensor<?x16xf32, ["s0"]>) {
  %0 = "graph.bernoulli"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %1:2 = "graph.dropout"(%x) {p = 0.1 : f64} : (tensor<?x16xf32, ["s0"]>) -> (tensor<?x16xf32, ["s0"]>, tensor<?x16xi1, ["s0"]>)
  return
}
