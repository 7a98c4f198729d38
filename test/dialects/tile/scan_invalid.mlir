// RUN: %girih-opt --split-input-file --verify-diagnostics %s

// What scans of blocks reject.

func.func @f(%x: vector<8xf16>, %a: vector<f16>) {
  // expected-error @+1 {{'tile.block_scan' expected source to be a vector of f32 or f64, got vector<8xf16>}}
  %0:2 = "tile.block_scan"(%x, %a) {combines = "logaddexp", dim = 0 : i64} : (vector<8xf16>, vector<f16>) -> (vector<8xf16>, vector<f16>)
  return
}

// -----

func.func @f(%x: f32, %a: vector<f32>) {
  // expected-error @+1 {{'tile.block_scan' expected source to be a vector of f32 or f64, got f32}}
  %0:2 = "tile.block_scan"(%x, %a) {combines = "logaddexp", dim = 0 : i64} : (f32, vector<f32>) -> (f32, vector<f32>)
  return
}

// -----

func.func @f(%x: vector<8xf32>, %a: vector<f32>) {
  // expected-error @+1 {{'tile.block_scan' expected dim to be below 1, got 1}}
  %0:2 = "tile.block_scan"(%x, %a) {combines = "logaddexp", dim = 1 : i64} : (vector<8xf32>, vector<f32>) -> (vector<8xf32>, vector<f32>)
  return
}

// -----

func.func @f(%x: vector<4x8xf32>, %a: vector<8xf32>) {
  // expected-error @+1 {{'tile.block_scan' expected before to have type vector<4xf32>, got vector<8xf32>}}
  %0:2 = "tile.block_scan"(%x, %a) {combines = "logaddexp", dim = 1 : i64} : (vector<4x8xf32>, vector<8xf32>) -> (vector<4x8xf32>, vector<8xf32>)
  return
}

// -----

func.func @f(%x: vector<8xf32>, %a: vector<f32>) {
  // expected-error @+1 {{'tile.block_scan' expected combines to be logaddexp, got add}}
  %0:2 = "tile.block_scan"(%x, %a) {combines = "add", dim = 0 : i64} : (vector<8xf32>, vector<f32>) -> (vector<8xf32>, vector<f32>)
  return
}
