// RUN: %girih-opt --autograd %s | filecheck %s

// In terms of the operand, by another special function.
// CHECK-LABEL: func.func @i0
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<4xf32> {graph.cotangent = 0 : i64}
// CHECK: [[Y:%.+]] = "graph.i0"(%arg0)
// CHECK-NEXT: [[S:%.+]] = "graph.i1"(%arg0)
// CHECK-NEXT: [[D:%.+]] = "graph.mul"([[G]], [[S]])
// CHECK-NEXT: return [[Y]], [[D]]
func.func @i0(%x: tensor<4xf32> {graph.requires_grad}) -> tensor<4xf32> {
  %0 = "graph.i0"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
