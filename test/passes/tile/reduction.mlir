// RUN: %girih-opt --pass-pipeline='tile{vector-bits=512}' %s | filecheck %s

// A row of at most eight vectors stays in registers: no loop over it.
// CHECK-LABEL: "tile.kernel"
// CHECK: scf.for
// CHECK: "tile.loop"(%c0, %c32)
// CHECK: [[X:%.+]] = "tile.load"({{.*}} -> vector<32xf32>
// CHECK: vector.reduction <maximumf>
// CHECK: [[E:%.+]] = math.exp
// CHECK: vector.reduction <add>
// CHECK: arith.divf [[E]]
// CHECK: "tile.store"
// CHECK: "tile.yield"
// CHECK-NOT: "tile.loop"
// CHECK: schedule = "registers: {{.*}}", sym_name = "narrow_softmax"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [64, 32], [32, 1]>, %y: !tile.buffer<f32, [64, 32], [32, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [64, 32], [32, 1]>) -> tensor<64x32xf32>
  %1 = "graph.reduce_max"(%0) {dims = array<i64: 1>} : (tensor<64x32xf32>) -> tensor<64x1xf32>
  %2 = "graph.sub"(%0, %1) : (tensor<64x32xf32>, tensor<64x1xf32>) -> tensor<64x32xf32>
  %3 = "graph.exp"(%2) : (tensor<64x32xf32>) -> tensor<64x32xf32>
  %4 = "graph.reduce_sum"(%3) {dims = array<i64: 1>} : (tensor<64x32xf32>) -> tensor<64x1xf32>
  %5 = "graph.div"(%3, %4) : (tensor<64x32xf32>, tensor<64x1xf32>) -> tensor<64x32xf32>
  "tile.write"(%5, %y) : (tensor<64x32xf32>, !tile.buffer<f32, [64, 32], [32, 1]>) -> ()
}) {domain = [64, 32], outputs = 1 : i64, reduced = array<i64: 1>, sym_name = "narrow_softmax", symbols = []} : () -> ()

// A longer row takes a pass for each round; the exponentials wait in the output's row.
// CHECK-LABEL: "tile.kernel"
// CHECK: [[MAX:%.+]] = "tile.loop"
// CHECK: vector<64xf32>
// CHECK: vector.reduction <maximumf>, [[MAX]]
// CHECK: [[SUM:%.+]] = "tile.loop"
// CHECK: [[E:%.+]] = math.exp
// CHECK: "tile.store"([[E]], %arg1
// CHECK: vector.reduction <add>, [[SUM]]
// CHECK: "tile.loop"
// CHECK: [[KEPT:%.+]] = "tile.load"(%arg1
// CHECK: [[Y:%.+]] = arith.divf [[KEPT]]
// CHECK: "tile.store"([[Y]], %arg1
// CHECK: schedule = "rows: {{.*}}", sym_name = "softmax"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [64, 500], [500, 1]>, %y: !tile.buffer<f32, [64, 500], [500, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [64, 500], [500, 1]>) -> tensor<64x500xf32>
  %1 = "graph.reduce_max"(%0) {dims = array<i64: 1>} : (tensor<64x500xf32>) -> tensor<64x1xf32>
  %2 = "graph.sub"(%0, %1) : (tensor<64x500xf32>, tensor<64x1xf32>) -> tensor<64x500xf32>
  %3 = "graph.exp"(%2) : (tensor<64x500xf32>) -> tensor<64x500xf32>
  %4 = "graph.reduce_sum"(%3) {dims = array<i64: 1>} : (tensor<64x500xf32>) -> tensor<64x1xf32>
  %5 = "graph.div"(%3, %4) : (tensor<64x500xf32>, tensor<64x1xf32>) -> tensor<64x500xf32>
  "tile.write"(%5, %y) : (tensor<64x500xf32>, !tile.buffer<f32, [64, 500], [500, 1]>) -> ()
}) {domain = [64, 500], outputs = 1 : i64, reduced = array<i64: 1>, sym_name = "softmax", symbols = []} : () -> ()

// Cheap values are computed again instead of being kept.
// CHECK-LABEL: "tile.kernel"
// CHECK-NOT: tile.scratch
// CHECK: [[SUM:%.+]] = "tile.loop"
// CHECK: vector.reduction <add>, [[SUM]]
// CHECK: "tile.loop"
// CHECK: "tile.load"(%arg0
// CHECK: schedule = "rows: {{.*}} 2 passes{{.*}}", sym_name = "centred"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [64, 500], [500, 1]>, %y: !tile.buffer<f32, [64, 500], [500, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [64, 500], [500, 1]>) -> tensor<64x500xf32>
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 1>} : (tensor<64x500xf32>) -> tensor<64x1xf32>
  %2 = "graph.sub"(%0, %1) : (tensor<64x500xf32>, tensor<64x1xf32>) -> tensor<64x500xf32>
  "tile.write"(%2, %y) : (tensor<64x500xf32>, !tile.buffer<f32, [64, 500], [500, 1]>) -> ()
}) {domain = [64, 500], outputs = 1 : i64, reduced = array<i64: 1>, sym_name = "centred", symbols = []} : () -> ()

