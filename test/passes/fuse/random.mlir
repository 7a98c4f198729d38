// RUN: %girih-opt --pass-pipeline=fuse %s | filecheck %s

// Numbers are made where they are read, at their places: through views too.
// CHECK-LABEL: func.func @dropout
// CHECK-SAME: ([[X:%.+]]: tensor<4x8xf32>, [[SEEDS:%.+]]: tensor<2xi64>)
// CHECK: [[SEED:%.+]] = "graph.seed"([[SEEDS]]) {index = 1 : i64}
// CHECK: "graph.fusion"([[X]], [[SEED]]) ({
// CHECK-NEXT: ^bb0([[XIN:%.+]]: tensor<4x8xf32>, [[IN:%.+]]: tensor<i64>):
// CHECK: [[I:%.+]] = "graph.iota"
// CHECK: [[PLACE:%.+]] = "graph.reshape"([[I]])
// CHECK: [[TURNED:%.+]] = "graph.permute"([[PLACE]])
// CHECK: [[WORD:%.+]] = "graph.philox"({{%.+}}, [[TURNED]]) : ({{.*}}, tensor<4x8xi32>) -> tensor<4x8xui32>
// CHECK: "graph.lt"([[WORD]]
func.func @dropout(%x: tensor<4x8xf32>, %seeds: tensor<2xi64>) -> tensor<4x8xf32> {
  %seed = "graph.seed"(%seeds) {index = 1 : i64} : (tensor<2xi64>) -> tensor<i64>
  %0 = "graph.iota"() {start = 0 : i64, step = 1 : i64} : () -> tensor<32xi32>
  %1 = "graph.reshape"(%0) : (tensor<32xi32>) -> tensor<8x4xi32>
  %2 = "graph.philox"(%seed, %1) : (tensor<i64>, tensor<8x4xi32>) -> tensor<8x4xui32>
  %3 = "graph.permute"(%2) {permutation = array<i64: 1, 0>}
      : (tensor<8x4xui32>) -> tensor<4x8xui32>
  %4 = "graph.constant"() {value = 3000000000 : i64} : () -> tensor<ui32>
  %5 = "graph.lt"(%3, %4) : (tensor<4x8xui32>, tensor<ui32>) -> tensor<4x8xi1>
  %6 = "graph.cast"(%5) : (tensor<4x8xi1>) -> tensor<4x8xf32>
  %7 = "graph.mul"(%x, %6) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %7 : tensor<4x8xf32>
}

// A mask that two kernels read is made by both; nothing of it is stored.
// CHECK-LABEL: func.func @two_readers
// CHECK: "graph.fusion"
// CHECK: "graph.philox"
// CHECK: "graph.mm"
// CHECK: "graph.fusion"
// CHECK: "graph.philox"
// CHECK: return
func.func @two_readers(%x: tensor<64x64xf32>, %seed: tensor<i64>) -> tensor<64x64xf32> {
  %0 = "graph.iota"() {start = 0 : i64, step = 1 : i64} : () -> tensor<4096xi32>
  %1 = "graph.reshape"(%0) : (tensor<4096xi32>) -> tensor<64x64xi32>
  %2 = "graph.philox"(%seed, %1)
      : (tensor<i64>, tensor<64x64xi32>) -> tensor<64x64xui32>
  %3 = "graph.constant"() {value = 3000000000 : i64} : () -> tensor<ui32>
  %4 = "graph.lt"(%2, %3) : (tensor<64x64xui32>, tensor<ui32>) -> tensor<64x64xi1>
  %5 = "graph.cast"(%4) : (tensor<64x64xi1>) -> tensor<64x64xf32>
  %6 = "graph.mul"(%x, %5) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %7 = "graph.mm"(%6, %6) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %8 = "graph.mul"(%7, %5) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %8 : tensor<64x64xf32>
}
