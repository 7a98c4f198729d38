// RUN: %girih-opt --autograd --canonicalize-graph --split-input-file %s | filecheck %s

// CHECK-LABEL: func.func @thirds
// CHECK-SAME: [[A:%[a-z0-9]+]]: tensor<2x3xf32> {graph.cotangent = 0 : i64}
// CHECK-SAME: [[B:%[a-z0-9]+]]: tensor<2x3xf32> {graph.cotangent = 1 : i64}
// CHECK-SAME: [[C:%[a-z0-9]+]]: tensor<2x3xf32> {graph.cotangent = 2 : i64}
// CHECK: [[D:%.+]] = "graph.concat"([[A]], [[B]], [[C]]) {dim = 1 : i64}
// CHECK-NEXT: return {{.*}}, [[D]]
func.func @thirds(%x: tensor<2x9xf32> {graph.requires_grad})
    -> (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) {
  %0 = "graph.slice"(%x) {starts = [0, 0], steps = array<i64: 1, 1>}
      : (tensor<2x9xf32>) -> tensor<2x3xf32>
  %1 = "graph.slice"(%x) {starts = [0, 3], steps = array<i64: 1, 1>}
      : (tensor<2x9xf32>) -> tensor<2x3xf32>
  %2 = "graph.slice"(%x) {starts = [0, 6], steps = array<i64: 1, 1>}
      : (tensor<2x9xf32>) -> tensor<2x3xf32>
  return %0, %1, %2 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
}

// -----

// Even and odd elements are columns of a table.
// CHECK-LABEL: func.func @even_and_odd
// CHECK: [[TABLE:%.+]] = "graph.concat"({{.*}} -> tensor<4x2xf32>
// CHECK: [[D:%.+]] = "graph.reshape"([[TABLE]]) {{.*}} -> tensor<8xf32>
// CHECK: return {{.*}}, [[D]]
func.func @even_and_odd(%x: tensor<8xf32> {graph.requires_grad})
    -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = "graph.slice"(%x) {starts = [0], steps = array<i64: 2>}
      : (tensor<8xf32>) -> tensor<4xf32>
  %1 = "graph.slice"(%x) {starts = [1], steps = array<i64: 2>}
      : (tensor<8xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Gradients of the whole may come between those of the parts.
// CHECK-LABEL: func.func @parts_and_the_whole
// CHECK: [[PARTS:%.+]] = "graph.concat"({{.*}} -> tensor<7xf32>
// CHECK: [[PADDED:%.+]] = "graph.pad"([[PARTS]]) {high = [0], low = [2], {{.*}}
// CHECK: "graph.add"({{.*}}, [[PADDED]])
// CHECK-NOT: graph.pad
func.func @parts_and_the_whole(%x: tensor<9xf32> {graph.requires_grad})
    -> (tensor<3xf32>, tensor<9xf32>, tensor<4xf32>) {
  %0 = "graph.slice"(%x) {starts = [2], steps = array<i64: 1>}
      : (tensor<9xf32>) -> tensor<3xf32>
  %1 = "graph.sin"(%x) : (tensor<9xf32>) -> tensor<9xf32>
  %2 = "graph.slice"(%x) {starts = [5], steps = array<i64: 1>}
      : (tensor<9xf32>) -> tensor<4xf32>
  return %0, %1, %2 : tensor<3xf32>, tensor<9xf32>, tensor<4xf32>
}

// -----

// Parts that overlap are summed.
// CHECK-LABEL: func.func @overlap
// CHECK: "graph.add"
// CHECK-NOT: graph.concat
func.func @overlap(%x: tensor<9xf32> {graph.requires_grad})
    -> (tensor<3xf32>, tensor<4xf32>) {
  %0 = "graph.slice"(%x) {starts = [2], steps = array<i64: 1>}
      : (tensor<9xf32>) -> tensor<3xf32>
  %1 = "graph.slice"(%x) {starts = [4], steps = array<i64: 1>}
      : (tensor<9xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<3xf32>, tensor<4xf32>
}

// -----

// The second gradient of the weight starts from the first.
// CHECK-LABEL: func.func @tied
// CHECK: [[BY_PRODUCT:%.+]] = "graph.mm"({{.*}} -> tensor<8x4xf32>
// CHECK: [[BOTH:%.+]] = "graph.extern"([[BY_PRODUCT]], {{.*}} op = "aten.index_add.default"
// CHECK: return {{.*}}, [[BOTH]]
func.func @tied(%w: tensor<8x4xf32> {graph.requires_grad}, %i: tensor<3xi64>,
    %x: tensor<4x5xf32>) -> (tensor<3x4xf32>, tensor<8x5xf32>) {
  %0 = "graph.take"(%w, %i) {dim = 0 : i64}
      : (tensor<8x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  %1 = "graph.mm"(%w, %x) : (tensor<8x4xf32>, tensor<4x5xf32>) -> tensor<8x5xf32>
  return %0, %1 : tensor<3x4xf32>, tensor<8x5xf32>
}
