// RUN: %girih-opt %s -o %t.mlir
// RUN: %girih-opt %t.mlir | diff %t.mlir -
// RUN: filecheck %s --input-file %t.mlir

// A function's contract with the runtime: every attribute there is.

// CHECK-LABEL: @main
// CHECK-SAME: graph.name = "x", graph.strides = [1, "s0"]
// CHECK-SAME: graph.static
// CHECK-SAME: graph.symbol = "s0"
// CHECK-SAME: graph.number
// CHECK-SAME: graph.offset = 4 : i64, graph.storage = "arg1", graph.strides = [32, 1]
// CHECK-SAME: graph.writes = 1 : i64
// CHECK-SAME: graph.size = "2*s0"
// CHECK-SAME: graph.symbols = {s0 = [2, 9223372036854775807]}
func.func @main(
    %x: tensor<?x16xf32, ["s0"]> {graph.name = "x", graph.strides = [1, "s0"]},
    %w: tensor<16x16xf32> {graph.static},
    %n: index {graph.symbol = "s0"},
    %p: tensor<f64> {graph.number})
    -> (tensor<8x8xf32> {graph.storage = "arg1", graph.offset = 4, graph.strides = [32, 1]},
        tensor<16x16xf32> {graph.writes = 1},
        index {graph.size = "2*s0"})
    attributes {graph.symbols = {s0 = [2, 9223372036854775807]}} {
  %0 = "graph.slice"(%w) {starts = [0, 0], steps = array<i64: 2, 1>} : (tensor<16x16xf32>) -> tensor<8x8xf32>
  %1 = arith.addi %n, %n : index
  return %0, %w, %1 : tensor<8x8xf32>, tensor<16x16xf32>, index
}
