// RUN: girih-opt --convert-graph-to-host --split-input-file %s | filecheck %s

// Two kernels write the parts of a result where they belong: nothing is copied.
// CHECK-LABEL: func.func @made
// CHECK-SAME: ([[A:%.+]]: {{.+}}, [[B:%.+]]: {{.+}})
// CHECK: [[Y:%.+]] = "host.alloc"() : () -> !tile.buffer<f32, [2, 7], [7, 1]>
// CHECK: [[P:%.+]] = "host.view"([[Y]]) {offset = 0 : i64} : {{.+}} -> !tile.buffer<f32, [2, 3], [7, 1]>
// CHECK: "host.launch"([[A]], [[P]])
// CHECK: [[Q:%.+]] = "host.view"([[Y]]) {offset = 3 : i64} : {{.+}} -> !tile.buffer<f32, [2, 4], [7, 1]>
// CHECK: "host.launch"([[B]], [[Q]])
// CHECK-NOT: "host.launch"
// CHECK: "host.return"([[Y]])
func.func @made(%a: tensor<2x3xf32>, %b: tensor<2x4xf32>) -> tensor<2x7xf32> {
  %0 = "graph.exp"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = "graph.sin"(%b) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = "graph.concat"(%0, %1) {dim = 1 : i64} : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<2x7xf32>
  return %2 : tensor<2x7xf32>
}

// -----

// One part that the caller gave is copied behind the other one.
// CHECK-LABEL: func.func @one_given
// CHECK-SAME: ([[A:%.+]]: {{.+}}, [[B:%.+]]: {{.+}})
// CHECK: [[Y:%.+]] = "host.alloc"() : () -> !tile.buffer<f32, [5, 3], [3, 1]>
// CHECK: [[P:%.+]] = "host.view"([[Y]]) {offset = 6 : i64}
// CHECK: "host.launch"([[A]], [[P]])
// CHECK: [[Q:%.+]] = "host.view"([[Y]]) {offset = 0 : i64}
// CHECK: "host.launch"([[B]], [[Q]]) {kernel = @{{.*}}copy
// CHECK: "host.return"([[Y]])
func.func @one_given(%a: tensor<3x3xf32>, %b: tensor<2x3xf32>) -> tensor<5x3xf32> {
  %0 = "graph.exp"(%a) : (tensor<3x3xf32>) -> tensor<3x3xf32>
  %1 = "graph.concat"(%b, %0) {dim = 0 : i64} : (tensor<2x3xf32>, tensor<3x3xf32>) -> tensor<5x3xf32>
  return %1 : tensor<5x3xf32>
}

// -----

// What the caller gets, too, lies in a buffer of its own, and so does what stands twice
// in the result: a kernel copies.
// CHECK-LABEL: func.func @returned
// CHECK: kernel = @{{.*}}concat
func.func @returned(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>) -> (tensor<2x6xf32>, tensor<2x3xf32>) {
  %0 = "graph.exp"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = "graph.concat"(%b, %0) {dim = 1 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>
  return %1, %0 : tensor<2x6xf32>, tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func @twice
// CHECK: kernel = @{{.*}}concat
func.func @twice(%a: tensor<2x3xf32>) -> tensor<2x6xf32> {
  %0 = "graph.exp"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = "graph.concat"(%0, %0) {dim = 1 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>
  return %1 : tensor<2x6xf32>
}

// -----

// A result that holds a part of its own is copied into the next result, while kernels
// read it before that.
// CHECK-LABEL: func.func @chain
// CHECK: [[Y:%.+]] = "host.alloc"() : () -> !tile.buffer<f32, [2, 4], [4, 1]>
// CHECK: "host.view"([[Y]])
// CHECK: kernel = @{{.*}}exp
// CHECK: "host.launch"([[Y]], {{.+}}) {kernel = @{{.*}}sin
// CHECK: "host.launch"([[Y]], {{.+}}, {{.+}}) {kernel = @{{.*}}concat
func.func @chain(%a: tensor<2x3xf32>, %b: tensor<2x1xf32>) -> (tensor<2x5xf32>, tensor<2x4xf32>) {
  %0 = "graph.exp"(%a) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = "graph.concat"(%0, %b) {dim = 1 : i64} : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %2 = "graph.sin"(%1) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = "graph.concat"(%1, %b) {dim = 1 : i64} : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x5xf32>
  return %3, %2 : tensor<2x5xf32>, tensor<2x4xf32>
}
