// RUN: girih-opt --group-launches --split-input-file %s | filecheck %s
// RUN: girih-opt --group-launches=cut-bytes=256 --split-input-file %s | filecheck %s --check-prefix=CUT

!b = !tile.buffer<f32, [4], [1]>

// Launches next to each other become one native call; what stood between them moves up.
// CHECK-LABEL: func.func @adjacent
// CHECK: "host.alloc"
// CHECK: "host.alloc"
// CHECK: "host.view"
// CHECK: "host.native"() ({
// CHECK-NEXT: "host.launch"{{.*}}kernel = @k0
// CHECK-NEXT: "host.launch"{{.*}}kernel = @k1
// CHECK-NEXT: })
// CHECK-NEXT: "host.return"
func.func @adjacent(%x: !b) -> !b {
  %0 = "host.alloc"() : () -> !b
  "host.launch"(%x, %0) {kernel = @k0, outputs = 1, symbols = []} : (!b, !b) -> ()
  %1 = "host.alloc"() : () -> !b
  %2 = "host.view"(%1) {offset = 0} : (!b) -> !b
  "host.launch"(%0, %2) {kernel = @k1, outputs = 1, symbols = []} : (!b, !b) -> ()
  "host.return"(%1) : (!b) -> ()
}

"tile.kernel"() ({
^bb0(%y: !tile.buffer<f32, [4], [1]>):
}) {sym_name = "k0", symbols = [], outputs = 1 : i64, domain = [4], reduced = array<i64>} : () -> ()

"tile.kernel"() ({
^bb0(%y: !tile.buffer<f32, [4], [1]>):
}) {sym_name = "k1", symbols = [], outputs = 1 : i64, domain = [4], reduced = array<i64>} : () -> ()

// -----

!b = !tile.buffer<f32, [4], [1]>

// ATen calls and copies separate runs: no launch moves over them.
// CHECK-LABEL: func.func @separated
// CHECK: "host.native"() ({
// CHECK-NEXT: "host.launch"{{.*}}kernel = @k0
// CHECK-NEXT: })
// CHECK-NEXT: "host.extern"
// CHECK-NEXT: "host.native"() ({
// CHECK-NEXT: "host.launch"{{.*}}kernel = @k1
// CHECK-NEXT: })
// CHECK-NEXT: "host.copy"
// CHECK-NEXT: "host.native"() ({
// CHECK-NEXT: "host.launch"{{.*}}kernel = @k2
// CHECK-NEXT: })
func.func @separated(%x: !b) {
  "host.launch"(%x) {kernel = @k0, outputs = 1, symbols = []} : (!b) -> ()
  %0 = "host.extern"(%x) {op = "aten.exp.default", args = [{operand = 0}], kwargs = {}} : (!b) -> !b
  "host.launch"(%0) {kernel = @k1, outputs = 1, symbols = []} : (!b) -> ()
  "host.copy"(%0, %x) : (!b, !b) -> ()
  "host.launch"(%0) {kernel = @k2, outputs = 1, symbols = []} : (!b) -> ()
  "host.return"() : () -> ()
}

"tile.kernel"() ({
^bb0(%y: !tile.buffer<f32, [4], [1]>):
}) {sym_name = "k0", symbols = [], outputs = 1 : i64, domain = [4], reduced = array<i64>} : () -> ()

"tile.kernel"() ({
^bb0(%y: !tile.buffer<f32, [4], [1]>):
}) {sym_name = "k1", symbols = [], outputs = 1 : i64, domain = [4], reduced = array<i64>} : () -> ()

"tile.kernel"() ({
^bb0(%y: !tile.buffer<f32, [4], [1]>):
}) {sym_name = "k2", symbols = [], outputs = 1 : i64, domain = [4], reduced = array<i64>} : () -> ()

// -----

!b = !tile.buffer<f32, [4], [1]>

// Without launches nothing changes, and nothing in front of a run moves.
// CHECK-LABEL: func.func @none
// CHECK-NEXT: "host.alloc"
// CHECK-NEXT: "host.copy"
// CHECK-NEXT: "host.size"
// CHECK-NEXT: "host.return"
func.func @none(%x: !b) -> (!b, index) {
  %0 = "host.alloc"() : () -> !b
  "host.copy"(%x, %0) : (!b, !b) -> ()
  %1 = "host.size"() {expr = 3} : () -> index
  "host.return"(%0, %1) : (!b, index) -> ()
}

// -----

!b = !tile.buffer<f32, [64], [1]>

