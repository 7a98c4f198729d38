// RUN: %girih-opt --pass-pipeline=canonicalize-graph %s | filecheck %s

// CHECK-LABEL: func.func @there_and_back_exactly
// CHECK-SAME: ([[X:%.+]]: tensor<4xbf16>)
// CHECK-NEXT: return [[X]]
func.func @there_and_back_exactly(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %0 = "graph.cast"(%x) : (tensor<4xbf16>) -> tensor<4xf32>
  %1 = "graph.cast"(%0) : (tensor<4xf32>) -> tensor<4xbf16>
  return %1 : tensor<4xbf16>
}

// CHECK-LABEL: func.func @rounding_between_stays
// CHECK: "graph.cast"({{.*}}) : (tensor<4xf32>) -> tensor<4xbf16>
// CHECK-NEXT: "graph.cast"({{.*}}) : (tensor<4xbf16>) -> tensor<4xf32>
func.func @rounding_between_stays(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "graph.cast"(%x) : (tensor<4xf32>) -> tensor<4xbf16>
  %1 = "graph.cast"(%0) : (tensor<4xbf16>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @wider_integer_between
// CHECK: "graph.cast"({{.*}}) : (tensor<4xi8>) -> tensor<4xf32>
// CHECK-NEXT: return
func.func @wider_integer_between(%x: tensor<4xi8>) -> tensor<4xf32> {
  %0 = "graph.cast"(%x) : (tensor<4xi8>) -> tensor<4xi32>
  %1 = "graph.cast"(%0) : (tensor<4xi32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @unsigned_between_stays
// CHECK: "graph.cast"
// CHECK-NEXT: "graph.cast"
func.func @unsigned_between_stays(%x: tensor<4xi8>) -> tensor<4xi32> {
  %0 = "graph.cast"(%x) : (tensor<4xi8>) -> tensor<4xui8>
  %1 = "graph.cast"(%0) : (tensor<4xui8>) -> tensor<4xi32>
  return %1 : tensor<4xi32>
}

// The number is rounded as an f32 first.
// CHECK-LABEL: func.func @cast_of_number
// CHECK: "graph.constant"() {value = 0.10000000149011612 : f64} : () -> tensor<f64>
func.func @cast_of_number() -> tensor<f64> {
  %0 = "graph.constant"() {value = 0.1 : f64} : () -> tensor<f32>
  %1 = "graph.cast"(%0) : (tensor<f32>) -> tensor<f64>
  return %1 : tensor<f64>
}

// CHECK-LABEL: func.func @known_size
// CHECK: "graph.constant"() {value = 12 : i64} : () -> tensor<i64>
func.func @known_size() -> tensor<i64> {
  %0 = "graph.size"() {expr = 12 : i64} : () -> tensor<i64>
  return %0 : tensor<i64>
}
