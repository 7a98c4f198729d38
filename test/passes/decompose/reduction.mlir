// RUN: %girih-opt --pass-pipeline=decompose %s | filecheck %s

// CHECK-LABEL: func.func @mean
// CHECK: [[SUM:%.+]] = "graph.reduce_sum"(%arg0) {dims = array<i64: 0, 1>}
// CHECK: [[N:%.+]] = "graph.constant"() {value = 1.200000e+01 : f64}
// CHECK: "graph.div"([[SUM]], [[N]])
func.func @mean(%x: tensor<3x4xf32>) -> tensor<1x1xf32> {
  %0 = "graph.mean"(%x) {dims = array<i64: 0, 1>} : (tensor<3x4xf32>) -> tensor<1x1xf32>
  return %0 : tensor<1x1xf32>
}

// Sums of small floats are sums in f32.
// CHECK-LABEL: func.func @mean_of_small_floats
// CHECK: [[X:%.+]] = "graph.cast"(%arg0) : (tensor<3x4xf16>) -> tensor<3x4xf32>
// CHECK: "graph.reduce_sum"([[X]])
// CHECK: "graph.cast"({{.*}}) : (tensor<3x1xf32>) -> tensor<3x1xf16>
func.func @mean_of_small_floats(%x: tensor<3x4xf16>) -> tensor<3x1xf16> {
  %0 = "graph.mean"(%x) {dims = array<i64: 1>} : (tensor<3x4xf16>) -> tensor<3x1xf16>
  return %0 : tensor<3x1xf16>
}

// CHECK-LABEL: func.func @var
// CHECK: [[D:%.+]] = "graph.sub"(%arg0, {{.*}})
// CHECK: [[SQUARE:%.+]] = "graph.mul"([[D]], [[D]])
// CHECK: [[SUM:%.+]] = "graph.reduce_sum"([[SQUARE]])
// CHECK: [[FREEDOM:%.+]] = "graph.maximum"
// CHECK: "graph.div"([[SUM]], [[FREEDOM]])
func.func @var(%x: tensor<3x4xf32>) -> tensor<3x1xf32> {
  %0 = "graph.var"(%x) {dims = array<i64: 1>, correction = 1.0 : f64}
      : (tensor<3x4xf32>) -> tensor<3x1xf32>
  return %0 : tensor<3x1xf32>
}

// CHECK-LABEL: func.func @mean_of_symbolic_rows
// CHECK: [[N:%.+]] = "graph.size"() {expr = "2*s0"}
// CHECK: "graph.cast"([[N]]) : (tensor<i64>) -> tensor<f32>
func.func @mean_of_symbolic_rows(%x: tensor<3x?xf32, ["2*s0"]>) -> tensor<3x1xf32> {
  %0 = "graph.mean"(%x) {dims = array<i64: 1>}
      : (tensor<3x?xf32, ["2*s0"]>) -> tensor<3x1xf32>
  return %0 : tensor<3x1xf32>
}