// What the first launch is the last to read goes before the second one takes as much.
// CHECK-LABEL: func.func @ended
// CHECK: "host.native"() ({
// CHECK-NEXT: "host.launch"{{.*}}kernel = @k0
// CHECK-NEXT: "host.launch"{{.*}}kernel = @k1
// CHECK-NEXT: })
// CUT-LABEL: func.func @ended
// CUT: "host.extern"
// CUT-NEXT: "host.alloc"
// CUT-NEXT: "host.native"() ({
// CUT-NEXT: "host.launch"{{.*}}kernel = @k0
// CUT-NEXT: })
// CUT-NEXT: "host.alloc"
// CUT-NEXT: "host.view"
// CUT-NEXT: "host.native"() ({
// CUT-NEXT: "host.launch"{{.*}}kernel = @k1
// CUT-NEXT: })
func.func @ended(%x: !b) -> !b {
  %0 = "host.extern"(%x) {op = "aten.exp.default", args = [{operand = 0}], kwargs = {}} : (!b) -> !b
  %1 = "host.alloc"() : () -> !b
  "host.launch"(%0, %1) {kernel = @k0, outputs = 1, symbols = []} : (!b, !b) -> ()
  %2 = "host.alloc"() : () -> !b
  %3 = "host.view"(%2) {offset = 0} : (!b) -> !b
  "host.launch"(%1, %3) {kernel = @k1, outputs = 1, symbols = []} : (!b, !b) -> ()
  "host.return"(%2) : (!b) -> ()
}

"tile.kernel"() ({
^bb0(%y: !tile.buffer<f32, [4], [1]>):
}) {sym_name = "k0", symbols = [], outputs = 1 : i64, domain = [4], reduced = array<i64>} : () -> ()

"tile.kernel"() ({
^bb0(%y: !tile.buffer<f32, [4], [1]>):
}) {sym_name = "k1", symbols = [], outputs = 1 : i64, domain = [4], reduced = array<i64>} : () -> ()

// -----

!b = !tile.buffer<f32, [64], [1]>

// An argument that is the program's goes too; the user's argument stays.
// CUT-LABEL: func.func @arguments
// CUT: "host.native"() ({
// CUT-NEXT: "host.launch"{{.*}}kernel = @k0
// CUT-NEXT: "host.launch"{{.*}}kernel = @k1
// CUT-NEXT: })
// CUT: "host.native"() ({
// CUT-NEXT: "host.launch"{{.*}}kernel = @k2
// CUT-NEXT: })
func.func @arguments(%x: !b, %y: !b {graph.donated}) -> (!b, !b, !b) {
  %0 = "host.alloc"() : () -> !b
  "host.launch"(%x, %0) {kernel = @k0, outputs = 1, symbols = []} : (!b, !b) -> ()
  %1 = "host.alloc"() : () -> !b
  "host.launch"(%y, %1) {kernel = @k1, outputs = 1, symbols = []} : (!b, !b) -> ()
  %2 = "host.alloc"() : () -> !b
  "host.launch"(%0, %2) {kernel = @k2, outputs = 1, symbols = []} : (!b, !b) -> ()
  "host.return"(%0, %1, %2) : (!b, !b, !b) -> ()
}

"tile.kernel"() ({
^bb0(%y: !tile.buffer<f32, [4], [1]>):
}) {sym_name = "k0", symbols = [], outputs = 1 : i64, domain = [4], reduced = array<i64>} : () -> ()

"tile.kernel"() ({
^bb0(%y: !tile.buffer<f32, [4], [1]>):
}) {sym_name = "k1", symbols = [], outputs = 1 : i64, domain = [4], reduced = array<i64>} : () -> ()

"tile.kernel"() ({
^bb0(%y: !tile.buffer<f32, [4], [1]>):
}) {sym_name = "k2", symbols = [], outputs = 1 : i64, domain = [4], reduced = array<i64>} : () -> ()

// -----

!b = !tile.buffer<f32, [64], [1]>
!s = !tile.buffer<f32, [63], [1]>

// Neither what is needed later, nor what a workspace holds, nor less than 256 bytes.
// CUT-LABEL: func.func @nothing_to_spare
// CUT: "host.native"() ({
// CUT-NEXT: "host.launch"{{.*}}kernel = @k0
// CUT-NEXT: "host.launch"{{.*}}kernel = @k1
// CUT-NEXT: "host.launch"{{.*}}kernel = @k2
// CUT-NEXT: })
func.func @nothing_to_spare(%x: !b) -> (!b, !s) {
  %0 = "host.extern"(%x) {op = "aten.exp.default", args = [{operand = 0}], kwargs = {}} : (!b) -> !b
  %1 = "host.alloc"() : () -> !b
  "host.launch"(%x, %1) {kernel = @k0, outputs = 1, symbols = []} : (!b, !b) -> ()
  %2 = "host.alloc"() : () -> !b
  "host.launch"(%0, %1, %2) {kernel = @k1, outputs = 1, symbols = []} : (!b, !b, !b) -> ()
  %3 = "host.alloc"() : () -> !s
  "host.launch"(%2, %3) {kernel = @k2, outputs = 1, symbols = []} : (!b, !s) -> ()
  "host.return"(%2, %3) : (!b, !s) -> ()
}

"tile.kernel"() ({
^bb0(%y: !tile.buffer<f32, [4], [1]>):
}) {sym_name = "k0", symbols = [], outputs = 1 : i64, domain = [4], reduced = array<i64>} : () -> ()

"tile.kernel"() ({
^bb0(%y: !tile.buffer<f32, [4], [1]>):
}) {sym_name = "k1", symbols = [], outputs = 1 : i64, domain = [4], reduced = array<i64>} : () -> ()

"tile.kernel"() ({
^bb0(%y: !tile.buffer<f32, [4], [1]>):
}) {sym_name = "k2", symbols = [], outputs = 1 : i64, domain = [4], reduced = array<i64>} : () -> ()
