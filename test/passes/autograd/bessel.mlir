// RUN: %girih-opt --autograd %s | filecheck %s

// At 0 the derivative is 0, where the formula would divide by it.
// CHECK-LABEL: func.func @sinc
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<4xf32> {graph.cotangent = 0 : i64}
// CHECK: [[Y:%.+]] = "graph.sinc"(%arg0)
// CHECK: [[IS_ZERO:%.+]] = "graph.eq"
// CHECK: [[SAFE:%.+]] = "graph.where"([[IS_ZERO]]
// CHECK-NEXT: [[SLOPE:%.+]] = "graph.div"({{%.+}}, [[SAFE]])
// CHECK-NEXT: [[PRODUCT:%.+]] = "graph.mul"([[G]], [[SLOPE]])
// CHECK: [[D:%.+]] = "graph.where"([[IS_ZERO]], {{%.+}}, [[PRODUCT]])
// CHECK-NEXT: return [[Y]], [[D]]
func.func @sinc(%x: tensor<4xf32> {graph.requires_grad}) -> tensor<4xf32> {
  %0 = "graph.sinc"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
