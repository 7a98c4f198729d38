// RUN: %girih-opt --split-input-file --verify-diagnostics %s

%i = arith.constant 1 : i32
// expected-error @+1 {{'tt.addptr' expected pointer to be a pointer or a tensor of them, got i32}}
%p = "tt.addptr"(%i, %i) : (i32, i32) -> i32

// -----

func.func @f(%x: !tt.ptr<f32>) {
  %i = arith.constant dense<1> : tensor<8xi32>
  // expected-error @+1 {{'tt.addptr' expected offset to be integers of the sizes of !tt.ptr<f32>, got tensor<8xi32>}}
  %p = "tt.addptr"(%x, %i) : (!tt.ptr<f32>, tensor<8xi32>) -> !tt.ptr<f32>
  return
}

// -----

func.func @f(%x: !tt.ptr<f32>) {
  %i = arith.constant 1 : i32
  // expected-error @+1 {{'tt.store' expected value to have type f32, got i32}}
  "tt.store"(%x, %i) {cache = 1 : i32, evict = 1 : i32, boundaryCheck = array<i32>} : (!tt.ptr<f32>, i32) -> ()
  return
}

// -----

%i = arith.constant 1 : i32
// expected-error @+1 {{'tt.bitcast' expected value to have elements of 32 bits, got f64}}
%p = "tt.bitcast"(%i) : (i32) -> f64

// -----

%i = arith.constant dense<1> : tensor<8xi32>
// expected-error @+1 {{'tt.bitcast' expected value to have type tensor<8xf32>, got tensor<4xf32>}}
%p = "tt.bitcast"(%i) : (tensor<8xi32>) -> tensor<4xf32>
