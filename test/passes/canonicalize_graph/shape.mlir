// RUN: %girih-opt --pass-pipeline=canonicalize-graph %s | filecheck %s

// CHECK-LABEL: func.func @reshape_of_reshape
// CHECK-SAME: ([[X:%.+]]: tensor<6x4xf32>)
// CHECK: [[Y:%.+]] = "graph.reshape"([[X]]) : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: return [[Y]]
func.func @reshape_of_reshape(%x: tensor<6x4xf32>) -> tensor<2x3x4xf32> {
  %0 = "graph.reshape"(%x) : (tensor<6x4xf32>) -> tensor<24xf32>
  %1 = "graph.reshape"(%0) : (tensor<24xf32>) -> tensor<2x3x4xf32>
  return %1 : tensor<2x3x4xf32>
}

// CHECK-LABEL: func.func @reshape_there_and_back
// CHECK-SAME: ([[X:%.+]]: tensor<6x4xf32>)
// CHECK-NEXT: return [[X]]
func.func @reshape_there_and_back(%x: tensor<6x4xf32>) -> tensor<6x4xf32> {
  %0 = "graph.reshape"(%x) : (tensor<6x4xf32>) -> tensor<24xf32>
  %1 = "graph.reshape"(%0) : (tensor<24xf32>) -> tensor<6x4xf32>
  return %1 : tensor<6x4xf32>
}

// CHECK-LABEL: func.func @reshape_of_permute_stays
// CHECK: "graph.permute"
// CHECK-NEXT: "graph.reshape"
func.func @reshape_of_permute_stays(%x: tensor<6x4xf32>) -> tensor<24xf32> {
  %0 = "graph.permute"(%x) {permutation = array<i64: 1, 0>}
      : (tensor<6x4xf32>) -> tensor<4x6xf32>
  %1 = "graph.reshape"(%0) : (tensor<4x6xf32>) -> tensor<24xf32>
  return %1 : tensor<24xf32>
}

// CHECK-LABEL: func.func @permute_of_permute
// CHECK: "graph.permute"({{.*}}) {permutation = array<i64: 1, 0, 2>}
// CHECK-NEXT: return
func.func @permute_of_permute(%x: tensor<2x3x4xf32>) -> tensor<3x2x4xf32> {
  %0 = "graph.permute"(%x) {permutation = array<i64: 2, 0, 1>}
      : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %1 = "graph.permute"(%0) {permutation = array<i64: 2, 1, 0>}
      : (tensor<4x2x3xf32>) -> tensor<3x2x4xf32>
  return %1 : tensor<3x2x4xf32>
}

// Dims of size 1 may move: that is a reshape.
// CHECK-LABEL: func.func @permute_of_unit_dim
// CHECK-NOT: graph.permute
// CHECK: "graph.reshape"({{.*}}) : (tensor<2x1x4xf32>) -> tensor<1x2x4xf32>
func.func @permute_of_unit_dim(%x: tensor<2x1x4xf32>) -> tensor<1x2x4xf32> {
  %0 = "graph.permute"(%x) {permutation = array<i64: 1, 0, 2>}
      : (tensor<2x1x4xf32>) -> tensor<1x2x4xf32>
  return %0 : tensor<1x2x4xf32>
}

// CHECK-LABEL: func.func @broadcast_of_broadcast
// CHECK: "graph.broadcast_to"({{.*}}) : (tensor<4xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: return
func.func @broadcast_of_broadcast(%x: tensor<4xf32>) -> tensor<2x3x4xf32> {
  %0 = "graph.broadcast_to"(%x) : (tensor<4xf32>) -> tensor<3x4xf32>
  %1 = "graph.broadcast_to"(%0) : (tensor<3x4xf32>) -> tensor<2x3x4xf32>
  return %1 : tensor<2x3x4xf32>
}

