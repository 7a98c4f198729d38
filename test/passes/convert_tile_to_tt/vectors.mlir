// RUN: %girih-opt --convert-tile-to-tt %s | filecheck %s

// Scalars are splat, tensors get dims of size 1 in front and are repeated along them.
// CHECK-LABEL: "tt.func"
// CHECK: %[[S:.*]] = "tt.load"{{.*}} -> f32
// CHECK: %[[A:.*]] = "tt.splat"(%[[S]]) : (f32) -> tensor<8xf32>
// CHECK: %[[E:.*]] = "tt.expand_dims"(%[[A]]) {axis = 0 : i32} : (tensor<8xf32>) -> tensor<1x8xf32>
// CHECK: %[[B:.*]] = "tt.broadcast"(%[[E]]) : (tensor<1x8xf32>) -> tensor<4x8xf32>
// CHECK: %[[T:.*]] = "tt.trans"(%[[B]]) {order = array<i32: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
// CHECK: %[[C:.*]] = "tt.expand_dims"(%[[A]]) {axis = 1 : i32} : (tensor<8xf32>) -> tensor<8x1xf32>
// CHECK: %[[R:.*]] = "tt.reshape"(%[[T]]) : (tensor<8x4xf32>) -> tensor<32xf32>
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [1], [1]>, %y: !tile.buffer<f32, [32], [1]>):
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  "tile.grid"(%one, %one) ({
  ^bb0(%pid: index):
    %s = "tile.load"(%x, %zero) {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>} : (!tile.buffer<f32, [1], [1]>, index) -> f32
    %a = vector.broadcast %s : f32 to vector<8xf32>
    %b = vector.broadcast %a : vector<8xf32> to vector<4x8xf32>
    %t = vector.transpose %b, [1, 0] : vector<4x8xf32> to vector<8x4xf32>
    %c = vector.shape_cast %a : vector<8xf32> to vector<8x1xf32>
    %d = vector.broadcast %c : vector<8x1xf32> to vector<8x4xf32>
    %r = vector.shape_cast %t : vector<8x4xf32> to vector<32xf32>
    "tile.store"(%r, %y, %zero, %one) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>} : (vector<32xf32>, !tile.buffer<f32, [32], [1]>, index, index) -> ()
  }) : (index, index) -> ()
}) {sym_name = "shapes", symbols = [], outputs = 1 : i64, domain = [32], reduced = array<i64>} : () -> ()

// One dim after the other is reduced, the last first; then comes the accumulator.
// CHECK-LABEL: "tt.func"
// CHECK: %[[V:.*]] = "tt.load"{{.*}} -> tensor<4x8xf32>
// CHECK: %[[ROWS:.*]] = "tt.reduce"(%[[V]]) ({
// CHECK: ^{{.*}}(%[[L:.*]]: f32, %[[R:.*]]: f32):
// CHECK: arith.maximumf %[[L]], %[[R]] : f32
// CHECK: }) {axis = 1 : i32} : (tensor<4x8xf32>) -> tensor<4xf32>
// CHECK: %[[ALL:.*]] = "tt.reduce"(%[[ROWS]])
// CHECK: }) {axis = 0 : i32} : (tensor<4xf32>) -> f32
// CHECK: arith.maximumf %[[ALL]], %{{.*}} : f32
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [4, 8], [8, 1]>, %y: !tile.buffer<f32, [1], [1]>):
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %eight = arith.constant 8 : index
  %low = arith.constant 0xFF800000 : f32
  "tile.grid"(%one, %one) ({
  ^bb0(%pid: index):
    %v = "tile.load"(%x, %zero, %eight, %one) {operandSegmentSizes = array<i32: 1, 1, 2, 0, 0>} : (!tile.buffer<f32, [4, 8], [8, 1]>, index, index, index) -> vector<4x8xf32>
    %m = vector.multi_reduction <maximumf>, %v, %low [0, 1] : vector<4x8xf32> to f32
    "tile.store"(%m, %y, %zero) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (f32, !tile.buffer<f32, [1], [1]>, index) -> ()
  }) : (index, index) -> ()
}) {sym_name = "reductions", symbols = [], outputs = 1 : i64, domain = [4, 8], reduced = array<i64: 0, 1>} : () -> ()

// Integers have reductions of their own, with and without sign.
// CHECK-LABEL: "tt.func"
// CHECK: "tt.reduce"
// CHECK: arith.addi %{{.*}}, %{{.*}} : i32
// CHECK: "tt.reduce"
// CHECK: arith.maxui %{{.*}}, %{{.*}} : i32
"tile.kernel"() ({
^bb0(%x: !tile.buffer<i32, [8], [1]>, %y: !tile.buffer<i32, [2], [1]>):
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  "tile.grid"(%one, %one) ({
  ^bb0(%pid: index):
    %v = "tile.load"(%x, %zero, %one) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (!tile.buffer<i32, [8], [1]>, index, index) -> vector<8xi32>
    %s = vector.reduction <add>, %v : vector<8xi32> into i32
    %m = vector.reduction <maxui>, %v : vector<8xi32> into i32
    "tile.store"(%s, %y, %zero) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (i32, !tile.buffer<i32, [2], [1]>, index) -> ()
    "tile.store"(%m, %y, %one) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (i32, !tile.buffer<i32, [2], [1]>, index) -> ()
  }) : (index, index) -> ()
}) {sym_name = "integers", symbols = [], outputs = 1 : i64, domain = [8], reduced = array<i64: 0>} : () -> ()

