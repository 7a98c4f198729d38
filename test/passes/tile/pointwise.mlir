// RUN: %girih-opt --pass-pipeline='tile{vector-bits=512}' %s | filecheck %s
// RUN: %girih-opt --pass-pipeline='tile{vector-bits=256}' %s | filecheck %s --check-prefix=NARROW

// A contiguous kernel of any rank is one loop; small ones are one program.
// CHECK-LABEL: "tile.kernel"
// CHECK: "tile.grid"(%c1, %c64)
// CHECK: "tile.loop"
// CHECK: ^bb0([[I:%.+]]: index, [[MASK:%.+]]: vector<16xi1>):
// CHECK: [[X:%.+]] = "tile.load"(%arg0, [[I]], %c1, [[MASK]])
// CHECK: [[Y:%.+]] = arith.negf [[X]] : vector<16xf32>
// CHECK: "tile.store"([[Y]], %arg1, [[I]], %c1, [[MASK]])
// CHECK: schedule = "flat: {{.*}}", sym_name = "flat"
// NARROW-LABEL: "tile.kernel"
// NARROW: arith.negf {{.*}} : vector<8xf32>
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [2, 4, 8], [32, 8, 1]>, %y: !tile.buffer<f32, [2, 4, 8], [32, 8, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [2, 4, 8], [32, 8, 1]>) -> tensor<2x4x8xf32>
  %1 = "graph.neg"(%0) : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  "tile.write"(%1, %y) : (tensor<2x4x8xf32>, !tile.buffer<f32, [2, 4, 8], [32, 8, 1]>) -> ()
}) {domain = [2, 4, 8], outputs = 1 : i64, reduced = array<i64>, sym_name = "flat", symbols = []} : () -> ()

// A reshape that is a view of memory changes nothing.
// CHECK-LABEL: "tile.kernel"
// CHECK-NOT: scf.for
// CHECK: schedule = "flat: {{.*}}", sym_name = "reshaped"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [8, 8], [8, 1]>, %y: !tile.buffer<f32, [4, 16], [16, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [8, 8], [8, 1]>) -> tensor<8x8xf32>
  %1 = "graph.reshape"(%0) : (tensor<8x8xf32>) -> tensor<4x16xf32>
  %2 = "graph.neg"(%1) : (tensor<4x16xf32>) -> tensor<4x16xf32>
  "tile.write"(%2, %y) : (tensor<4x16xf32>, !tile.buffer<f32, [4, 16], [16, 1]>) -> ()
}) {domain = [4, 16], outputs = 1 : i64, reduced = array<i64>, sym_name = "reshaped", symbols = []} : () -> ()

// A row added to each row: the row is loaded by lanes, a column as a scalar outside of
// the loop over the lanes.
// CHECK-LABEL: "tile.kernel"
// CHECK: scf.for [[ROW:%.+]] =
// CHECK: [[COLUMN:%.+]] = "tile.load"(%arg1, [[ROW]]) {{.*}} -> f32
// CHECK: [[WIDE:%.+]] = vector.broadcast [[COLUMN]]
// CHECK: "tile.loop"
// CHECK: [[LANES:%.+]] = "tile.load"(%arg0, {{.*}} -> vector<16xf32>
// CHECK: arith.addf [[LANES]], [[WIDE]]
// CHECK: schedule = "pointwise: {{.*}}", sym_name = "outer"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [100], [1]>, %c: !tile.buffer<f32, [64, 1], [1, 1]>, %y: !tile.buffer<f32, [64, 100], [100, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [100], [1]>) -> tensor<100xf32>
  %1 = "tile.read"(%c) : (!tile.buffer<f32, [64, 1], [1, 1]>) -> tensor<64x1xf32>
  %2 = "graph.add"(%0, %1) : (tensor<100xf32>, tensor<64x1xf32>) -> tensor<64x100xf32>
  "tile.write"(%2, %y) : (tensor<64x100xf32>, !tile.buffer<f32, [64, 100], [100, 1]>) -> ()
}) {domain = [64, 100], outputs = 1 : i64, reduced = array<i64>, sym_name = "outer", symbols = []} : () -> ()

