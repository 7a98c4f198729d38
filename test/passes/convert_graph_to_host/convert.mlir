// RUN: girih-opt --convert-graph-to-host --split-input-file %s | filecheck %s

!t = tensor<4x8xf32>

// A fusion becomes a kernel; its result an allocation that the launch writes.
// CHECK-LABEL: func.func @kernel
// CHECK-SAME: (%[[X:.*]]: !tile.buffer<f32, [4, 8], [8, 1]>)
// CHECK-NEXT: %[[Y:.*]] = "host.alloc"() : () -> !tile.buffer<f32, [4, 8], [8, 1]>
// CHECK-NEXT: "host.launch"(%[[X]], %[[Y]]) {kernel = @k0_exp, outputs = 1 : i64, symbols = []}
// CHECK-NEXT: "host.return"(%[[Y]])
// CHECK: "tile.kernel"() ({
// CHECK-NEXT: ^bb0(%[[IN:.*]]: !tile.buffer{{.*}}, %[[OUT:.*]]: !tile.buffer<{{.*}}>):
// CHECK-NEXT: %[[V:.*]] = "tile.read"(%[[IN]])
// CHECK-NEXT: %[[E:.*]] = "graph.exp"(%[[V]])
// CHECK-NEXT: "tile.write"(%[[E]], %[[OUT]])
// CHECK-NEXT: }) {domain = [4, 8], outputs = 1 : i64, reduced = array<i64>, sym_name = "k0_exp", symbols = []}
func.func @kernel(%x: !t) -> !t {
  %0 = "graph.fusion"(%x) ({
  ^bb0(%a: !t):
    %1 = "graph.exp"(%a) : (!t) -> !t
    "graph.yield"(%1) : (!t) -> ()
  }) {domain = [4, 8], reduced = array<i64>} : (!t) -> !t
  return %0 : !t
}

// -----

!t = tensor<4xf32>

// Equal kernels are one kernel; another layout makes another kernel.
// CHECK-LABEL: func.func @shared
// CHECK: "host.launch"{{.*}}kernel = @k0_
// CHECK: "host.launch"{{.*}}kernel = @k0_
// CHECK: "host.launch"{{.*}}kernel = @k1
// CHECK-COUNT-2: "tile.kernel"
// CHECK-NOT: "tile.kernel"
func.func @shared(%x: !t, %y: !t {graph.strides = [2]}) -> (!t, !t) {
  %0 = "graph.fusion"(%x) ({
  ^bb0(%a: !t):
    %1 = "graph.exp"(%a) : (!t) -> !t
    "graph.yield"(%1) : (!t) -> ()
  }) {domain = [4], reduced = array<i64>} : (!t) -> !t
  %2 = "graph.fusion"(%0) ({
  ^bb0(%a: !t):
    %1 = "graph.exp"(%a) : (!t) -> !t
    "graph.yield"(%1) : (!t) -> ()
  }) {domain = [4], reduced = array<i64>} : (!t) -> !t
  %3 = "graph.fusion"(%y) ({
  ^bb0(%a: !t):
    %1 = "graph.exp"(%a) : (!t) -> !t
    "graph.yield"(%1) : (!t) -> ()
  }) {domain = [4], reduced = array<i64>} : (!t) -> !t
  return %2, %3 : !t, !t
}

// -----

!s = tensor<?x8xf32, ["s0"]>

// Symbols become trailing arguments of the kernel; the launch gives their values.
// CHECK-LABEL: func.func @symbols
// CHECK-SAME: graph.symbols
// CHECK: "host.launch"{{.*}}symbols = ["s0"]
// CHECK: "tile.kernel"
// CHECK-NEXT: ^bb0(%{{.*}}: !tile.buffer<f32, ["s0", 8], [8, 1]>, %{{.*}}: !tile.buffer<f32, ["s0", 8], [8, 1]>, %{{.*}}: index):
// CHECK: symbols = ["s0"]
func.func @symbols(%x: !s) -> !s attributes {graph.symbols = {s0 = [2, 99]}} {
  %0 = "graph.fusion"(%x) ({
  ^bb0(%a: !s):
    %1 = "graph.exp"(%a) : (!s) -> !s
    "graph.yield"(%1) : (!s) -> ()
  }) {domain = ["s0", 8], reduced = array<i64>} : (!s) -> !s
  return %0 : !s
}

// -----

