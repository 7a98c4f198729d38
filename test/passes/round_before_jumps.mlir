// RUN: %girih-opt --pass-pipeline=round-before-jumps --split-input-file %s | filecheck %s

// The scale of a quantisation is rounded, and so is what it is computed of.
// CHECK-LABEL: func.func @scale
// CHECK: [[RANGE:%.+]] = "graph.sub"(%arg1, %arg2)
// CHECK-NEXT: [[WIDE:%.+]] = "graph.cast"([[RANGE]]) : (tensor<4x1xf16>) -> tensor<4x1xf32>
// CHECK-NEXT: [[NARROW:%.+]] = "graph.cast"([[WIDE]]) : (tensor<4x1xf32>) -> tensor<4x1xf16>
// CHECK-NEXT: [[QUOTIENT:%.+]] = "graph.div"(%arg0, [[NARROW]])
// CHECK-NEXT: "graph.round"([[QUOTIENT]])
func.func @scale(%x: tensor<4x8xf16>, %high: tensor<4x1xf16>, %low: tensor<4x1xf16>)
    -> tensor<4x8xf16> {
  %0 = "graph.sub"(%high, %low) : (tensor<4x1xf16>, tensor<4x1xf16>) -> tensor<4x1xf16>
  %1 = "graph.div"(%x, %0) : (tensor<4x8xf16>, tensor<4x1xf16>) -> tensor<4x8xf16>
  %2 = "graph.round"(%1) : (tensor<4x8xf16>) -> tensor<4x8xf16>
  return %2 : tensor<4x8xf16>
}

// -----

// Nothing jumps.
// CHECK-LABEL: func.func @smooth
// CHECK-NOT: "graph.cast"
func.func @smooth(%x: tensor<8xf16>) -> tensor<8xf16> {
  %0 = "graph.mul"(%x, %x) : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
  %1 = "graph.sub"(%0, %x) : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
  return %1 : tensor<8xf16>
}

// -----

// `leaky_relu` bends at 0, and does not jump.
// CHECK-LABEL: func.func @bent
// CHECK: "graph.mul"
// CHECK-NEXT: "graph.add"
func.func @bent(%x: tensor<8xf16>) -> tensor<8xf16> {
  %0 = "graph.mul"(%x, %x) : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
  %1 = "graph.add"(%0, %x) : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
  %2 = "graph.cast"(%1) : (tensor<8xf16>) -> tensor<8xf32>
  %3 = "graph.constant"() {value = 0.0 : f64} : () -> tensor<f32>
  %4 = "graph.constant"() {value = 0.01 : f64} : () -> tensor<f32>
  %5 = "graph.mul"(%2, %4) : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %6 = "graph.gt"(%2, %3) : (tensor<8xf32>, tensor<f32>) -> tensor<8xi1>
  %7 = "graph.where"(%6, %2, %5) : (tensor<8xi1>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %8 = "graph.cast"(%7) : (tensor<8xf32>) -> tensor<8xf16>
  return %8 : tensor<8xf16>
}

// -----

// A value that was computed in 32 bits depends on one of 16.
// CHECK-LABEL: func.func @widened
// CHECK: "graph.mul"
// CHECK-NEXT: "graph.cast"{{.*}} -> tensor<8xf32>
// CHECK-NEXT: "graph.cast"{{.*}} -> tensor<8xbf16>
// CHECK-NEXT: "graph.cast"{{.*}} -> tensor<8xf32>
// CHECK-NEXT: "graph.sqrt"{{.*}} tensor<8xf32>
// CHECK-NEXT: "graph.cast"{{.*}} -> tensor<8xi32>
func.func @widened(%x: tensor<8xbf16>) -> tensor<8xi32> {
  %0 = "graph.mul"(%x, %x) : (tensor<8xbf16>, tensor<8xbf16>) -> tensor<8xbf16>
  %1 = "graph.cast"(%0) : (tensor<8xbf16>) -> tensor<8xf32>
  %2 = "graph.sqrt"(%1) : (tensor<8xf32>) -> tensor<8xf32>
  %3 = "graph.cast"(%2) : (tensor<8xf32>) -> tensor<8xi32>
  return %3 : tensor<8xi32>
}

// -----

// Chosen elements have been rounded before; a sum's terms stay as they are.
// CHECK-LABEL: func.func @sum_of_products
// CHECK: [[PRODUCT:%.+]] = "graph.mul"(%arg0, %arg0)
// CHECK-NEXT: [[SUM:%.+]] = "graph.reduce_sum"([[PRODUCT]])
// CHECK-NEXT: "graph.cast"([[SUM]])
// CHECK-NEXT: [[ROUNDED:%.+]] = "graph.cast"
// CHECK-NEXT: [[LARGER:%.+]] = "graph.maximum"([[ROUNDED]], %arg1)
// CHECK-NEXT: "graph.gt"([[LARGER]],
func.func @sum_of_products(%x: tensor<8xf16>, %y: tensor<1xf16>) -> tensor<1xi1> {
  %0 = "graph.mul"(%x, %x) : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 0>} : (tensor<8xf16>) -> tensor<1xf16>
  %2 = "graph.maximum"(%1, %y) : (tensor<1xf16>, tensor<1xf16>) -> tensor<1xf16>
  %3 = "graph.gt"(%2, %y) : (tensor<1xf16>, tensor<1xf16>) -> tensor<1xi1>
  return %3 : tensor<1xi1>
}

