// RUN: %girih-opt --convert-graph-to-host --split-input-file %s | filecheck %s

// The parts of an argument are a view of it, unless the program returns them.
// CHECK-LABEL: func.func @parts
// CHECK: [[VIEW:%.+]] = "host.extern"(%arg0) {{.*}}op = "aten.view_as_real.default"
// CHECK: "host.launch"([[VIEW]],
// CHECK: [[COPY:%.+]] = "host.extern"(%arg1) {{.*}}op = "aten.view_as_real_copy.default"
// CHECK: "host.return"({{.*}}, [[COPY]])
func.func @parts(%x: tensor<8xcomplex<f32>>, %y: tensor<8xcomplex<f32>>) -> (tensor<8x2xf32>, tensor<8x2xf32>) {
  %0 = "graph.extern"(%x) {op = "aten.view_as_real_copy.default", args = [{operand = 0 : i64}], kwargs = {}} : (tensor<8xcomplex<f32>>) -> tensor<8x2xf32>
  %1 = "graph.fusion"(%0) ({
  ^bb0(%a: tensor<8x2xf32>):
    %n = "graph.neg"(%a) : (tensor<8x2xf32>) -> tensor<8x2xf32>
    "graph.yield"(%n) : (tensor<8x2xf32>) -> ()
  }) {domain = [8, 2], reduced = array<i64>} : (tensor<8x2xf32>) -> tensor<8x2xf32>
  %2 = "graph.extern"(%y) {op = "aten.view_as_real_copy.default", args = [{operand = 0 : i64}], kwargs = {}} : (tensor<8xcomplex<f32>>) -> tensor<8x2xf32>
  return %1, %2 : tensor<8x2xf32>, tensor<8x2xf32>
}

// -----

// A kernel writes the memory of the complex tensor that has its parts.
// CHECK-LABEL: func.func @whole
// CHECK: [[WHOLE:%.+]] = "host.alloc"() : () -> !tile.buffer<complex<f32>, [8], [1]>
// CHECK: [[PARTS:%.+]] = "host.extern"([[WHOLE]]) {{.*}}op = "aten.view_as_real.default"
// CHECK: "host.launch"(%arg0, [[PARTS]])
// CHECK-NOT: view_as_complex
// CHECK: "host.return"([[WHOLE]])
func.func @whole(%x: tensor<8x2xf32>) -> tensor<8xcomplex<f32>> {
  %0 = "graph.fusion"(%x) ({
  ^bb0(%a: tensor<8x2xf32>):
    %n = "graph.neg"(%a) : (tensor<8x2xf32>) -> tensor<8x2xf32>
    "graph.yield"(%n) : (tensor<8x2xf32>) -> ()
  }) {domain = [8, 2], reduced = array<i64>} : (tensor<8x2xf32>) -> tensor<8x2xf32>
  %1 = "graph.extern"(%0) {op = "aten.view_as_complex_copy.default", args = [{operand = 0 : i64}], kwargs = {}} : (tensor<8x2xf32>) -> tensor<8xcomplex<f32>>
  return %1 : tensor<8xcomplex<f32>>
}

// -----

// Not where the program returns the parts too.
// CHECK-LABEL: func.func @both
// CHECK: [[PARTS:%.+]] = "host.alloc"() : () -> !tile.buffer<f32
// CHECK: "host.launch"(%arg0, [[PARTS]])
// CHECK: [[WHOLE:%.+]] = "host.extern"([[PARTS]]) {{.*}}op = "aten.view_as_complex_copy.default"
// CHECK: "host.return"([[PARTS]], [[WHOLE]])
func.func @both(%x: tensor<8x2xf32>) -> (tensor<8x2xf32>, tensor<8xcomplex<f32>>) {
  %0 = "graph.fusion"(%x) ({
  ^bb0(%a: tensor<8x2xf32>):
    %n = "graph.neg"(%a) : (tensor<8x2xf32>) -> tensor<8x2xf32>
    "graph.yield"(%n) : (tensor<8x2xf32>) -> ()
  }) {domain = [8, 2], reduced = array<i64>} : (tensor<8x2xf32>) -> tensor<8x2xf32>
  %1 = "graph.extern"(%0) {op = "aten.view_as_complex_copy.default", args = [{operand = 0 : i64}], kwargs = {}} : (tensor<8x2xf32>) -> tensor<8xcomplex<f32>>
  return %0, %1 : tensor<8x2xf32>, tensor<8xcomplex<f32>>
}
