// RUN: %girih-opt --autograd --split-input-file %s | filecheck %s

// CHECK-LABEL: func.func @reduce_sum
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<3x1xf32> {graph.cotangent = 0 : i64}
// CHECK: [[D:%.+]] = "graph.broadcast_to"([[G]]) : (tensor<3x1xf32>) -> tensor<3x4xf32>
// CHECK: return %{{.*}}, [[D]]
func.func @reduce_sum(%x: tensor<3x4xf32> {graph.requires_grad}) -> tensor<3x1xf32> {
  %0 = "graph.reduce_sum"(%x) {dims = array<i64: 1>} : (tensor<3x4xf32>) -> tensor<3x1xf32>
  return %0 : tensor<3x1xf32>
}

// -----

// Each row's gradient is divided before it is repeated; in f32, as 4 may not be exact.
// CHECK-LABEL: func.func @mean
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<3x1xbf16> {graph.cotangent = 0 : i64}
// CHECK: [[WIDE:%.+]] = "graph.cast"([[G]]) : (tensor<3x1xbf16>) -> tensor<3x1xf32>
// CHECK: [[SHARE:%.+]] = "graph.div"([[WIDE]], %{{.*}})
// CHECK: [[NARROW:%.+]] = "graph.cast"([[SHARE]])
// CHECK: [[D:%.+]] = "graph.broadcast_to"([[NARROW]]) {{.*}} -> tensor<3x4xbf16>
// CHECK: return %{{.*}}, [[D]]
func.func @mean(%x: tensor<3x4xbf16> {graph.requires_grad}) -> tensor<3x1xbf16> {
  %0 = "graph.mean"(%x) {dims = array<i64: 1>} : (tensor<3x4xbf16>) -> tensor<3x1xbf16>
  return %0 : tensor<3x1xbf16>
}

// -----

// The mean is that of the forward pass, once common subexpressions are one.
// CHECK-LABEL: func.func @var
// CHECK: [[MEAN:%.+]] = "graph.mean"(%arg0) {dims = array<i64: 1>}
// CHECK: [[CENTERED:%.+]] = "graph.sub"(%arg0, [[MEAN]])
// CHECK: [[D:%.+]] = "graph.mul"(%{{.*}}, [[CENTERED]])
// CHECK: return %{{.*}}, [[D]]
func.func @var(%x: tensor<3x?xf32, ["s0"]> {graph.requires_grad}) -> tensor<3x1xf32> {
  %0 = "graph.var"(%x) {dims = array<i64: 1>, correction = 1.0 : f64} : (tensor<3x?xf32, ["s0"]>) -> tensor<3x1xf32>
  return %0 : tensor<3x1xf32>
}

// -----

// A quotient, with a derivative of its own that divides by nothing.
// CHECK-LABEL: func.func @reduce_prod
// CHECK: [[Y:%.+]] = "graph.reduce_prod"(%arg0) {dims = array<i64: 1>}
// CHECK: [[ZERO:%.+]] = "graph.eq"(%arg0, %{{.*}})
// CHECK: [[FACTORS:%.+]] = "graph.where"([[ZERO]], %{{.*}}, %arg0)
// CHECK: [[QUOTIENT:%.+]] = "graph.div"([[Y]], [[FACTORS]])
// CHECK: [[OTHERS:%.+]] = "graph.where"([[ZERO]], %{{.*}}, [[QUOTIENT]])
// CHECK: [[OWN:%.+]] = "graph.custom_vjp"([[OTHERS]], %arg0)
// CHECK-NOT: graph.div
// CHECK: "graph.mul"([[OWN]], %arg1)
func.func @reduce_prod(%x: tensor<3x4xf32> {graph.requires_grad}) -> tensor<3x1xf32> {
  %0 = "graph.reduce_prod"(%x) {dims = array<i64: 1>} : (tensor<3x4xf32>) -> tensor<3x1xf32>
  return %0 : tensor<3x1xf32>
}

// -----

// Rows of unknown size: running products from both ends.
// CHECK-LABEL: func.func @reduce_prod
// CHECK-NOT: graph.custom_vjp
// CHECK-COUNT-2: "graph.cumprod"
func.func @reduce_prod(%x: tensor<3x?xf32, ["s0"]> {graph.requires_grad}) -> tensor<3x1xf32> {
  %0 = "graph.reduce_prod"(%x) {dims = array<i64: 1>} : (tensor<3x?xf32, ["s0"]>) -> tensor<3x1xf32>
  return %0 : tensor<3x1xf32>
}

// -----

// Equal elements share the gradient; an infinite one makes NaN of the others' zeros.
// CHECK-LABEL: func.func @reduce_max
// CHECK: [[Y:%.+]] = "graph.reduce_max"(%arg0)
// CHECK: [[CHOSEN:%.+]] = "graph.eq"(%arg0, [[Y]])
// CHECK: [[COUNT:%.+]] = "graph.reduce_sum"(%{{.*}}) {dims = array<i64: 1>}
// CHECK: [[MASK:%.+]] = "graph.cast"([[CHOSEN]])
// CHECK: [[MASKED:%.+]] = "graph.mul"(%arg1, [[MASK]])
// CHECK: "graph.div"([[MASKED]], [[COUNT]])
func.func @reduce_max(%x: tensor<3x4xf32> {graph.requires_grad}) -> tensor<3x1xf32> {
  %0 = "graph.reduce_max"(%x) {dims = array<i64: 1>} : (tensor<3x4xf32>) -> tensor<3x1xf32>
  return %0 : tensor<3x1xf32>
}

// -----

// The first one gets it, by a comparison that fuses.
// CHECK-LABEL: func.func @first
// CHECK: [[INDEX:%.+]] = "graph.argmin"(%arg0) {dim = 0 : i64}
// CHECK: [[CHOSEN:%.+]] = "graph.eq"(%{{.*}}, [[INDEX]]) {{.*}} -> tensor<3x4xi1>
// CHECK: [[D:%.+]] = "graph.where"([[CHOSEN]], %arg1, %{{.*}})
// CHECK: return %{{.*}}, [[D]]
func.func @first(%x: tensor<3x4xf32> {graph.requires_grad}) -> tensor<1x4xf32> {
  %0 = "graph.reduce_min"(%x) {dims = array<i64: 0>, ties = "first"} : (tensor<3x4xf32>) -> tensor<1x4xf32>
  return %0 : tensor<1x4xf32>
}

// -----

// An index has no derivative: there is nothing to add.
// CHECK-LABEL: func.func @argmax
// CHECK-NOT: graph.cotangent
func.func @argmax(%x: tensor<3x4xf32> {graph.requires_grad}) -> tensor<3x1xi64> {
  %0 = "graph.argmax"(%x) {dim = 1 : i64} : (tensor<3x4xf32>) -> tensor<3x1xi64>
  return %0 : tensor<3x1xi64>
}
