// RUN: %girih-opt --pass-pipeline='convert-tile-to-cpu{table-launches=2}' %s | filecheck %s

// Many launches are the rows of a table: number of the kernel, places of its buffers,
// then of its symbols. Shorter ones are filled up.

!b = !tile.buffer<f32, ["s0"], [1]>

func.func @main(%a: !b, %b: !b, %c: !b) {
  "host.native"() ({
    "host.launch"(%a, %b) {kernel = @first, outputs = 1 : i64, symbols = ["s0"]} : (!b, !b) -> ()
    "host.launch"(%b, %a, %c) {kernel = @second, outputs = 1 : i64, symbols = [7, "s0"]} : (!b, !b, !b) -> ()
    "host.launch"(%c, %b) {kernel = @first, outputs = 1 : i64, symbols = [7]} : (!b, !b) -> ()
  }) : () -> ()
  "host.return"() : () -> ()
}

"tile.kernel"() ({
^bb0(%x: !b, %y: !b, %s0: index):
}) {sym_name = "first", symbols = ["s0"], outputs = 1 : i64, domain = ["s0"], reduced = array<i64>} : () -> ()

"tile.kernel"() ({
^bb0(%x: !b, %z: !b, %y: !b, %s1: index, %s0: index):
}) {sym_name = "second", symbols = ["s1", "s0"], outputs = 1 : i64, domain = ["s0"], reduced = array<i64>} : () -> ()

// CHECK: llvm.mlir.global internal constant @run0_table(dense<[0, 0, 1, 0, 0, 0, 1, 1, 0, 2, 1, 0, 0, 2, 1, 0, 1, 0]> : tensor<18xi64>)
// CHECK: llvm.func @run0(%[[B:.*]]: !llvm.ptr, %[[S:.*]]: !llvm.ptr, %[[STATUS:.*]]: !llvm.ptr)
// CHECK: %[[SIZES:.*]] = llvm.alloca %{{.*}} x i64
// CHECK: %[[OWN:.*]] = llvm.alloca %{{.*}} x !llvm.ptr
// CHECK: scf.for
// CHECK: scf.for
// CHECK: llvm.getelementptr %[[B]]
// CHECK: llvm.getelementptr %[[OWN]]
// CHECK: scf.for
// CHECK: llvm.getelementptr %[[S]]
// CHECK: llvm.getelementptr %[[SIZES]]
// CHECK: scf.index_switch
// CHECK: case 0
// CHECK: llvm.call @first(%[[OWN]], %[[SIZES]], %[[STATUS]])
// CHECK: default
// CHECK: llvm.call @second(%[[OWN]], %[[SIZES]], %[[STATUS]])
