// RUN: %girih-opt --partition %s | filecheck %s

// An argument that the program writes is saved as it was before, as a copy.
// CHECK-LABEL: func.func @written
// CHECK-SAME: ([[X:%[a-z0-9]+]]: tensor<4xf32>,
// CHECK: return {{%.+}}, {{%.+}}, [[X]]
// CHECK-LABEL: func.func @written_backward
// CHECK-SAME: {graph.saved = "out2"}
func.func @written(%x: tensor<4xf32>, %y: tensor<4xf32> {graph.kept, graph.requires_grad},
    %g: tensor<4xf32> {graph.cotangent = 0 : i64})
    -> (tensor<4xf32>, tensor<4xf32> {graph.writes = 0 : i64},
        tensor<4xf32> {graph.gradient = 1 : i64}) {
  %0 = "graph.mul"(%y, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = "graph.neg"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "graph.mul"(%g, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// An argument keeps its layout, a number that it is one.
// CHECK-LABEL: func.func @described
// CHECK-LABEL: func.func @described_backward
// CHECK-SAME: tensor<2x4xf32> {graph.saved = "arg0", graph.strides = [1, 2]},
// CHECK-SAME: tensor<f64> {graph.number, graph.saved = "arg1"},
func.func @described(
    %x: tensor<2x4xf32> {graph.kept, graph.requires_grad, graph.strides = [1, 2]},
    %n: tensor<f64> {graph.number},
    %g: tensor<2x4xf32> {graph.cotangent = 0 : i64, graph.strides = [1, 2]})
    -> (tensor<2x4xf32> {graph.strides = [1, 2]},
        tensor<2x4xf32> {graph.gradient = 0 : i64, graph.strides = [1, 2]}) {
  %0 = "graph.cast"(%n) : (tensor<f64>) -> tensor<f32>
  %1 = "graph.mul"(%x, %x) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = "graph.mul"(%1, %0) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %3 = "graph.mul"(%g, %x) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %4 = "graph.mul"(%3, %0) : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  return %2, %4 : tensor<2x4xf32>, tensor<2x4xf32>
}

// Sizes are passed on as integers, whatever tensors are saved.
// CHECK-LABEL: func.func @symbolic
// CHECK-SAME: -> (tensor<?xf32, ["s0"]>, index {graph.saved, graph.size = "s0"})
// CHECK-LABEL: func.func @symbolic_backward
// CHECK-SAME: ({{%.+}}: index {graph.saved = "arg1", graph.symbol = "s1"},
// CHECK-SAME: {{%.+}}: index {graph.saved = "out1", graph.symbol = "s0"},
// CHECK-SAME: attributes {graph.symbols = {s0 = [2, 100], s1 = [2, 100]}}
func.func @symbolic(%x: tensor<?xf32, ["s0"]> {graph.kept, graph.requires_grad},
    %n: index {graph.symbol = "s1"},
    %g: tensor<?xf32, ["s0"]> {graph.cotangent = 0 : i64})
    -> (tensor<?xf32, ["s0"]>, tensor<?xf32, ["s0"]> {graph.gradient = 0 : i64})
    attributes {graph.symbols = {s0 = [2, 100], s1 = [2, 100]}} {
  %0 = "graph.neg"(%x) : (tensor<?xf32, ["s0"]>) -> tensor<?xf32, ["s0"]>
  %1 = "graph.neg"(%g) : (tensor<?xf32, ["s0"]>) -> tensor<?xf32, ["s0"]>
  return %0, %1 : tensor<?xf32, ["s0"]>, tensor<?xf32, ["s0"]>
}

// A gradient may be the cotangent, or another gradient. A function without gradients
// stays as it is.
// CHECK-LABEL: func.func @same_backward
// CHECK-SAME: ([[G:%.+]]: tensor<4xf32> {graph.cotangent = 0 : i64})
// CHECK-NEXT: return [[G]], [[G]]
func.func @same(%x: tensor<4xf32> {graph.kept, graph.requires_grad},
    %y: tensor<4xf32> {graph.kept, graph.requires_grad},
    %g: tensor<4xf32> {graph.cotangent = 0 : i64})
    -> (tensor<4xf32>, tensor<4xf32> {graph.gradient = 0 : i64},
        tensor<4xf32> {graph.gradient = 1 : i64}) {
  %0 = "graph.add"(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %g, %g : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
// CHECK-LABEL: func.func @no_gradients(
// CHECK-NOT: func.func
func.func @no_gradients(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "graph.neg"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// What a library op lays out in its own way is saved so.
// CHECK-LABEL: func.func @strided
// CHECK-SAME: tensor<4x4xf32> {graph.saved, graph.strides = [1, 4]}
// CHECK-LABEL: func.func @strided_backward
// CHECK-SAME: tensor<4x4xf32> {graph.saved = "out1", graph.strides = [1, 4]},
func.func @strided(%x: tensor<4x4xf32> {graph.kept, graph.requires_grad},
    %g: tensor<4x4xf32> {graph.cotangent = 0 : i64})
    -> (tensor<4x4xf32>, tensor<4x4xf32> {graph.gradient = 0 : i64}) {
  %0 = "graph.extern"(%x) {args = [{operand = 0 : i64}], kwargs = {},
      op = "aten.foo.default", strides = [[1, 4]]}
      : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = "graph.neg"(%0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = "graph.mul"(%g, %0) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1, %2 : tensor<4x4xf32>, tensor<4x4xf32>
}
