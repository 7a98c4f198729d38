// RUN: girih-opt --launch-products=library=cublaslt --split-input-file %s | filecheck %s

!x = !tile.buffer<f32, [4, 8], [8, 1]>
!w = !tile.buffer<f32, [8, 6], [1, 8]>
!y = !tile.buffer<f32, [4, 6], [6, 1]>
!b = !tile.buffer<f32, [6], [1]>

// A matrix may lie along its rows or its columns; a bias is a vector.
// CHECK-LABEL: func.func @main
// CHECK: %[[Y:.*]] = "host.alloc"
// CHECK: "host.launch"(%arg0, %arg1, %arg2, %[[Y]]) {kernel = @matmul, outputs = 1
// CHECK: "host.return"(%[[Y]])
func.func @main(%x: !x, %w: !w, %b: !b) -> !y {
  %0 = "host.extern"(%b, %x, %w) {op = "aten.addmm.default", args = [{operand = 0}, {operand = 1}, {operand = 2}], kwargs = {}} : (!b, !x, !w) -> !y
  "host.return"(%0) : (!y) -> ()
}

// -----

// linear: the weight is seen as its transpose, all dims but the last as rows.
// CHECK-LABEL: func.func @main
// CHECK: %[[Y:.*]] = "host.alloc"() : () -> !tile.buffer<bf16, [2, 3, 6], [18, 6, 1]>
// CHECK: %[[X:.*]] = "host.view"(%arg0) {offset = 0 : i64}{{.*}} -> !tile.buffer<bf16, [6, 8], [8, 1]>
// CHECK: %[[W:.*]] = "host.view"(%arg1) {offset = 0 : i64}{{.*}} -> !tile.buffer<bf16, [8, 6], [1, 8]>
// CHECK: %[[R:.*]] = "host.view"(%[[Y]]) {offset = 0 : i64}{{.*}} -> !tile.buffer<bf16, [6, 6], [6, 1]>
// CHECK: "host.launch"(%[[X]], %[[W]], %[[R]])
func.func @main(%x: !tile.buffer<bf16, [2, 3, 8], [24, 8, 1]>, %w: !tile.buffer<bf16, [6, 8], [8, 1]>) -> !tile.buffer<bf16, [2, 3, 6], [18, 6, 1]> {
  %0 = "host.extern"(%x, %w) {op = "aten.linear.default", args = [{operand = 0}, {operand = 1}], kwargs = {}} : (!tile.buffer<bf16, [2, 3, 8], [24, 8, 1]>, !tile.buffer<bf16, [6, 8], [8, 1]>) -> !tile.buffer<bf16, [2, 3, 6], [18, 6, 1]>
  "host.return"(%0) : (!tile.buffer<bf16, [2, 3, 6], [18, 6, 1]>) -> ()
}

// -----

// Left to ATen: symbolic sizes, empty matrices, factors, matrices with a stride of 2.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: "host.extern"
// CHECK-NEXT: "host.extern"
// CHECK-NEXT: "host.extern"
// CHECK-NEXT: "host.extern"
// CHECK-NEXT: "host.return"
!s = !tile.buffer<f32, ["s0", 8], [8, 1]>
!e = !tile.buffer<f32, [4, 0], [1, 1]>
!f = !tile.buffer<f32, [0, 6], [6, 1]>
!t = !tile.buffer<f32, [4, 8], [16, 2]>
!v = !tile.buffer<f32, [8, 6], [6, 1]>
!y = !tile.buffer<f32, [4, 6], [6, 1]>
!r = !tile.buffer<f32, ["s0", 6], [6, 1]>
!b = !tile.buffer<f32, [6], [1]>
!x = !tile.buffer<f32, [4, 8], [8, 1]>
func.func @main(%s: !s, %e: !e, %f: !f, %t: !t, %v: !v, %b: !b, %x: !x) -> (!r, !y, !y, !y) {
  %0 = "host.extern"(%s, %v) {op = "aten.mm.default", args = [{operand = 0}, {operand = 1}], kwargs = {}} : (!s, !v) -> !r
  %1 = "host.extern"(%e, %f) {op = "aten.mm.default", args = [{operand = 0}, {operand = 1}], kwargs = {}} : (!e, !f) -> !y
  %2 = "host.extern"(%b, %x, %v) {op = "aten.addmm.default", args = [{operand = 0}, {operand = 1}, {operand = 2}], kwargs = {beta = 2.0}} : (!b, !x, !v) -> !y
  %3 = "host.extern"(%t, %v) {op = "aten.mm.default", args = [{operand = 0}, {operand = 1}], kwargs = {}} : (!t, !v) -> !y
  "host.return"(%0, %1, %2, %3) : (!r, !y, !y, !y) -> ()
}

// -----

// A large product of 16-bit floats is split where a size is no multiple of 8: here its
// columns and its depth, which takes two launches for each block.
// CHECK-LABEL: func.func @main
// CHECK: %[[Y:.*]] = "host.alloc"
// CHECK: %[[A0:.*]] = "host.view"(%arg0) {offset = 0 : i64}{{.*}} -> !tile.buffer<bf16, [8192, 1024], [1032, 1]>
// CHECK: %[[B0:.*]] = "host.view"(%arg1) {offset = 0 : i64}{{.*}} -> !tile.buffer<bf16, [1024, 2000], [2008, 1]>
// CHECK: "host.launch"(%[[A0]], %[[B0]], %{{.*}}) {kernel = @matmul,
// CHECK: %[[A1:.*]] = "host.view"(%arg0) {offset = 1024 : i64}{{.*}} -> !tile.buffer<bf16, [8192, 1], [1032, 1]>
// CHECK: "host.launch"(%[[A1]], %{{.*}}, %{{.*}}) {kernel = @matmul_add,
// CHECK: "host.view"(%[[Y]]) {offset = 2000 : i64}{{.*}} -> !tile.buffer<bf16, [8192, 1], [2008, 1]>
// CHECK: {kernel = @matmul,
// CHECK: {kernel = @matmul_add,
!x = !tile.buffer<bf16, [8192, 1025], [1032, 1]>
!w = !tile.buffer<bf16, [1025, 2001], [2008, 1]>
!y = !tile.buffer<bf16, [8192, 2001], [2008, 1]>
func.func @main(%x: !x, %w: !w) -> !y {
  %0 = "host.extern"(%x, %w) {op = "aten.mm.default", args = [{operand = 0}, {operand = 1}], kwargs = {}} : (!x, !w) -> !y
  "host.return"(%0) : (!y) -> ()
}
