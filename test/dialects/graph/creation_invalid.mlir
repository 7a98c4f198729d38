// RUN: %girih-opt --split-input-file --verify-diagnostics %s

// What creation ops reject.

func.func @f() {
  // expected-error @+1 {{'graph.constant' expected y to have rank 0, got tensor<4xf32>}}
  %0 = "graph.constant"() {value = 1 : i64} : () -> tensor<4xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'graph.constant' expected value to be an integer for element type i32, got 1.5}}
  %0 = "graph.constant"() {value = 1.5 : f64} : () -> tensor<i32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'graph.constant' expected value to be true or false for element type i1, got 1}}
  %0 = "graph.constant"() {value = 1 : i64} : () -> tensor<i1>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'graph.constant' expected value to be real for element type f32, got (1+2j)}}
  %0 = "graph.constant"() {value = [1.0, 2.0]} : () -> tensor<f32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'graph.constant' expected y to be a ranked tensor, got f32}}
  %0 = "graph.constant"() {value = 1 : i64} : () -> f32
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'graph.full' expected value to be an integer for element type i64, got 1.5}}
  %0 = "graph.full"() {value = 1.5 : f64} : () -> tensor<4xi64>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'graph.iota' expected y to have rank 1, got tensor<4x4xf32>}}
  %0 = "graph.iota"() {start = 0 : i64, step = 1 : i64} : () -> tensor<4x4xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'graph.iota' expected start to be an integer for element type i64, got 0.5}}
  %0 = "graph.iota"() {start = 0.5 : f64, step = 1 : i64} : () -> tensor<4xi64>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'graph.iota' expected step to be an integer for element type i64, got 0.5}}
  %0 = "graph.iota"() {start = 0 : i64, step = 0.5 : f64} : () -> tensor<4xi64>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'graph.size' expected y to have type tensor<i64>, got tensor<i32>}}
  %0 = "graph.size"() {expr = 1 : i64} : () -> tensor<i32>
  return
}
