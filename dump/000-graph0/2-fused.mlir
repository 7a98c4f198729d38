// RUN pipeline: girih-opt --pass-pipeline='select-products{library=onednn},convert-graph-to-host{reuse-buffers=true},share-flat-kernels,group-launches{cut-bytes=65536},plan-memory' %s
module {
  func.func @main(%arg0: tensor<4xf32> {graph.name = "x"}) -> tensor<4xf32> {
    %0 = graph.fusion %arg0 domain [4] reduced [] : tensor<4xf32> {
    ^bb0(%arg1: tensor<4xf32>):
      %1 = graph.cos %arg1 : tensor<4xf32>
      %2 = graph.constant value 1.000000e+00 : tensor<f32>
      %3 = graph.add %1, %2 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
      graph.yield %3 : tensor<4xf32>
    }
    return %0 : tensor<4xf32>
  }
}
