// RUN: %girih-opt --pass-pipeline='convert-tile-to-cpu,canonicalize' %s | filecheck %s

// A run's kernels are called in order, each with arrays of what is its own; such
// kernels are internal. The run's function is named on the host op.

// CHECK: kernel = @first
// CHECK: kernel = @second
// CHECK: function = @run0
func.func @main(%a: !tile.buffer<f32, ["s0"], [1]>, %b: !tile.buffer<f32, ["s0"], [1]>, %c: !tile.buffer<f32, ["s0"], [1]>) {
  "host.native"() ({
    "host.launch"(%a, %b) {kernel = @first, outputs = 1 : i64, symbols = ["s0"]} : (!tile.buffer<f32, ["s0"], [1]>, !tile.buffer<f32, ["s0"], [1]>) -> ()
    "host.launch"(%b, %a, %c) {kernel = @second, outputs = 1 : i64, symbols = ["s1", "s0"]} : (!tile.buffer<f32, ["s0"], [1]>, !tile.buffer<f32, ["s0"], [1]>, !tile.buffer<f32, ["s0"], [1]>) -> ()
  }) : () -> ()
  "host.return"() : () -> ()
}

// CHECK: llvm.func internal @first
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, ["s0"], [1]>, %y: !tile.buffer<f32, ["s0"], [1]>, %s0: index):
  %one = arith.constant 1.0 : f32
  "tile.store"(%one, %y, %s0) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (f32, !tile.buffer<f32, ["s0"], [1]>, index) -> ()
}) {sym_name = "first", symbols = ["s0"], outputs = 1 : i64, domain = ["s0"], reduced = array<i64>} : () -> ()

// CHECK: llvm.func internal @second
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, ["s0"], [1]>, %z: !tile.buffer<f32, ["s0"], [1]>, %y: !tile.buffer<f32, ["s0"], [1]>, %s1: index, %s0: index):
  %one = arith.constant 1.0 : f32
  "tile.store"(%one, %y, %s1) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (f32, !tile.buffer<f32, ["s0"], [1]>, index) -> ()
}) {sym_name = "second", symbols = ["s1", "s0"], outputs = 1 : i64, domain = ["s0"], reduced = array<i64>} : () -> ()

// CHECK-NOT: internal
// CHECK: llvm.func @unlaunched
"tile.kernel"() ({
^bb0(%y: !tile.buffer<f32, [1], [1]>):
}) {sym_name = "unlaunched", symbols = [], outputs = 1 : i64, domain = [1], reduced = array<i64>} : () -> ()

// The first kernel takes the run's own arrays; the second gets two of its own.
// CHECK: llvm.func @run0(%[[B:.*]]: !llvm.ptr, %[[S:.*]]: !llvm.ptr, %[[STATUS:.*]]: !llvm.ptr)
// CHECK: %[[SIZES:.*]] = llvm.alloca %{{.*}} x i64
// CHECK: %[[OWN:.*]] = llvm.alloca %{{.*}} x !llvm.ptr
// CHECK: llvm.call @first(%[[B]], %[[S]], %[[STATUS]])
// CHECK: %[[B1:.*]] = llvm.getelementptr %[[B]][1]
// CHECK: %[[P:.*]] = llvm.load %[[B1]] {{.*}} -> !llvm.ptr
// CHECK: llvm.store %[[P]], %[[OWN]]
// CHECK: llvm.call @second(%[[OWN]], %[[SIZES]], %[[STATUS]])
