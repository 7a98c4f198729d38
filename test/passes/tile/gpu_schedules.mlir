// RUN: %girih-opt --pass-pipeline='tile{target=gpu}' %s | filecheck %s

// Merged coordinates: blocks of one dim, masked where they do not fit exactly.
// CHECK-LABEL: "tile.kernel"
// CHECK: [[STEP:%.+]] = vector.step : vector<1024xindex>
// CHECK: [[MASK:%.+]] = arith.cmpi slt
// CHECK: "tile.load"(%arg0, {{.*}}, [[MASK]]) {{.*}} -> vector<1024xf32>
// CHECK: "tile.store"({{.*}}, %arg1, {{.*}}, [[MASK]])
// CHECK: num_warps = 4 : i64
// CHECK: schedule = "flat: {{.*}}", sym_name = "flat"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [999, 2000], [2000, 1]>, %y: !tile.buffer<f32, [999, 2000], [2000, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [999, 2000], [2000, 1]>) -> tensor<999x2000xf32>
  %1 = "graph.neg"(%0) : (tensor<999x2000xf32>) -> tensor<999x2000xf32>
  "tile.write"(%1, %y) : (tensor<999x2000xf32>, !tile.buffer<f32, [999, 2000], [2000, 1]>) -> ()
}) {domain = [999, 2000], outputs = 1 : i64, reduced = array<i64>, sym_name = "flat", symbols = []} : () -> ()

// A mask of a size that is no multiple of 16 would make all accesses narrow: whole
// blocks have none.
// CHECK-LABEL: "tile.kernel"
// CHECK: "tile.loop"
// CHECK: "tile.load"(%arg0, {{[^,]*}}, %c1) {
// CHECK: "tile.store"({{[^,]*}}, %arg1, {{[^,]*}}, %c1) {
// CHECK: "tile.loop"
// CHECK: ^bb0([[I:%.+]]: index, [[INSIDE:%.+]]: vector<1024xi1>):
// CHECK: "tile.load"(%arg0, {{.*}}, [[INSIDE]])
// CHECK: schedule = "flat: {{.*}} in a loop{{.*}}", sym_name = "odd"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [999, 2001], [2001, 1]>, %y: !tile.buffer<f32, [999, 2001], [2001, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [999, 2001], [2001, 1]>) -> tensor<999x2001xf32>
  %1 = "graph.neg"(%0) : (tensor<999x2001xf32>) -> tensor<999x2001xf32>
  "tile.write"(%1, %y) : (tensor<999x2001xf32>, !tile.buffer<f32, [999, 2001], [2001, 1]>) -> ()
}) {domain = [999, 2001], outputs = 1 : i64, reduced = array<i64>, sym_name = "odd", symbols = []} : () -> ()

// Blocks that fit exactly need no mask.
// CHECK-LABEL: "tile.kernel"
// CHECK-NOT: arith.cmpi
// CHECK: "tile.load"(%arg0, {{[^,]*}}, %c1) {
// CHECK: sym_name = "exact"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [64, 1024], [1024, 1]>, %y: !tile.buffer<f32, [64, 1024], [1024, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [64, 1024], [1024, 1]>) -> tensor<64x1024xf32>
  %1 = "graph.neg"(%0) : (tensor<64x1024xf32>) -> tensor<64x1024xf32>
  "tile.write"(%1, %y) : (tensor<64x1024xf32>, !tile.buffer<f32, [64, 1024], [1024, 1]>) -> ()
}) {domain = [64, 1024], outputs = 1 : i64, reduced = array<i64>, sym_name = "exact", symbols = []} : () -> ()

// A transposed input: blocks of two dims, contiguous on both sides.
// CHECK-LABEL: "tile.kernel"
// CHECK: "tile.load"(%arg0, {{[^,]*}}, %c1, %c640) {{.*}} -> vector<64x32xf32>
// CHECK: "tile.store"({{[^,]*}}, %arg1, {{[^,]*}}, %c96, %c1)
// CHECK: schedule = "transposed: {{.*}}", sym_name = "transposed"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [640, 96], [1, 640]>, %y: !tile.buffer<f32, [640, 96], [96, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [640, 96], [1, 640]>) -> tensor<640x96xf32>
  %1 = "graph.neg"(%0) : (tensor<640x96xf32>) -> tensor<640x96xf32>
  "tile.write"(%1, %y) : (tensor<640x96xf32>, !tile.buffer<f32, [640, 96], [96, 1]>) -> ()
}) {domain = [640, 96], outputs = 1 : i64, reduced = array<i64>, sym_name = "transposed", symbols = []} : () -> ()

// Rows that fit stay in the block: one load, no loop.
// CHECK-LABEL: "tile.kernel"
// CHECK-NOT: "tile.loop"
// CHECK: [[X:%.+]] = "tile.load"{{.*}} -> vector<4x256xf32>
// CHECK-NOT: "tile.load"
// CHECK: vector.multi_reduction <add>, {{.*}} [1] : vector<4x256xf32> to vector<4xf32>
// CHECK: vector.shape_cast {{.*}} : vector<4xf32> to vector<4x1xf32>
// CHECK: vector.broadcast {{.*}} : vector<4x1xf32> to vector<4x256xf32>
// CHECK: arith.subf [[X]]
// CHECK: schedule = "registers: {{.*}}", sym_name = "centred"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [4096, 250], [250, 1]>, %y: !tile.buffer<f32, [4096, 250], [250, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [4096, 250], [250, 1]>) -> tensor<4096x250xf32>
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 1>} : (tensor<4096x250xf32>) -> tensor<4096x1xf32>
  %2 = "graph.sub"(%0, %1) : (tensor<4096x250xf32>, tensor<4096x1xf32>) -> tensor<4096x250xf32>
  "tile.write"(%2, %y) : (tensor<4096x250xf32>, !tile.buffer<f32, [4096, 250], [250, 1]>) -> ()
}) {domain = [4096, 250], outputs = 1 : i64, reduced = array<i64: 1>, sym_name = "centred", symbols = []} : () -> ()

// Long rows are walked in whole chunks; what is left is masked, and the lanes are
// combined once.
// CHECK-LABEL: "tile.kernel"
// CHECK: [[WHOLE:%.+]] = "tile.loop"({{[^,]*}}, {{[^,]*}}, %cst)
// CHECK-NOT: arith.select
// CHECK: "tile.load"{{.*}} -> vector<2048xf32>
// CHECK: vector.multi_reduction <add>, {{.*}} [1] : vector<512x4xf32> to vector<512xf32>
// CHECK: arith.addf {{.*}} : vector<512xf32>
// CHECK: "tile.yield"
// CHECK: [[SUM:%.+]] = "tile.loop"({{[^,]*}}, {{[^,]*}}, [[WHOLE]])
// CHECK: arith.select
// CHECK: "tile.yield"
// CHECK: vector.reduction <add>, [[SUM]] : vector<512xf32> into f32
// CHECK: num_warps = 4
// CHECK: schedule = "rows: {{.*}}", sym_name = "long"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [4096, 50000], [50000, 1]>, %y: !tile.buffer<f32, [4096, 1], [1, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [4096, 50000], [50000, 1]>) -> tensor<4096x50000xf32>
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 1>} : (tensor<4096x50000xf32>) -> tensor<4096x1xf32>
  "tile.write"(%1, %y) : (tensor<4096x1xf32>, !tile.buffer<f32, [4096, 1], [1, 1]>) -> ()
}) {domain = [4096, 50000], outputs = 1 : i64, reduced = array<i64: 1>, sym_name = "long", symbols = []} : () -> ()

