// RUN: %girih-opt --autograd %s | filecheck %s

// The call, then which tensors to derive by, then the cotangents.
// CHECK-LABEL: func.func @by_aten
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<3x5xf32> {graph.cotangent = 0 : i64}
// CHECK: "graph.extern"(%arg0, %arg1, [[G]]) {
// CHECK-SAME: args = [
// CHECK-SAME: {str = "aten._cdist_forward.default"},
// CHECK-SAME: [{operand = 0 : i64}, {operand = 1 : i64}, 2.000000e+00, unit],
// CHECK-SAME: [], [],
// CHECK-SAME: [1], [{operand = 2 : i64}]],
// CHECK-SAME: op = "girih.vjp.default"
// CHECK-SAME: -> tensor<5x4xf32>
func.func @by_aten(%x: tensor<3x4xf32>, %y: tensor<5x4xf32> {graph.requires_grad})
    -> tensor<3x5xf32> {
  %0 = "graph.extern"(%x, %y) {op = "aten._cdist_forward.default", kwargs = {},
      args = [{operand = 0 : i64}, {operand = 1 : i64}, 2.0, unit]}
      : (tensor<3x4xf32>, tensor<5x4xf32>) -> tensor<3x5xf32>
  return %0 : tensor<3x5xf32>
}

// CHECK-LABEL: func.func @by_rule
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<6x4xf32> {graph.cotangent = 0 : i64}
// CHECK: [[Y:%.+]] = "graph.extern"
// CHECK: [[ROWS:%.+]] = "graph.take"([[G]], %arg1) {dim = 0 : i64}
// CHECK: return [[Y]], [[G]], [[ROWS]]
func.func @by_rule(%x: tensor<6x4xf32> {graph.requires_grad}, %i: tensor<2xi64>,
    %s: tensor<2x4xf32> {graph.requires_grad}) -> tensor<6x4xf32> {
  %0 = "graph.extern"(%x, %i, %s) {op = "aten.index_add.default", kwargs = {},
      args = [{operand = 0 : i64}, 0, {operand = 1 : i64}, {operand = 2 : i64}]}
      : (tensor<6x4xf32>, tensor<2xi64>, tensor<2x4xf32>) -> tensor<6x4xf32>
  return %0 : tensor<6x4xf32>
}

// Layouts are part of the call.
// CHECK-LABEL: func.func @laid_out
// CHECK: "graph.extern"(%arg0, %arg1) {
// CHECK-SAME: op = "girih.vjp.default", operand_strides = {{\[}}[1, 4], [4, 1]]
func.func @laid_out(%x: tensor<4x4xf32> {graph.requires_grad}) -> tensor<4x4xf32> {
  %0 = "graph.extern"(%x) {op = "aten.renorm.default", kwargs = {},
      args = [{operand = 0 : i64}, 2.0, 0, 1.0], operand_strides = [[1, 4]]}
      : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
