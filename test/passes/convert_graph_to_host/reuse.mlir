// RUN: %girih-opt --convert-graph-to-host --split-input-file %s | filecheck %s

// A kernel made the operand and nothing else reads it.
// CHECK-LABEL: func.func @filled
// CHECK: [[OWN:%.+]] = "host.alloc"
// CHECK: "host.launch"([[OWN]])
// CHECK: "host.extern"([[OWN]], %arg0, %arg1) {{.*}} op = "aten.index_add_.default"}
// CHECK: "host.return"([[OWN]])
func.func @filled(%i: tensor<3xi64>, %g: tensor<3x4xf32>) -> tensor<8x4xf32> {
  %0 = "graph.full"() {value = 0.0 : f64} : () -> tensor<8x4xf32>
  %1 = "graph.extern"(%0, %i, %g) {op = "aten.index_add.default", kwargs = {},
      args = [{operand = 0 : i64}, 0, {operand = 1 : i64}, {operand = 2 : i64}]}
      : (tensor<8x4xf32>, tensor<3xi64>, tensor<3x4xf32>) -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// -----

// Equal operands that cost nothing are made once for each call.
// CHECK-LABEL: func.func @filled_for_two
// CHECK-DAG: "host.launch"([[ONE:%.+]]) {kernel
// CHECK-DAG: "host.launch"([[OTHER:%.+]]) {kernel
// CHECK-DAG: "host.extern"([[ONE]], {{.*}} op = "aten.index_add_.default"}
// CHECK-DAG: "host.extern"([[OTHER]], {{.*}} op = "aten.scatter_add_.default"}
func.func @filled_for_two(%i: tensor<3x4xi64>, %j: tensor<3xi64>, %g: tensor<3x4xf32>)
    -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %0 = "graph.full"() {value = 0.0 : f64} : () -> tensor<8x4xf32>
  %1 = "graph.scatter_add"(%0, %i, %g) {dim = 0 : i64}
      : (tensor<8x4xf32>, tensor<3x4xi64>, tensor<3x4xf32>) -> tensor<8x4xf32>
  %2 = "graph.extern"(%0, %j, %g) {op = "aten.index_add.default", kwargs = {},
      args = [{operand = 0 : i64}, 0, {operand = 1 : i64}, {operand = 2 : i64}]}
      : (tensor<8x4xf32>, tensor<3xi64>, tensor<3x4xf32>) -> tensor<8x4xf32>
  return %1, %2 : tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

// CHECK-LABEL: func.func @read_later
// CHECK: "host.extern"({{.*}} op = "aten.scatter_add.default"}
func.func @read_later(%x: tensor<8x4xf32>, %i: tensor<3x4xi64>, %g: tensor<3x4xf32>)
    -> (tensor<8x4xf32>, tensor<4x8xf32>) {
  %0 = "graph.sin"(%x) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = "graph.permute"(%0) {permutation = array<i64: 1, 0>}
      : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %2 = "graph.scatter_add"(%0, %i, %g) {dim = 0 : i64}
      : (tensor<8x4xf32>, tensor<3x4xi64>, tensor<3x4xf32>) -> tensor<8x4xf32>
  return %2, %1 : tensor<8x4xf32>, tensor<4x8xf32>
}

// -----

// The caller's tensor is not the program's.
// CHECK-LABEL: func.func @argument
// CHECK: "host.extern"({{.*}} op = "aten.scatter_add.default"}
func.func @argument(%x: tensor<8x4xf32>, %i: tensor<3x4xi64>, %g: tensor<3x4xf32>)
    -> tensor<8x4xf32> {
  %0 = "graph.scatter_add"(%x, %i, %g) {dim = 0 : i64}
      : (tensor<8x4xf32>, tensor<3x4xi64>, tensor<3x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// It is also what is added.
// CHECK-LABEL: func.func @read_by_the_call
// CHECK: "host.extern"({{.*}} op = "aten.scatter_add.default"}
func.func @read_by_the_call(%x: tensor<8x4xf32>, %i: tensor<8x4xi64>)
    -> tensor<8x4xf32> {
  %0 = "graph.sin"(%x) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = "graph.scatter_add"(%0, %i, %0) {dim = 0 : i64}
      : (tensor<8x4xf32>, tensor<8x4xi64>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// -----

// What ATen made is the program's own as well; two calls write it in turn.
// CHECK-LABEL: func.func @product
// CHECK: [[PRODUCT:%.+]] = "host.extern"({{.*}} op = "aten.mm.default"}
// CHECK: "host.extern"([[PRODUCT]], {{.*}} op = "aten.scatter_add_.default"}
// CHECK: "host.extern"([[PRODUCT]], {{.*}} op = "aten.scatter_add_.default"}
// CHECK: "host.return"([[PRODUCT]])
func.func @product(%x: tensor<8x3xf32>, %y: tensor<3x4xf32>, %i: tensor<3x4xi64>)
    -> tensor<8x4xf32> {
  %0 = "graph.mm"(%x, %y) : (tensor<8x3xf32>, tensor<3x4xf32>) -> tensor<8x4xf32>
  %1 = "graph.scatter_add"(%0, %i, %y) {dim = 0 : i64}
      : (tensor<8x4xf32>, tensor<3x4xi64>, tensor<3x4xf32>) -> tensor<8x4xf32>
  %2 = "graph.scatter_add"(%1, %i, %y) {dim = 0 : i64}
      : (tensor<8x4xf32>, tensor<3x4xi64>, tensor<3x4xf32>) -> tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}
