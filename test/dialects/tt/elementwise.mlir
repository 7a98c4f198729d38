// RUN: %girih-opt %s | %girih-opt | filecheck %s

// CHECK: "tt.extern_elementwise"(%{{.*}}) {{.*}}symbol = "__nv_erff"{{.*}} : (f32) -> f32
// CHECK: "tt.elementwise_inline_asm"(%{{.*}}) {asm_string = "tanh.approx.f32 $0, $1;", constraints = "=f,f"{{.*}} : (f32) -> f32
// CHECK: "tt.precise_divf"(%{{.*}}, %{{.*}}) : (f32, f32) -> f32
// CHECK: "tt.precise_sqrt"(%{{.*}}) : (f32) -> f32
%x = arith.constant 2.0 : f32
%e = "tt.extern_elementwise"(%x) {symbol = "__nv_erff", libname = "", libpath = "", pure = true} : (f32) -> f32
%a = "tt.elementwise_inline_asm"(%x) {asm_string = "tanh.approx.f32 $0, $1;", constraints = "=f,f", packed_element = 1 : i32, pure = true} : (f32) -> f32
%d = "tt.precise_divf"(%e, %x) : (f32, f32) -> f32
%s = "tt.precise_sqrt"(%d) : (f32) -> f32
