// RUN: girih-opt --batch-launches=least=2 --split-input-file %s | filecheck %s
// RUN: girih-opt --batch-launches="least=2 sets=2" --split-input-file %s | filecheck %s --check-prefix=TWO
// RUN: girih-opt --batch-launches="least=2 moved-bytes=8" --split-input-file %s | filecheck %s --check-prefix=STAY

!b = !tile.buffer<f32, ["s0"], [1]>
!x = !tile.buffer<f32, [24], [1]>
!y = !tile.buffer<f32, [7], [1]>
!z = !tile.buffer<f32, [8], [1]>

// Inputs of all sets come first, then outputs; so do symbols.
// CHECK: "tile.kernel"
// CHECK: outputs = 1 : i64
// CHECK-SAME: sets = 3 : i64
// CHECK-SAME: sym_name = "k0_x3", symbols = ["s0"]
// CHECK-NOT: sym_name = "k0",
// CHECK-LABEL: func.func @main
// CHECK-SAME: ([[X:%.+]]: {{.+}}, [[Y:%.+]]: {{.+}}, [[Z:%.+]]: {{.+}})
// CHECK: "host.launch"([[X]], [[Y]], [[Z]], [[A:%.+]], [[B:%.+]], [[C:%.+]]) {kernel = @k0_x3, outputs = 3 : i64, symbols = [24, 7, 8]}
// CHECK-NEXT: })

// Three are one and two where two are the most: equal kernels, and one on its own.
// TWO-LABEL: func.func @main
// TWO: kernel = @k0, outputs = 1
// TWO-NEXT: kernel = @k0_x2, outputs = 2
"tile.kernel"() ({
^bb0(%x: !b, %out: !b, %s0: index):
  %0 = "tile.read"(%x) : (!b) -> tensor<?xf32, ["s0"]>
  %1 = "graph.exp"(%0) : (tensor<?xf32, ["s0"]>) -> tensor<?xf32, ["s0"]>
  "tile.write"(%1, %out) : (tensor<?xf32, ["s0"]>, !b) -> ()
}) {sym_name = "k0", outputs = 1, domain = ["s0"], reduced = array<i64>, symbols = ["s0"]} : () -> ()
func.func @main(%x: !x, %y: !y, %z: !z) -> (!x, !y, !z) {
  %0 = "host.alloc"() : () -> !x
  %1 = "host.alloc"() : () -> !y
  %2 = "host.alloc"() : () -> !z
  "host.native"() ({
    "host.launch"(%x, %0) {kernel = @k0, outputs = 1, symbols = [24]} : (!x, !x) -> ()
    "host.launch"(%y, %1) {kernel = @k0, outputs = 1, symbols = [7]} : (!y, !y) -> ()
    "host.launch"(%z, %2) {kernel = @k0, outputs = 1, symbols = [8]} : (!z, !z) -> ()
  }) : () -> ()
  "host.return"(%0, %1, %2) : (!x, !y, !z) -> ()
}

// -----

!b = !tile.buffer<f32, [4], [1]>

// What depends on another launch comes after it; a third one, which makes little, moves
// in front. Where it makes too much it stays.
// CHECK-LABEL: func.func @depends
// CHECK-SAME: ([[X:%.+]]: {{.+}}, [[Y:%.+]]: {{.+}})
// CHECK: "host.launch"([[X]], [[Y]], [[A:%.+]], [[C:%.+]]) {kernel = @k0_x2, outputs = 2 : i64, symbols = []}
// CHECK-NEXT: "host.launch"([[A]], [[B:%.+]]) {kernel = @k0, outputs = 1
// STAY-LABEL: func.func @depends
// STAY-COUNT-3: kernel = @k0, outputs = 1
"tile.kernel"() ({
^bb0(%x: !b, %out: !b):
  %0 = "tile.read"(%x) : (!b) -> tensor<4xf32>
  %1 = "graph.exp"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  "tile.write"(%1, %out) : (tensor<4xf32>, !b) -> ()
}) {sym_name = "k0", outputs = 1, domain = [4], reduced = array<i64>, symbols = []} : () -> ()
func.func @depends(%x: !b, %y: !b) -> (!b, !b) {
  %0 = "host.alloc"() : () -> !b
  %1 = "host.alloc"() : () -> !b
  %2 = "host.alloc"() : () -> !b
  "host.native"() ({
    "host.launch"(%x, %0) {kernel = @k0, outputs = 1, symbols = []} : (!b, !b) -> ()
    "host.launch"(%0, %1) {kernel = @k0, outputs = 1, symbols = []} : (!b, !b) -> ()
    "host.launch"(%y, %2) {kernel = @k0, outputs = 1, symbols = []} : (!b, !b) -> ()
  }) : () -> ()
  "host.return"(%1, %2) : (!b, !b) -> ()
}

// -----

!b = !tile.buffer<f32, [4], [1]>
!v = !tile.buffer<f32, [2], [1]>

