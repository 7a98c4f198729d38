// RUN: girih-opt --split-input-file --convert-graph-to-host %s | filecheck %s

!g = tensor<4x6xf32>
!p = tensor<2x6xf32>

// Parts of a cotangent that share no element are returned without a copy; the third one
// lies in the second.
// CHECK-LABEL: @views(
// CHECK: %[[A:.*]] = "host.view"(%arg0) {offset = 0 : i64}
// CHECK: %[[B:.*]] = "host.view"(%arg0) {offset = 12 : i64}
// CHECK: %[[C:.*]] = "host.alloc"()
// CHECK: "host.return"(%[[A]], %[[B]], %[[C]])
func.func @views(%g: !g {graph.cotangent = 0 : i64}) -> (
    !p {graph.gradient = 0 : i64, graph.passed},
    !p {graph.gradient = 1 : i64, graph.passed},
    !p {graph.gradient = 2 : i64, graph.passed}) {
  %0 = "graph.slice"(%g) {starts = [0, 0], steps = array<i64: 1, 1>} : (!g) -> !p
  %1 = "graph.slice"(%g) {starts = [2, 0], steps = array<i64: 1, 1>} : (!g) -> !p
  %2 = "graph.slice"(%g) {starts = [1, 0], steps = array<i64: 1, 1>} : (!g) -> !p
  return %0, %1, %2 : !p, !p, !p
}

// -----

!p = tensor<2x6xf32>

// The first two are one tensor in eager, the last one is only equal.
// CHECK-LABEL: @equal(
// CHECK: %[[A:.*]] = "host.alloc"()
// CHECK: %[[B:.*]] = "host.alloc"()
// CHECK: "host.return"(%[[A]], %[[A]], %[[B]])
func.func @equal(%g: !p {graph.cotangent = 0 : i64}) -> (
    !p {graph.gradient = 0 : i64, graph.equal = 0 : i64},
    !p {graph.gradient = 1 : i64, graph.equal = 0 : i64},
    !p {graph.gradient = 2 : i64}) {
  return %g, %g, %g : !p, !p, !p
}