// Few long rows are split over programs.
// CHECK-LABEL: "tile.kernel"
// CHECK: [[PARTS:%.+]] = "tile.workspace"
// CHECK: "tile.grid"
// CHECK: "tile.store"({{[^,]*}}, [[PARTS]]
// CHECK: "tile.grid"
// CHECK: "tile.load"([[PARTS]]
// CHECK: "tile.store"({{[^,]*}}, %arg1
// CHECK: schedule = "split rows: {{.*}} parts", sym_name = "few"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [2, 500000], [500000, 1]>, %y: !tile.buffer<f32, [2, 1], [1, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [2, 500000], [500000, 1]>) -> tensor<2x500000xf32>
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 1>} : (tensor<2x500000xf32>) -> tensor<2x1xf32>
  "tile.write"(%1, %y) : (tensor<2x1xf32>, !tile.buffer<f32, [2, 1], [1, 1]>) -> ()
}) {domain = [2, 500000], outputs = 1 : i64, reduced = array<i64: 1>, sym_name = "few", symbols = []} : () -> ()

// Across memory: results lie along the columns, rows are looped over.
// CHECK-LABEL: "tile.kernel"
// CHECK: "tile.loop"{{.*}}
// CHECK: "tile.load"{{.*}} -> vector<64x64xf32>
// CHECK: vector.multi_reduction <add>, {{.*}} [0] : vector<64x64xf32> to vector<64xf32>
// CHECK: "tile.store"({{.*}}vector<1x64xf32>
// CHECK: schedule = "columns: {{.*}}", sym_name = "columns"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [500, 65536], [65536, 1]>, %y: !tile.buffer<f32, [1, 65536], [65536, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [500, 65536], [65536, 1]>) -> tensor<500x65536xf32>
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 0>} : (tensor<500x65536xf32>) -> tensor<1x65536xf32>
  "tile.write"(%1, %y) : (tensor<1x65536xf32>, !tile.buffer<f32, [1, 65536], [65536, 1]>) -> ()
}) {domain = [500, 65536], outputs = 1 : i64, reduced = array<i64: 0>, sym_name = "columns", symbols = []} : () -> ()

// 16-bit rows that start anywhere are one row; what they share is gathered.
// CHECK-LABEL: "tile.kernel"
// CHECK: "tile.load"(%arg0, {{.*}} -> vector<1024xf16>
// CHECK: arith.remui {{.*}} : vector<1024xindex>
// CHECK: "tile.gather"(%arg1
// CHECK: schedule = "flat: {{.*}}", sym_name = "bias"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f16, [999, 2001], [2001, 1]>, %b: !tile.buffer<f16, [2001], [1]>, %y: !tile.buffer<f16, [999, 2001], [2001, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f16, [999, 2001], [2001, 1]>) -> tensor<999x2001xf16>
  %1 = "tile.read"(%b) : (!tile.buffer<f16, [2001], [1]>) -> tensor<2001xf16>
  %2 = "graph.add"(%0, %1) : (tensor<999x2001xf16>, tensor<2001xf16>) -> tensor<999x2001xf16>
  "tile.write"(%2, %y) : (tensor<999x2001xf16>, !tile.buffer<f16, [999, 2001], [2001, 1]>) -> ()
}) {domain = [999, 2001], outputs = 1 : i64, reduced = array<i64>, sym_name = "bias", symbols = []} : () -> ()

// A softmax of long rows: the maximum and the sum of exponentials in one walk, then
// another one backwards. Rows that start anywhere are peeled: masked, whole and aligned,
// masked.
// CHECK-LABEL: "tile.kernel"
// CHECK: [[FIRST:%.+]]:3 = "tile.loop"
// CHECK: [[WHOLE:%.+]]:3 = "tile.loop"({{[^,]*}}, {{[^,]*}}, [[FIRST]]#0, [[FIRST]]#1, [[FIRST]]#2)
// CHECK: arith.divui
// CHECK: arith.muli
// CHECK: "tile.load"
// CHECK: "tile.loop"({{[^,]*}}, {{[^,]*}}, [[WHOLE]]#0, [[WHOLE]]#1, [[WHOLE]]#2)
// CHECK: vector.reduction <maximumf>
// CHECK: vector.reduction <add>
// CHECK: arith.divf
// CHECK: "tile.loop"
// CHECK-NOT: arith.divf
// CHECK: "tile.store"
// CHECK: schedule = "rows: {{.*}}2 passes{{.*}}peeled", sym_name = "softmax"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [4096, 50001], [50001, 1]>, %y: !tile.buffer<f32, [4096, 50001], [50001, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [4096, 50001], [50001, 1]>) -> tensor<4096x50001xf32>
  %1 = "graph.reduce_max"(%0) {dims = array<i64: 1>} : (tensor<4096x50001xf32>) -> tensor<4096x1xf32>
  %2 = "graph.sub"(%0, %1) : (tensor<4096x50001xf32>, tensor<4096x1xf32>) -> tensor<4096x50001xf32>
  %3 = "graph.exp"(%2) : (tensor<4096x50001xf32>) -> tensor<4096x50001xf32>
  %4 = "graph.reduce_sum"(%3) {dims = array<i64: 1>} : (tensor<4096x50001xf32>) -> tensor<4096x1xf32>
  %5 = "graph.div"(%3, %4) : (tensor<4096x50001xf32>, tensor<4096x1xf32>) -> tensor<4096x50001xf32>
  "tile.write"(%5, %y) : (tensor<4096x50001xf32>, !tile.buffer<f32, [4096, 50001], [50001, 1]>) -> ()
}) {domain = [4096, 50001], outputs = 1 : i64, reduced = array<i64: 1>, sym_name = "softmax", symbols = []} : () -> ()

