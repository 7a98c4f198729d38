// RUN pipeline: girih-opt --pass-pipeline='choose-convolution-layouts,recognize-attention,autograd,canonicalize-graph,decompose,canonicalize-graph,eliminate-common-subexpressions,separate-reductions,fuse' %s
module {
  func.func @main(%arg0: tensor<4xf32> {graph.name = "x"}) -> tensor<4xf32> {
    %0 = graph.sin %arg0 : tensor<4xf32>
    %1 = graph.constant value 1.000000e+00 : tensor<f32>
    %2 = graph.add %0, %1 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    return %2 : tensor<4xf32>
  }
}
