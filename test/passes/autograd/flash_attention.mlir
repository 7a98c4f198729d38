// RUN: %girih-opt --autograd %s | filecheck %s

// The kernel of the derivative takes the rows' sums of gradient times result.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[Q:.*]]: tensor<1x2x8x16xf16> {{{.*}}graph.requires_grad}, %[[K:.*]]: tensor<1x2x4x16xf16>
// CHECK-SAME: %[[G:[a-z0-9]*]]: tensor<1x2x8x16xf16> {graph.cotangent = 0
// CHECK: %[[Y:.*]]:3 = "graph.flash_attention"(%[[Q]], %[[K]], %[[K]])
// CHECK-DAG: %[[GW:.*]] = "graph.cast"(%[[G]]) : (tensor<1x2x8x16xf16>) -> tensor<1x2x8x16xf32>
// CHECK-DAG: %[[YW:.*]] = "graph.cast"(%[[Y]]#0)
// CHECK: %[[P:.*]] = "graph.mul"(%[[GW]], %[[YW]])
// CHECK: %[[D:.*]] = "graph.reduce_sum"(%[[P]]) {dims = array<i64: 3>}
// CHECK: %[[D3:.*]] = "graph.reshape"(%[[D]]) {{.*}} -> tensor<1x2x8xf32>
// CHECK: %[[R:.*]]:3 = "graph.flash_attention_backward"(%[[G]], %[[Q]], %[[K]], %[[K]], %[[Y]]#1, %[[Y]]#2, %[[D3]])
// CHECK: ^bb0(%[[S:.*]]: tensor<1x2x8x4xf16>, %[[DS:.*]]: tensor<1x2x8x4xf16>):
// CHECK: %[[X:.*]] = "graph.mul"(%[[S]], %{{.*}})
// CHECK: %[[DX:.*]] = "graph.mul"(%[[DS]], %{{.*}})
// CHECK: "graph.yield"(%[[X]], %[[DX]])
// CHECK: return %[[Y]]#0, %[[R]]#0
func.func @main(%q: tensor<1x2x8x16xf16> {graph.requires_grad}, %k: tensor<1x2x4x16xf16>) -> tensor<1x2x8x16xf16> {
  %0:3 = "graph.flash_attention"(%q, %k, %k) ({
  ^bb0(%s: tensor<1x2x8x4xf16>):
    %c = "graph.constant"() {value = 0.5 : f64} : () -> tensor<f16>
    %1 = "graph.mul"(%s, %c) : (tensor<1x2x8x4xf16>, tensor<f16>) -> tensor<1x2x8x4xf16>
    "graph.yield"(%1) : (tensor<1x2x8x4xf16>) -> ()
  }) : (tensor<1x2x8x16xf16>, tensor<1x2x4x16xf16>, tensor<1x2x4x16xf16>) -> (tensor<1x2x8x16xf16>, tensor<1x2x8xf32>, tensor<1x2x8xf32>)
  return %0#0 : tensor<1x2x8x16xf16>
}
