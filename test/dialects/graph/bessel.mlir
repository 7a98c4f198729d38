// RUN: %girih-opt %s -o %t.mlir
// RUN: %girih-opt %t.mlir | diff %t.mlir -
// RUN: filecheck %s --input-file %t.mlir

// Every Bessel function, with a symbolic size.

// CHECK-LABEL: @bessel
// CHECK: "graph.bessel_j0"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.bessel_j1"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.bessel_y0"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.bessel_y1"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.modified_bessel_i0"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.modified_bessel_i1"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.modified_bessel_k0"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.modified_bessel_k1"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.scaled_modified_bessel_k0"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.scaled_modified_bessel_k1"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.spherical_bessel_j0"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.sinc"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
func.func @bessel(%x: tensor<?x16xf32, ["s0"]>) {
  %0 = "graph.bessel_j0"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %1 = "graph.bessel_j1"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %2 = "graph.bessel_y0"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %3 = "graph.bessel_y1"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %4 = "graph.modified_bessel_i0"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %5 = "graph.modified_bessel_i1"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %6 = "graph.modified_bessel_k0"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %7 = "graph.modified_bessel_k1"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %8 = "graph.scaled_modified_bessel_k0"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %9 = "graph.scaled_modified_bessel_k1"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %10 = "graph.spherical_bessel_j0"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %11 = "graph.sinc"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  return
}
