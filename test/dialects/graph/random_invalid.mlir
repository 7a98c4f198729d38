// RUN: %girih-opt --split-input-file --verify-diagnostics %s

// What random ops reject.

func.func @f() {
  // expected-error @+1 {{'graph.rand' expected y to have a float element type, got tensor<4xi64>}}
  %0 = "graph.rand"() : () -> tensor<4xi64>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'graph.randint' expected high to be above low, which is 0, got 0}}
  %0 = "graph.randint"() {high = 0 : i64, low = 0 : i64} : () -> tensor<4xi64>
  return
}

// -----

func.func @f(%x: tensor<4xi64>) {
  // expected-error @+1 {{'graph.bernoulli' expected x to have a float element type, got tensor<4xi64>}}
  %0 = "graph.bernoulli"(%x) : (tensor<4xi64>) -> tensor<4xi64>
  return
}

// -----

func.func @f(%x: tensor<4xi64>) {
  // expected-error @+1 {{'graph.dropout' expected x to have a float element type, got tensor<4xi64>}}
  %0:2 = "graph.dropout"(%x) {p = 0.5 : f64} : (tensor<4xi64>) -> (tensor<4xi64>, tensor<4xi1>)
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.dropout' expected p to be from 0 to 1, got 1.5}}
  %0:2 = "graph.dropout"(%x) {p = 1.5 : f64} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi1>)
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.dropout' expected mask to have type tensor<4xi1>, got tensor<4xf32>}}
  %0:2 = "graph.dropout"(%x) {p = 0.5 : f64} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%seeds: tensor<2x2xi64>) {
  // expected-error @+1 {{'graph.seed' expected seeds to have rank 1, got tensor<2x2xi64>}}
  %0 = "graph.seed"(%seeds) {index = 0 : i64} : (tensor<2x2xi64>) -> tensor<i64>
  return
}

// -----

func.func @f(%seeds: tensor<2xi32>) {
  // expected-error @+1 {{'graph.seed' expected seeds to have element type i64, got i32}}
  %0 = "graph.seed"(%seeds) {index = 0 : i64} : (tensor<2xi32>) -> tensor<i64>
  return
}

// -----

func.func @f(%seeds: tensor<2xi64>) {
  // expected-error @+1 {{'graph.seed' expected index to be from 0 to below 2, got 2}}
  %0 = "graph.seed"(%seeds) {index = 2 : i64} : (tensor<2xi64>) -> tensor<i64>
  return
}

// -----

func.func @f(%seed: tensor<2xi64>, %i: tensor<4xi32>) {
  // expected-error @+1 {{'graph.philox' expected index to broadcast with [2], got [4]}}
  %0 = "graph.philox"(%seed, %i) : (tensor<2xi64>, tensor<4xi32>) -> tensor<4xui32>
  return
}

// -----

func.func @f(%seed: tensor<f64>, %i: tensor<4xi32>) {
  // expected-error @+1 {{'graph.philox' expected seed to have element type i64, got f64}}
  %0 = "graph.philox"(%seed, %i) : (tensor<f64>, tensor<4xi32>) -> tensor<4xui32>
  return
}

// -----

func.func @f(%seed: tensor<i64>, %i: tensor<4xf32>) {
  // expected-error @+1 {{'graph.philox' expected index to have element type i32 or i64, got tensor<4xf32>}}
  %0 = "graph.philox"(%seed, %i) : (tensor<i64>, tensor<4xf32>) -> tensor<4xui32>
  return
}

// -----

func.func @f(%seed: tensor<i64>, %i: tensor<4xi32>) {
  // expected-error @+1 {{'graph.philox' expected y to have type tensor<4xui32>, got tensor<4xi32>}}
  %0 = "graph.philox"(%seed, %i) : (tensor<i64>, tensor<4xi32>) -> tensor<4xi32>
  return
}