// A symbol may stand in an attribute only.
// CHECK-LABEL: func.func @symbol_in_attribute
// CHECK: "host.launch"{{.*}}symbols = ["s1"]
func.func @symbol_in_attribute(%i: index {graph.symbol = "s1"}, %x: tensor<9xf32>) -> tensor<2xf32>
    attributes {graph.symbols = {s1 = [0, 7]}} {
  %0 = "graph.fusion"(%x) ({
  ^bb0(%a: tensor<9xf32>):
    %1 = "graph.slice"(%a) {starts = ["s1"], steps = array<i64: 1>} : (tensor<9xf32>) -> tensor<2xf32>
    %2 = "graph.exp"(%1) : (tensor<2xf32>) -> tensor<2xf32>
    "graph.yield"(%2) : (tensor<2xf32>) -> ()
  }) {domain = [2], reduced = array<i64>} : (tensor<9xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// -----

// Views of an input are one host.view each, however long the chain.
// CHECK-LABEL: func.func @views
// CHECK-SAME: (%[[X:.*]]: !tile.buffer<f32, [4, 8], [8, 1]>)
// CHECK-NEXT: %[[V:.*]] = "host.view"(%[[X]]) {offset = 8 : i64} : {{.*}} -> !tile.buffer<f32, [8, 2], [1, 16]>
// CHECK-NEXT: "host.extern"(%[[V]])
func.func @views(%x: tensor<4x8xf32>) -> tensor<8x2xf32> {
  %0 = "graph.permute"(%x) {permutation = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %1 = "graph.slice"(%0) {starts = [0, 1], steps = array<i64: 1, 2>} : (tensor<8x4xf32>) -> tensor<8x2xf32>
  %2 = "graph.extern"(%1) {op = "aten.exp.default", args = [{operand = 0}], kwargs = {}, operand_strides = [[1, 16]], strides = [[1, 8]]} : (tensor<8x2xf32>) -> tensor<8x2xf32>
  return %2 : tensor<8x2xf32>
}

// -----

// An ATen call whose result may be laid out as its operands gets them as in eager; a
// matrix product takes any layout.
// CHECK-LABEL: func.func @operand_strides
// CHECK-SAME: (%[[X:.*]]: !tile.buffer<f32, [4, 4], [4, 1]>)
// CHECK: %[[V:.*]] = "host.view"(%[[X]])
// CHECK: %[[P:.*]] = "host.extern"(%[[V]], %[[X]]) {{.*}}aten.mm.default
// CHECK: %[[C:.*]] = "host.alloc"() : () -> !tile.buffer<f32, [4, 4], [4, 1]>
// CHECK-NEXT: "host.launch"(%[[V]], %[[C]])
// CHECK-NEXT: "host.extern"(%[[C]]) {{.*}}aten.exp.default
// CHECK: %[[T:.*]] = "host.alloc"() : () -> !tile.buffer<f32, [4, 4], [1, 4]>
// CHECK-NEXT: "host.launch"(%[[P]], %[[T]])
// CHECK-NEXT: "host.extern"(%[[T]]) {{.*}}aten.sin.default
func.func @operand_strides(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32> {graph.strides = [1, 4]}) {
  %0 = "graph.permute"(%x) {permutation = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = "graph.mm"(%0, %x) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = "graph.extern"(%0) {op = "aten.exp.default", args = [{operand = 0}], kwargs = {}} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = "graph.extern"(%1) {op = "aten.sin.default", args = [{operand = 0}], kwargs = {}, operand_strides = [[1, 4]], strides = [[1, 4]]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2, %3 : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// A kernel lays its result out as the ATen call that reads it wants it.
// CHECK-LABEL: func.func @wanted_strides
// CHECK: %[[Y:.*]] = "host.alloc"() : () -> !tile.buffer<f32, [4, 4], [1, 4]>
// CHECK-NEXT: "host.launch"(%{{.*}}, %[[Y]])
// CHECK-NEXT: "host.extern"(%[[Y]])
func.func @wanted_strides(%x: tensor<4x4xf32>) -> (tensor<4x4xf32> {graph.strides = [1, 4]}) {
  %0 = "graph.exp"(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = "graph.extern"(%0) {op = "aten.sin.default", args = [{operand = 0}], kwargs = {}, operand_strides = [[1, 4]], strides = [[1, 4]]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1 : tensor<4x4xf32>
}

// -----

// A reshape that no strides express is a kernel that copies.
// CHECK-LABEL: func.func @copying_reshape
// CHECK: %[[V:.*]] = "host.view"
// CHECK: %[[Y:.*]] = "host.alloc"
// CHECK: "host.launch"(%[[V]], %[[Y]])
// CHECK: "tile.kernel"
// CHECK: "graph.reshape"
func.func @copying_reshape(%x: tensor<4x8xf32>) -> tensor<32xf32> {
  %0 = "graph.permute"(%x) {permutation = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %1 = "graph.reshape"(%0) : (tensor<8x4xf32>) -> tensor<32xf32>
  return %1 : tensor<32xf32>
}

// -----

// Library ops are ATen calls; results are laid out as their strides say.
// CHECK-LABEL: func.func @library
// CHECK: %[[Y:.*]] = "host.extern"(%{{.*}}, %{{.*}}) {args = [{operand = 0 : i64}, {operand = 1 : i64}], kwargs = {}, op = "aten.mm.default"}
// CHECK: %{{.*}}:2 = "host.extern"(%[[Y]]) {{.*}}op = "aten.native_dropout.default"
func.func @library(%x: tensor<4x8xf32>) -> tensor<4x4xf32> {
  %0 = "graph.permute"(%x) {permutation = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %1 = "graph.mm"(%x, %0) : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %2, %3 = "graph.dropout"(%1) {p = 0.5} : (tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xi1>)
  return %2 : tensor<4x4xf32>
}

// -----

// Primitives on element types that kernels do not know are ATen calls.
// CHECK-LABEL: func.func @complex
// CHECK: "host.extern"{{.*}}op = "aten.exp.default"
// CHECK-NOT: tile.kernel
func.func @complex(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %0 = "graph.exp"(%x) : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  return %0 : tensor<4xcomplex<f32>>
}

// -----

// A result that eager gives storage of its own is copied out of an input's or another
// result's storage; one with other strides is laid out anew.
// CHECK-LABEL: func.func @fresh
// CHECK-SAME: (%[[X:.*]]: !tile.buffer<f32, [4, 8], [8, 1]>)
// CHECK: %[[E:.*]] = "host.extern"
// CHECK: %[[A:.*]] = "host.alloc"() : () -> !tile.buffer<f32, [4, 8], [8, 1]>
// CHECK: "host.launch"(%[[X]], %[[A]]) {kernel = @k0_
// CHECK: %[[B:.*]] = "host.alloc"() : () -> !tile.buffer<f32, [4, 8], [8, 1]>
// CHECK: "host.launch"(%[[E]], %[[B]]) {kernel = @k0_
// CHECK: %[[C:.*]] = "host.alloc"() : () -> !tile.buffer<f32, [4, 8], [1, 4]>
// CHECK: "host.launch"(%[[E]], %[[C]]) {kernel = @k1
// CHECK: "host.return"(%[[A]], %[[E]], %[[B]], %[[C]])
func.func @fresh(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32> {graph.strides = [1, 4]}) {
  %0 = "graph.extern"(%x) {op = "aten.exp.default", args = [{operand = 0}], kwargs = {}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %x, %0, %0, %0 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// A fusion's result takes eager's strides at once.
// CHECK-LABEL: func.func @strides_of_results
// CHECK: %[[Y:.*]] = "host.alloc"() : () -> !tile.buffer<f32, [4, 8], [1, 4]>
// CHECK-NEXT: "host.launch"(%{{.*}}, %[[Y]])
// CHECK-NEXT: "host.return"(%[[Y]])
func.func @strides_of_results(%x: tensor<4x8xf32>) -> (tensor<4x8xf32> {graph.strides = [1, 4]}) {
  %0 = "graph.exp"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// Results that alias an argument or another result in eager are views of it.
// CHECK-LABEL: func.func @aliases
// CHECK-SAME: (%[[X:.*]]: !tile.buffer
// CHECK: %[[E:.*]] = "host.extern"
// CHECK: %[[A:.*]] = "host.view"(%[[X]]) {offset = 8 : i64} : {{.*}} -> !tile.buffer<f32, [8], [1]>
// CHECK: %[[W:.*]] = "host.view"(%[[X]]) {offset = 0 : i64} : {{.*}} -> !tile.buffer<f32, [4, 8], [8, 1]>
// CHECK: %[[B:.*]] = "host.view"(%[[E]]) {offset = 0 : i64} : {{.*}} -> !tile.buffer<f32, [8, 4], [1, 8]>
// CHECK: "host.return"(%[[E]], %[[A]], %[[W]], %[[B]])
func.func @aliases(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<8xf32> {graph.storage = "arg0", graph.offset = 8}, tensor<4x8xf32> {graph.storage = "arg0"}, tensor<8x4xf32> {graph.storage = "out0", graph.strides = [1, 8]}) {
  %0 = "graph.extern"(%x) {op = "aten.exp.default", args = [{operand = 0}], kwargs = {}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = "graph.slice"(%x) {starts = [1, 0], steps = array<i64: 1, 1>} : (tensor<4x8xf32>) -> tensor<1x8xf32>
  %2 = "graph.reshape"(%1) : (tensor<1x8xf32>) -> tensor<8xf32>
  %3 = "graph.permute"(%0) {permutation = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  return %0, %2, %x, %3 : tensor<4x8xf32>, tensor<8xf32>, tensor<4x8xf32>, tensor<8x4xf32>
}

// -----

// Written arguments take their new content at the end, and are no results.
// CHECK-LABEL: func.func @writes
// CHECK-SAME: (%[[X:.*]]: !tile.buffer<f32, [4], [1]>) -> !tile.buffer<f32, [4], [1]>
// CHECK: %[[E:.*]] = "host.extern"(%[[X]])
// CHECK: %[[F:.*]] = "host.extern"(%[[X]])
// CHECK: "host.copy"(%[[E]], %[[X]])
// CHECK: "host.return"(%[[F]])
func.func @writes(%x: tensor<4xf32>) -> (tensor<4xf32> {graph.writes = 0}, tensor<4xf32>) {
  %0 = "graph.extern"(%x) {op = "aten.exp.default", args = [{operand = 0}], kwargs = {}} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "graph.extern"(%x) {op = "aten.sin.default", args = [{operand = 0}], kwargs = {}} : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Arguments that swap their contents go through copies.
// CHECK-LABEL: func.func @swap
// CHECK-SAME: (%[[X:.*]]: !tile.buffer<f32, [4], [1]>, %[[Y:.*]]: !tile.buffer<f32, [4], [1]>)
// CHECK: %[[A:.*]] = "host.alloc"
// CHECK: "host.launch"(%[[Y]], %[[A]])
// CHECK: %[[B:.*]] = "host.alloc"
// CHECK: "host.launch"(%[[X]], %[[B]])
// CHECK: "host.copy"(%[[A]], %[[X]])
// CHECK: "host.copy"(%[[B]], %[[Y]])
func.func @swap(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32> {graph.writes = 0}, tensor<4xf32> {graph.writes = 1}) {
  return %y, %x : tensor<4xf32>, tensor<4xf32>
}

// -----

// Integer results are computed from the symbols.
// CHECK-LABEL: func.func @sizes
// CHECK: %[[N:.*]] = "host.size"() {expr = "2*s0"} : () -> index
// CHECK: "host.return"(%[[N]]) : (index) -> ()
func.func @sizes(%i: index {graph.symbol = "s0"}) -> (index {graph.size = "2*s0"}) attributes {graph.symbols = {s0 = [2, 99]}} {
  return %i : index
}

// -----

// A seed is a view; kernels that are given other seeds are one. ATen makes tensors on
// the function's device.
// CHECK-LABEL: func.func @seeds
// CHECK: %[[SEEDS:.*]] = "host.extern"() {{.*}}device = "cuda:1"{{.*}}op = "aten.randint.low"
// CHECK: %[[FIRST:.*]] = "host.view"(%[[SEEDS]]) {offset = 0 : i64}
// CHECK: "host.launch"(%[[FIRST]], {{.*}}kernel = @k0_
// CHECK: %[[SECOND:.*]] = "host.view"(%[[SEEDS]]) {offset = 1 : i64}
// CHECK: "host.launch"(%[[SECOND]], {{.*}}kernel = @k0_
// CHECK-COUNT-1: "tile.kernel"
// CHECK-NOT: "tile.kernel"
func.func @seeds(%i: tensor<4xi32>) -> (tensor<4xui32>, tensor<4xui32>)
    attributes {graph.device = "cuda:1"} {
  %0 = "graph.randint"() {high = 9 : i64, low = 0 : i64} : () -> tensor<2xi64>
  %1 = "graph.seed"(%0) {index = 0 : i64} : (tensor<2xi64>) -> tensor<i64>
  %2 = "graph.philox"(%1, %i) : (tensor<i64>, tensor<4xi32>) -> tensor<4xui32>
  %3 = "graph.seed"(%0) {index = 1 : i64} : (tensor<2xi64>) -> tensor<i64>
  %4 = "graph.philox"(%3, %i) : (tensor<i64>, tensor<4xi32>) -> tensor<4xui32>
  return %2, %4 : tensor<4xui32>, tensor<4xui32>
}

// -----

!t = tensor<4xf32>

// Programs that leave values for a backward pass say so, and so do backward passes.
// CHECK-LABEL: func.func @leaves
// CHECK-SAME: attributes {host.training}
func.func @leaves(%x: !t) -> (!t, !t {graph.saved}) {
  %0 = "graph.exp"(%x) : (!t) -> !t
  %1 = "graph.sin"(%x) : (!t) -> !t
  return %0, %1 : !t, !t
}

// -----

!t = tensor<4xf32>

// CHECK-LABEL: func.func @takes
// CHECK-SAME: attributes {host.training}
func.func @takes(%x: !t {graph.saved = "out1"}) -> !t {
  %0 = "graph.exp"(%x) : (!t) -> !t
  return %0 : !t
}

// -----

!t = tensor<4xf32>

// CHECK-LABEL: func.func @neither
// CHECK-NOT: host.training
// CHECK: "host.return"
func.func @neither(%x: !t) -> !t {
  %0 = "graph.exp"(%x) : (!t) -> !t
  return %0 : !t
}
