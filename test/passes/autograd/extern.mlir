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

// These are of the values that the call has given; it is not made again.
// CHECK-LABEL: func.func @distances
// CHECK: "graph.extern"{{.*}}op = "aten._pdist_forward.default"
// CHECK-NOT: girih.vjp
// CHECK: "graph.extern"{{.*}}op = "aten._pdist_backward.default"
func.func @distances(%x: tensor<4x3xf32> {graph.requires_grad}) -> tensor<6xf32> {
  %0 = "graph.extern"(%x) {op = "aten._pdist_forward.default", args = [{operand = 0 : i64}], kwargs = {}} : (tensor<4x3xf32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

// CHECK-LABEL: func.func @euclidean
// CHECK: op = "aten._euclidean_dist.default"
// CHECK-NOT: girih.vjp
// CHECK: "graph.mm"
// CHECK-NOT: girih.vjp
// CHECK: return
func.func @euclidean(%x: tensor<4x3xf32> {graph.requires_grad}, %y: tensor<5x3xf32>) -> tensor<4x5xf32> {
  %0 = "graph.extern"(%x, %y) {op = "aten._euclidean_dist.default", args = [{operand = 0 : i64}, {operand = 1 : i64}], kwargs = {}} : (tensor<4x3xf32>, tensor<5x3xf32>) -> tensor<4x5xf32>
  return %0 : tensor<4x5xf32>
}

// CHECK-LABEL: func.func @largest
// CHECK: op = "aten.scatter_reduce.two"
// CHECK-NOT: girih.vjp
// CHECK: "graph.scatter_add"
// CHECK-NOT: girih.vjp
// CHECK: return
func.func @largest(%x: tensor<4xf32>, %i: tensor<3xi64>, %s: tensor<3xf32> {graph.requires_grad}) -> tensor<4xf32> {
  %0 = "graph.extern"(%x, %i, %s) {op = "aten.scatter_reduce.two", args = [{operand = 0 : i64}, 0, {operand = 1 : i64}, {operand = 2 : i64}, {str = "amax"}], kwargs = {}} : (tensor<4xf32>, tensor<3xi64>, tensor<3xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @bags
// CHECK: op = "aten._embedding_bag_forward_only.default"
// CHECK-NOT: girih.vjp
// CHECK: "graph.extern"{{.*}}op = "aten._embedding_bag_backward.default"
func.func @bags(%w: tensor<7x3xf32> {graph.requires_grad}, %i: tensor<5xi64>, %o: tensor<2xi64>) -> tensor<2x3xf32> {
  %0:4 = "graph.extern"(%w, %i, %o) {op = "aten._embedding_bag_forward_only.default", args = [{operand = 0 : i64}, {operand = 1 : i64}, {operand = 2 : i64}, false, 1, false, unit], kwargs = {}} : (tensor<7x3xf32>, tensor<5xi64>, tensor<2xi64>) -> (tensor<2x3xf32>, tensor<5xi64>, tensor<2xi64>, tensor<2xi64>)
  return %0#0 : tensor<2x3xf32>
}

// CHECK-LABEL: func.func @margins
// CHECK: op = "aten.multi_margin_loss.default"
// CHECK-NOT: girih.vjp
// CHECK: "graph.extern"{{.*}}op = "aten.multi_margin_loss_backward.default"
func.func @margins(%x: tensor<4x5xf32> {graph.requires_grad}, %t: tensor<4xi64>) -> tensor<f32> {
  %0 = "graph.extern"(%x, %t) {op = "aten.multi_margin_loss.default", args = [{operand = 0 : i64}, {operand = 1 : i64}, 1, 1.0], kwargs = {}} : (tensor<4x5xf32>, tensor<4xi64>) -> tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: func.func @complex
// CHECK: "graph.extern"{{.*}}op = "aten.mul.Tensor"
// CHECK-NOT: girih.vjp
// CHECK: "graph.extern"{{.*}}op = "aten.sgn.default"
// CHECK: "graph.extern"{{.*}}op = "aten._conj_physical.default"
// CHECK-NOT: girih.vjp
// CHECK: return
func.func @complex(%x: tensor<4xcomplex<f32>> {graph.requires_grad}, %y: tensor<4xcomplex<f32>>) -> tensor<4xf32> {
  %0 = "graph.extern"(%x, %y) {op = "aten.mul.Tensor", args = [{operand = 0 : i64}, {operand = 1 : i64}], kwargs = {}} : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  %1 = "graph.extern"(%0) {op = "aten.abs.default", args = [{operand = 0 : i64}], kwargs = {}} : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @steps_of_a_product
// CHECK-NOT: girih.vjp
// CHECK: return
func.func @steps_of_a_product(%x: tensor<4xf32> {graph.requires_grad}, %y: tensor<4xf32>) -> tensor<f32> {
  %0 = "graph.extern"(%x) {op = "aten.round.decimals", args = [{operand = 0 : i64}], kwargs = {decimals = 1}} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "graph.add"(%0, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = "graph.extern"(%1, %y) {op = "aten.vdot.default", args = [{operand = 0 : i64}, {operand = 1 : i64}], kwargs = {}} : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  return %2 : tensor<f32>
}
