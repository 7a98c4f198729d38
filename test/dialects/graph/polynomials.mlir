// RUN: %girih-opt %s -o %t.mlir
// RUN: %girih-opt %t.mlir | diff %t.mlir -
// RUN: filecheck %s --input-file %t.mlir

// Every polynomial, with a symbolic size.

// CHECK-LABEL: @polynomials
// CHECK: "graph.chebyshev_polynomial_t"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.chebyshev_polynomial_u"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.chebyshev_polynomial_v"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.chebyshev_polynomial_w"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.shifted_chebyshev_polynomial_t"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.shifted_chebyshev_polynomial_u"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.shifted_chebyshev_polynomial_v"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.shifted_chebyshev_polynomial_w"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.hermite_polynomial_h"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.hermite_polynomial_he"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.laguerre_polynomial_l"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.legendre_polynomial_p"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
func.func @polynomials(%x: tensor<?x16xf32, ["s0"]>) {
  %0 = "graph.chebyshev_polynomial_t"(%x) {n = 2 : i64} : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %1 = "graph.chebyshev_polynomial_u"(%x) {n = 2 : i64} : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %2 = "graph.chebyshev_polynomial_v"(%x) {n = 2 : i64} : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %3 = "graph.chebyshev_polynomial_w"(%x) {n = 2 : i64} : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %4 = "graph.shifted_chebyshev_polynomial_t"(%x) {n = 2 : i64} : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %5 = "graph.shifted_chebyshev_polynomial_u"(%x) {n = 2 : i64} : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %6 = "graph.shifted_chebyshev_polynomial_v"(%x) {n = 2 : i64} : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %7 = "graph.shifted_chebyshev_polynomial_w"(%x) {n = 2 : i64} : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %8 = "graph.hermite_polynomial_h"(%x) {n = 2 : i64} : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %9 = "graph.hermite_polynomial_he"(%x) {n = 2 : i64} : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %10 = "graph.laguerre_polynomial_l"(%x) {n = 2 : i64} : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %11 = "graph.legendre_polynomial_p"(%x) {n = 2 : i64} : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  return
}
