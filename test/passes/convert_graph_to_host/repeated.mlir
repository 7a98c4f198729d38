// RUN: girih-opt %s --convert-graph-to-host --split-input-file | filecheck %s

// A returned constant that eager's strides repeat is made once and returned as a view.
// CHECK-LABEL: func.func @constant
// CHECK: %[[A:.*]] = "host.alloc"() : () -> !tile.buffer<f32, [1, 3], [3, 1]>
// CHECK-NEXT: "host.launch"(%[[A]])
// CHECK-NEXT: %[[V:.*]] = "host.view"(%[[A]]) {offset = 0 : i64} : {{.*}} -> !tile.buffer<f32, [5, 3], [0, 1]>
// CHECK-NEXT: "host.return"(%[[V]])
func.func @constant() -> (tensor<5x3xf32> {graph.strides = [0, 1]}) {
  %0 = "graph.full"() {value = 1.0 : f32} : () -> tensor<5x3xf32>
  return %0 : tensor<5x3xf32>
}

// -----

// One that repeats nothing is made whole: strides of single elements mean nothing.
// CHECK-LABEL: func.func @no_constant_repeated
// CHECK: %[[A:.*]] = "host.alloc"() : () -> !tile.buffer<f32, [1, 3], [0, 1]>
// CHECK-NEXT: "host.launch"(%[[A]])
// CHECK-NEXT: "host.return"(%[[A]])
func.func @no_constant_repeated() -> (tensor<1x3xf32> {graph.strides = [0, 1]}) {
  %0 = "graph.full"() {value = 1.0 : f32} : () -> tensor<1x3xf32>
  return %0 : tensor<1x3xf32>
}

// -----

// Of what is computed at all indices, one is copied.
// CHECK-LABEL: func.func @computed
// CHECK: %[[E:.*]] = "host.extern"
// CHECK-NEXT: %[[F:.*]] = "host.view"(%[[E]]) {offset = 0 : i64} : {{.*}} -> !tile.buffer<f32, [1, 8, 1], [16, 2, 1]>
// CHECK-NEXT: %[[A:.*]] = "host.alloc"() : () -> !tile.buffer<f32, [1, 8, 1], [1, 1, 1]>
// CHECK-NEXT: "host.launch"(%[[F]], %[[A]])
// CHECK-NEXT: %[[V:.*]] = "host.view"(%[[A]]) {offset = 0 : i64} : {{.*}} -> !tile.buffer<f32, [4, 8, 2], [0, 1, 0]>
// CHECK-NEXT: "host.return"(%[[V]])
func.func @computed(%x: tensor<4x8x2xf32>) -> (tensor<4x8x2xf32> {graph.strides = [0, 1, 0]}) {
  %0 = "graph.extern"(%x) {op = "aten.exp.default", args = [{operand = 0}], kwargs = {}} : (tensor<4x8x2xf32>) -> tensor<4x8x2xf32>
  return %0 : tensor<4x8x2xf32>
}

// -----

// A symbol that is at least 1 has an index.
// CHECK-LABEL: func.func @symbol
// CHECK: "host.alloc"() : () -> !tile.buffer<f32, [1], [1]>
// CHECK: "host.view"({{.*}} -> !tile.buffer<f32, ["s0"], [0]>
func.func @symbol() -> (tensor<?xf32, ["s0"]> {graph.strides = [0]}) attributes {graph.symbols = {s0 = [1, 99]}} {
  %0 = "graph.full"() {value = 1.0 : f32} : () -> tensor<?xf32, ["s0"]>
  return %0 : tensor<?xf32, ["s0"]>
}

// -----

// One that may be 0 need not have one: then nothing is stored.
// CHECK-LABEL: func.func @symbol_from_zero
// CHECK: %[[A:.*]] = "host.alloc"() : () -> !tile.buffer<f32, ["s0", 3], [3, 1]>
// CHECK: %[[F:.*]] = "host.view"(%[[A]]) {offset = 0 : i64} : {{.*}} -> !tile.buffer<f32, ["min(s0, 1)", 3], [3, 1]>
// CHECK: %[[C:.*]] = "host.alloc"() : () -> !tile.buffer<f32, ["min(s0, 1)", 3], [1, 1]>
// CHECK: "host.launch"(%[[F]], %[[C]])
// CHECK: %[[V:.*]] = "host.view"(%[[C]]) {offset = 0 : i64} : {{.*}} -> !tile.buffer<f32, ["s0", 3], [0, 1]>
// CHECK: "host.return"(%[[V]])
func.func @symbol_from_zero() -> (tensor<?x3xf32, ["s0"]> {graph.strides = [0, 1]}) attributes {graph.symbols = {s0 = [0, 99]}} {
  %0 = "graph.full"() {value = 1.0 : f32} : () -> tensor<?x3xf32, ["s0"]>
  return %0 : tensor<?x3xf32, ["s0"]>
}
