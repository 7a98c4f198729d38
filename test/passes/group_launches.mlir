// RUN: girih-opt --group-launches --split-input-file %s | filecheck %s

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
