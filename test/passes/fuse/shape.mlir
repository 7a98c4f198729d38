// RUN: %girih-opt --pass-pipeline=fuse %s | filecheck %s

// A view between two ops sinks to the inputs.
// CHECK-LABEL: func.func @reshape_in_the_middle
// CHECK-COUNT-1: graph.fusion
// CHECK: [[X:%.+]] = "graph.reshape"({{.*}}) : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: [[NEG:%.+]] = "graph.neg"([[X]])
// CHECK-NEXT: "graph.add"([[NEG]], {{.*}}) : (tensor<2x3x4xf32>, tensor<3x1xf32>)
func.func @reshape_in_the_middle(%x: tensor<6x4xf32>, %b: tensor<3x1xf32>)
    -> tensor<2x3x4xf32> {
  %0 = "graph.neg"(%x) : (tensor<6x4xf32>) -> tensor<6x4xf32>
  %1 = "graph.reshape"(%0) : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
  %2 = "graph.add"(%1, %b) : (tensor<2x3x4xf32>, tensor<3x1xf32>) -> tensor<2x3x4xf32>
  return %2 : tensor<2x3x4xf32>
}

// A view at the end is free, so it stays outside.
// CHECK-LABEL: func.func @view_of_the_result
// CHECK: [[NEG:%.+]] = "graph.fusion"
// CHECK: [[VIEW:%.+]] = "graph.permute"([[NEG]])
// CHECK: "graph.mm"([[VIEW]], {{.*}})
func.func @view_of_the_result(%x: tensor<4x6xf32>, %w: tensor<4x4xf32>) -> tensor<6x4xf32> {
  %0 = "graph.neg"(%x) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = "graph.permute"(%0) {permutation = array<i64: 1, 0>}
      : (tensor<4x6xf32>) -> tensor<6x4xf32>
  %2 = "graph.mm"(%1, %w) : (tensor<6x4xf32>, tensor<4x4xf32>) -> tensor<6x4xf32>
  return %2 : tensor<6x4xf32>
}

// This one needs a copy; the fusion writes in the new order itself.
// CHECK-LABEL: func.func @copy_of_the_result
// CHECK: [[NEG:%.+]] = "graph.fusion"
// CHECK: [[P:%.+]] = "graph.permute"({{.*}}) {permutation = array<i64: 1, 0, 2>}
// CHECK-NEXT: "graph.neg"([[P]]) : (tensor<3x2x4xf32>) -> tensor<3x2x4xf32>
// CHECK: [[VIEW:%.+]] = "graph.reshape"([[NEG]]) : (tensor<3x2x4xf32>) -> tensor<3x8xf32>
// CHECK: "graph.mm"([[VIEW]], {{.*}})
func.func @copy_of_the_result(%x: tensor<2x3x4xf32>, %w: tensor<8x4xf32>)
    -> tensor<3x4xf32> {
  %0 = "graph.neg"(%x) : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %1 = "graph.permute"(%0) {permutation = array<i64: 1, 0, 2>}
      : (tensor<2x3x4xf32>) -> tensor<3x2x4xf32>
  %2 = "graph.reshape"(%1) : (tensor<3x2x4xf32>) -> tensor<3x8xf32>
  %3 = "graph.mm"(%2, %w) : (tensor<3x8xf32>, tensor<8x4xf32>) -> tensor<3x4xf32>
  return %3 : tensor<3x4xf32>
}

// Views alone are not a kernel.
// CHECK-LABEL: func.func @only_views
// CHECK-NOT: graph.fusion
func.func @only_views(%x: tensor<4x6xf32>) -> tensor<6x2xf32> {
  %0 = "graph.permute"(%x) {permutation = array<i64: 1, 0>}
      : (tensor<4x6xf32>) -> tensor<6x4xf32>
  %1 = "graph.slice"(%0) {starts = [0, 1], steps = array<i64: 1, 2>}
      : (tensor<6x4xf32>) -> tensor<6x2xf32>
  return %1 : tensor<6x2xf32>
}

