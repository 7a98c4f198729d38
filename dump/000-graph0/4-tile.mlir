// RUN pipeline: girih-opt --pass-pipeline='expand-math{vector-bits=512},convert-tile-to-cpu{vector-bits=512},hold-bfloat16-as-bits,canonicalize,cse,convert-scf-to-cf,convert-vector-to-llvm{reassociate-fp-reductions=true},convert-math-to-llvm,arith-expand,convert-arith-to-llvm,convert-openmp-to-llvm,convert-cf-to-llvm,convert-ub-to-llvm,reconcile-unrealized-casts' %s
module {
  func.func @main(%arg0: !tile.buffer<f32, [4], [1]> {graph.name = "x"}) -> !tile.buffer<f32, [4], [1]> {
    %0 = host.alloc : !tile.buffer<f32, [4], [1]>
    host.native {
      host.launch %arg0, %0 kernel @k0_sin_add outputs 1 symbols [] : !tile.buffer<f32, [4], [1]>
    }
    host.return %0 : !tile.buffer<f32, [4], [1]>
  }
  tile.kernel @k0_sin_add symbols [] outputs 1 domain [4] reduced [] schedule "flat: 4 points, 16 lanes along d0 of 4" {
  ^bb0(%arg0: !tile.buffer<f32, [4], [1]>, %arg1: !tile.buffer<f32, [4], [1]>):
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c32768 = arith.constant 32768 : index
    %cst = arith.constant 1.000000e+00 : f32
    %0 = vector.broadcast %cst : f32 to vector<16xf32>
    tile.grid %c1, %c4 : index {
    ^bb0(%arg2: index):
      %1 = arith.muli %arg2, %c32768 : index
      %2 = arith.addi %1, %c32768 : index
      %3 = arith.minsi %2, %c4 : index
      tile.loop %1, %3 width 16 unroll 1 : index {
      ^bb0(%arg3: index, %arg4: vector<16xi1>):
        %4 = tile.load %arg0, %arg3 strides(%c1) masks(%arg4) : (!tile.buffer<f32, [4], [1]>, index, index, vector<16xi1>) -> vector<16xf32>
        %5 = math.sin %4 : vector<16xf32>
        %6 = arith.addf %5, %0 : vector<16xf32>
        tile.store %6, %arg1, %arg3 strides(%c1) masks(%arg4) : (vector<16xf32>, !tile.buffer<f32, [4], [1]>, index, index, vector<16xi1>) -> ()
        tile.yield
      }
    }
  }
}
