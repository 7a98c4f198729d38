// RUN: %girih-opt --autograd --split-input-file %s | filecheck %s

// From the result: y (g - sum(g y)).
// CHECK-LABEL: func.func @softmax
// CHECK-SAME: %arg1: tensor<3x4xf32> {graph.cotangent = 0 : i64}
// CHECK: [[Y:%.+]] = "graph.softmax"(%arg0)
// CHECK: [[GY:%.+]] = "graph.mul"(%arg1, [[Y]])
// CHECK: [[SUM:%.+]] = "graph.reduce_sum"([[GY]]) {dims = array<i64: 1>}
// CHECK: [[REST:%.+]] = "graph.sub"(%arg1, [[SUM]])
// CHECK: [[D:%.+]] = "graph.mul"([[Y]], [[REST]])
// CHECK: return [[Y]], [[D]]
func.func @softmax(%x: tensor<3x4xf32> {graph.requires_grad}) -> tensor<3x4xf32> {
  %0 = "graph.softmax"(%x) {dim = 1 : i64} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// -----

// From the result: g - exp(y) sum(g), in f32.
// CHECK-LABEL: func.func @log_softmax
// CHECK: [[Y:%.+]] = "graph.log_softmax"(%arg0)
// CHECK: [[WIDE:%.+]] = "graph.cast"([[Y]])
// CHECK: "graph.exp"([[WIDE]]) : (tensor<3x4xf32>)
// CHECK: "graph.reduce_sum"(%{{.*}}) {dims = array<i64: 0>} {{.*}} -> tensor<1x4xf32>
// CHECK: [[D:%.+]] = "graph.cast"(%{{.*}}) : (tensor<3x4xf32>) -> tensor<3x4xbf16>
// CHECK: return [[Y]], [[D]]
func.func @log_softmax(%x: tensor<3x4xbf16> {graph.requires_grad}) -> tensor<3x4xbf16> {
  %0 = "graph.log_softmax"(%x) {dim = 0 : i64} : (tensor<3x4xbf16>) -> tensor<3x4xbf16>
  return %0 : tensor<3x4xbf16>
}

// -----

// Everything from x, mean and rstd; the normalised x is computed again.
// CHECK-LABEL: func.func @layer_norm
// CHECK: [[R:%.+]]:3 = "graph.layer_norm"(%arg0, %arg1, %arg2)
// CHECK: [[CENTERED:%.+]] = "graph.sub"(%arg0, [[R]]#1)
// CHECK: [[Z:%.+]] = "graph.mul"([[CENTERED]], [[R]]#2)
// CHECK: [[GZ:%.+]] = "graph.mul"(%arg3, [[Z]])
// CHECK: "graph.reduce_sum"(%arg3) {dims = array<i64: 0>}
// CHECK: "graph.reduce_sum"([[GZ]]) {dims = array<i64: 0>}
// CHECK: [[GW:%.+]] = "graph.mul"(%arg3, %arg1)
// CHECK: [[GZW:%.+]] = "graph.mul"([[GZ]], %arg1)
// CHECK: "graph.reduce_sum"([[GW]]) {dims = array<i64: 1>}
// CHECK: "graph.reduce_sum"([[GZW]]) {dims = array<i64: 1>}
// CHECK: "graph.mul"([[R]]#2, %{{.*}}) {{.*}} -> tensor<3x4xf32>
func.func @layer_norm(%x: tensor<3x4xf32> {graph.requires_grad},
    %w: tensor<4xf32> {graph.requires_grad}, %b: tensor<4xf32> {graph.requires_grad})
    -> tensor<3x4xf32> {
  %0:3 = "graph.layer_norm"(%x, %w, %b) {normalized_rank = 1 : i64, eps = 1.0e-5 : f64, operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<3x4xf32>, tensor<3x1xf32>, tensor<3x1xf32>)
  return %0#0 : tensor<3x4xf32>
}

// -----

// Only the bias: one sum.
// CHECK-LABEL: func.func @bias_alone
// CHECK: [[Y:%.+]]:3 = "graph.layer_norm"(%arg0, %arg1, %arg2)
// CHECK: [[SUM:%.+]] = "graph.reduce_sum"(%arg3) {dims = array<i64: 0>}
// CHECK: [[D:%.+]] = "graph.reshape"([[SUM]]) {{.*}} -> tensor<4xf32>
// CHECK-NOT: graph.reduce_sum
// CHECK: return [[Y]]#0, [[D]]
func.func @bias_alone(%x: tensor<3x4xf32>, %w: tensor<4xf32>,
    %b: tensor<4xf32> {graph.requires_grad}) -> tensor<3x4xf32> {
  %0:3 = "graph.layer_norm"(%x, %w, %b) {normalized_rank = 1 : i64, eps = 1.0e-5 : f64, operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<3x4xf32>, tensor<3x1xf32>, tensor<3x1xf32>)
  return %0#0 : tensor<3x4xf32>
}

// -----

// The statistics have derivatives too; y has no cotangent here.
// CHECK-LABEL: func.func @statistics
// CHECK: [[R:%.+]]:3 = "graph.layer_norm"(%arg0)
// CHECK: [[SQUARE:%.+]] = "graph.mul"([[R]]#2, [[R]]#2)
// CHECK: "graph.mul"(%arg2, [[SQUARE]])
// CHECK: "graph.div"(%arg1, %{{.*}})
func.func @statistics(%x: tensor<3x4xf32> {graph.requires_grad})
    -> (tensor<3x1xf32>, tensor<3x1xf32>) {
  %0:3 = "graph.layer_norm"(%x) {normalized_rank = 1 : i64, eps = 1.0e-5 : f64, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x1xf32>, tensor<3x1xf32>)
  return %0#1, %0#2 : tensor<3x1xf32>, tensor<3x1xf32>
}

// -----

// CHECK-LABEL: func.func @rms_norm
// CHECK: [[Y:%.+]] = "graph.rms_norm"(%arg0, %arg1)
// CHECK: [[SQUARE:%.+]] = "graph.mul"(%arg0, %arg0)
// CHECK: "graph.mean"([[SQUARE]]) {dims = array<i64: 1>}
// CHECK: [[R:%.+]] = "graph.rsqrt"(%{{.*}})
// CHECK: [[D:%.+]] = "graph.mul"([[R]], %{{.*}})
// CHECK: return [[Y]], [[D]], %{{.*}} : tensor<3x4xf32>, tensor<3x4xf32>, tensor<4xf32>
func.func @rms_norm(%x: tensor<3x4xf32> {graph.requires_grad},
    %w: tensor<4xf32> {graph.requires_grad}) -> tensor<3x4xf32> {
  %0 = "graph.rms_norm"(%x, %w) {normalized_rank = 1 : i64, eps = 1.0e-5 : f64, operandSegmentSizes = array<i32: 1, 1>} : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// -----

// Groups are dims of their own. Sums of one channel serve all gradients.
// CHECK-LABEL: func.func @group_norm
// CHECK: [[R:%.+]]:3 = "graph.group_norm"(%arg0)
// CHECK: [[X:%.+]] = "graph.reshape"(%arg0) {{.*}} -> tensor<2x3x2x5xf32>
// CHECK: [[MEAN:%.+]] = "graph.reshape"([[R]]#1) {{.*}} -> tensor<2x3x1x1xf32>
// CHECK: "graph.sub"([[X]], [[MEAN]])
// CHECK: "graph.reduce_sum"(%{{.*}}) {dims = array<i64: 3>} {{.*}} -> tensor<2x3x2x1xf32>
// CHECK: "graph.reduce_sum"(%{{.*}}) {dims = array<i64: 2>} {{.*}} -> tensor<2x3x1x1xf32>
// CHECK: [[D:%.+]] = "graph.reshape"(%{{.*}}) {{.*}} -> tensor<2x6x5xf32>
// CHECK: return [[R]]#0, [[D]]
func.func @group_norm(%x: tensor<2x6x5xf32> {graph.requires_grad}) -> tensor<2x6x5xf32> {
  %0:3 = "graph.group_norm"(%x) {groups = 3 : i64, eps = 1.0e-5 : f64, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<2x6x5xf32>) -> (tensor<2x6x5xf32>, tensor<2x3xf32>, tensor<2x3xf32>)
  return %0#0 : tensor<2x6x5xf32>
}

// -----

// CHECK-LABEL: func.func @batch_norm_training
// CHECK: [[R:%.+]]:3 = "graph.batch_norm_training"(%arg0)
// CHECK: [[MEAN:%.+]] = "graph.reshape"([[R]]#1) {{.*}} -> tensor<1x3x1xf32>
// CHECK: "graph.sub"(%arg0, [[MEAN]])
// CHECK: "graph.reduce_sum"(%{{.*}}) {dims = array<i64: 0, 2>}
func.func @batch_norm_training(%x: tensor<2x3x5xf32> {graph.requires_grad}) -> tensor<2x3x5xf32> {
  %0:3 = "graph.batch_norm_training"(%x) {eps = 1.0e-5 : f64, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<2x3x5xf32>) -> (tensor<2x3x5xf32>, tensor<3xf32>, tensor<3xf32>)
  return %0#0 : tensor<2x3x5xf32>
}

// -----

// The running statistics are constants.
// CHECK-LABEL: func.func @batch_norm
// CHECK: [[Y:%.+]] = "graph.batch_norm"(%arg0, %arg1, %arg2, %arg3)
// CHECK: [[VARIANCE:%.+]] = "graph.detach"(%arg3)
// CHECK: [[R:%.+]] = "graph.rsqrt"(%{{.*}})
// CHECK: [[BY_CHANNEL:%.+]] = "graph.reshape"([[R]]) {{.*}} -> tensor<3x1xf32>
// CHECK: [[SCALE:%.+]] = "graph.mul"([[BY_CHANNEL]], %{{.*}}) {{.*}} -> tensor<3x1xf32>
// CHECK: [[D:%.+]] = "graph.mul"(%arg4, [[SCALE]])
// CHECK: return [[Y]], [[D]], %{{.*}} : tensor<2x3x5xf32>, tensor<2x3x5xf32>, tensor<3xf32>
func.func @batch_norm(%x: tensor<2x3x5xf32> {graph.requires_grad},
    %w: tensor<3xf32> {graph.requires_grad}, %m: tensor<3xf32>, %v: tensor<3xf32>) -> tensor<2x3x5xf32> {
  %0 = "graph.batch_norm"(%x, %w, %m, %v) {eps = 1.0e-5 : f64, operandSegmentSizes = array<i32: 1, 1, 0, 1, 1>} : (tensor<2x3x5xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x5xf32>
  return %0 : tensor<2x3x5xf32>
}
