// RUN: %girih-opt %s -o %t.mlir
// RUN: %girih-opt %t.mlir | diff %t.mlir -
// RUN: filecheck %s --input-file %t.mlir

// Fusions: inputs, block arguments, yielded values and results agree.

// CHECK-LABEL: @several_results
// CHECK: "graph.fusion"(%{{.*}}, %{{.*}}) ({
// CHECK: ^bb0(%[[X:.*]]: tensor<?x16xf32, ["s0"]>, %[[W:.*]]: tensor<16xf32>):
// CHECK: %[[SUM:.*]] = "graph.add"(%[[X]], %[[W]])
// CHECK: %[[TOTAL:.*]] = "graph.reduce_sum"(%[[SUM]])
// CHECK: "graph.yield"(%[[SUM]], %[[TOTAL]])
// CHECK: {domain = ["s0", 16], reduced = array<i64: 1>}
func.func @several_results(%x: tensor<?x16xf32, ["s0"]>, %w: tensor<16xf32>) {
  %0:2 = "graph.fusion"(%x, %w) ({
  ^bb0(%a: tensor<?x16xf32, ["s0"]>, %b: tensor<16xf32>):
    %1 = "graph.add"(%a, %b) : (tensor<?x16xf32, ["s0"]>, tensor<16xf32>) -> tensor<?x16xf32, ["s0"]>
    %2 = "graph.reduce_sum"(%1) {dims = array<i64: 1>} : (tensor<?x16xf32, ["s0"]>) -> tensor<?x1xf32, ["s0"]>
    "graph.yield"(%1, %2) : (tensor<?x16xf32, ["s0"]>, tensor<?x1xf32, ["s0"]>) -> ()
  }) {domain = ["s0", 16], reduced = array<i64: 1>} : (tensor<?x16xf32, ["s0"]>, tensor<16xf32>) -> (tensor<?x16xf32, ["s0"]>, tensor<?x1xf32, ["s0"]>)
  return
}

// CHECK-LABEL: @no_inputs
// CHECK: "graph.fusion"() ({
// CHECK: {domain = [], reduced = array<i64>}
func.func @no_inputs() {
  %0 = "graph.fusion"() ({
    %1 = "graph.constant"() {value = 1.0 : f64} : () -> tensor<f32>
    "graph.yield"(%1) : (tensor<f32>) -> ()
  }) {domain = [], reduced = array<i64>} : () -> tensor<f32>
  return
}
