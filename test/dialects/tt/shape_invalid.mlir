// RUN: %girih-opt --split-input-file --verify-diagnostics %s

// expected-error @+1 {{'tt.make_range' expected range to have sizes that are powers of two, got [6]}}
%range = "tt.make_range"() {start = 0 : i32, end = 6 : i32} : () -> tensor<6xi32>

// -----

%one = arith.constant 1 : i32
// expected-error @+1 {{'tt.splat' expected value to have elements i32, got i64}}
%splat = "tt.splat"(%one) : (i32) -> tensor<8xi64>

// -----

%one = arith.constant 1 : i32
// expected-error @+1 {{'tt.splat' expected value to be a tensor, got i32}}
%splat = "tt.splat"(%one) : (i32) -> i32

// -----

%x = arith.constant dense<1> : tensor<8xi32>
// expected-error @+1 {{'tt.expand_dims' expected axis to be 0 to 1, got 2}}
%column = "tt.expand_dims"(%x) {axis = 2 : i32} : (tensor<8xi32>) -> tensor<8x1xi32>

// -----

%x = arith.constant dense<1> : tensor<8x2xi32>
// expected-error @+1 {{'tt.broadcast' expected value to be a broadcast of tensor<8x2xi32>, got tensor<8x4xi32>}}
%block = "tt.broadcast"(%x) : (tensor<8x2xi32>) -> tensor<8x4xi32>

// -----

%x = arith.constant dense<1> : tensor<8x4xi32>
// expected-error @+1 {{'tt.trans' expected order to permute 2 dimensions, got [0, 0]}}
%turned = "tt.trans"(%x) {order = array<i32: 0, 0>} : (tensor<8x4xi32>) -> tensor<8x8xi32>

// -----

%x = arith.constant dense<1> : tensor<8x4xi32>
// expected-error @+1 {{'tt.trans' expected order to be an array<i32>, got array<i64: 1, 0>}}
%turned = "tt.trans"(%x) {order = array<i64: 1, 0>} : (tensor<8x4xi32>) -> tensor<4x8xi32>

// -----

%x = arith.constant dense<1> : tensor<8x4xi32>
// expected-error @+1 {{'tt.reshape' expected value to have the elements of tensor<8x4xi32>, got tensor<16xi32>}}
%flat = "tt.reshape"(%x) : (tensor<8x4xi32>) -> tensor<16xi32>