// Reduced rows that are contiguous along the results: vectors of results.
// CHECK-LABEL: "tile.kernel"
// CHECK: "tile.loop"
// CHECK: [[SUM:%.+]] = scf.for
// CHECK: arith.addf {{.*}} : vector<256xf32>
// CHECK: "tile.store"([[SUM]], %arg1
// CHECK: schedule = "columns: {{.*}}", sym_name = "columns"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [20, 4096], [4096, 1]>, %y: !tile.buffer<f32, [1, 4096], [4096, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [20, 4096], [4096, 1]>) -> tensor<20x4096xf32>
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 0>} : (tensor<20x4096xf32>) -> tensor<1x4096xf32>
  "tile.write"(%1, %y) : (tensor<1x4096xf32>, !tile.buffer<f32, [1, 4096], [4096, 1]>) -> ()
}) {domain = [20, 4096], outputs = 1 : i64, reduced = array<i64: 0>, sym_name = "columns", symbols = []} : () -> ()

// One result of much data: parts, then a grid that combines them.
// CHECK-LABEL: "tile.kernel"
// CHECK: [[PARTS:%.+]] = "tile.workspace"
// CHECK: "tile.grid"
// CHECK: [[PART:%.+]] = vector.reduction <add>
// CHECK: "tile.store"([[PART]], [[PARTS]]
// CHECK: "tile.grid"
// CHECK: "tile.load"([[PARTS]]
// CHECK: [[SUM:%.+]] = vector.reduction <add>
// CHECK: "tile.store"([[SUM]], %arg1
// CHECK: schedule = "split rows: {{.*}} in 62 parts", sym_name = "full"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [2000, 1000], [1000, 1]>, %y: !tile.buffer<f32, [1, 1], [1, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [2000, 1000], [1000, 1]>) -> tensor<2000x1000xf32>
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 0, 1>} : (tensor<2000x1000xf32>) -> tensor<1x1xf32>
  "tile.write"(%1, %y) : (tensor<1x1xf32>, !tile.buffer<f32, [1, 1], [1, 1]>) -> ()
}) {domain = [2000, 1000], outputs = 1 : i64, reduced = array<i64: 0, 1>, sym_name = "full", symbols = []} : () -> ()

// The same with little data is one program.
// CHECK-LABEL: "tile.kernel"
// CHECK-NOT: tile.workspace
// CHECK: schedule = "rows: {{.*}}", sym_name = "small_full"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [20, 1000], [1000, 1]>, %y: !tile.buffer<f32, [1, 1], [1, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [20, 1000], [1000, 1]>) -> tensor<20x1000xf32>
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 0, 1>} : (tensor<20x1000xf32>) -> tensor<1x1xf32>
  "tile.write"(%1, %y) : (tensor<1x1xf32>, !tile.buffer<f32, [1, 1], [1, 1]>) -> ()
}) {domain = [20, 1000], outputs = 1 : i64, reduced = array<i64: 0, 1>, sym_name = "small_full", symbols = []} : () -> ()

// Few columns of many rows are split over the rows.
// CHECK-LABEL: "tile.kernel"
// CHECK: "tile.workspace"
// CHECK: schedule = "split columns: {{.*}}", sym_name = "few_columns"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [9000, 64], [64, 1]>, %y: !tile.buffer<f32, [1, 64], [64, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [9000, 64], [64, 1]>) -> tensor<9000x64xf32>
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 0>} : (tensor<9000x64xf32>) -> tensor<1x64xf32>
  "tile.write"(%1, %y) : (tensor<1x64xf32>, !tile.buffer<f32, [1, 64], [64, 1]>) -> ()
}) {domain = [9000, 64], outputs = 1 : i64, reduced = array<i64: 0>, sym_name = "few_columns", symbols = []} : () -> ()

// The first of equal values wins: positions are carried along, in 32 bits where all fit,
// NaN beats numbers.
// CHECK-LABEL: "tile.kernel"
// CHECK: arith.cmpf ogt
// CHECK: arith.cmpf uno
// CHECK: vector.reduction <minui>, {{.*}} : vector<16xi32>
// CHECK: sym_name = "argmax"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [64, 16], [16, 1]>, %y: !tile.buffer<i64, [64, 1], [1, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [64, 16], [16, 1]>) -> tensor<64x16xf32>
  %1 = "graph.argmax"(%0) {dim = 1 : i64} : (tensor<64x16xf32>) -> tensor<64x1xi64>
  "tile.write"(%1, %y) : (tensor<64x1xi64>, !tile.buffer<i64, [64, 1], [1, 1]>) -> ()
}) {domain = [64, 16], outputs = 1 : i64, reduced = array<i64: 1>, sym_name = "argmax", symbols = []} : () -> ()

