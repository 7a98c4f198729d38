// RUN: %girih-opt --print-partition %s | filecheck %s
// RUN: %girih-opt --print-partition=memory-budget=0 %s | filecheck %s --check-prefix=NONE

// CHECK: used as it is: argument 0, 16384 bytes
// CHECK: saved: mm, 16384 bytes
// CHECK: nothing is computed again
// CHECK: 16384 bytes are saved
// NONE: used as it is: argument 0, 16384 bytes
// NONE: computed again: mm
// NONE: 0 bytes are saved
func.func @main(%x: tensor<64x64xf32> {graph.kept, graph.requires_grad},
    %g: tensor<64x64xf32> {graph.cotangent = 0 : i64})
    -> (tensor<64x64xf32>, tensor<64x64xf32> {graph.gradient = 0 : i64}) {
  %0 = "graph.mm"(%x, %x) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = "graph.neg"(%0) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = "graph.mul"(%g, %0)
      : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = "graph.mul"(%2, %x)
      : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %1, %3 : tensor<64x64xf32>, tensor<64x64xf32>
}
