// RUN: %girih-opt --pass-pipeline='convert-tile-to-cpu,canonicalize' %s | filecheck %s

// Stride 1 is a vector load aligned to its elements.
// CHECK-LABEL: llvm.func @contiguous
// CHECK: %[[V:.*]] = llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> vector<16xf32>
// CHECK: llvm.store %[[V]], %{{.*}} {alignment = 4 : i64}
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [64], [1]>, %y: !tile.buffer<f32, [64], [1]>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = "tile.load"(%x, %c0, %c1) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (!tile.buffer<f32, [64], [1]>, index, index) -> vector<16xf32>
  "tile.store"(%v, %y, %c0, %c1) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>} : (vector<16xf32>, !tile.buffer<f32, [64], [1]>, index, index) -> ()
}) {sym_name = "contiguous", symbols = [], outputs = 1 : i64, domain = [64], reduced = array<i64>} : () -> ()

// Stride 2 is two loads, the second of which ends with the last lane.
// CHECK-LABEL: llvm.func @every_other
// CHECK: %[[LOW:.*]] = llvm.load {{.*}} -> vector<16xf32>
// CHECK: llvm.getelementptr %{{.*}}[15]
// CHECK: %[[HIGH:.*]] = llvm.load {{.*}} -> vector<16xf32>
// CHECK: vector.shuffle %[[LOW]], %[[HIGH]] [0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31]
// CHECK-NOT: gather
// CHECK: llvm.return
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [64], [1]>, %y: !tile.buffer<f32, [64], [1]>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %v = "tile.load"(%x, %c0, %c2) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (!tile.buffer<f32, [64], [1]>, index, index) -> vector<16xf32>
  "tile.store"(%v, %y, %c0, %c1) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>} : (vector<16xf32>, !tile.buffer<f32, [64], [1]>, index, index) -> ()
}) {sym_name = "every_other", symbols = [], outputs = 1 : i64, domain = [64], reduced = array<i64>} : () -> ()

// Stride 0 is a scalar load, stride -1 a reversed one, large ones are gathers.
// CHECK-LABEL: llvm.func @strides
// CHECK: %[[S:.*]] = llvm.load {{.*}} -> f32
// CHECK: vector.broadcast %[[S]] : f32 to vector<16xf32>
// CHECK: %[[R:.*]] = llvm.load {{.*}} -> vector<16xf32>
// CHECK: vector.shuffle %[[R]], %{{.*}} [15, 14, 13
// CHECK: llvm.intr.masked.gather {{.*}} {alignment = 4 : i32}
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [64], [1]>, %y: !tile.buffer<f32, [64], [1]>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c9 = arith.constant 9 : index
  %c40 = arith.constant 40 : index
  %back = arith.constant -1 : index
  %a = "tile.load"(%x, %c3, %c0) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (!tile.buffer<f32, [64], [1]>, index, index) -> vector<16xf32>
  %b = "tile.load"(%x, %c40, %back) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (!tile.buffer<f32, [64], [1]>, index, index) -> vector<16xf32>
  %c = "tile.load"(%x, %c0, %c9) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (!tile.buffer<f32, [64], [1]>, index, index) -> vector<16xf32>
  %d = arith.addf %a, %b : vector<16xf32>
  %e = arith.addf %d, %c : vector<16xf32>
  "tile.store"(%e, %y, %c0, %c1) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>} : (vector<16xf32>, !tile.buffer<f32, [64], [1]>, index, index) -> ()
}) {sym_name = "strides", symbols = [], outputs = 1 : i64, domain = [64], reduced = array<i64>} : () -> ()

// A broadcast under a mask that may be empty asks the mask first.
// CHECK-LABEL: llvm.func @guarded_broadcast
// CHECK: %[[ANY:.*]] = vector.reduction <or>, %[[MASK:.*]] : vector<16xi1> into i1
// CHECK: scf.if %[[ANY]]
// CHECK: %[[S:.*]] = llvm.load {{.*}} -> f32
// CHECK: arith.select %[[MASK]]
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [64], [1]>, %m: !tile.buffer<i1, [64], [1]>, %y: !tile.buffer<f32, [64], [1]>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %mask = "tile.load"(%m, %c0, %c1) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (!tile.buffer<i1, [64], [1]>, index, index) -> vector<16xi1>
  %v = "tile.load"(%x, %c0, %c0, %mask) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>} : (!tile.buffer<f32, [64], [1]>, index, index, vector<16xi1>) -> vector<16xf32>
  "tile.store"(%v, %y, %c0, %c1) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>} : (vector<16xf32>, !tile.buffer<f32, [64], [1]>, index, index) -> ()
}) {sym_name = "guarded_broadcast", symbols = [], outputs = 1 : i64, domain = [64], reduced = array<i64>} : () -> ()

