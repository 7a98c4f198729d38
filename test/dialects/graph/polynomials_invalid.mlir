// RUN: %girih-opt --split-input-file --verify-diagnostics %s

// What polynomials reject: they have a degree.

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.chebyshev_polynomial_t' expected n to be 0 or more, got -1}}
  %0 = "graph.chebyshev_polynomial_t"(%x) {n = -1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}
