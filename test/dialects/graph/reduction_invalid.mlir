// RUN: %girih-opt --split-input-file --verify-diagnostics %s

// What reductions reject.

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{'graph.reduce_sum' expected dims to be at least 0 and below the rank 2, got 2}}
  %0 = "graph.reduce_sum"(%x) {dims = array<i64: 2>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{'graph.reduce_sum' expected dims to name each dim once, got [1, 1]}}
  %0 = "graph.reduce_sum"(%x) {dims = array<i64: 1, 1>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{'graph.reduce_sum' expected y to have type tensor<4x1xf32>, got tensor<4xf32>}}
  %0 = "graph.reduce_sum"(%x) {dims = array<i64: 1>} : (tensor<4x4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xi1>) {
  // expected-error @+1 {{'graph.reduce_sum' expected x to have a numeric element type other than i1, got i1}}
  %0 = "graph.reduce_sum"(%x) {dims = array<i64: 0>} : (tensor<4xi1>) -> tensor<1xi1>
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{'graph.reduce_sum' expected x to be a ranked tensor, got f32}}
  %0 = "graph.reduce_sum"(%x) {dims = array<i64: 0>} : (f32) -> tensor<1xi1>
  return
}

// -----

func.func @f(%x: tensor<4xcomplex<f32>>) {
  // expected-error @+1 {{'graph.reduce_max' expected x to have a real element type, got complex<f32>}}
  %0 = "graph.reduce_max"(%x) {dims = array<i64: 0>} : (tensor<4xcomplex<f32>>) -> tensor<1xcomplex<f32>>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.reduce_any' expected x to have element type i1, got f32}}
  %0 = "graph.reduce_any"(%x) {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<1xi1>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.argmax' expected dim to be at least 0 and below the rank 1, got 1}}
  %0 = "graph.argmax"(%x) {dim = 1 : i64} : (tensor<4xf32>) -> tensor<1xi64>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.argmax' expected y to have type tensor<1xi64>, got tensor<1xi32>}}
  %0 = "graph.argmax"(%x) {dim = 0 : i64} : (tensor<4xf32>) -> tensor<1xi32>
  return
}

// -----

func.func @f(%x: tensor<4xi64>) {
  // expected-error @+1 {{'graph.mean' expected x to have a float element type, got tensor<4xi64>}}
  %0 = "graph.mean"(%x) {dims = array<i64: 0>} : (tensor<4xi64>) -> tensor<1xi64>
  return
}

// -----

func.func @f(%x: tensor<4xi64>) {
  // expected-error @+1 {{'graph.var' expected x to have a float element type, got tensor<4xi64>}}
  %0 = "graph.var"(%x) {dims = array<i64: 0>, correction = 1.0 : f64} : (tensor<4xi64>) -> tensor<1xi64>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{'graph.reduce_max' expected ties to be 'first' or 'nan', got last}}
  %0 = "graph.reduce_max"(%x) {dims = array<i64: 1>, ties = "last"} : (tensor<4x4xf32>) -> tensor<4x1xf32>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{'graph.reduce_min' expected dims to be one dim with ties 'first', got [0, 1]}}
  %0 = "graph.reduce_min"(%x) {dims = array<i64: 0, 1>, ties = "first"} : (tensor<4x4xf32>) -> tensor<1x1xf32>
  return
}
