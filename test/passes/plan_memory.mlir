// RUN: girih-opt --plan-memory --split-input-file %s | filecheck %s
// RUN: girih-opt --plan-memory=workspace-bytes=64 --split-input-file %s | filecheck %s --check-prefix=SMALL

!b = !tile.buffer<f32, [4], [1]>
!c = !tile.buffer<f32, [64], [1]>

// Intermediates of one native call share a workspace; their bytes are used again when
// they are dead: %3 takes the place of %1. Buffers are aligned to 64 bytes.
// CHECK-LABEL: func.func @chain
// CHECK: %[[OUT:.*]] = "host.alloc"() : ()
// CHECK: "host.workspace"() {bytes = 512 : i64}
// CHECK-DAG: %[[A:.*]] = "host.alloc"() {workspace_offset = 0 : i64}
// CHECK-DAG: %[[B:.*]] = "host.alloc"() {workspace_offset = 256 : i64}
// CHECK-DAG: %[[C:.*]] = "host.alloc"() {workspace_offset = 0 : i64}
// CHECK: "host.native"
// CHECK: "host.launch"(%{{.*}}, %[[A]])
// CHECK: "host.launch"(%[[A]], %[[B]])
// CHECK: "host.launch"(%[[B]], %[[C]])
// CHECK: "host.launch"(%[[C]], %[[OUT]])
// CHECK: "host.workspace"() {bytes = 0 : i64}
// CHECK-NEXT: "host.return"(%[[OUT]])

// Larger buffers than the option allows are freed one by one.
// SMALL-LABEL: func.func @chain
// SMALL-NOT: workspace
// SMALL: "host.native"
// SMALL: })
// SMALL-NEXT: "host.free"
// SMALL-NEXT: "host.free"
// SMALL-NEXT: "host.free"
// SMALL-NEXT: "host.return"
func.func @chain(%x: !c) -> !c {
  %0 = "host.alloc"() : () -> !c
  %1 = "host.alloc"() : () -> !c
  %2 = "host.alloc"() : () -> !c
  %3 = "host.alloc"() : () -> !c
  "host.native"() ({
    "host.launch"(%x, %1) {kernel = @k0, outputs = 1, symbols = []} : (!c, !c) -> ()
    "host.launch"(%1, %2) {kernel = @k0, outputs = 1, symbols = []} : (!c, !c) -> ()
    "host.launch"(%2, %3) {kernel = @k0, outputs = 1, symbols = []} : (!c, !c) -> ()
    "host.launch"(%3, %0) {kernel = @k0, outputs = 1, symbols = []} : (!c, !c) -> ()
  }) : () -> ()
  "host.return"(%0) : (!c) -> ()
}

"tile.kernel"() ({
^bb0(%y: !tile.buffer<f32, [4], [1]>):
}) {sym_name = "k0", symbols = [], outputs = 1 : i64, domain = [4], reduced = array<i64>} : () -> ()

// -----

!b = !tile.buffer<f32, [4], [1]>

// What an ATen call or two native calls touch is a tensor, freed after its last use;
// what is returned is not freed.
// CHECK-LABEL: func.func @tensors
// CHECK-NOT: workspace
// CHECK: %[[A:.*]] = "host.alloc"
// CHECK: %[[OUT:.*]] = "host.alloc"
// CHECK: "host.native"
// CHECK: })
// CHECK-NEXT: %[[E:.*]] = "host.extern"(%[[A]])
// CHECK-NEXT: "host.free"(%[[A]])
// CHECK-NEXT: "host.native"
// CHECK: })
// CHECK-NEXT: "host.free"(%[[E]])
// CHECK-NEXT: "host.return"(%[[OUT]])
func.func @tensors(%x: !b) -> !b {
  %0 = "host.alloc"() : () -> !b
  %1 = "host.alloc"() : () -> !b
  "host.native"() ({
    "host.launch"(%x, %0) {kernel = @k0, outputs = 1, symbols = []} : (!b, !b) -> ()
  }) : () -> ()
  %2 = "host.extern"(%0) {op = "aten.exp.default", args = [{operand = 0}], kwargs = {}} : (!b) -> !b
  "host.native"() ({
    "host.launch"(%2, %1) {kernel = @k0, outputs = 1, symbols = []} : (!b, !b) -> ()
  }) : () -> ()
  "host.return"(%1) : (!b) -> ()
}

"tile.kernel"() ({
^bb0(%y: !tile.buffer<f32, [4], [1]>):
}) {sym_name = "k0", symbols = [], outputs = 1 : i64, domain = [4], reduced = array<i64>} : () -> ()

// -----

!b = !tile.buffer<f32, [4], [1]>
!h = !tile.buffer<f32, [2], [2]>

// A view keeps its buffer alive, and is freed with it.
// CHECK-LABEL: func.func @views
// CHECK: %[[E:.*]] = "host.extern"
// CHECK-NEXT: %[[V:.*]] = "host.view"(%[[E]])
// CHECK-NEXT: %[[F:.*]] = "host.extern"(%[[V]])
// CHECK-NEXT: "host.free"(%[[E]])
// CHECK-NEXT: "host.free"(%[[V]])
// CHECK-NEXT: "host.return"(%[[F]])
func.func @views(%x: !b) -> !h {
  %0 = "host.extern"(%x) {op = "aten.exp.default", args = [{operand = 0}], kwargs = {}} : (!b) -> !b
  %1 = "host.view"(%0) {offset = 0} : (!b) -> !h
  %2 = "host.extern"(%1) {op = "aten.exp.default", args = [{operand = 0}], kwargs = {}} : (!h) -> !h
  "host.return"(%2) : (!h) -> ()
}

// -----

!s = !tile.buffer<f32, ["s0"], [1]>

// Symbolic sizes: places one behind the other, and one place for equal sizes in turn.
// CHECK-LABEL: func.func @symbolic
// CHECK: "host.workspace"() {bytes = "128*((4*s0 + 63) // 64)"}
// CHECK: "host.alloc"() {workspace_offset = 0 : i64}
// CHECK-NEXT: "host.alloc"() {workspace_offset = "64*((4*s0 + 63) // 64)"}
// CHECK-NEXT: "host.alloc"() {workspace_offset = 0 : i64}
func.func @symbolic(%x: !s) -> !s {
  %0 = "host.alloc"() : () -> !s
  %1 = "host.alloc"() : () -> !s
  %2 = "host.alloc"() : () -> !s
  %3 = "host.alloc"() : () -> !s
  "host.native"() ({
    "host.launch"(%x, %1) {kernel = @k0, outputs = 1, symbols = ["s0"]} : (!s, !s) -> ()
    "host.launch"(%1, %2) {kernel = @k0, outputs = 1, symbols = ["s0"]} : (!s, !s) -> ()
    "host.launch"(%2, %3) {kernel = @k0, outputs = 1, symbols = ["s0"]} : (!s, !s) -> ()
    "host.launch"(%3, %0) {kernel = @k0, outputs = 1, symbols = ["s0"]} : (!s, !s) -> ()
  }) : () -> ()
  "host.return"(%0) : (!s) -> ()
}

"tile.kernel"() ({
^bb0(%y: !tile.buffer<f32, [4], [1]>):
}) {sym_name = "k0", symbols = [], outputs = 1 : i64, domain = [4], reduced = array<i64>} : () -> ()
