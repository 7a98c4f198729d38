// RUN: %girih-opt --pass-pipeline='print-schedules{vector-bits=512}' %s | filecheck %s

// The plan is printed, the kernel stays as it is.
// CHECK: negated: flat: 64 points, 16 lanes along d0 of 64
// CHECK: "tile.read"
// CHECK-NOT: schedule
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [64], [1]>, %y: !tile.buffer<f32, [64], [1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [64], [1]>) -> tensor<64xf32>
  %1 = "graph.neg"(%0) : (tensor<64xf32>) -> tensor<64xf32>
  "tile.write"(%1, %y) : (tensor<64xf32>, !tile.buffer<f32, [64], [1]>) -> ()
}) {domain = [64], outputs = 1 : i64, reduced = array<i64>, sym_name = "negated", symbols = []} : () -> ()
