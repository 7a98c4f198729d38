// RUN: %girih-opt --split-input-file --verify-diagnostics %s

%x = arith.constant dense<2.0> : tensor<8xf32>
// expected-error @+1 {{'tt.reduce' expected axis to be below 1, got 1}}
%sum = "tt.reduce"(%x) ({
^bb0(%a: f32, %b: f32):
  "tt.reduce.return"(%a) : (f32) -> ()
}) {axis = 1 : i32} : (tensor<8xf32>) -> f32

// -----

%x = arith.constant dense<2.0> : tensor<8xf32>
// expected-error @+1 {{'tt.scan' expected axis to be below 1, got 1}}
%scan = "tt.scan"(%x) ({
^bb0(%a: f32, %b: f32):
  "tt.scan.return"(%a) : (f32) -> ()
}) {axis = 1 : i32, reverse = false} : (tensor<8xf32>) -> tensor<8xf32>
