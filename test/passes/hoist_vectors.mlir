// RUN: %girih-opt --pass-pipeline='hoist-vectors{target=cpu}' --split-input-file %s | filecheck %s

// The channels are innermost: their numbers are a fusion before.
// CHECK-LABEL: func.func @channels_innermost
// CHECK: [[V:%.+]] = "graph.fusion"(%arg1)
// CHECK: graph.rsqrt
// CHECK: domain = [64, 1, 1]
// CHECK: "graph.fusion"(%arg0, [[V]])
// CHECK-NOT: graph.rsqrt
// CHECK: domain = [1, 64, 16, 16]
func.func @channels_innermost(%x: tensor<1x64x16x16xf32> {graph.strides = [16384, 1, 1024, 64]}, %v: tensor<64xf32>) -> (tensor<1x64x16x16xf32> {graph.strides = [16384, 1, 1024, 64]}) {
  %0 = "graph.fusion"(%x, %v) <{domain = [1, 64, 16, 16], reduced = array<i64>}> ({
  ^bb0(%a: tensor<1x64x16x16xf32>, %b: tensor<64xf32>):
    %1 = "graph.reshape"(%b) : (tensor<64xf32>) -> tensor<64x1x1xf32>
    %2 = "graph.rsqrt"(%1) : (tensor<64x1x1xf32>) -> tensor<64x1x1xf32>
    %3 = "graph.mul"(%a, %2) : (tensor<1x64x16x16xf32>, tensor<64x1x1xf32>) -> tensor<1x64x16x16xf32>
    "graph.yield"(%3) : (tensor<1x64x16x16xf32>) -> ()
  }) : (tensor<1x64x16x16xf32>, tensor<64xf32>) -> tensor<1x64x16x16xf32>
  return %0 : tensor<1x64x16x16xf32>
}

// -----

// Rows are innermost: a loop along them computes the number of its channel once.
// CHECK-LABEL: func.func @rows_innermost
// CHECK-COUNT-1: "graph.fusion"
// CHECK: graph.rsqrt
// CHECK-NOT: "graph.fusion"
func.func @rows_innermost(%x: tensor<1x64x16x16xf32>, %v: tensor<64xf32>) -> tensor<1x64x16x16xf32> {
  %0 = "graph.fusion"(%x, %v) <{domain = [1, 64, 16, 16], reduced = array<i64>}> ({
  ^bb0(%a: tensor<1x64x16x16xf32>, %b: tensor<64xf32>):
    %1 = "graph.reshape"(%b) : (tensor<64xf32>) -> tensor<64x1x1xf32>
    %2 = "graph.rsqrt"(%1) : (tensor<64x1x1xf32>) -> tensor<64x1x1xf32>
    %3 = "graph.mul"(%a, %2) : (tensor<1x64x16x16xf32>, tensor<64x1x1xf32>) -> tensor<1x64x16x16xf32>
    "graph.yield"(%3) : (tensor<1x64x16x16xf32>) -> ()
  }) : (tensor<1x64x16x16xf32>, tensor<64xf32>) -> tensor<1x64x16x16xf32>
  return %0 : tensor<1x64x16x16xf32>
}