// A variance whose mean is another one's: nothing to merge.
// CHECK-LABEL: "tile.kernel"
// CHECK: schedule = "rows: {{.*}}2 passes
// CHECK-SAME: sym_name = "apart"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [4096, 50000], [50000, 1]>, %z: !tile.buffer<f32, [4096, 50000], [50000, 1]>, %y: !tile.buffer<f32, [4096, 1], [1, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [4096, 50000], [50000, 1]>) -> tensor<4096x50000xf32>
  %1 = "tile.read"(%z) : (!tile.buffer<f32, [4096, 50000], [50000, 1]>) -> tensor<4096x50000xf32>
  %2 = "graph.reduce_sum"(%1) {dims = array<i64: 1>} : (tensor<4096x50000xf32>) -> tensor<4096x1xf32>
  %3 = "graph.constant"() {value = 50000.0 : f64} : () -> tensor<f32>
  %4 = "graph.div"(%2, %3) : (tensor<4096x1xf32>, tensor<f32>) -> tensor<4096x1xf32>
  %5 = "graph.sub"(%0, %4) : (tensor<4096x50000xf32>, tensor<4096x1xf32>) -> tensor<4096x50000xf32>
  %6 = "graph.mul"(%5, %5) : (tensor<4096x50000xf32>, tensor<4096x50000xf32>) -> tensor<4096x50000xf32>
  %7 = "graph.reduce_sum"(%6) {dims = array<i64: 1>} : (tensor<4096x50000xf32>) -> tensor<4096x1xf32>
  "tile.write"(%7, %y) : (tensor<4096x1xf32>, !tile.buffer<f32, [4096, 1], [1, 1]>) -> ()
}) {domain = [4096, 50000], outputs = 1 : i64, reduced = array<i64: 1>, sym_name = "apart", symbols = []} : () -> ()

// Short rows with weights: a warp for each, and weights are loaded before the sums.
// CHECK-LABEL: "tile.kernel"
// CHECK: "tile.load"(%arg1, {{.*}} -> vector<1024xf16>
// CHECK: vector.reduction
// CHECK: schedule = "registers: {{.*}}1024 along d1 of 768, 1 warps of 32 elements
// CHECK-SAME: sym_name = "weighted"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f16, [32768, 768], [768, 1]>, %w: !tile.buffer<f16, [768], [1]>, %y: !tile.buffer<f16, [32768, 768], [768, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f16, [32768, 768], [768, 1]>) -> tensor<32768x768xf16>
  %1 = "tile.read"(%w) : (!tile.buffer<f16, [768], [1]>) -> tensor<768xf16>
  %2 = "graph.reduce_sum"(%0) {dims = array<i64: 1>} : (tensor<32768x768xf16>) -> tensor<32768x1xf16>
  %3 = "graph.mul"(%0, %2) : (tensor<32768x768xf16>, tensor<32768x1xf16>) -> tensor<32768x768xf16>
  %4 = "graph.mul"(%3, %1) : (tensor<32768x768xf16>, tensor<768xf16>) -> tensor<32768x768xf16>
  "tile.write"(%4, %y) : (tensor<32768x768xf16>, !tile.buffer<f16, [32768, 768], [768, 1]>) -> ()
}) {domain = [32768, 768], outputs = 1 : i64, reduced = array<i64: 1>, sym_name = "weighted", symbols = []} : () -> ()

// Reductions along two sets of dims: the reduced one lies in the block, the program walks
// along the closing one and has an accumulator for each element.
// CHECK-LABEL: "tile.kernel"
// CHECK: "tile.loop"
// CHECK: [[X:%.+]] = "tile.load"(%arg0, {{.*}} -> vector<8x256xf32>
// CHECK: vector.multi_reduction <maximumf>, [[X]], {{.*}} [0] : vector<8x256xf32> to vector<256xf32>
// CHECK: [[SUM:%.+]] = arith.addf {{.*}} : vector<8x256xf32>
// CHECK: "tile.yield"([[SUM]])
// CHECK: vector.multi_reduction <add>, {{.*}} [1] : vector<8x256xf32> to vector<8xf32>
// CHECK: "tile.store"({{.*}}, %arg1
// CHECK: schedule = "closing: 300 results of 1024 times 8 elements, {{.*}}", sym_name = "closing"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [300, 8, 1024], [8192, 1024, 1]>, %y: !tile.buffer<f32, [300, 8, 1], [8, 1, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [300, 8, 1024], [8192, 1024, 1]>) -> tensor<300x8x1024xf32>
  %1 = "graph.reduce_max"(%0) {dims = array<i64: 1>} : (tensor<300x8x1024xf32>) -> tensor<300x1x1024xf32>
  %2 = "graph.sub"(%0, %1) : (tensor<300x8x1024xf32>, tensor<300x1x1024xf32>) -> tensor<300x8x1024xf32>
  %3 = "graph.reduce_sum"(%2) {dims = array<i64: 2>} : (tensor<300x8x1024xf32>) -> tensor<300x8x1xf32>
  "tile.write"(%3, %y) : (tensor<300x8x1xf32>, !tile.buffer<f32, [300, 8, 1], [8, 1, 1]>) -> ()
}) {closing = array<i64: 2>, domain = [300, 8, 1024], outputs = 1 : i64, reduced = array<i64: 1>, sym_name = "closing", symbols = []} : () -> ()

// Each thread has results of windows, and walks through these in loops that are written
// out. Short rows of results are one row, as they lie in memory.
// CHECK-LABEL: "tile.kernel"
// CHECK: scf.for
// CHECK: scf.for
// CHECK: "tile.gather"(%arg0, {{.*}} -> vector<256xf16>
// CHECK: unroll = 3 : i64
// CHECK: unroll = 3 : i64
// CHECK: schedule = "windows: 7688 results of 3 x 3 elements, {{.*}}, 8 warps of 1 elements{{.*}}", sym_name = "windows"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f16, [8, 64, 64], [4096, 64, 1]>, %y: !tile.buffer<f16, [8, 31, 31, 1, 1], [961, 31, 1, 1, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f16, [8, 64, 64], [4096, 64, 1]>) -> tensor<8x64x64xf16>
  %1 = "graph.window"(%0) {dim = 1 : i64, step = 2 : i64} : (tensor<8x64x64xf16>) -> tensor<8x31x64x3xf16>
  %2 = "graph.window"(%1) {dim = 2 : i64, step = 2 : i64} : (tensor<8x31x64x3xf16>) -> tensor<8x31x31x3x3xf16>
  %3 = "graph.reduce_max"(%2) {dims = array<i64: 3, 4>} : (tensor<8x31x31x3x3xf16>) -> tensor<8x31x31x1x1xf16>
  "tile.write"(%3, %y) : (tensor<8x31x31x1x1xf16>, !tile.buffer<f16, [8, 31, 31, 1, 1], [961, 31, 1, 1, 1]>) -> ()
}) {domain = [8, 31, 31, 3, 3], outputs = 1 : i64, reduced = array<i64: 3, 4>, sym_name = "windows", symbols = []} : () -> ()