// Booleans are bytes in memory.
// CHECK-LABEL: llvm.func @booleans
// CHECK: %[[BYTES:.*]] = llvm.load {{.*}} {alignment = 1 : i64} : !llvm.ptr -> vector<16xi8>
// CHECK: %[[BITS:.*]] = arith.cmpi ne, %[[BYTES]]
// CHECK: %[[BACK:.*]] = arith.extui %[[BITS]] : vector<16xi1> to vector<16xi8>
// CHECK: llvm.store %[[BACK]]
"tile.kernel"() ({
^bb0(%x: !tile.buffer<i1, [64], [1]>, %y: !tile.buffer<i1, [64], [1]>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = "tile.load"(%x, %c0, %c1) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (!tile.buffer<i1, [64], [1]>, index, index) -> vector<16xi1>
  "tile.store"(%v, %y, %c0, %c1) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>} : (vector<16xi1>, !tile.buffer<i1, [64], [1]>, index, index) -> ()
}) {sym_name = "booleans", symbols = [], outputs = 1 : i64, domain = [64], reduced = array<i64>} : () -> ()

// Local buffers lie on the stack: a program's outside of its thread's loop.
// CHECK-LABEL: llvm.func @local_buffers
// CHECK: llvm.alloca %{{.*}} x i8 {alignment = 64 : i64}
// CHECK: omp.parallel
// CHECK-NEXT: llvm.alloca %{{.*}} x i8 {alignment = 64 : i64}
// CHECK: omp.wsloop
// CHECK-NOT: llvm.alloca
// CHECK: llvm.return
"tile.kernel"() ({
^bb0(%y: !tile.buffer<f32, [64], [1]>):
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %work = arith.constant 100000 : index
  %shared = "tile.workspace"() {elements = 8 : i64} : () -> !tile.buffer<f32, [8], [1]>
  "tile.grid"(%c8, %work) ({
  ^bb0(%pid: index):
    %own = "tile.scratch"() {elements = 16 : i64} : () -> !tile.buffer<f32, [16], [1]>
    %v = "tile.load"(%own, %c0) {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>} : (!tile.buffer<f32, [16], [1]>, index) -> f32
    "tile.store"(%v, %shared, %pid) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (f32, !tile.buffer<f32, [8], [1]>, index) -> ()
  }) : (index, index) -> ()
}) {sym_name = "local_buffers", symbols = [], outputs = 1 : i64, domain = [64], reduced = array<i64>} : () -> ()

// A failed check stores 1 to the third argument.
// CHECK-LABEL: llvm.func @check
// CHECK-SAME: %[[STATUS:arg2]]: !llvm.ptr)
// CHECK: %[[FAILED:.*]] = arith.cmpi eq
// CHECK: scf.if %[[FAILED]]
// CHECK-NEXT: llvm.store %c1_i32, %[[STATUS]] {alignment = 4 : i64}
"tile.kernel"() ({
^bb0(%x: !tile.buffer<i1, [1], [1]>):
  %c0 = arith.constant 0 : index
  %ok = "tile.load"(%x, %c0) {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>} : (!tile.buffer<i1, [1], [1]>, index) -> i1
  "tile.check"(%ok) : (i1) -> ()
}) {sym_name = "check", symbols = [], outputs = 1 : i64, domain = [1], reduced = array<i64>} : () -> ()

// Where a row is not read at all, its address is that of element 0.
// CHECK-LABEL: llvm.func @whole_rows
// CHECK: %[[IS_READ:.*]] = arith.cmpi ne
// CHECK: %[[WIDE:.*]] = vector.broadcast %[[IS_READ]] : i1 to vector<16xi1>
// CHECK: %[[PLACE:.*]] = arith.select %[[IS_READ]], %c4096, %c0
// CHECK: llvm.intr.masked.load %{{.*}}, %{{.*}}, %{{.*}}
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [64], [1]>, %y: !tile.buffer<f32, [64], [1]>, %z: !tile.buffer<i1, [1], [1]>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %far = arith.constant 4096 : index
  %is_read = "tile.load"(%z, %c0) {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>} : (!tile.buffer<i1, [1], [1]>, index) -> i1
  %mask = vector.broadcast %is_read : i1 to vector<16xi1>
  %v = "tile.load"(%x, %far, %c1, %mask) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>} : (!tile.buffer<f32, [64], [1]>, index, index, vector<16xi1>) -> vector<16xf32>
  "tile.store"(%v, %y, %c0, %c1) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>} : (vector<16xf32>, !tile.buffer<f32, [64], [1]>, index, index) -> ()
}) {sym_name = "whole_rows", symbols = [], outputs = 1 : i64, domain = [64], reduced = array<i64>} : () -> ()

// A prefetch is for reading, from the second-level cache; its offset counts bytes.
// CHECK-LABEL: llvm.func @prefetches
// CHECK: %[[AT:.*]] = llvm.getelementptr %{{.*}}[64] : (!llvm.ptr) -> !llvm.ptr, i8
// CHECK: "llvm.intr.prefetch"(%[[AT]]) <{cache = 1 : i32, hint = 2 : i32, rw = 0 : i32}>
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [64], [1]>, %y: !tile.buffer<f32, [64], [1]>):
  %c64 = arith.constant 64 : index
  "tile.prefetch"(%x, %c64) : (!tile.buffer<f32, [64], [1]>, index) -> ()
}) {sym_name = "prefetches", symbols = [], outputs = 1 : i64, domain = [64], reduced = array<i64>} : () -> ()