// Rows that lie across memory are turned in registers, some rows at a time.
// CHECK-LABEL: "tile.kernel"
// CHECK: "tile.load"(%arg0, {{.*}} -> vector<16x16xf32>
// CHECK: vector.transpose
// CHECK: schedule = "{{.*}}, 1 inputs turned in registers", sym_name = "rows_across"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [640, 96], [1, 640]>, %y: !tile.buffer<f32, [640, 96], [96, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [640, 96], [1, 640]>) -> tensor<640x96xf32>
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 1>} : (tensor<640x96xf32>) -> tensor<640x1xf32>
  %2 = "graph.sub"(%0, %1) : (tensor<640x96xf32>, tensor<640x1xf32>) -> tensor<640x96xf32>
  "tile.write"(%2, %y) : (tensor<640x96xf32>, !tile.buffer<f32, [640, 96], [96, 1]>) -> ()
}) {domain = [640, 96], outputs = 1 : i64, reduced = array<i64: 1>, sym_name = "rows_across", symbols = []} : () -> ()

// Lanes that lie in cache lines of their own cost most: lanes lie along the rows, though
// every 7th element is read.
// CHECK-LABEL: "tile.kernel"
// CHECK: schedule = "rows: {{.*}} lanes along d1 of 147", sym_name = "every_7th"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [512, 147], [1024, 7]>, %y: !tile.buffer<f32, [1, 1], [1, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [512, 147], [1024, 7]>) -> tensor<512x147xf32>
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 0, 1>} : (tensor<512x147xf32>) -> tensor<1x1xf32>
  "tile.write"(%1, %y) : (tensor<1x1xf32>, !tile.buffer<f32, [1, 1], [1, 1]>) -> ()
}) {domain = [512, 147], outputs = 1 : i64, reduced = array<i64: 0, 1>, sym_name = "every_7th", symbols = []} : () -> ()

// Short rows of two inputs, contiguous and far apart, are read as vectors and summed
// across their lanes.
// CHECK-LABEL: "tile.kernel"
// CHECK: schedule = "registers: {{.*}} 16 lanes along d2 of 16", sym_name = "distances"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [128, 1, 16], [1024, 1024, 1]>, %z: !tile.buffer<f32, [1, 128, 16], [1024, 1024, 1]>, %y: !tile.buffer<f32, [128, 128, 1], [128, 1, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [128, 1, 16], [1024, 1024, 1]>) -> tensor<128x1x16xf32>
  %1 = "tile.read"(%z) : (!tile.buffer<f32, [1, 128, 16], [1024, 1024, 1]>) -> tensor<1x128x16xf32>
  %2 = "graph.sub"(%0, %1) : (tensor<128x1x16xf32>, tensor<1x128x16xf32>) -> tensor<128x128x16xf32>
  %3 = "graph.mul"(%2, %2) : (tensor<128x128x16xf32>, tensor<128x128x16xf32>) -> tensor<128x128x16xf32>
  %4 = "graph.reduce_sum"(%3) {dims = array<i64: 2>} : (tensor<128x128x16xf32>) -> tensor<128x128x1xf32>
  "tile.write"(%4, %y) : (tensor<128x128x1xf32>, !tile.buffer<f32, [128, 128, 1], [128, 1, 1]>) -> ()
}) {domain = [128, 128, 16], outputs = 1 : i64, reduced = array<i64: 2>, sym_name = "distances", symbols = []} : () -> ()

// Many columns of rows that no cache holds: accumulators lie in memory, and eight rows
// are read at a time.
// CHECK-LABEL: "tile.kernel"
// CHECK: "tile.scratch"() {elements = 1024 : i64}
// CHECK: scf.for
// CHECK: schedule = "split columns: {{.*}} 1024 at a time, d0 of 1024 in 8 parts", sym_name = "many_columns"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [1024, 4096], [4096, 1]>, %y: !tile.buffer<f32, [1, 4096], [4096, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [1024, 4096], [4096, 1]>) -> tensor<1024x4096xf32>
  %1 = "graph.reduce_sum"(%0) {dims = array<i64: 0>} : (tensor<1024x4096xf32>) -> tensor<1x4096xf32>
  "tile.write"(%1, %y) : (tensor<1x4096xf32>, !tile.buffer<f32, [1, 4096], [4096, 1]>) -> ()
}) {domain = [1024, 4096], outputs = 1 : i64, reduced = array<i64: 0>, sym_name = "many_columns", symbols = []} : () -> ()
