// RUN: %girih-opt --pass-pipeline=fuse %s | filecheck %s

// CHECK-LABEL: func.func @chain
// CHECK-SAME: ([[X:%.+]]: tensor<3x4xf32>, [[B:%.+]]: tensor<4xf32>)
// CHECK: [[Y:%.+]] = "graph.fusion"([[X]], [[B]]) ({
// CHECK-NEXT: ^bb0([[XIN:%.+]]: tensor<3x4xf32>, [[BIN:%.+]]: tensor<4xf32>):
// CHECK-NEXT: [[SUM:%.+]] = "graph.add"([[XIN]], [[BIN]])
// CHECK-NEXT: [[EXP:%.+]] = "graph.exp"([[SUM]])
// CHECK-NEXT: "graph.yield"([[EXP]])
// CHECK-NEXT: }) {domain = [3, 4], reduced = array<i64>}
// CHECK-NEXT: return [[Y]]
func.func @chain(%x: tensor<3x4xf32>, %b: tensor<4xf32>) -> tensor<3x4xf32> {
  %0 = "graph.add"(%x, %b) : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  %1 = "graph.exp"(%0) : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}

// A value that is needed outside is one more result.
// CHECK-LABEL: func.func @several_outputs
// CHECK: [[F:%.+]]:2 = "graph.fusion"
// CHECK: [[NEG:%.+]] = "graph.neg"
// CHECK: [[EXP:%.+]] = "graph.exp"([[NEG]])
// CHECK: "graph.yield"([[NEG]], [[EXP]])
// CHECK: return [[F]]#0, [[F]]#1
func.func @several_outputs(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = "graph.neg"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "graph.exp"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// Ops that read the same tensor share a kernel.
// CHECK-LABEL: func.func @siblings
// CHECK-COUNT-1: graph.fusion
// CHECK: graph.neg
// CHECK: graph.exp
// CHECK: graph.yield
func.func @siblings(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = "graph.neg"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "graph.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// So do ops that read the halves of a tensor, each of them both, or one each.
// CHECK-LABEL: func.func @halves
// CHECK: graph.fusion
// CHECK: graph.mul
// CHECK-NOT: graph.yield
// CHECK: graph.sub
func.func @halves(%x: tensor<8xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = "graph.slice"(%x) {starts = [0], steps = array<i64: 2>} : (tensor<8xf32>) -> tensor<4xf32>
  %1 = "graph.slice"(%x) {starts = [1], steps = array<i64: 2>} : (tensor<8xf32>) -> tensor<4xf32>
  %2 = "graph.mul"(%0, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = "graph.sub"(%1, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2, %3 : tensor<4xf32>, tensor<4xf32>
}

// Of a larger tensor they may read different parts.
// CHECK-LABEL: func.func @quarters
// CHECK: graph.fusion
// CHECK: graph.yield
// CHECK: graph.fusion
// CHECK: graph.yield
func.func @quarters(%x: tensor<16xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = "graph.slice"(%x) {starts = [0], steps = array<i64: 1>} : (tensor<16xf32>) -> tensor<4xf32>
  %1 = "graph.slice"(%x) {starts = [4], steps = array<i64: 1>} : (tensor<16xf32>) -> tensor<4xf32>
  %2 = "graph.exp"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = "graph.sin"(%1) : (tensor<4xf32>) -> tensor<4xf32>
  return %2, %3 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @strangers
// CHECK: graph.fusion
// CHECK: graph.fusion
func.func @strangers(%x: tensor<4xf32>, %y: tensor<4xf32>)
    -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = "graph.neg"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "graph.exp"(%y) : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// Joining neg and add would put the library op between them.
// CHECK-LABEL: func.func @no_cycle_through_a_library_op
// CHECK: [[NEG:%.+]] = "graph.fusion"
// CHECK: graph.neg
// CHECK: [[MM:%.+]] = "graph.mm"([[NEG]], {{.*}})
// CHECK: "graph.fusion"([[MM]], [[NEG]])
// CHECK: graph.add
func.func @no_cycle_through_a_library_op(%x: tensor<4x4xf32>, %w: tensor<4x4xf32>)
    -> tensor<4x4xf32> {
  %0 = "graph.neg"(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = "graph.mm"(%0, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = "graph.add"(%1, %0) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// What is constant along rows is computed once a row.
// CHECK-LABEL: func.func @value_for_each_row
// CHECK: "graph.exp"({{.*}}) : (tensor<64x1xf32>) -> tensor<64x1xf32>
// CHECK-NEXT: "graph.mul"({{.*}}) : (tensor<64x32xf32>, tensor<64x1xf32>)
func.func @value_for_each_row(%x: tensor<64x32xf32>, %s: tensor<64x1xf32>)
    -> tensor<64x32xf32> {
  %0 = "graph.exp"(%s) : (tensor<64x1xf32>) -> tensor<64x1xf32>
  %1 = "graph.mul"(%x, %0) : (tensor<64x32xf32>, tensor<64x1xf32>) -> tensor<64x32xf32>
  return %1 : tensor<64x32xf32>
}

// Along the innermost dim it would be computed 64 times: its own kernel.
// CHECK-LABEL: func.func @expensive_value_for_each_column
// CHECK: [[EXP:%.+]] = "graph.fusion"
// CHECK: graph.exp
// CHECK: "graph.fusion"({{.*}}, [[EXP]])
// CHECK: graph.mul
func.func @expensive_value_for_each_column(%x: tensor<64x32xf32>, %s: tensor<32xf32>)
    -> tensor<64x32xf32> {
  %0 = "graph.exp"(%s) : (tensor<32xf32>) -> tensor<32xf32>
  %1 = "graph.mul"(%x, %0) : (tensor<64x32xf32>, tensor<32xf32>) -> tensor<64x32xf32>
  return %1 : tensor<64x32xf32>
}

// Every reader casts for itself; the wide copy is never stored.
// CHECK-LABEL: func.func @widening_cast
// CHECK: "graph.fusion"({{.*}}) ({
// CHECK-NEXT: ^bb0({{.*}}: tensor<4x4xbf16>):
// CHECK-NEXT: graph.cast
// CHECK-NEXT: graph.neg
// CHECK: graph.mm
// CHECK: "graph.fusion"({{%.+}}, {{%.+}}) ({
// CHECK-NEXT: ^bb0({{.*}}: tensor<4x4xf32>, {{.*}}: tensor<4x4xbf16>):
// CHECK-NEXT: graph.cast
// CHECK-NEXT: graph.add
func.func @widening_cast(%x: tensor<4x4xbf16>, %w: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = "graph.cast"(%x) : (tensor<4x4xbf16>) -> tensor<4x4xf32>
  %1 = "graph.neg"(%0) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = "graph.mm"(%1, %w) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = "graph.add"(%2, %0) : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %3 : tensor<4x4xf32>
}

// Kernels don't compute with complex numbers.
// CHECK-LABEL: func.func @complex_stays
// CHECK-NOT: graph.fusion
// CHECK: graph.neg
func.func @complex_stays(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
  %0 = "graph.neg"(%x) : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  return %0 : tensor<4xcomplex<f32>>
}

// Effects keep their order; pure ops may move.
// CHECK-LABEL: func.func @effects_stay_in_order
// CHECK: first.op
// CHECK: second.op
func.func @effects_stay_in_order(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = "graph.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "graph.extern"(%0) {op = "aten.first.op", args = [{operand = 0 : i64}],
      kwargs = {}, effects} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "graph.extern"(%x) {op = "aten.second.op", args = [{operand = 0 : i64}],
      kwargs = {}, effects} : (tensor<4xf32>) -> tensor<4xf32>
  return %2, %1 : tensor<4xf32>, tensor<4xf32>
}
