// RUN: %girih-opt %s -o %t.mlir
// RUN: %girih-opt %t.mlir | diff %t.mlir -
// RUN: filecheck %s --input-file %t.mlir

// Activations.

// CHECK-LABEL: @without_parameters
// CHECK: "graph.silu"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.mish"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.log_sigmoid"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.hardsigmoid"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.hardswish"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
func.func @without_parameters(%x: tensor<?x16xf32, ["s0"]>) {
  %0 = "graph.silu"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %1 = "graph.mish"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %2 = "graph.log_sigmoid"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %3 = "graph.hardsigmoid"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %4 = "graph.hardswish"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  return
}

// CHECK-LABEL: @gelu
// CHECK: "graph.gelu"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.gelu"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
func.func @gelu(%x: tensor<?x16xf32, ["s0"]>) {
  %0 = "graph.gelu"(%x) {approximate = "none"} : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %1 = "graph.gelu"(%x) {approximate = "tanh"} : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  return
}

// CHECK-LABEL: @with_parameters
// CHECK: "graph.elu"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.leaky_relu"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.softplus"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.hardtanh"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
func.func @with_parameters(%x: tensor<?x16xf32, ["s0"]>) {
  %0 = "graph.elu"(%x) {alpha = 1.0 : f64, input_scale = 1.0 : f64, scale = 1.0 : f64} : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %1 = "graph.leaky_relu"(%x) {negative_slope = 1.0e-02 : f64} : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %2 = "graph.softplus"(%x) {beta = 1.0 : f64, threshold = 20.0 : f64} : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %3 = "graph.hardtanh"(%x) {max_value = 1.0 : f64, min_value = -1.0 : f64} : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  return
}

// CHECK-LABEL: @clamp
// CHECK: "graph.clamp"(%{{.*}}, %{{.*}}, %{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.clamp"(%{{.*}}, %{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
func.func @clamp(%x: tensor<?x16xf32, ["s0"]>, %s: tensor<f32>) {
  %0 = "graph.clamp"(%x, %s, %s) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<?x16xf32, ["s0"]>, tensor<f32>, tensor<f32>) -> tensor<?x16xf32, ["s0"]>
  %1 = "graph.clamp"(%x, %s) {operandSegmentSizes = array<i32: 1, 0, 1>} : (tensor<?x16xf32, ["s0"]>, tensor<f32>) -> tensor<?x16xf32, ["s0"]>
  return
}
