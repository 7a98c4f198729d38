// RUN: %girih-opt --split-input-file --verify-diagnostics %s

// What products of blocks reject.

func.func @f(%a: vector<16x32xf64>, %c: vector<16x32xf32>) {
  // expected-error @+1 {{'tile.dot' expected a to be a vector<m x k> of f16, bf16 or f32, got vector<16x32xf64>}}
  %0 = "tile.dot"(%a, %a, %c) : (vector<16x32xf64>, vector<16x32xf64>, vector<16x32xf32>) -> vector<16x32xf32>
  return
}

// -----

func.func @f(%a: vector<16xf16>, %c: vector<16x32xf32>) {
  // expected-error @+1 {{'tile.dot' expected a to be a vector<m x k> of f16, bf16 or f32, got vector<16xf16>}}
  %0 = "tile.dot"(%a, %a, %c) : (vector<16xf16>, vector<16xf16>, vector<16x32xf32>) -> vector<16x32xf32>
  return
}

// -----

func.func @f(%a: vector<16x32xf16>, %c: vector<16x32xf32>) {
  // expected-error @+1 {{'tile.dot' expected b to be a vector<32 x n> of f16, got vector<16x32xf16>}}
  %0 = "tile.dot"(%a, %a, %c) : (vector<16x32xf16>, vector<16x32xf16>, vector<16x32xf32>) -> vector<16x32xf32>
  return
}

// -----

func.func @f(%a: vector<16x16xf16>, %b: vector<16x16xf32>, %c: vector<16x32xf32>) {
  // expected-error @+1 {{'tile.dot' expected b to be a vector<16 x n> of f16, got vector<16x16xf32>}}
  %0 = "tile.dot"(%a, %b, %c) : (vector<16x16xf16>, vector<16x16xf32>, vector<16x32xf32>) -> vector<16x32xf32>
  return
}

// -----

func.func @f(%a: vector<16x16xf16>, %c: vector<16x16xf16>) {
  // expected-error @+1 {{'tile.dot' expected acc to have type vector<16x16xf32>, got vector<16x16xf16>}}
  %0 = "tile.dot"(%a, %a, %c) : (vector<16x16xf16>, vector<16x16xf16>, vector<16x16xf16>) -> vector<16x16xf16>
  return
}
