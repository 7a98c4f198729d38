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

// Narrow rows: fewer elements a thread where a processor has fewer points.
// CHECK-LABEL: "tile.kernel"
// CHECK: schedule = "registers: {{.*}}, blocks of 8 along d0 of 65536 x 128 along d1 of 128, 2 warps of 16 elements{{.*}}", sym_name = "many_narrow_rows"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<bf16, [65536, 128], [128, 1]>, %y: !tile.buffer<bf16, [65536, 128], [128, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<bf16, [65536, 128], [128, 1]>) -> tensor<65536x128xbf16>
  %1 = "graph.reduce_max"(%0) {dims = array<i64: 1>} : (tensor<65536x128xbf16>) -> tensor<65536x1xbf16>
  %2 = "graph.sub"(%0, %1) : (tensor<65536x128xbf16>, tensor<65536x1xbf16>) -> tensor<65536x128xbf16>
  "tile.write"(%2, %y) : (tensor<65536x128xbf16>, !tile.buffer<bf16, [65536, 128], [128, 1]>) -> ()
}) {domain = [65536, 128], outputs = 1 : i64, reduced = array<i64: 1>, sym_name = "many_narrow_rows", symbols = []} : () -> ()

// CHECK-LABEL: "tile.kernel"
// CHECK: schedule = "registers: {{.*}}, blocks of 8 along d0 of 8192 x 128 along d1 of 128, 4 warps of 8 elements{{.*}}", sym_name = "narrow_rows"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<bf16, [8192, 128], [128, 1]>, %y: !tile.buffer<bf16, [8192, 128], [128, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<bf16, [8192, 128], [128, 1]>) -> tensor<8192x128xbf16>
  %1 = "graph.reduce_max"(%0) {dims = array<i64: 1>} : (tensor<8192x128xbf16>) -> tensor<8192x1xbf16>
  %2 = "graph.sub"(%0, %1) : (tensor<8192x128xbf16>, tensor<8192x1xbf16>) -> tensor<8192x128xbf16>
  "tile.write"(%2, %y) : (tensor<8192x128xbf16>, !tile.buffer<bf16, [8192, 128], [128, 1]>) -> ()
}) {domain = [8192, 128], outputs = 1 : i64, reduced = array<i64: 1>, sym_name = "narrow_rows", symbols = []} : () -> ()

// CHECK-LABEL: "tile.kernel"
// CHECK: schedule = "registers: {{.*}}, blocks of 4 along d0 of 2048 x 128 along d1 of 128, 4 warps of 4 elements{{.*}}", sym_name = "few_narrow_rows"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<bf16, [2048, 128], [128, 1]>, %y: !tile.buffer<bf16, [2048, 128], [128, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<bf16, [2048, 128], [128, 1]>) -> tensor<2048x128xbf16>
  %1 = "graph.reduce_max"(%0) {dims = array<i64: 1>} : (tensor<2048x128xbf16>) -> tensor<2048x1xbf16>
  %2 = "graph.sub"(%0, %1) : (tensor<2048x128xbf16>, tensor<2048x1xbf16>) -> tensor<2048x128xbf16>
  "tile.write"(%2, %y) : (tensor<2048x128xbf16>, !tile.buffer<bf16, [2048, 128], [128, 1]>) -> ()
}) {domain = [2048, 128], outputs = 1 : i64, reduced = array<i64: 1>, sym_name = "few_narrow_rows", symbols = []} : () -> ()

// Several sums of rows below 15360 are walked in smaller blocks.
// CHECK-LABEL: "tile.kernel"
// CHECK: schedule = "rows: {{.*}}, blocks of 2048 along d1 of 9216 in a loop, 8 warps of 8 elements{{.*}}", sym_name = "two_sums_below"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f16, [4096, 9216], [9216, 1]>, %y: !tile.buffer<f16, [4096, 9216], [9216, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f16, [4096, 9216], [9216, 1]>) -> tensor<4096x9216xf16>
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 1>} : (tensor<4096x9216xf16>) -> tensor<4096x1xf16>
  %2 = "graph.mul"(%0, %0) : (tensor<4096x9216xf16>, tensor<4096x9216xf16>) -> tensor<4096x9216xf16>
  %3 = "graph.reduce_sum"(%2) {dims = array<i64: 1>} : (tensor<4096x9216xf16>) -> tensor<4096x1xf16>
  %4 = "graph.sub"(%0, %1) : (tensor<4096x9216xf16>, tensor<4096x1xf16>) -> tensor<4096x9216xf16>
  %5 = "graph.mul"(%4, %3) : (tensor<4096x9216xf16>, tensor<4096x1xf16>) -> tensor<4096x9216xf16>
  "tile.write"(%5, %y) : (tensor<4096x9216xf16>, !tile.buffer<f16, [4096, 9216], [9216, 1]>) -> ()
}) {domain = [4096, 9216], outputs = 1 : i64, reduced = array<i64: 1>, sym_name = "two_sums_below", symbols = []} : () -> ()

