// RUN: %girih-opt --autograd --split-input-file %s | filecheck %s

// CHECK-LABEL: func.func @silu
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<4xf32> {graph.cotangent = 0 : i64}
// CHECK: [[S:%.+]] = "graph.sigmoid"(%arg0)
// CHECK: [[R:%.+]] = "graph.sub"({{%.+}}, [[S]])
// CHECK: [[P:%.+]] = "graph.mul"(%arg0, [[R]])
// CHECK: [[Q:%.+]] = "graph.add"([[P]], {{%.+}})
// CHECK: [[SLOPE:%.+]] = "graph.mul"([[S]], [[Q]])
// CHECK: "graph.mul"([[G]], [[SLOPE]])
func.func @silu(%x: tensor<4xf32> {graph.requires_grad}) -> tensor<4xf32> {
  %0 = "graph.silu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @gelu
// CHECK: graph.erf
// CHECK: graph.exp
// CHECK-NOT: graph.tanh
func.func @gelu(%x: tensor<4xf32> {graph.requires_grad}) -> tensor<4xf32> {
  %0 = "graph.gelu"(%x) {approximate = "none"} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @gelu_tanh
// CHECK-NOT: graph.erf
// CHECK: graph.tanh
func.func @gelu_tanh(%x: tensor<4xf32> {graph.requires_grad}) -> tensor<4xf32> {
  %0 = "graph.gelu"(%x) {approximate = "tanh"} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// The exponential of large x is never computed: its derivative would be infinite.
// CHECK-LABEL: func.func @elu
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<4xf32> {graph.cotangent = 0 : i64}
// CHECK: [[LT:%.+]] = "graph.lt"(%arg0, {{%.+}})
// CHECK: [[LOW:%.+]] = "graph.where"([[LT]], %arg0, {{%.+}})
// CHECK: [[IN:%.+]] = "graph.mul"([[LOW]], {{%.+}})
// CHECK: "graph.exp"([[IN]])
// CHECK: [[LE:%.+]] = "graph.le"(%arg0, {{%.+}})
// CHECK: "graph.where"([[LE]], {{%.+}}, {{%.+}})
func.func @elu(%x: tensor<4xf32> {graph.requires_grad}) -> tensor<4xf32> {
  %0 = "graph.elu"(%x) {alpha = 2.0 : f64, scale = 1.0 : f64, input_scale = 1.0 : f64}
      : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// The bounds of clamp pass gradients, those of hardtanh don't.
// CHECK-LABEL: func.func @clamp
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<4xf32> {graph.cotangent = 0 : i64}
// CHECK: [[GE:%.+]] = "graph.ge"(%arg0, %arg1)
// CHECK: [[LE:%.+]] = "graph.le"(%arg0, %arg2)
// CHECK: [[IN:%.+]] = "graph.logical_and"([[GE]], [[LE]])
// CHECK: [[D:%.+]] = "graph.where"([[IN]], [[G]], {{%.+}})
// CHECK: return {{%.+}}, [[D]]
func.func @clamp(%x: tensor<4xf32> {graph.requires_grad}, %low: tensor<f32>,
    %high: tensor<f32>) -> tensor<4xf32> {
  %0 = "graph.clamp"(%x, %low, %high) {operandSegmentSizes = array<i32: 1, 1, 1>}
      : (tensor<4xf32>, tensor<f32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @hardtanh
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<4xf32> {graph.cotangent = 0 : i64}
// CHECK: [[LE:%.+]] = "graph.le"(%arg0, {{%.+}})
// CHECK: [[GE:%.+]] = "graph.ge"(%arg0, {{%.+}})
// CHECK: [[OUT:%.+]] = "graph.logical_or"([[LE]], [[GE]])
// CHECK: "graph.where"([[OUT]], {{%.+}}, [[G]])
func.func @hardtanh(%x: tensor<4xf32> {graph.requires_grad}) -> tensor<4xf32> {
  %0 = "graph.hardtanh"(%x) {min_value = -1.0 : f64, max_value = 1.0 : f64}
      : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
