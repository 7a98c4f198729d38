// RUN: %girih-opt --select-products=library=onednn %s | filecheck %s
// RUN: %girih-opt --select-products %s | filecheck %s --check-prefix=ATEN

// ATEN-NOT: mkldnn

// CHECK-LABEL: func.func @product
// CHECK-SAME: ([[X:%.+]]: tensor<256x512xf32>, [[Y:%.+]]: tensor<512x512xf32>)
// CHECK-NEXT: [[W:%.+]] = "graph.permute"([[Y]]) {permutation = array<i64: 1, 0>}
// CHECK-NEXT: [[Z:%.+]] = "graph.extern"([[X]], [[W]])
// CHECK-SAME: args = [{operand = 0 : i64}, {operand = 1 : i64}, unit, {str = "none"}, [], {str = ""}]
// CHECK-SAME: op = "mkldnn._linear_pointwise.default"
// CHECK-NEXT: return [[Z]]
func.func @product(%x: tensor<256x512xf32>, %y: tensor<512x512xf32>) -> tensor<256x512xf32> {
  %0 = "graph.mm"(%x, %y) : (tensor<256x512xf32>, tensor<512x512xf32>) -> tensor<256x512xf32>
  return %0 : tensor<256x512xf32>
}

// CHECK-LABEL: func.func @with_bias
// CHECK-SAME: ([[B:%.+]]: tensor<64xf32>,
// CHECK: "graph.extern"({{%.+}}, {{%.+}}, [[B]])
// CHECK-SAME: {operand = 2 : i64}
func.func @with_bias(%b: tensor<64xf32>, %x: tensor<256x512xf32>, %y: tensor<512x64xf32>) -> tensor<256x64xf32> {
  %0 = "graph.addmm"(%b, %x, %y) {beta = 1 : i64, alpha = 1 : i64} : (tensor<64xf32>, tensor<256x512xf32>, tensor<512x64xf32>) -> tensor<256x64xf32>
  return %0 : tensor<256x64xf32>
}

// Sizes that are not known count as small.
// CHECK-LABEL: func.func @linear_of_any_batch
// CHECK-SAME: ([[X:%.+]]: tensor<?x8x256xf32, ["s0"]>, [[W:%.+]]: tensor<64x256xf32>,
// CHECK-NEXT: "graph.extern"([[X]], [[W]],
func.func @linear_of_any_batch(%x: tensor<?x8x256xf32, ["s0"]>, %w: tensor<64x256xf32>, %b: tensor<64xf32>) -> tensor<?x8x64xf32, ["s0"]> {
  %0 = "graph.linear"(%x, %w, %b) : (tensor<?x8x256xf32, ["s0"]>, tensor<64x256xf32>, tensor<64xf32>) -> tensor<?x8x64xf32, ["s0"]>
  return %0 : tensor<?x8x64xf32, ["s0"]>
}

// CHECK-LABEL: func.func @small
// CHECK-NEXT: graph.mm
func.func @small(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %0 = "graph.mm"(%x, %y) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %0 : tensor<64x64xf32>
}

// CHECK-LABEL: func.func @other_dtype
// CHECK-NEXT: graph.mm
func.func @other_dtype(%x: tensor<512x512xf64>, %y: tensor<512x512xf64>) -> tensor<512x512xf64> {
  %0 = "graph.mm"(%x, %y) : (tensor<512x512xf64>, tensor<512x512xf64>) -> tensor<512x512xf64>
  return %0 : tensor<512x512xf64>
}

// CHECK-LABEL: func.func @scaled
// CHECK-NEXT: graph.addmm
func.func @scaled(%b: tensor<512xf32>, %x: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %0 = "graph.addmm"(%b, %x, %x) {beta = 1 : i64, alpha = 2.0 : f64} : (tensor<512xf32>, tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  return %0 : tensor<512x512xf32>
}

// CHECK-LABEL: func.func @bias_that_is_a_matrix
// CHECK-NEXT: graph.addmm
func.func @bias_that_is_a_matrix(%x: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %0 = "graph.addmm"(%x, %x, %x) {beta = 1 : i64, alpha = 1 : i64} : (tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  return %0 : tensor<512x512xf32>
}

// The gradient of a weight: the smaller operand comes first, which is copied.
// CHECK-LABEL: func.func @transposed
// CHECK-SAME: ([[G:%.+]]: tensor<1024x256xf32>, [[X:%.+]]: tensor<1024x64xf32>)
// CHECK: [[GT:%.+]] = "graph.permute"([[G]])
// CHECK: [[XT:%.+]] = "graph.permute"([[X]])
// CHECK: [[Y:%.+]] = "graph.extern"([[XT]], [[GT]])
// CHECK: [[Z:%.+]] = "graph.permute"([[Y]])
// CHECK-NEXT: return [[Z]]
func.func @transposed(%g: tensor<1024x256xf32>, %x: tensor<1024x64xf32>) -> tensor<256x64xf32> {
  %0 = "graph.permute"(%g) {permutation = array<i64: 1, 0>} : (tensor<1024x256xf32>) -> tensor<256x1024xf32>
  %1 = "graph.mm"(%0, %x) : (tensor<256x1024xf32>, tensor<1024x64xf32>) -> tensor<256x64xf32>
  return %1 : tensor<256x64xf32>
}

// CHECK-LABEL: func.func @smaller_already
// CHECK-SAME: ([[G:%.+]]: tensor<1024x64xf32>, [[X:%.+]]: tensor<1024x256xf32>)
// CHECK: [[GT:%.+]] = "graph.permute"([[G]])
// CHECK: [[XT:%.+]] = "graph.permute"([[X]])
// CHECK-NEXT: [[Y:%.+]] = "graph.extern"([[GT]], [[XT]])
// CHECK-NEXT: return [[Y]]
func.func @smaller_already(%g: tensor<1024x64xf32>, %x: tensor<1024x256xf32>) -> tensor<64x256xf32> {
  %0 = "graph.permute"(%g) {permutation = array<i64: 1, 0>} : (tensor<1024x64xf32>) -> tensor<64x1024xf32>
  %1 = "graph.mm"(%0, %x) : (tensor<64x1024xf32>, tensor<1024x256xf32>) -> tensor<64x256xf32>
  return %1 : tensor<64x256xf32>
}
