// RUN: girih-opt --convert-graph-to-host --split-input-file %s | filecheck %s

!t = tensor<4xf32>

// An elementwise kernel writes straight into the argument that it updates.
// CHECK-LABEL: func.func @update
// CHECK-SAME: (%[[X:.*]]: !tile.buffer<f32, [4], [1]>)
// CHECK-NEXT: "host.launch"(%[[X]], %[[X]]) {kernel = @k0
// CHECK-NEXT: %[[V:.*]] = "host.view"(%[[X]])
// CHECK-NEXT: "host.return"(%[[V]])
func.func @update(%x: !t) -> (!t {graph.writes = 0}, !t {graph.storage = "arg0"}) {
  %0 = "graph.fusion"(%x) ({
  ^bb0(%a: !t):
    %1 = "graph.exp"(%a) : (!t) -> !t
    "graph.yield"(%1) : (!t) -> ()
  }) {domain = [4], reduced = array<i64>} : (!t) -> !t
  return %0, %0 : !t, !t
}

// -----

!t = tensor<4xf32>

// So does one with several results, also where one result needs what another overwrites.
// CHECK-LABEL: func.func @update_both
// CHECK-SAME: (%[[X:.*]]: !tile.buffer<f32, [4], [1]>, %[[Y:.*]]: !tile.buffer<f32, [4], [1]>)
// CHECK-NEXT: "host.launch"(%[[X]], %[[Y]], %[[X]], %[[Y]]) {kernel = @k0
// CHECK-NEXT: "host.return"()
func.func @update_both(%x: !t, %y: !t) -> (!t {graph.writes = 0}, !t {graph.writes = 1}) {
  %0:2 = "graph.fusion"(%x, %y) ({
  ^bb0(%a: !t, %b: !t):
    %1 = "graph.sin"(%b) : (!t) -> !t
    %2 = "graph.cos"(%a) : (!t) -> !t
    "graph.yield"(%1, %2) : (!t, !t) -> ()
  }) {domain = [4], reduced = array<i64>} : (!t, !t) -> (!t, !t)
  return %0#0, %0#1 : !t, !t
}

// -----

!t = tensor<4xf32>

// What reads the result later reads the argument.
// CHECK-LABEL: func.func @read_later
// CHECK-SAME: (%[[X:.*]]: !tile.buffer<f32, [4], [1]>, %[[Y:.*]]: !tile.buffer<f32, [4], [1]>)
// CHECK-NEXT: "host.launch"(%[[Y]], %[[X]])
// CHECK-NEXT: %[[E:.*]] = "host.extern"(%[[X]])
// CHECK-NEXT: "host.return"(%[[E]])
func.func @read_later(%x: !t, %y: !t) -> (!t {graph.writes = 0}, !t) {
  %0 = "graph.exp"(%y) : (!t) -> !t
  %1 = "graph.extern"(%0) {op = "aten.sin.default", args = [{operand = 0}], kwargs = {}} : (!t) -> !t
  return %0, %1 : !t, !t
}

// -----

!t = tensor<4xf32>

// Not where the old content is read afterwards, here through a view.
// CHECK-LABEL: func.func @old_content_is_read
// CHECK-SAME: (%[[X:.*]]: !tile.buffer<f32, [4], [1]>, %[[Y:.*]]: !tile.buffer<f32, [4], [1]>)
// CHECK: %[[N:.*]] = "host.alloc"
// CHECK-NEXT: "host.launch"(%[[Y]], %[[N]])
// CHECK: "host.extern"
// CHECK: "host.copy"(%[[N]], %[[X]])
func.func @old_content_is_read(%x: !t, %y: !t) -> (!t {graph.writes = 0}, tensor<2xf32>) {
  %0 = "graph.slice"(%x) {starts = [0], steps = array<i64: 2>} : (!t) -> tensor<2xf32>
  %1 = "graph.exp"(%y) : (!t) -> !t
  %2 = "graph.extern"(%0) {op = "aten.sin.default", args = [{operand = 0}], kwargs = {}} : (tensor<2xf32>) -> tensor<2xf32>
  return %1, %2 : !t, tensor<2xf32>
}

// -----

!t = tensor<4xf32>

// Not where the kernel reads other elements than it writes.
// CHECK-LABEL: func.func @reversed
// CHECK: "host.alloc"
// CHECK: "host.copy"
func.func @reversed(%x: !t) -> (!t {graph.writes = 0}) {
  %0 = "graph.fusion"(%x) ({
  ^bb0(%a: !t):
    %1 = "graph.flip"(%a) {dims = array<i64: 0>} : (!t) -> !t
    %2 = "graph.exp"(%1) : (!t) -> !t
    "graph.yield"(%2) : (!t) -> ()
  }) {domain = [4], reduced = array<i64>} : (!t) -> !t
  return %0 : !t
}

