// RUN: %girih-opt --write-out-attention %s | filecheck %s

// CHECK-LABEL: @grouped
// CHECK: %[[K5:.*]] = "graph.reshape"(%arg1) {{.*}} -> tensor<1x1x1x4x16xf16>
// CHECK: %[[KB:.*]] = "graph.broadcast_to"(%[[K5]]) {{.*}} -> tensor<1x1x2x4x16xf16>
// CHECK: %[[K:.*]] = "graph.reshape"(%[[KB]]) {{.*}} -> tensor<2x4x16xf16>
// CHECK: %[[KT:.*]] = "graph.permute"(%[[K]]) {permutation = array<i64: 0, 2, 1>}
// CHECK: %[[Q:.*]] = "graph.reshape"(%arg0) {{.*}} -> tensor<2x8x16xf16>
// CHECK: %[[S3:.*]] = "graph.bmm"(%[[Q]], %[[KT]])
// CHECK: %[[S:.*]] = "graph.reshape"(%[[S3]]) {{.*}} -> tensor<1x2x8x4xf16>
// CHECK: %[[X:.*]] = "graph.cast"(%[[S]])
// CHECK: %[[W:.*]] = "graph.softmax"(%[[X]]) {dim = 3 : i64}
// CHECK: %[[N:.*]] = "graph.cast"(%[[W]])
// CHECK: %[[N3:.*]] = "graph.reshape"(%[[N]])
// CHECK: %[[Y3:.*]] = "graph.bmm"(%[[N3]], %{{.*}})
// CHECK: %[[Y:.*]] = "graph.reshape"(%[[Y3]])
// CHECK-NOT: flash
// CHECK: return %[[Y]]
func.func @grouped(%q: tensor<1x2x8x16xf16>, %k: tensor<1x1x4x16xf16>) -> tensor<1x2x8x16xf16> {
  %0:3 = "graph.flash_attention"(%q, %k, %k) ({
  ^bb0(%s: tensor<1x2x8x4xf16>):
    %1 = "graph.cast"(%s) : (tensor<1x2x8x4xf16>) -> tensor<1x2x8x4xf32>
    "graph.yield"(%1) : (tensor<1x2x8x4xf32>) -> ()
  }) : (tensor<1x2x8x16xf16>, tensor<1x1x4x16xf16>, tensor<1x1x4x16xf16>) -> (tensor<1x2x8x16xf16>, tensor<1x2x8xf32>, tensor<1x2x8xf32>)
  return %0#0 : tensor<1x2x8x16xf16>
}
