// RUN: %girih-opt %s -o %t.mlir
// RUN: %girih-opt %t.mlir | diff %t.mlir -
// RUN: filecheck %s --input-file %t.mlir

// Attention kernels: the score function takes scores and the last operands.

// CHECK-LABEL: @forward
// CHECK: "graph.flash_attention"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) ({
// CHECK: ^bb0(%[[S:.*]]: tensor<2x4x8x16xbf16>, %[[M:.*]]: tensor<16xf32>):
// CHECK: %[[X:.*]] = "graph.cast"(%[[S]])
// CHECK: %[[Y:.*]] = "graph.add"(%[[X]], %[[M]])
// CHECK: "graph.yield"(%[[Y]])
// CHECK: -> (tensor<2x4x8x64xbf16>, tensor<2x4x8xf32>, tensor<2x4x8xf32>)
func.func @forward(%q: tensor<2x4x8x32xbf16>, %k: tensor<2x2x16x32xbf16>, %v: tensor<2x2x16x64xbf16>, %m: tensor<16xf32>) {
  %0:3 = "graph.flash_attention"(%q, %k, %v, %m) ({
  ^bb0(%s: tensor<2x4x8x16xbf16>, %b: tensor<16xf32>):
    %1 = "graph.cast"(%s) : (tensor<2x4x8x16xbf16>) -> tensor<2x4x8x16xf32>
    %2 = "graph.add"(%1, %b) : (tensor<2x4x8x16xf32>, tensor<16xf32>) -> tensor<2x4x8x16xf32>
    "graph.yield"(%2) : (tensor<2x4x8x16xf32>) -> ()
  }) : (tensor<2x4x8x32xbf16>, tensor<2x2x16x32xbf16>, tensor<2x2x16x64xbf16>, tensor<16xf32>) -> (tensor<2x4x8x64xbf16>, tensor<2x4x8xf32>, tensor<2x4x8xf32>)
  return
}

// CHECK-LABEL: @symbolic
// CHECK: "graph.flash_attention"
// CHECK: -> (tensor<1x2x?x16xf32, ["s0"]>, tensor<1x2x?xf32, ["s0"]>, tensor<1x2x?xf32, ["s0"]>)
func.func @symbolic(%q: tensor<1x2x?x16xf32, ["s0"]>, %k: tensor<1x2x?x16xf32, ["s1"]>) {
  %0:3 = "graph.flash_attention"(%q, %k, %k) ({
  ^bb0(%s: tensor<1x2x?x?xf32, ["s0", "s1"]>):
    "graph.yield"(%s) : (tensor<1x2x?x?xf32, ["s0", "s1"]>) -> ()
  }) : (tensor<1x2x?x16xf32, ["s0"]>, tensor<1x2x?x16xf32, ["s1"]>, tensor<1x2x?x16xf32, ["s1"]>) -> (tensor<1x2x?x16xf32, ["s0"]>, tensor<1x2x?xf32, ["s0"]>, tensor<1x2x?xf32, ["s0"]>)
  return
}

// CHECK-LABEL: @backward
// CHECK: "graph.flash_attention_backward"
// CHECK: ^bb0(%[[S:.*]]: tensor<1x2x8x4xf32>, %[[G:.*]]: tensor<1x2x8x4xf32>):
// CHECK: "graph.yield"(%[[S]], %[[G]])
// CHECK: -> (tensor<1x2x8x16xf32>, tensor<1x2x4x16xf32>, tensor<1x2x4x16xf32>)
func.func @backward(%g: tensor<1x2x8x16xf32>, %q: tensor<1x2x8x16xf32>, %k: tensor<1x2x4x16xf32>, %l: tensor<1x2x8xf32>) {
  %0:3 = "graph.flash_attention_backward"(%g, %q, %k, %k, %l, %l, %l) ({
  ^bb0(%s: tensor<1x2x8x4xf32>, %d: tensor<1x2x8x4xf32>):
    "graph.yield"(%s, %d) : (tensor<1x2x8x4xf32>, tensor<1x2x8x4xf32>) -> ()
  }) : (tensor<1x2x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x4x16xf32>, tensor<1x2x4x16xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>) -> (tensor<1x2x8x16xf32>, tensor<1x2x4x16xf32>, tensor<1x2x4x16xf32>)
  return
}
