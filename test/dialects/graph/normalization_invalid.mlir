// RUN: %girih-opt --split-input-file --verify-diagnostics %s

// What normalisations reject.

func.func @f(%x: tensor<4xi64>) {
  // expected-error @+1 {{'graph.softmax' expected x to have a float element type, got tensor<4xi64>}}
  %0 = "graph.softmax"(%x) {dim = 0 : i64} : (tensor<4xi64>) -> tensor<4xi64>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.softmax' expected dim to be at least 0 and below the rank 1, got 1}}
  %0 = "graph.softmax"(%x) {dim = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{'graph.softmax' expected x to be a ranked tensor, got f32}}
  %0 = "graph.softmax"(%x) {dim = 1 : i64} : (f32) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>, %w: tensor<3xf32>) {
  // expected-error @+1 {{'graph.layer_norm' expected weight to have shape [4], got tensor<3xf32>}}
  %0:3 = "graph.layer_norm"(%x, %w) {eps = 1.0e-05 : f64, normalized_rank = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<4x4xf32>, tensor<3xf32>) -> (tensor<4x4xf32>, tensor<4x1xf32>, tensor<4x1xf32>)
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>, %w: tensor<4xi64>) {
  // expected-error @+1 {{'graph.layer_norm' expected weight to have a float element type, got tensor<4xi64>}}
  %0:3 = "graph.layer_norm"(%x, %w) {eps = 1.0e-05 : f64, normalized_rank = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<4x4xf32>, tensor<4xi64>) -> (tensor<4x4xf32>, tensor<4x1xf32>, tensor<4x1xf32>)
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{'graph.layer_norm' expected bias to have shape [4], got tensor<3xf32>}}
  %0:3 = "graph.layer_norm"(%x, %b) {eps = 1.0e-05 : f64, normalized_rank = 1 : i64, operandSegmentSizes = array<i32: 1, 0, 1>} : (tensor<4x4xf32>, tensor<3xf32>) -> (tensor<4x4xf32>, tensor<4x1xf32>, tensor<4x1xf32>)
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{'graph.layer_norm' expected normalized_rank to be at least 1 and at most the rank 2, got 3}}
  %0:3 = "graph.layer_norm"(%x) {eps = 1.0e-05 : f64, normalized_rank = 3 : i64, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x1xf32>, tensor<4x1xf32>)
  return
}

// -----

func.func @f(%x: tensor<4xi64>) {
  // expected-error @+1 {{'graph.layer_norm' expected x to have a float element type, got tensor<4xi64>}}
  %0:3 = "graph.layer_norm"(%x) {eps = 1.0e-05 : f64, normalized_rank = 1 : i64, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<4xi64>) -> (tensor<4x4xf32>, tensor<4x1xf32>, tensor<4x1xf32>)
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{'graph.layer_norm' expected mean to have type tensor<4x1xf32>, got tensor<4xf32>}}
  %0:3 = "graph.layer_norm"(%x) {eps = 1.0e-05 : f64, normalized_rank = 1 : i64, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>, tensor<4x1xf32>)
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{'graph.layer_norm' expected results to number 3, got 2}}
  %0:2 = "graph.layer_norm"(%x) {eps = 1.0e-05 : f64, normalized_rank = 1 : i64, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x1xf32>)
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>, %w: tensor<3xf32>) {
  // expected-error @+1 {{'graph.rms_norm' expected weight to have shape [4], got tensor<3xf32>}}
  %0 = "graph.rms_norm"(%x, %w) {eps = 1.0e-05 : f64, normalized_rank = 1 : i64} : (tensor<4x4xf32>, tensor<3xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{'graph.rms_norm' expected normalized_rank to be at least 1 and at most the rank 2, got 0}}
  %0 = "graph.rms_norm"(%x) {eps = 1.0e-05 : f64, normalized_rank = 0 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xi64>) {
  // expected-error @+1 {{'graph.rms_norm' expected x to have a float element type, got tensor<4xi64>}}
  %0 = "graph.rms_norm"(%x) {eps = 1.0e-05 : f64, normalized_rank = 1 : i64} : (tensor<4xi64>) -> tensor<4xi64>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.group_norm' expected x to have rank 2 or more, got tensor<4xf32>}}
  %0:3 = "graph.group_norm"(%x) {eps = 1.0e-05 : f64, groups = 2 : i64, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{'graph.group_norm' expected groups to divide the 4 channels, got 3}}
  %0:3 = "graph.group_norm"(%x) {eps = 1.0e-05 : f64, groups = 3 : i64, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>, %w: tensor<3xf32>) {
  // expected-error @+1 {{'graph.group_norm' expected weight to have shape [4], got tensor<3xf32>}}
  %0:3 = "graph.group_norm"(%x, %w) {eps = 1.0e-05 : f64, groups = 2 : i64, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<4x4xf32>, tensor<3xf32>) -> (tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%x: tensor<4x4xi32>) {
  // expected-error @+1 {{'graph.group_norm' expected x to have a float element type, got tensor<4x4xi32>}}
  %0:3 = "graph.group_norm"(%x) {eps = 1.0e-05 : f64, groups = 2 : i64, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<4x4xi32>) -> (tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>, %m: tensor<4xf32>, %v: tensor<3xf32>) {
  // expected-error @+1 {{'graph.batch_norm' expected running_var to have shape [4], got tensor<3xf32>}}
  %0 = "graph.batch_norm"(%x, %m, %v) {eps = 1.0e-05 : f64, operandSegmentSizes = array<i32: 1, 0, 0, 1, 1>} : (tensor<4x4xf32>, tensor<4xf32>, tensor<3xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %m: tensor<4xf32>, %v: tensor<4xf32>) {
  // expected-error @+1 {{'graph.batch_norm' expected x to have rank 2 or more, got tensor<4xf32>}}
  %0 = "graph.batch_norm"(%x, %m, %v) {eps = 1.0e-05 : f64, operandSegmentSizes = array<i32: 1, 0, 0, 1, 1>} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>, %w: tensor<3xf32>) {
  // expected-error @+1 {{'graph.batch_norm_training' expected weight to have shape [4], got tensor<3xf32>}}
  %0:3 = "graph.batch_norm_training"(%x, %w) {eps = 1.0e-05 : f64, operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<4x4xf32>, tensor<3xf32>) -> (tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{'graph.batch_norm_training' expected rstd to have type tensor<4xf32>, got tensor<4xi64>}}
  %0:3 = "graph.batch_norm_training"(%x) {eps = 1.0e-05 : f64, operandSegmentSizes = array<i32: 1, 0, 0>} : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>, tensor<4xi64>)
  return
}