// Several sums of long narrow rows take fewer warps than one sum does.
// CHECK-LABEL: "tile.kernel"
// CHECK: num_warps = 16 : i64
// CHECK: schedule = "rows: {{.*}}", sym_name = "two_sums"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f16, [4096, 16384], [16384, 1]>, %w: !tile.buffer<f16, [16384], [1]>, %b: !tile.buffer<f16, [16384], [1]>, %y: !tile.buffer<f16, [4096, 16384], [16384, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f16, [4096, 16384], [16384, 1]>) -> tensor<4096x16384xf16>
  %1 = "tile.read"(%w) : (!tile.buffer<f16, [16384], [1]>) -> tensor<16384xf16>
  %2 = "tile.read"(%b) : (!tile.buffer<f16, [16384], [1]>) -> tensor<16384xf16>
  %3 = "graph.cast"(%0) : (tensor<4096x16384xf16>) -> tensor<4096x16384xf32>
  %4 = "graph.mul"(%3, %3) : (tensor<4096x16384xf32>, tensor<4096x16384xf32>) -> tensor<4096x16384xf32>
  %5 = "graph.reduce_sum"(%4) {dims = array<i64: 1>} : (tensor<4096x16384xf32>) -> tensor<4096x1xf32>
  %6 = "graph.reduce_sum"(%3) {dims = array<i64: 1>} : (tensor<4096x16384xf32>) -> tensor<4096x1xf32>
  %7 = "graph.cast"(%1) : (tensor<16384xf16>) -> tensor<16384xf32>
  %8 = "graph.cast"(%2) : (tensor<16384xf16>) -> tensor<16384xf32>
  %9 = "graph.mul"(%3, %5) : (tensor<4096x16384xf32>, tensor<4096x1xf32>) -> tensor<4096x16384xf32>
  %10 = "graph.mul"(%9, %7) : (tensor<4096x16384xf32>, tensor<16384xf32>) -> tensor<4096x16384xf32>
  %11 = "graph.add"(%10, %8) : (tensor<4096x16384xf32>, tensor<16384xf32>) -> tensor<4096x16384xf32>
  %12 = "graph.add"(%11, %6) : (tensor<4096x16384xf32>, tensor<4096x1xf32>) -> tensor<4096x16384xf32>
  %13 = "graph.cast"(%12) : (tensor<4096x16384xf32>) -> tensor<4096x16384xf16>
  "tile.write"(%13, %y) : (tensor<4096x16384xf16>, !tile.buffer<f16, [4096, 16384], [16384, 1]>) -> ()
}) {domain = [4096, 16384], outputs = 1 : i64, reduced = array<i64: 1>, sym_name = "two_sums", symbols = []} : () -> ()

// CHECK-LABEL: "tile.kernel"
// CHECK: num_warps = 8 : i64
// CHECK: schedule = "rows: {{.*}}", sym_name = "two_sums_of_less"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f16, [4096, 8704], [8704, 1]>, %w: !tile.buffer<f16, [8704], [1]>, %b: !tile.buffer<f16, [8704], [1]>, %y: !tile.buffer<f16, [4096, 8704], [8704, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f16, [4096, 8704], [8704, 1]>) -> tensor<4096x8704xf16>
  %1 = "tile.read"(%w) : (!tile.buffer<f16, [8704], [1]>) -> tensor<8704xf16>
  %2 = "tile.read"(%b) : (!tile.buffer<f16, [8704], [1]>) -> tensor<8704xf16>
  %3 = "graph.cast"(%0) : (tensor<4096x8704xf16>) -> tensor<4096x8704xf32>
  %4 = "graph.mul"(%3, %3) : (tensor<4096x8704xf32>, tensor<4096x8704xf32>) -> tensor<4096x8704xf32>
  %5 = "graph.reduce_sum"(%4) {dims = array<i64: 1>} : (tensor<4096x8704xf32>) -> tensor<4096x1xf32>
  %6 = "graph.reduce_sum"(%3) {dims = array<i64: 1>} : (tensor<4096x8704xf32>) -> tensor<4096x1xf32>
  %7 = "graph.cast"(%1) : (tensor<8704xf16>) -> tensor<8704xf32>
  %8 = "graph.cast"(%2) : (tensor<8704xf16>) -> tensor<8704xf32>
  %9 = "graph.mul"(%3, %5) : (tensor<4096x8704xf32>, tensor<4096x1xf32>) -> tensor<4096x8704xf32>
  %10 = "graph.mul"(%9, %7) : (tensor<4096x8704xf32>, tensor<8704xf32>) -> tensor<4096x8704xf32>
  %11 = "graph.add"(%10, %8) : (tensor<4096x8704xf32>, tensor<8704xf32>) -> tensor<4096x8704xf32>
  %12 = "graph.add"(%11, %6) : (tensor<4096x8704xf32>, tensor<4096x1xf32>) -> tensor<4096x8704xf32>
  %13 = "graph.cast"(%12) : (tensor<4096x8704xf32>) -> tensor<4096x8704xf16>
  "tile.write"(%13, %y) : (tensor<4096x8704xf16>, !tile.buffer<f16, [4096, 8704], [8704, 1]>) -> ()
}) {domain = [4096, 8704], outputs = 1 : i64, reduced = array<i64: 1>, sym_name = "two_sums_of_less", symbols = []} : () -> ()

// CHECK-LABEL: "tile.kernel"
// CHECK: num_warps = 32 : i64
// CHECK: schedule = "rows: {{.*}}", sym_name = "one_sum"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f16, [4096, 16384], [16384, 1]>, %w: !tile.buffer<f16, [16384], [1]>, %b: !tile.buffer<f16, [16384], [1]>, %y: !tile.buffer<f16, [4096, 16384], [16384, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f16, [4096, 16384], [16384, 1]>) -> tensor<4096x16384xf16>
  %1 = "tile.read"(%w) : (!tile.buffer<f16, [16384], [1]>) -> tensor<16384xf16>
  %2 = "tile.read"(%b) : (!tile.buffer<f16, [16384], [1]>) -> tensor<16384xf16>
  %3 = "graph.cast"(%0) : (tensor<4096x16384xf16>) -> tensor<4096x16384xf32>
  %4 = "graph.mul"(%3, %3) : (tensor<4096x16384xf32>, tensor<4096x16384xf32>) -> tensor<4096x16384xf32>
  %5 = "graph.reduce_sum"(%4) {dims = array<i64: 1>} : (tensor<4096x16384xf32>) -> tensor<4096x1xf32>
  %7 = "graph.cast"(%1) : (tensor<16384xf16>) -> tensor<16384xf32>
  %8 = "graph.cast"(%2) : (tensor<16384xf16>) -> tensor<16384xf32>
  %9 = "graph.mul"(%3, %5) : (tensor<4096x16384xf32>, tensor<4096x1xf32>) -> tensor<4096x16384xf32>
  %10 = "graph.mul"(%9, %7) : (tensor<4096x16384xf32>, tensor<16384xf32>) -> tensor<4096x16384xf32>
  %11 = "graph.add"(%10, %8) : (tensor<4096x16384xf32>, tensor<16384xf32>) -> tensor<4096x16384xf32>
  %12 = "graph.add"(%11, %5) : (tensor<4096x16384xf32>, tensor<4096x1xf32>) -> tensor<4096x16384xf32>
  %13 = "graph.cast"(%12) : (tensor<4096x16384xf32>) -> tensor<4096x16384xf16>
  "tile.write"(%13, %y) : (tensor<4096x16384xf16>, !tile.buffer<f16, [4096, 16384], [16384, 1]>) -> ()
}) {domain = [4096, 16384], outputs = 1 : i64, reduced = array<i64: 1>, sym_name = "one_sum", symbols = []} : () -> ()

