// RUN: %girih-opt %s -o %t.mlir
// RUN: %girih-opt %t.mlir | diff %t.mlir -
// RUN: filecheck %s --input-file %t.mlir

// A launch program with every op of the dialect.

// CHECK-LABEL: @main
// CHECK-SAME: (%[[X:[a-z0-9]+]]: !tile.buffer<f32, ["s0", 16], [16, 1]>
// CHECK: "host.workspace"() {bytes = "64*s0"}
// CHECK: %[[TEMPORARY:.*]] = "host.alloc"() {workspace_offset = 0 : i64} : () -> !tile.buffer<f32, ["s0", 16], [16, 1]>
// CHECK: %[[OUT:.*]] = "host.alloc"() : () -> !tile.buffer<f32, ["s0", 16], [16, 1]>
// CHECK: "host.native"() ({
// CHECK-NEXT: "host.launch"(%[[X]], %[[TEMPORARY]]) {kernel = @k0, outputs = 1 : i64, symbols = ["s0"]}
// CHECK-NEXT: "host.launch"(%[[TEMPORARY]], %[[OUT]])
// CHECK: {function = @run0}
// CHECK: %[[VIEW:.*]] = "host.view"(%[[OUT]]) {offset = 8 : i64}
// CHECK: %[[CALLED:.*]] = "host.extern"(%[[VIEW]]) {args = [{operand = 0 : i64}]
// CHECK: "host.copy"(%[[CALLED]], %[[VIEW]])
// CHECK: "host.free"(%[[CALLED]])
// CHECK: %[[SIZE:.*]] = "host.size"() {expr = "2*s0"} : () -> index
// CHECK: "host.return"(%[[OUT]], %[[SIZE]])
func.func @main(%x: !tile.buffer<f32, ["s0", 16], [16, 1]>) -> (!tile.buffer<f32, ["s0", 16], [16, 1]>, index) {
  "host.workspace"() {bytes = "64*s0"} : () -> ()
  %0 = "host.alloc"() {workspace_offset = 0 : i64} : () -> !tile.buffer<f32, ["s0", 16], [16, 1]>
  %1 = "host.alloc"() : () -> !tile.buffer<f32, ["s0", 16], [16, 1]>
  "host.native"() ({
    "host.launch"(%x, %0) {kernel = @k0, outputs = 1 : i64, symbols = ["s0"]} : (!tile.buffer<f32, ["s0", 16], [16, 1]>, !tile.buffer<f32, ["s0", 16], [16, 1]>) -> ()
    "host.launch"(%0, %1) {kernel = @k1, outputs = 1 : i64, symbols = ["s0"]} : (!tile.buffer<f32, ["s0", 16], [16, 1]>, !tile.buffer<f32, ["s0", 16], [16, 1]>) -> ()
  }) {function = @run0} : () -> ()
  %2 = "host.view"(%1) {offset = 8 : i64} : (!tile.buffer<f32, ["s0", 16], [16, 1]>) -> !tile.buffer<f32, ["s0", 8], [16, 1]>
  %3 = "host.extern"(%2) {op = "aten.sin.default", args = [{operand = 0 : i64}], kwargs = {}} : (!tile.buffer<f32, ["s0", 8], [16, 1]>) -> !tile.buffer<f32, ["s0", 8], [8, 1]>
  "host.copy"(%3, %2) : (!tile.buffer<f32, ["s0", 8], [8, 1]>, !tile.buffer<f32, ["s0", 8], [16, 1]>) -> ()
  "host.free"(%3) : (!tile.buffer<f32, ["s0", 8], [8, 1]>) -> ()
  %4 = "host.size"() {expr = "2*s0"} : () -> index
  "host.return"(%1, %4) : (!tile.buffer<f32, ["s0", 16], [16, 1]>, index) -> ()
}

// An argument that the caller gives as a number is a buffer without dims.
// CHECK-LABEL: @numbers
// CHECK-SAME: graph.number
func.func @numbers(%n: !tile.buffer<f64, [], []> {graph.number}) {
  "host.return"() : () -> ()
}
