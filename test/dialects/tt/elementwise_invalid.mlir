// RUN: %girih-opt --split-input-file --verify-diagnostics %s

%x = arith.constant dense<2.0> : tensor<8xf32>
// expected-error @+1 {{'tt.extern_elementwise' expected arguments to have sizes [], got [RankedTensorType(tensor<8xf32>)]}}
%e = "tt.extern_elementwise"(%x) {symbol = "__nv_erff", libname = "", libpath = "", pure = true} : (tensor<8xf32>) -> f32

// -----

%x = arith.constant 2.0 : f64
// expected-error @+1 {{'tt.precise_sqrt' expected x to have elements f32, got f64}}
%s = "tt.precise_sqrt"(%x) : (f64) -> f64
