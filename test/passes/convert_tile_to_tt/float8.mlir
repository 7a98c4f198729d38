// RUN: %girih-opt --convert-tile-to-tt %s | filecheck %s

// Casts of float8 are instructions for four numbers at a time, whose operands and
// results are bytes; other bits of the same width are Triton's own op.
// CHECK-LABEL: "tt.func"
// CHECK: ^bb0(%{{.*}}: !tt.ptr<f32>, %{{.*}}: !tt.ptr<i8>)
// CHECK: %[[V:.*]] = "tt.load"{{.*}} -> tensor<16xf32>
// CHECK: %[[E:.*]] = "tt.elementwise_inline_asm"(%[[V]]) {asm_string = "{{.*}}cvt.rn.satfinite.e4m3x2.f32{{.*}}packed_element = 4 : i32{{.*}} -> tensor<16xi8>
// CHECK: %[[D:.*]] = "tt.elementwise_inline_asm"(%[[E]]) {asm_string = "{{.*}}cvt.rn.f16x2.e4m3x2{{.*}} -> tensor<16xf32>
// CHECK: %[[I:.*]] = "tt.bitcast"(%[[D]]) : (tensor<16xf32>) -> tensor<16xi32>
// CHECK: %[[F:.*]] = "tt.bitcast"(%[[I]]) : (tensor<16xi32>) -> tensor<16xf32>
// CHECK: "tt.store"(%{{.*}}, %[[F]])
// CHECK: "tt.store"(%{{.*}}, %[[E]])
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [16], [1]>, %y: !tile.buffer<f8E4M3FN, [16], [1]>):
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  "tile.grid"(%one, %one) ({
  ^bb0(%pid: index):
    %v = "tile.load"(%x, %zero, %one) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (!tile.buffer<f32, [16], [1]>, index, index) -> vector<16xf32>
    %n = arith.truncf %v : vector<16xf32> to vector<16xf8E4M3FN>
    %e = arith.bitcast %n : vector<16xf8E4M3FN> to vector<16xi8>
    %m = arith.bitcast %e : vector<16xi8> to vector<16xf8E4M3FN>
    %d = arith.extf %m : vector<16xf8E4M3FN> to vector<16xf32>
    %i = arith.bitcast %d : vector<16xf32> to vector<16xi32>
    %f = arith.bitcast %i : vector<16xi32> to vector<16xf32>
    "tile.store"(%f, %x, %zero, %one) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>} : (vector<16xf32>, !tile.buffer<f32, [16], [1]>, index, index) -> ()
    "tile.store"(%e, %y, %zero, %one) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>} : (vector<16xi8>, !tile.buffer<f8E4M3FN, [16], [1]>, index, index) -> ()
  }) : (index, index) -> ()
}) {domain = [16], outputs = 1 : i64, reduced = array<i64>, schedule = "by hand", sym_name = "k", symbols = []} : () -> ()
