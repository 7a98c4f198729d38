// RUN: %girih-opt --convert-tile-to-tt %s | filecheck %s
// RUN: %girih-opt --convert-tile-to-tt=aligned=true %s | filecheck %s --check-prefix=ALIGNED

// A scalar part of the address, then a range of lanes; a bool is a byte in memory.
// CHECK-LABEL: "tt.func"
// CHECK: ^bb0(%[[X:.*]]: !tt.ptr<f32>, %[[Y:.*]]: !tt.ptr<i8>):
// CHECK: %[[PID:.*]] = "tt.get_program_id"() {axis = 0 : i32}
// CHECK: %[[P:.*]] = "tt.addptr"(%[[X]], %[[PID]]) : (!tt.ptr<f32>, i32)
// CHECK: "tt.splat"(%[[P]]) : (!tt.ptr<f32>) -> tensor<8x!tt.ptr<f32>>
// CHECK: "tt.make_range"() {end = 8 : i32, start = 0 : i32}
// CHECK: "tt.load"({{.*}}operandSegmentSizes = array<i32: 1, 0, 0>{{.*}} -> tensor<8xf32>
// CHECK: arith.extui %{{.*}} : tensor<8xi1> to tensor<8xi8>
// CHECK: "tt.store"
// CHECK: arg_attrs = [{}, {}]
// CHECK-SAME: girih.launch = {grid = "100", num_stages = 3 : i64, num_warps = 4 : i64, workspace_bytes = 0 : i64}
// CHECK-SAME: sym_name = "bools_0"
// ALIGNED: arg_attrs = [{tt.divisibility = 16 : i32}, {tt.divisibility = 16 : i32}]
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [800], [1]>, %y: !tile.buffer<i1, [800], [1]>):
  %count = arith.constant 100 : index
  %one = arith.constant 1 : index
  "tile.grid"(%count, %count) ({
  ^bb0(%pid: index):
    %v = "tile.load"(%x, %pid, %one) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (!tile.buffer<f32, [800], [1]>, index, index) -> vector<8xf32>
    %c = arith.cmpf ogt, %v, %v : vector<8xf32>
    "tile.store"(%c, %y, %pid, %one) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>} : (vector<8xi1>, !tile.buffer<i1, [800], [1]>, index, index) -> ()
  }) : (index, index) -> ()
}) {sym_name = "bools", symbols = [], outputs = 1 : i64, domain = [800], reduced = array<i64>} : () -> ()

// Symbols make indices and the function's integers 64 bits wide.
// CHECK-LABEL: "tt.func"
// CHECK: ^bb0(%{{.*}}: !tt.ptr<f32>, %{{.*}}: i64):
// CHECK: arith.extsi %{{.*}} : i32 to i64
// CHECK: girih.launch = {grid = "s0"
"tile.kernel"() ({
^bb0(%y: !tile.buffer<f32, ["s0"], [1]>, %s0: index):
  %one = arith.constant 1.0 : f32
  "tile.grid"(%s0, %s0) ({
  ^bb0(%pid: index):
    "tile.store"(%one, %y, %pid) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (f32, !tile.buffer<f32, ["s0"], [1]>, index) -> ()
  }) : (index, index) -> ()
}) {sym_name = "symbolic", symbols = ["s0"], outputs = 1 : i64, domain = ["s0"], reduced = array<i64>} : () -> ()
