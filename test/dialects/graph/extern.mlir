// RUN: %girih-opt %s -o %t.mlir
// RUN: %girih-opt %t.mlir | diff %t.mlir -
// RUN: filecheck %s --input-file %t.mlir

// Calls of ATen ops: every kind of argument.

// CHECK-LABEL: @arguments
// CHECK: "graph.extern"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
func.func @arguments(%x: tensor<?x16xf32, ["s0"]>) {
  %0 = "graph.extern"(%x) {args = [{operand = 0 : i64}, {dim = "2*s0"}, 1 : i64, 1.5 : f64, true, unit, [1 : i64, {operand = 0 : i64}]], kwargs = {device = {device = "cpu"}, dtype = {dtype = "float32"}, layout = {layout = "strided"}, memory_format = {memory_format = "contiguous_format"}, name = {str = "x"}, z = {complex = [1.0 : f64, 2.0 : f64]}}, op = "aten.foo.default"} : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  return
}

// CHECK-LABEL: @several_results
// CHECK: "graph.extern"(%{{.*}}, %{{.*}}){{.*}}-> (tensor<?x16xf32, ["s0"]>, tensor<16xf32>)
func.func @several_results(%x: tensor<?x16xf32, ["s0"]>, %y: tensor<?x16xf32, ["s0"]>) {
  %0:2 = "graph.extern"(%x, %y) {args = [[{operand = 0 : i64}, {operand = 1 : i64}]], kwargs = {}, op = "aten.bar.out", strides = [[1, "s0"], [1]]} : (tensor<?x16xf32, ["s0"]>, tensor<?x16xf32, ["s0"]>) -> (tensor<?x16xf32, ["s0"]>, tensor<16xf32>)
  return
}

// CHECK-LABEL: @effects
// CHECK: "graph.extern"(){{.*}}-> tensor<16xf32>
func.func @effects() {
  %0 = "graph.extern"() {args = [], effects, kwargs = {}, op = "aten.rand.default"} : () -> tensor<16xf32>
  return
}
