// RUN: %girih-opt --autograd --split-input-file %s | filecheck %s

// The kernel takes the result and the sums' logarithms of the forward one.
// CHECK-LABEL: func.func @attention
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<2x4x5x8xf32> {graph.cotangent = 0 : i64}
// CHECK: [[Y:%.+]]:2 = "graph.attention"(%arg0, %arg1, %arg2)
// CHECK: [[D:%.+]]:3 = "graph.extern"([[G]], %arg0, %arg1, %arg2, [[Y]]#0, [[Y]]#1)
// CHECK-SAME: op = "aten._scaled_dot_product_flash_attention_for_cpu_backward.default"
// CHECK: return [[Y]]#0, [[D]]#0, [[D]]#1, [[D]]#2
func.func @attention(%q: tensor<2x4x5x8xf32> {graph.requires_grad},
    %k: tensor<2x4x6x8xf32> {graph.requires_grad},
    %v: tensor<2x4x6x8xf32> {graph.requires_grad}) -> tensor<2x4x5x8xf32> {
  %0:2 = "graph.attention"(%q, %k, %v) {dropout = 0.0 : f64, causal = false,
      scale = 0.5 : f64}
      : (tensor<2x4x5x8xf32>, tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>)
      -> (tensor<2x4x5x8xf32>, tensor<2x4x5xf32>)
  return %0#0 : tensor<2x4x5x8xf32>
}

// -----

// The kernel gives no gradient of a mask: softmax and products do.
// CHECK-LABEL: func.func @gradient_of_a_mask
// CHECK-NOT: graph.extern
// CHECK: "graph.softmax"
// CHECK: [[SUM:%.+]] = "graph.reduce_sum"({{%.+}}) {dims = array<i64: 0, 1>}
// CHECK: [[D:%.+]] = "graph.reshape"([[SUM]]) : {{.*}} -> tensor<5x6xf32>
// CHECK: return {{%.+}}, [[D]]
func.func @gradient_of_a_mask(%q: tensor<2x4x5x8xf32>, %k: tensor<2x4x6x8xf32>,
    %v: tensor<2x4x6x8xf32>, %m: tensor<5x6xf32> {graph.requires_grad})
    -> tensor<2x4x5x8xf32> {
  %0:2 = "graph.attention"(%q, %k, %v, %m) {dropout = 0.0 : f64, causal = false,
      scale = 0.5 : f64}
      : (tensor<2x4x5x8xf32>, tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>,
         tensor<5x6xf32>) -> (tensor<2x4x5x8xf32>, tensor<2x4x5xf32>)
  return %0#0 : tensor<2x4x5x8xf32>
}
