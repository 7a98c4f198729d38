// RUN: girih-opt "--launch-products=library=cublaslt row-bytes=4096" %s | filecheck %s

// A product that is only copied is computed in blocks of rows, which are copied at once.
!x = !tile.buffer<bf16, [1300, 16], [16, 1]>
!w = !tile.buffer<bf16, [16, 1], [1, 16]>
!p = !tile.buffer<bf16, [1300, 1], [2, 1]>
!q = !tile.buffer<bf16, [1300, 1], [1, 1]>
// CHECK: sym_name = "k0_rows1024"
// CHECK: sym_name = "k0_rows276"
"tile.kernel"() ({
^bb0(%a: !p, %b: !q):
  %0 = "tile.read"(%a) : (!p) -> tensor<1300x1xbf16>
  "tile.write"(%0, %b) : (tensor<1300x1xbf16>, !q) -> ()
}) {sym_name = "k0", outputs = 1, domain = [1300, 1], reduced = array<i64>, symbols = []} : () -> ()
// CHECK-LABEL: func.func @main
// CHECK: %[[Y:.*]] = "host.alloc"() : () -> !tile.buffer<bf16, [1300, 1], [1, 1]>
// CHECK: %[[P0:.*]] = "host.alloc"() : () -> !tile.buffer<bf16, [1024, 1], [2, 1]>
// CHECK: %[[X0:.*]] = "host.view"(%arg0) {offset = 0 : i64}
// CHECK: "host.launch"(%[[X0]], %arg1, %[[P0]]) {kernel = @matmul,
// CHECK: %[[Y0:.*]] = "host.view"(%[[Y]]) {offset = 0 : i64}
// CHECK: "host.launch"(%[[P0]], %[[Y0]]) {kernel = @k0_rows1024,
// CHECK: %[[P1:.*]] = "host.alloc"() : () -> !tile.buffer<bf16, [276, 1], [2, 1]>
// CHECK: %[[X1:.*]] = "host.view"(%arg0) {offset = 16384 : i64}
// CHECK: "host.launch"(%[[X1]], %arg1, %[[P1]]) {kernel = @matmul,
// CHECK: %[[Y1:.*]] = "host.view"(%[[Y]]) {offset = 1024 : i64}
// CHECK: "host.launch"(%[[P1]], %[[Y1]]) {kernel = @k0_rows276,
// CHECK: "host.return"(%[[Y]])
func.func @main(%x: !x, %w: !w) -> !q {
  %0 = "host.extern"(%x, %w) {op = "aten.mm.default", args = [{operand = 0}, {operand = 1}], kwargs = {}} : (!x, !w) -> !p
  %1 = "host.alloc"() : () -> !q
  "host.launch"(%0, %1) {kernel = @k0, outputs = 1, symbols = []} : (!p, !q) -> ()
  "host.return"(%1) : (!q) -> ()
}