// A launch that writes what another one reads, through a view, is not one with it; one that
// writes another part of the same memory is.
// CHECK-LABEL: func.func @overlaps
// CHECK-COUNT-2: kernel = @k0, outputs = 1
// CHECK: kernel = @k0_x2, outputs = 2
"tile.kernel"() ({
^bb0(%x: !v, %out: !v):
  %0 = "tile.read"(%x) : (!v) -> tensor<2xf32>
  "tile.write"(%0, %out) : (tensor<2xf32>, !v) -> ()
}) {sym_name = "k0", outputs = 1, domain = [2], reduced = array<i64>, symbols = []} : () -> ()
func.func @overlaps(%x: !b, %y: !v) -> !v {
  %0 = "host.alloc"() : () -> !v
  %1 = "host.view"(%x) {offset = 0} : (!b) -> !v
  %2 = "host.view"(%x) {offset = 1} : (!b) -> !v
  "host.native"() ({
    "host.launch"(%1, %0) {kernel = @k0, outputs = 1, symbols = []} : (!v, !v) -> ()
    "host.launch"(%y, %2) {kernel = @k0, outputs = 1, symbols = []} : (!v, !v) -> ()
  }) : () -> ()
  %3 = "host.view"(%x) {offset = 2} : (!b) -> !v
  "host.native"() ({
    "host.launch"(%y, %1) {kernel = @k0, outputs = 1, symbols = []} : (!v, !v) -> ()
    "host.launch"(%y, %3) {kernel = @k0, outputs = 1, symbols = []} : (!v, !v) -> ()
  }) : () -> ()
  "host.return"(%0) : (!v) -> ()
}

// -----

!b = !tile.buffer<f32, [4], [1]>
!s = !tile.buffer<f32, [1], [1]>

// Programs of a sum may share memory: such kernels stay.
// CHECK-LABEL: func.func @sums
// CHECK-COUNT-2: kernel = @k0, outputs = 1
"tile.kernel"() ({
^bb0(%x: !b, %out: !s):
  %0 = "tile.read"(%x) : (!b) -> tensor<4xf32>
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<1xf32>
  "tile.write"(%1, %out) : (tensor<1xf32>, !s) -> ()
}) {sym_name = "k0", outputs = 1, domain = [4], reduced = array<i64: 0>, symbols = []} : () -> ()
func.func @sums(%x: !b, %y: !b) -> (!s, !s) {
  %0 = "host.alloc"() : () -> !s
  %1 = "host.alloc"() : () -> !s
  "host.native"() ({
    "host.launch"(%x, %0) {kernel = @k0, outputs = 1, symbols = []} : (!b, !s) -> ()
    "host.launch"(%y, %1) {kernel = @k0, outputs = 1, symbols = []} : (!b, !s) -> ()
  }) : () -> ()
  "host.return"(%0, %1) : (!s, !s) -> ()
}

// -----

!b = !tile.buffer<f32, [4, 6], [6, 1]>

// Halves that are swapped: each point of a result is computed by itself, so two are one.
// CHECK-LABEL: func.func @halves
// CHECK: "host.launch"(%arg0, %arg1, {{.+}}) {kernel = @k0_x2, outputs = 2
// CHECK-NOT: host.launch
"tile.kernel"() ({
^bb0(%x: !b, %out: !b):
  %0 = "tile.read"(%x) : (!b) -> tensor<4x6xf32>
  %1 = "graph.slice"(%0) {starts = [0, 3], steps = array<i64: 1, 1>} : (tensor<4x6xf32>) -> tensor<4x3xf32>
  %2 = "graph.pad"(%1) {low = [0, 0], high = [0, 3], value = 0.0} : (tensor<4x3xf32>) -> tensor<4x6xf32>
  %3 = "graph.iota"() {start = 0, step = 1} : () -> tensor<6xi64>
  %4 = "graph.constant"() {value = 3} : () -> tensor<i64>
  %5 = "graph.lt"(%3, %4) : (tensor<6xi64>, tensor<i64>) -> tensor<6xi1>
  %6 = "graph.where"(%5, %2, %0) : (tensor<6xi1>, tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  "tile.write"(%6, %out) : (tensor<4x6xf32>, !b) -> ()
}) {sym_name = "k0", outputs = 1, domain = [4, 6], reduced = array<i64>, symbols = []} : () -> ()
func.func @halves(%x: !b, %y: !b) -> (!b, !b) {
  %0 = "host.alloc"() : () -> !b
  %1 = "host.alloc"() : () -> !b
  "host.native"() ({
    "host.launch"(%x, %0) {kernel = @k0, outputs = 1, symbols = []} : (!b, !b) -> ()
    "host.launch"(%y, %1) {kernel = @k0, outputs = 1, symbols = []} : (!b, !b) -> ()
  }) : () -> ()
  "host.return"(%0, %1) : (!b, !b) -> ()
}