// A mean of a power of two, which is a product, spares a walk as others do.
// CHECK-LABEL: "tile.kernel"
// CHECK: schedule = "split columns: {{.*}}, 1 passes, {{.*}}", sym_name = "variance_of_2048"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [2048, 256], [256, 1]>, %y: !tile.buffer<f32, [1, 256], [256, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [2048, 256], [256, 1]>) -> tensor<2048x256xf32>
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 0>} : (tensor<2048x256xf32>) -> tensor<1x256xf32>
  %2 = "graph.constant"() {value = 2048.0 : f64} : () -> tensor<f32>
  %3 = "graph.div"(%1, %2) : (tensor<1x256xf32>, tensor<f32>) -> tensor<1x256xf32>
  %4 = "graph.sub"(%0, %3) : (tensor<2048x256xf32>, tensor<1x256xf32>) -> tensor<2048x256xf32>
  %5 = "graph.mul"(%4, %4) : (tensor<2048x256xf32>, tensor<2048x256xf32>) -> tensor<2048x256xf32>
  %6 = "graph.reduce_sum"(%5) {dims = array<i64: 0>} : (tensor<2048x256xf32>) -> tensor<1x256xf32>
  "tile.write"(%6, %y) : (tensor<1x256xf32>, !tile.buffer<f32, [1, 256], [256, 1]>) -> ()
}) {domain = [2048, 256], outputs = 1 : i64, reduced = array<i64: 0>, sym_name = "variance_of_2048", symbols = []} : () -> ()

// Short 16-bit rows with little arithmetic are walked by one warp.
// CHECK-LABEL: "tile.kernel"
// CHECK: schedule = "rows: {{.*}} 256 along d1 of 768 in a loop, 1 warps of 8 elements{{.*}}", sym_name = "walked_by_warp"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<bf16, [4096, 768], [768, 1]>, %y: !tile.buffer<bf16, [4096, 768], [768, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<bf16, [4096, 768], [768, 1]>) -> tensor<4096x768xbf16>
  %1 = "graph.cast"(%0) : (tensor<4096x768xbf16>) -> tensor<4096x768xf32>
  %3 = "graph.mul"(%1, %1) : (tensor<4096x768xf32>, tensor<4096x768xf32>) -> tensor<4096x768xf32>
  %4 = "graph.reduce_sum"(%3) {dims = array<i64: 1>} : (tensor<4096x768xf32>) -> tensor<4096x1xf32>
  %5 = "graph.rsqrt"(%4) : (tensor<4096x1xf32>) -> tensor<4096x1xf32>
  %6 = "graph.mul"(%1, %5) : (tensor<4096x768xf32>, tensor<4096x1xf32>) -> tensor<4096x768xf32>
  %7 = "graph.cast"(%6) : (tensor<4096x768xf32>) -> tensor<4096x768xbf16>
  "tile.write"(%7, %y) : (tensor<4096x768xbf16>, !tile.buffer<bf16, [4096, 768], [768, 1]>) -> ()
}) {domain = [4096, 768], outputs = 1 : i64, reduced = array<i64: 1>, sym_name = "walked_by_warp", symbols = []} : () -> ()

// CHECK-LABEL: "tile.kernel"
// CHECK: schedule = "rows: {{.*}} 256 along d1 of 1024 in a loop, 1 warps of 8 elements{{.*}}", sym_name = "few_walked_by_warp"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f16, [64, 1024], [1024, 1]>, %y: !tile.buffer<f16, [64, 1024], [1024, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f16, [64, 1024], [1024, 1]>) -> tensor<64x1024xf16>
  %1 = "graph.cast"(%0) : (tensor<64x1024xf16>) -> tensor<64x1024xf32>
  %3 = "graph.mul"(%1, %1) : (tensor<64x1024xf32>, tensor<64x1024xf32>) -> tensor<64x1024xf32>
  %4 = "graph.reduce_sum"(%3) {dims = array<i64: 1>} : (tensor<64x1024xf32>) -> tensor<64x1xf32>
  %5 = "graph.rsqrt"(%4) : (tensor<64x1xf32>) -> tensor<64x1xf32>
  %6 = "graph.mul"(%1, %5) : (tensor<64x1024xf32>, tensor<64x1xf32>) -> tensor<64x1024xf32>
  %7 = "graph.cast"(%6) : (tensor<64x1024xf32>) -> tensor<64x1024xf16>
  "tile.write"(%7, %y) : (tensor<64x1024xf16>, !tile.buffer<f16, [64, 1024], [1024, 1]>) -> ()
}) {domain = [64, 1024], outputs = 1 : i64, reduced = array<i64: 1>, sym_name = "few_walked_by_warp", symbols = []} : () -> ()

// Where blocks do not cover a row exactly, or arithmetic would be done again, one warp
// holds it.
// CHECK-LABEL: "tile.kernel"
// CHECK: schedule = "registers: {{.*}}, blocks of 1024 along d1 of 1000, 1 warps of 32 elements{{.*}}", sym_name = "outside_of_block"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<bf16, [4096, 1000], [1000, 1]>, %y: !tile.buffer<bf16, [4096, 1000], [1000, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<bf16, [4096, 1000], [1000, 1]>) -> tensor<4096x1000xbf16>
  %1 = "graph.cast"(%0) : (tensor<4096x1000xbf16>) -> tensor<4096x1000xf32>
  %3 = "graph.mul"(%1, %1) : (tensor<4096x1000xf32>, tensor<4096x1000xf32>) -> tensor<4096x1000xf32>
  %4 = "graph.reduce_sum"(%3) {dims = array<i64: 1>} : (tensor<4096x1000xf32>) -> tensor<4096x1xf32>
  %5 = "graph.rsqrt"(%4) : (tensor<4096x1xf32>) -> tensor<4096x1xf32>
  %6 = "graph.mul"(%1, %5) : (tensor<4096x1000xf32>, tensor<4096x1xf32>) -> tensor<4096x1000xf32>
  %7 = "graph.cast"(%6) : (tensor<4096x1000xf32>) -> tensor<4096x1000xbf16>
  "tile.write"(%7, %y) : (tensor<4096x1000xbf16>, !tile.buffer<bf16, [4096, 1000], [1000, 1]>) -> ()
}) {domain = [4096, 1000], outputs = 1 : i64, reduced = array<i64: 1>, sym_name = "outside_of_block", symbols = []} : () -> ()

