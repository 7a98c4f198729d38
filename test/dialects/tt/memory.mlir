// RUN: %girih-opt %s | %girih-opt | filecheck %s

// CHECK: "tt.addptr"(%{{.*}}, %{{.*}}) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
// CHECK: "tt.bitcast"(%{{.*}}) : (!tt.ptr<f32>) -> !tt.ptr<i32>
// CHECK: "tt.bitcast"(%{{.*}}) : (i32) -> f32
// CHECK: "tt.load"(%{{.*}}) {{.*}}operandSegmentSizes = array<i32: 1, 0, 0>{{.*}} : (!tt.ptr<i32>) -> i32
// CHECK: "tt.store"(%{{.*}}, %{{.*}}, %{{.*}}) {{.*}} : (!tt.ptr<i32>, i32, i1) -> ()
// CHECK: "tt.atomic_rmw"(%{{.*}}, %{{.*}}) {{.*}} : (!tt.ptr<i32>, i32) -> i32
"tt.func"() ({
^bb0(%x: !tt.ptr<f32>, %i: i32, %on: i1):
  %p = "tt.addptr"(%x, %i) : (!tt.ptr<f32>, i32) -> !tt.ptr<f32>
  %q = "tt.bitcast"(%p) : (!tt.ptr<f32>) -> !tt.ptr<i32>
  %f = "tt.bitcast"(%i) : (i32) -> f32
  %v = "tt.load"(%q) {operandSegmentSizes = array<i32: 1, 0, 0>, cache = 1 : i32, evict = 1 : i32, isVolatile = false, boundaryCheck = array<i32>} : (!tt.ptr<i32>) -> i32
  "tt.store"(%q, %v, %on) {cache = 1 : i32, evict = 1 : i32, boundaryCheck = array<i32>} : (!tt.ptr<i32>, i32, i1) -> ()
  %w = "tt.atomic_rmw"(%q, %v) {atomic_rmw_op = 4 : i32, sem = 1 : i32, scope = 1 : i32} : (!tt.ptr<i32>, i32) -> i32
  "tt.return"() : () -> ()
}) {sym_name = "k", function_type = (!tt.ptr<f32>, i32, i1) -> (), sym_visibility = "public", noinline = false} : () -> ()
