// RUN: %girih-opt --pass-pipeline='print-fusion-plan' %s | filecheck %s
// RUN: %girih-opt --pass-pipeline='print-fusion-plan{max-inputs=2}' %s | filecheck %s --check-prefix=FEW

// Members after * are computed where they are read, those after ' once a row.
// CHECK: fusion 0: [64, 32] reduced [1] {exp* add add reduce_sum'} -> reduce_sum
// CHECK-NEXT: func.return

// FEW: fusion 0: [64, 32] reduced [] {exp* add} -> add
// FEW-NEXT: fusion 1: [64, 32] reduced [1] {add reduce_sum'} -> reduce_sum
// FEW-NEXT: func.return
// FEW-NEXT: fusion 1 does not join fusion 0, whose add it reads: the kernel would read
func.func @three_inputs(%x: tensor<64x32xf32>, %y: tensor<32x64xf32>,
    %z: tensor<64x32xf32>) -> tensor<64x1xf32> {
  %0 = "graph.exp"(%y) : (tensor<32x64xf32>) -> tensor<32x64xf32>
  %1 = "graph.permute"(%0) {permutation = array<i64: 1, 0>}
      : (tensor<32x64xf32>) -> tensor<64x32xf32>
  %2 = "graph.add"(%x, %1) : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %3 = "graph.add"(%2, %z) : (tensor<64x32xf32>, tensor<64x32xf32>) -> tensor<64x32xf32>
  %4 = "graph.reduce_sum"(%3) {dims = array<i64: 1>}
      : (tensor<64x32xf32>) -> tensor<64x1xf32>
  return %4 : tensor<64x1xf32>
}
