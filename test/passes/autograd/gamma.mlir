// RUN: %girih-opt --autograd %s | filecheck %s

// The derivative of the logarithm of gamma is another function of the family.
// CHECK-LABEL: func.func @lgamma
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<4xf32> {graph.cotangent = 0 : i64}
// CHECK: [[Y:%.+]] = "graph.lgamma"(%arg0)
// CHECK-NEXT: [[S:%.+]] = "graph.digamma"(%arg0)
// CHECK-NEXT: [[D:%.+]] = "graph.mul"([[G]], [[S]])
// CHECK-NEXT: return [[Y]], [[D]]
func.func @lgamma(%x: tensor<4xf32> {graph.requires_grad}) -> tensor<4xf32> {
  %0 = "graph.lgamma"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
