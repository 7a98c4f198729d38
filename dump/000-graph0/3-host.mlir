// RUN pipeline: girih-opt --pass-pipeline='tile{vector-bits=512}' %s
module {
  func.func @main(%arg0: !tile.buffer<f32, [4], [1]> {graph.name = "x"}) -> !tile.buffer<f32, [4], [1]> {
    %0 = host.alloc : !tile.buffer<f32, [4], [1]>
    host.native {
      host.launch %arg0, %0 kernel @k0_sin_add outputs 1 symbols [] : !tile.buffer<f32, [4], [1]>
    }
    host.return %0 : !tile.buffer<f32, [4], [1]>
  }
  tile.kernel @k0_sin_add symbols [] outputs 1 domain [4] reduced [] {
  ^bb0(%arg0: !tile.buffer<f32, [4], [1]>, %arg1: !tile.buffer<f32, [4], [1]>):
    %0 = tile.read %arg0 : (!tile.buffer<f32, [4], [1]>) -> tensor<4xf32>
    %1 = graph.sin %0 : tensor<4xf32>
    %2 = graph.constant value 1.000000e+00 : tensor<f32>
    %3 = graph.add %1, %2 : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    tile.write %3, %arg1 : (tensor<4xf32>, !tile.buffer<f32, [4], [1]>) -> ()
  }
}
