// RUN: %girih-opt --split-input-file --verify-diagnostics %s

// What contractions reject.

func.func @f(%x: tensor<4x4xf32>, %y: tensor<4xf32>) {
  // expected-error @+1 {{'graph.mm' expected rhs to have rank 2, got tensor<4xf32>}}
  %0 = "graph.mm"(%x, %y) : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %y: tensor<4x4xf32>) {
  // expected-error @+1 {{'graph.mm' expected lhs to have rank 2, got tensor<4xf32>}}
  %0 = "graph.mm"(%x, %y) : (tensor<4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>, %y: tensor<3x4xf32>) {
  // expected-error @+1 {{'graph.mm' expected rhs to have size 4 in dim 0, got 3}}
  %0 = "graph.mm"(%x, %y) : (tensor<4x4xf32>, tensor<3x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>, %y: tensor<4x4xf64>) {
  // expected-error @+1 {{'graph.mm' expected rhs to have element type f32, got f64}}
  %0 = "graph.mm"(%x, %y) : (tensor<4x4xf32>, tensor<4x4xf64>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) {
  // expected-error @+1 {{'graph.mm' expected y to have type tensor<4x4xf32>, got tensor<4x3xf32>}}
  %0 = "graph.mm"(%x, %y) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) {
  // expected-error @+1 {{'graph.mm' expected y to have type tensor<4x4xf32>, got tensor<4x4xf64>}}
  %0 = "graph.mm"(%x, %y) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf64>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) {
  // expected-error @+1 {{'graph.mm' expected y to have type tensor<4x4xf32>, got tensor<4xf32>}}
  %0 = "graph.mm"(%x, %y) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x3x4xf32>, %y: tensor<3x4x5xf32>) {
  // expected-error @+1 {{'graph.bmm' expected rhs to have size 2 in dim 0, got 3}}
  %0 = "graph.bmm"(%x, %y) : (tensor<2x3x4xf32>, tensor<3x4x5xf32>) -> tensor<2x3x5xf32>
  return
}

// -----

func.func @f(%b: tensor<3xf32>, %x: tensor<4x4xf32>, %y: tensor<4x4xf32>) {
  // expected-error @+1 {{'graph.addmm' expected bias to broadcast with [4, 4], got [3]}}
  %0 = "graph.addmm"(%b, %x, %y) {alpha = 1 : i64, beta = 1 : i64} : (tensor<3xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%b: tensor<4xi64>, %x: tensor<4x4xf32>, %y: tensor<4x4xf32>) {
  // expected-error @+1 {{'graph.addmm' expected bias to have element type f32, got i64}}
  %0 = "graph.addmm"(%b, %x, %y) {alpha = 1 : i64, beta = 1 : i64} : (tensor<4xi64>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%b: tensor<4xf32>, %x: tensor<4x4xf32>, %y: tensor<4x4xf32>) {
  // expected-error @+1 {{'graph.baddbmm' expected lhs to have rank 3, got tensor<4x4xf32>}}
  %0 = "graph.baddbmm"(%b, %x, %y) {alpha = 1 : i64, beta = 1 : i64} : (tensor<4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{'graph.linear' expected weight to have rank 2, got tensor<4xf32>}}
  %0 = "graph.linear"(%x, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<f32>, %w: tensor<4x4xf32>) {
  // expected-error @+1 {{'graph.linear' expected x to have rank 1 or more, got tensor<f32>}}
  %0 = "graph.linear"(%x, %w) : (tensor<f32>, tensor<4x4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %w: tensor<4x4xf64>) {
  // expected-error @+1 {{'graph.linear' expected weight to have element type f32, got f64}}
  %0 = "graph.linear"(%x, %w) : (tensor<4xf32>, tensor<4x4xf64>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %w: tensor<4x3xf32>) {
  // expected-error @+1 {{'graph.linear' expected weight to have size 4 in dim 1, got 3}}
  %0 = "graph.linear"(%x, %w) : (tensor<4xf32>, tensor<4x3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %w: tensor<4x4xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{'graph.linear' expected bias to have size 4 in dim 0, got 3}}
  %0 = "graph.linear"(%x, %w, %b) : (tensor<4xf32>, tensor<4x4xf32>, tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %w: tensor<4x4xf32>, %b: tensor<4x4xf32>) {
  // expected-error @+1 {{'graph.linear' expected bias to have rank 1, got tensor<4x4xf32>}}
  %0 = "graph.linear"(%x, %w, %b) : (tensor<4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %w: tensor<4x4xf32>, %b: tensor<4xi64>) {
  // expected-error @+1 {{'graph.linear' expected bias to have element type f32, got i64}}
  %0 = "graph.linear"(%x, %w, %b) : (tensor<4xf32>, tensor<4x4xf32>, tensor<4xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: f32, %w: tensor<4x4xf32>) {
  // expected-error @+1 {{'graph.linear' expected x to be a ranked tensor, got f32}}
  %0 = "graph.linear"(%x, %w) : (f32, tensor<4x4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<1x3x8xf32>, %w: tensor<4x4xf32>) {
  // expected-error @+1 {{'graph.convolution' expected weight to have rank 3, got tensor<4x4xf32>}}
  %0 = "graph.convolution"(%x, %w) {dilation = array<i64: 1>, groups = 1 : i64, output_padding = [0], padding = [0], stride = array<i64: 1>, transposed = false} : (tensor<1x3x8xf32>, tensor<4x4xf32>) -> tensor<1x4x6xf32>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>) {
  // expected-error @+1 {{'graph.convolution' expected x to have rank 3 or more, got tensor<4x4xf32>}}
  %0 = "graph.convolution"(%x, %w) {dilation = array<i64: 1>, groups = 1 : i64, output_padding = [0], padding = [0], stride = array<i64: 1>, transposed = false} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf64>) {
  // expected-error @+1 {{'graph.convolution' expected weight to have element type f32, got f64}}
  %0 = "graph.convolution"(%x, %w) {dilation = array<i64: 1>, groups = 1 : i64, output_padding = [0], padding = [0], stride = array<i64: 1>, transposed = false} : (tensor<1x3x8xf32>, tensor<4x3x3xf64>) -> tensor<1x4x6xf32>
  return
}

// -----

func.func @f(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf32>) {
  // expected-error @+1 {{'graph.convolution' expected stride to have 1 entries, got 2}}
  %0 = "graph.convolution"(%x, %w) {dilation = array<i64: 1>, groups = 1 : i64, output_padding = [0], padding = [0], stride = array<i64: 1, 1>, transposed = false} : (tensor<1x3x8xf32>, tensor<4x3x3xf32>) -> tensor<1x4x6xf32>
  return
}

// -----

func.func @f(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf32>) {
  // expected-error @+1 {{'graph.convolution' expected padding to have 1 entries, got 0}}
  %0 = "graph.convolution"(%x, %w) {dilation = array<i64: 1>, groups = 1 : i64, output_padding = [0], padding = [], stride = array<i64: 1>, transposed = false} : (tensor<1x3x8xf32>, tensor<4x3x3xf32>) -> tensor<1x4x6xf32>
  return
}

// -----

func.func @f(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf32>, %b: tensor<3xf32>) {
  // expected-error @+1 {{'graph.convolution' expected bias to have size 4 in dim 0, got 3}}
  %0 = "graph.convolution"(%x, %w, %b) {dilation = array<i64: 1>, groups = 1 : i64, output_padding = [0], padding = [0], stride = array<i64: 1>, transposed = false} : (tensor<1x3x8xf32>, tensor<4x3x3xf32>, tensor<3xf32>) -> tensor<1x4x6xf32>
  return
}

// -----

func.func @f(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf32>, %b: tensor<4x4xf32>) {
  // expected-error @+1 {{'graph.convolution' expected bias to have rank 1, got tensor<4x4xf32>}}
  %0 = "graph.convolution"(%x, %w, %b) {dilation = array<i64: 1>, groups = 1 : i64, output_padding = [0], padding = [0], stride = array<i64: 1>, transposed = false} : (tensor<1x3x8xf32>, tensor<4x3x3xf32>, tensor<4x4xf32>) -> tensor<1x4x6xf32>
  return
}

// -----

func.func @f(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf32>) {
  // expected-error @+1 {{'graph.convolution' expected y to have type tensor<1x4x6xf32>, got tensor<1x3x8xf32>}}
  %0 = "graph.convolution"(%x, %w) {dilation = array<i64: 1>, groups = 1 : i64, output_padding = [0], padding = [0], stride = array<i64: 1>, transposed = false} : (tensor<1x3x8xf32>, tensor<4x3x3xf32>) -> tensor<1x3x8xf32>
  return
}

// -----

func.func @f(%x: f32, %w: tensor<4x3x3xf32>) {
  // expected-error @+1 {{'graph.convolution' expected x to be a ranked tensor, got f32}}
  %0 = "graph.convolution"(%x, %w) {dilation = array<i64: 1>, groups = 1 : i64, output_padding = [0], padding = [0], stride = array<i64: 1>, transposed = false} : (f32, tensor<4x3x3xf32>) -> tensor<1x3x8xf32>
  return
}

// -----

func.func @f(%q: tensor<4x4xf32>, %k: tensor<4x4xf32>, %v: tensor<4x4xf32>) {
  // expected-error @+1 {{'graph.attention' expected query to have rank 4, got tensor<4x4xf32>}}
  %0:2 = "graph.attention"(%q, %k, %v) {causal = false, dropout = 0.0 : f64, scale = 1.0 : f64} : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x1x4x4xf32>, %k: tensor<4x4xf32>, %v: tensor<4x4xf32>) {
  // expected-error @+1 {{'graph.attention' expected key to have rank 4, got tensor<4x4xf32>}}
  %0:2 = "graph.attention"(%q, %k, %v) {causal = false, dropout = 0.0 : f64, scale = 1.0 : f64} : (tensor<1x1x4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x1x4x4xf32>, %k: tensor<1x1x4x4xf32>, %v: tensor<4x4xf32>) {
  // expected-error @+1 {{'graph.attention' expected value to have rank 4, got tensor<4x4xf32>}}
  %0:2 = "graph.attention"(%q, %k, %v) {causal = false, dropout = 0.0 : f64, scale = 1.0 : f64} : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>, tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x1x4x4xf32>, %k: tensor<1x1x4x4xf64>, %v: tensor<1x1x4x4xf32>) {
  // expected-error @+1 {{'graph.attention' expected key to have element type f32, got f64}}
  %0:2 = "graph.attention"(%q, %k, %v) {causal = false, dropout = 0.0 : f64, scale = 1.0 : f64} : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf64>, tensor<1x1x4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x1x4x4xf32>, %k: tensor<1x1x4x4xf32>, %v: tensor<1x1x4x4xf64>) {
  // expected-error @+1 {{'graph.attention' expected value to have element type f32, got f64}}
  %0:2 = "graph.attention"(%q, %k, %v) {causal = false, dropout = 0.0 : f64, scale = 1.0 : f64} : (tensor<1x1x4x4xf32>, tensor<1x1x4x4xf32>, tensor<1x1x4x4xf64>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
  return
}