// CHECK-LABEL: "tile.kernel"
// CHECK: schedule = "registers: {{.*}}, blocks of 1024 along d1 of 768, 1 warps of 32 elements{{.*}}", sym_name = "exponential_held"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<bf16, [4096, 768], [768, 1]>, %y: !tile.buffer<bf16, [4096, 768], [768, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<bf16, [4096, 768], [768, 1]>) -> tensor<4096x768xbf16>
  %1 = "graph.cast"(%0) : (tensor<4096x768xbf16>) -> tensor<4096x768xf32>
  %2 = "graph.exp"(%1) : (tensor<4096x768xf32>) -> tensor<4096x768xf32>
  %3 = "graph.mul"(%2, %2) : (tensor<4096x768xf32>, tensor<4096x768xf32>) -> tensor<4096x768xf32>
  %4 = "graph.reduce_sum"(%3) {dims = array<i64: 1>} : (tensor<4096x768xf32>) -> tensor<4096x1xf32>
  %5 = "graph.rsqrt"(%4) : (tensor<4096x1xf32>) -> tensor<4096x1xf32>
  %6 = "graph.mul"(%2, %5) : (tensor<4096x768xf32>, tensor<4096x1xf32>) -> tensor<4096x768xf32>
  %7 = "graph.cast"(%6) : (tensor<4096x768xf32>) -> tensor<4096x768xbf16>
  "tile.write"(%7, %y) : (tensor<4096x768xbf16>, !tile.buffer<bf16, [4096, 768], [768, 1]>) -> ()
}) {domain = [4096, 768], outputs = 1 : i64, reduced = array<i64: 1>, sym_name = "exponential_held", symbols = []} : () -> ()

// Rows of f32 and much arithmetic have more warps.
// CHECK-LABEL: "tile.kernel"
// CHECK: schedule = "registers: {{.*}}, 2 warps of 16 elements{{.*}}", sym_name = "wide_short_rows"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [4096, 768], [768, 1]>, %y: !tile.buffer<f32, [4096, 768], [768, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [4096, 768], [768, 1]>) -> tensor<4096x768xf32>
  %3 = "graph.mul"(%0, %0) : (tensor<4096x768xf32>, tensor<4096x768xf32>) -> tensor<4096x768xf32>
  %4 = "graph.reduce_sum"(%3) {dims = array<i64: 1>} : (tensor<4096x768xf32>) -> tensor<4096x1xf32>
  %5 = "graph.rsqrt"(%4) : (tensor<4096x1xf32>) -> tensor<4096x1xf32>
  %6 = "graph.mul"(%0, %5) : (tensor<4096x768xf32>, tensor<4096x1xf32>) -> tensor<4096x768xf32>
  "tile.write"(%6, %y) : (tensor<4096x768xf32>, !tile.buffer<f32, [4096, 768], [768, 1]>) -> ()
}) {domain = [4096, 768], outputs = 1 : i64, reduced = array<i64: 1>, sym_name = "wide_short_rows", symbols = []} : () -> ()

// CHECK-LABEL: "tile.kernel"
// CHECK: schedule = "registers: {{.*}} 2 along d0 {{.*}}, 4 warps of 16 elements{{.*}}", sym_name = "costly_short_rows"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<bf16, [4096, 768], [768, 1]>, %y: !tile.buffer<bf16, [4096, 768], [768, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<bf16, [4096, 768], [768, 1]>) -> tensor<4096x768xbf16>
  %1 = "graph.cast"(%0) : (tensor<4096x768xbf16>) -> tensor<4096x768xf32>
  %2 = "graph.erf"(%1) : (tensor<4096x768xf32>) -> tensor<4096x768xf32>
  %3 = "graph.mul"(%2, %2) : (tensor<4096x768xf32>, tensor<4096x768xf32>) -> tensor<4096x768xf32>
  %4 = "graph.reduce_sum"(%3) {dims = array<i64: 1>} : (tensor<4096x768xf32>) -> tensor<4096x1xf32>
  %5 = "graph.rsqrt"(%4) : (tensor<4096x1xf32>) -> tensor<4096x1xf32>
  %6 = "graph.mul"(%2, %5) : (tensor<4096x768xf32>, tensor<4096x1xf32>) -> tensor<4096x768xf32>
  %7 = "graph.cast"(%6) : (tensor<4096x768xf32>) -> tensor<4096x768xbf16>
  "tile.write"(%7, %y) : (tensor<4096x768xbf16>, !tile.buffer<bf16, [4096, 768], [768, 1]>) -> ()
}) {domain = [4096, 768], outputs = 1 : i64, reduced = array<i64: 1>, sym_name = "costly_short_rows", symbols = []} : () -> ()

// Many short rows of f32 are walked though they are read once.
// CHECK-LABEL: "tile.kernel"
// CHECK: schedule = "rows: {{.*}} along d1 of 768 in a loop, 4 warps of 16 elements{{.*}}", sym_name = "many_sums"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [16384, 768], [768, 1]>, %y: !tile.buffer<f32, [16384, 1], [1, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [16384, 768], [768, 1]>) -> tensor<16384x768xf32>
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 1>} : (tensor<16384x768xf32>) -> tensor<16384x1xf32>
  "tile.write"(%1, %y) : (tensor<16384x1xf32>, !tile.buffer<f32, [16384, 1], [1, 1]>) -> ()
}) {domain = [16384, 768], outputs = 1 : i64, reduced = array<i64: 1>, sym_name = "many_sums", symbols = []} : () -> ()

// CHECK-LABEL: "tile.kernel"
// CHECK: schedule = "registers: {{.*}}", sym_name = "fewer_sums"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [1024, 768], [768, 1]>, %y: !tile.buffer<f32, [1024, 1], [1, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [1024, 768], [768, 1]>) -> tensor<1024x768xf32>
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 1>} : (tensor<1024x768xf32>) -> tensor<1024x1xf32>
  "tile.write"(%1, %y) : (tensor<1024x1xf32>, !tile.buffer<f32, [1024, 1], [1, 1]>) -> ()
}) {domain = [1024, 768], outputs = 1 : i64, reduced = array<i64: 1>, sym_name = "fewer_sums", symbols = []} : () -> ()

// CHECK-LABEL: "tile.kernel"
// CHECK: schedule = "registers: {{.*}}", sym_name = "unaligned_sums"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [16384, 777], [777, 1]>, %y: !tile.buffer<f32, [16384, 1], [1, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [16384, 777], [777, 1]>) -> tensor<16384x777xf32>
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 1>} : (tensor<16384x777xf32>) -> tensor<16384x1xf32>
  "tile.write"(%1, %y) : (tensor<16384x1xf32>, !tile.buffer<f32, [16384, 1], [1, 1]>) -> ()
}) {domain = [16384, 777], outputs = 1 : i64, reduced = array<i64: 1>, sym_name = "unaligned_sums", symbols = []} : () -> ()

// Few long rows with much arithmetic have more threads.
// CHECK-LABEL: "tile.kernel"
// CHECK: schedule = "rows: {{.*}}, 8 warps of 8 elements{{.*}}", sym_name = "few_costly_rows"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [32, 16384], [16384, 1]>, %y: !tile.buffer<f32, [32, 1], [1, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [32, 16384], [16384, 1]>) -> tensor<32x16384xf32>
  %1 = "graph.erf"(%0) : (tensor<32x16384xf32>) -> tensor<32x16384xf32>
  %2 = "graph.reduce_sum"(%1) {dims = array<i64: 1>} : (tensor<32x16384xf32>) -> tensor<32x1xf32>
  "tile.write"(%2, %y) : (tensor<32x1xf32>, !tile.buffer<f32, [32, 1], [1, 1]>) -> ()
}) {domain = [32, 16384], outputs = 1 : i64, reduced = array<i64: 1>, sym_name = "few_costly_rows", symbols = []} : () -> ()

