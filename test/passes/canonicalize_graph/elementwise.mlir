// RUN: %girih-opt --pass-pipeline=canonicalize-graph %s | filecheck %s

// CHECK-LABEL: func.func @neutral_operands
// CHECK-SAME: ([[X:%.+]]: tensor<4xf32>)
// CHECK-NEXT: return [[X]]
func.func @neutral_operands(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = "graph.constant"() {value = 0.0 : f64} : () -> tensor<f32>
  %negative_zero = "graph.constant"() {value = -0.0 : f64} : () -> tensor<f32>
  %one = "graph.constant"() {value = 1 : i64} : () -> tensor<f32>
  %0 = "graph.sub"(%x, %zero) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = "graph.mul"(%one, %0) : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = "graph.div"(%1, %one) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = "graph.add"(%2, %negative_zero) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %4 = "graph.pow"(%3, %one) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}

// -0.0 + 0.0 is 0.0, and NaN - NaN is NaN.
// CHECK-LABEL: func.func @not_neutral_for_floats
// CHECK: "graph.add"
// CHECK: "graph.sub"
func.func @not_neutral_for_floats(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = "graph.constant"() {value = 0.0 : f64} : () -> tensor<f32>
  %0 = "graph.add"(%x, %zero) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = "graph.sub"(%0, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @zero_is_neutral_for_integers
// CHECK-SAME: ([[X:%.+]]: tensor<4xi32>)
// CHECK-NEXT: return [[X]]
func.func @zero_is_neutral_for_integers(%x: tensor<4xi32>) -> tensor<4xi32> {
  %zero = "graph.constant"() {value = 0 : i64} : () -> tensor<i32>
  %0 = "graph.add"(%x, %zero) : (tensor<4xi32>, tensor<i32>) -> tensor<4xi32>
  return %0 : tensor<4xi32>
}

// The result keeps its shape where the neutral operand gave it.
// CHECK-LABEL: func.func @neutral_operand_that_broadcasts
// CHECK: "graph.broadcast_to"({{.*}}) : (tensor<4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: return
func.func @neutral_operand_that_broadcasts(%x: tensor<4xf32>) -> tensor<3x4xf32> {
  %one = "graph.full"() {value = 1.0 : f64} : () -> tensor<3x4xf32>
  %0 = "graph.mul"(%x, %one) : (tensor<4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// CHECK-LABEL: func.func @division_by_power_of_two
// CHECK: [[HALF:%.+]] = "graph.constant"() {value = 5.000000e-01 : f64}
// CHECK-NEXT: "graph.mul"({{.*}}, [[HALF]])
func.func @division_by_power_of_two(%x: tensor<4xf32>) -> tensor<4xf32> {
  %two = "graph.constant"() {value = 2.0 : f64} : () -> tensor<f32>
  %0 = "graph.div"(%x, %two) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @division_by_three_stays
// CHECK: "graph.div"
func.func @division_by_three_stays(%x: tensor<4xf32>) -> tensor<4xf32> {
  %three = "graph.constant"() {value = 3.0 : f64} : () -> tensor<f32>
  %0 = "graph.div"(%x, %three) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @powers
// CHECK-SAME: ([[X:%.+]]: tensor<4xf32>)
// CHECK: [[SQUARE:%.+]] = "graph.mul"([[X]], [[X]])
// CHECK: [[AGAIN:%.+]] = "graph.mul"([[X]], [[X]])
// CHECK: [[CUBE:%.+]] = "graph.mul"([[AGAIN]], [[X]])
// CHECK: [[ROOT:%.+]] = "graph.sqrt"([[X]])
// CHECK: [[OTHER:%.+]] = "graph.pow"([[X]], {{.*}})
// CHECK: return [[SQUARE]], [[CUBE]], [[ROOT]], [[OTHER]]
func.func @powers(%x: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %two = "graph.constant"() {value = 2 : i64} : () -> tensor<f32>
  %three = "graph.constant"() {value = 3 : i64} : () -> tensor<f32>
  %half = "graph.constant"() {value = 0.5 : f64} : () -> tensor<f32>
  %other = "graph.constant"() {value = 1.7 : f64} : () -> tensor<f32>
  %0 = "graph.pow"(%x, %two) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = "graph.pow"(%x, %three) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = "graph.pow"(%x, %half) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = "graph.pow"(%x, %other) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @numbers_are_folded
// CHECK: [[N:%.+]] = "graph.constant"() {value = 7.000000e+00 : f64} : () -> tensor<f32>
// CHECK: [[C:%.+]] = "graph.constant"() {value = true} : () -> tensor<i1>
// CHECK: return [[N]], [[C]]
func.func @numbers_are_folded() -> (tensor<f32>, tensor<i1>) {
  %a = "graph.constant"() {value = 3.0 : f64} : () -> tensor<f32>
  %b = "graph.constant"() {value = 4 : i64} : () -> tensor<f32>
  %0 = "graph.add"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %1 = "graph.lt"(%a, %b) : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %0, %1 : tensor<f32>, tensor<i1>
}

// CHECK-LABEL: func.func @integers_wrap_around
// CHECK: "graph.constant"() {value = -56 : i64} : () -> tensor<i8>
func.func @integers_wrap_around() -> tensor<i8> {
  %a = "graph.constant"() {value = 100 : i64} : () -> tensor<i8>
  %0 = "graph.add"(%a, %a) : (tensor<i8>, tensor<i8>) -> tensor<i8>
  return %0 : tensor<i8>
}

// CHECK-LABEL: func.func @bounds_merge
// CHECK: [[TWO:%.+]] = "graph.constant"() {value = 2.000000e+00 : f64}
// CHECK-NEXT: [[Y:%.+]] = "graph.maximum"({{.*}}, [[TWO]])
// CHECK-NEXT: return [[Y]]
func.func @bounds_merge(%x: tensor<4xf32>) -> tensor<4xf32> {
  %one = "graph.constant"() {value = 1.0 : f64} : () -> tensor<f32>
  %two = "graph.constant"() {value = 2.0 : f64} : () -> tensor<f32>
  %0 = "graph.maximum"(%x, %one) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = "graph.maximum"(%0, %two) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @opposite_bounds_stay
// CHECK: "graph.minimum"
// CHECK: "graph.maximum"
func.func @opposite_bounds_stay(%x: tensor<4xf32>) -> tensor<4xf32> {
  %one = "graph.constant"() {value = 1.0 : f64} : () -> tensor<f32>
  %two = "graph.constant"() {value = 2.0 : f64} : () -> tensor<f32>
  %0 = "graph.minimum"(%x, %two) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = "graph.maximum"(%0, %one) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @known_condition
// CHECK-SAME: ([[X:%.+]]: tensor<4xf32>, {{.*}})
// CHECK-NEXT: return [[X]]
func.func @known_condition(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %true = "graph.constant"() {value = true} : () -> tensor<i1>
  %0 = "graph.where"(%true, %x, %y)
      : (tensor<i1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @broadcasts_are_implicit
// CHECK-SAME: ([[X:%.+]]: tensor<3x4xf32>, [[B:%.+]]: tensor<4xf32>)
// CHECK: "graph.add"([[X]], [[B]]) : (tensor<3x4xf32>, tensor<4xf32>)
func.func @broadcasts_are_implicit(%x: tensor<3x4xf32>, %b: tensor<4xf32>)
    -> tensor<3x4xf32> {
  %0 = "graph.broadcast_to"(%b) : (tensor<4xf32>) -> tensor<3x4xf32>
  %1 = "graph.add"(%x, %0) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}

// One operand has to give the shape.
// CHECK-LABEL: func.func @one_broadcast_stays
// CHECK: "graph.broadcast_to"
// CHECK: "graph.add"({{.*}}) : (tensor<4xf32>, tensor<3x4xf32>)
func.func @one_broadcast_stays(%b: tensor<4xf32>) -> tensor<3x4xf32> {
  %0 = "graph.broadcast_to"(%b) : (tensor<4xf32>) -> tensor<3x4xf32>
  %1 = "graph.add"(%0, %0) : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}

// CHECK-LABEL: func.func @negated_twice
// CHECK-SAME: ([[X:%.+]]: tensor<4xf32>)
// CHECK-NEXT: return [[X]]
func.func @negated_twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "graph.neg"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "graph.neg"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