// CHECK-LABEL: "tile.kernel"
// CHECK: schedule = "rows: {{.*}}, blocks of 2048 along d1 of 13056 in a loop, 8 warps of 8 elements{{.*}}", sym_name = "two_sums_of_13056"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f16, [4096, 13056], [13056, 1]>, %y: !tile.buffer<f16, [4096, 13056], [13056, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f16, [4096, 13056], [13056, 1]>) -> tensor<4096x13056xf16>
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 1>} : (tensor<4096x13056xf16>) -> tensor<4096x1xf16>
  %2 = "graph.mul"(%0, %0) : (tensor<4096x13056xf16>, tensor<4096x13056xf16>) -> tensor<4096x13056xf16>
  %3 = "graph.reduce_sum"(%2) {dims = array<i64: 1>} : (tensor<4096x13056xf16>) -> tensor<4096x1xf16>
  %4 = "graph.sub"(%0, %1) : (tensor<4096x13056xf16>, tensor<4096x1xf16>) -> tensor<4096x13056xf16>
  %5 = "graph.mul"(%4, %3) : (tensor<4096x13056xf16>, tensor<4096x1xf16>) -> tensor<4096x13056xf16>
  "tile.write"(%5, %y) : (tensor<4096x13056xf16>, !tile.buffer<f16, [4096, 13056], [13056, 1]>) -> ()
}) {domain = [4096, 13056], outputs = 1 : i64, reduced = array<i64: 1>, sym_name = "two_sums_of_13056", symbols = []} : () -> ()

// CHECK-LABEL: "tile.kernel"
// CHECK: schedule = "rows: {{.*}}, blocks of 4096 along d1 of 12288 in a loop, 16 warps of 8 elements{{.*}}", sym_name = "two_sums_of_12288"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f16, [4096, 12288], [12288, 1]>, %y: !tile.buffer<f16, [4096, 12288], [12288, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f16, [4096, 12288], [12288, 1]>) -> tensor<4096x12288xf16>
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 1>} : (tensor<4096x12288xf16>) -> tensor<4096x1xf16>
  %2 = "graph.mul"(%0, %0) : (tensor<4096x12288xf16>, tensor<4096x12288xf16>) -> tensor<4096x12288xf16>
  %3 = "graph.reduce_sum"(%2) {dims = array<i64: 1>} : (tensor<4096x12288xf16>) -> tensor<4096x1xf16>
  %4 = "graph.sub"(%0, %1) : (tensor<4096x12288xf16>, tensor<4096x1xf16>) -> tensor<4096x12288xf16>
  %5 = "graph.mul"(%4, %3) : (tensor<4096x12288xf16>, tensor<4096x1xf16>) -> tensor<4096x12288xf16>
  "tile.write"(%5, %y) : (tensor<4096x12288xf16>, !tile.buffer<f16, [4096, 12288], [12288, 1]>) -> ()
}) {domain = [4096, 12288], outputs = 1 : i64, reduced = array<i64: 1>, sym_name = "two_sums_of_12288", symbols = []} : () -> ()

// Short rows that are read again stay whole, longer ones where there are nearly as many
// as processors.
// CHECK-LABEL: "tile.kernel"
// CHECK: schedule = "rows: {{[^,]*}}, 2 passes, {{.*}}", sym_name = "whole"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f16, [32, 40960], [40960, 1]>, %y: !tile.buffer<f16, [32, 40960], [40960, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f16, [32, 40960], [40960, 1]>) -> tensor<32x40960xf16>
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 1>} : (tensor<32x40960xf16>) -> tensor<32x1xf16>
  %2 = "graph.mul"(%0, %0) : (tensor<32x40960xf16>, tensor<32x40960xf16>) -> tensor<32x40960xf16>
  %3 = "graph.reduce_sum"(%2) {dims = array<i64: 1>} : (tensor<32x40960xf16>) -> tensor<32x1xf16>
  %4 = "graph.sub"(%0, %1) : (tensor<32x40960xf16>, tensor<32x1xf16>) -> tensor<32x40960xf16>
  %5 = "graph.mul"(%4, %3) : (tensor<32x40960xf16>, tensor<32x1xf16>) -> tensor<32x40960xf16>
  "tile.write"(%5, %y) : (tensor<32x40960xf16>, !tile.buffer<f16, [32, 40960], [40960, 1]>) -> ()
}) {domain = [32, 40960], outputs = 1 : i64, reduced = array<i64: 1>, sym_name = "whole", symbols = []} : () -> ()

