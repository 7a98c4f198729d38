// RUN: %girih-opt --autograd --split-input-file %s | filecheck %s

// In terms of the result, as eager: it is what is kept.
// CHECK-LABEL: func.func @tanh
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<4xf32> {graph.cotangent = 0 : i64}
// CHECK: [[Y:%.+]] = "graph.tanh"(%arg0)
// CHECK: [[S:%.+]] = "graph.mul"([[Y]], [[Y]])
// CHECK: [[R:%.+]] = "graph.sub"({{%.+}}, [[S]])
// CHECK: [[D:%.+]] = "graph.mul"([[G]], [[R]])
// CHECK: return [[Y]], [[D]]
func.func @tanh(%x: tensor<4xf32> {graph.requires_grad}) -> tensor<4xf32> {
  %0 = "graph.tanh"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// In terms of the operand.
// CHECK-LABEL: func.func @log
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<4xf32> {graph.cotangent = 0 : i64}
// CHECK: [[Y:%.+]] = "graph.log"(%arg0)
// CHECK-NEXT: [[D:%.+]] = "graph.div"([[G]], %arg0)
// CHECK-NEXT: return [[Y]], [[D]]
func.func @log(%x: tensor<4xf32> {graph.requires_grad}) -> tensor<4xf32> {
  %0 = "graph.log"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// NaN is not below 0, so it passes, as in eager.
// CHECK-LABEL: func.func @relu
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<4xf32> {graph.cotangent = 0 : i64}
// CHECK: [[Y:%.+]] = "graph.relu"(%arg0)
// CHECK: [[OFF:%.+]] = "graph.le"([[Y]], {{%.+}})
// CHECK: [[D:%.+]] = "graph.where"([[OFF]], {{%.+}}, [[G]])
// CHECK: return [[Y]], [[D]]
func.func @relu(%x: tensor<4xf32> {graph.requires_grad}) -> tensor<4xf32> {
  %0 = "graph.relu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Small floats are computed in f32 and rounded once.
// CHECK-LABEL: func.func @sqrt
// CHECK: [[Y:%.+]] = "graph.sqrt"(%arg0)
// CHECK: [[G:%.+]] = "graph.cast"(%arg1) : (tensor<4xf16>) -> tensor<4xf32>
// CHECK: [[W:%.+]] = "graph.cast"([[Y]]) : (tensor<4xf16>) -> tensor<4xf32>
// CHECK: [[Q:%.+]] = "graph.div"([[G]], {{%.+}})
// CHECK: [[D:%.+]] = "graph.cast"([[Q]]) : (tensor<4xf32>) -> tensor<4xf16>
// CHECK: return [[Y]], [[D]]
func.func @sqrt(%x: tensor<4xf16> {graph.requires_grad}) -> tensor<4xf16> {
  %0 = "graph.sqrt"(%x) : (tensor<4xf16>) -> tensor<4xf16>
  return %0 : tensor<4xf16>
}

// -----

// CHECK-LABEL: func.func @floor
// CHECK: [[Y:%.+]] = "graph.floor"(%arg0)
// CHECK: [[Z:%.+]] = "graph.full"() {value = 0.000000e+00 : f64}
// CHECK: return [[Y]], [[Z]]
func.func @floor(%x: tensor<4xf32> {graph.requires_grad}) -> tensor<4xf32> {
  %0 = "graph.floor"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
