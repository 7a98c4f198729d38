// RUN: %girih-opt --autograd --split-input-file %s | filecheck %s

// What was broadcast is summed.
// CHECK-LABEL: func.func @add
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<3x4xf32> {graph.cotangent = 0 : i64}
// CHECK: [[Y:%.+]] = "graph.add"(%arg0, %arg1)
// CHECK: [[SUM:%.+]] = "graph.reduce_sum"([[G]]) {dims = array<i64: 0>}
// CHECK: [[D:%.+]] = "graph.reshape"([[SUM]]) : (tensor<1x4xf32>) -> tensor<4xf32>
// CHECK: return [[Y]], [[G]], [[D]]
func.func @add(%x: tensor<3x4xf32> {graph.requires_grad},
    %y: tensor<4xf32> {graph.requires_grad}) -> tensor<3x4xf32> {
  %0 = "graph.add"(%x, %y) : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// -----

// Nothing is computed for operands without a gradient.
// CHECK-LABEL: func.func @mul_by_constant
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<4xf32> {graph.cotangent = 0 : i64}
// CHECK: [[Y:%.+]] = "graph.mul"(%arg0, %arg1)
// CHECK-NEXT: [[D:%.+]] = "graph.mul"([[G]], %arg1)
// CHECK-NEXT: return [[Y]], [[D]]
func.func @mul_by_constant(%x: tensor<4xf32> {graph.requires_grad},
    %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "graph.mul"(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Two roundings: computed in f32, summed, rounded once.
// CHECK-LABEL: func.func @div
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<4xbf16> {graph.cotangent = 0 : i64}
// CHECK: [[Q:%.+]] = "graph.div"(%arg0, %arg1)
// CHECK: [[R:%.+]] = "graph.cast"(%arg1) : (tensor<bf16>) -> tensor<f32>
// CHECK: [[W:%.+]] = "graph.cast"([[Q]]) : (tensor<4xbf16>) -> tensor<4xf32>
// CHECK: [[SLOPE:%.+]] = "graph.div"([[W]], [[R]])
// CHECK: [[PART:%.+]] = "graph.mul"({{.*}}, [[SLOPE]])
// CHECK: [[SUM:%.+]] = "graph.reduce_sum"([[PART]])
// CHECK: [[ONE:%.+]] = "graph.reshape"([[SUM]])
// CHECK: [[D:%.+]] = "graph.cast"([[ONE]]) : (tensor<f32>) -> tensor<bf16>
// CHECK: return [[Q]], [[D]]
func.func @div(%x: tensor<4xbf16>,
    %y: tensor<bf16> {graph.requires_grad}) -> tensor<4xbf16> {
  %0 = "graph.div"(%x, %y) : (tensor<4xbf16>, tensor<bf16>) -> tensor<4xbf16>
  return %0 : tensor<4xbf16>
}

// -----

// The square's derivative is a product.
// CHECK-LABEL: func.func @square
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<4xf32> {graph.cotangent = 0 : i64}
// CHECK: [[TWICE:%.+]] = "graph.mul"(%arg0, {{%.+}})
// CHECK: [[D:%.+]] = "graph.mul"([[G]], [[TWICE]])
// CHECK: return {{%.+}}, [[D]]
func.func @square(%x: tensor<4xf32> {graph.requires_grad}) -> tensor<4xf32> {
  %two = "graph.constant"() {value = 2.0 : f64} : () -> tensor<f32>
  %0 = "graph.pow"(%x, %two) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// x ** 0 is constant, also at 0.
// CHECK-LABEL: func.func @power_of_a_tensor
// CHECK: [[Z:%.+]] = "graph.eq"(%arg1, {{%.+}})
// CHECK: "graph.where"([[Z]], {{%.+}}, {{%.+}})
func.func @power_of_a_tensor(%x: tensor<4xf32> {graph.requires_grad},
    %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "graph.pow"(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A tie shares the gradient.
// CHECK-LABEL: func.func @maximum
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<4xf32> {graph.cotangent = 0 : i64}
// CHECK: [[TIE:%.+]] = "graph.eq"(%arg0, %arg1)
// CHECK: [[HALF:%.+]] = "graph.mul"([[G]], {{%.+}})
// CHECK: [[SHARED:%.+]] = "graph.where"([[TIE]], [[HALF]], [[G]])
// CHECK: [[LESS:%.+]] = "graph.lt"(%arg0, %arg1)
// CHECK: [[D:%.+]] = "graph.where"([[LESS]], {{%.+}}, [[SHARED]])
// CHECK: [[MORE:%.+]] = "graph.gt"(%arg0, %arg1)
// CHECK: [[E:%.+]] = "graph.where"([[MORE]], {{%.+}}, [[SHARED]])
// CHECK: return {{%.+}}, [[D]], [[E]]
func.func @maximum(%x: tensor<4xf32> {graph.requires_grad},
    %y: tensor<4xf32> {graph.requires_grad}) -> tensor<4xf32> {
  %0 = "graph.maximum"(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @where
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<4xf32> {graph.cotangent = 0 : i64}
// CHECK: [[A:%.+]] = "graph.where"(%arg0, [[G]], [[ZERO:%[0-9]+]])
// CHECK: [[B:%.+]] = "graph.where"(%arg0, [[ZERO]], [[G]])
// CHECK: return {{%.+}}, [[A]], [[B]]
func.func @where(%c: tensor<4xi1>, %x: tensor<4xf32> {graph.requires_grad},
    %y: tensor<4xf32> {graph.requires_grad}) -> tensor<4xf32> {
  %0 = "graph.where"(%c, %x, %y)
      : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @cast
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<4xf64> {graph.cotangent = 0 : i64}
// CHECK: [[D:%.+]] = "graph.cast"([[G]]) : (tensor<4xf64>) -> tensor<4xf16>
// CHECK: return {{%.+}}, [[D]]
func.func @cast(%x: tensor<4xf16> {graph.requires_grad}) -> tensor<4xf64> {
  %0 = "graph.cast"(%x) : (tensor<4xf16>) -> tensor<4xf64>
  return %0 : tensor<4xf64>
}

// -----

// No gradient goes through a comparison, nor is there a cotangent for one.
// CHECK-LABEL: func.func @comparison
// CHECK-SAME: (%arg0: tensor<4xf32> {graph.requires_grad}, %arg1: tensor<4xf32>) ->
// CHECK: [[Y:%.+]] = "graph.lt"(%arg0, %arg1)
// CHECK-NEXT: return [[Y]] : tensor<4xi1>
func.func @comparison(%x: tensor<4xf32> {graph.requires_grad},
    %y: tensor<4xf32>) -> tensor<4xi1> {
  %0 = "graph.lt"(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

// -----

// Whole steps: the gradient is zeros.
// CHECK-LABEL: func.func @floor_divide
// CHECK: [[Y:%.+]] = "graph.floor_divide"(%arg0, %arg1)
// CHECK: [[Z:%.+]] = "graph.full"() {value = 0.000000e+00 : f64}
// CHECK: return [[Y]], [[Z]]
func.func @floor_divide(%x: tensor<4xf32> {graph.requires_grad},
    %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "graph.floor_divide"(%x, %y)
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
