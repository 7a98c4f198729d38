// RUN: %girih-opt --split-input-file --verify-diagnostics %s

// What activations reject.

func.func @f(%x: tensor<4xi64>) {
  // expected-error @+1 {{'graph.silu' expected x to have a float element type, got tensor<4xi64>}}
  %0 = "graph.silu"(%x) : (tensor<4xi64>) -> tensor<4xi64>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.silu' expected y to have type tensor<4xf32>, got tensor<4x4xf32>}}
  %0 = "graph.silu"(%x) : (tensor<4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.gelu' expected approximate to be none or tanh, got erf}}
  %0 = "graph.gelu"(%x) {approximate = "erf"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xi64>) {
  // expected-error @+1 {{'graph.hardtanh' expected min_value to be an integer for element type i64, got 0.5}}
  %0 = "graph.hardtanh"(%x) {min_value = 0.5 : f64, max_value = 1 : i64} : (tensor<4xi64>) -> tensor<4xi64>
  return
}

// -----

func.func @f(%x: tensor<4xi64>) {
  // expected-error @+1 {{'graph.hardtanh' expected max_value to be an integer for element type i64, got 1.5}}
  %0 = "graph.hardtanh"(%x) {min_value = 0 : i64, max_value = 1.5 : f64} : (tensor<4xi64>) -> tensor<4xi64>
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{'graph.hardtanh' expected x to be a ranked tensor, got f32}}
  %0 = "graph.hardtanh"(%x) {min_value = 0 : i64, max_value = 1.5 : f64} : (f32) -> tensor<4xi64>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.clamp' expected low or high to be given, got nothing}}
  %0 = "graph.clamp"(%x) {operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %l: tensor<4xi64>) {
  // expected-error @+1 {{'graph.clamp' expected low to have element type f32, got i64}}
  %0 = "graph.clamp"(%x, %l) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<4xf32>, tensor<4xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %h: tensor<3xf32>) {
  // expected-error @+1 {{'graph.clamp' expected high to broadcast with [4], got [3]}}
  %0 = "graph.clamp"(%x, %h) {operandSegmentSizes = array<i32: 1, 0, 1>} : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>
  return
}
