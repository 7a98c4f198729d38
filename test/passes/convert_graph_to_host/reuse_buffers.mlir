// RUN: girih-opt --convert-graph-to-host=reuse-buffers=true --split-input-file %s | filecheck %s
// RUN: girih-opt --convert-graph-to-host --split-input-file %s | filecheck %s --check-prefix=FRESH

!t = tensor<4x8xf32>

// A kernel writes over what it is the last to read: here a product.
// CHECK-LABEL: func.func @product
// CHECK: [[P:%[0-9]+]] = "host.extern"({{.*}} op = "aten.mm.default"}
// CHECK-NEXT: "host.launch"([[P]], [[P]])
// CHECK-NEXT: "host.return"([[P]])
// FRESH-LABEL: func.func @product
// FRESH: [[P:%[0-9]+]] = "host.extern"({{.*}} op = "aten.mm.default"}
// FRESH: "host.launch"([[P]], [[Y:%[0-9]+]])
// FRESH: "host.return"([[Y]])
func.func @product(%x: tensor<4x3xf32>, %y: tensor<3x8xf32>) -> !t {
  %0 = "graph.mm"(%x, %y) : (tensor<4x3xf32>, tensor<3x8xf32>) -> !t
  %1 = "graph.fusion"(%0) ({
  ^bb0(%a: !t):
    %2 = "graph.exp"(%a) : (!t) -> !t
    "graph.yield"(%2) : (!t) -> ()
  }) {domain = [4, 8], reduced = array<i64>} : (!t) -> !t
  return %1 : !t
}

// -----

!t = tensor<4x8xf32>
!v = tensor<2x2x8xf32>

// Also under another shape, beside sums of what is written, and in turn.
// CHECK-LABEL: func.func @sum
// CHECK: [[P:%[0-9]+]] = "host.extern"({{.*}} op = "aten.mm.default"}
// CHECK: [[V:%[0-9]+]] = "host.view"([[P]])
// CHECK: "host.launch"([[P]], %arg2, [[V]], {{%[0-9]+}})
// CHECK: "host.launch"([[V]], [[V]])
// CHECK: "host.return"([[V]]
func.func @sum(%x: tensor<4x3xf32>, %y: tensor<3x8xf32>, %z: !v)
    -> (!v, tensor<1x1x8xf32>) {
  %0 = "graph.mm"(%x, %y) : (tensor<4x3xf32>, tensor<3x8xf32>) -> !t
  %1:2 = "graph.fusion"(%0, %z) ({
  ^bb0(%a: !t, %b: !v):
    %2 = "graph.reshape"(%a) : (!t) -> !v
    %3 = "graph.mul"(%2, %b) : (!v, !v) -> !v
    %4 = "graph.reduce_sum"(%3) {dims = array<i64: 0, 1>} : (!v) -> tensor<1x1x8xf32>
    "graph.yield"(%3, %4) : (!v, tensor<1x1x8xf32>) -> ()
  }) {domain = [2, 2, 8], reduced = array<i64: 0, 1>} : (!t, !v) -> (!v, tensor<1x1x8xf32>)
  %5 = "graph.fusion"(%1#0) ({
  ^bb0(%a: !v):
    %6 = "graph.exp"(%a) : (!v) -> !v
    "graph.yield"(%6) : (!v) -> ()
  }) {domain = [2, 2, 8], reduced = array<i64>} : (!v) -> !v
  return %5, %1#1 : !v, tensor<1x1x8xf32>
}

// -----

!t = tensor<4x8xf32>
!s = tensor<4x1xf32>

// Not where the kernel walks over its domain twice: it reads again what it has written.
// CHECK-LABEL: func.func @two_walks
// CHECK: [[P:%[0-9]+]] = "host.extern"
// CHECK: [[Y:%[0-9]+]] = "host.alloc"
// CHECK: "host.launch"([[P]], [[Y]])
func.func @two_walks(%x: tensor<4x3xf32>, %y: tensor<3x8xf32>) -> !t {
  %0 = "graph.mm"(%x, %y) : (tensor<4x3xf32>, tensor<3x8xf32>) -> !t
  %1 = "graph.fusion"(%0) ({
  ^bb0(%a: !t):
    %2 = "graph.reduce_sum"(%a) {dims = array<i64: 1>} : (!t) -> !s
    %3 = "graph.sub"(%a, %2) : (!t, !s) -> !t
    "graph.yield"(%3) : (!t) -> ()
  }) {domain = [4, 8], reduced = array<i64: 1>} : (!t) -> !t
  return %1 : !t
}

// -----

!t = tensor<4x8xf32>
!s = tensor<4x1xf32>