// CHECK-LABEL: func.func @slice_of_slice
// CHECK: "graph.slice"({{.*}}) {starts = [5, 0], steps = array<i64: 6, 1>}
// CHECK-SAME: -> tensor<2x4xf32>
// CHECK-NEXT: return
func.func @slice_of_slice(%x: tensor<16x4xf32>) -> tensor<2x4xf32> {
  %0 = "graph.slice"(%x) {starts = [1, 0], steps = array<i64: 2, 1>}
      : (tensor<16x4xf32>) -> tensor<7x4xf32>
  %1 = "graph.slice"(%0) {starts = [2, 0], steps = array<i64: 3, 1>}
      : (tensor<7x4xf32>) -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @slice_of_concat
// CHECK-SAME: ([[X:%.+]]: tensor<3x4xf32>, [[Y:%.+]]: tensor<5x4xf32>)
// CHECK: "graph.slice"([[Y]]) {starts = [1, 0], steps = array<i64: 1, 1>}
// CHECK-NEXT: return
func.func @slice_of_concat(%x: tensor<3x4xf32>, %y: tensor<5x4xf32>)
    -> tensor<2x4xf32> {
  %0 = "graph.concat"(%x, %y) {dim = 0 : i64}
      : (tensor<3x4xf32>, tensor<5x4xf32>) -> tensor<8x4xf32>
  %1 = "graph.slice"(%0) {starts = [4, 0], steps = array<i64: 1, 1>}
      : (tensor<8x4xf32>) -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @slice_across_operands_stays
// CHECK: "graph.concat"
// CHECK-NEXT: "graph.slice"
func.func @slice_across_operands_stays(%x: tensor<3x4xf32>, %y: tensor<5x4xf32>)
    -> tensor<2x4xf32> {
  %0 = "graph.concat"(%x, %y) {dim = 0 : i64}
      : (tensor<3x4xf32>, tensor<5x4xf32>) -> tensor<8x4xf32>
  %1 = "graph.slice"(%0) {starts = [2, 0], steps = array<i64: 1, 1>}
      : (tensor<8x4xf32>) -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @symbolic_slice_of_concat
// CHECK-SAME: ([[X:%.+]]: tensor<?x4xf32, ["s0"]>, [[Y:%.+]]: tensor<?x4xf32, ["s1"]>)
// CHECK-NEXT: return [[Y]]
func.func @symbolic_slice_of_concat(%x: tensor<?x4xf32, ["s0"]>,
    %y: tensor<?x4xf32, ["s1"]>) -> tensor<?x4xf32, ["s1"]> {
  %0 = "graph.concat"(%x, %y) {dim = 0 : i64}
      : (tensor<?x4xf32, ["s0"]>, tensor<?x4xf32, ["s1"]>)
      -> tensor<?x4xf32, ["s0 + s1"]>
  %1 = "graph.slice"(%0) {starts = ["s0", 0], steps = array<i64: 1, 1>}
      : (tensor<?x4xf32, ["s0 + s1"]>) -> tensor<?x4xf32, ["s1"]>
  return %1 : tensor<?x4xf32, ["s1"]>
}

// CHECK-LABEL: func.func @concat_with_nothing
// CHECK-SAME: ([[X:%.+]]: tensor<3x4xf32>, {{.*}})
// CHECK-NEXT: return [[X]]
func.func @concat_with_nothing(%x: tensor<3x4xf32>, %y: tensor<0x4xf32>)
    -> tensor<3x4xf32> {
  %0 = "graph.concat"(%x, %y) {dim = 0 : i64}
      : (tensor<3x4xf32>, tensor<0x4xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// CHECK-LABEL: func.func @pad_by_nothing
// CHECK-SAME: ([[X:%.+]]: tensor<3x4xf32>)
// CHECK-NEXT: return [[X]]
func.func @pad_by_nothing(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = "graph.pad"(%x) {low = [0, 0], high = [0, 0], value = 1.0 : f64}
      : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// CHECK-LABEL: func.func @flip_twice_in_one_dim
// CHECK: "graph.flip"({{.*}}) {dims = array<i64: 1>}
// CHECK-NEXT: return
func.func @flip_twice_in_one_dim(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = "graph.flip"(%x) {dims = array<i64: 0, 1>} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %1 = "graph.flip"(%0) {dims = array<i64: 0>} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}

// CHECK-LABEL: func.func @slice_of_iota
// CHECK: "graph.iota"() {start = 7 : i64, step = 4 : i64} : () -> tensor<3xi64>
// CHECK-NEXT: return
func.func @slice_of_iota() -> tensor<3xi64> {
  %0 = "graph.iota"() {start = 1 : i64, step = 2 : i64} : () -> tensor<16xi64>
  %1 = "graph.slice"(%0) {starts = [3], steps = array<i64: 2>}
      : (tensor<16xi64>) -> tensor<3xi64>
  return %1 : tensor<3xi64>
}

// CHECK-LABEL: @windows_side_by_side
// CHECK: [[SPLIT:%.+]] = "graph.reshape"(%{{.*}}) : (tensor<6x5xf32>) -> tensor<3x2x5xf32>
// CHECK: "graph.permute"([[SPLIT]]) {permutation = array<i64: 0, 2, 1>}
// CHECK-NOT: graph.window
func.func @windows_side_by_side(%x: tensor<6x5xf32>) -> tensor<3x5x2xf32> {
  %0 = "graph.window"(%x) {dim = 0, step = 2} : (tensor<6x5xf32>) -> tensor<3x5x2xf32>
  return %0 : tensor<3x5x2xf32>
}

// CHECK-LABEL: @windows_that_leave_a_rest
// CHECK: "graph.window"
func.func @windows_that_leave_a_rest(%x: tensor<7x5xf32>) -> tensor<3x5x2xf32> {
  %0 = "graph.window"(%x) {dim = 0, step = 2} : (tensor<7x5xf32>) -> tensor<3x5x2xf32>
  return %0 : tensor<3x5x2xf32>
}

// CHECK-LABEL: @windows_of_equal_elements
// CHECK: "graph.full"() {value = 1.{{.*}}} : () -> tensor<4x3xf32>
func.func @windows_of_equal_elements() -> tensor<4x3xf32> {
  %0 = "graph.full"() {value = 1.0 : f64} : () -> tensor<6xf32>
  %1 = "graph.window"(%0) {dim = 0, step = 1} : (tensor<6xf32>) -> tensor<4x3xf32>
  return %1 : tensor<4x3xf32>
}

// CHECK-LABEL: func.func @slice_of_insert
// CHECK-NEXT: return %arg1
func.func @slice_of_insert(%x: tensor<6x4xf32>, %p: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %0 = "graph.insert"(%x, %p) {starts = [2, 0], steps = array<i64: 1, 1>}
      : (tensor<6x4xf32>, tensor<1x4xf32>) -> tensor<6x4xf32>
  %1 = "graph.slice"(%0) {starts = [2, 0], steps = array<i64: 1, 1>}
      : (tensor<6x4xf32>) -> tensor<1x4xf32>
  return %1 : tensor<1x4xf32>
}

// CHECK-LABEL: func.func @insert_of_insert
// CHECK-NEXT: "graph.insert"(%arg0, %arg2)
// CHECK-NEXT: return
func.func @insert_of_insert(%x: tensor<6x4xf32>, %p: tensor<1x4xf32>, %q: tensor<1x4xf32>)
    -> tensor<6x4xf32> {
  %0 = "graph.insert"(%x, %p) {starts = [2, 0], steps = array<i64: 1, 1>}
      : (tensor<6x4xf32>, tensor<1x4xf32>) -> tensor<6x4xf32>
  %1 = "graph.insert"(%0, %q) {starts = [2, 0], steps = array<i64: 1, 1>}
      : (tensor<6x4xf32>, tensor<1x4xf32>) -> tensor<6x4xf32>
  return %1 : tensor<6x4xf32>
}

// What is read of the first one stays.
// CHECK-LABEL: func.func @insert_of_read_insert
// CHECK: "graph.insert"
// CHECK: "graph.insert"
func.func @insert_of_read_insert(%x: tensor<6x4xf32>, %p: tensor<1x4xf32>, %q: tensor<1x4xf32>)
    -> (tensor<6x4xf32>, tensor<6x4xf32>) {
  %0 = "graph.insert"(%x, %p) {starts = [2, 0], steps = array<i64: 1, 1>}
      : (tensor<6x4xf32>, tensor<1x4xf32>) -> tensor<6x4xf32>
  %1 = "graph.insert"(%0, %q) {starts = [2, 0], steps = array<i64: 1, 1>}
      : (tensor<6x4xf32>, tensor<1x4xf32>) -> tensor<6x4xf32>
  return %0, %1 : tensor<6x4xf32>, tensor<6x4xf32>
}
