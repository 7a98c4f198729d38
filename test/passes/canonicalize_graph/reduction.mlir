// RUN: %girih-opt --pass-pipeline=canonicalize-graph %s | filecheck %s

// CHECK-LABEL: func.func @unit_dims
// CHECK: "graph.reduce_sum"({{.*}}) {dims = array<i64: 2>}
func.func @unit_dims(%x: tensor<3x1x4xf32>) -> tensor<3x1x1xf32> {
  %0 = "graph.reduce_sum"(%x) {dims = array<i64: 1, 2>}
      : (tensor<3x1x4xf32>) -> tensor<3x1x1xf32>
  return %0 : tensor<3x1x1xf32>
}

// CHECK-LABEL: func.func @only_unit_dims
// CHECK-SAME: ([[X:%.+]]: tensor<3x1xf32>)
// CHECK-NEXT: return [[X]]
func.func @only_unit_dims(%x: tensor<3x1xf32>) -> tensor<3x1xf32> {
  %0 = "graph.reduce_max"(%x) {dims = array<i64: 1>} : (tensor<3x1xf32>) -> tensor<3x1xf32>
  return %0 : tensor<3x1xf32>
}

// CHECK-LABEL: func.func @nested
// CHECK: "graph.reduce_max"({{.*}}) {dims = array<i64: 0, 1>}
// CHECK-NEXT: return
func.func @nested(%x: tensor<3x4xf32>) -> tensor<1x1xf32> {
  %0 = "graph.reduce_max"(%x) {dims = array<i64: 1>} : (tensor<3x4xf32>) -> tensor<3x1xf32>
  %1 = "graph.reduce_max"(%0) {dims = array<i64: 0>} : (tensor<3x1xf32>) -> tensor<1x1xf32>
  return %1 : tensor<1x1xf32>
}

// The inner sum rounds.
// CHECK-LABEL: func.func @nested_sums_of_small_floats_stay
// CHECK: "graph.reduce_sum"
// CHECK-NEXT: "graph.reduce_sum"
func.func @nested_sums_of_small_floats_stay(%x: tensor<3x4xbf16>) -> tensor<1x1xbf16> {
  %0 = "graph.reduce_sum"(%x) {dims = array<i64: 1>}
      : (tensor<3x4xbf16>) -> tensor<3x1xbf16>
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 0>}
      : (tensor<3x1xbf16>) -> tensor<1x1xbf16>
  return %1 : tensor<1x1xbf16>
}

// CHECK-LABEL: func.func @position_in_unit_dim
// CHECK: "graph.full"() {value = 0 : i64} : () -> tensor<3x1xi64>
func.func @position_in_unit_dim(%x: tensor<3x1xf32>) -> tensor<3x1xi64> {
  %0 = "graph.argmax"(%x) {dim = 1 : i64} : (tensor<3x1xf32>) -> tensor<3x1xi64>
  return %0 : tensor<3x1xi64>
}

// One summand is not 0: the sum is that one.
// CHECK-LABEL: func.func @only_summand
// CHECK-NOT: graph.reduce_sum
// CHECK: [[FROM:%.+]] = "graph.ge"(%arg0, %{{.*}})
// CHECK: [[TO:%.+]] = "graph.lt"(%arg0, %{{.*}})
// CHECK: [[INSIDE:%.+]] = "graph.logical_and"([[FROM]], [[TO]])
// CHECK: [[Y:%.+]] = "graph.where"([[INSIDE]], %arg1, %{{.*}}) {{.*}} -> tensor<3x1xf32>
// CHECK: return [[Y]]
func.func @only_summand(%index: tensor<3x1xi64>, %x: tensor<3x1xf32>) -> tensor<3x1xf32> {
  %0 = "graph.iota"() {start = 0 : i64, step = 1 : i64} : () -> tensor<4xi64>
  %1 = "graph.eq"(%0, %index) : (tensor<4xi64>, tensor<3x1xi64>) -> tensor<3x4xi1>
  %2 = "graph.constant"() {value = 0.0 : f64} : () -> tensor<f32>
  %3 = "graph.where"(%1, %x, %2) : (tensor<3x4xi1>, tensor<3x1xf32>, tensor<f32>) -> tensor<3x4xf32>
  %4 = "graph.reduce_sum"(%3) {dims = array<i64: 1>} : (tensor<3x4xf32>) -> tensor<3x1xf32>
  return %4 : tensor<3x1xf32>
}

// What is the same for all classes counts as often as there are classes.
// CHECK-LABEL: func.func @smoothed
// CHECK-NOT: graph.reduce_sum
// CHECK: [[X:%.+]] = "graph.where"(%{{.*}}, %arg1, %{{.*}}) {{.*}} -> tensor<3x1xf32>
// CHECK: [[N:%.+]] = "graph.constant"() {value = 4.000000e+00 : f64}
// CHECK: [[SHARE:%.+]] = "graph.mul"(%arg2, [[N]])
// CHECK: [[Y:%.+]] = "graph.add"([[X]], [[SHARE]])
// CHECK: return [[Y]]
func.func @smoothed(%index: tensor<3x1xi64>, %x: tensor<3x1xf32>, %c: tensor<3x1xf32>)
    -> tensor<3x1xf32> {
  %0 = "graph.iota"() {start = 0 : i64, step = 1 : i64} : () -> tensor<4xi64>
  %1 = "graph.eq"(%0, %index) : (tensor<4xi64>, tensor<3x1xi64>) -> tensor<3x4xi1>
  %2 = "graph.constant"() {value = 0.0 : f64} : () -> tensor<f32>
  %3 = "graph.where"(%1, %x, %2) : (tensor<3x4xi1>, tensor<3x1xf32>, tensor<f32>) -> tensor<3x4xf32>
  %4 = "graph.add"(%c, %3) : (tensor<3x1xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %5 = "graph.reduce_sum"(%4) {dims = array<i64: 1>} : (tensor<3x4xf32>) -> tensor<3x1xf32>
  return %5 : tensor<3x1xf32>
}

// Rows of it, and what differs along the dim, stay.
// CHECK-LABEL: func.func @many_summands
// CHECK: "graph.reduce_sum"
// CHECK: "graph.reduce_sum"
func.func @many_summands(%index: tensor<3x1xi64>, %x: tensor<3x1xf32>, %y: tensor<3x4xf32>)
    -> (tensor<1x4xf32>, tensor<3x1xf32>) {
  %0 = "graph.iota"() {start = 0 : i64, step = 1 : i64} : () -> tensor<4xi64>
  %1 = "graph.eq"(%0, %index) : (tensor<4xi64>, tensor<3x1xi64>) -> tensor<3x4xi1>
  %2 = "graph.constant"() {value = 0.0 : f64} : () -> tensor<f32>
  %3 = "graph.where"(%1, %x, %2) : (tensor<3x4xi1>, tensor<3x1xf32>, tensor<f32>) -> tensor<3x4xf32>
  %4 = "graph.reduce_sum"(%3) {dims = array<i64: 0>} : (tensor<3x4xf32>) -> tensor<1x4xf32>
  %5 = "graph.where"(%1, %y, %2) : (tensor<3x4xi1>, tensor<3x4xf32>, tensor<f32>) -> tensor<3x4xf32>
  %6 = "graph.reduce_sum"(%5) {dims = array<i64: 1>} : (tensor<3x4xf32>) -> tensor<3x1xf32>
  return %4, %6 : tensor<1x4xf32>, tensor<3x1xf32>
}
