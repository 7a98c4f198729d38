// RUN: girih-opt --convert-graph-to-host='concat-operands=2 concat-row=100' %s | filecheck %s

// Nothing is known of the row of a size of run time, so it counts as long.
// CHECK-LABEL: func.func @symbolic
// CHECK-COUNT-3: "host.launch"({{.*}}) {kernel = @{{k.*copy}}, outputs = 1
!s = tensor<?xf32, ["s0"]>
func.func @symbolic(%a: !s, %b: !s, %c: !s) -> tensor<?xf32, ["3*s0"]> attributes {graph.symbols = {s0 = [2, 99]}} {
  %0 = "graph.concat"(%a, %b, %c) {dim = 0 : i64} : (!s, !s, !s) -> tensor<?xf32, ["3*s0"]>
  return %0 : tensor<?xf32, ["3*s0"]>
}