// Nor where one result is written in the first walk, and another one in the second.
// CHECK-LABEL: func.func @result_of_each_walk
// CHECK: [[P:%[0-9]+]] = "host.extern"
// CHECK: [[Y:%[0-9]+]] = "host.alloc"
// CHECK: [[Z:%[0-9]+]] = "host.alloc"
// CHECK: "host.launch"([[P]], [[Y]], [[Z]])
func.func @result_of_each_walk(%x: tensor<4x3xf32>, %y: tensor<3x8xf32>) -> (!t, !t) {
  %0 = "graph.mm"(%x, %y) : (tensor<4x3xf32>, tensor<3x8xf32>) -> !t
  %1:2 = "graph.fusion"(%0) ({
  ^bb0(%a: !t):
    %2 = "graph.exp"(%a) : (!t) -> !t
    %3 = "graph.reduce_sum"(%a) {dims = array<i64: 1>} : (!t) -> !s
    %4 = "graph.sub"(%a, %3) : (!t, !s) -> !t
    "graph.yield"(%2, %4) : (!t, !t) -> ()
  }) {domain = [4, 8], reduced = array<i64: 1>} : (!t) -> (!t, !t)
  return %1#0, %1#1 : !t, !t
}

// -----

!t = tensor<8x8xf32>

// Nor where a point reads another one, an argument is read, or something reads later.
// CHECK-LABEL: func.func @turned
// CHECK: [[P:%[0-9]+]] = "host.extern"
// CHECK: [[Y:%[0-9]+]] = "host.alloc"
// CHECK: "host.launch"([[P]], [[Y]])
func.func @turned(%x: tensor<8x3xf32>, %y: tensor<3x8xf32>) -> !t {
  %0 = "graph.mm"(%x, %y) : (tensor<8x3xf32>, tensor<3x8xf32>) -> !t
  %1 = "graph.fusion"(%0) ({
  ^bb0(%a: !t):
    %2 = "graph.permute"(%a) {permutation = array<i64: 1, 0>} : (!t) -> !t
    %3 = "graph.exp"(%2) : (!t) -> !t
    "graph.yield"(%3) : (!t) -> ()
  }) {domain = [8, 8], reduced = array<i64>} : (!t) -> !t
  return %1 : !t
}

// -----

!t = tensor<8x8xf32>

// CHECK-LABEL: func.func @argument
// CHECK: [[Y:%[0-9]+]] = "host.alloc"
// CHECK: "host.launch"(%arg0, [[Y]])
func.func @argument(%x: !t {graph.donated}) -> !t {
  %0 = "graph.fusion"(%x) ({
  ^bb0(%a: !t):
    %1 = "graph.exp"(%a) : (!t) -> !t
    "graph.yield"(%1) : (!t) -> ()
  }) {domain = [8, 8], reduced = array<i64>} : (!t) -> !t
  return %0 : !t
}

// -----

!t = tensor<8x8xf32>

// CHECK-LABEL: func.func @read_later
// CHECK: [[P:%[0-9]+]] = "host.extern"
// CHECK: [[Y:%[0-9]+]] = "host.alloc"
// CHECK: "host.launch"([[P]], [[Y]])
// CHECK: "host.return"([[P]], [[Y]])
func.func @read_later(%x: tensor<8x3xf32>, %y: tensor<3x8xf32>) -> (!t, !t) {
  %0 = "graph.mm"(%x, %y) : (tensor<8x3xf32>, tensor<3x8xf32>) -> !t
  %1 = "graph.fusion"(%0) ({
  ^bb0(%a: !t):
    %2 = "graph.exp"(%a) : (!t) -> !t
    "graph.yield"(%2) : (!t) -> ()
  }) {domain = [8, 8], reduced = array<i64>} : (!t) -> !t
  return %0, %1 : !t, !t
}

// -----

// Also over what a library call made, where it never returns a view.
// CHECK-LABEL: func.func @call
// CHECK: [[P:%[0-9]+]] = "host.extern"({{.*}} op = "aten.im2col.default"}
// CHECK-NEXT: "host.launch"([[P]], [[P]])
// CHECK-NEXT: "host.return"([[P]])
func.func @call(%x: tensor<1x5x5xf32>) -> tensor<4x16xf32> {
  %0 = "graph.extern"(%x) {op = "aten.im2col.default", args = [{operand = 0}, [2, 2], [1, 1], [0, 0], [1, 1]], kwargs = {}} : (tensor<1x5x5xf32>) -> tensor<4x16xf32>
  %1 = "graph.fusion"(%0) ({
  ^bb0(%a: tensor<4x16xf32>):
    %2 = "graph.exp"(%a) : (tensor<4x16xf32>) -> tensor<4x16xf32>
    "graph.yield"(%2) : (tensor<4x16xf32>) -> ()
  }) {domain = [4, 16], reduced = array<i64>} : (tensor<4x16xf32>) -> tensor<4x16xf32>
  return %1 : tensor<4x16xf32>
}

// -----

!t = tensor<4x8xf32>

// CHECK-LABEL: func.func @call_of_a_view
// CHECK: [[P:%[0-9]+]] = "host.extern"({{.*}} op = "aten.contiguous.default"}
// CHECK: [[Y:%[0-9]+]] = "host.alloc"
// CHECK: "host.launch"([[P]], [[Y]])
func.func @call_of_a_view(%x: !t) -> !t {
  %0 = "graph.extern"(%x) {op = "aten.contiguous.default", args = [{operand = 0}], kwargs = {}} : (!t) -> !t
  %1 = "graph.fusion"(%0) ({
  ^bb0(%a: !t):
    %2 = "graph.exp"(%a) : (!t) -> !t
    "graph.yield"(%2) : (!t) -> ()
  }) {domain = [4, 8], reduced = array<i64>} : (!t) -> !t
  return %1 : !t
}
