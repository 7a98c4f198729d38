// RUN: girih-opt --convert-graph-to-host=concat-operands=2 %s | filecheck %s
// RUN: girih-opt --convert-graph-to-host %s | filecheck %s --check-prefix=ONE
// RUN: girih-opt --convert-graph-to-host='concat-operands=2 concat-row=6' %s | filecheck %s
// RUN: girih-opt --convert-graph-to-host='concat-operands=2 concat-row=7' %s | filecheck %s --check-prefix=ONE

// More than two tensors are copied into their places, by kernels that know the sizes.
// CHECK-LABEL: func.func @three
// CHECK-SAME: ([[A:%.+]]: {{.+}}, [[B:%.+]]: {{.+}}, [[C:%.+]]: {{.+}})
// CHECK: [[R:%.+]] = "host.alloc"() : () -> !tile.buffer<f32, [2, 6], [6, 1]>
// CHECK: [[P:%.+]] = "host.view"([[R]]) {offset = 0 : i64} : {{.+}} -> !tile.buffer<f32, [2, 1], [6, 1]>
// CHECK: "host.launch"([[A]], [[P]]) {kernel = @[[K:k.+]], outputs = 1
// CHECK: [[Q:%.+]] = "host.view"([[R]]) {offset = 1 : i64} : {{.+}} -> !tile.buffer<f32, [2, 4], [6, 1]>
// CHECK: "host.launch"([[B]], [[Q]])
// CHECK: [[S:%.+]] = "host.view"([[R]]) {offset = 5 : i64} : {{.+}} -> !tile.buffer<f32, [2, 1], [6, 1]>
// CHECK: "host.launch"([[C]], [[S]]) {kernel = @[[K]], outputs = 1
// CHECK: "host.return"([[R]])
// CHECK-NOT: "graph.concat"
// ONE-LABEL: func.func @three
// ONE: "host.launch"({{.*}}) {kernel = @k0_concat, outputs = 1
// ONE-NOT: "host.launch"
// ONE: "graph.concat"
func.func @three(%a: tensor<2x1xf32>, %b: tensor<2x4xf32>, %c: tensor<2x1xf32>) -> tensor<2x6xf32> {
  %0 = "graph.concat"(%a, %b, %c) {dim = 1 : i64} : (tensor<2x1xf32>, tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x6xf32>
  return %0 : tensor<2x6xf32>
}
