// RUN: %girih-opt --split-input-file --verify-diagnostics %s

// What ops on indices reject.

func.func @f(%x: tensor<4xf32>, %i: tensor<4xf32>) {
  // expected-error @+1 {{'graph.take' expected index to have element type i32 or i64, got tensor<4xf32>}}
  %0 = "graph.take"(%x, %i) {dim = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %i: tensor<4xi64>) {
  // expected-error @+1 {{'graph.take' expected dim to be at least 0 and below the rank 1, got 1}}
  %0 = "graph.take"(%x, %i) {dim = 1 : i64} : (tensor<4xf32>, tensor<4xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %i: i32) {
  // expected-error @+1 {{'graph.take' expected index to be a ranked tensor, got i32}}
  %0 = "graph.take"(%x, %i) {dim = 0 : i64} : (tensor<4xf32>, i32) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %i: tensor<3xi64>) {
  // expected-error @+1 {{'graph.take' expected y to have type tensor<3xf32>, got tensor<4xf32>}}
  %0 = "graph.take"(%x, %i) {dim = 0 : i64} : (tensor<4xf32>, tensor<3xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %i: tensor<2x2xi64>) {
  // expected-error @+1 {{'graph.gather' expected index to have rank 1, got tensor<2x2xi64>}}
  %0 = "graph.gather"(%x, %i) {dim = 0 : i64} : (tensor<4xf32>, tensor<2x2xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %i: tensor<4xi64>) {
  // expected-error @+1 {{'graph.gather' expected dim to be at least 0 and below the rank 1, got 1}}
  %0 = "graph.gather"(%x, %i) {dim = 1 : i64} : (tensor<4xf32>, tensor<4xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %i: tensor<4xf32>) {
  // expected-error @+1 {{'graph.gather' expected index to have element type i32 or i64, got tensor<4xf32>}}
  %0 = "graph.gather"(%x, %i) {dim = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%w: tensor<4xf32>, %i: tensor<4xi64>) {
  // expected-error @+1 {{'graph.embedding' expected weight to have rank 2, got tensor<4xf32>}}
  %0 = "graph.embedding"(%w, %i) {padding_idx = -1 : i64} : (tensor<4xf32>, tensor<4xi64>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%w: tensor<4x4xf32>, %i: tensor<4xf32>) {
  // expected-error @+1 {{'graph.embedding' expected index to have element type i32 or i64, got tensor<4xf32>}}
  %0 = "graph.embedding"(%w, %i) {padding_idx = -1 : i64} : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>, %i: tensor<4xi64>) {
  // expected-error @+1 {{'graph.index' expected indices to number 2, one for each of dims, got 1}}
  %0 = "graph.index"(%x, %i) {dims = array<i64: 0, 1>} : (tensor<4x4xf32>, tensor<4xi64>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{'graph.index' expected dims to name a dim, got nothing}}
  %0 = "graph.index"(%x) {dims = array<i64>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>, %i: tensor<4xi64>, %j: tensor<4xi64>) {
  // expected-error @+1 {{'graph.index' expected dims to ascend, got [1, 0]}}
  %0 = "graph.index"(%x, %i, %j) {dims = array<i64: 1, 0>} : (tensor<4x4xf32>, tensor<4xi64>, tensor<4xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>, %i: tensor<4xi64>) {
  // expected-error @+1 {{'graph.index' expected dims to be at least 0 and below the rank 2, got 2}}
  %0 = "graph.index"(%x, %i) {dims = array<i64: 2>} : (tensor<4x4xf32>, tensor<4xi64>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>, %i: tensor<4xi64>, %j: tensor<3xi64>) {
  // expected-error @+1 {{'graph.index' expected indices[1] to broadcast with [4], got [3]}}
  %0 = "graph.index"(%x, %i, %j) {dims = array<i64: 0, 1>} : (tensor<4x4xf32>, tensor<4xi64>, tensor<3xi64>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>, %i: tensor<4xf32>) {
  // expected-error @+1 {{'graph.index' expected indices[0] to have element type i32 or i64, got tensor<4xf32>}}
  %0 = "graph.index"(%x, %i) {dims = array<i64: 0>} : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: f32, %i: tensor<4xi64>) {
  // expected-error @+1 {{'graph.index' expected x to be a ranked tensor, got f32}}
  %0 = "graph.index"(%x, %i) {dims = array<i64: 0>} : (f32, tensor<4xi64>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.tril' expected x to have rank 2 or more, got tensor<4xf32>}}
  %0 = "graph.tril"(%x) {diagonal = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{'graph.triu' expected y to have type tensor<4x4xf32>, got tensor<4xf32>}}
  %0 = "graph.triu"(%x) {diagonal = 0 : i64} : (tensor<4x4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %i: tensor<4xi64>, %s: tensor<4xi64>) {
  // expected-error @+1 {{'graph.scatter' expected src to have element type f32, got i64}}
  %0 = "graph.scatter"(%x, %i, %s) {dim = 0 : i64} : (tensor<4xf32>, tensor<4xi64>, tensor<4xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %i: tensor<1x1xi64>, %s: tensor<4xf32>) {
  // expected-error @+1 {{'graph.scatter' expected index to have rank 1, got tensor<1x1xi64>}}
  %0 = "graph.scatter"(%x, %i, %s) {dim = 0 : i64} : (tensor<4xf32>, tensor<1x1xi64>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %i: tensor<4xi64>, %s: tensor<4x4xf32>) {
  // expected-error @+1 {{'graph.scatter' expected src to have rank 1, got tensor<4x4xf32>}}
  %0 = "graph.scatter"(%x, %i, %s) {dim = 0 : i64} : (tensor<4xf32>, tensor<4xi64>, tensor<4x4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %i: tensor<4xi64>, %s: tensor<4xf32>) {
  // expected-error @+1 {{'graph.scatter_add' expected dim to be at least 0 and below the rank 1, got 1}}
  %0 = "graph.scatter_add"(%x, %i, %s) {dim = 1 : i64} : (tensor<4xf32>, tensor<4xi64>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %i: tensor<4xf32>, %s: tensor<4xf32>) {
  // expected-error @+1 {{'graph.scatter' expected index to have element type i32 or i64, got tensor<4xf32>}}
  %0 = "graph.scatter"(%x, %i, %s) {dim = 0 : i64} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %v: tensor<4xi64>, %i: tensor<4xi64>) {
  // expected-error @+1 {{'graph.index_put' expected values to have element type f32, got i64}}
  %0 = "graph.index_put"(%x, %v, %i) {accumulate = false, dims = array<i64: 0>} : (tensor<4xf32>, tensor<4xi64>, tensor<4xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %v: tensor<4xf32>, %i: tensor<4xf32>) {
  // expected-error @+1 {{'graph.index_put' expected indices[0] to have element type i32 or i64, got tensor<4xf32>}}
  %0 = "graph.index_put"(%x, %v, %i) {accumulate = false, dims = array<i64: 0>} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %p: tensor<2xi64>, %s: tensor<2x1xf32>) {
  // expected-error @+1 {{'graph.accumulate' expected place to have the shape [2, 1] of source, got tensor<2xi64>}}
  %0 = "graph.accumulate"(%x, %p, %s) : (tensor<4xf32>, tensor<2xi64>, tensor<2x1xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %p: tensor<2xi32>, %s: tensor<2xf32>) {
  // expected-error @+1 {{'graph.accumulate' expected place to have element type i64, got i32}}
  %0 = "graph.accumulate"(%x, %p, %s) : (tensor<4xf32>, tensor<2xi32>, tensor<2xf32>) -> tensor<4xf32>
  return
}
