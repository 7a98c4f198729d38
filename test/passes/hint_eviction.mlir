// RUN: %girih-opt --hint-eviction --split-input-file %s | filecheck %s

// The row of a program is read by a loop, then again: it stays in the cache until then.
// Every program reads the weight: it stays. Stores give way to rows. A single read has no
// hint.
// CHECK: "tt.func"
// CHECK: scf.for
// CHECK: "tt.load"({{.+}}evict = 3
// CHECK: "tt.store"({{.+}}evict = 2
// CHECK: scf.for
// CHECK: "tt.load"({{.+}}evict = 2
// CHECK: "tt.load"({{.+}}evict = 3
// CHECK: "tt.load"({{.+}}evict = 1
// CHECK: "tt.store"({{.+}}evict = 2
"tt.func"() ({
^bb0(%x: !tt.ptr<f32>, %w: !tt.ptr<f32>, %y: !tt.ptr<f32>, %s: !tt.ptr<f32>, %n: i32):
  %pid = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %k = %c0 to %n step %c1 : i32 {
    %o = arith.addi %pid, %k : i32
    %p = "tt.addptr"(%x, %o) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
  %a = "tt.load"(%p) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>} : (!tt.ptr<f32>) -> f32
  "tt.store"(%s, %a) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32, operandSegmentSizes = array<i32: 1, 1, 0>} : (!tt.ptr<f32>, f32) -> ()
  }
  scf.for %k = %c0 to %n step %c1 : i32 {
    %o = arith.addi %pid, %k : i32
    %p = "tt.addptr"(%x, %o) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
  %b = "tt.load"(%p) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>} : (!tt.ptr<f32>) -> f32
    %q = "tt.addptr"(%w, %k) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
  %c = "tt.load"(%q) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>} : (!tt.ptr<f32>) -> f32
    %u = "tt.addptr"(%y, %o) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
  %d = "tt.load"(%u) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>} : (!tt.ptr<f32>) -> f32
  "tt.store"(%s, %b) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32, operandSegmentSizes = array<i32: 1, 1, 0>} : (!tt.ptr<f32>, f32) -> ()
  }
  "tt.return"() : () -> ()
}) {function_type = (!tt.ptr<f32>, !tt.ptr<f32>, !tt.ptr<f32>, !tt.ptr<f32>, i32) -> (), noinline = false, sym_name = "twice", sym_visibility = "public"} : () -> ()

// -----

// Two reads in one loop are of different elements, as in a rotary embedding. Stores have
// no hint where nothing is read again.
// CHECK: "tt.func"
// CHECK: "tt.load"({{.+}}evict = 1
// CHECK: "tt.load"({{.+}}evict = 1
// CHECK: "tt.store"({{.+}}evict = 1
"tt.func"() ({
^bb0(%x: !tt.ptr<f32>, %s: !tt.ptr<f32>, %n: i32):
  %pid = "tt.get_program_id"() {axis = 0 : i32} : () -> i32
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %k = %c0 to %n step %c1 : i32 {
    %o = arith.addi %pid, %k : i32
    %p = "tt.addptr"(%x, %o) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
  %a = "tt.load"(%p) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>} : (!tt.ptr<f32>) -> f32
    %q = "tt.addptr"(%p, %c1) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
  %b = "tt.load"(%q) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>} : (!tt.ptr<f32>) -> f32
  "tt.store"(%s, %a) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32, operandSegmentSizes = array<i32: 1, 1, 0>} : (!tt.ptr<f32>, f32) -> ()
  "tt.store"(%s, %b) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32, operandSegmentSizes = array<i32: 1, 1, 0>} : (!tt.ptr<f32>, f32) -> ()
  }
  "tt.return"() : () -> ()
}) {function_type = (!tt.ptr<f32>, !tt.ptr<f32>, i32) -> (), noinline = false, sym_name = "halves", sym_visibility = "public"} : () -> ()
