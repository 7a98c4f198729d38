// RUN: %girih-opt --decompose --split-input-file %s | filecheck %s

// Values by one scan, places by a scan of the places of elements that equal them.
// CHECK-LABEL: func.func @cummax
// CHECK: [[Y:%.+]] = "graph.scan_max"(%arg0) {dim = 0 : i64}
// CHECK: [[EQUAL:%.+]] = "graph.eq"(%arg0, [[Y]])
// CHECK: [[NAN:%.+]] = "graph.isnan"(%arg0)
// CHECK: [[EXTREME:%.+]] = "graph.logical_or"([[EQUAL]], [[NAN]])
// CHECK: [[PLACES:%.+]] = "graph.iota"() {{.*}} -> tensor<30xi32>
// CHECK: [[COLUMN:%.+]] = "graph.reshape"([[PLACES]]) : (tensor<30xi32>) -> tensor<30x1xi32>
// CHECK: [[CANDIDATES:%.+]] = "graph.where"([[EXTREME]], [[COLUMN]], %{{.*}})
// CHECK: [[LAST:%.+]] = "graph.scan_max"([[CANDIDATES]]) {dim = 0 : i64}
// CHECK: [[INDICES:%.+]] = "graph.cast"([[LAST]]) : (tensor<30x40xi32>) -> tensor<30x40xi64>
// CHECK: return [[Y]], [[INDICES]]
func.func @cummax(%x: tensor<30x40xf32>) -> (tensor<30x40xf32>, tensor<30x40xi64>) {
  %0:2 = "graph.cummax"(%x) {dim = 0 : i64} : (tensor<30x40xf32>) -> (tensor<30x40xf32>, tensor<30x40xi64>)
  return %0#0, %0#1 : tensor<30x40xf32>, tensor<30x40xi64>
}

// -----

// A size that is not known may need 64 bits. No bool is NaN.
// CHECK-LABEL: func.func @cummin
// CHECK: [[X:%.+]] = "graph.cast"(%arg0) {{.*}} -> tensor<4x?xui8, ["s0"]>
// CHECK: [[Y:%.+]] = "graph.scan_min"([[X]]) {dim = 1 : i64}
// CHECK-NOT: graph.isnan
// CHECK: "graph.iota"() {{.*}} -> tensor<?xi64, ["s0"]>
// CHECK: [[INDICES:%.+]] = "graph.scan_max"(%{{.*}}) {dim = 1 : i64} : (tensor<4x?xi64, ["s0"]>)
// CHECK: [[VALUES:%.+]] = "graph.cast"([[Y]]) {{.*}} -> tensor<4x?xi1, ["s0"]>
// CHECK: return [[VALUES]], [[INDICES]]
func.func @cummin(%x: tensor<4x?xi1, ["s0"]>) -> (tensor<4x?xi1, ["s0"]>, tensor<4x?xi64, ["s0"]>) {
  %0:2 = "graph.cummin"(%x) {dim = 1 : i64} : (tensor<4x?xi1, ["s0"]>) -> (tensor<4x?xi1, ["s0"]>, tensor<4x?xi64, ["s0"]>)
  return %0#0, %0#1 : tensor<4x?xi1, ["s0"]>, tensor<4x?xi64, ["s0"]>
}

// -----

// Few long rows stay a call.
// CHECK-LABEL: func.func @few
// CHECK: "graph.cummax"
// CHECK-NOT: graph.scan_max
func.func @few(%x: tensor<100000xf32>) -> tensor<100000xf32> {
  %0:2 = "graph.cummax"(%x) {dim = 0 : i64} : (tensor<100000xf32>) -> (tensor<100000xf32>, tensor<100000xi64>)
  return %0#0 : tensor<100000xf32>
}
