// RUN: %girih-opt %s | %girih-opt | filecheck %s

// CHECK: "tt.make_range"() {end = 8 : i32, start = 0 : i32} : () -> tensor<8xi32>
// CHECK: "tt.splat"(%{{.*}}) : (i32) -> tensor<8xi32>
// CHECK: "tt.expand_dims"(%{{.*}}) {axis = 1 : i32} : (tensor<8xi32>) -> tensor<8x1xi32>
// CHECK: "tt.broadcast"(%{{.*}}) : (tensor<8x1xi32>) -> tensor<8x4xi32>
// CHECK: "tt.trans"(%{{.*}}) {order = array<i32: 1, 0>} : (tensor<8x4xi32>) -> tensor<4x8xi32>
// CHECK: "tt.reshape"(%{{.*}}) : (tensor<4x8xi32>) -> tensor<32xi32>
%one = arith.constant 1 : i32
%range = "tt.make_range"() {start = 0 : i32, end = 8 : i32} : () -> tensor<8xi32>
%splat = "tt.splat"(%one) : (i32) -> tensor<8xi32>
%column = "tt.expand_dims"(%range) {axis = 1 : i32} : (tensor<8xi32>) -> tensor<8x1xi32>
%block = "tt.broadcast"(%column) : (tensor<8x1xi32>) -> tensor<8x4xi32>
%turned = "tt.trans"(%block) {order = array<i32: 1, 0>} : (tensor<8x4xi32>) -> tensor<4x8xi32>
%flat = "tt.reshape"(%turned) : (tensor<4x8xi32>) -> tensor<32xi32>
