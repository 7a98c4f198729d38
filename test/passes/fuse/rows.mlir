// RUN: %girih-opt --pass-pipeline="print-fusion-plan" %s | filecheck %s
// RUN: %girih-opt --pass-pipeline="print-fusion-plan{small-row=5120}" %s \
// RUN:   | filecheck %s --check-prefix HELD

// Two rows are too few for a kernel that waits for their sums, unless one processor
// holds a row anyway.

// CHECK: fusion 1 does not join fusion 0, whose reduce_sum it reads: fewer rows
// HELD: fusion 0: [2, 5120] reduced [1] {reduce_sum' mul} -> mul
func.func @two_rows(%x: tensor<2x5120xf32>) -> tensor<2x5120xf32> {
  %0 = "graph.reduce_sum"(%x) {dims = array<i64: 1>}
      : (tensor<2x5120xf32>) -> tensor<2x1xf32>
  %1 = "graph.mul"(%x, %0)
      : (tensor<2x5120xf32>, tensor<2x1xf32>) -> tensor<2x5120xf32>
  return %1 : tensor<2x5120xf32>
}
