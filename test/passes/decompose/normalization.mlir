// RUN: %girih-opt --pass-pipeline=decompose %s | filecheck %s

// CHECK-LABEL: func.func @softmax
// CHECK-SAME: ([[X:%.+]]: tensor<3x4xf32>)
// CHECK: [[MAX:%.+]] = "graph.reduce_max"([[X]]) {dims = array<i64: 1>}
// CHECK: [[SHIFTED:%.+]] = "graph.sub"([[X]], [[MAX]])
// CHECK: [[EXP:%.+]] = "graph.exp"([[SHIFTED]])
// CHECK: [[SUM:%.+]] = "graph.reduce_sum"([[EXP]]) {dims = array<i64: 1>}
// CHECK: "graph.div"([[EXP]], [[SUM]])
func.func @softmax(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = "graph.softmax"(%x) {dim = 1 : i64} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// CHECK-LABEL: func.func @softmax_of_a_number
// CHECK-NOT: graph.reduce_max
// CHECK: graph.exp
func.func @softmax_of_a_number(%x: tensor<f32>) -> tensor<f32> {
  %0 = "graph.softmax"(%x) {dim = 0 : i64} : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// CHECK-LABEL: func.func @log_softmax
// CHECK: [[SHIFTED:%.+]] = "graph.sub"
// CHECK: [[LOG:%.+]] = "graph.log"
// CHECK: "graph.sub"([[SHIFTED]], [[LOG]])
func.func @log_softmax(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = "graph.log_softmax"(%x) {dim = 1 : i64} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// Two passes: the variance is the mean of squared differences.
// CHECK-LABEL: func.func @layer_norm
// CHECK-SAME: ([[X:%.+]]: tensor<3x4xf32>, [[W:%.+]]: tensor<4xf32>, [[B:%.+]]: tensor<4xf32>)
// CHECK: [[SUM:%.+]] = "graph.reduce_sum"([[X]])
// CHECK: [[MEAN:%.+]] = "graph.div"([[SUM]], {{.*}})
// CHECK: [[CENTERED:%.+]] = "graph.sub"([[X]], [[MEAN]])
// CHECK: [[SQUARE:%.+]] = "graph.mul"([[CENTERED]], [[CENTERED]])
// CHECK: "graph.reduce_sum"([[SQUARE]])
// CHECK: [[RSTD:%.+]] = "graph.rsqrt"
// CHECK: [[Y:%.+]] = "graph.mul"([[CENTERED]], [[RSTD]])
// CHECK: [[SCALED:%.+]] = "graph.mul"([[Y]], [[W]])
// CHECK: [[BIASED:%.+]] = "graph.add"([[SCALED]], [[B]])
// CHECK: return [[BIASED]], [[MEAN]], [[RSTD]]
func.func @layer_norm(%x: tensor<3x4xf32>, %w: tensor<4xf32>, %b: tensor<4xf32>)
    -> (tensor<3x4xf32>, tensor<3x1xf32>, tensor<3x1xf32>) {
  %y, %mean, %rstd = "graph.layer_norm"(%x, %w, %b)
      {normalized_rank = 1 : i64, eps = 1.0e-5 : f64,
       operandSegmentSizes = array<i32: 1, 1, 1>}
      : (tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>)
      -> (tensor<3x4xf32>, tensor<3x1xf32>, tensor<3x1xf32>)
  return %y, %mean, %rstd : tensor<3x4xf32>, tensor<3x1xf32>, tensor<3x1xf32>
}

// CHECK-LABEL: func.func @rms_norm_of_symbolic_rows
// CHECK: "graph.size"() {expr = "s0"} : () -> tensor<i64>
// CHECK: "graph.rsqrt"
func.func @rms_norm_of_symbolic_rows(%x: tensor<3x?xf32, ["s0"]>)
    -> tensor<3x?xf32, ["s0"]> {
  %y = "graph.rms_norm"(%x)
      {normalized_rank = 1 : i64, eps = 1.0e-5 : f64,
       operandSegmentSizes = array<i32: 1, 0>}
      : (tensor<3x?xf32, ["s0"]>) -> tensor<3x?xf32, ["s0"]>
  return %y : tensor<3x?xf32, ["s0"]>
}

// CHECK-LABEL: func.func @group_norm
// CHECK: "graph.reshape"({{.*}}) : (tensor<2x6x5xf32>) -> tensor<2x3x2x5xf32>
// CHECK: "graph.reduce_sum"({{.*}}) {dims = array<i64: 2, 3>}
// CHECK: "graph.reshape"({{.*}}) : (tensor<2x3x2x5xf32>) -> tensor<2x6x5xf32>
func.func @group_norm(%x: tensor<2x6x5xf32>) -> tensor<2x6x5xf32> {
  %y, %mean, %rstd = "graph.group_norm"(%x)
      {groups = 3 : i64, eps = 1.0e-5 : f64, operandSegmentSizes = array<i32: 1, 0, 0>}
      : (tensor<2x6x5xf32>) -> (tensor<2x6x5xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  return %y : tensor<2x6x5xf32>
}

// Scale and shift are computed once for each channel.
// CHECK-LABEL: func.func @batch_norm
// CHECK: [[SCALE:%.+]] = "graph.reshape"({{.*}}) : (tensor<6xf32>) -> tensor<6x1xf32>
// CHECK: [[SCALED:%.+]] = "graph.mul"(%arg0, [[SCALE]])
// CHECK: "graph.add"([[SCALED]], {{.*}})
func.func @batch_norm(%x: tensor<2x6x5xf32>, %w: tensor<6xf32>, %b: tensor<6xf32>,
    %mean: tensor<6xf32>, %var: tensor<6xf32>) -> tensor<2x6x5xf32> {
  %y = "graph.batch_norm"(%x, %w, %b, %mean, %var)
      {eps = 1.0e-5 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>}
      : (tensor<2x6x5xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>, tensor<6xf32>)
      -> tensor<2x6x5xf32>
  return %y : tensor<2x6x5xf32>
}

// CHECK-LABEL: func.func @batch_norm_training
// CHECK: "graph.reduce_sum"({{.*}}) {dims = array<i64: 0, 2>}
func.func @batch_norm_training(%x: tensor<2x6x5xf32>)
    -> (tensor<2x6x5xf32>, tensor<6xf32>) {
  %y, %mean, %rstd = "graph.batch_norm_training"(%x)
      {eps = 1.0e-5 : f64, operandSegmentSizes = array<i32: 1, 0, 0>}
      : (tensor<2x6x5xf32>) -> (tensor<2x6x5xf32>, tensor<6xf32>, tensor<6xf32>)
  return %y, %mean : tensor<2x6x5xf32>, tensor<6xf32>
}
