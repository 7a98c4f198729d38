// RUN: %girih-opt --autograd --split-input-file %s | filecheck %s

// CHECK-LABEL: func.func @median_of_rows
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<3xf32> {graph.cotangent = 0 : i64}
// CHECK: [[R:%.+]]:2 = "graph.extern"(%arg0)
// CHECK: [[INDEX:%.+]] = "graph.reshape"([[R]]#1) : (tensor<3xi64>) -> tensor<3x1xi64>
// CHECK: [[CHOSEN:%.+]] = "graph.eq"(%{{.*}}, [[INDEX]])
// CHECK: [[D:%.+]] = "graph.where"([[CHOSEN]], %{{.*}}) {{.*}} -> tensor<3x4xf32>
// CHECK: return [[R]]#0, [[D]]
func.func @median_of_rows(%x: tensor<3x4xf32> {graph.requires_grad}) -> tensor<3xf32> {
  %0:2 = "graph.extern"(%x) {op = "aten.median.dim", args = [{operand = 0 : i64}, 1], kwargs = {}} : (tensor<3x4xf32>) -> (tensor<3xf32>, tensor<3xi64>)
  return %0#0 : tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func @adaptive_max_pool
// CHECK: [[R:%.+]]:2 = "graph.extern"(%arg0)
// CHECK: [[G:%.+]] = "graph.reshape"(%arg1) : (tensor<1x2x2xf32>) -> tensor<1x4xf32>
// CHECK: [[INDEX:%.+]] = "graph.reshape"([[R]]#1) : (tensor<1x2x2xi64>) -> tensor<1x4xi64>
// CHECK: "graph.scatter_add"(%{{.*}}, [[INDEX]], [[G]]) {dim = 1 : i64} {{.*}} -> tensor<1x15xf32>
func.func @adaptive_max_pool(%x: tensor<1x3x5xf32> {graph.requires_grad}) -> tensor<1x2x2xf32> {
  %0:2 = "graph.extern"(%x) {op = "aten.adaptive_max_pool2d.default", args = [{operand = 0 : i64}, [2, 2]], kwargs = {}} : (tensor<1x3x5xf32>) -> (tensor<1x2x2xf32>, tensor<1x2x2xi64>)
  return %0#0 : tensor<1x2x2xf32>
}
