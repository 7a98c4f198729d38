// RUN: %girih-opt --pass-pipeline=autograd %s | filecheck %s

// The gradient of relu depends on x through a comparison only: it is tied to the result of
// relu, and what
// goes to it goes on.
// CHECK-LABEL: func.func @tied
// CHECK-SAME: ([[X:%.+]]: tensor<4xf32>, [[G:%.+]]: tensor<4xf32>)
// CHECK: [[Y:%.+]] = "graph.relu"([[X]])
// CHECK: [[MASKED:%.+]] = "graph.where"
// CHECK: [[TIED:%.+]] = "graph.custom_vjp"([[MASKED]], [[MASKED]], [[Y]])
// CHECK: ^bb0([[C:%.+]]: tensor<4xf32>):
// CHECK: [[ZERO:%.+]] = "graph.constant"() {value = 0.000000e+00 : f64} : () -> tensor<f32>
// CHECK: "graph.yield"([[C]], [[ZERO]])
// CHECK: return [[TIED]]
func.func @tied(%x: tensor<4xf32>, %g: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "graph.relu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "graph.gradient"(%0, %x, %g) {operandSegmentSizes = array<i32: 1, 1, 1>, create_graph}
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// A gradient that does not depend on x at all is left alone, as in eager.
// CHECK-LABEL: func.func @constant
// CHECK-NOT: graph.custom_vjp
func.func @constant(%x: tensor<4xf32>, %g: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "graph.neg"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "graph.gradient"(%0, %x, %g) {operandSegmentSizes = array<i32: 1, 1, 1>, create_graph}
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// Without create_graph nothing goes through it.
// CHECK-LABEL: func.func @detached
// CHECK-NOT: graph.custom_vjp
// CHECK: "graph.detach"
func.func @detached(%x: tensor<4xf32>, %g: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "graph.relu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "graph.gradient"(%0, %x, %g) {operandSegmentSizes = array<i32: 1, 1, 1>}
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
