// RUN: %girih-opt --convert-tile-to-tt %s | filecheck %s
// RUN: %girih-opt --convert-tile-to-tt=library=hip %s | filecheck %s --check-prefix=HIP

// Steps in flight are for Triton's pipeliner; divisions and roots are approximate where
// that is asked for, and rounded to nearest elsewhere.
// CHECK: scf.for
// CHECK: "tt.precise_divf"
// CHECK: arith.divf
// CHECK: "tt.precise_sqrt"
// CHECK: asm_string = "sqrt.approx.f32 $0, $1;"
// CHECK: {tt.num_stages = 4 : i32}
// CHECK: scf.for
// CHECK: {tt.num_stages = 2 : i32}
// CHECK: scf.for
// CHECK-NOT: tt.num_stages
// CHECK: {tt.loop_unroll_factor = 3 : i32}
// HIP: "tt.precise_divf"
// HIP: "tt.precise_divf"
// HIP: "tt.precise_sqrt"
// HIP: "tt.precise_sqrt"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [4096], [1]>, %y: !tile.buffer<f32, [4096], [1]>):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4096 = arith.constant 4096 : index
  "tile.grid"(%c1, %c1) ({
  ^bb1(%pid: index):
    "tile.loop"(%c0, %c4096) ({
    ^bb2(%i: index, %m: vector<256xi1>):
      %0 = "tile.load"(%x, %i, %c1) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (!tile.buffer<f32, [4096], [1]>, index, index) -> vector<256xf32>
      %1 = arith.divf %0, %0 : vector<256xf32>
      %2 = arith.divf %1, %0 fastmath<arcp> : vector<256xf32>
      %3 = math.sqrt %2 : vector<256xf32>
      %4 = math.sqrt %3 fastmath<afn> : vector<256xf32>
      "tile.store"(%4, %y, %i, %c1) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>} : (vector<256xf32>, !tile.buffer<f32, [4096], [1]>, index, index) -> ()
      "tile.yield"() : () -> ()
    }) {width = 256 : i64, unroll = 1 : i64, stages = 4 : i64} : (index, index) -> ()
    scf.for %i = %c0 to %c4096 step %c1 {
      %0 = "tile.load"(%x, %i) {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>} : (!tile.buffer<f32, [4096], [1]>, index) -> f32
      "tile.store"(%0, %y, %i) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (f32, !tile.buffer<f32, [4096], [1]>, index) -> ()
    } {stages = 2 : i64}
    scf.for %i = %c0 to %c4096 step %c1 {
      %0 = "tile.load"(%x, %i) {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>} : (!tile.buffer<f32, [4096], [1]>, index) -> f32
      "tile.store"(%0, %y, %i) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (f32, !tile.buffer<f32, [4096], [1]>, index) -> ()
    } {unroll = 3 : i64}
  }) : (index, index) -> ()
}) {sym_name = "k", symbols = [], outputs = 1 : i64, domain = [4096], reduced = array<i64>} : () -> ()
