// RUN: %girih-opt --autograd --split-input-file %s | filecheck %s

// ATen's backward op.
// CHECK-LABEL: func.func @max_pool
// CHECK-SAME: %arg1: tensor<1x3x5xf32> {graph.cotangent = 0 : i64}
// CHECK: [[R:%.+]]:2 = "graph.max_pool"(%arg0)
// CHECK: [[D:%.+]] = "graph.extern"(%arg1, %arg0, [[R]]#1) {{.*}}"aten.max_pool2d_with_indices_backward.default"
// CHECK: return [[R]]#0, [[D]]
func.func @max_pool(%x: tensor<1x4x6xf32> {graph.requires_grad}) -> tensor<1x3x5xf32> {
  %0:2 = "graph.max_pool"(%x) {kernel = array<i64: 2, 2>, stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>, ceil_mode = false} : (tensor<1x4x6xf32>) -> (tensor<1x3x5xf32>, tensor<1x3x5xi64>)
  return %0#0 : tensor<1x3x5xf32>
}

// -----

// Windows side by side; what no window covers gets zeros.
// CHECK-LABEL: func.func @avg_pool
// CHECK: [[SHARE:%.+]] = "graph.div"(%arg1, %{{.*}})
// CHECK: [[BESIDE:%.+]] = "graph.reshape"([[SHARE]]) {{.*}} -> tensor<1x2x1x3x1xf32>
// CHECK: [[WINDOWS:%.+]] = "graph.broadcast_to"([[BESIDE]]) {{.*}} -> tensor<1x2x2x3x2xf32>
// CHECK: [[TILED:%.+]] = "graph.reshape"([[WINDOWS]]) {{.*}} -> tensor<1x4x6xf32>
// CHECK: [[D:%.+]] = "graph.pad"([[TILED]]) {high = [0, 1, 0]{{.*}} -> tensor<1x5x6xf32>
// CHECK: return %{{.*}}, [[D]]
func.func @avg_pool(%x: tensor<1x5x6xf32> {graph.requires_grad}) -> tensor<1x2x3xf32> {
  %0 = "graph.avg_pool"(%x) {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 0, 0>, ceil_mode = false, count_include_pad = true, divisor = 0 : i64} : (tensor<1x5x6xf32>) -> tensor<1x2x3xf32>
  return %0 : tensor<1x2x3xf32>
}

// -----

// CHECK-LABEL: func.func @padded_avg_pool
// CHECK: "graph.extern"(%arg1, %arg0) {{.*}}"aten.avg_pool2d_backward.default"
func.func @padded_avg_pool(%x: tensor<1x4x6xf32> {graph.requires_grad}) -> tensor<1x3x4xf32> {
  %0 = "graph.avg_pool"(%x) {kernel = array<i64: 2, 2>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, ceil_mode = false, count_include_pad = true, divisor = 0 : i64} : (tensor<1x4x6xf32>) -> tensor<1x3x4xf32>
  return %0 : tensor<1x3x4xf32>
}

// -----

// To one number, of a size that is not known: a mean.
// CHECK-LABEL: func.func @global_average
// CHECK: [[SIZE:%.+]] = "graph.size"() {expr = "6*s0"}
// CHECK: [[COUNT:%.+]] = "graph.cast"([[SIZE]])
// CHECK: "graph.div"(%arg1, [[COUNT]])
// CHECK-NOT: graph.extern
func.func @global_average(%x: tensor<1x?x6xf32, ["s0"]> {graph.requires_grad}) -> tensor<1x1x1xf32> {
  %0 = "graph.adaptive_avg_pool"(%x) {output_size = [1, 1]} : (tensor<1x?x6xf32, ["s0"]>) -> tensor<1x1x1xf32>
  return %0 : tensor<1x1x1xf32>
}

// -----

// CHECK-LABEL: func.func @uneven_average
// CHECK: "graph.extern"(%arg1, %arg0) {{.*}}"aten._adaptive_avg_pool2d_backward.default"
func.func @uneven_average(%x: tensor<1x4x6xf32> {graph.requires_grad}) -> tensor<1x3x2xf32> {
  %0 = "graph.adaptive_avg_pool"(%x) {output_size = [3, 2]} : (tensor<1x4x6xf32>) -> tensor<1x3x2xf32>
  return %0 : tensor<1x3x2xf32>
}