// Sizes may be symbolic; a program has a fixed amount of work.
// CHECK-LABEL: "tile.kernel"
// CHECK: ^bb0({{.*}}, [[S0:%.+]]: index):
// CHECK: arith.divsi {{.*}}, %c32768
// CHECK: arith.minsi {{.*}}, [[S0]]
// CHECK: sym_name = "symbolic"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, ["s0"], [1]>, %y: !tile.buffer<f32, ["s0"], [1]>, %s0: index):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, ["s0"], [1]>) -> tensor<?xf32, ["s0"]>
  %1 = "graph.neg"(%0) : (tensor<?xf32, ["s0"]>) -> tensor<?xf32, ["s0"]>
  "tile.write"(%1, %y) : (tensor<?xf32, ["s0"]>, !tile.buffer<f32, ["s0"], [1]>) -> ()
}) {domain = ["s0"], outputs = 1 : i64, reduced = array<i64>, sym_name = "symbolic", symbols = ["s0"]} : () -> ()

// No elements: nothing to do.
// CHECK-LABEL: "tile.kernel"
// CHECK-NOT: tile.grid
// CHECK: schedule = "empty: {{.*}}", sym_name = "empty"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [0], [1]>, %y: !tile.buffer<f32, [0], [1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [0], [1]>) -> tensor<0xf32>
  %1 = "graph.neg"(%0) : (tensor<0xf32>) -> tensor<0xf32>
  "tile.write"(%1, %y) : (tensor<0xf32>, !tile.buffer<f32, [0], [1]>) -> ()
}) {domain = [0], outputs = 1 : i64, reduced = array<i64>, sym_name = "empty", symbols = []} : () -> ()

// 16-bit floats are computed in f32 and rounded at the store.
// CHECK-LABEL: "tile.kernel"
// CHECK: [[X:%.+]] = "tile.load"({{.*}} -> vector<16xbf16>
// CHECK: [[WIDE:%.+]] = arith.extf [[X]]
// CHECK: [[Y:%.+]] = arith.negf [[WIDE]] : vector<16xf32>
// CHECK: arith.truncf [[Y]]
// CHECK: sym_name = "small_floats"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<bf16, [64], [1]>, %y: !tile.buffer<bf16, [64], [1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<bf16, [64], [1]>) -> tensor<64xbf16>
  %1 = "graph.neg"(%0) : (tensor<64xbf16>) -> tensor<64xbf16>
  "tile.write"(%1, %y) : (tensor<64xbf16>, !tile.buffer<bf16, [64], [1]>) -> ()
}) {domain = [64], outputs = 1 : i64, reduced = array<i64>, sym_name = "small_floats", symbols = []} : () -> ()

// An input that is contiguous along another dim is turned in registers.
// CHECK-LABEL: "tile.kernel"
// CHECK: [[BLOCK:%.+]] = "tile.scratch"
// CHECK: [[SQUARE:%.+]] = "tile.load"(%arg0, {{.*}} -> vector<16x16xf32>
// CHECK: [[TURNED:%.+]] = vector.transpose [[SQUARE]], [1, 0]
// CHECK: "tile.store"([[TURNED]], [[BLOCK]],
// CHECK: "tile.load"([[BLOCK]], {{.*}} -> vector<16xf32>
// CHECK: schedule = "transposed: {{.*}}", sym_name = "turned"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [128, 256], [256, 1]>, %y: !tile.buffer<f32, [256, 128], [128, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [128, 256], [256, 1]>) -> tensor<128x256xf32>
  %1 = "graph.permute"(%0) {permutation = array<i64: 1, 0>} : (tensor<128x256xf32>) -> tensor<256x128xf32>
  %2 = "graph.neg"(%1) : (tensor<256x128xf32>) -> tensor<256x128xf32>
  "tile.write"(%2, %y) : (tensor<256x128xf32>, !tile.buffer<f32, [256, 128], [128, 1]>) -> ()
}) {domain = [256, 128], outputs = 1 : i64, reduced = array<i64>, sym_name = "turned", symbols = []} : () -> ()

