// RUN: %girih-opt --autograd --split-input-file %s | filecheck %s

// CHECK-LABEL: func.func @cumsum
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<3x4xf32> {graph.cotangent = 0 : i64}
// CHECK: [[BACKWARDS:%.+]] = "graph.flip"([[G]]) {dims = array<i64: 1>}
// CHECK: [[SUMS:%.+]] = "graph.cumsum"([[BACKWARDS]]) {dim = 1 : i64}
// CHECK: [[D:%.+]] = "graph.flip"([[SUMS]]) {dims = array<i64: 1>}
// CHECK: return %{{.*}}, [[D]]
func.func @cumsum(%x: tensor<3x4xf32> {graph.requires_grad}) -> tensor<3x4xf32> {
  %0 = "graph.cumsum"(%x) {dim = 1 : i64} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func @cumprod
// CHECK: [[Y:%.+]] = "graph.cumprod"(%arg0) {dim = 1 : i64}
// CHECK: [[W:%.+]] = "graph.mul"(%arg1, [[Y]])
// CHECK: [[BACKWARDS:%.+]] = "graph.flip"([[W]]) {dims = array<i64: 1>}
// CHECK: [[SUMS:%.+]] = "graph.cumsum"([[BACKWARDS]]) {dim = 1 : i64}
// CHECK: [[WHOLE:%.+]] = "graph.flip"([[SUMS]]) {dims = array<i64: 1>}
// CHECK: [[QUOTIENT:%.+]] = "graph.div"([[WHOLE]], %{{.*}})
// CHECK: "graph.cumprod"(%{{.*}}) {dim = 1 : i64}
// CHECK: [[D:%.+]] = "graph.where"(%{{.*}}, %{{.*}}, [[QUOTIENT]])
// CHECK: return [[Y]], [[D]]
func.func @cumprod(%x: tensor<3x4xf32> {graph.requires_grad}) -> tensor<3x4xf32> {
  %0 = "graph.cumprod"(%x) {dim = 1 : i64} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// -----

// The terms of positive gradients, then those of negative ones.
// CHECK-LABEL: func.func @logcumsumexp
// CHECK: [[Y:%.+]] = "graph.logcumsumexp"(%arg0) {dim = 1 : i64}
// CHECK: [[LOG:%.+]] = "graph.log"
// CHECK: [[TERMS:%.+]] = "graph.where"(%{{.*}}, [[LOG]], %{{.*}})
// CHECK: [[DISTANCES:%.+]] = "graph.sub"([[TERMS]], [[Y]])
// CHECK: [[BACKWARDS:%.+]] = "graph.flip"([[DISTANCES]]) {dims = array<i64: 1>}
// CHECK: [[SUMS:%.+]] = "graph.logcumsumexp"([[BACKWARDS]]) {dim = 1 : i64}
// CHECK: [[TOTAL:%.+]] = "graph.flip"([[SUMS]]) {dims = array<i64: 1>}
// CHECK: [[LARGE:%.+]] = "graph.add"([[TOTAL]], %arg0)
// CHECK: [[POSITIVE:%.+]] = "graph.exp"([[LARGE]])
// CHECK: "graph.neg"(%arg1)
// CHECK: "graph.logcumsumexp"
// CHECK: [[NEGATIVE:%.+]] = "graph.exp"
// CHECK: [[D:%.+]] = "graph.sub"([[POSITIVE]], [[NEGATIVE]])
// CHECK: return [[Y]], [[D]]
func.func @logcumsumexp(%x: tensor<3x4xf32> {graph.requires_grad}) -> tensor<3x4xf32> {
  %0 = "graph.logcumsumexp"(%x) {dim = 1 : i64} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func @cummax
// CHECK: [[R:%.+]]:2 = "graph.cummax"(%arg0)
// CHECK: [[D:%.+]] = "graph.scatter_add"(%{{.*}}, [[R]]#1, %arg1) {dim = 0 : i64}
// CHECK: return [[R]]#0, [[D]]
func.func @cummax(%x: tensor<3x4xf32> {graph.requires_grad}) -> tensor<3x4xf32> {
  %0:2 = "graph.cummax"(%x) {dim = 0 : i64} : (tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xi64>)
  return %0#0 : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func @scan_min
// CHECK: [[Y:%.+]] = "graph.scan_min"(%arg0)
// CHECK: [[R:%.+]]:2 = "graph.cummin"(%arg0) {dim = 1 : i64}
// CHECK: [[D:%.+]] = "graph.scatter_add"(%{{.*}}, [[R]]#1, %arg1) {dim = 1 : i64}
// CHECK: return [[Y]], [[D]]
func.func @scan_min(%x: tensor<3x4xf32> {graph.requires_grad}) -> tensor<3x4xf32> {
  %0 = "graph.scan_min"(%x) {dim = 1 : i64} : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// -----

// CHECK-LABEL: func.func @topk
// CHECK: [[R:%.+]]:2 = "graph.topk"(%arg0)
// CHECK: [[ZEROS:%.+]] = "graph.full"() {value = 0.000000e+00 : f64} : () -> tensor<3x4xf32>
// CHECK: [[D:%.+]] = "graph.scatter"([[ZEROS]], [[R]]#1, %arg1) {dim = 1 : i64, unique}
// CHECK: return [[R]]#0, [[D]]
func.func @topk(%x: tensor<3x4xf32> {graph.requires_grad}) -> tensor<3x2xf32> {
  %0:2 = "graph.topk"(%x) {k = 2 : i64, dim = 1 : i64, largest = true, sorted = true} : (tensor<3x4xf32>) -> (tensor<3x2xf32>, tensor<3x2xi64>)
  return %0#0 : tensor<3x2xf32>
}

// -----

// CHECK-LABEL: func.func @sort
// CHECK: [[R:%.+]]:2 = "graph.sort"(%arg0)
// CHECK: "graph.scatter"(%{{.*}}, [[R]]#1, %arg1) {dim = 0 : i64, unique}
func.func @sort(%x: tensor<3x4xf32> {graph.requires_grad}) -> tensor<3x4xf32> {
  %0:2 = "graph.sort"(%x) {dim = 0 : i64, descending = false, stable = true} : (tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xi64>)
  return %0#0 : tensor<3x4xf32>
}
