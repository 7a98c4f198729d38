// RUN: %girih-opt --eliminate-common-subexpressions %s | filecheck %s

// CHECK-LABEL: @equal_ops_become_one
// CHECK: %[[EXP:.*]] = "graph.exp"
// CHECK-NEXT: %[[SUM:.*]] = "graph.add"(%[[EXP]], %[[EXP]])
// CHECK-NEXT: return %[[SUM]]
func.func @equal_ops_become_one(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "graph.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "graph.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "graph.add"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// Merging the operands makes the users equal in turn.
// CHECK-LABEL: @chains_of_equal_ops_become_one
// CHECK-COUNT-1: "graph.exp"
// CHECK-COUNT-1: "graph.neg"
// CHECK-NEXT: "graph.add"
func.func @chains_of_equal_ops_become_one(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "graph.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "graph.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "graph.neg"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = "graph.neg"(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %4 = "graph.add"(%2, %3) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}

// CHECK-LABEL: @other_attributes_stay_apart
// CHECK: "graph.reduce_sum"(%{{.*}}) {dims = array<i64: 0>}
// CHECK: "graph.reduce_sum"(%{{.*}}) {dims = array<i64>}
func.func @other_attributes_stay_apart(%x: tensor<1xf32>) -> (tensor<1xf32>, tensor<1xf32>) {
  %0 = "graph.reduce_sum"(%x) {dims = array<i64: 0>} : (tensor<1xf32>) -> tensor<1xf32>
  %1 = "graph.reduce_sum"(%x) {dims = array<i64>} : (tensor<1xf32>) -> tensor<1xf32>
  return %0, %1 : tensor<1xf32>, tensor<1xf32>
}

// CHECK-LABEL: @other_result_types_stay_apart
// CHECK: "graph.cast"{{.*}} -> tensor<4xf64>
// CHECK: "graph.cast"{{.*}} -> tensor<4xf16>
func.func @other_result_types_stay_apart(%x: tensor<4xf32>) -> (tensor<4xf64>, tensor<4xf16>) {
  %0 = "graph.cast"(%x) : (tensor<4xf32>) -> tensor<4xf64>
  %1 = "graph.cast"(%x) : (tensor<4xf32>) -> tensor<4xf16>
  return %0, %1 : tensor<4xf64>, tensor<4xf16>
}

// Numbers drawn twice are two samples.
// CHECK-LABEL: @ordered_ops_stay
// CHECK: "graph.rand"
// CHECK: "graph.rand"
// CHECK: "graph.extern"
func.func @ordered_ops_stay() -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = "graph.rand"() : () -> tensor<4xf32>
  %1 = "graph.rand"() : () -> tensor<4xf32>
  %2 = "graph.extern"() {op = "aten.rand.default", args = [], kwargs = {}, effects} : () -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @unused_chains_go
// CHECK-NEXT: return
func.func @unused_chains_go(%x: tensor<4xf32>) {
  %0 = "graph.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1:2 = "graph.sort"(%0) {dim = 0 : i64, descending = false, stable = true} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi64>)
  return
}

// CHECK-LABEL: @a_used_result_keeps_its_op
// CHECK: %[[SORTED:.*]]:2 = "graph.sort"
// CHECK-NEXT: return %[[SORTED]]#1
func.func @a_used_result_keeps_its_op(%x: tensor<4xf32>) -> tensor<4xi64> {
  %0:2 = "graph.sort"(%x) {dim = 0 : i64, descending = false, stable = true} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi64>)
  return %0#1 : tensor<4xi64>
}

// CHECK-LABEL: @upstream_ops_too
// CHECK: %[[ONE:.*]] = arith.constant
// CHECK-NEXT: return %[[ONE]], %[[ONE]]
func.func @upstream_ops_too() -> (index, index) {
  %0 = arith.constant 1 : index
  %1 = arith.constant 1 : index
  return %0, %1 : index, index
}