// Where the output is laid out like the input, it is one flat loop.
// CHECK-LABEL: "tile.kernel"
// CHECK-NOT: tile.scratch
// CHECK: schedule = "flat: {{.*}}", sym_name = "not_turned"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [128, 256], [256, 1]>, %y: !tile.buffer<f32, [256, 128], [1, 256]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [128, 256], [256, 1]>) -> tensor<128x256xf32>
  %1 = "graph.permute"(%0) {permutation = array<i64: 1, 0>} : (tensor<128x256xf32>) -> tensor<256x128xf32>
  %2 = "graph.neg"(%1) : (tensor<256x128xf32>) -> tensor<256x128xf32>
  "tile.write"(%2, %y) : (tensor<256x128xf32>, !tile.buffer<f32, [256, 128], [1, 256]>) -> ()
}) {domain = [256, 128], outputs = 1 : i64, reduced = array<i64>, sym_name = "not_turned", symbols = []} : () -> ()

// A row index read at run time is wrapped, checked and used as a scalar offset.
// CHECK-LABEL: "tile.kernel"
// CHECK: [[INDEX:%.+]] = "tile.load"(%arg1, {{.*}} -> i64
// CHECK: arith.cmpi slt, [[INDEX]], %c0
// CHECK: [[VALID:%.+]] = arith.cmpi ult
// CHECK: "tile.check"([[VALID]])
// CHECK: "tile.loop"
// CHECK: "tile.load"(%arg0, {{.*}} -> vector<16xf32>
// CHECK-NOT: tile.gather
// CHECK: sym_name = "rows_by_index"
"tile.kernel"() ({
^bb0(%w: !tile.buffer<f32, [50, 64], [64, 1]>, %i: !tile.buffer<i64, [7], [1]>, %y: !tile.buffer<f32, [7, 64], [64, 1]>):
  %0 = "tile.read"(%w) : (!tile.buffer<f32, [50, 64], [64, 1]>) -> tensor<50x64xf32>
  %1 = "tile.read"(%i) : (!tile.buffer<i64, [7], [1]>) -> tensor<7xi64>
  %2 = "graph.take"(%0, %1) {dim = 0 : i64, from_end} : (tensor<50x64xf32>, tensor<7xi64>) -> tensor<7x64xf32>
  %3 = "graph.neg"(%2) : (tensor<7x64xf32>) -> tensor<7x64xf32>
  "tile.write"(%3, %y) : (tensor<7x64xf32>, !tile.buffer<f32, [7, 64], [64, 1]>) -> ()
}) {domain = [7, 64], outputs = 1 : i64, reduced = array<i64>, sym_name = "rows_by_index", symbols = []} : () -> ()

// An index that differs from lane to lane gathers.
// CHECK-LABEL: "tile.kernel"
// CHECK: "tile.check"({{.*}}, {{.*}}) : (vector<8xi1>, vector<8xi1>)
// CHECK: "tile.gather"(%arg0
// CHECK: sym_name = "elements_by_index"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [50], [1]>, %i: !tile.buffer<i64, [70], [1]>, %y: !tile.buffer<f32, [70], [1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [50], [1]>) -> tensor<50xf32>
  %1 = "tile.read"(%i) : (!tile.buffer<i64, [70], [1]>) -> tensor<70xi64>
  %2 = "graph.gather"(%0, %1) {dim = 0 : i64} : (tensor<50xf32>, tensor<70xi64>) -> tensor<70xf32>
  %3 = "graph.neg"(%2) : (tensor<70xf32>) -> tensor<70xf32>
  "tile.write"(%3, %y) : (tensor<70xf32>, !tile.buffer<f32, [70], [1]>) -> ()
}) {domain = [70], outputs = 1 : i64, reduced = array<i64>, sym_name = "elements_by_index", symbols = []} : () -> ()

