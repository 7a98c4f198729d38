// RUN: girih-opt --convert-graph-to-host --split-input-file --verify-diagnostics %s

// The message shows the op, although fusions in front of it were taken apart.
func.func @composite(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = "graph.fusion"(%x) ({
  ^bb0(%a: tensor<4x8xf32>):
    %1 = "graph.exp"(%a) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "graph.yield"(%1) : (tensor<4x8xf32>) -> ()
  }) {domain = [4, 8], reduced = array<i64>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-error @+1 {{'graph.softmax' has no rule that calls an ATen op for it}}
  %0 = "graph.softmax"(%y) {dim = 1} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

func.func @complex_product(%x: tensor<4x8xcomplex<f32>>) -> tensor<1x1xcomplex<f32>> {
  // expected-error @+1 {{'graph.reduce_prod' of complex numbers is computed over one dim, got 2}}
  %0 = "graph.reduce_prod"(%x) {dims = array<i64: 0, 1>} : (tensor<4x8xcomplex<f32>>) -> tensor<1x1xcomplex<f32>>
  return %0 : tensor<1x1xcomplex<f32>>
}
