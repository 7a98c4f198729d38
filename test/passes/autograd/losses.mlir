// RUN: %girih-opt --autograd %s | filecheck %s

// The call checks its arguments; its derivative is made of ops.
// CHECK-LABEL: func.func @binary_cross_entropy
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<4xf32> {graph.cotangent = 0 : i64}
// CHECK: "graph.extern"
// CHECK: [[REST:%.+]] = "graph.sub"({{%.+}}, %arg0)
// CHECK: [[PRODUCT:%.+]] = "graph.mul"([[REST]], %arg0)
// CHECK: [[BOUNDED:%.+]] = "graph.clamp"([[PRODUCT]], {{%.+}})
// CHECK: [[DISTANCE:%.+]] = "graph.sub"(%arg0, %arg1)
// CHECK: [[SLOPE:%.+]] = "graph.div"([[DISTANCE]], [[BOUNDED]])
// CHECK: [[D:%.+]] = "graph.mul"([[G]], [[SLOPE]])
// CHECK: return {{%.+}}, [[D]]
func.func @binary_cross_entropy(%x: tensor<4xf32> {graph.requires_grad},
    %t: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "graph.extern"(%x, %t) {op = "aten.binary_cross_entropy.default",
      args = [{operand = 0 : i64}, {operand = 1 : i64}, unit, 0], kwargs = {}}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
