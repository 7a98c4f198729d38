// RUN: %girih-opt --print-fusion-plan %s | filecheck %s

// Why kernels that read each other's results are not one kernel.

// CHECK: fusion 1 does not join fusion 0, whose div it reads: they reduce different dims
// CHECK-SAME: ; a reduction is not computed again for each reader
// CHECK-NEXT: fusion 0
func.func @rows_and_columns(%x: tensor<64x1000xf32>) -> tensor<1x1000xf32> {
  %0 = "graph.exp"(%x) : (tensor<64x1000xf32>) -> tensor<64x1000xf32>
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 1>}
      : (tensor<64x1000xf32>) -> tensor<64x1xf32>
  %2 = "graph.div"(%0, %1)
      : (tensor<64x1000xf32>, tensor<64x1xf32>) -> tensor<64x1000xf32>
  %3 = "graph.reduce_sum"(%2) {dims = array<i64: 0>}
      : (tensor<64x1000xf32>) -> tensor<1x1000xf32>
  return %3 : tensor<1x1000xf32>
}

// The nearest case that is one kernel has no such line.
// CHECK: } -> exp
// CHECK-NEXT: func.return
// CHECK-NEXT: fusion 0
func.func @one_kernel(%x: tensor<64x1000xf32>) -> tensor<64x1xf32> {
  %0 = "graph.reduce_sum"(%x) {dims = array<i64: 1>}
      : (tensor<64x1000xf32>) -> tensor<64x1xf32>
  %1 = "graph.exp"(%0) : (tensor<64x1xf32>) -> tensor<64x1xf32>
  return %1 : tensor<64x1xf32>
}

// CHECK: graph.mm
// CHECK: fusion 1 does not join fusion 0, whose exp it reads: an op outside of the kernel
func.func @around_a_library_op(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>)
    -> tensor<64x64xf32> {
  %0 = "graph.exp"(%x) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = "graph.mm"(%0, %w)
      : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = "graph.add"(%0, %1)
      : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %2 : tensor<64x64xf32>
}

// CHECK: fusion 1 does not join fusion 0, whose sqrt it reads: fewer rows than
// CHECK-SAME: parallel-rows would wait for a reduction
func.func @one_large_row(%x: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %0 = "graph.reduce_sum"(%x) {dims = array<i64: 0, 1>}
      : (tensor<512x512xf32>) -> tensor<1x1xf32>
  %1 = "graph.sqrt"(%0) : (tensor<1x1xf32>) -> tensor<1x1xf32>
  %2 = "graph.div"(%x, %1)
      : (tensor<512x512xf32>, tensor<1x1xf32>) -> tensor<512x512xf32>
  return %2 : tensor<512x512xf32>
}

// CHECK: fusion 1 does not join fusion 0, whose argmax it reads: the value is the index
func.func @reduced_index(%x: tensor<16x4xf32>) -> tensor<16x1xf32> {
  %0 = "graph.argmax"(%x) {dim = 1 : i64} : (tensor<16x4xf32>) -> tensor<16x1xi64>
  %1 = "graph.gather"(%x, %0) {dim = 1 : i64}
      : (tensor<16x4xf32>, tensor<16x1xi64>) -> tensor<16x1xf32>
  return %1 : tensor<16x1xf32>
}
