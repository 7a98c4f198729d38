// RUN: %girih-opt --partition %s | filecheck %s

// Cheap arithmetic is computed again, from what the library op made anyway.
// CHECK-LABEL: func.func @cheap
// CHECK: [[H:%.+]] = "graph.mm"
// CHECK: return {{%.+}}, [[H]] : tensor<64xf32>, tensor<64x64xf32>
// CHECK-LABEL: func.func @cheap_backward
// CHECK-SAME: [[H:%.+]]: tensor<64x64xf32> {graph.saved = "out1"}
// CHECK: [[A:%.+]] = "graph.add"([[H]], [[H]])
// CHECK: "graph.mul"({{%.+}}, [[A]])
func.func @cheap(%x: tensor<64x64xf32> {graph.kept, graph.requires_grad},
    %g: tensor<64xf32> {graph.cotangent = 0 : i64})
    -> (tensor<64xf32>, tensor<64x64xf32> {graph.gradient = 0 : i64}) {
  %0 = "graph.mm"(%x, %x) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = "graph.add"(%0, %0)
      : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = "graph.mul"(%1, %0)
      : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = "graph.reduce_sum"(%2) {dims = array<i64: 0>}
      : (tensor<64x64xf32>) -> tensor<1x64xf32>
  %4 = "graph.reshape"(%3) : (tensor<1x64xf32>) -> tensor<64xf32>
  %5 = "graph.mul"(%g, %1) : (tensor<64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %4, %5 : tensor<64xf32>, tensor<64x64xf32>
}

// A reduction is not: its result is small.
// CHECK-LABEL: func.func @reduction
// CHECK: [[M:%.+]] = "graph.reduce_max"
// CHECK: return {{%.+}}, [[M]] : tensor<256x256xf32>, tensor<256x1xf32>
// CHECK-LABEL: func.func @reduction_backward
// CHECK-NOT: graph.reduce_max
// CHECK: return
func.func @reduction(%x: tensor<256x256xf32> {graph.kept, graph.requires_grad},
    %g: tensor<256x256xf32> {graph.cotangent = 0 : i64})
    -> (tensor<256x256xf32>, tensor<256x256xf32> {graph.gradient = 0 : i64}) {
  %0 = "graph.reduce_max"(%x) {dims = array<i64: 1>}
      : (tensor<256x256xf32>) -> tensor<256x1xf32>
  %1 = "graph.sub"(%x, %0)
      : (tensor<256x256xf32>, tensor<256x1xf32>) -> tensor<256x256xf32>
  %2 = "graph.sub"(%x, %0)
      : (tensor<256x256xf32>, tensor<256x1xf32>) -> tensor<256x256xf32>
  %3 = "graph.mul"(%g, %2)
      : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  return %1, %3 : tensor<256x256xf32>, tensor<256x256xf32>
}

// What only the derivative needs is computed where it costs least: a mask of bytes is
// smaller than the two tensors that it is made of.
// CHECK-LABEL: func.func @mask
// CHECK: [[LT:%.+]] = "graph.lt"
// CHECK: return {{%.+}}, [[LT]] : tensor<f32>, tensor<256x256xi1>
// CHECK-LABEL: func.func @mask_backward
// CHECK-SAME: ([[LT:%.+]]: tensor<256x256xi1> {graph.saved = "out1"},
// CHECK: "graph.where"([[LT]]
func.func @mask(%x: tensor<256x256xf32> {graph.kept, graph.requires_grad}, %w: tensor<256x256xf32>,
    %g: tensor<f32> {graph.cotangent = 0 : i64})
    -> (tensor<f32>, tensor<256x256xf32> {graph.gradient = 0 : i64}) {
  %0 = "graph.mm"(%x, %w)
      : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %1 = "graph.mm"(%w, %x)
      : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %2 = "graph.maximum"(%0, %1)
      : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %3 = "graph.reduce_sum"(%2) {dims = array<i64: 0, 1>}
      : (tensor<256x256xf32>) -> tensor<1x1xf32>
  %4 = "graph.reshape"(%3) : (tensor<1x1xf32>) -> tensor<f32>
  %5 = "graph.lt"(%0, %1)
      : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xi1>
  %6 = "graph.constant"() {value = 0.0 : f64} : () -> tensor<f32>
  %7 = "graph.where"(%5, %g, %6)
      : (tensor<256x256xi1>, tensor<f32>, tensor<f32>) -> tensor<256x256xf32>
  return %4, %7 : tensor<f32>, tensor<256x256xf32>
}

// Random numbers are drawn once; those that are 0 or 1 are kept as bytes.
// CHECK-LABEL: func.func @random
// CHECK: [[NOISE:%.+]] = "graph.extern"
// CHECK: [[FLAGS:%.+]] = "graph.cast"([[NOISE]]) : (tensor<64x64xf32>) -> tensor<64x64xi1>
// CHECK: return {{%.+}}, [[FLAGS]] : tensor<64x64xf32>, tensor<64x64xi1>
// CHECK-LABEL: func.func @random_backward
// CHECK-SAME: ([[FLAGS:%.+]]: tensor<64x64xi1> {graph.saved = "out1"},
// CHECK-NOT: graph.extern
// CHECK: [[NOISE:%.+]] = "graph.cast"([[FLAGS]]) : (tensor<64x64xi1>) -> tensor<64x64xf32>
// CHECK: "graph.mul"({{%.+}}, [[NOISE]])
func.func @random(%x: tensor<64x64xf32> {graph.kept, graph.requires_grad},
    %g: tensor<64x64xf32> {graph.cotangent = 0 : i64})
    -> (tensor<64x64xf32>, tensor<64x64xf32> {graph.gradient = 0 : i64}) {
  %0 = "graph.extern"(%x) {args = [{operand = 0 : i64}, 0.5], effects, kwargs = {},
      op = "aten.bernoulli.p"} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = "graph.mul"(%x, %0)
      : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = "graph.mul"(%g, %0)
      : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %1, %2 : tensor<64x64xf32>, tensor<64x64xf32>
}

// Random numbers are made again: the seed is saved, no mask and no number.
// CHECK-LABEL: func.func @dropout
// CHECK: [[SEEDS:%.+]] = "graph.randint"
// CHECK: return {{%.+}}, [[SEEDS]] : tensor<4096xf32>, tensor<3xi64>
// CHECK-LABEL: func.func @dropout_backward
// CHECK-SAME: [[SAVED:%.+]]: tensor<3xi64> {graph.saved = "out1"}
// CHECK: [[SEED:%.+]] = "graph.seed"([[SAVED]]) {index = 2 : i64}
// CHECK: [[WORD:%.+]] = "graph.philox"([[SEED]]
// CHECK: [[MASK:%.+]] = "graph.lt"([[WORD]]
// CHECK: [[KEPT:%.+]] = "graph.cast"([[MASK]])
// CHECK: "graph.mul"({{%.+}}, [[KEPT]])
func.func @dropout(%x: tensor<4096xf32> {graph.kept, graph.requires_grad},
    %g: tensor<4096xf32> {graph.cotangent = 0 : i64})
    -> (tensor<4096xf32>, tensor<4096xf32> {graph.gradient = 0 : i64}) {
  %seeds = "graph.randint"() {high = 9 : i64, low = 0 : i64} : () -> tensor<3xi64>
  %seed = "graph.seed"(%seeds) {index = 2 : i64} : (tensor<3xi64>) -> tensor<i64>
  %0 = "graph.iota"() {start = 0 : i64, step = 1 : i64} : () -> tensor<4096xi32>
  %1 = "graph.philox"(%seed, %0) : (tensor<i64>, tensor<4096xi32>) -> tensor<4096xui32>
  %2 = "graph.constant"() {value = 3000000000 : i64} : () -> tensor<ui32>
  %3 = "graph.lt"(%1, %2) : (tensor<4096xui32>, tensor<ui32>) -> tensor<4096xi1>
  %4 = "graph.cast"(%3) : (tensor<4096xi1>) -> tensor<4096xf32>
  %5 = "graph.mul"(%x, %4) : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
  %6 = "graph.mul"(%g, %4) : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
  return %5, %6 : tensor<4096xf32>, tensor<4096xf32>
}
