// RUN: %girih-opt --convert-tile-to-tt %s | filecheck %s
// RUN: %girih-opt --convert-tile-to-tt=allow-tf32=true %s | filecheck %s --check-prefix=TF32

// A product of blocks is one; float32 operands are not rounded unless that is allowed.
// CHECK-LABEL: "tt.func"
// CHECK: %[[A:.*]] = "tt.load"{{.*}} -> tensor<16x16xf32>
// CHECK: %[[D:.*]] = "tt.dot"(%[[A]], %[[A]], %{{.*}}) {inputPrecision = 2 : i32, maxNumImpreciseAcc = 0 : i32}
// CHECK-SAME: tensor<16x16xf32>
// CHECK: "tt.store"(%{{.*}}, %[[D]])
// TF32: "tt.dot"({{.*}}) {inputPrecision = 0 : i32, maxNumImpreciseAcc = 0 : i32}
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [16, 16], [16, 1]>, %y: !tile.buffer<f32, [16, 16], [16, 1]>):
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %sixteen = arith.constant 16 : index
  "tile.grid"(%one, %one) ({
  ^bb0(%pid: index):
    %a = "tile.load"(%x, %zero, %sixteen, %one) {operandSegmentSizes = array<i32: 1, 1, 2, 0, 0>} : (!tile.buffer<f32, [16, 16], [16, 1]>, index, index, index) -> vector<16x16xf32>
    %c = arith.constant dense<0.0> : vector<16x16xf32>
    %d = "tile.dot"(%a, %a, %c) : (vector<16x16xf32>, vector<16x16xf32>, vector<16x16xf32>) -> vector<16x16xf32>
    "tile.store"(%d, %y, %zero, %sixteen, %one) {operandSegmentSizes = array<i32: 1, 1, 1, 2, 0>} : (vector<16x16xf32>, !tile.buffer<f32, [16, 16], [16, 1]>, index, index, index) -> ()
  }) : (index, index) -> ()
}) {sym_name = "square", symbols = [], outputs = 1 : i64, domain = [16, 16], reduced = array<i64>} : () -> ()
