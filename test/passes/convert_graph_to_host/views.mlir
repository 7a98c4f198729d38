// RUN: girih-opt --convert-graph-to-host --split-input-file %s | filecheck %s

!t = tensor<4x8xf32>
!v = tensor<32xf32>

// What eager returns as a view is named: one of what is not returned, of another
// result, of an argument. A buffer in another shape is not.
// CHECK-LABEL: func.func @main
// CHECK: "host.return"({{.*}}) {views = array<i64: 1, 2, 3>}
func.func @main(%x: !t) -> (!v, !v {graph.view}, !t {graph.storage = "out1"},
    !t {graph.storage = "arg0"}) {
  %1 = "graph.reshape"(%x) : (!t) -> !v
  %2 = "graph.reshape"(%x) : (!t) -> !v
  return %1, %2, %x, %x : !v, !v, !t, !t
}

// -----

!t = tensor<4x8xf32>

// What a node of autograd returns is no view, so that users may write to it.
// CHECK-LABEL: func.func @main
// CHECK: "host.return"({{[^)]*}}) :
func.func @main(%x: !t) -> (!t {graph.view}) attributes {host.differentiable} {
  %0 = "graph.fusion"(%x) ({
  ^bb0(%a: !t):
    %1 = "graph.exp"(%a) : (!t) -> !t
    "graph.yield"(%1) : (!t) -> ()
  }) {domain = [4, 8], reduced = array<i64>} : (!t) -> !t
  return %0 : !t
}
