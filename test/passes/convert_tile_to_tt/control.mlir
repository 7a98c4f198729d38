// RUN: %girih-opt --convert-tile-to-tt %s | filecheck %s

// A loop computes the mask of each step; its lanes are summed by a reduction.
// CHECK: %[[SUM:.*]] = scf.for %[[I:.*]] = %c0_i32 to %c300_i32 step %c256_i32 iter_args
// CHECK: "tt.splat"(%[[I]]) : (i32) -> tensor<256xi32>
// CHECK: arith.cmpi slt
// CHECK: "tt.load"
// CHECK: "tt.extern_elementwise"(%{{.*}}) {{.*}}symbol = "__nv_tanhf"
// CHECK: "tt.precise_divf"
// CHECK: scf.yield
// CHECK: "tt.reduce"(%[[SUM]]) ({
// CHECK: arith.addf
// CHECK: "tt.reduce.return"
// CHECK: }) {axis = 0 : i32} : (tensor<256xf32>) -> f32
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [100, 300], [300, 1]>, %y: !tile.buffer<f32, [100, 300], [300, 1]>):
  %count = arith.constant 100 : index
  %c300 = arith.constant 300 : index
  %one = arith.constant 1 : index
  %zero = arith.constant 0 : index
  %z = arith.constant dense<0.0> : vector<256xf32>
  "tile.grid"(%count, %count) ({
  ^bb0(%pid: index):
    %o = arith.muli %pid, %c300 : index
    %s = "tile.loop"(%zero, %c300, %z) ({
    ^bb1(%i: index, %m: vector<256xi1>, %acc: vector<256xf32>):
      %p = arith.addi %o, %i : index
      %v = "tile.load"(%x, %p, %one, %m) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>} : (!tile.buffer<f32, [100, 300], [300, 1]>, index, index, vector<256xi1>) -> vector<256xf32>
      %n = math.tanh %v : vector<256xf32>
      %q = arith.divf %n, %v : vector<256xf32>
      %a = arith.addf %acc, %q : vector<256xf32>
      "tile.yield"(%a) : (vector<256xf32>) -> ()
    }) {width = 256 : i64, unroll = 1 : i64} : (index, index, vector<256xf32>) -> vector<256xf32>
    %r = vector.reduction <add>, %s : vector<256xf32> into f32
    "tile.store"(%r, %y, %pid) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (f32, !tile.buffer<f32, [100, 300], [300, 1]>, index) -> ()
  }) : (index, index) -> ()
}) {sym_name = "k", symbols = [], outputs = 1 : i64, domain = [100,300], reduced = array<i64: 1>} : () -> ()
