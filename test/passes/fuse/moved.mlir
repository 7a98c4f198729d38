// RUN: %girih-opt --print-fusion-plan %s | filecheck %s
// RUN: %girih-opt --pass-pipeline="print-fusion-plan{max-moved-ops=2}" %s \
// RUN:   | filecheck %s --check-prefix TWO
// RUN: %girih-opt --pass-pipeline="print-fusion-plan{max-recompute=1}" %s \
// RUN:   | filecheck %s --check-prefix TWO

// A row that is scaled by its sum and read at another place, too. The scaling is
// computed again there, so that the row is not stored: two ops at each of two places.

// CHECK: fusion 0: [64, 20] reduced [1] {reduce_sum' mul mul concat add} -> add
// TWO: fusion 0: [64, 20] reduced [1] {reduce_sum' mul mul} -> mul
// TWO: fusion 1: [64, 20] reduced [] {concat add} -> add
// TWO: fusion 1 does not join fusion 0, whose mul it reads
func.func @roll(%x: tensor<64x20xf32>, %w: tensor<20xf32>) -> tensor<64x20xf32> {
  %0 = "graph.reduce_sum"(%x) {dims = array<i64: 1>}
      : (tensor<64x20xf32>) -> tensor<64x1xf32>
  %1 = "graph.mul"(%x, %0)
      : (tensor<64x20xf32>, tensor<64x1xf32>) -> tensor<64x20xf32>
  %2 = "graph.mul"(%1, %w)
      : (tensor<64x20xf32>, tensor<20xf32>) -> tensor<64x20xf32>
  %3 = "graph.slice"(%2) {starts = array<i64: 0, 3>, steps = array<i64: 1, 1>}
      : (tensor<64x20xf32>) -> tensor<64x17xf32>
  %4 = "graph.slice"(%2) {starts = array<i64: 0, 0>, steps = array<i64: 1, 1>}
      : (tensor<64x20xf32>) -> tensor<64x3xf32>
  %5 = "graph.concat"(%3, %4) {dim = 1 : i64}
      : (tensor<64x17xf32>, tensor<64x3xf32>) -> tensor<64x20xf32>
  %6 = "graph.add"(%2, %5)
      : (tensor<64x20xf32>, tensor<64x20xf32>) -> tensor<64x20xf32>
  return %6 : tensor<64x20xf32>
}
