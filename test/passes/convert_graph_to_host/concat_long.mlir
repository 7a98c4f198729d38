// RUN: girih-opt --convert-graph-to-host='concat-operands=2 concat-row=1' %s | filecheck %s --check-prefix=LONG
// RUN: girih-opt --convert-graph-to-host='concat-operands=2 concat-row=2' %s | filecheck %s --check-prefix=ROW
// RUN: girih-opt --convert-graph-to-host=concat-operands=2 %s | filecheck %s --check-prefix=ROW

// Two tensors are copied where each has eight times the least row on average.
// LONG-LABEL: func.func @two
// LONG-COUNT-2: "host.launch"({{.*}}) {kernel = @{{k.*copy}}, outputs = 1
// ROW-LABEL: func.func @two
// ROW: "host.launch"({{.*}}) {kernel = @{{k.+}}_concat, outputs = 1
// ROW-NOT: "host.launch"
func.func @two(%a: tensor<3x4xf32>, %b: tensor<1x4xf32>) -> tensor<4x4xf32> {
  %0 = "graph.concat"(%a, %b) {dim = 0 : i64} : (tensor<3x4xf32>, tensor<1x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
