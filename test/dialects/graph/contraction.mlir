// RUN: %girih-opt %s -o %t.mlir
// RUN: %girih-opt %t.mlir | diff %t.mlir -
// RUN: filecheck %s --input-file %t.mlir

// Contractions.

// CHECK-LABEL: @matrices
// CHECK: "graph.mm"(%{{.*}}, %{{.*}}){{.*}}-> tensor<?x8xf32, ["s0"]>
// CHECK: "graph.addmm"(%{{.*}}, %{{.*}}, %{{.*}}){{.*}}-> tensor<?x8xf32, ["s0"]>
func.func @matrices(%x: tensor<?x16xf32, ["s0"]>, %y: tensor<16x8xf32>, %b: tensor<8xf32>) {
  %0 = "graph.mm"(%x, %y) : (tensor<?x16xf32, ["s0"]>, tensor<16x8xf32>) -> tensor<?x8xf32, ["s0"]>
  %1 = "graph.addmm"(%b, %x, %y) {alpha = 1 : i64, beta = 1 : i64} : (tensor<8xf32>, tensor<?x16xf32, ["s0"]>, tensor<16x8xf32>) -> tensor<?x8xf32, ["s0"]>
  return
}

// CHECK-LABEL: @strides_of_the_result
// CHECK: "graph.mm"(%{{.*}}, %{{.*}}){{.*}}-> tensor<?x8xf32, ["s0"]>
func.func @strides_of_the_result(%x: tensor<?x16xf32, ["s0"]>, %y: tensor<16x8xf32>) {
  %0 = "graph.mm"(%x, %y) {strides = [[1, "s0"]]} : (tensor<?x16xf32, ["s0"]>, tensor<16x8xf32>) -> tensor<?x8xf32, ["s0"]>
  return
}

// CHECK-LABEL: @batches
// CHECK: "graph.bmm"(%{{.*}}, %{{.*}}){{.*}}-> tensor<2x3x5xf32>
// CHECK: "graph.baddbmm"(%{{.*}}, %{{.*}}, %{{.*}}){{.*}}-> tensor<2x3x5xf32>
func.func @batches(%x: tensor<2x3x4xf32>, %y: tensor<2x4x5xf32>, %b: tensor<5xf32>) {
  %0 = "graph.bmm"(%x, %y) : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  %1 = "graph.baddbmm"(%b, %x, %y) {alpha = 1 : i64, beta = 0.5 : f64} : (tensor<5xf32>, tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  return
}

// CHECK-LABEL: @linear
// CHECK: "graph.linear"(%{{.*}}, %{{.*}}, %{{.*}}){{.*}}-> tensor<?x8xf32, ["s0"]>
// CHECK: "graph.linear"(%{{.*}}, %{{.*}}){{.*}}-> tensor<?x8xf32, ["s0"]>
func.func @linear(%x: tensor<?x16xf32, ["s0"]>, %w: tensor<8x16xf32>, %b: tensor<8xf32>) {
  %0 = "graph.linear"(%x, %w, %b) : (tensor<?x16xf32, ["s0"]>, tensor<8x16xf32>, tensor<8xf32>) -> tensor<?x8xf32, ["s0"]>
  %1 = "graph.linear"(%x, %w) : (tensor<?x16xf32, ["s0"]>, tensor<8x16xf32>) -> tensor<?x8xf32, ["s0"]>
  return
}

// CHECK-LABEL: @convolution
// CHECK: "graph.convolution"(%{{.*}}, %{{.*}}, %{{.*}}){{.*}}-> tensor<?x8x16x16xf32, ["s0"]>
func.func @convolution(%x: tensor<?x3x32x32xf32, ["s0"]>, %w: tensor<8x3x3x3xf32>, %b: tensor<8xf32>) {
  %0 = "graph.convolution"(%x, %w, %b) {dilation = array<i64: 1, 1>, groups = 1 : i64, output_padding = [0, 0], padding = [1, 1], stride = array<i64: 2, 2>, transposed = false} : (tensor<?x3x32x32xf32, ["s0"]>, tensor<8x3x3x3xf32>, tensor<8xf32>) -> tensor<?x8x16x16xf32, ["s0"]>
  return
}

// CHECK-LABEL: @transposed_convolution
// CHECK: "graph.convolution"(%{{.*}}, %{{.*}}){{.*}}-> tensor<1x8x16xf32>
func.func @transposed_convolution(%x: tensor<1x3x8xf32>, %w: tensor<3x4x3xf32>) {
  %0 = "graph.convolution"(%x, %w) {dilation = array<i64: 1>, groups = 2 : i64, output_padding = [1], padding = [1], stride = array<i64: 2>, transposed = true} : (tensor<1x3x8xf32>, tensor<3x4x3xf32>) -> tensor<1x8x16xf32>
  return
}

// CHECK-LABEL: @attention
// CHECK: "graph.attention"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}){{.*}}-> (tensor<2x4x10x6xf32>, tensor<2x4x10xf32>)
// CHECK: "graph.attention"(%{{.*}}, %{{.*}}, %{{.*}}){{.*}}-> (tensor<2x4x10x6xf32>, tensor<2x4x10xf32>)
func.func @attention(%q: tensor<2x4x10x8xf32>, %k: tensor<2x4x12x8xf32>, %v: tensor<2x4x12x6xf32>, %m: tensor<10x12xf32>) {
  %0:2 = "graph.attention"(%q, %k, %v, %m) {causal = false, dropout = 0.0 : f64, scale = 0.125 : f64} : (tensor<2x4x10x8xf32>, tensor<2x4x12x8xf32>, tensor<2x4x12x6xf32>, tensor<10x12xf32>) -> (tensor<2x4x10x6xf32>, tensor<2x4x10xf32>)
  %1:2 = "graph.attention"(%q, %k, %v) {causal = true, dropout = 0.0 : f64, scale = 0.125 : f64} : (tensor<2x4x10x8xf32>, tensor<2x4x12x8xf32>, tensor<2x4x12x6xf32>) -> (tensor<2x4x10x6xf32>, tensor<2x4x10xf32>)
  return
}