// -----

// What a library sorts is stored.
// CHECK-LABEL: func.func @sorted
// CHECK: "graph.mul"
// CHECK-NEXT: "graph.cast"
// CHECK-NEXT: "graph.cast"
// CHECK-NEXT: [[KEYS:%.+]] = "graph.sub"
// CHECK-NEXT: "graph.sort"([[KEYS]])
func.func @sorted(%x: tensor<8xf16>) -> tensor<8xi64> {
  %0 = "graph.mul"(%x, %x) : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
  %1 = "graph.sub"(%0, %x) : (tensor<8xf16>, tensor<8xf16>) -> tensor<8xf16>
  %2:2 = "graph.sort"(%1) {dim = 0, descending = false, stable = true} : (tensor<8xf16>) -> (tensor<8xf16>, tensor<8xi64>)
  return %2#1 : tensor<8xi64>
}

// -----

// The slope of a relu: nothing is rounded for it.
// CHECK-LABEL: func.func @slope
// CHECK-NOT: f32
func.func @slope(%x: tensor<8xbf16>, %w: tensor<8xbf16>, %g: tensor<8xbf16>) -> tensor<8xbf16> {
  %0 = "graph.mul"(%x, %w) : (tensor<8xbf16>, tensor<8xbf16>) -> tensor<8xbf16>
  %1 = "graph.relu"(%0) : (tensor<8xbf16>) -> tensor<8xbf16>
  %2 = "graph.constant"() {value = 0.000000e+00 : f64} : () -> tensor<bf16>
  %3 = "graph.le"(%1, %2) : (tensor<8xbf16>, tensor<bf16>) -> tensor<8xi1>
  %4 = "graph.where"(%3, %2, %g) : (tensor<8xi1>, tensor<bf16>, tensor<8xbf16>) -> tensor<8xbf16>
  return %4 : tensor<8xbf16>
}

// -----

// RUN: %girih-opt --pass-pipeline='round-before-jumps{each-op=true}' --split-input-file %s | filecheck %s --check-prefix=EACH

// Every result is rounded, and what only moves elements is not.
// EACH-LABEL: func.func @compensated
// EACH: [[SUM:%.+]] = "graph.add"(%arg0, %arg1)
// EACH-NEXT: [[WIDE:%.+]] = "graph.cast"([[SUM]]) : (tensor<8xbf16>) -> tensor<8xf32>
// EACH-NEXT: [[NARROW:%.+]] = "graph.cast"([[WIDE]]) : (tensor<8xf32>) -> tensor<8xbf16>
// EACH-NEXT: [[SIGNED:%.+]] = "graph.neg"([[NARROW]])
// EACH-NEXT: "graph.add"([[SIGNED]], %arg0)
func.func @compensated(%x: tensor<8xbf16>, %y: tensor<8xbf16>) -> tensor<8xbf16> {
  %0 = "graph.add"(%x, %y) : (tensor<8xbf16>, tensor<8xbf16>) -> tensor<8xbf16>
  %1 = "graph.neg"(%0) : (tensor<8xbf16>) -> tensor<8xbf16>
  %2 = "graph.add"(%1, %x) : (tensor<8xbf16>, tensor<8xbf16>) -> tensor<8xbf16>
  return %2 : tensor<8xbf16>
}
