// RUN: %girih-opt %s | %girih-opt | filecheck %s

// CHECK: "tt.func"() ({
// CHECK: "tt.get_program_id"() {axis = 0 : i32} : () -> i32
// CHECK: "tt.assert"(%{{.*}}) {message = "in range"} : (i1) -> ()
// CHECK: "tt.return"() : () -> ()
// CHECK: sym_name = "k"
"tt.func"() ({
^bb0(%x: !tt.ptr<f32>):
  %pid = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
  %zero = arith.constant 0 : i32
  %ok = arith.cmpi sge, %pid, %zero : i32
  "tt.assert"(%ok) {message = "in range"} : (i1) -> ()
  "tt.return"() : () -> ()
}) {sym_name = "k", function_type = (!tt.ptr<f32>) -> (), sym_visibility = "public", noinline = false} : () -> ()
