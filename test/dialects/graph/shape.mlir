// RUN: %girih-opt %s -o %t.mlir
// RUN: %girih-opt %t.mlir | diff %t.mlir -
// RUN: filecheck %s --input-file %t.mlir

// Views and rearrangements.

// CHECK-LABEL: @reshape
// CHECK: "graph.reshape"(%{{.*}}){{.*}}-> tensor<?xf32, ["16*s0"]>
// CHECK: "graph.reshape"(%{{.*}}){{.*}}-> tensor<?x4x4xf32, ["s0"]>
func.func @reshape(%x: tensor<?x16xf32, ["s0"]>) {
  %0 = "graph.reshape"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?xf32, ["16*s0"]>
  %1 = "graph.reshape"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x4x4xf32, ["s0"]>
  return
}

// CHECK-LABEL: @permute
// CHECK: "graph.permute"(%{{.*}}){{.*}}-> tensor<16x?xf32, ["s0"]>
func.func @permute(%x: tensor<?x16xf32, ["s0"]>) {
  %0 = "graph.permute"(%x) {permutation = array<i64: 1, 0>} : (tensor<?x16xf32, ["s0"]>) -> tensor<16x?xf32, ["s0"]>
  return
}

// CHECK-LABEL: @broadcast_to
// CHECK: "graph.broadcast_to"(%{{.*}}){{.*}}-> tensor<3x?x16xf32, ["s0"]>
func.func @broadcast_to(%x: tensor<?x16xf32, ["s0"]>) {
  %0 = "graph.broadcast_to"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<3x?x16xf32, ["s0"]>
  return
}

// CHECK-LABEL: @slice
// CHECK: "graph.slice"(%{{.*}}){{.*}}-> tensor<?x8xf32, ["s0"]>
func.func @slice(%x: tensor<?x16xf32, ["s0"]>) {
  %0 = "graph.slice"(%x) {starts = [0, 1], steps = array<i64: 1, 2>} : (tensor<?x16xf32, ["s0"]>) -> tensor<?x8xf32, ["s0"]>
  return
}

// CHECK-LABEL: @slice_from_symbol
// CHECK: "graph.slice"(%{{.*}}){{.*}}-> tensor<1x16xf32>
func.func @slice_from_symbol(%x: tensor<?x16xf32, ["s0"]>) {
  %0 = "graph.slice"(%x) {starts = ["s0 - 1", 0], steps = array<i64: 1, 1>} : (tensor<?x16xf32, ["s0"]>) -> tensor<1x16xf32>
  return
}

// CHECK-LABEL: @concat
// CHECK: "graph.concat"(%{{.*}}, %{{.*}}){{.*}}-> tensor<?x16xf32, ["2*s0"]>
// CHECK: "graph.concat"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
func.func @concat(%x: tensor<?x16xf32, ["s0"]>, %y: tensor<?x16xf32, ["s0"]>) {
  %0 = "graph.concat"(%x, %y) {dim = 0 : i64} : (tensor<?x16xf32, ["s0"]>, tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["2*s0"]>
  %1 = "graph.concat"(%x) {dim = 1 : i64} : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  return
}

// CHECK-LABEL: @pad
// CHECK: "graph.pad"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0 + s1 + 1"]>
func.func @pad(%x: tensor<?x16xf32, ["s0"]>) {
  %0 = "graph.pad"(%x) {high = ["s1", 0], low = [1, 0], value = 0.0 : f64} : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0 + s1 + 1"]>
  return
}

// CHECK-LABEL: @window
// CHECK: "graph.window"(%{{.*}}) {{.*}}step = 2{{.*}}-> tensor<?x7x4xf32, ["s0"]>
// CHECK: "graph.window"(%{{.*}}) {{.*}}step = "s1"
func.func @window(%x: tensor<?x16xf32, ["s0"]>) {
  %0 = "graph.window"(%x) {dim = 1, step = 2} : (tensor<?x16xf32, ["s0"]>) -> tensor<?x7x4xf32, ["s0"]>
  %1 = "graph.window"(%x) {dim = 0, step = "s1"} : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16x3xf32, ["((s0 - 3) // s1) + 1"]>
  return
}

// CHECK-LABEL: @flip
// CHECK: "graph.flip"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
func.func @flip(%x: tensor<?x16xf32, ["s0"]>) {
  %0 = "graph.flip"(%x) {dims = array<i64: 1>} : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  return
}

// -----

// CHECK-LABEL: func.func @insert
// CHECK: "graph.insert"(%{{.*}}, %{{.*}}){{.*}}starts = ["s0 - 1", 1], steps = array<i64: 1, 2>
func.func @insert(%x: tensor<?x16xf32, ["s0"]>, %row: tensor<1x8xf32>) -> tensor<?x16xf32, ["s0"]> {
  %0 = "graph.insert"(%x, %row) {starts = ["s0 - 1", 1], steps = array<i64: 1, 2>} : (tensor<?x16xf32, ["s0"]>, tensor<1x8xf32>) -> tensor<?x16xf32, ["s0"]>
  return %0 : tensor<?x16xf32, ["s0"]>
}
