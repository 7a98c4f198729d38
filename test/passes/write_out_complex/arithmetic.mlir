// RUN: %girih-opt --write-out-complex %s | filecheck %s

// The parts of arguments are views. What a library call takes is complex again.
// CHECK-LABEL: func.func @product
// CHECK-SAME: ([[X:%.+]]: tensor<8xcomplex<f32>>, [[Y:%.+]]: tensor<8xcomplex<f32>>)
// CHECK: [[PAIRS:%.+]] = "graph.extern"([[X]]) {{.*}}op = "aten.view_as_real_copy.default"
// CHECK: "graph.slice"([[PAIRS]]) {starts = [0, 0]
// CHECK: [[A:%.+]] = "graph.reshape"
// CHECK: "graph.slice"([[PAIRS]]) {starts = [0, 1]
// CHECK: [[B:%.+]] = "graph.reshape"
// CHECK: "graph.extern"([[Y]]) {{.*}}op = "aten.view_as_real_copy.default"
// CHECK: [[C:%.+]] = "graph.reshape"
// CHECK: [[D:%.+]] = "graph.reshape"
// CHECK: [[AC:%.+]] = "graph.mul"([[A]], [[C]]) : (tensor<8xf32>
// CHECK: [[BD:%.+]] = "graph.mul"([[B]], [[D]])
// CHECK: [[REAL:%.+]] = "graph.sub"([[AC]], [[BD]])
// CHECK: [[AD:%.+]] = "graph.mul"([[A]], [[D]])
// CHECK: [[BC:%.+]] = "graph.mul"([[B]], [[C]])
// CHECK: [[IMAGINARY:%.+]] = "graph.add"([[AD]], [[BC]])
// CHECK: [[TURNED:%.+]] = "graph.neg"([[IMAGINARY]])
// CHECK-DAG: [[FIRST:%.+]] = "graph.reshape"([[REAL]]) : (tensor<8xf32>) -> tensor<8x1xf32>
// CHECK-DAG: [[SECOND:%.+]] = "graph.reshape"([[TURNED]]) : (tensor<8xf32>) -> tensor<8x1xf32>
// CHECK: [[WHOLE:%.+]] = "graph.concat"([[FIRST]], [[SECOND]]) {dim = 1
// CHECK: [[JOINED:%.+]] = "graph.extern"([[WHOLE]]) {{.*}}op = "aten.view_as_complex_copy.default"
// CHECK: "graph.extern"([[JOINED]]) {{.*}}op = "aten._fft_c2c.default"
func.func @product(%x: tensor<8xcomplex<f32>>, %y: tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>> {
  %0 = "graph.extern"(%x, %y) {op = "aten.mul.Tensor", args = [{operand = 0 : i64}, {operand = 1 : i64}], kwargs = {}} : (tensor<8xcomplex<f32>>, tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
  %1 = "graph.extern"(%0) {op = "aten._conj_physical.default", args = [{operand = 0 : i64}], kwargs = {}} : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
  %2 = "graph.extern"(%1) {op = "aten._fft_c2c.default", args = [{operand = 0 : i64}, [0], 0, true], kwargs = {}} : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
  return %2 : tensor<8xcomplex<f32>>
}

// A call between calls stays one.
// CHECK-LABEL: func.func @alone
// CHECK-NEXT: "graph.extern"{{.*}}op = "aten.mul.Tensor"
// CHECK-NEXT: return
func.func @alone(%x: tensor<8xcomplex<f32>>, %y: tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>> {
  %0 = "graph.extern"(%x, %y) {op = "aten.mul.Tensor", args = [{operand = 0 : i64}, {operand = 1 : i64}], kwargs = {}} : (tensor<8xcomplex<f32>>, tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
  return %0 : tensor<8xcomplex<f32>>
}

// So do views of arguments, complex numbers of half precision, and other functions.
// CHECK-LABEL: func.func @calls
// CHECK-NEXT: "graph.reshape"{{.*}} -> tensor<2x4xcomplex<f32>>
// CHECK-NEXT: "graph.extern"{{.*}}op = "aten.sqrt.default"
// CHECK-NEXT: "graph.extern"{{.*}}op = "aten.abs.default"
// CHECK-NEXT: return
func.func @calls(%x: tensor<8xcomplex<f32>>, %h: tensor<8xcomplex<f16>>) -> (tensor<2x4xcomplex<f32>>, tensor<8xcomplex<f32>>, tensor<8xf16>) {
  %0 = "graph.reshape"(%x) : (tensor<8xcomplex<f32>>) -> tensor<2x4xcomplex<f32>>
  %1 = "graph.extern"(%x) {op = "aten.sqrt.default", args = [{operand = 0 : i64}], kwargs = {}} : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
  %2 = "graph.extern"(%h) {op = "aten.abs.default", args = [{operand = 0 : i64}], kwargs = {}} : (tensor<8xcomplex<f16>>) -> tensor<8xf16>
  return %0, %1, %2 : tensor<2x4xcomplex<f32>>, tensor<8xcomplex<f32>>, tensor<8xf16>
}

// A rotary embedding has nothing complex in the middle.
// CHECK-LABEL: func.func @rotary
// CHECK-NOT: view_as_complex
// CHECK: "graph.extern"(%arg1) {{.*}}op = "aten.view_as_real_copy.default"
// CHECK-NOT: graph.extern
// CHECK: return
func.func @rotary(%x: tensor<4x8x2xf32>, %f: tensor<8xcomplex<f32>>) -> tensor<4x8x2xf32> {
  %0 = "graph.extern"(%x) {op = "aten.view_as_complex_copy.default", args = [{operand = 0 : i64}], kwargs = {}} : (tensor<4x8x2xf32>) -> tensor<4x8xcomplex<f32>>
  %1 = "graph.extern"(%0, %f) {op = "aten.mul.Tensor", args = [{operand = 0 : i64}, {operand = 1 : i64}], kwargs = {}} : (tensor<4x8xcomplex<f32>>, tensor<8xcomplex<f32>>) -> tensor<4x8xcomplex<f32>>
  %2 = "graph.extern"(%1) {op = "aten.view_as_real_copy.default", args = [{operand = 0 : i64}], kwargs = {}} : (tensor<4x8xcomplex<f32>>) -> tensor<4x8x2xf32>
  return %2 : tensor<4x8x2xf32>
}

// Eager multiplies with alpha, 1 too; numbers have parts.
// CHECK-LABEL: func.func @sum
// CHECK-DAG: "graph.constant"() {value = 1.000000e+00
// CHECK-DAG: "graph.constant"() {value = 2.000000e+00
// CHECK-NOT: aten.add
// CHECK: "graph.reduce_sum"({{.*}}) {dims = array<i64: 0>} : (tensor<8xf32>) -> tensor<1xf32>
// CHECK: "graph.reduce_sum"({{.*}}) {dims = array<i64: 0>} : (tensor<8xf32>) -> tensor<1xf32>
func.func @sum(%x: tensor<8xcomplex<f32>>) -> tensor<complex<f32>> {
  %0 = "graph.extern"(%x) {op = "aten.add.Tensor", args = [{operand = 0 : i64}, {complex = [1.0, 2.0]}], kwargs = {}} : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
  %1 = "graph.extern"(%0) {op = "aten.sum.default", args = [{operand = 0 : i64}], kwargs = {}} : (tensor<8xcomplex<f32>>) -> tensor<complex<f32>>
  return %1 : tensor<complex<f32>>
}
