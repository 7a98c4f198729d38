// RUN: %girih-opt --pass-pipeline='tile{target=gpu}' %s | filecheck %s

// The logarithm of a sum of exponentials in one walk does not see how rough they are.
// CHECK-LABEL: "tile.loop"
// CHECK-COUNT-2: math.exp {{.*}} fastmath<afn>
// CHECK: math.log
// CHECK: sym_name = "logarithm"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [2048, 131072], [131072, 1]>, %y: !tile.buffer<f32, [2048, 1], [1, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [2048, 131072], [131072, 1]>) -> tensor<2048x131072xf32>
  %1 = "graph.reduce_max"(%0) {dims = array<i64: 1>} : (tensor<2048x131072xf32>) -> tensor<2048x1xf32>
  %2 = "graph.sub"(%0, %1) : (tensor<2048x131072xf32>, tensor<2048x1xf32>) -> tensor<2048x131072xf32>
  %3 = "graph.exp"(%2) : (tensor<2048x131072xf32>) -> tensor<2048x131072xf32>
  %4 = "graph.reduce_sum"(%3) {dims = array<i64: 1>} : (tensor<2048x131072xf32>) -> tensor<2048x1xf32>
  %5 = "graph.log"(%4) : (tensor<2048x1xf32>) -> tensor<2048x1xf32>
  "tile.write"(%5, %y) : (tensor<2048x1xf32>, !tile.buffer<f32, [2048, 1], [1, 1]>) -> ()
}) {domain = [2048, 131072], outputs = 1 : i64, reduced = array<i64: 1>, sym_name = "logarithm", symbols = []} : () -> ()

// A denominator would pass its error on to all quotients.
// CHECK-LABEL: "tile.loop"
// CHECK-NOT: fastmath
// CHECK: sym_name = "denominator"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [2048, 131072], [131072, 1]>, %y: !tile.buffer<f32, [2048, 1], [1, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [2048, 131072], [131072, 1]>) -> tensor<2048x131072xf32>
  %1 = "graph.reduce_max"(%0) {dims = array<i64: 1>} : (tensor<2048x131072xf32>) -> tensor<2048x1xf32>
  %2 = "graph.sub"(%0, %1) : (tensor<2048x131072xf32>, tensor<2048x1xf32>) -> tensor<2048x131072xf32>
  %3 = "graph.exp"(%2) : (tensor<2048x131072xf32>) -> tensor<2048x131072xf32>
  %4 = "graph.reduce_sum"(%3) {dims = array<i64: 1>} : (tensor<2048x131072xf32>) -> tensor<2048x1xf32>
  "tile.write"(%4, %y) : (tensor<2048x1xf32>, !tile.buffer<f32, [2048, 1], [1, 1]>) -> ()
}) {domain = [2048, 131072], outputs = 1 : i64, reduced = array<i64: 1>, sym_name = "denominator", symbols = []} : () -> ()

// CHECK-LABEL: "tile.loop"
// CHECK-NOT: fastmath
// CHECK: sym_name = "both"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [2048, 131072], [131072, 1]>, %y: !tile.buffer<f32, [2048, 1], [1, 1]>, %z: !tile.buffer<f32, [2048, 1], [1, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [2048, 131072], [131072, 1]>) -> tensor<2048x131072xf32>
  %1 = "graph.reduce_max"(%0) {dims = array<i64: 1>} : (tensor<2048x131072xf32>) -> tensor<2048x1xf32>
  %2 = "graph.sub"(%0, %1) : (tensor<2048x131072xf32>, tensor<2048x1xf32>) -> tensor<2048x131072xf32>
  %3 = "graph.exp"(%2) : (tensor<2048x131072xf32>) -> tensor<2048x131072xf32>
  %4 = "graph.reduce_sum"(%3) {dims = array<i64: 1>} : (tensor<2048x131072xf32>) -> tensor<2048x1xf32>
  %5 = "graph.log"(%4) : (tensor<2048x1xf32>) -> tensor<2048x1xf32>
  "tile.write"(%4, %z) : (tensor<2048x1xf32>, !tile.buffer<f32, [2048, 1], [1, 1]>) -> ()
  "tile.write"(%5, %y) : (tensor<2048x1xf32>, !tile.buffer<f32, [2048, 1], [1, 1]>) -> ()
}) {domain = [2048, 131072], outputs = 2 : i64, reduced = array<i64: 1>, sym_name = "both", symbols = []} : () -> ()