// -----

!t = tensor<4xi64>

// Not where a check may fail: eager then starts again from the arguments.
// CHECK-LABEL: func.func @checked
// CHECK: "host.copy"
func.func @checked(%x: !t, %y: !t) -> (!t {graph.writes = 0}) {
  %0 = "graph.fusion"(%x, %y) ({
  ^bb0(%a: !t, %b: !t):
    %1 = "graph.remainder"(%a, %b) : (!t, !t) -> !t
    "graph.yield"(%1) : (!t) -> ()
  }) {domain = [4], reduced = array<i64>} : (!t, !t) -> !t
  return %0 : !t
}

// -----

!t = tensor<4x4xf32>

// Not into an argument whose elements overlap.
// CHECK-LABEL: func.func @overlapping
// CHECK: "host.copy"
func.func @overlapping(%x: !t {graph.strides = [0, 1]}) -> (!t {graph.writes = 0}) {
  %0 = "graph.fusion"(%x) ({
  ^bb0(%a: !t):
    %1 = "graph.exp"(%a) : (!t) -> !t
    "graph.yield"(%1) : (!t) -> ()
  }) {domain = [4, 4], reduced = array<i64>} : (!t) -> !t
  return %0 : !t
}

// -----

!c = tensor<8x4xf32>

// ATen calls that have a twin write into the argument too.
// CHECK-LABEL: func.func @call
// CHECK-SAME: (%[[C:.*]]: !tile.buffer<f32, [8, 4], [4, 1]>, %[[K:.*]]: !tile.buffer<{{.*}}>, %[[I:.*]]: !tile.buffer<{{.*}}>)
// CHECK-NEXT: "host.extern"(%[[C]], %[[K]], %[[I]]) {args = [{operand = 0 : i64}, [{operand = 2 : i64}], {operand = 1 : i64}, false], kwargs = {}, op = "aten.index_put_.default"} : {{.*}} -> ()
// CHECK-NEXT: %[[S:.*]] = "host.extern"(%[[C]]) {{.*}}aten.sin.default
// CHECK-NEXT: "host.return"(%[[S]])
func.func @call(%c: !c, %k: tensor<1x4xf32>, %i: tensor<1xi64>) -> (!c {graph.writes = 0}, !c) {
  %0 = "graph.index_put"(%c, %k, %i) {dims = array<i64: 0>, accumulate = false} : (!c, tensor<1x4xf32>, tensor<1xi64>) -> !c
  %1 = "graph.extern"(%0) {op = "aten.sin.default", args = [{operand = 0}], kwargs = {}} : (!c) -> !c
  return %0, %1 : !c, !c
}

// -----

!c = tensor<8x4xf32>

// Not where a kernel behind the call may fail a check.
// CHECK-LABEL: func.func @call_before_a_check
// CHECK: "host.extern"{{.*}}aten.index_put.default
// CHECK: "host.launch"
// CHECK: "host.copy"
func.func @call_before_a_check(%c: !c, %k: tensor<1x4xf32>, %i: tensor<1xi64>) -> (!c {graph.writes = 0}, tensor<1x4xf32>) {
  %0 = "graph.index_put"(%c, %k, %i) {dims = array<i64: 0>, accumulate = false} : (!c, tensor<1x4xf32>, tensor<1xi64>) -> !c
  %1 = "graph.take"(%k, %i) {dim = 0} : (tensor<1x4xf32>, tensor<1xi64>) -> tensor<1x4xf32>
  return %0, %1 : !c, tensor<1x4xf32>
}

// -----

!c = tensor<8x4xf32>

// Not where the call reads another part of the argument.
// CHECK-LABEL: func.func @call_of_itself
// CHECK: "host.extern"{{.*}}aten.index_put.default
// CHECK: "host.copy"
func.func @call_of_itself(%c: !c, %i: tensor<1xi64>) -> (!c {graph.writes = 0}) {
  %0 = "graph.slice"(%c) {starts = [1, 0], steps = array<i64: 1, 1>} : (!c) -> tensor<1x4xf32>
  %1 = "graph.index_put"(%c, %0, %i) {dims = array<i64: 0>, accumulate = false} : (!c, tensor<1x4xf32>, tensor<1xi64>) -> !c
  return %1 : !c
}
