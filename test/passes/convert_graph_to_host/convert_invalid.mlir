// RUN: girih-opt --convert-graph-to-host --split-input-file --verify-diagnostics %s

func.func @composite(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  // expected-error @+1 {{'graph.softmax' expected IR of level 'fused' (functions of fusions, library ops and primitives), which has no such op in 'func.func' (before pass 'convert-graph-to-host')}}
  %0 = "graph.softmax"(%x) {dim = 1} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// The message shows the op, although fusions in front of it were taken apart.
func.func @complex_product(%x: tensor<4x8xcomplex<f32>>, %y: tensor<4x8xf32>) -> (tensor<1x1xcomplex<f32>>, tensor<4x8xf32>) {
  %z = "graph.fusion"(%y) ({
  ^bb0(%a: tensor<4x8xf32>):
    %1 = "graph.exp"(%a) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "graph.yield"(%1) : (tensor<4x8xf32>) -> ()
  }) {domain = [4, 8], reduced = array<i64>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // expected-error @+1 {{'graph.reduce_prod' of complex numbers is computed over one dim, got 2}}
  %0 = "graph.reduce_prod"(%x) {dims = array<i64: 0, 1>} : (tensor<4x8xcomplex<f32>>) -> tensor<1x1xcomplex<f32>>
  return %0, %z : tensor<1x1xcomplex<f32>>, tensor<4x8xf32>
}
