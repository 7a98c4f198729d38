// RUN: %girih-opt --fuse-closing-reductions %s | filecheck %s
// RUN: %girih-opt --fuse-closing-reductions='programs=301 held=7' %s | filecheck %s --check-prefix=NONE

// NONE-NOT: closing

// The sums along dim 2 stand in the kernel that subtracts the largest along dim 1; what
// others read of it is stored, too.
// CHECK-LABEL: func.func @joined
// CHECK-SAME: ([[X:%.+]]: tensor<300x8x100xf32>, [[W:%.+]]: tensor<100xf32>)
// CHECK: [[Y:%.+]]:2 = "graph.fusion"([[X]], [[W]]) ({
// CHECK: ^bb0([[A:%.+]]: tensor<300x8x100xf32>, [[B:%.+]]: tensor<100xf32>):
// CHECK: [[M:%.+]] = "graph.reduce_max"([[A]]) {dims = array<i64: 1>}
// CHECK: [[D:%.+]] = "graph.sub"([[A]], [[M]])
// CHECK: [[P:%.+]] = "graph.mul"([[D]], [[B]])
// CHECK: [[S:%.+]] = "graph.reduce_sum"([[P]]) {dims = array<i64: 2>}
// CHECK: "graph.yield"([[D]], [[S]])
// CHECK: {closing = array<i64: 2>, domain = [300, 8, 100], reduced = array<i64: 1>}
// CHECK: return [[Y]]#0, [[Y]]#1
func.func @joined(%x: tensor<300x8x100xf32>, %w: tensor<100xf32>) -> (tensor<300x8x100xf32>, tensor<300x8x1xf32>) {
  %0 = "graph.fusion"(%x) ({
  ^bb0(%a: tensor<300x8x100xf32>):
    %2 = "graph.reduce_max"(%a) {dims = array<i64: 1>} : (tensor<300x8x100xf32>) -> tensor<300x1x100xf32>
    %3 = "graph.sub"(%a, %2) : (tensor<300x8x100xf32>, tensor<300x1x100xf32>) -> tensor<300x8x100xf32>
    "graph.yield"(%3) : (tensor<300x8x100xf32>) -> ()
  }) {domain = [300, 8, 100], reduced = array<i64: 1>} : (tensor<300x8x100xf32>) -> tensor<300x8x100xf32>
  %1 = "graph.fusion"(%0, %w) ({
  ^bb0(%a: tensor<300x8x100xf32>, %b: tensor<100xf32>):
    %2 = "graph.mul"(%a, %b) : (tensor<300x8x100xf32>, tensor<100xf32>) -> tensor<300x8x100xf32>
    %3 = "graph.reduce_sum"(%2) {dims = array<i64: 2>} : (tensor<300x8x100xf32>) -> tensor<300x8x1xf32>
    "graph.yield"(%3) : (tensor<300x8x1xf32>) -> ()
  }) {domain = [300, 8, 100], reduced = array<i64: 2>} : (tensor<300x8x100xf32>, tensor<100xf32>) -> tensor<300x8x1xf32>
  return %0, %1 : tensor<300x8x100xf32>, tensor<300x8x1xf32>
}

// How many programs there are need not be known, if each has little to do.
// RUN: %girih-opt --fuse-closing-reductions=unknown=799 %s | filecheck %s --check-prefix=LONG
// LONG: func.func @symbolic
// LONG-NOT: closing
// CHECK-LABEL: func.func @symbolic
// CHECK: closing = array<i64: 2>, domain = ["s0", 8, 100], reduced = array<i64: 1>
// CHECK: domain = [300, "s0", 100], reduced = array<i64: 1>
// CHECK: domain = [300, "s0", 100], reduced = array<i64: 2>
func.func @symbolic(%x: tensor<?x8x100xf32, ["s0"]>, %y: tensor<300x?x100xf32, ["s0"]>) -> (tensor<?x8x1xf32, ["s0"]>, tensor<300x?x1xf32, ["s0"]>) attributes {graph.symbols = {s0 = [264, 1000000]}} {
  %0 = "graph.fusion"(%x) ({
  ^bb0(%a: tensor<?x8x100xf32, ["s0"]>):
    %4 = "graph.reduce_max"(%a) {dims = array<i64: 1>} : (tensor<?x8x100xf32, ["s0"]>) -> tensor<?x1x100xf32, ["s0"]>
    %5 = "graph.sub"(%a, %4) : (tensor<?x8x100xf32, ["s0"]>, tensor<?x1x100xf32, ["s0"]>) -> tensor<?x8x100xf32, ["s0"]>
    "graph.yield"(%5) : (tensor<?x8x100xf32, ["s0"]>) -> ()
  }) {domain = ["s0", 8, 100], reduced = array<i64: 1>} : (tensor<?x8x100xf32, ["s0"]>) -> tensor<?x8x100xf32, ["s0"]>
  %1 = "graph.fusion"(%0) ({
  ^bb0(%a: tensor<?x8x100xf32, ["s0"]>):
    %4 = "graph.reduce_sum"(%a) {dims = array<i64: 2>} : (tensor<?x8x100xf32, ["s0"]>) -> tensor<?x8x1xf32, ["s0"]>
    "graph.yield"(%4) : (tensor<?x8x1xf32, ["s0"]>) -> ()
  }) {domain = ["s0", 8, 100], reduced = array<i64: 2>} : (tensor<?x8x100xf32, ["s0"]>) -> tensor<?x8x1xf32, ["s0"]>
  %2 = "graph.fusion"(%y) ({
  ^bb0(%a: tensor<300x?x100xf32, ["s0"]>):
    %4 = "graph.reduce_max"(%a) {dims = array<i64: 1>} : (tensor<300x?x100xf32, ["s0"]>) -> tensor<300x1x100xf32>
    %5 = "graph.sub"(%a, %4) : (tensor<300x?x100xf32, ["s0"]>, tensor<300x1x100xf32>) -> tensor<300x?x100xf32, ["s0"]>
    "graph.yield"(%5) : (tensor<300x?x100xf32, ["s0"]>) -> ()
  }) {domain = [300, "s0", 100], reduced = array<i64: 1>} : (tensor<300x?x100xf32, ["s0"]>) -> tensor<300x?x100xf32, ["s0"]>
  %3 = "graph.fusion"(%2) ({
  ^bb0(%a: tensor<300x?x100xf32, ["s0"]>):
    %4 = "graph.reduce_sum"(%a) {dims = array<i64: 2>} : (tensor<300x?x100xf32, ["s0"]>) -> tensor<300x?x1xf32, ["s0"]>
    "graph.yield"(%4) : (tensor<300x?x1xf32, ["s0"]>) -> ()
  }) {domain = [300, "s0", 100], reduced = array<i64: 2>} : (tensor<300x?x100xf32, ["s0"]>) -> tensor<300x?x1xf32, ["s0"]>
  return %1, %3 : tensor<?x8x1xf32, ["s0"]>, tensor<300x?x1xf32, ["s0"]>
}
