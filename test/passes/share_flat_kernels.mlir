// RUN: girih-opt --pass-pipeline='share-flat-kernels{least=2}' --split-input-file %s | filecheck %s
// RUN: girih-opt --share-flat-kernels %s --split-input-file | filecheck %s --check-prefix=DEFAULT

!m = !tile.buffer<f32, [4, 6], [6, 1]>
!v = !tile.buffer<f32, [7], [1]>
!n = !tile.buffer<f64, [], []>

// Kernels that differ in their shapes alone become one, over a line. A single number
// stays one. The first kernel is the one that is kept.
// CHECK-LABEL: func.func @shared
// CHECK: "host.launch"{{.*}}kernel = @k0, outputs = 1 : i64, symbols = [24]
// CHECK: "host.launch"{{.*}}kernel = @k0, outputs = 1 : i64, symbols = [7]
// CHECK: ^bb0(%[[X:.*]]: !tile.buffer<f32, ["s0"], [1]>, %[[N:.*]]: !tile.buffer<f64, [], []>, %[[Y:.*]]: !tile.buffer<f32, ["s0"], [1]>, %{{.*}}: index):
// CHECK: %[[A:.*]] = "tile.read"(%[[X]]) : {{.*}} -> tensor<?xf32, ["s0"]>
// CHECK: %[[B:.*]] = "tile.read"(%[[N]]) : {{.*}} -> tensor<f64>
// CHECK: %[[C:.*]] = "graph.cast"(%[[B]]) : (tensor<f64>) -> tensor<f32>
// CHECK: %[[D:.*]] = "graph.mul"(%[[A]], %[[C]]) : (tensor<?xf32, ["s0"]>, tensor<f32>) -> tensor<?xf32, ["s0"]>
// CHECK: "tile.write"(%[[D]], %[[Y]])
// CHECK: domain = ["s0"]{{.*}}sym_name = "k0", symbols = ["s0"]
// CHECK-NOT: tile.kernel
// DEFAULT-LABEL: func.func @shared
// DEFAULT: kernel = @k0{{.*}}symbols = []
// DEFAULT: kernel = @k1{{.*}}symbols = []
func.func @shared(%x: !m, %y: !v, %n: !n) {
  "host.launch"(%x, %n, %x) {kernel = @k0, outputs = 1, symbols = []} : (!m, !n, !m) -> ()
  "host.launch"(%y, %n, %y) {kernel = @k1, outputs = 1, symbols = []} : (!v, !n, !v) -> ()
  "host.return"() : () -> ()
}
"tile.kernel"() ({
^bb0(%x: !m, %n: !n, %y: !m):
  %0 = "tile.read"(%x) : (!m) -> tensor<4x6xf32>
  %1 = "tile.read"(%n) : (!n) -> tensor<f64>
  %2 = "graph.cast"(%1) : (tensor<f64>) -> tensor<f32>
  %3 = "graph.mul"(%0, %2) : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
  "tile.write"(%3, %y) : (tensor<4x6xf32>, !m) -> ()
}) {sym_name = "k0", symbols = [], outputs = 1 : i64, domain = [4, 6], reduced = array<i64>} : () -> ()
"tile.kernel"() ({
^bb0(%x: !v, %n: !n, %y: !v):
  %0 = "tile.read"(%x) : (!v) -> tensor<7xf32>
  %1 = "tile.read"(%n) : (!n) -> tensor<f64>
  %2 = "graph.cast"(%1) : (tensor<f64>) -> tensor<f32>
  %3 = "graph.mul"(%0, %2) : (tensor<7xf32>, tensor<f32>) -> tensor<7xf32>
  "tile.write"(%3, %y) : (tensor<7xf32>, !v) -> ()
}) {sym_name = "k1", symbols = [], outputs = 1 : i64, domain = [7], reduced = array<i64>} : () -> ()

// -----

!m = !tile.buffer<f32, [4, 6], [6, 1]>
!t = !tile.buffer<f32, [6, 4], [1, 6]>

