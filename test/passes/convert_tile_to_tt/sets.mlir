// RUN: %girih-opt --convert-tile-to-tt %s | filecheck %s

// The arguments of three sets, inputs first. A program finds its set by halving: how many
// programs the sets in front of it have is computed once, and nothing else of other sets:
// their programs may be writing what would be read.
// CHECK: ^bb0([[X0:%.+]]: !tt.ptr<f32>, [[A0:%.+]]: !tt.ptr<f32>, [[X1:%.+]]: !tt.ptr<f32>, [[A1:%.+]]: !tt.ptr<f32>, [[X2:%.+]]: !tt.ptr<f32>, [[A2:%.+]]: !tt.ptr<f32>, [[Y0:%.+]]: !tt.ptr<f32>, [[Y1:%.+]]: !tt.ptr<f32>, [[Y2:%.+]]: !tt.ptr<f32>, [[N0:%.+]]: i64, [[N1:%.+]]: i64, [[N2:%.+]]: i64):
// CHECK: [[PID:%.+]] = "tt.get_program_id"
// CHECK-NOT: "tt.load"
// CHECK: [[P:%.+]] = arith.extsi [[PID]]
// CHECK: [[S1:%.+]] = arith.addi
// CHECK: [[S2:%.+]] = arith.addi [[S1]]
// CHECK: [[FIRST:%.+]] = arith.cmpi slt, [[P]], [[S1]]
// CHECK: scf.if [[FIRST]]
// CHECK: scf.yield {{.+}}, [[X0]], [[A0]], [[Y0]], [[N0]]
// CHECK: arith.cmpi slt, [[P]], [[S2]]
// CHECK: [[LOCAL:%.+]] = arith.subi [[P]], [[S1]]
// CHECK: scf.yield [[LOCAL]], [[X1]], [[A1]], [[Y1]], [[N1]]
// CHECK: [[LAST:%.+]] = arith.subi [[P]], [[S2]]
// CHECK: scf.yield [[LAST]], [[X2]], [[A2]], [[Y2]], [[N2]]
// CHECK-COUNT-2: "tt.load"
// CHECK-NOT: "tt.load"
// CHECK: arg_attrs = [{tt.divisibility = 16 : i32}, {}, {tt.divisibility = 16 : i32}, {}, {tt.divisibility = 16 : i32}, {}, {}, {}, {}, {}, {}, {}]
// CHECK-SAME: buffers = ["!tile.buffer<f32, [\22s0_0\22], [1]>"
// CHECK-SAME: outputs = 3 : i64, symbols = ["s0_0", "s0_1", "s0_2"]
// CHECK-SAME: grid = "ceildiv(s0_0, 1024) + ceildiv(s0_1, 1024) + ceildiv(s0_2, 1024)"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, ["s0"], [1]>, %a: !tile.buffer<f32, [], []>, %y: !tile.buffer<f32, ["s0"], [1]>, %s0: index):
  %c1 = arith.constant 1 : index
  %c1024 = arith.constant 1024 : index
  %c0 = arith.constant 0 : index
  %factor = "tile.load"(%a, %c0) {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>} : (!tile.buffer<f32, [], []>, index) -> f32
  %factors = vector.broadcast %factor : f32 to vector<1024xf32>
  %count = arith.ceildivsi %s0, %c1024 : index
  "tile.grid"(%count, %s0) ({
  ^bb1(%pid: index):
    %start = arith.muli %pid, %c1024 : index
    "tile.loop"(%start, %s0) ({
    ^bb2(%i: index, %m: vector<1024xi1>):
      %0 = "tile.load"(%x, %i, %c1, %m) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>} : (!tile.buffer<f32, ["s0"], [1]>, index, index, vector<1024xi1>) -> vector<1024xf32>
      %1 = arith.mulf %0, %factors : vector<1024xf32>
      "tile.store"(%1, %y, %i, %c1, %m) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>} : (vector<1024xf32>, !tile.buffer<f32, ["s0"], [1]>, index, index, vector<1024xi1>) -> ()
      "tile.yield"() : () -> ()
    }) {width = 1024 : i64, unroll = 1 : i64} : (index, index) -> ()
  }) : (index, index) -> ()
}) {aligned = array<i1: true, false, false>, domain = ["s0"], outputs = 1 : i64, reduced = array<i64>, sets = 3 : i64, sym_name = "k0", symbols = ["s0"]} : () -> ()
