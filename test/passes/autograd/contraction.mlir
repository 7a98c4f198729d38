// RUN: %girih-opt --autograd --split-input-file %s | filecheck %s

// The gradient of the second operand comes first: it needs the saved first operand.
// CHECK-LABEL: func.func @mm
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<2x4xf32> {graph.cotangent = 0 : i64}
// CHECK: [[AT:%.+]] = "graph.permute"(%arg0) {permutation = array<i64: 1, 0>}
// CHECK: [[DB:%.+]] = "graph.mm"([[AT]], [[G]])
// CHECK: [[BT:%.+]] = "graph.permute"(%arg1) {permutation = array<i64: 1, 0>}
// CHECK: [[DA:%.+]] = "graph.mm"([[G]], [[BT]])
// CHECK: return {{%.+}}, [[DA]], [[DB]]
func.func @mm(%a: tensor<2x3xf32> {graph.requires_grad},
    %b: tensor<3x4xf32> {graph.requires_grad}) -> tensor<2x4xf32> {
  %0 = "graph.mm"(%a, %b) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----

// The gradient of a transposed weight comes out transposed: the weight's own has no
// copy.
// CHECK-LABEL: func.func @transposed_weight
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<2x4xf32> {graph.cotangent = 0 : i64}
// CHECK: [[GT:%.+]] = "graph.permute"([[G]]) {permutation = array<i64: 1, 0>}
// CHECK: [[D:%.+]] = "graph.mm"([[GT]], {{%.+}}) {{.*}} -> tensor<4x3xf32>
func.func @transposed_weight(%x: tensor<2x3xf32>,
    %w: tensor<4x3xf32> {graph.requires_grad}) -> tensor<2x4xf32> {
  %t = "graph.permute"(%w) {permutation = array<i64: 1, 0>}
      : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %0 = "graph.mm"(%x, %t) : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// -----

// One product over all rows for each gradient.
// CHECK-LABEL: func.func @linear
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<2x3x4xf32> {graph.cotangent = 0 : i64}
// CHECK: [[ROWS:%.+]] = "graph.reshape"([[G]]) : {{.*}} -> tensor<6x4xf32>
// CHECK: [[COLUMNS:%.+]] = "graph.permute"([[ROWS]])
// CHECK: [[X:%.+]] = "graph.reshape"(%arg0) : {{.*}} -> tensor<6x8xf32>
// CHECK: [[DW:%.+]] = "graph.mm"([[COLUMNS]], [[X]])
// CHECK: [[M:%.+]] = "graph.mm"([[ROWS]], %arg1)
// CHECK: [[DX:%.+]] = "graph.reshape"([[M]])
// CHECK: [[SUM:%.+]] = "graph.reduce_sum"([[G]]) {dims = array<i64: 0, 1>}
// CHECK: [[DB:%.+]] = "graph.reshape"([[SUM]])
// CHECK: return {{%.+}}, [[DX]], [[DW]], [[DB]]
func.func @linear(%x: tensor<2x3x8xf32> {graph.requires_grad},
    %w: tensor<4x8xf32> {graph.requires_grad}, %b: tensor<4xf32> {graph.requires_grad})
    -> tensor<2x3x4xf32> {
  %0 = "graph.linear"(%x, %w, %b)
      : (tensor<2x3x8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

// -----

// The factors go to the gradients.
// CHECK-LABEL: func.func @addmm
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<2x4xf32> {graph.cotangent = 0 : i64}
// CHECK: [[BETA:%.+]] = "graph.mul"([[G]], {{%.+}})
// CHECK: "graph.reduce_sum"([[BETA]]) {dims = array<i64: 0>}
// CHECK: [[M:%.+]] = "graph.mm"([[G]], {{%.+}})
// CHECK: "graph.mul"([[M]], {{%.+}})
func.func @addmm(%c: tensor<4xf32> {graph.requires_grad},
    %a: tensor<2x3xf32> {graph.requires_grad}, %b: tensor<3x4xf32>)
    -> tensor<2x4xf32> {
  %0 = "graph.addmm"(%c, %a, %b) {alpha = 0.5 : f64, beta = 2.0 : f64}
      : (tensor<4xf32>, tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}
