// RUN: %girih-opt --convert-tile-to-tt %s | filecheck %s

// A block of two dims: the pointer of each row, then lanes of stride 1 are added; the
// masks of both dims become one, an all-true one is left out.
// CHECK-LABEL: "tt.func"
// CHECK-DAG: %[[W:.*]] = arith.constant 100 : i32
// CHECK: %[[B:.*]] = "tt.splat"(%{{.*}}) : (!tt.ptr<f32>) -> tensor<4x1x!tt.ptr<f32>>
// CHECK: %[[R:.*]] = "tt.make_range"() {end = 4 : i32, start = 0 : i32}
// CHECK: %[[S:.*]] = arith.muli %[[R]], %{{.*}} : tensor<4xi32>
// CHECK: "tt.expand_dims"(%[[S]]) {axis = 1 : i32} : (tensor<4xi32>) -> tensor<4x1xi32>
// CHECK: %[[P:.*]] = "tt.addptr"(%[[B]]
// CHECK: %[[C:.*]] = "tt.make_range"() {end = 8 : i32, start = 0 : i32}
// CHECK: "tt.expand_dims"(%[[C]]) {axis = 0 : i32} : (tensor<8xi32>) -> tensor<1x8xi32>
// CHECK: %[[Q:.*]] = "tt.addptr"({{.*}}) : (tensor<4x8x!tt.ptr<f32>>, tensor<4x8xi32>)
// CHECK: %[[M:.*]] = "tt.broadcast"({{.*}}) : (tensor<4x1xi1>) -> tensor<4x8xi1>
// CHECK-NOT: arith.andi
// CHECK: "tt.load"(%[[Q]], %[[M]], %{{.*}}) {{.*}} -> tensor<4x8xf32>
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [100, 100], [100, 1]>, %y: !tile.buffer<f32, [100, 100], [100, 1]>):
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %width = arith.constant 100 : index
  %all = arith.constant dense<true> : vector<8xi1>
  "tile.grid"(%one, %one) ({
  ^bb0(%pid: index):
    %lanes = vector.step : vector<4xindex>
    %limit = vector.broadcast %pid : index to vector<4xindex>
    %rows = arith.cmpi slt, %lanes, %limit : vector<4xindex>
    %v = "tile.load"(%x, %zero, %width, %one, %rows, %all) {operandSegmentSizes = array<i32: 1, 1, 2, 2, 0>} : (!tile.buffer<f32, [100, 100], [100, 1]>, index, index, index, vector<4xi1>, vector<8xi1>) -> vector<4x8xf32>
    "tile.store"(%v, %y, %zero, %width, %one, %rows, %all) {operandSegmentSizes = array<i32: 1, 1, 1, 2, 2>} : (vector<4x8xf32>, !tile.buffer<f32, [100, 100], [100, 1]>, index, index, index, vector<4xi1>, vector<8xi1>) -> ()
  }) : (index, index) -> ()
}) {sym_name = "block", symbols = [], outputs = 1 : i64, domain = [100, 100], reduced = array<i64>} : () -> ()

// A gather adds each lane's offset to the buffer; masked lanes are what the op says.
// A check holds where its mask is off.
// CHECK-LABEL: "tt.func"
// CHECK: %[[I:.*]] = "tt.load"{{.*}} -> tensor<8xi64>
// CHECK: %[[NOT:.*]] = arith.xori %{{.*}}, %{{.*}} : tensor<8xi1>
// CHECK: %[[OK:.*]] = arith.ori %{{.*}}, %[[NOT]] : tensor<8xi1>
// CHECK: "tt.assert"(%[[OK]]) {message = "index out of range"} : (tensor<8xi1>) -> ()
// CHECK: %[[P:.*]] = "tt.splat"(%{{.*}}) : (!tt.ptr<f32>) -> tensor<8x!tt.ptr<f32>>
// CHECK: %[[A:.*]] = "tt.addptr"(%[[P]], %[[I]]) : (tensor<8x!tt.ptr<f32>>, tensor<8xi64>)
// CHECK: %[[O:.*]] = "tt.splat"(%{{.*}}) : (f32) -> tensor<8xf32>
// CHECK: "tt.load"(%[[A]], %{{.*}}, %[[O]])
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [50], [1]>, %i: !tile.buffer<i64, [8], [1]>, %y: !tile.buffer<f32, [8], [1]>):
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %other = arith.constant 3.0 : f32
  %limit = arith.constant dense<50> : vector<8xi64>
  "tile.grid"(%one, %one) ({
  ^bb0(%pid: index):
    %v = "tile.load"(%i, %zero, %one) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (!tile.buffer<i64, [8], [1]>, index, index) -> vector<8xi64>
    %lanes = vector.step : vector<8xindex>
    %few = vector.broadcast %pid : index to vector<8xindex>
    %m = arith.cmpi slt, %lanes, %few : vector<8xindex>
    %ok = arith.cmpi slt, %v, %limit : vector<8xi64>
    "tile.check"(%ok, %m) : (vector<8xi1>, vector<8xi1>) -> ()
    %g = "tile.gather"(%x, %v, %m, %other) {operandSegmentSizes = array<i32: 1, 1, 1, 1>} : (!tile.buffer<f32, [50], [1]>, vector<8xi64>, vector<8xi1>, f32) -> vector<8xf32>
    "tile.store"(%g, %y, %zero, %one) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>} : (vector<8xf32>, !tile.buffer<f32, [8], [1]>, index, index) -> ()
  }) : (index, index) -> ()
}) {sym_name = "gather", symbols = [], outputs = 1 : i64, domain = [8], reduced = array<i64>} : () -> ()

