// RUN: %girih-opt --pass-pipeline='tile{target=gpu}' %s | filecheck %s

// A product: programs in groups of rows, a loop over blocks of both operands as they lie
// in memory, the epilogue on the sums. Whole blocks need no masks.
// CHECK-LABEL: "tile.kernel"
// CHECK: [[GROUP:%.+]] = arith.divui [[PROGRAM:%.+]], {{%.+}} : index
// CHECK: arith.remui [[PROGRAM]]
// CHECK: [[SUMS:%.+]] = "tile.loop"({{%.+}}, {{%.+}}, {{%.+}}) ({
// CHECK: [[A:%.+]] = "tile.load"(%arg0, {{[^,]+}}, %c1024, %c1) {{.*}} -> vector<128x64xbf16>
// CHECK: [[B:%.+]] = "tile.load"(%arg1, {{[^,]+}}, %c8192, %c1) {{.*}} -> vector<64x256xbf16>
// CHECK: [[D:%.+]] = "tile.dot"([[A]], [[B]], {{%.+}}) : {{.*}} -> vector<128x256xf32>
// CHECK: "tile.yield"([[D]])
// CHECK: math.tanh [[SUMS]] : vector<128x256xf32>
// CHECK: "tile.store"({{.*}}, %arg2, {{[^,]+}}, %c8192, %c1) {{.*}} : (vector<128x256xbf16>
// CHECK: num_stages = 3 : i64, num_warps = 8 : i64
// CHECK: schedule = "product: 1 of 4096 by 8192, sums of 1024, {{.*}}"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<bf16, [4096, 1024], [1024, 1]>, %w: !tile.buffer<bf16, [1024, 8192], [8192, 1]>, %y: !tile.buffer<bf16, [1, 4096, 8192], [33554432, 8192, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<bf16, [4096, 1024], [1024, 1]>) -> tensor<4096x1024xbf16>
  %1 = "tile.read"(%w) : (!tile.buffer<bf16, [1024, 8192], [8192, 1]>) -> tensor<1024x8192xbf16>
  %2 = "graph.permute"(%0) {permutation = array<i64: 1, 0>} : (tensor<4096x1024xbf16>) -> tensor<1024x4096xbf16>
  %3 = "graph.reshape"(%2) : (tensor<1024x4096xbf16>) -> tensor<1024x4096x1xbf16>
  %4 = "graph.reshape"(%1) : (tensor<1024x8192xbf16>) -> tensor<1024x1x8192xbf16>
  %5 = "graph.cast"(%3) : (tensor<1024x4096x1xbf16>) -> tensor<1024x4096x1xf32>
  %6 = "graph.cast"(%4) : (tensor<1024x1x8192xbf16>) -> tensor<1024x1x8192xf32>
  %7 = "graph.mul"(%5, %6) : (tensor<1024x4096x1xf32>, tensor<1024x1x8192xf32>) -> tensor<1024x4096x8192xf32>
  %8 = "graph.reduce_sum"(%7) {dims = array<i64: 0>} : (tensor<1024x4096x8192xf32>) -> tensor<1x4096x8192xf32>
  %9 = "graph.tanh"(%8) : (tensor<1x4096x8192xf32>) -> tensor<1x4096x8192xf32>
  %10 = "graph.cast"(%9) : (tensor<1x4096x8192xf32>) -> tensor<1x4096x8192xbf16>
  "tile.write"(%10, %y) : (tensor<1x4096x8192xbf16>, !tile.buffer<bf16, [1, 4096, 8192], [33554432, 8192, 1]>) -> ()
}) {domain = [1024, 4096, 8192], outputs = 1 : i64, reduced = array<i64: 0>, sym_name = "whole", symbols = []} : () -> ()

// A sum of products of float32 that no product was made of stays a reduction.
// CHECK-LABEL: "tile.kernel"
// CHECK-NOT: "tile.dot"
// CHECK: sym_name = "precise"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [64, 32], [32, 1]>, %w: !tile.buffer<f32, [32, 48], [48, 1]>, %y: !tile.buffer<f32, [1, 64, 48], [3072, 48, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [64, 32], [32, 1]>) -> tensor<64x32xf32>
  %1 = "tile.read"(%w) : (!tile.buffer<f32, [32, 48], [48, 1]>) -> tensor<32x48xf32>
  %2 = "graph.permute"(%0) {permutation = array<i64: 1, 0>} : (tensor<64x32xf32>) -> tensor<32x64xf32>
  %3 = "graph.reshape"(%2) : (tensor<32x64xf32>) -> tensor<32x64x1xf32>
  %4 = "graph.reshape"(%1) : (tensor<32x48xf32>) -> tensor<32x1x48xf32>
  %5 = "graph.mul"(%3, %4) : (tensor<32x64x1xf32>, tensor<32x1x48xf32>) -> tensor<32x64x48xf32>
  %6 = "graph.reduce_sum"(%5) {dims = array<i64: 0>} : (tensor<32x64x48xf32>) -> tensor<1x64x48xf32>
  "tile.write"(%6, %y) : (tensor<1x64x48xf32>, !tile.buffer<f32, [1, 64, 48], [3072, 48, 1]>) -> ()
}) {domain = [32, 64, 48], outputs = 1 : i64, reduced = array<i64: 0>, sym_name = "precise", symbols = []} : () -> ()
