// RUN: %girih-opt %s | %girih-opt | filecheck %s

// CHECK: "tt.dot"(%{{.*}}, %{{.*}}, %{{.*}}) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32}
%a = arith.constant dense<2.0> : tensor<16x32xf16>
%b = arith.constant dense<2.0> : tensor<32x64xf16>
%c = arith.constant dense<0.0> : tensor<16x64xf32>
%d = "tt.dot"(%a, %b, %c) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32} : (tensor<16x32xf16>, tensor<32x64xf16>, tensor<16x64xf32>) -> tensor<16x64xf32>
