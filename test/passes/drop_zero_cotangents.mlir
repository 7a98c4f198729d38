// RUN: %girih-opt --drop-zero-cotangents=cotangents=1,3 %s | filecheck %s

// Products with zero are zero, sums with zero are the other operand; what only they
// read is no argument any more.
// CHECK-LABEL: func.func @sum
// CHECK-SAME: ([[X:%.+]]: tensor<4xf32> {graph.saved = "arg0"},
// CHECK-SAME: [[G:%.+]]: tensor<4xf32> {graph.cotangent = 0 : i64})
// CHECK-NEXT: [[DX:%.+]] = "graph.mul"([[G]], [[X]])
// CHECK-NEXT: return [[DX]]
func.func @sum(%x: tensor<4xf32> {graph.saved = "arg0"},
    %y: tensor<4xf32> {graph.saved = "out2"},
    %g: tensor<4xf32> {graph.cotangent = 0 : i64},
    %h: tensor<4xf32> {graph.cotangent = 1 : i64})
    -> (tensor<4xf32> {graph.gradient = 0 : i64}) {
  %0 = "graph.mul"(%g, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = "graph.mul"(%h, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = "graph.add"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// The gradient of what only the dropped results depend on is no result; arguments that
// are sizes stay.
// CHECK-LABEL: func.func @zero
// CHECK-SAME: ({{%.+}}: index {graph.saved = "out1", graph.symbol = "s0"})
// CHECK-SAME: -> (tensor<?x4xf32, ["s0"]> {graph.gradient = 1 : i64, graph.reached_by = array<i64: 2, 3>})
// CHECK-NEXT: [[DY:%.+]] = "graph.full"() {value = 1.000000e+00 : f64}
// CHECK-NEXT: return [[DY]]
func.func @zero(%n: index {graph.saved = "out1", graph.symbol = "s0"},
    %w: tensor<4x4xf32> {graph.saved = "arg1"},
    %h: tensor<?x4xf32, ["s0"]> {graph.cotangent = 3 : i64})
    -> (tensor<?x4xf32, ["s0"]> {graph.gradient = 0 : i64, graph.reached_by = array<i64: 3>},
        tensor<?x4xf32, ["s0"]> {graph.gradient = 1 : i64, graph.reached_by = array<i64: 2, 3>}) {
  %0 = "graph.mm"(%h, %w)
      : (tensor<?x4xf32, ["s0"]>, tensor<4x4xf32>) -> tensor<?x4xf32, ["s0"]>
  %1 = "graph.full"() {value = 1.0 : f64} : () -> tensor<?x4xf32, ["s0"]>
  return %0, %1 : tensor<?x4xf32, ["s0"]>, tensor<?x4xf32, ["s0"]>
}

// What another result depends on has a gradient, though it is zero: eager has zeros.
// CHECK-LABEL: func.func @reached
// CHECK-SAME: -> (tensor<4xf32> {graph.gradient = 0 : i64})
// CHECK-NEXT: [[ZERO:%.+]] = "graph.full"() {value = 0.000000e+00 : f64}
// CHECK-NEXT: return [[ZERO]]
func.func @reached(%w: tensor<4xf32> {graph.saved = "arg1"},
    %g: tensor<4xf32> {graph.cotangent = 0 : i64},
    %h: tensor<4xf32> {graph.cotangent = 1 : i64})
    -> (tensor<4xf32> {graph.gradient = 0 : i64}) {
  %0 = "graph.mul"(%h, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// Where the other operand is smaller it is broadcast.
// CHECK-LABEL: func.func @broadcast
// CHECK-SAME: ([[G:%.+]]: tensor<4xf32> {graph.cotangent = 0 : i64})
// CHECK: [[DX:%.+]] = "graph.broadcast_to"([[G]]) : (tensor<4xf32>) -> tensor<3x4xf32>
// CHECK: return [[DX]]
func.func @broadcast(%g: tensor<4xf32> {graph.cotangent = 0 : i64},
    %h: tensor<3x4xf32> {graph.cotangent = 1 : i64})
    -> (tensor<3x4xf32> {graph.gradient = 0 : i64}) {
  %0 = "graph.add"(%h, %g) : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// An op that is not linear computes with zeros.
// CHECK-LABEL: func.func @not_linear
// CHECK: [[ZERO:%.+]] = "graph.full"
// CHECK: [[DX:%.+]] = "graph.cos"([[ZERO]])
// CHECK: return [[DX]]
func.func @not_linear(%h: tensor<4xf32> {graph.cotangent = 1 : i64})
    -> (tensor<4xf32> {graph.gradient = 0 : i64}) {
  %0 = "graph.cos"(%h) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// Other cotangents stay.
// CHECK-LABEL: func.func @others
// CHECK-SAME: ([[G:%.+]]: tensor<4xf32> {graph.cotangent = 0 : i64})
// CHECK: "graph.neg"([[G]])
func.func @others(%g: tensor<4xf32> {graph.cotangent = 0 : i64})
    -> (tensor<4xf32> {graph.gradient = 0 : i64}) {
  %0 = "graph.neg"(%g) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// The derivative of attention is linear in the gradient of its result.
// CHECK-LABEL: func.func @attention
// CHECK-NOT: flash_attention
// CHECK: return
func.func @attention(%q: tensor<1x1x4x16xf32> {graph.saved = "arg0"}, %l: tensor<1x1x4xf32> {graph.saved = "out1"},
    %h: tensor<1x1x4x16xf32> {graph.cotangent = 1 : i64})
    -> (tensor<1x1x4x16xf32> {graph.gradient = 0 : i64}) {
  %0:3 = "graph.flash_attention_backward"(%h, %q, %q, %q, %l, %l, %l) ({
  ^bb0(%s: tensor<1x1x4x4xf32>, %d: tensor<1x1x4x4xf32>):
    "graph.yield"(%s, %d) : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>) -> ()
  }) : (tensor<1x1x4x16xf32>, tensor<1x1x4x16xf32>, tensor<1x1x4x16xf32>, tensor<1x1x4x16xf32>, tensor<1x1x4xf32>, tensor<1x1x4xf32>, tensor<1x1x4xf32>) -> (tensor<1x1x4x16xf32>, tensor<1x1x4x16xf32>, tensor<1x1x4x16xf32>)
  return %0#0 : tensor<1x1x4x16xf32>
}