// CHECK-LABEL: func.func @halves_of_one_tensor
// CHECK: "graph.fusion"(%arg0) ({
// CHECK-DAG: "graph.slice"({{.*}}) {starts = [0, 0],
// CHECK-DAG: "graph.slice"({{.*}}) {starts = [0, 4],
// CHECK: graph.mul
func.func @halves_of_one_tensor(%x: tensor<3x8xf32>) -> tensor<3x4xf32> {
  %0 = "graph.slice"(%x) {starts = [0, 0], steps = array<i64: 1, 1>}
      : (tensor<3x8xf32>) -> tensor<3x4xf32>
  %1 = "graph.slice"(%x) {starts = [0, 4], steps = array<i64: 1, 1>}
      : (tensor<3x8xf32>) -> tensor<3x4xf32>
  %2 = "graph.sigmoid"(%0) : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %3 = "graph.mul"(%2, %1) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return %3 : tensor<3x4xf32>
}

// CHECK-LABEL: func.func @concat_in_the_middle
// CHECK: [[COUNT:%.+]] = "graph.iota"() {start = 0 : i64, step = 1 : i64} : () -> tensor<8xi64>
// CHECK: [[POSITION:%.+]] = "graph.reshape"([[COUNT]]) : (tensor<8xi64>) -> tensor<1x8xi64>
// CHECK: [[SPLIT:%.+]] = "graph.constant"() {value = 3 : i64}
// CHECK: [[FIRST:%.+]] = "graph.lt"([[POSITION]], [[SPLIT]])
// CHECK: "graph.where"([[FIRST]], {{.*}}) : (tensor<1x8xi1>, tensor<4x8xf32>, tensor<4x8xf32>)
func.func @concat_in_the_middle(%x: tensor<4x3xf32>, %y: tensor<4x5xf32>)
    -> tensor<4x8xf32> {
  %0 = "graph.neg"(%x) : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %1 = "graph.concat"(%0, %y) {dim = 1 : i64}
      : (tensor<4x3xf32>, tensor<4x5xf32>) -> tensor<4x8xf32>
  %2 = "graph.relu"(%1) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @lone_concat_stays
// CHECK-NOT: graph.fusion
func.func @lone_concat_stays(%x: tensor<4x3xf32>, %y: tensor<4x5xf32>)
    -> tensor<4x8xf32> {
  %0 = "graph.concat"(%x, %y) {dim = 1 : i64}
      : (tensor<4x3xf32>, tensor<4x5xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// The padding is chosen after the computation, which must not change it.
// CHECK-LABEL: func.func @pad_of_a_computed_value
// CHECK: [[X:%.+]] = "graph.pad"
// CHECK: [[EXP:%.+]] = "graph.exp"([[X]])
// CHECK: [[INSIDE:%.+]] = "graph.lt"
// CHECK: [[VALUE:%.+]] = "graph.constant"() {value = 1.500000e+00 : f64}
// CHECK: "graph.where"([[INSIDE]], [[EXP]], [[VALUE]])
func.func @pad_of_a_computed_value(%x: tensor<4x3xf32>) -> tensor<4x5xf32> {
  %0 = "graph.exp"(%x) : (tensor<4x3xf32>) -> tensor<4x3xf32>
  %1 = "graph.pad"(%0) {low = [0, 0], high = [0, 2], value = 1.5 : f64}
      : (tensor<4x3xf32>) -> tensor<4x5xf32>
  return %1 : tensor<4x5xf32>
}

// A counter that a library op reads is computed by a kernel.
// CHECK-LABEL: func.func @counter_in_memory
// CHECK: [[N:%.+]] = "graph.fusion"() ({
// CHECK: graph.iota
// CHECK: "graph.extern"([[N]])
func.func @counter_in_memory() -> tensor<8xi64> {
  %0 = "graph.iota"() {start = 0 : i64, step = 1 : i64} : () -> tensor<8xi64>
  %1 = "graph.extern"(%0) {op = "aten.some.op", args = [{operand = 0 : i64}],
      kwargs = {}} : (tensor<8xi64>) -> tensor<8xi64>
  return %1 : tensor<8xi64>
}
