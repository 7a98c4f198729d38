// RUN: %girih-opt --partition %s | filecheck %s

// A sum that lies in memory already is saved, though its 16-bit terms are smaller: the
// backward pass would have to store it again, since its readers wait for each other. The
// last one is read once, so there its term is saved.
// CHECK-LABEL: func.func @residuals
// CHECK: [[Y0:%.+]] = "graph.mm"
// CHECK: [[C0:%.+]] = "graph.cast"([[Y0]])
// CHECK: [[X1:%.+]] = "graph.add"(%arg0, [[C0]])
// CHECK: [[Y1:%.+]] = "graph.mm"
// CHECK: return {{%.+}}, [[X1]], [[Y1]] : tensor<64x64xbf16>, tensor<64x64xf32>, tensor<64x64xbf16>
// CHECK-LABEL: func.func @residuals_backward
// CHECK: graph.saved = "out1"
// CHECK: graph.saved = "out2"
func.func @residuals(%x: tensor<64x64xf32> {graph.requires_grad}, %w: tensor<64x64xbf16> {graph.kept},
    %g: tensor<64x64xbf16> {graph.cotangent = 0 : i64})
    -> (tensor<64x64xbf16>, tensor<64x64xf32> {graph.gradient = 0 : i64}) {
  %0 = "graph.cast"(%x) : (tensor<64x64xf32>) -> tensor<64x64xbf16>
  %1 = "graph.mm"(%0, %w) : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %2 = "graph.cast"(%1) : (tensor<64x64xbf16>) -> tensor<64x64xf32>
  %x1 = "graph.add"(%x, %2) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = "graph.sin"(%x1) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %4 = "graph.cast"(%3) : (tensor<64x64xf32>) -> tensor<64x64xbf16>
  %5 = "graph.mm"(%4, %w) : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %6 = "graph.cast"(%5) : (tensor<64x64xbf16>) -> tensor<64x64xf32>
  %x2 = "graph.add"(%x1, %6) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %7 = "graph.sin"(%x2) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %8 = "graph.cast"(%7) : (tensor<64x64xf32>) -> tensor<64x64xbf16>
  %9 = "graph.mm"(%8, %w) : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %10 = "graph.mm"(%g, %w) : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %11 = "graph.cast"(%10) : (tensor<64x64xbf16>) -> tensor<64x64xf32>
  %12 = "graph.cos"(%x2) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %13 = "graph.mul"(%11, %12) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %14 = "graph.cast"(%13) : (tensor<64x64xf32>) -> tensor<64x64xbf16>
  %15 = "graph.mm"(%14, %w) : (tensor<64x64xbf16>, tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %16 = "graph.cast"(%15) : (tensor<64x64xbf16>) -> tensor<64x64xf32>
  %17 = "graph.cos"(%x1) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %18 = "graph.mul"(%16, %17) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %19 = "graph.add"(%13, %18) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %9, %19 : tensor<64x64xbf16>, tensor<64x64xf32>
}
