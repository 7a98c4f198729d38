// RUN: %girih-opt --partition %s | filecheck %s --check-prefix=CPU
// RUN: %girih-opt --partition=target=gpu %s | filecheck %s --check-prefix=GPU

// A GPU has more arithmetic for each byte: there a function is computed again from what
// lies in memory anyway, on a CPU its values are saved.
// CPU-LABEL: func.func @function
// CPU: [[ERF:%.+]] = "graph.erf"
// CPU: return {{%.+}}, [[ERF]] : tensor<64xf32>, tensor<64x64xf32>
// CPU-LABEL: func.func @function_backward
// CPU-NOT: graph.erf
// GPU-LABEL: func.func @function
// GPU: [[Y:%.+]] = "graph.mm"
// GPU: return {{%.+}}, [[Y]] : tensor<64xf32>, tensor<64x64xf32>
// GPU-LABEL: func.func @function_backward
// GPU: graph.erf
func.func @function(%x: tensor<64x64xf32> {graph.requires_grad},
    %g: tensor<64xf32> {graph.cotangent = 0 : i64})
    -> (tensor<64xf32>, tensor<64x64xf32> {graph.gradient = 0 : i64}) {
  %0 = "graph.mm"(%x, %x) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = "graph.erf"(%0) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = "graph.reduce_sum"(%1) {dims = array<i64: 0>} : (tensor<64x64xf32>) -> tensor<1x64xf32>
  %3 = "graph.reshape"(%2) : (tensor<1x64xf32>) -> tensor<64xf32>
  %4 = "graph.mul"(%g, %1) : (tensor<64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %3, %4 : tensor<64xf32>, tensor<64x64xf32>
}
