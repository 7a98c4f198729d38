// RUN: %girih-opt --pass-pipeline=decompose %s | filecheck %s

// CHECK-LABEL: func.func @gelu
// CHECK-SAME: ([[X:%.+]]: tensor<4xf32>)
// CHECK: [[HALF:%.+]] = "graph.mul"([[X]], {{.*}})
// CHECK: [[ERF:%.+]] = "graph.erf"
// CHECK: [[SUM:%.+]] = "graph.add"([[ERF]], {{.*}})
// CHECK: "graph.mul"([[HALF]], [[SUM]])
func.func @gelu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "graph.gelu"(%x) {approximate = "none"} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @gelu_tanh
// CHECK-NOT: graph.erf
// CHECK: graph.tanh
func.func @gelu_tanh(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "graph.gelu"(%x) {approximate = "tanh"} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// Small floats are computed in f32 and rounded once.
// CHECK-LABEL: func.func @silu
// CHECK: [[X:%.+]] = "graph.cast"({{.*}}) : (tensor<4xbf16>) -> tensor<4xf32>
// CHECK: [[S:%.+]] = "graph.sigmoid"([[X]])
// CHECK: [[Y:%.+]] = "graph.mul"([[X]], [[S]])
// CHECK: "graph.cast"([[Y]]) : (tensor<4xf32>) -> tensor<4xbf16>
func.func @silu(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %0 = "graph.silu"(%x) : (tensor<4xbf16>) -> tensor<4xbf16>
  return %0 : tensor<4xbf16>
}

// CHECK-LABEL: func.func @softplus
// CHECK: [[BIG:%.+]] = "graph.gt"
// CHECK: "graph.where"([[BIG]], %arg0, {{.*}})
func.func @softplus(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "graph.softplus"(%x) {beta = 2.0 : f64, threshold = 20.0 : f64}
      : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @clamp
// CHECK: [[LOW:%.+]] = "graph.maximum"(%arg0, %arg1)
// CHECK: "graph.minimum"([[LOW]], %arg2)
func.func @clamp(%x: tensor<4xf32>, %low: tensor<f32>, %high: tensor<f32>)
    -> tensor<4xf32> {
  %0 = "graph.clamp"(%x, %low, %high) {operandSegmentSizes = array<i32: 1, 1, 1>}
      : (tensor<4xf32>, tensor<f32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @clamp_above_only
// CHECK-NOT: graph.maximum
// CHECK: "graph.minimum"(%arg0, %arg1)
func.func @clamp_above_only(%x: tensor<4xf32>, %high: tensor<f32>) -> tensor<4xf32> {
  %0 = "graph.clamp"(%x, %high) {operandSegmentSizes = array<i32: 1, 0, 1>}
      : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// Primitives stay.
// CHECK-LABEL: func.func @relu
// CHECK: "graph.relu"
func.func @relu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "graph.relu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
