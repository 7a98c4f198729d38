// RUN: %girih-opt --split-input-file --verify-diagnostics %s

// expected-error @+1 {{'tt.func' expected function_type to be a function without results, got () -> i32}}
"tt.func"() ({
  "tt.return"() : () -> ()
}) {sym_name = "k", function_type = () -> i32, sym_visibility = "public", noinline = false} : () -> ()

// -----

// expected-error @+1 {{'tt.func' expected body to end in tt.return, got nothing}}
"tt.func"() ({
^bb0:
}) {sym_name = "k", function_type = () -> (), sym_visibility = "public", noinline = false} : () -> ()

// -----

// expected-error @+1 {{'tt.get_program_id' expected axis to be 0, 1 or 2, got 3}}
%pid = "tt.get_program_id"() {axis = 3 : i32} : () -> i32

// -----

// expected-error @+1 {{'tt.get_program_id' expected axis to be an i32, got 0 : i64}}
%pid = "tt.get_program_id"() {axis = 0 : i64} : () -> i32

// -----

%x = arith.constant 1 : i32
// expected-error @+1 {{'tt.assert' expected condition to have elements i1, got i32}}
"tt.assert"(%x) {message = "m"} : (i32) -> ()
