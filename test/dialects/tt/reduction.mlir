// RUN: %girih-opt %s | %girih-opt | filecheck %s

// CHECK: "tt.reduce"(%{{.*}}) ({
// CHECK: "tt.reduce.return"(%{{.*}}) : (f32) -> ()
// CHECK: }) {axis = 1 : i32} : (tensor<8x4xf32>) -> tensor<8xf32>
%x = arith.constant dense<2.0> : tensor<8x4xf32>
%sum = "tt.reduce"(%x) ({
^bb0(%a: f32, %b: f32):
  %c = arith.addf %a, %b : f32
  "tt.reduce.return"(%c) : (f32) -> ()
}) {axis = 1 : i32} : (tensor<8x4xf32>) -> tensor<8xf32>

// CHECK: "tt.scan"(%{{.*}}) ({
// CHECK: "tt.scan.return"(%{{.*}}) : (f32) -> ()
// CHECK: }) {axis = 0 : i32, reverse = false} : (tensor<8x4xf32>) -> tensor<8x4xf32>
%scan = "tt.scan"(%x) ({
^bb0(%a: f32, %b: f32):
  %c = arith.addf %a, %b : f32
  "tt.scan.return"(%c) : (f32) -> ()
}) {axis = 0 : i32, reverse = false} : (tensor<8x4xf32>) -> tensor<8x4xf32>
