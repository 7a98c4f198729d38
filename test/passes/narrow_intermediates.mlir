// RUN: %girih-opt --pass-pipeline=narrow-intermediates %s | filecheck %s

// The first fusion stores the narrow value once; the second computes both of what it
// read, one of them behind a view.
// CHECK-LABEL: func.func @handed_over
// CHECK: [[Y:%.+]] = "graph.fusion"(%arg0)
// CHECK: [[H:%.+]] = "graph.exp"
// CHECK-NOT: graph.abs
// CHECK: "graph.yield"([[H]])
// CHECK: -> tensor<4x8xbf16>
// CHECK: [[V:%.+]] = "graph.reshape"([[Y]]) : (tensor<4x8xbf16>) -> tensor<32xbf16>
// CHECK: "graph.fusion"([[Y]], [[V]])
// CHECK: ^bb0([[A:%.+]]: tensor<4x8xbf16>, [[B:%.+]]: tensor<32xbf16>):
// CHECK: [[C:%.+]] = "graph.cast"([[A]])
// CHECK: [[D:%.+]] = "graph.abs"([[C]])
// CHECK: "graph.reduce_max"([[D]])
// CHECK: [[E:%.+]] = "graph.reshape"([[B]]) : (tensor<32xbf16>) -> tensor<4x8xbf16>
// CHECK: [[F:%.+]] = "graph.cast"([[E]])
// CHECK: "graph.div"([[F]], {{.*}})
func.func @handed_over(%x: tensor<4x8xbf16>) -> tensor<4x8xf32> {
  %0:2 = "graph.fusion"(%x) ({
  ^bb0(%a: tensor<4x8xbf16>):
    %h = "graph.exp"(%a) : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
    %w = "graph.cast"(%h) : (tensor<4x8xbf16>) -> tensor<4x8xf32>
    %p = "graph.abs"(%w) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "graph.yield"(%p, %w) : (tensor<4x8xf32>, tensor<4x8xf32>) -> ()
  }) {domain = [4, 8], reduced = array<i64>} : (tensor<4x8xbf16>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
  %1 = "graph.reshape"(%0#1) : (tensor<4x8xf32>) -> tensor<32xf32>
  %2 = "graph.fusion"(%0#0, %1) ({
  ^bb0(%p: tensor<4x8xf32>, %w: tensor<32xf32>):
    %m = "graph.reduce_max"(%p) {dims = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
    %v = "graph.reshape"(%w) : (tensor<32xf32>) -> tensor<4x8xf32>
    %y = "graph.div"(%v, %m) : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
    "graph.yield"(%y) : (tensor<4x8xf32>) -> ()
  }) {domain = [4, 8], reduced = array<i64: 1>} : (tensor<4x8xf32>, tensor<32xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// A result of the function keeps its type, and so does what a library op reads.
// CHECK-LABEL: func.func @kept
// CHECK: "graph.fusion"
// CHECK: "graph.yield"{{.*}} : (tensor<8xf32>) -> ()
func.func @kept(%x: tensor<8xbf16>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = "graph.fusion"(%x) ({
  ^bb0(%a: tensor<8xbf16>):
    %h = "graph.exp"(%a) : (tensor<8xbf16>) -> tensor<8xbf16>
    %w = "graph.cast"(%h) : (tensor<8xbf16>) -> tensor<8xf32>
    "graph.yield"(%w) : (tensor<8xf32>) -> ()
  }) {domain = [8], reduced = array<i64>} : (tensor<8xbf16>) -> tensor<8xf32>
  %1 = "graph.cumsum"(%0) {dim = 0 : i64} : (tensor<8xf32>) -> tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// What is rounded to a narrow type is not computed by others: they would read wide.
// CHECK-LABEL: func.func @rounded
// CHECK: "graph.yield"{{.*}} : (tensor<8xbf16>) -> ()
// CHECK: ^bb0({{.*}}: tensor<8xbf16>):
// CHECK-NEXT: "graph.neg"
func.func @rounded(%x: tensor<8xf32>) -> tensor<8xbf16> {
  %0 = "graph.fusion"(%x) ({
  ^bb0(%a: tensor<8xf32>):
    %h = "graph.exp"(%a) : (tensor<8xf32>) -> tensor<8xf32>
    %w = "graph.cast"(%h) : (tensor<8xf32>) -> tensor<8xbf16>
    "graph.yield"(%w) : (tensor<8xbf16>) -> ()
  }) {domain = [8], reduced = array<i64>} : (tensor<8xf32>) -> tensor<8xbf16>
  %1 = "graph.fusion"(%0) ({
  ^bb0(%a: tensor<8xbf16>):
    %n = "graph.neg"(%a) : (tensor<8xbf16>) -> tensor<8xbf16>
    "graph.yield"(%n) : (tensor<8xbf16>) -> ()
  }) {domain = [8], reduced = array<i64>} : (tensor<8xbf16>) -> tensor<8xbf16>
  return %1 : tensor<8xbf16>
}