// Padding masks the load and selects the value outside.
// CHECK-LABEL: "tile.kernel"
// CHECK: [[INSIDE:%.+]] = arith.cmpi ult
// CHECK: [[BOTH:%.+]] = arith.andi [[INSIDE]]
// CHECK: [[X:%.+]] = "tile.load"(%arg0, {{.*}}, {{.*}}, [[BOTH]])
// CHECK: arith.select [[INSIDE]], [[X]]
// CHECK: sym_name = "padded"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [50], [1]>, %y: !tile.buffer<f32, [60], [1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [50], [1]>) -> tensor<50xf32>
  %1 = "graph.pad"(%0) {low = [4], high = [6], value = 2.0 : f64} : (tensor<50xf32>) -> tensor<60xf32>
  %2 = "graph.neg"(%1) : (tensor<60xf32>) -> tensor<60xf32>
  "tile.write"(%2, %y) : (tensor<60xf32>, !tile.buffer<f32, [60], [1]>) -> ()
}) {domain = [60], outputs = 1 : i64, reduced = array<i64>, sym_name = "padded", symbols = []} : () -> ()

// An expensive body has several vectors in flight.
// CHECK-LABEL: "tile.kernel"
// CHECK: math.exp {{.*}} : vector<64xf32>
// CHECK: sym_name = "expensive"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [640], [1]>, %y: !tile.buffer<f32, [640], [1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [640], [1]>) -> tensor<640xf32>
  %1 = "graph.exp"(%0) : (tensor<640xf32>) -> tensor<640xf32>
  "tile.write"(%1, %y) : (tensor<640xf32>, !tile.buffer<f32, [640], [1]>) -> ()
}) {domain = [640], outputs = 1 : i64, reduced = array<i64>, sym_name = "expensive", symbols = []} : () -> ()

// A clamped index is linear between the borders: they are read as scalars, the rest of
// the row as vectors, without a check.
// CHECK-LABEL: "tile.kernel"
// CHECK-NOT: tile.check
// CHECK-NOT: tile.gather
// CHECK: scf.for {{.*}} = %c0 to %c1 step
// CHECK: "tile.loop"(%c1, %c33)
// CHECK: "tile.load"(%arg0, {{.*}}, %c1, {{.*}} -> vector<16xf32>
// CHECK: scf.for {{.*}} = %c33 to %c34 step
// CHECK: schedule = "pointwise: {{.*}} in 3 segments", sym_name = "clamped"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [8, 32], [32, 1]>, %y: !tile.buffer<f32, [8, 34], [34, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [8, 32], [32, 1]>) -> tensor<8x32xf32>
  %1 = "graph.iota"() {start = -1 : i64, step = 1 : i64} : () -> tensor<34xi64>
  %2 = "graph.constant"() {value = 0 : i64} : () -> tensor<i64>
  %3 = "graph.maximum"(%1, %2) : (tensor<34xi64>, tensor<i64>) -> tensor<34xi64>
  %4 = "graph.constant"() {value = 31 : i64} : () -> tensor<i64>
  %5 = "graph.minimum"(%3, %4) : (tensor<34xi64>, tensor<i64>) -> tensor<34xi64>
  %6 = "graph.take"(%0, %5) {dim = 1 : i64} : (tensor<8x32xf32>, tensor<34xi64>) -> tensor<8x34xf32>
  "tile.write"(%6, %y) : (tensor<8x34xf32>, !tile.buffer<f32, [8, 34], [34, 1]>) -> ()
}) {domain = [8, 34], outputs = 1 : i64, reduced = array<i64>, sym_name = "clamped", symbols = []} : () -> ()