// Two grids are two functions. Workspaces lie in the last argument, each at a multiple
// of 128 bytes; both functions are told how many bytes there are in all. A grid whose
// size is a remainder is one of the symbols.
// CHECK-LABEL: "tt.func"
// CHECK: ^bb0(%{{.*}}: !tt.ptr<f32>, %{{.*}}: i64, %[[WS:.*]]: !tt.ptr<i8>):
// CHECK: %[[O:.*]] = arith.constant 128 : i64
// CHECK: %[[P:.*]] = "tt.addptr"(%[[WS]], %[[O]]) : (!tt.ptr<i8>, i64) -> !tt.ptr<i8>
// CHECK: "tt.bitcast"(%[[P]]) : (!tt.ptr<i8>) -> !tt.ptr<f32>
// CHECK: arg_attrs = [{}, {}, {tt.divisibility = 16 : i32}]
// CHECK-SAME: girih.arguments = {buffers = ["!tile.buffer<f32, [\22s0\22], [1]>"], outputs = 1 : i64, symbols = ["s0"]}
// CHECK-SAME: girih.launch = {grid = "(s0 % 7)", num_stages = 3 : i64, num_warps = 8 : i64, workspace_bytes = 256 : i64}
// CHECK-SAME: sym_name = "parts_0"
// CHECK-LABEL: "tt.func"
// CHECK: workspace_bytes = 256 : i64
// CHECK-SAME: sym_name = "parts_1"
"tile.kernel"() ({
^bb0(%y: !tile.buffer<f32, ["s0"], [1]>, %s0: index):
  %one = arith.constant 1 : index
  %seven = arith.constant 7 : index
  %zero = arith.constant 0 : index
  %r = arith.remsi %s0, %seven : index
  %wrapped = arith.addi %r, %seven : index
  %negative = arith.cmpi slt, %r, %zero : index
  %count = arith.select %negative, %wrapped, %r : index
  %a = "tile.workspace"() {elements = 20 : i64} : () -> !tile.buffer<f32, [20], [1]>
  %b = "tile.workspace"() {elements = 20 : i64} : () -> !tile.buffer<f32, [20], [1]>
  "tile.grid"(%count, %s0) ({
  ^bb0(%pid: index):
    %v = "tile.load"(%y, %pid) {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>} : (!tile.buffer<f32, ["s0"], [1]>, index) -> f32
    "tile.store"(%v, %b, %pid) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (f32, !tile.buffer<f32, [20], [1]>, index) -> ()
  }) {num_warps = 8 : i64} : (index, index) -> ()
  "tile.grid"(%one, %s0) ({
  ^bb0(%pid: index):
    %v = "tile.load"(%b, %pid) {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>} : (!tile.buffer<f32, [20], [1]>, index) -> f32
    "tile.store"(%v, %y, %pid) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (f32, !tile.buffer<f32, ["s0"], [1]>, index) -> ()
  }) : (index, index) -> ()
}) {sym_name = "parts", symbols = ["s0"], outputs = 1 : i64, domain = ["s0"], reduced = array<i64>} : () -> ()

// A remainder of what is not negative is not corrected.
// CHECK-LABEL: "tt.func"
// CHECK: girih.launch = {grid = "(s0 % 8)"
// CHECK-SAME: sym_name = "rest_0"
// CHECK: girih.launch = {grid = "s0 - (s0 % 8) + 8"
// CHECK-SAME: sym_name = "rest_1"
"tile.kernel"() ({
^bb0(%y: !tile.buffer<f32, ["s0"], [1]>, %s0: index):
  %eight = arith.constant 8 : index
  %r = arith.remsi %s0, %eight : index
  %whole = arith.subi %s0, %r : index
  %padded = arith.addi %whole, %eight : index
  "tile.grid"(%r, %s0) ({
  ^bb0(%pid: index):
  }) : (index, index) -> ()
  "tile.grid"(%padded, %s0) ({
  ^bb0(%pid: index):
  }) : (index, index) -> ()
}) {sym_name = "rest", symbols = ["s0"], outputs = 1 : i64, domain = ["s0"], reduced = array<i64>} : () -> ()
