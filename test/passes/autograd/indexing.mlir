// RUN: %girih-opt --autograd --split-input-file %s | filecheck %s

// CHECK-LABEL: func.func @take
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<2x6x4xf32> {graph.cotangent = 0 : i64}
// CHECK: [[ROWS:%.+]] = "graph.reshape"([[G]]) {{.*}} -> tensor<12x4xf32>
// CHECK: [[INDEX:%.+]] = "graph.reshape"(%arg1) {{.*}} -> tensor<12xi64>
// CHECK: [[ZEROS:%.+]] = "graph.full"() {value = 0.000000e+00 : f64}
// CHECK: "graph.extern"([[ZEROS]], [[INDEX]], [[ROWS]])
// CHECK-SAME: op = "aten.index_add.default"
func.func @take(%x: tensor<8x4xf32> {graph.requires_grad}, %i: tensor<2x6xi64>)
    -> tensor<2x6x4xf32> {
  %0 = "graph.take"(%x, %i) {dim = 0 : i64}
      : (tensor<8x4xf32>, tensor<2x6xi64>) -> tensor<2x6x4xf32>
  return %0 : tensor<2x6x4xf32>
}

// Indexes that may count from the end do so in the gradient, too.
// CHECK-LABEL: func.func @take_from_end
// CHECK: [[PLACE:%.+]] = "graph.where"({{.*}}, %arg1)
// CHECK: "graph.reshape"([[PLACE]]) {{.*}} -> tensor<12xi64>
func.func @take_from_end(%x: tensor<8x4xf32> {graph.requires_grad},
    %i: tensor<2x6xi64>) -> tensor<2x6x4xf32> {
  %0 = "graph.take"(%x, %i) {dim = 0 : i64, from_end}
      : (tensor<8x4xf32>, tensor<2x6xi64>) -> tensor<2x6x4xf32>
  return %0 : tensor<2x6x4xf32>
}

// -----