// Not where elements do not lie in order: their places would be others.
// CHECK-LABEL: func.func @strided
// CHECK: kernel = @k0{{.*}}symbols = []
// CHECK: kernel = @k1{{.*}}symbols = []
func.func @strided(%x: !m, %y: !t) {
  "host.launch"(%x, %x) {kernel = @k0, outputs = 1, symbols = []} : (!m, !m) -> ()
  "host.launch"(%y, %y) {kernel = @k1, outputs = 1, symbols = []} : (!t, !t) -> ()
  "host.return"() : () -> ()
}
"tile.kernel"() ({
^bb0(%x: !m, %y: !m):
  %0 = "tile.read"(%x) : (!m) -> tensor<4x6xf32>
  %1 = "graph.exp"(%0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  "tile.write"(%1, %y) : (tensor<4x6xf32>, !m) -> ()
}) {sym_name = "k0", symbols = [], outputs = 1 : i64, domain = [4, 6], reduced = array<i64>} : () -> ()
"tile.kernel"() ({
^bb0(%x: !t, %y: !t):
  %0 = "tile.read"(%x) : (!t) -> tensor<6x4xf32>
  %1 = "graph.exp"(%0) : (tensor<6x4xf32>) -> tensor<6x4xf32>
  "tile.write"(%1, %y) : (tensor<6x4xf32>, !t) -> ()
}) {sym_name = "k1", symbols = [], outputs = 1 : i64, domain = [6, 4], reduced = array<i64>} : () -> ()

// -----

!m = !tile.buffer<f32, [4, 6], [6, 1]>
!v = !tile.buffer<f32, [7], [1]>
!r = !tile.buffer<f32, [6], [1]>

// Not what broadcasts, and not what computes something else.
// CHECK-LABEL: func.func @different
// CHECK: kernel = @k0{{.*}}symbols = []
// CHECK: kernel = @k1{{.*}}symbols = []
// CHECK: kernel = @k2{{.*}}symbols = []
func.func @different(%x: !m, %y: !v, %r: !r) {
  "host.launch"(%x, %r, %x) {kernel = @k0, outputs = 1, symbols = []} : (!m, !r, !m) -> ()
  "host.launch"(%y, %y) {kernel = @k1, outputs = 1, symbols = []} : (!v, !v) -> ()
  "host.launch"(%x, %x) {kernel = @k2, outputs = 1, symbols = []} : (!m, !m) -> ()
  "host.return"() : () -> ()
}
"tile.kernel"() ({
^bb0(%x: !m, %r: !r, %y: !m):
  %0 = "tile.read"(%x) : (!m) -> tensor<4x6xf32>
  %1 = "tile.read"(%r) : (!r) -> tensor<6xf32>
  %2 = "graph.mul"(%0, %1) : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
  "tile.write"(%2, %y) : (tensor<4x6xf32>, !m) -> ()
}) {sym_name = "k0", symbols = [], outputs = 1 : i64, domain = [4, 6], reduced = array<i64>} : () -> ()
"tile.kernel"() ({
^bb0(%x: !v, %y: !v):
  %0 = "tile.read"(%x) : (!v) -> tensor<7xf32>
  %1 = "graph.exp"(%0) : (tensor<7xf32>) -> tensor<7xf32>
  "tile.write"(%1, %y) : (tensor<7xf32>, !v) -> ()
}) {sym_name = "k1", symbols = [], outputs = 1 : i64, domain = [7], reduced = array<i64>} : () -> ()
"tile.kernel"() ({
^bb0(%x: !m, %y: !m):
  %0 = "tile.read"(%x) : (!m) -> tensor<4x6xf32>
  %1 = "graph.sin"(%0) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  "tile.write"(%1, %y) : (tensor<4x6xf32>, !m) -> ()
}) {sym_name = "k2", symbols = [], outputs = 1 : i64, domain = [4, 6], reduced = array<i64>} : () -> ()
