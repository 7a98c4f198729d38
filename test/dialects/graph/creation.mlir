// RUN: %girih-opt %s -o %t.mlir
// RUN: %girih-opt %t.mlir | diff %t.mlir -
// RUN: filecheck %s --input-file %t.mlir

// Constants in their widest form, whatever they are stored as.

// CHECK-LABEL: @constants
// CHECK: "graph.constant"(){{.*}}-> tensor<bf16>
// CHECK: "graph.constant"(){{.*}}-> tensor<ui8>
// CHECK: "graph.constant"(){{.*}}-> tensor<i1>
// CHECK: "graph.constant"(){{.*}}-> tensor<complex<f32>>
// CHECK: "graph.constant"(){{.*}}-> tensor<ui64>
func.func @constants() {
  %0 = "graph.constant"() {value = 2.5 : f64} : () -> tensor<bf16>
  %1 = "graph.constant"() {value = 3 : i64} : () -> tensor<ui8>
  %2 = "graph.constant"() {value = true} : () -> tensor<i1>
  %3 = "graph.constant"() {value = [1.0 : f64, -1.0 : f64]} : () -> tensor<complex<f32>>
  %4 = "graph.constant"() {value = 18446744073709551615 : ui64} : () -> tensor<ui64>
  return
}

// CHECK-LABEL: @not_a_number
// CHECK: "graph.constant"(){{.*}}-> tensor<f32>
func.func @not_a_number() {
  %0 = "graph.constant"() {value = 0x7FF8000000000000 : f64} : () -> tensor<f32>
  return
}

// CHECK-LABEL: @full
// CHECK: "graph.full"(){{.*}}-> tensor<?x16xf32, ["s0"]>
func.func @full() {
  %0 = "graph.full"() {value = 0 : i64} : () -> tensor<?x16xf32, ["s0"]>
  return
}

// CHECK-LABEL: @iota
// CHECK: "graph.iota"(){{.*}}-> tensor<?xi64, ["s0"]>
// CHECK: "graph.iota"(){{.*}}-> tensor<4xi64>
// CHECK: "graph.iota"(){{.*}}-> tensor<4xf32>
func.func @iota() {
  %0 = "graph.iota"() {start = 0 : i64, step = 1 : i64} : () -> tensor<?xi64, ["s0"]>
  %1 = "graph.iota"() {start = "s0", step = -1 : i64} : () -> tensor<4xi64>
  %2 = "graph.iota"() {start = 0.5 : f64, step = 0.25 : f64} : () -> tensor<4xf32>
  return
}

// CHECK-LABEL: @size
// CHECK: "graph.size"(){{.*}}-> tensor<i64>
func.func @size() {
  %0 = "graph.size"() {expr = "2*s0 + 1"} : () -> tensor<i64>
  return
}
