// RUN: %girih-opt --autograd --split-input-file %s | filecheck %s

// CHECK-LABEL: func.func @reshape
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<6xf32> {graph.cotangent = 0 : i64}
// CHECK: [[Y:%.+]] = "graph.reshape"(%arg0)
// CHECK: [[D:%.+]] = "graph.reshape"([[G]]) : (tensor<6xf32>) -> tensor<2x3xf32>
// CHECK: return [[Y]], [[D]]
func.func @reshape(%x: tensor<2x3xf32> {graph.requires_grad}) -> tensor<6xf32> {
  %0 = "graph.reshape"(%x) : (tensor<2x3xf32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

// -----

// CHECK-LABEL: func.func @permute
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<4x2x3xf32> {graph.cotangent = 0 : i64}
// CHECK: "graph.permute"([[G]]) {permutation = array<i64: 1, 2, 0>}
func.func @permute(%x: tensor<2x3x4xf32> {graph.requires_grad}) -> tensor<4x2x3xf32> {
  %0 = "graph.permute"(%x) {permutation = array<i64: 2, 0, 1>}
      : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  return %0 : tensor<4x2x3xf32>
}

// -----

// What is repeated is summed, whatever its size.
// CHECK-LABEL: func.func @broadcast_to
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<2x?x3xf32, ["s0"]> {graph.cotangent = 0 : i64}
// CHECK: [[SUM:%.+]] = "graph.reduce_sum"([[G]]) {dims = array<i64: 0, 1>}
// CHECK: "graph.reshape"([[SUM]]) {{.*}} -> tensor<1x3xf32>
func.func @broadcast_to(%x: tensor<1x3xf32> {graph.requires_grad},
    %y: tensor<?xf32, ["s0"]>) -> tensor<2x?x3xf32, ["s0"]> {
  %0 = "graph.broadcast_to"(%x) : (tensor<1x3xf32>) -> tensor<2x?x3xf32, ["s0"]>
  return %0 : tensor<2x?x3xf32, ["s0"]>
}

// -----

// CHECK-LABEL: func.func @slice
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<3xf32> {graph.cotangent = 0 : i64}
// CHECK: "graph.pad"([[G]]) {high = [5], low = [2], value = 0 : i64}
func.func @slice(%x: tensor<10xf32> {graph.requires_grad}) -> tensor<3xf32> {
  %0 = "graph.slice"(%x) {starts = [2], steps = array<i64: 1>}
      : (tensor<10xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

// Each element becomes three, of which it is the second.
// CHECK-LABEL: func.func @slice_with_steps
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<2xf32> {graph.cotangent = 0 : i64}
// CHECK: [[COLUMN:%.+]] = "graph.reshape"([[G]]) : {{.*}} -> tensor<2x1xf32>
// CHECK: [[TABLE:%.+]] = "graph.pad"([[COLUMN]]) {high = [0, 1], low = [0, 1], {{.*}}
// CHECK: [[FLAT:%.+]] = "graph.reshape"([[TABLE]]) : {{.*}} -> tensor<6xf32>
// CHECK: "graph.pad"([[FLAT]]) {high = [2], low = [3], {{.*}} -> tensor<11xf32>
// CHECK-NOT: graph.slice
func.func @slice_with_steps(%x: tensor<11xf32> {graph.requires_grad})
    -> tensor<2xf32> {
  %0 = "graph.slice"(%x) {starts = [4], steps = array<i64: 3>}
      : (tensor<11xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// Zeros behind x are cut off.
// CHECK-LABEL: func.func @slice_to_the_end
// CHECK: [[FLAT:%.+]] = "graph.reshape"({{.*}} -> tensor<9xf32>
// CHECK: "graph.slice"([[FLAT]]) {{.*}} -> tensor<7xf32>
func.func @slice_to_the_end(%x: tensor<7xf32> {graph.requires_grad})
    -> tensor<3xf32> {
  %0 = "graph.slice"(%x) {starts = [0], steps = array<i64: 3>}
      : (tensor<7xf32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func @slice_from_a_symbol
// CHECK: "graph.pad"({{.*}}) {high = ["s0 - 1"], low = ["s0"], value = 0 : i64}
func.func @slice_from_a_symbol(%x: tensor<?xf32, ["2*s0"]> {graph.requires_grad},
    %y: tensor<?xf32, ["s0"]>) -> tensor<1xf32> {
  %0 = "graph.slice"(%x) {starts = ["s0"], steps = array<i64: 1>}
      : (tensor<?xf32, ["2*s0"]>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}

// -----

// CHECK-LABEL: func.func @concat
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<2x9xf32> {graph.cotangent = 0 : i64}
// CHECK-DAG: "graph.slice"([[G]]) {starts = [0, 0], {{.*}} -> tensor<2x3xf32>
// CHECK-DAG: "graph.slice"([[G]]) {starts = [0, 7], {{.*}} -> tensor<2x2xf32>
// CHECK-NOT: "graph.slice"
func.func @concat(%x: tensor<2x3xf32> {graph.requires_grad}, %y: tensor<2x4xf32>,
    %z: tensor<2x2xf32> {graph.requires_grad}) -> tensor<2x9xf32> {
  %0 = "graph.concat"(%x, %y, %z) {dim = 1 : i64}
      : (tensor<2x3xf32>, tensor<2x4xf32>, tensor<2x2xf32>) -> tensor<2x9xf32>
  return %0 : tensor<2x9xf32>
}

// -----

// CHECK-LABEL: func.func @pad
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<6xf32> {graph.cotangent = 0 : i64}
// CHECK: "graph.slice"([[G]]) {starts = [1], {{.*}} -> tensor<3xf32>
func.func @pad(%x: tensor<3xf32> {graph.requires_grad}) -> tensor<6xf32> {
  %0 = "graph.pad"(%x) {low = [1], high = [2], value = 7.0 : f64}
      : (tensor<3xf32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

// -----

// CHECK-LABEL: func.func @window
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<2x3x4xf32> {graph.cotangent = 0 : i64}
// CHECK: "graph.extern"([[G]]) {{.*}}aten.unfold_backward.default{{.*}} -> tensor<2x8xf32>
func.func @window(%x: tensor<2x8xf32> {graph.requires_grad}) -> tensor<2x3x4xf32> {
  %0 = "graph.window"(%x) {dim = 1, step = 2} : (tensor<2x8xf32>) -> tensor<2x3x4xf32>
  return %0 : tensor<2x3x4xf32>
}

// -----

// CHECK-LABEL: func.func @flip
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<2x3xf32> {graph.cotangent = 0 : i64}
// CHECK: "graph.flip"([[G]]) {dims = array<i64: 1>}
func.func @flip(%x: tensor<2x3xf32> {graph.requires_grad}) -> tensor<2x3xf32> {
  %0 = "graph.flip"(%x) {dims = array<i64: 1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}