// What comes before a scan is added to it. The scan of a row begins with a scalar.
// CHECK-LABEL: "tt.func"
// CHECK: %[[S:.*]] = "tt.load"{{.*}} -> f32
// CHECK: %[[V:.*]] = "tt.splat"(%[[S]])
// CHECK: %[[ROW:.*]] = "tt.scan"(%[[V]]) ({
// CHECK: arith.addf
// CHECK: "tt.scan.return"
// CHECK: }) {axis = 0 : i32, reverse = false} : (tensor<8xf32>) -> tensor<8xf32>
// CHECK: %[[B:.*]] = "tt.splat"(%[[S]])
// CHECK: arith.addf %[[B]], %[[ROW]]
// CHECK: %[[SUM:.*]] = "tt.reduce"(%[[V]])
// CHECK: %[[AFTER:.*]] = arith.addf %[[S]], %{{.*}} : f32
// CHECK: "tt.scan"
// CHECK: }) {axis = 1 : i32, reverse = false} : (tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK: "tt.expand_dims"(%{{.*}}) {axis = 1 : i32} : (tensor<4xf32>) -> tensor<4x1xf32>
// CHECK-NOT: "tt.reduce"
// CHECK: arith.maximumf
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [1], [1]>, %y: !tile.buffer<f32, [8], [1]>, %z: !tile.buffer<f32, [4, 8], [8, 1]>):
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %eight = arith.constant 8 : index
  "tile.grid"(%one, %one) ({
  ^bb0(%pid: index):
    %s = "tile.load"(%x, %zero) {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>} : (!tile.buffer<f32, [1], [1]>, index) -> f32
    %v = vector.broadcast %s : f32 to vector<8xf32>
    %before = vector.broadcast %s : f32 to vector<f32>
    %row, %after = vector.scan <add>, %v, %before {inclusive = true, reduction_dim = 0 : i64} : vector<8xf32>, vector<f32>
    %row2, %after2 = vector.scan <add>, %row, %after {inclusive = true, reduction_dim = 0 : i64} : vector<8xf32>, vector<f32>
    "tile.store"(%row2, %y, %zero, %one) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>} : (vector<8xf32>, !tile.buffer<f32, [8], [1]>, index, index) -> ()
    %rows = vector.broadcast %s : f32 to vector<4x8xf32>
    %start = vector.broadcast %s : f32 to vector<4xf32>
    %most, %last = vector.scan <maximumf>, %rows, %start {inclusive = true, reduction_dim = 1 : i64} : vector<4x8xf32>, vector<4xf32>
    "tile.store"(%most, %z, %zero, %eight, %one) {operandSegmentSizes = array<i32: 1, 1, 1, 2, 0>} : (vector<4x8xf32>, !tile.buffer<f32, [4, 8], [8, 1]>, index, index, index) -> ()
  }) : (index, index) -> ()
}) {sym_name = "scans", symbols = [], outputs = 1 : i64, domain = [4, 8], reduced = array<i64>} : () -> ()

// Logarithms of sums: the body calls the library, and so does what takes in the rest.
// CHECK-LABEL: "tt.func"
// CHECK: "tt.scan"
// CHECK: ^{{.*}}([[A:%.+]]: f32, [[B:%.+]]: f32):
// CHECK: arith.maximumf
// CHECK: arith.minimumf
// CHECK: "__nv_expf"
// CHECK: "__nv_log1pf"
// CHECK: arith.cmpf{{.*}}[[A]], [[B]]
// CHECK: arith.select
// CHECK: "tt.scan.return"
// CHECK: }) {axis = 0 : i32, reverse = false} : (tensor<8xf32>) -> tensor<8xf32>
// CHECK-NOT: "tt.reduce"
// CHECK: "__nv_log1pf"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [1], [1]>, %y: !tile.buffer<f32, [8], [1]>):
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  "tile.grid"(%one, %one) ({
  ^bb0(%pid: index):
    %s = "tile.load"(%x, %zero) {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>} : (!tile.buffer<f32, [1], [1]>, index) -> f32
    %v = vector.broadcast %s : f32 to vector<8xf32>
    %before = vector.broadcast %s : f32 to vector<f32>
    %row, %after = "tile.block_scan"(%v, %before) {combines = "logaddexp", dim = 0 : i64} : (vector<8xf32>, vector<f32>) -> (vector<8xf32>, vector<f32>)
    "tile.store"(%row, %y, %zero, %one) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>} : (vector<8xf32>, !tile.buffer<f32, [8], [1]>, index, index) -> ()
  }) : (index, index) -> ()
}) {sym_name = "logarithms", symbols = [], outputs = 1 : i64, domain = [8], reduced = array<i64>} : () -> ()
