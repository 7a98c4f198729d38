// RUN: %girih-opt --split-input-file --verify-diagnostics %s

// What pooling rejects.

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.max_pool' expected kernel to have at most 1 entries, got 2}}
  %0:2 = "graph.max_pool"(%x) {ceil_mode = false, dilation = array<i64: 1>, kernel = array<i64: 2, 2>, padding = array<i64: 0>, stride = array<i64: 2>} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi64>)
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.max_pool' expected stride to have 1 entries, got 0}}
  %0:2 = "graph.max_pool"(%x) {ceil_mode = false, dilation = array<i64: 1>, kernel = array<i64: 2>, padding = array<i64: 0>, stride = array<i64>} : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi64>)
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.max_pool' expected y to have type tensor<2xf32>, got tensor<4xf32>}}
  %0:2 = "graph.max_pool"(%x) {ceil_mode = false, dilation = array<i64: 1>, kernel = array<i64: 2>, padding = array<i64: 0>, stride = array<i64: 2>} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi64>)
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{'graph.max_pool' expected x to be a ranked tensor, got f32}}
  %0:2 = "graph.max_pool"(%x) {ceil_mode = false, dilation = array<i64: 1>, kernel = array<i64: 2>, padding = array<i64: 0>, stride = array<i64: 2>} : (f32) -> (tensor<4xf32>, tensor<4xi64>)
  return
}

// -----

func.func @f(%x: tensor<4xi64>) {
  // expected-error @+1 {{'graph.adaptive_avg_pool' expected x to have a float element type, got tensor<4xi64>}}
  %0 = "graph.adaptive_avg_pool"(%x) {output_size = [1]} : (tensor<4xi64>) -> tensor<1xi64>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.adaptive_avg_pool' expected output_size to have at most 1 entries, got 2}}
  %0 = "graph.adaptive_avg_pool"(%x) {output_size = [1, 1]} : (tensor<4xf32>) -> tensor<1x1xf32>
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{'graph.adaptive_avg_pool' expected x to be a ranked tensor, got f32}}
  %0 = "graph.adaptive_avg_pool"(%x) {output_size = [1, 1]} : (f32) -> tensor<1x1xf32>
  return
}
