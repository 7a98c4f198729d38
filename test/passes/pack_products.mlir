// RUN: %girih-opt --pack-products %s | filecheck %s
// RUN: %girih-opt --pack-products=vector-bits=256 %s | filecheck %s --check-prefix=NARROW

// CHECK-LABEL: func.func @linear
// CHECK: [[PARTS:%.+]] = "graph.reshape"(%arg1) : (tensor<512x256xf32>) -> tensor<8x64x256xf32>
// CHECK: [[TURNED:%.+]] = "graph.permute"([[PARTS]]) {permutation = array<i64: 0, 2, 1>}
// CHECK: [[PANELS:%.+]] = "graph.extern"([[TURNED]]) {{.*}}op = "aten.clone.default"{{.*}} -> tensor<8x256x64xf32>
// CHECK: [[ROWS:%.+]] = "graph.broadcast_to"({{.*}}) : (tensor<10x256xf32>) -> tensor<8x10x256xf32>
// CHECK: [[Y:%.+]] = "graph.bmm"([[ROWS]], [[PANELS]]) : {{.*}} -> tensor<8x10x64xf32>
// CHECK: "graph.permute"([[Y]]) {permutation = array<i64: 1, 0, 2>}
// CHECK: [[MATRIX:%.+]] = "graph.reshape"({{.*}}) : (tensor<10x512xf32>) -> tensor<2x5x512xf32>
// CHECK: "graph.add"([[MATRIX]], %arg2)
// NARROW-LABEL: func.func @linear
// NARROW: "graph.reshape"(%arg1) : (tensor<512x256xf32>) -> tensor<32x16x256xf32>
func.func @linear(%x: tensor<2x5x256xf32>, %w: tensor<512x256xf32> {graph.static}, %b: tensor<512xf32>) -> tensor<2x5x512xf32> {
  %0 = "graph.linear"(%x, %w, %b) {operandSegmentSizes = array<i32: 1, 1, 1>} : (tensor<2x5x256xf32>, tensor<512x256xf32>, tensor<512xf32>) -> tensor<2x5x512xf32>
  return %0 : tensor<2x5x512xf32>
}

// Weights that lie row by row, and any number of rows.
// CHECK-LABEL: func.func @mm
// CHECK: "graph.permute"(%arg1) {permutation = array<i64: 1, 0>}
// CHECK: "graph.bmm"({{.*}}) : (tensor<8x?x256xf32, ["s0"]>
func.func @mm(%x: tensor<?x256xf32, ["s0"]>, %w: tensor<256x512xf32> {graph.static}) -> tensor<?x512xf32, ["s0"]> {
  %0 = "graph.mm"(%x, %w) : (tensor<?x256xf32, ["s0"]>, tensor<256x512xf32>) -> tensor<?x512xf32, ["s0"]>
  return %0 : tensor<?x512xf32, ["s0"]>
}

// One row, few elements, columns that fill no vectors, and weights that vary stay.
// CHECK-LABEL: func.func @stays
// CHECK-COUNT-4: graph.mm
// CHECK-NOT: graph.bmm
func.func @stays(%x: tensor<1x256xf32>, %y: tensor<9x256xf32>, %v: tensor<256x512xf32> {graph.static}, %w: tensor<256x64xf32> {graph.static}, %odd: tensor<256x1001xf32> {graph.static}, %varies: tensor<256x512xf32>) -> (tensor<1x512xf32>, tensor<9x64xf32>, tensor<9x1001xf32>, tensor<9x512xf32>) {
  %0 = "graph.mm"(%x, %v) : (tensor<1x256xf32>, tensor<256x512xf32>) -> tensor<1x512xf32>
  %1 = "graph.mm"(%y, %w) : (tensor<9x256xf32>, tensor<256x64xf32>) -> tensor<9x64xf32>
  %2 = "graph.mm"(%y, %odd) : (tensor<9x256xf32>, tensor<256x1001xf32>) -> tensor<9x1001xf32>
  %3 = "graph.mm"(%y, %varies) : (tensor<9x256xf32>, tensor<256x512xf32>) -> tensor<9x512xf32>
  return %0, %1, %2, %3 : tensor<1x512xf32>, tensor<9x64xf32>, tensor<9x1001xf32>, tensor<9x512xf32>
}

// CHECK-LABEL: func.func @on_device
// CHECK: graph.mm
func.func @on_device(%x: tensor<9x256xf32>, %w: tensor<256x512xf32> {graph.static}) -> tensor<9x512xf32> attributes {graph.device = "cuda:0"} {
  %0 = "graph.mm"(%x, %w) : (tensor<9x256xf32>, tensor<256x512xf32>) -> tensor<9x512xf32>
  return %0 : tensor<9x512xf32>
}
