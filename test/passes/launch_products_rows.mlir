// RUN: girih-opt "--launch-products=library=cublaslt row-bytes=4096" --split-input-file %s | filecheck %s

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

// -----

// The copy may read the product as a tensor of more dims, with the same rows.
!x = !tile.buffer<bf16, [1300, 16], [16, 1]>
!w = !tile.buffer<bf16, [16, 3], [1, 16]>
!p = !tile.buffer<bf16, [1300, 3], [4, 1]>
!v = !tile.buffer<bf16, [13, 100, 3], [400, 4, 1]>
!q = !tile.buffer<bf16, [13, 100, 3], [300, 3, 1]>
"tile.kernel"() ({
^bb0(%a: !v, %b: !q):
  %0 = "tile.read"(%a) : (!v) -> tensor<13x100x3xbf16>
  "tile.write"(%0, %b) : (tensor<13x100x3xbf16>, !q) -> ()
}) {sym_name = "k0", outputs = 1, domain = [13, 100, 3], reduced = array<i64>, symbols = []} : () -> ()
// CHECK-LABEL: func.func @main
// CHECK-NOT: [1300, 3], [4, 1]
// CHECK: "host.launch"({{.*}}) {kernel = @k0_rows512,
// CHECK: "host.launch"({{.*}}) {kernel = @k0_rows512,
// CHECK: "host.launch"({{.*}}) {kernel = @k0_rows276,
// CHECK-NOT: @k0,
// CHECK: "host.return"
func.func @main(%x: !x, %w: !w) -> !q {
  %0 = "host.extern"(%x, %w) {op = "aten.mm.default", args = [{operand = 0}, {operand = 1}], kwargs = {}} : (!x, !w) -> !p
  %1 = "host.view"(%0) {offset = 0 : i64} : (!p) -> !v
  %2 = "host.alloc"() : () -> !q
  "host.launch"(%1, %2) {kernel = @k0, outputs = 1, symbols = []} : (!v, !q) -> ()
  "host.return"(%2) : (!q) -> ()
}

// -----

// But not other rows: here the copy transposes.
!x = !tile.buffer<bf16, [1300, 16], [16, 1]>
!w = !tile.buffer<bf16, [16, 1300], [1, 16]>
!p = !tile.buffer<bf16, [1300, 1300], [1304, 1]>
!v = !tile.buffer<bf16, [1300, 1300], [1, 1304]>
!q = !tile.buffer<bf16, [1300, 1300], [1300, 1]>
"tile.kernel"() ({
^bb0(%a: !v, %b: !q):
  %0 = "tile.read"(%a) : (!v) -> tensor<1300x1300xbf16>
  "tile.write"(%0, %b) : (tensor<1300x1300xbf16>, !q) -> ()
}) {sym_name = "k0", outputs = 1, domain = [1300, 1300], reduced = array<i64>, symbols = []} : () -> ()
// CHECK-LABEL: func.func @main
// CHECK: kernel = @k0,
func.func @main(%x: !x, %w: !w) -> !q {
  %0 = "host.extern"(%x, %w) {op = "aten.mm.default", args = [{operand = 0}, {operand = 1}], kwargs = {}} : (!x, !w) -> !p
  %1 = "host.view"(%0) {offset = 0 : i64} : (!p) -> !v
  %2 = "host.alloc"() : () -> !q
  "host.launch"(%1, %2) {kernel = @k0, outputs = 1, symbols = []} : (!v, !q) -> ()
  "host.return"(%2) : (!q) -> ()
}