// CHECK-LABEL: "tile.kernel"
// CHECK: schedule = "rows: {{[^,]*}}, 2 passes, {{.*}}", sym_name = "whole_of_many"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f16, [128, 131072], [131072, 1]>, %y: !tile.buffer<f16, [128, 131072], [131072, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f16, [128, 131072], [131072, 1]>) -> tensor<128x131072xf16>
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 1>} : (tensor<128x131072xf16>) -> tensor<128x1xf16>
  %2 = "graph.mul"(%0, %0) : (tensor<128x131072xf16>, tensor<128x131072xf16>) -> tensor<128x131072xf16>
  %3 = "graph.reduce_sum"(%2) {dims = array<i64: 1>} : (tensor<128x131072xf16>) -> tensor<128x1xf16>
  %4 = "graph.sub"(%0, %1) : (tensor<128x131072xf16>, tensor<128x1xf16>) -> tensor<128x131072xf16>
  %5 = "graph.mul"(%4, %3) : (tensor<128x131072xf16>, tensor<128x1xf16>) -> tensor<128x131072xf16>
  "tile.write"(%5, %y) : (tensor<128x131072xf16>, !tile.buffer<f16, [128, 131072], [131072, 1]>) -> ()
}) {domain = [128, 131072], outputs = 1 : i64, reduced = array<i64: 1>, sym_name = "whole_of_many", symbols = []} : () -> ()

// CHECK-LABEL: "tile.kernel"
// CHECK: schedule = "split rows: {{.*}}", sym_name = "parts_of_few"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f16, [64, 131072], [131072, 1]>, %y: !tile.buffer<f16, [64, 131072], [131072, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f16, [64, 131072], [131072, 1]>) -> tensor<64x131072xf16>
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 1>} : (tensor<64x131072xf16>) -> tensor<64x1xf16>
  %2 = "graph.mul"(%0, %0) : (tensor<64x131072xf16>, tensor<64x131072xf16>) -> tensor<64x131072xf16>
  %3 = "graph.reduce_sum"(%2) {dims = array<i64: 1>} : (tensor<64x131072xf16>) -> tensor<64x1xf16>
  %4 = "graph.sub"(%0, %1) : (tensor<64x131072xf16>, tensor<64x1xf16>) -> tensor<64x131072xf16>
  %5 = "graph.mul"(%4, %3) : (tensor<64x131072xf16>, tensor<64x1xf16>) -> tensor<64x131072xf16>
  "tile.write"(%5, %y) : (tensor<64x131072xf16>, !tile.buffer<f16, [64, 131072], [131072, 1]>) -> ()
}) {domain = [64, 131072], outputs = 1 : i64, reduced = array<i64: 1>, sym_name = "parts_of_few", symbols = []} : () -> ()

// CHECK-LABEL: "tile.kernel"
// CHECK: schedule = "split rows: {{.*}}", sym_name = "parts_of_very_few"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f16, [16, 40960], [40960, 1]>, %y: !tile.buffer<f16, [16, 40960], [40960, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f16, [16, 40960], [40960, 1]>) -> tensor<16x40960xf16>
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 1>} : (tensor<16x40960xf16>) -> tensor<16x1xf16>
  %2 = "graph.mul"(%0, %0) : (tensor<16x40960xf16>, tensor<16x40960xf16>) -> tensor<16x40960xf16>
  %3 = "graph.reduce_sum"(%2) {dims = array<i64: 1>} : (tensor<16x40960xf16>) -> tensor<16x1xf16>
  %4 = "graph.sub"(%0, %1) : (tensor<16x40960xf16>, tensor<16x1xf16>) -> tensor<16x40960xf16>
  %5 = "graph.mul"(%4, %3) : (tensor<16x40960xf16>, tensor<16x1xf16>) -> tensor<16x40960xf16>
  "tile.write"(%5, %y) : (tensor<16x40960xf16>, !tile.buffer<f16, [16, 40960], [40960, 1]>) -> ()
}) {domain = [16, 40960], outputs = 1 : i64, reduced = array<i64: 1>, sym_name = "parts_of_very_few", symbols = []} : () -> ()