// CHECK-LABEL: "tile.kernel"
// CHECK: schedule = "rows: {{.*}}, 4 warps of 16 elements{{.*}}", sym_name = "more_costly_rows"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [200, 16384], [16384, 1]>, %y: !tile.buffer<f32, [200, 1], [1, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [200, 16384], [16384, 1]>) -> tensor<200x16384xf32>
  %1 = "graph.erf"(%0) : (tensor<200x16384xf32>) -> tensor<200x16384xf32>
  %2 = "graph.reduce_sum"(%1) {dims = array<i64: 1>} : (tensor<200x16384xf32>) -> tensor<200x1xf32>
  "tile.write"(%2, %y) : (tensor<200x1xf32>, !tile.buffer<f32, [200, 1], [1, 1]>) -> ()
}) {domain = [200, 16384], outputs = 1 : i64, reduced = array<i64: 1>, sym_name = "more_costly_rows", symbols = []} : () -> ()

// CHECK-LABEL: "tile.kernel"
// CHECK: schedule = "rows: {{.*}}, 4 warps of 16 elements{{.*}}", sym_name = "few_plain_rows"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [32, 16384], [16384, 1]>, %y: !tile.buffer<f32, [32, 1], [1, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [32, 16384], [16384, 1]>) -> tensor<32x16384xf32>
  %1 = "graph.neg"(%0) : (tensor<32x16384xf32>) -> tensor<32x16384xf32>
  %2 = "graph.reduce_sum"(%1) {dims = array<i64: 1>} : (tensor<32x16384xf32>) -> tensor<32x1xf32>
  "tile.write"(%2, %y) : (tensor<32x1xf32>, !tile.buffer<f32, [32, 1], [1, 1]>) -> ()
}) {domain = [32, 16384], outputs = 1 : i64, reduced = array<i64: 1>, sym_name = "few_plain_rows", symbols = []} : () -> ()

// Very many of them: two results a thread.
// CHECK: schedule = "windows: 3936256 results of 3 x 3 elements, {{.*}}, 4 warps of 2 elements{{.*}}", sym_name = "many_windows"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f16, [4096, 64, 64], [4096, 64, 1]>, %y: !tile.buffer<f16, [4096, 31, 31, 1, 1], [961, 31, 1, 1, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f16, [4096, 64, 64], [4096, 64, 1]>) -> tensor<4096x64x64xf16>
  %1 = "graph.window"(%0) {dim = 1 : i64, step = 2 : i64} : (tensor<4096x64x64xf16>) -> tensor<4096x31x64x3xf16>
  %2 = "graph.window"(%1) {dim = 2 : i64, step = 2 : i64} : (tensor<4096x31x64x3xf16>) -> tensor<4096x31x31x3x3xf16>
  %3 = "graph.reduce_max"(%2) {dims = array<i64: 3, 4>} : (tensor<4096x31x31x3x3xf16>) -> tensor<4096x31x31x1x1xf16>
  "tile.write"(%3, %y) : (tensor<4096x31x31x1x1xf16>, !tile.buffer<f16, [4096, 31, 31, 1, 1], [961, 31, 1, 1, 1]>) -> ()
}) {domain = [4096, 31, 31, 3, 3], outputs = 1 : i64, reduced = array<i64: 3, 4>, sym_name = "many_windows", symbols = []} : () -> ()

// Long rows of results stay the columns of blocks.
// CHECK: schedule = "windows: 8 x 31 x 511 results of 3 x 3 elements, {{.*}}", sym_name = "windows_of_long_rows"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f16, [8, 64, 1024], [65536, 1024, 1]>, %y: !tile.buffer<f16, [8, 31, 511, 1, 1], [15841, 511, 1, 1, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f16, [8, 64, 1024], [65536, 1024, 1]>) -> tensor<8x64x1024xf16>
  %1 = "graph.window"(%0) {dim = 1 : i64, step = 2 : i64} : (tensor<8x64x1024xf16>) -> tensor<8x31x1024x3xf16>
  %2 = "graph.window"(%1) {dim = 2 : i64, step = 2 : i64} : (tensor<8x31x1024x3xf16>) -> tensor<8x31x511x3x3xf16>
  %3 = "graph.reduce_max"(%2) {dims = array<i64: 3, 4>} : (tensor<8x31x511x3x3xf16>) -> tensor<8x31x511x1x1xf16>
  "tile.write"(%3, %y) : (tensor<8x31x511x1x1xf16>, !tile.buffer<f16, [8, 31, 511, 1, 1], [15841, 511, 1, 1, 1]>) -> ()
}) {domain = [8, 31, 511, 3, 3], outputs = 1 : i64, reduced = array<i64: 3, 4>, sym_name = "windows_of_long_rows", symbols = []} : () -> ()

// So do those between which others lie.
// CHECK: schedule = "windows: 8 x 31 x 31 results of 3 x 3 elements, {{.*}}", sym_name = "windows_of_rows_apart"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f16, [8, 64, 64], [4096, 64, 1]>, %y: !tile.buffer<f16, [8, 31, 31, 1, 1], [1024, 32, 1, 1, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f16, [8, 64, 64], [4096, 64, 1]>) -> tensor<8x64x64xf16>
  %1 = "graph.window"(%0) {dim = 1 : i64, step = 2 : i64} : (tensor<8x64x64xf16>) -> tensor<8x31x64x3xf16>
  %2 = "graph.window"(%1) {dim = 2 : i64, step = 2 : i64} : (tensor<8x31x64x3xf16>) -> tensor<8x31x31x3x3xf16>
  %3 = "graph.reduce_max"(%2) {dims = array<i64: 3, 4>} : (tensor<8x31x31x3x3xf16>) -> tensor<8x31x31x1x1xf16>
  "tile.write"(%3, %y) : (tensor<8x31x31x1x1xf16>, !tile.buffer<f16, [8, 31, 31, 1, 1], [1024, 32, 1, 1, 1]>) -> ()
}) {domain = [8, 31, 31, 3, 3], outputs = 1 : i64, reduced = array<i64: 3, 4>, sym_name = "windows_of_rows_apart", symbols = []} : () -> ()

