// RUN: %girih-opt --split-input-file --verify-diagnostics %s

%a = arith.constant dense<2.0> : tensor<16x32xf16>
%c = arith.constant dense<0.0> : tensor<16x64xf32>
// expected-error @+1 {{'tt.dot' expected b to have as many rows as tensor<16x32xf16> has columns, got tensor<16x32xf16>}}
%d = "tt.dot"(%a, %a, %c) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<16x32xf16>, tensor<16x32xf16>, tensor<16x64xf32>) -> tensor<16x64xf32>
