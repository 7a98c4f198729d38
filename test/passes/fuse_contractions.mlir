// RUN: %girih-opt --fuse-contractions=products=all %s | filecheck %s
// RUN: %girih-opt --fuse-contractions %s | filecheck %s --check-prefix=NONE

// NONE-NOT: domain = [{{.*}}], girih.tuning
// NONE-COUNT-2: "graph.mm"

// The operands as chains, their product, its sum, and what followed; rows are symbolic.
// CHECK-LABEL: func.func @product
// CHECK-SAME: ([[X:%.+]]: tensor<?x64xbf16, ["s0"]>, [[W:%.+]]: tensor<64x128xbf16>)
// CHECK: [[Y:%.+]] = "graph.fusion"([[X]], [[W]])
// CHECK: [[T:%.+]] = "graph.permute"({{.+}}) {permutation = array<i64: 1, 0>}
// CHECK: [[L:%.+]] = "graph.reshape"([[T]]) : {{.*}} -> tensor<64x?x1xbf16, ["s0"]>
// CHECK: [[R:%.+]] = "graph.reshape"({{.+}}) : {{.*}} -> tensor<64x1x128xbf16>
// CHECK: [[A:%.+]] = "graph.cast"([[L]])
// CHECK: [[B:%.+]] = "graph.cast"([[R]])
// CHECK: [[P:%.+]] = "graph.mul"([[A]], [[B]]) : {{.*}} -> tensor<64x?x128xf32, ["s0"]>
// CHECK: [[S:%.+]] = "graph.reduce_sum"([[P]]) {dims = array<i64: 0>}
// CHECK: [[C:%.+]] = "graph.cast"([[S]]) : {{.*}} -> tensor<1x?x128xbf16, ["s0"]>
// CHECK: [[D:%.+]] = "graph.tanh"([[C]])
// CHECK: "graph.yield"([[D]])
// CHECK: {domain = [64, "s0", 128], reduced = array<i64: 0>}
// CHECK: [[Z:%.+]] = "graph.reshape"([[Y]]) : {{.*}} -> tensor<?x128xbf16, ["s0"]>
// CHECK: return [[Z]]
func.func @product(%x: tensor<?x64xbf16, ["s0"]>, %w: tensor<64x128xbf16>) -> tensor<?x128xbf16, ["s0"]> {
  %0 = "graph.mm"(%x, %w) : (tensor<?x64xbf16, ["s0"]>, tensor<64x128xbf16>) -> tensor<?x128xbf16, ["s0"]>
  %1 = "graph.fusion"(%0) ({
  ^bb0(%y: tensor<?x128xbf16, ["s0"]>):
    %2 = "graph.tanh"(%y) : (tensor<?x128xbf16, ["s0"]>) -> tensor<?x128xbf16, ["s0"]>
    "graph.yield"(%2) : (tensor<?x128xbf16, ["s0"]>) -> ()
  }) {domain = ["s0", 128], reduced = array<i64>} : (tensor<?x128xbf16, ["s0"]>) -> tensor<?x128xbf16, ["s0"]>
  return %1 : tensor<?x128xbf16, ["s0"]>
}

// Integers, float64 and products without summands stay with the library.
// CHECK-LABEL: func.func @others
// CHECK: "graph.mm"
// CHECK: "graph.mm"
// CHECK: return
func.func @others(%x: tensor<8x8xf64>, %y: tensor<8x0xf32>, %z: tensor<0x8xf32>) -> (tensor<8x8xf64>, tensor<8x8xf32>) {
  %0 = "graph.mm"(%x, %x) : (tensor<8x8xf64>, tensor<8x8xf64>) -> tensor<8x8xf64>
  %1 = "graph.mm"(%y, %z) : (tensor<8x0xf32>, tensor<0x8xf32>) -> tensor<8x8xf32>
  return %0, %1 : tensor<8x8xf64>, tensor<8x8xf32>
}
