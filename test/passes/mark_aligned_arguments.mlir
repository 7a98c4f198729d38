// RUN: girih-opt --mark-aligned-arguments --split-input-file %s | filecheck %s

!b = !tile.buffer<f32, [4], [1]>

// A view is aligned where its offset is a multiple of 16 bytes, arguments and fresh
// memory are; of the two launches both count.
// CHECK: "tile.kernel"
// CHECK: }) {aligned = array<i1: true, false, true>
"tile.kernel"() ({
^bb0(%x: !b, %y: !b, %out: !b):
  %0 = "tile.read"(%x) : (!b) -> tensor<4xf32>
  %1 = "tile.read"(%y) : (!b) -> tensor<4xf32>
  %2 = "graph.add"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  "tile.write"(%2, %out) : (tensor<4xf32>, !b) -> ()
}) {sym_name = "k0", outputs = 1, domain = [4], reduced = array<i64>, symbols = []} : () -> ()
func.func @main(%x: !tile.buffer<f32, [16], [1]>, %y: !b) -> !b {
  %0 = "host.alloc"() : () -> !b
  %1 = "host.view"(%x) {offset = 4} : (!tile.buffer<f32, [16], [1]>) -> !b
  %2 = "host.view"(%x) {offset = 1} : (!tile.buffer<f32, [16], [1]>) -> !b
  "host.native"() ({
    "host.launch"(%1, %2, %0) {kernel = @k0, outputs = 1, symbols = []} : (!b, !b, !b) -> ()
    "host.launch"(%1, %y, %0) {kernel = @k0, outputs = 1, symbols = []} : (!b, !b, !b) -> ()
  }) : () -> ()
  "host.return"(%0) : (!b) -> ()
}

// -----

// An offset in terms of symbols says nothing.
// CHECK: "tile.kernel"
// CHECK: }) {aligned = array<i1: false, true>
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [4], [1]>, %out: !tile.buffer<f32, [4], [1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [4], [1]>) -> tensor<4xf32>
  "tile.write"(%0, %out) : (tensor<4xf32>, !tile.buffer<f32, [4], [1]>) -> ()
}) {sym_name = "k0", outputs = 1, domain = [4], reduced = array<i64>, symbols = []} : () -> ()
func.func @main(%x: !tile.buffer<f32, ["s0"], [1]>) -> !tile.buffer<f32, [4], [1]> {
  %0 = "host.alloc"() : () -> !tile.buffer<f32, [4], [1]>
  %1 = "host.view"(%x) {offset = "s0 - 4"} : (!tile.buffer<f32, ["s0"], [1]>) -> !tile.buffer<f32, [4], [1]>
  "host.launch"(%1, %0) {kernel = @k0, outputs = 1, symbols = []} : (!tile.buffer<f32, [4], [1]>, !tile.buffer<f32, [4], [1]>) -> ()
  "host.return"(%0) : (!tile.buffer<f32, [4], [1]>) -> ()
}

// -----

// A single element may be anywhere.
// CHECK: "tile.kernel"
// CHECK: }) {aligned = array<i1: false, true>
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [1, 1], [1, 1]>, %out: !tile.buffer<f32, [1, 1], [1, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [1, 1], [1, 1]>) -> tensor<1x1xf32>
  "tile.write"(%0, %out) : (tensor<1x1xf32>, !tile.buffer<f32, [1, 1], [1, 1]>) -> ()
}) {sym_name = "k0", outputs = 1, domain = [1, 1], reduced = array<i64>, symbols = []} : () -> ()
func.func @main(%x: !tile.buffer<f32, [1, 1], [1, 1]>) -> !tile.buffer<f32, [1, 1], [1, 1]> {
  %0 = "host.alloc"() : () -> !tile.buffer<f32, [1, 1], [1, 1]>
  "host.launch"(%x, %0) {kernel = @k0, outputs = 1, symbols = []} : (!tile.buffer<f32, [1, 1], [1, 1]>, !tile.buffer<f32, [1, 1], [1, 1]>) -> ()
  "host.return"(%0) : (!tile.buffer<f32, [1, 1], [1, 1]>) -> ()
}
