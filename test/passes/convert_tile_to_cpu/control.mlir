// RUN: %girih-opt --pass-pipeline='convert-tile-to-cpu,canonicalize' %s | filecheck %s

// A grid of known, small work is a plain loop.
// CHECK-LABEL: llvm.func @small_grid
// CHECK-NOT: omp.parallel
// CHECK: scf.for %{{.*}} = %c0 to %{{.*}} step %c1
// CHECK: llvm.store
// CHECK: llvm.return
"tile.kernel"() ({
^bb0(%y: !tile.buffer<f32, [10], [1]>):
  %count = arith.constant 10 : index
  %one = arith.constant 1.0 : f32
  "tile.grid"(%count, %count) ({
  ^bb0(%pid: index):
    "tile.store"(%one, %y, %pid) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (f32, !tile.buffer<f32, [10], [1]>, index) -> ()
  }) : (index, index) -> ()
}) {sym_name = "small_grid", symbols = [], outputs = 1 : i64, domain = [10], reduced = array<i64>} : () -> ()

// A grid of known, large work is always parallel.
// CHECK-LABEL: llvm.func @large_grid
// CHECK: omp.parallel {
// CHECK: omp.wsloop nowait {
// CHECK-NEXT: omp.loop_nest
// CHECK: omp.yield
// CHECK: omp.terminator
"tile.kernel"() ({
^bb0(%y: !tile.buffer<f32, [10], [1]>):
  %count = arith.constant 10 : index
  %work = arith.constant 1000000 : index
  %one = arith.constant 1.0 : f32
  "tile.grid"(%count, %work) ({
  ^bb0(%pid: index):
    "tile.store"(%one, %y, %pid) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (f32, !tile.buffer<f32, [10], [1]>, index) -> ()
  }) : (index, index) -> ()
}) {sym_name = "large_grid", symbols = [], outputs = 1 : i64, domain = [10], reduced = array<i64>} : () -> ()

// Otherwise the call decides. Arguments come from the three arrays.
// CHECK-LABEL: llvm.func @symbolic_grid
// CHECK-SAME: (%[[BUFFERS:.*]]: !llvm.ptr, %[[SYMBOLS:.*]]: !llvm.ptr, %{{.*}}: !llvm.ptr)
// CHECK: %[[Y:.*]] = llvm.load %[[BUFFERS]]
// CHECK: %[[WORD:.*]] = llvm.load %[[SYMBOLS]] {{.*}} -> i64
// CHECK: %[[SIZE:.*]] = arith.index_cast %[[WORD]]
// CHECK: %[[BIG:.*]] = arith.cmpi sge, %[[SIZE]], %c32768
// CHECK: omp.parallel if(%[[BIG]])
"tile.kernel"() ({
^bb0(%y: !tile.buffer<f32, ["s0"], [1]>, %s0: index):
  %one = arith.constant 1.0 : f32
  "tile.grid"(%s0, %s0) ({
  ^bb0(%pid: index):
    "tile.store"(%one, %y, %pid) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (f32, !tile.buffer<f32, ["s0"], [1]>, index) -> ()
  }) : (index, index) -> ()
}) {sym_name = "symbolic_grid", symbols = ["s0"], outputs = 1 : i64, domain = ["s0"], reduced = array<i64>} : () -> ()

// A loop of unknown length: whole steps without masks, then one masked step.
// CHECK-LABEL: llvm.func @loop
// CHECK: %[[MAIN:.*]] = scf.for {{.*}} iter_args(%[[SUM:.*]] =
// CHECK-NOT: masked
// CHECK: llvm.load {{.*}} -> vector<16xf32>
// CHECK: %[[NEXT:.*]] = arith.addf %[[SUM]]
// CHECK: scf.yield %[[NEXT]]
// CHECK: %[[MASK:.*]] = arith.cmpi {{.*}} : vector<16xi32>
// CHECK: %[[TOTAL:.*]] = scf.if {{.*}} -> (vector<16xf32>)
// CHECK: llvm.intr.masked.load {{.*}}, %[[MASK]]
// CHECK: %[[LAST:.*]] = arith.addf %[[MAIN]]
// CHECK: scf.yield %[[LAST]]
// CHECK: else
// CHECK: scf.yield %[[MAIN]]
// CHECK: llvm.store %[[TOTAL]]
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, ["s0"], [1]>, %y: !tile.buffer<f32, [16], [1]>, %s0: index):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant dense<0.0> : vector<16xf32>
  %sum = "tile.loop"(%c0, %s0, %zero) ({
  ^bb0(%i: index, %mask: vector<16xi1>, %old: vector<16xf32>):
    %v = "tile.load"(%x, %i, %c1, %mask) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>} : (!tile.buffer<f32, ["s0"], [1]>, index, index, vector<16xi1>) -> vector<16xf32>
    %new = arith.addf %old, %v : vector<16xf32>
    "tile.yield"(%new) : (vector<16xf32>) -> ()
  }) {width = 16 : i64, unroll = 1 : i64} : (index, index, vector<16xf32>) -> vector<16xf32>
  "tile.store"(%sum, %y, %c0, %c1) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>} : (vector<16xf32>, !tile.buffer<f32, [16], [1]>, index, index) -> ()
}) {sym_name = "loop", symbols = ["s0"], outputs = 1 : i64, domain = [16], reduced = array<i64>} : () -> ()

// A loop of whole steps has no masked one.
// CHECK-LABEL: llvm.func @whole_loop
// CHECK: scf.for
// CHECK-NOT: scf.if
// CHECK-NOT: masked
// CHECK: llvm.return
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [64], [1]>, %y: !tile.buffer<f32, [64], [1]>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  "tile.loop"(%c0, %c64) ({
  ^bb0(%i: index, %mask: vector<16xi1>):
    %v = "tile.load"(%x, %i, %c1, %mask) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>} : (!tile.buffer<f32, [64], [1]>, index, index, vector<16xi1>) -> vector<16xf32>
    "tile.store"(%v, %y, %i, %c1, %mask) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>} : (vector<16xf32>, !tile.buffer<f32, [64], [1]>, index, index, vector<16xi1>) -> ()
    "tile.yield"() : () -> ()
  }) {width = 16 : i64, unroll = 1 : i64} : (index, index) -> ()
}) {sym_name = "whole_loop", symbols = [], outputs = 1 : i64, domain = [64], reduced = array<i64>} : () -> ()

// A loop shorter than a step has nothing but the masked one.
// CHECK-LABEL: llvm.func @short_loop
// CHECK-NOT: scf.for
// CHECK: llvm.intr.masked.load
// CHECK: llvm.intr.masked.store
// CHECK: llvm.return
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [5], [1]>, %y: !tile.buffer<f32, [5], [1]>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c5 = arith.constant 5 : index
  "tile.loop"(%c0, %c5) ({
  ^bb0(%i: index, %mask: vector<16xi1>):
    %v = "tile.load"(%x, %i, %c1, %mask) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>} : (!tile.buffer<f32, [5], [1]>, index, index, vector<16xi1>) -> vector<16xf32>
    "tile.store"(%v, %y, %i, %c1, %mask) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>} : (vector<16xf32>, !tile.buffer<f32, [5], [1]>, index, index, vector<16xi1>) -> ()
    "tile.yield"() : () -> ()
  }) {width = 16 : i64, unroll = 1 : i64} : (index, index) -> ()
}) {sym_name = "short_loop", symbols = [], outputs = 1 : i64, domain = [5], reduced = array<i64>} : () -> ()