// Short rows of several dims that are read again have many threads.
// CHECK: schedule = "registers: 128 results of 64 x 64 elements, 2 passes, {{.*}}, 16 warps of 8 elements{{.*}}", sym_name = "several_again"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f16, [64, 128, 64], [8192, 64, 1]>, %y: !tile.buffer<f16, [64, 128, 64], [8192, 64, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f16, [64, 128, 64], [8192, 64, 1]>) -> tensor<64x128x64xf16>
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 0, 2>} : (tensor<64x128x64xf16>) -> tensor<1x128x1xf16>
  %2 = "graph.sub"(%0, %1) : (tensor<64x128x64xf16>, tensor<1x128x1xf16>) -> tensor<64x128x64xf16>
  "tile.write"(%2, %y) : (tensor<64x128x64xf16>, !tile.buffer<f16, [64, 128, 64], [8192, 64, 1]>) -> ()
}) {domain = [64, 128, 64], outputs = 1 : i64, reduced = array<i64: 0, 2>, sym_name = "several_again", symbols = []} : () -> ()

// CHECK: schedule = "registers: 128 results of 64 x 64 elements, 1 passes, {{.*}}, 4 warps of 32 elements{{.*}}", sym_name = "several_once"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f16, [64, 128, 64], [8192, 64, 1]>, %y: !tile.buffer<f16, [1, 128, 1], [128, 1, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f16, [64, 128, 64], [8192, 64, 1]>) -> tensor<64x128x64xf16>
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 0, 2>} : (tensor<64x128x64xf16>) -> tensor<1x128x1xf16>
  "tile.write"(%1, %y) : (tensor<1x128x1xf16>, !tile.buffer<f16, [1, 128, 1], [128, 1, 1]>) -> ()
}) {domain = [64, 128, 64], outputs = 1 : i64, reduced = array<i64: 0, 2>, sym_name = "several_once", symbols = []} : () -> ()

// Gathered points with much arithmetic: one a thread where they are few.
// CHECK: schedule = "linear: 32768 points {{.*}}, 4 warps of 1 elements{{.*}}", sym_name = "few_gathered"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f16, [8, 4096], [8192, 1]>, %y: !tile.buffer<f16, [8, 4096], [4096, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f16, [8, 4096], [8192, 1]>) -> tensor<8x4096xf16>
  %1 = "graph.sin"(%0) : (tensor<8x4096xf16>) -> tensor<8x4096xf16>
  %2 = "graph.log"(%1) : (tensor<8x4096xf16>) -> tensor<8x4096xf16>
  %3 = "graph.tanh"(%2) : (tensor<8x4096xf16>) -> tensor<8x4096xf16>
  "tile.write"(%3, %y) : (tensor<8x4096xf16>, !tile.buffer<f16, [8, 4096], [4096, 1]>) -> ()
}) {domain = [8, 4096], outputs = 1 : i64, reduced = array<i64>, sym_name = "few_gathered", symbols = []} : () -> ()

// All pairs of two sets: a block has some of each.
// CHECK-DAG: "tile.load"(%arg0, {{.*}} -> vector<8x1xf32>
// CHECK-DAG: "tile.load"(%arg1, {{.*}} -> vector<1x256xf32>
// CHECK: schedule = "windows: 4096 x 4096 results of 3 elements, {{.*}} 8 along d0 of 4096 x 256 along {{.*}}, 4 warps of 16 elements{{.*}}", sym_name = "pairs"
"tile.kernel"() ({
^bb0(%a: !tile.buffer<f32, [4096, 1, 3], [3, 3, 1]>, %b: !tile.buffer<f32, [1, 4096, 3], [12288, 3, 1]>, %y: !tile.buffer<f32, [4096, 4096, 1], [4096, 1, 1]>):
  %0 = "tile.read"(%a) : (!tile.buffer<f32, [4096, 1, 3], [3, 3, 1]>) -> tensor<4096x1x3xf32>
  %1 = "tile.read"(%b) : (!tile.buffer<f32, [1, 4096, 3], [12288, 3, 1]>) -> tensor<1x4096x3xf32>
  %2 = "graph.sub"(%0, %1) : (tensor<4096x1x3xf32>, tensor<1x4096x3xf32>) -> tensor<4096x4096x3xf32>
  %3 = "graph.abs"(%2) : (tensor<4096x4096x3xf32>) -> tensor<4096x4096x3xf32>
  %4 = "graph.reduce_sum"(%3) {dims = array<i64: 2>} : (tensor<4096x4096x3xf32>) -> tensor<4096x4096x1xf32>
  "tile.write"(%4, %y) : (tensor<4096x4096x1xf32>, !tile.buffer<f32, [4096, 4096, 1], [4096, 1, 1]>) -> ()
}) {domain = [4096, 4096, 3], outputs = 1 : i64, reduced = array<i64: 2>, sym_name = "pairs", symbols = []} : () -> ()

// A step takes one row where two would need too many registers.
// CHECK: scf.for
// CHECK: "tile.load"(%arg0, {{.*}} -> vector<8192xf32>
// CHECK: num_stages = 3 : i64
// CHECK: schedule = "closing: {{.*}} 8192 along {{.*}}, 16 warps{{.*}}", sym_name = "one_row"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [256, 64, 8192], [524288, 8192, 1]>, %y: !tile.buffer<f32, [256, 64, 1], [64, 1, 1]>, %z: !tile.buffer<f32, [256, 1, 8192], [8192, 8192, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [256, 64, 8192], [524288, 8192, 1]>) -> tensor<256x64x8192xf32>
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 2>} : (tensor<256x64x8192xf32>) -> tensor<256x64x1xf32>
  %2 = "graph.mul"(%0, %1) : (tensor<256x64x8192xf32>, tensor<256x64x1xf32>) -> tensor<256x64x8192xf32>
  %3 = "graph.reduce_sum"(%2) {dims = array<i64: 1>} : (tensor<256x64x8192xf32>) -> tensor<256x1x8192xf32>
  "tile.write"(%1, %y) : (tensor<256x64x1xf32>, !tile.buffer<f32, [256, 64, 1], [64, 1, 1]>) -> ()
  "tile.write"(%3, %z) : (tensor<256x1x8192xf32>, !tile.buffer<f32, [256, 1, 8192], [8192, 8192, 1]>) -> ()
}) {closing = array<i64: 1>, domain = [256, 64, 8192], outputs = 2 : i64, reduced = array<i64: 2>, sym_name = "one_row", symbols = []} : () -> ()

// Much arithmetic of few points: more threads, and programs of at least four warps.
// CHECK: schedule = "flat: 1048576 points, {{.*}} 512 along {{.*}}, 4 warps of 4 elements{{.*}}", sym_name = "costly"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [1048576], [1]>, %y: !tile.buffer<f32, [1048576], [1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [1048576], [1]>) -> tensor<1048576xf32>
  %1 = "graph.tanh"(%0) : (tensor<1048576xf32>) -> tensor<1048576xf32>
  %2 = "graph.exp"(%1) : (tensor<1048576xf32>) -> tensor<1048576xf32>
  %3 = "graph.sin"(%2) : (tensor<1048576xf32>) -> tensor<1048576xf32>
  "tile.write"(%3, %y) : (tensor<1048576xf32>, !tile.buffer<f32, [1048576], [1]>) -> ()
}) {domain = [1048576], outputs = 1 : i64, reduced = array<i64>, sym_name = "costly", symbols = []} : () -> ()