// One that leaves the tensor is still looked at, an element at a time.
// CHECK-LABEL: "tile.kernel"
// CHECK: "tile.check"
// CHECK: "tile.gather"
// CHECK-NOT: segments
// CHECK: sym_name = "too_far"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [8, 32], [32, 1]>, %y: !tile.buffer<f32, [8, 34], [34, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [8, 32], [32, 1]>) -> tensor<8x32xf32>
  %1 = "graph.iota"() {start = -1 : i64, step = 1 : i64} : () -> tensor<34xi64>
  %2 = "graph.constant"() {value = 0 : i64} : () -> tensor<i64>
  %3 = "graph.maximum"(%1, %2) : (tensor<34xi64>, tensor<i64>) -> tensor<34xi64>
  %4 = "graph.take"(%0, %3) {dim = 1 : i64} : (tensor<8x32xf32>, tensor<34xi64>) -> tensor<8x34xf32>
  "tile.write"(%4, %y) : (tensor<8x34xf32>, !tile.buffer<f32, [8, 34], [34, 1]>) -> ()
}) {domain = [8, 34], outputs = 1 : i64, reduced = array<i64>, sym_name = "too_far", symbols = []} : () -> ()

// Lanes divide in 32 bits where these hold all numbers.
// CHECK-LABEL: "tile.kernel"
// CHECK: [[REST:%.+]] = arith.remui {{.*}} : vector<16xi32>
// CHECK: arith.extui [[REST]] : vector<16xi32> to vector<16xi64>
// CHECK: sym_name = "every_third"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [8], [1]>, %y: !tile.buffer<f32, [8, 32], [32, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [8], [1]>) -> tensor<8xf32>
  %1 = "graph.reshape"(%0) : (tensor<8xf32>) -> tensor<8x1x1xf32>
  %2 = "graph.pad"(%1) {low = [0, 0, 0], high = [0, 0, 2], value = 0} : (tensor<8x1x1xf32>) -> tensor<8x1x3xf32>
  %3 = "graph.broadcast_to"(%2) : (tensor<8x1x3xf32>) -> tensor<8x11x3xf32>
  %4 = "graph.reshape"(%3) : (tensor<8x11x3xf32>) -> tensor<8x33xf32>
  %5 = "graph.slice"(%4) {starts = [0, 0], steps = array<i64: 1, 1>} : (tensor<8x33xf32>) -> tensor<8x32xf32>
  "tile.write"(%5, %y) : (tensor<8x32xf32>, !tile.buffer<f32, [8, 32], [32, 1]>) -> ()
}) {domain = [8, 32], outputs = 1 : i64, reduced = array<i64>, sym_name = "every_third", symbols = []} : () -> ()

// Bytes that lie apart are read 16 at a time: of more, none are read with shuffles.
// CHECK-LABEL: "tile.kernel"
// CHECK: "tile.load"(%arg0, {{.*}} -> vector<16xi8>
// CHECK: sym_name = "bytes_apart"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<ui8, [3, 640], [1, 3]>, %out: !tile.buffer<ui8, [3, 640], [640, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<ui8, [3, 640], [1, 3]>) -> tensor<3x640xui8>
  "tile.write"(%0, %out) : (tensor<3x640xui8>, !tile.buffer<ui8, [3, 640], [640, 1]>) -> ()
}) {domain = [3, 640], outputs = 1 : i64, reduced = array<i64>, sym_name = "bytes_apart", symbols = []} : () -> ()

// A number that the program rounds is stored as it is, and not rounded again.
// CHECK-LABEL: "tile.kernel"
// CHECK: [[ROUNDED:%.+]] = arith.truncf
// CHECK-NOT: arith.truncf
// CHECK: "tile.store"([[ROUNDED]], %arg1,
// CHECK: sym_name = "rounded_once"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<bf16, [640], [1]>, %out: !tile.buffer<bf16, [640], [1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<bf16, [640], [1]>) -> tensor<640xbf16>
  %1 = "graph.cast"(%0) : (tensor<640xbf16>) -> tensor<640xf32>
  %2 = "graph.mul"(%1, %1) : (tensor<640xf32>, tensor<640xf32>) -> tensor<640xf32>
  %3 = "graph.cast"(%2) : (tensor<640xf32>) -> tensor<640xbf16>
  "tile.write"(%3, %out) : (tensor<640xbf16>, !tile.buffer<bf16, [640], [1]>) -> ()
}) {domain = [640], outputs = 1 : i64, reduced = array<i64>, sym_name = "rounded_once", symbols = []} : () -> ()
