// RUN: %girih-opt --convert-tile-to-tt %s | filecheck %s
// RUN: %girih-opt --convert-tile-to-tt=library=hip %s | filecheck %s --check-prefix=HIP

// Functions are the library's; approximations, where they are asked for, the device's.
// CHECK: "tt.extern_elementwise"(%{{.*}}) {{.*}}symbol = "__nv_tanhf"
// CHECK: "tt.elementwise_inline_asm"(%{{.*}}) {asm_string = "tanh.approx.f32 $0, $1;"
// CHECK: "tt.extern_elementwise"(%{{.*}}) {{.*}}symbol = "__nv_exp2f"
// CHECK: math.exp2
// CHECK: "tt.extern_elementwise"(%{{.*}}) {{.*}}symbol = "__nv_expf"
// CHECK: asm_string = "ex2.approx.ftz.f32 $0, $1;"
// CHECK: asm_string = "rcp.approx.ftz.f32 $0, $1;"
// CHECK: arith.divf
// CHECK: cvt.rn.bf16x2.f32 {{.*}} packed_element = 2
// CHECK-NOT: "__nv_erff"
// CHECK: asm_string = "ex2.approx.ftz.f32 $0, $1;"
// CHECK: symbol = "__nv_copysignf"
// CHECK: arith.select
// HIP: "__ocml_tanh_f32"
// HIP: "__ocml_tanh_f32"
// HIP: "__ocml_exp2_f32"
// HIP: math.exp2
// HIP: "__ocml_exp_f32"
// HIP: "__ocml_exp_f32"
// HIP: "tt.precise_divf"
// HIP: "tt.precise_divf"
// HIP: arith.extf
// HIP: "__ocml_erf_f32"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [64], [1]>, %y: !tile.buffer<f32, [64], [1]>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  "tile.grid"(%c1, %c1) ({
  ^bb1(%i: index):
    %0 = "tile.load"(%x, %c0, %c1) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (!tile.buffer<f32, [64], [1]>, index, index) -> vector<64xf32>
    %1 = math.tanh %0 : vector<64xf32>
    %2 = math.tanh %1 fastmath<afn> : vector<64xf32>
    %3 = math.exp2 %2 : vector<64xf32>
    %4 = math.exp2 %3 fastmath<afn> : vector<64xf32>
    %5 = math.exp %4 : vector<64xf32>
    %6 = math.exp %5 fastmath<afn> : vector<64xf32>
    %one = arith.constant dense<1.0> : vector<64xf32>
    %7 = arith.divf %one, %6 fastmath<arcp,afn> : vector<64xf32>
    %8 = arith.divf %one, %7 fastmath<arcp> : vector<64xf32>
    %9 = arith.truncf %8 : vector<64xf32> to vector<64xbf16>
    %10 = arith.extf %9 : vector<64xbf16> to vector<64xf32>
    %11 = math.erf %10 : vector<64xf32>
    "tile.store"(%11, %y, %c0, %c1) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>} : (vector<64xf32>, !tile.buffer<f32, [64], [1]>, index, index) -> ()
  }) : (index, index) -> ()
}) {sym_name = "k", symbols = [], outputs = 1 : i64, domain = [64], reduced = array<i64>} : () -> ()