// CHECK-LABEL: "tile.kernel"
// CHECK: schedule = "split rows: {{.*}}", sym_name = "parts_of_long"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f16, [128, 262144], [262144, 1]>, %y: !tile.buffer<f16, [128, 262144], [262144, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f16, [128, 262144], [262144, 1]>) -> tensor<128x262144xf16>
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 1>} : (tensor<128x262144xf16>) -> tensor<128x1xf16>
  %2 = "graph.mul"(%0, %0) : (tensor<128x262144xf16>, tensor<128x262144xf16>) -> tensor<128x262144xf16>
  %3 = "graph.reduce_sum"(%2) {dims = array<i64: 1>} : (tensor<128x262144xf16>) -> tensor<128x1xf16>
  %4 = "graph.sub"(%0, %1) : (tensor<128x262144xf16>, tensor<128x1xf16>) -> tensor<128x262144xf16>
  %5 = "graph.mul"(%4, %3) : (tensor<128x262144xf16>, tensor<128x1xf16>) -> tensor<128x262144xf16>
  "tile.write"(%5, %y) : (tensor<128x262144xf16>, !tile.buffer<f16, [128, 262144], [262144, 1]>) -> ()
}) {domain = [128, 262144], outputs = 1 : i64, reduced = array<i64: 1>, sym_name = "parts_of_long", symbols = []} : () -> ()

// Sums of few short columns: narrow blocks, which hold them whole.
// CHECK-LABEL: "tile.kernel"
// CHECK: schedule = "columns: {{.*}}, blocks of 32 along d0 of 32 x 32 along d1 of 1536, 4 warps of 8 elements{{.*}}", sym_name = "few_short_columns"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<bf16, [32, 1536], [1536, 1]>, %y: !tile.buffer<bf16, [1, 1536], [1536, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<bf16, [32, 1536], [1536, 1]>) -> tensor<32x1536xbf16>
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 0>} : (tensor<32x1536xbf16>) -> tensor<1x1536xbf16>
  "tile.write"(%1, %y) : (tensor<1x1536xbf16>, !tile.buffer<bf16, [1, 1536], [1536, 1]>) -> ()
}) {domain = [32, 1536], outputs = 1 : i64, reduced = array<i64: 0>, sym_name = "few_short_columns", symbols = []} : () -> ()

// Some steps of a loop are not worth parts; more are, with blocks of 64.
// CHECK-LABEL: "tile.kernel"
// CHECK: schedule = "columns: {{.*}}, blocks of 128 along d0 of 512 in a loop x 32 along d1 of 2688, 16 warps of 8 elements{{.*}}", sym_name = "few_columns"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<bf16, [512, 2688], [2688, 1]>, %y: !tile.buffer<bf16, [1, 2688], [2688, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<bf16, [512, 2688], [2688, 1]>) -> tensor<512x2688xbf16>
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 0>} : (tensor<512x2688xbf16>) -> tensor<1x2688xbf16>
  "tile.write"(%1, %y) : (tensor<1x2688xbf16>, !tile.buffer<bf16, [1, 2688], [2688, 1]>) -> ()
}) {domain = [512, 2688], outputs = 1 : i64, reduced = array<i64: 0>, sym_name = "few_columns", symbols = []} : () -> ()

// CHECK-LABEL: "tile.kernel"
// CHECK: schedule = "split columns: {{.*}}, blocks of 32 along d0 of 1024 in a loop x 64 along d1 of 4096, {{.*}} in 8 parts", sym_name = "few_long_columns"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<bf16, [1024, 4096], [4096, 1]>, %y: !tile.buffer<bf16, [1, 4096], [4096, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<bf16, [1024, 4096], [4096, 1]>) -> tensor<1024x4096xbf16>
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 0>} : (tensor<1024x4096xbf16>) -> tensor<1x4096xbf16>
  "tile.write"(%1, %y) : (tensor<1x4096xbf16>, !tile.buffer<bf16, [1, 4096], [4096, 1]>) -> ()
}) {domain = [1024, 4096], outputs = 1 : i64, reduced = array<i64: 0>, sym_name = "few_long_columns", symbols = []} : () -> ()

