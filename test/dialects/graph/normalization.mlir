// RUN: %girih-opt %s -o %t.mlir
// RUN: %girih-opt %t.mlir | diff %t.mlir -
// RUN: filecheck %s --input-file %t.mlir

// Normalisations, with and without parameters.

// CHECK-LABEL: @softmax
// CHECK: "graph.softmax"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.log_softmax"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
func.func @softmax(%x: tensor<?x16xf32, ["s0"]>) {
  %0 = "graph.softmax"(%x) {dim = 1 : i64} : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %1 = "graph.log_softmax"(%x) {dim = 0 : i64} : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  return
}

// CHECK-LABEL: @layer_norm
// CHECK: "graph.layer_norm"(%{{.*}}, %{{.*}}, %{{.*}}){{.*}}-> (tensor<?x16xf32, ["s0"]>, tensor<?x1xf32, ["s0"]>, tensor<?x1xf32, ["s0"]>)
// CHECK: "graph.layer_norm"(%{{.*}}){{.*}}-> (tensor<?x16xf32, ["s0"]>, tensor<?x1xf32, ["s0"]>, tensor<?x1xf32, ["s0"]>)
func.func @layer_norm(%x: tensor<?x16xf32, ["s0"]>, %w: tensor<16xf32>) {
  %0:3 = "graph.layer_norm"(%x, %w, %w) {eps = 1.0e-05 : f64, normalized_rank = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<?x16xf32, ["s0"]>, tensor<16xf32>, tensor<16xf32>) -> (tensor<?x16xf32, ["s0"]>, tensor<?x1xf32, ["s0"]>, tensor<?x1xf32, ["s0"]>)
  %1:3 = "graph.layer_norm"(%x) {eps = 1.0e-05 : f64, normalized_rank = 1 : i64, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<?x16xf32, ["s0"]>) -> (tensor<?x16xf32, ["s0"]>, tensor<?x1xf32, ["s0"]>, tensor<?x1xf32, ["s0"]>)
  return
}

// CHECK-LABEL: @statistics_in_f32
// CHECK: "graph.layer_norm"(%{{.*}}){{.*}}-> (tensor<4x16xbf16>, tensor<4x1xf32>, tensor<4x1xf32>)
func.func @statistics_in_f32(%x: tensor<4x16xbf16>) {
  %0:3 = "graph.layer_norm"(%x) {eps = 1.0e-05 : f64, normalized_rank = 1 : i64, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<4x16xbf16>) -> (tensor<4x16xbf16>, tensor<4x1xf32>, tensor<4x1xf32>)
  return
}

// CHECK-LABEL: @rms_norm
// CHECK: "graph.rms_norm"(%{{.*}}, %{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.rms_norm"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
func.func @rms_norm(%x: tensor<?x16xf32, ["s0"]>, %w: tensor<16xf32>) {
  %0 = "graph.rms_norm"(%x, %w) {eps = 1.0e-06 : f64, normalized_rank = 1 : i64} : (tensor<?x16xf32, ["s0"]>, tensor<16xf32>) -> tensor<?x16xf32, ["s0"]>
  %1 = "graph.rms_norm"(%x) {eps = 1.0e-06 : f64, normalized_rank = 1 : i64} : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  return
}

// CHECK-LABEL: @group_norm
// CHECK: "graph.group_norm"(%{{.*}}, %{{.*}}, %{{.*}}){{.*}}-> (tensor<?x16x4xf32, ["s0"]>, tensor<?x4xf32, ["s0"]>, tensor<?x4xf32, ["s0"]>)
func.func @group_norm(%x: tensor<?x16x4xf32, ["s0"]>, %w: tensor<16xf32>) {
  %0:3 = "graph.group_norm"(%x, %w, %w) {eps = 1.0e-05 : f64, groups = 4 : i64, operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<?x16x4xf32, ["s0"]>, tensor<16xf32>, tensor<16xf32>) -> (tensor<?x16x4xf32, ["s0"]>, tensor<?x4xf32, ["s0"]>, tensor<?x4xf32, ["s0"]>)
  return
}

// CHECK-LABEL: @batch_norm
// CHECK: "graph.batch_norm"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.batch_norm"(%{{.*}}, %{{.*}}, %{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
func.func @batch_norm(%x: tensor<?x16xf32, ["s0"]>, %w: tensor<16xf32>) {
  %0 = "graph.batch_norm"(%x, %w, %w, %w, %w) {eps = 1.0e-05 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>} : (tensor<?x16xf32, ["s0"]>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<?x16xf32, ["s0"]>
  %1 = "graph.batch_norm"(%x, %w, %w) {eps = 1.0e-05 : f64, operandSegmentSizes = array<i32: 1, 0, 0, 1, 1>} : (tensor<?x16xf32, ["s0"]>, tensor<16xf32>, tensor<16xf32>) -> tensor<?x16xf32, ["s0"]>
  return
}

// CHECK-LABEL: @batch_norm_training
// CHECK: "graph.batch_norm_training"(%{{.*}}, %{{.*}}, %{{.*}}){{.*}}-> (tensor<?x16xf32, ["s0"]>, tensor<16xf32>, tensor<16xf32>)
func.func @batch_norm_training(%x: tensor<?x16xf32, ["s0"]>, %w: tensor<16xf32>) {
  %0:3 = "graph.batch_norm_training"(%x, %w, %w) {eps = 1.0e-05 : f64, operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<?x16xf32, ["s0"]>, tensor<16xf32>, tensor<16xf32>) -> (tensor<?x16xf32, ["s0"]>, tensor<16xf32>, tensor<16xf32>)
  return
}