// One index is compared with a counter.
// CHECK-LABEL: func.func @take_one
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<4xf32> {graph.cotangent = 0 : i64}
// CHECK-DAG: [[ROW:%.+]] = "graph.reshape"([[G]]) {{.*}} -> tensor<1x4xf32>
// CHECK-DAG: [[COUNTER:%.+]] = "graph.iota"() {start = 0 : i64, step = 1 : i64}
// CHECK: [[HERE:%.+]] = "graph.eq"(
// CHECK: "graph.where"([[HERE]], [[ROW]], {{.*}} -> tensor<8x4xf32>
// CHECK-NOT: graph.extern
func.func @take_one(%x: tensor<8x4xf32> {graph.requires_grad}, %i: tensor<i64>)
    -> tensor<4xf32> {
  %0 = "graph.take"(%x, %i) {dim = 0 : i64}
      : (tensor<8x4xf32>, tensor<i64>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Positions 2, 3, 4 are rows in a row.
// CHECK-LABEL: func.func @take_positions
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<1x3x4xf32> {graph.cotangent = 0 : i64}
// CHECK: [[ROWS:%.+]] = "graph.reshape"([[G]]) {{.*}} -> tensor<3x4xf32>
// CHECK: "graph.pad"([[ROWS]]) {high = [3, 0], low = [2, 0], {{.*}}
// CHECK-NOT: graph.extern
func.func @take_positions(%x: tensor<8x4xf32> {graph.requires_grad})
    -> tensor<1x3x4xf32> {
  %0 = "graph.iota"() {start = 2 : i64, step = 1 : i64} : () -> tensor<3xi64>
  %1 = "graph.reshape"(%0) : (tensor<3xi64>) -> tensor<1x3xi64>
  %2 = "graph.take"(%x, %1) {dim = 0 : i64}
      : (tensor<8x4xf32>, tensor<1x3xi64>) -> tensor<1x3x4xf32>
  return %2 : tensor<1x3x4xf32>
}

// -----

// One index for each row, as in a cross entropy.
// CHECK-LABEL: func.func @gather_one_of_each_row
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<4x1xf32> {graph.cotangent = 0 : i64}
// CHECK: [[HERE:%.+]] = "graph.eq"({{.*}} -> tensor<4x9xi1>
// CHECK: "graph.where"([[HERE]], [[G]], {{.*}} -> tensor<4x9xf32>
// CHECK-NOT: graph.scatter_add
func.func @gather_one_of_each_row(%x: tensor<4x9xf32> {graph.requires_grad},
    %i: tensor<4x1xi64>) -> tensor<4x1xf32> {
  %0 = "graph.gather"(%x, %i) {dim = 1 : i64}
      : (tensor<4x9xf32>, tensor<4x1xi64>) -> tensor<4x1xf32>
  return %0 : tensor<4x1xf32>
}

// -----

// CHECK-LABEL: func.func @gather
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<4x2xf32> {graph.cotangent = 0 : i64}
// CHECK: "graph.scatter_add"({{.*}}, {{.*}}, [[G]]) {dim = 1 : i64}
func.func @gather(%x: tensor<4x9xf32> {graph.requires_grad}, %i: tensor<4x2xi32>)
    -> tensor<4x2xf32> {
  %0 = "graph.gather"(%x, %i) {dim = 1 : i64}
      : (tensor<4x9xf32>, tensor<4x2xi32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}

// -----

// CHECK-LABEL: func.func @embedding_with_padding
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<3x4xf32> {graph.cotangent = 0 : i64}
// CHECK: [[PADDING:%.+]] = "graph.eq"(%arg1, {{.*}} -> tensor<3xi1>
// CHECK: [[COLUMN:%.+]] = "graph.reshape"([[PADDING]]) {{.*}} -> tensor<3x1xi1>
// CHECK: [[ROWS:%.+]] = "graph.where"([[COLUMN]], {{.*}}, [[G]])
// CHECK: "graph.extern"({{.*}}, {{.*}}, [[ROWS]]) {{.*}} op = "aten.index_add.default"
func.func @embedding_with_padding(%w: tensor<8x4xf32> {graph.requires_grad},
    %i: tensor<3xi64>) -> tensor<3x4xf32> {
  %0 = "graph.embedding"(%w, %i) {padding_idx = 0 : i64}
      : (tensor<8x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// -----

// Two dims are one, of which an index is computed.
// CHECK-LABEL: func.func @index
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<2x3xf32> {graph.cotangent = 0 : i64}
// CHECK: [[SUM:%.+]] = "graph.extern"({{.*}}, {{.*}}, [[G]]) {{.*}} op = "aten.index_add.default"
// CHECK-SAME: -> tensor<2x40xf32>
// CHECK: "graph.reshape"([[SUM]]) {{.*}} -> tensor<2x5x8xf32>
func.func @index(%x: tensor<2x5x8xf32> {graph.requires_grad}, %i: tensor<3xi64>,
    %j: tensor<3xi64>) -> tensor<2x3xf32> {
  %0 = "graph.index"(%x, %i, %j) {dims = array<i64: 1, 2>}
      : (tensor<2x5x8xf32>, tensor<3xi64>, tensor<3xi64>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func @tril
// CHECK: "graph.tril"(%arg0) {diagonal = 1 : i64}
// CHECK: "graph.tril"(%arg1) {diagonal = 1 : i64}
func.func @tril(%x: tensor<3x3xf32> {graph.requires_grad}) -> tensor<3x3xf32> {
  %0 = "graph.tril"(%x) {diagonal = 1 : i64} : (tensor<3x3xf32>) -> tensor<3x3xf32>
  return %0 : tensor<3x3xf32>
}

// -----

// CHECK-LABEL: func.func @scatter
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<6x4xf32> {graph.cotangent = 0 : i64}
// CHECK-DAG: [[ZEROS:%.+]] = "graph.full"() {{.*}} -> tensor<2x4xf32>
// CHECK-DAG: "graph.scatter"([[G]], %arg1, [[ZEROS]]) {dim = 0 : i64}
// CHECK-DAG: "graph.gather"([[G]], %arg1) {dim = 0 : i64}
func.func @scatter(%x: tensor<6x4xf32> {graph.requires_grad}, %i: tensor<2x4xi64>,
    %s: tensor<2x4xf32> {graph.requires_grad}) -> tensor<6x4xf32> {
  %0 = "graph.scatter"(%x, %i, %s) {dim = 0 : i64}
      : (tensor<6x4xf32>, tensor<2x4xi64>, tensor<2x4xf32>) -> tensor<6x4xf32>
  return %0 : tensor<6x4xf32>
}

// -----

// CHECK-LABEL: func.func @scatter_add
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<6x4xf32> {graph.cotangent = 0 : i64}
// CHECK: [[Y:%.+]] = "graph.scatter_add"
// CHECK: [[S:%.+]] = "graph.gather"([[G]], %arg1) {dim = 0 : i64}
// CHECK: return [[Y]], [[G]], [[S]]
func.func @scatter_add(%x: tensor<6x4xf32> {graph.requires_grad}, %i: tensor<2x4xi64>,
    %s: tensor<2x4xf32> {graph.requires_grad}) -> tensor<6x4xf32> {
  %0 = "graph.scatter_add"(%x, %i, %s) {dim = 0 : i64}
      : (tensor<6x4xf32>, tensor<2x4xi64>, tensor<2x4xf32>) -> tensor<6x4xf32>
  return %0 : tensor<6x4xf32>
}

// -----

// CHECK-LABEL: func.func @index_put
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<6x4xf32> {graph.cotangent = 0 : i64}
// CHECK-DAG: "graph.index"([[G]], %arg1) {dims = array<i64: 0>} {{.*}} -> tensor<2x4xf32>
// CHECK-DAG: "graph.index_put"([[G]], {{.*}}, %arg1) {accumulate = false, {{.*}}
func.func @index_put(%x: tensor<6x4xf32> {graph.requires_grad}, %i: tensor<2xi64>,
    %v: tensor<2x4xf32> {graph.requires_grad}) -> tensor<6x4xf32> {
  %0 = "graph.index_put"(%x, %v, %i) {dims = array<i64: 0>, accumulate = false}
      : (tensor<6x4xf32>, tensor<2x4xf32>, tensor<2xi64>) -> tensor<6x4xf32>
  return %0 : tensor<6x4xf32>
}