// Much arithmetic along long columns, which narrow blocks share out to all processors;
// and many short ones, of which blocks are wide.
// CHECK-LABEL: "tile.kernel"
// CHECK: schedule = "columns: {{.*}}, blocks of 128 along d0 of 1365 in a loop x 32 along d1 of 12288, 16 warps of 8 elements{{.*}}", sym_name = "costly_columns"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [1365, 12288], [12288, 1]>, %y: !tile.buffer<f32, [1, 12288], [12288, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [1365, 12288], [12288, 1]>) -> tensor<1365x12288xf32>
  %1 = "graph.erf"(%0) : (tensor<1365x12288xf32>) -> tensor<1365x12288xf32>
  %2 = "graph.reduce_sum"(%1) {dims = array<i64: 0>} : (tensor<1365x12288xf32>) -> tensor<1x12288xf32>
  "tile.write"(%2, %y) : (tensor<1x12288xf32>, !tile.buffer<f32, [1, 12288], [12288, 1]>) -> ()
}) {domain = [1365, 12288], outputs = 1 : i64, reduced = array<i64: 0>, sym_name = "costly_columns", symbols = []} : () -> ()

// CHECK-LABEL: "tile.kernel"
// CHECK: schedule = "columns: {{.*}} x 64 along d1 of 32768, {{.*}}", sym_name = "many_short_columns"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<bf16, [32, 32768], [32768, 1]>, %y: !tile.buffer<bf16, [1, 32768], [32768, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<bf16, [32, 32768], [32768, 1]>) -> tensor<32x32768xbf16>
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 0>} : (tensor<32x32768xbf16>) -> tensor<1x32768xbf16>
  "tile.write"(%1, %y) : (tensor<1x32768xbf16>, !tile.buffer<bf16, [1, 32768], [32768, 1]>) -> ()
}) {domain = [32, 32768], outputs = 1 : i64, reduced = array<i64: 0>, sym_name = "many_short_columns", symbols = []} : () -> ()

// Parts of few results: as many as there are, and few for each program, which needs
// one warp. A loss of two long rows has parts for most processors.
// CHECK-LABEL: "tile.kernel"
// CHECK: vector<32x2xf32>
// CHECK: num_warps = 1
// CHECK: schedule = "split rows: {{.*}} in 32 parts", sym_name = "parts_of_two"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [2, 128256], [128256, 1]>, %y: !tile.buffer<f32, [2, 1], [1, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [2, 128256], [128256, 1]>) -> tensor<2x128256xf32>
  %1 = "graph.reduce_max"(%0) {dims = array<i64: 1>} : (tensor<2x128256xf32>) -> tensor<2x1xf32>
  "tile.write"(%1, %y) : (tensor<2x1xf32>, !tile.buffer<f32, [2, 1], [1, 1]>) -> ()
}) {domain = [2, 128256], outputs = 1 : i64, reduced = array<i64: 1>, sym_name = "parts_of_two", symbols = []} : () -> ()

// CHECK-LABEL: "tile.kernel"
// CHECK: vector<8x8xf32>
// CHECK: num_warps = 1
// CHECK: schedule = "split rows: {{.*}} in 8 parts", sym_name = "parts_of_some"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [32, 65536], [65536, 1]>, %y: !tile.buffer<f32, [32, 1], [1, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [32, 65536], [65536, 1]>) -> tensor<32x65536xf32>
  %1 = "graph.reduce_max"(%0) {dims = array<i64: 1>} : (tensor<32x65536xf32>) -> tensor<32x1xf32>
  "tile.write"(%1, %y) : (tensor<32x1xf32>, !tile.buffer<f32, [32, 1], [1, 1]>) -> ()
}) {domain = [32, 65536], outputs = 1 : i64, reduced = array<i64: 1>, sym_name = "parts_of_some", symbols = []} : () -> ()

// Many results: a line for each program.
// CHECK-LABEL: "tile.kernel"
// CHECK: vector<8x32xf32>
// CHECK: num_warps = 1
// CHECK: schedule = "split columns: {{.*}} in 8 parts", sym_name = "parts_of_many"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [1024, 4096], [4096, 1]>, %y: !tile.buffer<f32, [1, 4096], [4096, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [1024, 4096], [4096, 1]>) -> tensor<1024x4096xf32>
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 0>} : (tensor<1024x4096xf32>) -> tensor<1x4096xf32>
  "tile.write"(%1, %y) : (tensor<1x4096xf32>, !tile.buffer<f32, [1, 4096], [4096, 1]>) -> ()
}) {domain = [1024, 4096], outputs = 1 : i64, reduced = array<i64: 0>, sym_name = "parts_of_many", symbols = []} : () -> ()
