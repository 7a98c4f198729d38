// RUN: girih-opt --split-input-file --convert-graph-to-host %s | filecheck %s

!x = tensor<16x32xf32>
!p = tensor<1x32xf32>

// A copy of the part into the argument.
// CHECK-LABEL: @copied(
// CHECK: %[[ROW:.*]] = "host.view"(%arg0) {offset = 96 : i64}
// CHECK: host.launch"(%arg1, %[[ROW]])
// CHECK-NOT: host.launch
// CHECK-NOT: host.copy
func.func @copied(%x: !x, %p: !p) -> (!x {graph.writes = 0 : i64}) {
  %0 = "graph.insert"(%x, %p) {starts = [3, 0], steps = array<i64: 1, 1>} : (!x, !p) -> !x
  return %0 : !x
}

// -----

!x = tensor<16x32xf32>
!p = tensor<1x32xf32>

// The kernel that makes the part writes it where it goes.
// CHECK-LABEL: @made_there(
// CHECK: %[[ROW:.*]] = "host.view"(%arg0) {offset = 96 : i64}
// CHECK: host.launch"(%arg0, %[[ROW]])
// CHECK-NOT: host.launch
// CHECK-NOT: host.copy
func.func @made_there(%x: !x) -> (!x {graph.writes = 0 : i64}) {
  %0 = "graph.fusion"(%x) <{domain = [1, 32], reduced = array<i64>}> ({
  ^bb0(%own: !x):
    %2 = "graph.slice"(%own) {starts = [3, 0], steps = array<i64: 1, 1>} : (!x) -> !p
    %3 = "graph.exp"(%2) : (!p) -> !p
    "graph.yield"(%3) : (!p) -> ()
  }) : (!x) -> !p
  %1 = "graph.insert"(%x, %0) {starts = [3, 0], steps = array<i64: 1, 1>} : (!x, !p) -> !x
  return %1 : !x
}

// -----

!x = tensor<16x32xf32>
!p = tensor<1x32xf32>

// It reads another row, so it writes its result first to a buffer.
// CHECK-LABEL: @other_row(
// CHECK: %[[OWN:.*]] = "host.alloc"
// CHECK: host.launch"(%arg0, %[[OWN]])
// CHECK: host.launch"(%[[OWN]], %{{.*}})
func.func @other_row(%x: !x) -> (!x {graph.writes = 0 : i64}) {
  %0 = "graph.fusion"(%x) <{domain = [1, 32], reduced = array<i64>}> ({
  ^bb0(%own: !x):
    %2 = "graph.slice"(%own) {starts = [4, 0], steps = array<i64: 1, 1>} : (!x) -> !p
    %3 = "graph.exp"(%2) : (!p) -> !p
    "graph.yield"(%3) : (!p) -> ()
  }) : (!x) -> !p
  %1 = "graph.insert"(%x, %0) {starts = [3, 0], steps = array<i64: 1, 1>} : (!x, !p) -> !x
  return %1 : !x
}

// -----

!x = tensor<16x32xf32>
!p = tensor<15x32xf32>

// Rows that are moved by one lie over each other.
// CHECK-LABEL: @moved(
// CHECK: %[[OWN:.*]] = "host.alloc"
// CHECK: host.launch"(%{{.*}}, %[[OWN]])
// CHECK: host.launch"(%[[OWN]], %{{.*}})
func.func @moved(%x: !x) -> (!x {graph.writes = 0 : i64}) {
  %0 = "graph.slice"(%x) {starts = [0, 0], steps = array<i64: 1, 1>} : (!x) -> !p
  %1 = "graph.insert"(%x, %0) {starts = [1, 0], steps = array<i64: 1, 1>} : (!x, !p) -> !x
  return %1 : !x
}

// -----

!x = tensor<16x32xf32>
!p = tensor<1x32xf32>

// The old elements are returned, too: the write goes to a copy, and that to the argument.
// CHECK-LABEL: @old(
// CHECK: %[[NEW:.*]] = "host.alloc"
// CHECK: host.launch"(%arg0, %[[NEW]])
// CHECK: %[[ROW:.*]] = "host.view"(%[[NEW]]) {offset = 96 : i64}
// CHECK: host.launch"(%arg1, %[[ROW]])
// CHECK: "host.copy"(%[[NEW]], %arg0)
func.func @old(%x: !x, %p: !p) -> (!x, !x {graph.writes = 0 : i64}) {
  %0 = "graph.insert"(%x, %p) {starts = [3, 0], steps = array<i64: 1, 1>} : (!x, !p) -> !x
  return %x, %0 : !x, !x
}

// -----

!x = tensor<16x32xf32>
!p = tensor<1x32xf32>

// A kernel that may fail comes first. What it runs with may not write the argument, and
// a copy behind it may.
// CHECK-LABEL: @checked(
// CHECK: host.launch"(%arg1, %arg2, %[[OWN:[0-9]+]])
// CHECK: "host.copy"(%[[OWN]], %{{.*}})
func.func @checked(%x: !x, %table: tensor<5x32xf32>, %i: tensor<1xi64>)
    -> (!x {graph.writes = 0 : i64}) {
  %0 = "graph.fusion"(%table, %i) <{domain = [1, 32], reduced = array<i64>}> ({
  ^bb0(%a: tensor<5x32xf32>, %b: tensor<1xi64>):
    %2 = "graph.take"(%a, %b) {dim = 0 : i64} : (tensor<5x32xf32>, tensor<1xi64>) -> !p
    "graph.yield"(%2) : (!p) -> ()
  }) : (tensor<5x32xf32>, tensor<1xi64>) -> !p
  %1 = "graph.insert"(%x, %0) {starts = [3, 0], steps = array<i64: 1, 1>} : (!x, !p) -> !x
  return %1 : !x
}
