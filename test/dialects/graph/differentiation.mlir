// RUN: %girih-opt %s -o %t.mlir
// RUN: %girih-opt %t.mlir | diff %t.mlir -
// RUN: filecheck %s --input-file %t.mlir

// What programs say about derivatives.

// CHECK-LABEL: @identities
// CHECK: %[[A:.*]] = "graph.detach"(%[[X:.*]]) : (tensor<?x4xf32, ["s0"]>) -> tensor<?x4xf32, ["s0"]>
// CHECK: %[[B:.*]] = "graph.alias"(%[[A]])
// CHECK: "graph.substitute"(%[[A]], %[[B]])
func.func @identities(%x: tensor<?x4xf32, ["s0"]>) {
  %0 = "graph.detach"(%x) : (tensor<?x4xf32, ["s0"]>) -> tensor<?x4xf32, ["s0"]>
  %1 = "graph.alias"(%0) : (tensor<?x4xf32, ["s0"]>) -> tensor<?x4xf32, ["s0"]>
  %2 = "graph.substitute"(%0, %1) : (tensor<?x4xf32, ["s0"]>, tensor<?x4xf32, ["s0"]>) -> tensor<?x4xf32, ["s0"]>
  return
}

// The region uses values from outside; a rank-0 zero stands for no gradient.
// CHECK-LABEL: @custom_vjp
// CHECK: "graph.custom_vjp"(%[[Y:.*]], %[[X:.*]], %[[W:.*]]) ({
// CHECK: ^bb0(%[[G:.*]]: tensor<4xf32>):
// CHECK: %[[P:.*]] = "graph.mul"(%[[G]], %[[W]])
// CHECK: "graph.yield"(%[[P]], %{{.*}}) : (tensor<4xf32>, tensor<f32>) -> ()
// CHECK: {operandSegmentSizes = array<i32: 1, 2>}
func.func @custom_vjp(%y: tensor<4xf32>, %x: tensor<4xf32>, %w: tensor<4xf32>) {
  %0 = "graph.custom_vjp"(%y, %x, %w) ({
  ^bb0(%g: tensor<4xf32>):
    %1 = "graph.mul"(%g, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %2 = "graph.constant"() {value = 0.0 : f64} : () -> tensor<f32>
    "graph.yield"(%1, %2) : (tensor<4xf32>, tensor<f32>) -> ()
  }) {operandSegmentSizes = array<i32: 1, 2>} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// CHECK-LABEL: @gradient
// CHECK: "graph.gradient"(%[[Y:.*]], %[[X:.*]], %[[W:.*]], %[[G:.*]]) {create_graph, operandSegmentSizes = array<i32: 1, 2, 1>}
func.func @gradient(%y: tensor<f32>, %x: tensor<4xf32>, %w: tensor<2xf32>, %g: tensor<f32>) {
  %0:2 = "graph.gradient"(%y, %x, %w, %g) {create_graph, operandSegmentSizes = array<i32: 1, 2, 1>}
      : (tensor<f32>, tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> (tensor<4xf32>, tensor<2xf32>)
  return
}
