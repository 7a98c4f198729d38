// RUN: girih-opt --convert-graph-to-host=pad-products=true --split-input-file %s | filecheck %s

// A product's result has padded rows, as the kernel reads it; what is returned has not.
// CHECK-LABEL: func.func @main
// CHECK: "host.extern"{{.*}} -> !tile.buffer<bf16, [1024, 1001], [1008, 1]>
// CHECK: "host.launch"
// CHECK: "host.return"{{.*}}!tile.buffer<bf16, [1024, 1001], [1001, 1]>
func.func @main(%x: tensor<1024x256xbf16>, %w: tensor<256x1001xbf16>) -> tensor<1024x1001xbf16> {
  %0 = "graph.mm"(%x, %w) : (tensor<1024x256xbf16>, tensor<256x1001xbf16>) -> tensor<1024x1001xbf16>
  return %0 : tensor<1024x1001xbf16>
}

// -----

// What a kernel makes for a product has padded rows, seen through a transpose.
// CHECK-LABEL: func.func @main
// CHECK: "host.alloc"() : () -> !tile.buffer<bf16, [1024, 1001], [1008, 1]>
// CHECK: "host.extern"{{.*}}!tile.buffer<bf16, [1001, 1024], [1, 1008]>
func.func @main(%x: tensor<1024x1001xbf16>, %w: tensor<1024x256xbf16>) -> tensor<1001x256xbf16> {
  %0 = "graph.fusion"(%x) <{domain = [1024, 1001], reduced = array<i64>}> ({
  ^bb0(%a: tensor<1024x1001xbf16>):
    %e = "graph.exp"(%a) : (tensor<1024x1001xbf16>) -> tensor<1024x1001xbf16>
    "graph.yield"(%e) : (tensor<1024x1001xbf16>) -> ()
  }) : (tensor<1024x1001xbf16>) -> tensor<1024x1001xbf16>
  %1 = "graph.permute"(%0) {permutation = array<i64: 1, 0>} : (tensor<1024x1001xbf16>) -> tensor<1001x1024xbf16>
  %2 = "graph.mm"(%1, %w) : (tensor<1001x1024xbf16>, tensor<1024x256xbf16>) -> tensor<1001x256xbf16>
  return %2 : tensor<1001x256xbf16>
}

// -----

// Not padded: float32, rows that are multiples of 16 bytes, shallow products.
// CHECK-LABEL: func.func @main
// CHECK: -> !tile.buffer<f32, [1024, 1001], [1001, 1]>
// CHECK: -> !tile.buffer<bf16, [1024, 1008], [1008, 1]>
// CHECK: -> !tile.buffer<bf16, [1024, 1001], [1001, 1]>
func.func @main(%x: tensor<1024x256xf32>, %w: tensor<256x1001xf32>, %y: tensor<1024x256xbf16>, %u: tensor<256x1008xbf16>, %z: tensor<1024x16xbf16>, %v: tensor<16x1001xbf16>) -> (tensor<1024x1001xf32>, tensor<1024x1008xbf16>, tensor<1024x1001xbf16>) {
  %0 = "graph.mm"(%x, %w) : (tensor<1024x256xf32>, tensor<256x1001xf32>) -> tensor<1024x1001xf32>
  %1 = "graph.mm"(%y, %u) : (tensor<1024x256xbf16>, tensor<256x1008xbf16>) -> tensor<1024x1008xbf16>
  %2 = "graph.mm"(%z, %v) : (tensor<1024x16xbf16>, tensor<16x1001xbf16>) -> tensor<1024x1001xbf16>
  return %0, %1, %2 : tensor<1024x1001xf32>, tensor<1024x1008xbf16>, tensor<1024x1001xbf16>
}
