// RUN: %girih-opt --pass-pipeline='tile{target=gpu}' %s | filecheck %s

// Windows beside those of neighbours, as where channels are innermost: a thread has 8
// bytes next to each other. Short rows of results, too, but not where there are few.
// CHECK-LABEL: "tile.kernel"
// CHECK: schedule = "windows: 64 x 64 x 256 results of 3 x 3 elements, {{.*}}, 4 warps of 4 elements{{.*}}", sym_name = "windows_beside"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f16, [129, 129, 256], [33024, 256, 1]>, %y: !tile.buffer<f16, [64, 64, 256, 1, 1], [16384, 256, 1, 1, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f16, [129, 129, 256], [33024, 256, 1]>) -> tensor<129x129x256xf16>
  %1 = "graph.window"(%0) {dim = 0 : i64, step = 2 : i64} : (tensor<129x129x256xf16>) -> tensor<64x129x256x3xf16>
  %2 = "graph.window"(%1) {dim = 1 : i64, step = 2 : i64} : (tensor<64x129x256x3xf16>) -> tensor<64x64x256x3x3xf16>
  %3 = "graph.reduce_max"(%2) {dims = array<i64: 3, 4>} : (tensor<64x64x256x3x3xf16>) -> tensor<64x64x256x1x1xf16>
  "tile.write"(%3, %y) : (tensor<64x64x256x1x1xf16>, !tile.buffer<f16, [64, 64, 256, 1, 1], [16384, 256, 1, 1, 1]>) -> ()
}) {domain = [64, 64, 256, 3, 3], outputs = 1 : i64, reduced = array<i64: 3, 4>, sym_name = "windows_beside", symbols = []} : () -> ()

// CHECK-LABEL: "tile.kernel"
// CHECK: schedule = "windows: 262144 results of 3 x 3 elements, {{.*}}, 4 warps of 4 elements{{.*}}", sym_name = "short_windows_beside"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f16, [129, 129, 64], [8256, 64, 1]>, %y: !tile.buffer<f16, [64, 64, 64, 1, 1], [4096, 64, 1, 1, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f16, [129, 129, 64], [8256, 64, 1]>) -> tensor<129x129x64xf16>
  %1 = "graph.window"(%0) {dim = 0 : i64, step = 2 : i64} : (tensor<129x129x64xf16>) -> tensor<64x129x64x3xf16>
  %2 = "graph.window"(%1) {dim = 1 : i64, step = 2 : i64} : (tensor<64x129x64x3xf16>) -> tensor<64x64x64x3x3xf16>
  %3 = "graph.reduce_max"(%2) {dims = array<i64: 3, 4>} : (tensor<64x64x64x3x3xf16>) -> tensor<64x64x64x1x1xf16>
  "tile.write"(%3, %y) : (tensor<64x64x64x1x1xf16>, !tile.buffer<f16, [64, 64, 64, 1, 1], [4096, 64, 1, 1, 1]>) -> ()
}) {domain = [64, 64, 64, 3, 3], outputs = 1 : i64, reduced = array<i64: 3, 4>, sym_name = "short_windows_beside", symbols = []} : () -> ()

// CHECK-LABEL: "tile.kernel"
// CHECK: schedule = "windows: 4096 results of 3 x 3 elements, {{.*}}, 8 warps of 1 elements{{.*}}", sym_name = "few_windows_beside"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f16, [17, 17, 64], [1088, 64, 1]>, %y: !tile.buffer<f16, [8, 8, 64, 1, 1], [512, 64, 1, 1, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f16, [17, 17, 64], [1088, 64, 1]>) -> tensor<17x17x64xf16>
  %1 = "graph.window"(%0) {dim = 0 : i64, step = 2 : i64} : (tensor<17x17x64xf16>) -> tensor<8x17x64x3xf16>
  %2 = "graph.window"(%1) {dim = 1 : i64, step = 2 : i64} : (tensor<8x17x64x3xf16>) -> tensor<8x8x64x3x3xf16>
  %3 = "graph.reduce_max"(%2) {dims = array<i64: 3, 4>} : (tensor<8x8x64x3x3xf16>) -> tensor<8x8x64x1x1xf16>
  "tile.write"(%3, %y) : (tensor<8x8x64x1x1xf16>, !tile.buffer<f16, [8, 8, 64, 1, 1], [512, 64, 1, 1, 1]>) -> ()
}) {domain = [8, 8, 64, 3, 3], outputs = 1 : i64, reduced = array<i64: 3, 4>, sym_name = "few_windows_beside", symbols = []} : () -> ()
