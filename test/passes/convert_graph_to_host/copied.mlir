// RUN: girih-opt --split-input-file --convert-graph-to-host %s | filecheck %s

!b = tensor<4x8xbf16>
!f = tensor<4x8xf32>

// A kernel that reads an argument at each of its points also copies it.
// CHECK-LABEL: @copied(
// CHECK: host.launch
// CHECK-SAME: outputs = 2
// CHECK-NOT: host.launch
func.func @copied(%x: !b) -> (!f, !b {graph.saved}) {
  %0 = "graph.fusion"(%x) <{domain = [4, 8], reduced = array<i64>}> ({
  ^bb0(%own: !b):
    %1 = "graph.cast"(%own) : (!b) -> !f
    "graph.yield"(%1) : (!f) -> ()
  }) : (!b) -> !f
  return %0, %x : !f, !b
}

// -----

!b = tensor<8xbf16>
!f = tensor<4x8xf32>

// This one reads each element four times.
// CHECK-LABEL: @repeated(
// CHECK: host.launch
// CHECK-SAME: outputs = 1
// CHECK: host.launch
// CHECK-SAME: outputs = 1
func.func @repeated(%x: !f, %y: !b) -> (!f, !b {graph.saved}) {
  %0 = "graph.fusion"(%x, %y) <{domain = [4, 8], reduced = array<i64>}> ({
  ^bb0(%a: !f, %b: !b):
    %1 = "graph.cast"(%b) : (!b) -> tensor<8xf32>
    %2 = "graph.add"(%a, %1) : (!f, tensor<8xf32>) -> !f
    "graph.yield"(%2) : (!f) -> ()
  }) : (!f, !b) -> !f
  return %0, %y : !f, !b
}

// -----

!b = tensor<4x8xbf16>
!f = tensor<4x8xf32>

// The caller gets the argument itself: nothing is copied.
// CHECK-LABEL: @shared(
// CHECK: host.launch
// CHECK-SAME: outputs = 1
// CHECK-NOT: host.launch
func.func @shared(%x: !b) -> (!f, !b {graph.storage = "arg0"}) {
  %0 = "graph.fusion"(%x) <{domain = [4, 8], reduced = array<i64>}> ({
  ^bb0(%own: !b):
    %1 = "graph.cast"(%own) : (!b) -> !f
    "graph.yield"(%1) : (!f) -> ()
  }) : (!b) -> !f
  return %0, %x : !f, !b
}

// -----

!b = tensor<4x8xbf16>
!f = tensor<4x8xf32>

// A result that is returned twice is stored twice.
// CHECK-LABEL: @twice(
// CHECK: host.launch
// CHECK-SAME: outputs = 3
// CHECK-NOT: host.launch
func.func @twice(%x: !b) -> (!f, !f {graph.saved}, !f {graph.saved}) {
  %0 = "graph.fusion"(%x) <{domain = [4, 8], reduced = array<i64>}> ({
  ^bb0(%own: !b):
    %1 = "graph.cast"(%own) : (!b) -> !f
    "graph.yield"(%1) : (!f) -> ()
  }) : (!b) -> !f
  return %0, %0, %0 : !f, !f, !f
}
