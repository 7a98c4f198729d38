// RUN: %girih-opt %s -o %t.mlir
// RUN: %girih-opt %t.mlir | diff %t.mlir -
// RUN: filecheck %s --input-file %t.mlir

// Loads and stores of scalars, vectors and tiles, with and without masks.

// CHECK-LABEL: @loads
// CHECK: "tile.load"(%{{.*}}, %{{.*}}){{.*}} -> f32
// CHECK: "tile.load"(%{{.*}}, %{{.*}}, %{{.*}}){{.*}} -> vector<4xf32>
// CHECK: "tile.load"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}){{.*}} -> vector<4xf32>
// CHECK: "tile.load"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}){{.*}} -> vector<4x8xf32>
func.func @loads(%b: !tile.buffer<f32, [64], [1]>, %o: index, %s: index, %m: vector<4xi1>, %n: vector<8xi1>, %f: f32) {
  %0 = "tile.load"(%b, %o) {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>} : (!tile.buffer<f32, [64], [1]>, index) -> f32
  %1 = "tile.load"(%b, %o, %s) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (!tile.buffer<f32, [64], [1]>, index, index) -> vector<4xf32>
  %2 = "tile.load"(%b, %o, %s, %m, %f) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>} : (!tile.buffer<f32, [64], [1]>, index, index, vector<4xi1>, f32) -> vector<4xf32>
  %3 = "tile.load"(%b, %o, %s, %s, %m, %n) {operandSegmentSizes = array<i32: 1, 1, 2, 2, 0>} : (!tile.buffer<f32, [64], [1]>, index, index, index, vector<4xi1>, vector<8xi1>) -> vector<4x8xf32>
  return
}

// Unsigned integers are held signless, bools as i1.
// CHECK-LABEL: @held_as
// CHECK: "tile.load"{{.*}} -> i8
// CHECK: "tile.load"{{.*}} -> vector<4xi1>
func.func @held_as(%u: !tile.buffer<ui8, [64], [1]>, %b: !tile.buffer<i1, [64], [1]>, %o: index, %s: index) {
  %0 = "tile.load"(%u, %o) {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>} : (!tile.buffer<ui8, [64], [1]>, index) -> i8
  %1 = "tile.load"(%b, %o, %s) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (!tile.buffer<i1, [64], [1]>, index, index) -> vector<4xi1>
  return
}

// CHECK-LABEL: @stores
// CHECK: "tile.store"(%{{.*}}, %{{.*}}, %{{.*}}) {
// CHECK: "tile.store"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
func.func @stores(%b: !tile.buffer<f32, [64], [1]>, %o: index, %s: index, %x: f32, %v: vector<4xf32>, %m: vector<4xi1>) {
  "tile.store"(%x, %b, %o) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (f32, !tile.buffer<f32, [64], [1]>, index) -> ()
  "tile.store"(%v, %b, %o, %s, %m) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>} : (vector<4xf32>, !tile.buffer<f32, [64], [1]>, index, index, vector<4xi1>) -> ()
  return
}

// CHECK-LABEL: @gathers
// CHECK: "tile.gather"(%{{.*}}, %{{.*}}) {{.*}} -> vector<4xf32>
// CHECK: "tile.gather"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {{.*}} -> vector<4xf32>
func.func @gathers(%b: !tile.buffer<f32, [64], [1]>, %o: vector<4xi64>, %m: vector<4xi1>, %x: f32) {
  %0 = "tile.gather"(%b, %o) {operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (!tile.buffer<f32, [64], [1]>, vector<4xi64>) -> vector<4xf32>
  %1 = "tile.gather"(%b, %o, %m, %x) {operandSegmentSizes = array<i32: 1, 1, 1, 1>} : (!tile.buffer<f32, [64], [1]>, vector<4xi64>, vector<4xi1>, f32) -> vector<4xf32>
  return
}

// CHECK-LABEL: @prefetches
// CHECK: "tile.prefetch"(%{{.*}}, %{{.*}}) : (!tile.buffer<f32, [64], [1]>, index) -> ()
func.func @prefetches(%b: !tile.buffer<f32, [64], [1]>, %o: index) {
  "tile.prefetch"(%b, %o) : (!tile.buffer<f32, [64], [1]>, index) -> ()
  return
}

// CHECK-LABEL: @local_buffers
// CHECK: "tile.workspace"() {elements = 64 : i64} : () -> !tile.buffer<f32, [64], [1]>
// CHECK: "tile.scratch"() {elements = 16 : i64} : () -> !tile.buffer<f64, [16], [1]>
func.func @local_buffers() {
  %0 = "tile.workspace"() {elements = 64 : i64} : () -> !tile.buffer<f32, [64], [1]>
  %1 = "tile.scratch"() {elements = 16 : i64} : () -> !tile.buffer<f64, [16], [1]>
  return
}

// CHECK-LABEL: @checks
// CHECK: "tile.check"(%{{.*}}) : (i1) -> ()
// CHECK: "tile.check"(%{{.*}}, %{{.*}}) : (vector<4xi1>, vector<4xi1>) -> ()
func.func @checks(%ok: i1, %v: vector<4xi1>) {
  "tile.check"(%ok) : (i1) -> ()
  "tile.check"(%v, %v) : (vector<4xi1>, vector<4xi1>) -> ()
  return
}

// CHECK-LABEL: @updates
// CHECK: "tile.update"(%{{.*}}, %{{.*}}, %{{.*}}) : (vector<4xf32>
// CHECK: "tile.update"(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : (vector<2x4xf32>
func.func @updates(%b: !tile.buffer<f32, [64], [1]>, %v: vector<4xf32>, %o: vector<4xi64>, %w: vector<2x4xf32>, %p: vector<2x4xi64>, %m: vector<2x4xi1>) {
  "tile.update"(%v, %b, %o) : (vector<4xf32>, !tile.buffer<f32, [64], [1]>, vector<4xi64>) -> ()
  "tile.update"(%w, %b, %p, %m) : (vector<2x4xf32>, !tile.buffer<f32, [64], [1]>, vector<2x4xi64>, vector<2x4xi1>) -> ()
  return
}
