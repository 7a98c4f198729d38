// RUN: %girih-opt %s -o %t.mlir
// RUN: %girih-opt %t.mlir | diff %t.mlir -
// RUN: filecheck %s --input-file %t.mlir

// Pooling.

// CHECK-LABEL: @max_pool
// CHECK: "graph.max_pool"(%{{.*}}){{.*}}-> (tensor<1x3x4x4xf32>, tensor<1x3x4x4xi64>)
// CHECK: "graph.max_pool"(%{{.*}}){{.*}}-> (tensor<1x3x5x5xf32>, tensor<1x3x5x5xi64>)
func.func @max_pool(%x: tensor<1x3x9x9xf32>) {
  %0:2 = "graph.max_pool"(%x) {ceil_mode = false, dilation = array<i64: 1, 1>, kernel = array<i64: 2, 2>, padding = array<i64: 0, 0>, stride = array<i64: 2, 2>} : (tensor<1x3x9x9xf32>) -> (tensor<1x3x4x4xf32>, tensor<1x3x4x4xi64>)
  %1:2 = "graph.max_pool"(%x) {ceil_mode = true, dilation = array<i64: 1, 1>, kernel = array<i64: 2, 2>, padding = array<i64: 0, 0>, stride = array<i64: 2, 2>} : (tensor<1x3x9x9xf32>) -> (tensor<1x3x5x5xf32>, tensor<1x3x5x5xi64>)
  return
}

// CHECK-LABEL: @avg_pool
// CHECK: "graph.avg_pool"(%{{.*}}){{.*}}-> tensor<1x3x5xf32>
func.func @avg_pool(%x: tensor<1x3x9xf32>) {
  %0 = "graph.avg_pool"(%x) {ceil_mode = false, count_include_pad = true, divisor = 0 : i64, kernel = array<i64: 3>, padding = array<i64: 1>, stride = array<i64: 2>} : (tensor<1x3x9xf32>) -> tensor<1x3x5xf32>
  return
}

// CHECK-LABEL: @adaptive_avg_pool
// CHECK: "graph.adaptive_avg_pool"(%{{.*}}){{.*}}-> tensor<1x3x1x1xf32>
func.func @adaptive_avg_pool(%x: tensor<1x3x9x9xf32>) {
  %0 = "graph.adaptive_avg_pool"(%x) {output_size = [1, 1]} : (tensor<1x3x9x9xf32>) -> tensor<1x3x1x1xf32>
  return
}
