// RUN: %girih-opt --split-input-file --verify-diagnostics %s

// What gamma functions reject: a derivative has an order.

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.polygamma' expected n to be above 0, got 0}}
  %0 = "graph.polygamma"(%x) {n = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}
