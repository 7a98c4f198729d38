// RUN: %girih-opt --split-input-file --verify-diagnostics %s

// What scans, sorting and selecting reject.

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.cumsum' expected dim to be at least 0 and below the rank 1, got 1}}
  %0 = "graph.cumsum"(%x) {dim = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{'graph.cumsum' expected x to be a ranked tensor, got f32}}
  %0 = "graph.cumsum"(%x) {dim = 1 : i64} : (f32) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xi1>) {
  // expected-error @+1 {{'graph.cumsum' expected x to have a numeric element type other than i1, got i1}}
  %0 = "graph.cumsum"(%x) {dim = 0 : i64} : (tensor<4xi1>) -> tensor<4xi1>
  return
}

// -----

func.func @f(%x: tensor<4xi1>) {
  // expected-error @+1 {{'graph.cumprod' expected x to have a numeric element type other than i1, got i1}}
  %0 = "graph.cumprod"(%x) {dim = 0 : i64} : (tensor<4xi1>) -> tensor<4xi1>
  return
}

// -----

func.func @f(%x: tensor<4xi1>) {
  // expected-error @+1 {{'graph.scan_max' expected x to have a numeric element type other than i1, got i1}}
  %0 = "graph.scan_max"(%x) {dim = 0 : i64} : (tensor<4xi1>) -> tensor<4xi1>
  return
}

// -----

func.func @f(%x: tensor<4xi32>) {
  // expected-error @+1 {{'graph.logcumsumexp' expected x to}}
  %0 = "graph.logcumsumexp"(%x) {dim = 0 : i64} : (tensor<4xi32>) -> tensor<4xi32>
  return
}

// -----

func.func @f(%x: tensor<f32>) {
  // expected-error @+1 {{'graph.scan_max' expected dim to be at least 0 and below the rank 0, got 0}}
  %0 = "graph.scan_max"(%x) {dim = 0 : i64} : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<4xcomplex<f32>>) {
  // expected-error @+1 {{'graph.scan_max' expected x to have a real element type}}
  %0 = "graph.scan_max"(%x) {dim = 0 : i64} : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.scan_min' expected dim to be at least 0 and below the rank 1, got 1}}
  %0 = "graph.scan_min"(%x) {dim = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.cummax' expected dim to be at least 0 and below the rank 1, got 2}}
  %0:2 = "graph.cummax"(%x) {dim = 2 : i64} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi64>)
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.cummin' expected indices to have type}}
  %0:2 = "graph.cummin"(%x) {dim = 0 : i64} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.topk' expected dim to be at least 0 and below the rank 1, got 2}}
  %0:2 = "graph.topk"(%x) {dim = 2 : i64, k = 3 : i64, largest = true, sorted = true} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi64>)
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.topk' expected values to have type tensor<3xf32>, got tensor<4xf32>}}
  %0:2 = "graph.topk"(%x) {dim = 0 : i64, k = 3 : i64, largest = true, sorted = true} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi64>)
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.sort' expected dim to be at least 0 and below the rank 1, got 1}}
  %0:2 = "graph.sort"(%x) {dim = 1 : i64, descending = false, stable = false} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi64>)
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.sort' expected indices to have type tensor<4xi64>, got tensor<4xf32>}}
  %0:2 = "graph.sort"(%x) {dim = 0 : i64, descending = false, stable = false} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}
