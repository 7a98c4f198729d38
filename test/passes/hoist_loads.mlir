// RUN: %girih-opt --hoist-loads --split-input-file %s | filecheck %s

// The second load waits neither for the first one nor for the division: it moves before
// the division, with its address. Arithmetic keeps its order, so the sum stays there.
// CHECK: "tt.func"
// CHECK: [[S:%.+]] = "tt.load"
// CHECK: [[P:%.+]] = "tt.addptr"
// CHECK-NEXT: [[X:%.+]] = "tt.load"([[P]])
// CHECK: [[R:%.+]] = "tt.precise_divf"({{.+}}, [[S]])
// CHECK: [[V:%.+]] = arith.mulf [[X]], [[R]]
// CHECK: "tt.store"({{.+}}, [[V]])
"tt.func"() ({
^bb0(%s: !tt.ptr<f32>, %x: !tt.ptr<f32>, %y: !tt.ptr<f32>):
  %c1 = arith.constant 1 : i32
  %scale = "tt.load"(%s) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>} : (!tt.ptr<f32>) -> f32
  %one = arith.constant 1.0 : f32
  %r = "tt.precise_divf"(%one, %scale) : (f32, f32) -> f32
  %p = "tt.addptr"(%x, %c1) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
  %v = "tt.load"(%p) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>} : (!tt.ptr<f32>) -> f32
  %w = arith.mulf %v, %r : f32
  "tt.store"(%y, %w) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32, operandSegmentSizes = array<i32: 1, 1, 0>} : (!tt.ptr<f32>, f32) -> ()
  "tt.return"() : () -> ()
}) {function_type = (!tt.ptr<f32>, !tt.ptr<f32>, !tt.ptr<f32>) -> (), noinline = false, sym_name = "division", sym_visibility = "public"} : () -> ()

// -----

// An index that is read, and an address made of it, move along: here, before the root.
// CHECK: "tt.func"
// CHECK: [[I:%.+]] = "tt.load"({{.+}}) {{.+}} -> i32
// CHECK: [[P:%.+]] = "tt.addptr"({{.+}}, [[I]])
// CHECK-NEXT: "tt.load"([[P]])
// CHECK: "tt.precise_sqrt"
"tt.func"() ({
^bb0(%s: !tt.ptr<f32>, %i: !tt.ptr<i32>, %x: !tt.ptr<f32>, %y: !tt.ptr<f32>):
  %a = "tt.load"(%s) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>} : (!tt.ptr<f32>) -> f32
  %r = "tt.precise_sqrt"(%a) : (f32) -> f32
  %n = "tt.load"(%i) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>} : (!tt.ptr<i32>) -> i32
  %p = "tt.addptr"(%x, %n) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
  %v = "tt.load"(%p) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>} : (!tt.ptr<f32>) -> f32
  %w = arith.mulf %v, %r : f32
  "tt.store"(%y, %w) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32, operandSegmentSizes = array<i32: 1, 1, 0>} : (!tt.ptr<f32>, f32) -> ()
  "tt.return"() : () -> ()
}) {function_type = (!tt.ptr<f32>, !tt.ptr<i32>, !tt.ptr<f32>, !tt.ptr<f32>) -> (), noinline = false, sym_name = "gather", sym_visibility = "public"} : () -> ()

// -----

// No load moves over a store, a check, or an op with a region: what it reads could be
// written there, or its address be wrong. An address that is computed of floats stays
// behind them.
// CHECK: "tt.func"
// CHECK: "tt.store"
// CHECK-NEXT: "tt.load"
// CHECK: "tt.assert"
// CHECK-NEXT: "tt.load"
// CHECK: scf.for
// CHECK: "tt.precise_sqrt"
// CHECK: arith.fptosi
// CHECK-NEXT: "tt.addptr"
// CHECK-NEXT: "tt.load"
"tt.func"() ({
^bb0(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32):
  %a = "tt.load"(%x) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>} : (!tt.ptr<f32>) -> f32
  "tt.store"(%y, %a) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32, operandSegmentSizes = array<i32: 1, 1, 0>} : (!tt.ptr<f32>, f32) -> ()
  %b = "tt.load"(%x) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>} : (!tt.ptr<f32>) -> f32
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %ok = arith.cmpi slt, %c0, %n : i32
  "tt.assert"(%ok) {message = "in range"} : (i1) -> ()
  %c = "tt.load"(%x) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>} : (!tt.ptr<f32>) -> f32
  "tt.store"(%y, %c) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32, operandSegmentSizes = array<i32: 1, 1, 0>} : (!tt.ptr<f32>, f32) -> ()
  scf.for %k = %c0 to %n step %c1 : i32 {
  "tt.store"(%y, %b) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32, operandSegmentSizes = array<i32: 1, 1, 0>} : (!tt.ptr<f32>, f32) -> ()
  }
  %r = "tt.precise_sqrt"(%b) : (f32) -> f32
  %t = arith.fptosi %r : f32 to i32
  %p = "tt.addptr"(%x, %t) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
  %d = "tt.load"(%p) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>} : (!tt.ptr<f32>) -> f32
  "tt.store"(%y, %d) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32, operandSegmentSizes = array<i32: 1, 1, 0>} : (!tt.ptr<f32>, f32) -> ()
  "tt.return"() : () -> ()
}) {function_type = (!tt.ptr<f32>, !tt.ptr<f32>, i32) -> (), noinline = false, sym_name = "barriers", sym_visibility = "public"} : () -> ()

// -----

// Inside a loop, loads come first in its body, and no further.
// CHECK: "tt.func"
// CHECK: scf.for
// CHECK-NEXT: [[P:%.+]] = "tt.addptr"
// CHECK-NEXT: [[V:%.+]] = "tt.load"([[P]])
// CHECK: "tt.precise_divf"
"tt.func"() ({
^bb0(%x: !tt.ptr<f32>, %n: i32):
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %one = arith.constant 1.0 : f32
  scf.for %k = %c0 to %n step %c1 : i32 {
  %f = arith.sitofp %k : i32 to f32
  %r = "tt.precise_divf"(%one, %f) : (f32, f32) -> f32
  %p = "tt.addptr"(%x, %k) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
  %v = "tt.load"(%p) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>} : (!tt.ptr<f32>) -> f32
  %w = arith.mulf %v, %r : f32
  "tt.store"(%p, %w) {boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32, operandSegmentSizes = array<i32: 1, 1, 0>} : (!tt.ptr<f32>, f32) -> ()
  }
  "tt.return"() : () -> ()
}) {function_type = (!tt.ptr<f32>, i32) -> (), noinline = false, sym_name = "loop", sym_visibility = "public"} : () -> ()
