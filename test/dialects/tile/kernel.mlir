// RUN: %girih-opt %s -o %t.mlir
// RUN: %girih-opt %t.mlir | diff %t.mlir -
// RUN: filecheck %s --input-file %t.mlir

// Kernels before and after they are scheduled.

// CHECK: "tile.kernel"() ({
// CHECK: ^bb0(%[[X:.*]]: !tile.buffer<f32, ["s0", 16], [16, 1]>, %[[OUT:.*]]: !tile.buffer<f32, ["s0", 16], [16, 1]>, %{{.*}}: index):
// CHECK: %[[READ:.*]] = "tile.read"(%[[X]]){{.*}} -> tensor<?x16xf32, ["s0"]>
// CHECK: %[[EXP:.*]] = "graph.exp"(%[[READ]])
// CHECK: "tile.write"(%[[EXP]], %[[OUT]])
// CHECK: sym_name = "unscheduled"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, ["s0", 16], [16, 1]>, %out: !tile.buffer<f32, ["s0", 16], [16, 1]>, %s0: index):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, ["s0", 16], [16, 1]>) -> tensor<?x16xf32, ["s0"]>
  %1 = "graph.exp"(%0) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  "tile.write"(%1, %out) : (tensor<?x16xf32, ["s0"]>, !tile.buffer<f32, ["s0", 16], [16, 1]>) -> ()
}) {sym_name = "unscheduled", symbols = ["s0"], outputs = 1 : i64, domain = ["s0", 16], reduced = array<i64>} : () -> ()

// CHECK: sets = 3 : i64
// CHECK-SAME: sym_name = "for_three"
"tile.kernel"() ({
^bb0(%out: !tile.buffer<f32, [4], [1]>):
  %0 = "graph.full"() {value = 1.0 : f64} : () -> tensor<4xf32>
  "tile.write"(%0, %out) : (tensor<4xf32>, !tile.buffer<f32, [4], [1]>) -> ()
}) {sym_name = "for_three", sets = 3 : i64, symbols = [], outputs = 1 : i64, domain = [4], reduced = array<i64>} : () -> ()

// CHECK: "tile.grid"(%{{.*}}, %{{.*}}) ({
// CHECK: ^bb0(%{{.*}}: index):
// CHECK: %[[SUM:.*]] = "tile.loop"(%{{.*}}, %{{.*}}, %{{.*}}) ({
// CHECK: ^bb0(%{{.*}}: index, %[[MASK:.*]]: vector<16xi1>, %[[TOTAL:.*]]: vector<16xf32>):
// CHECK: %[[NEXT:.*]] = arith.addf %[[TOTAL]], %{{.*}} : vector<16xf32>
// CHECK: %[[KEPT:.*]] = arith.select %[[MASK]], %[[NEXT]], %[[TOTAL]]
// CHECK: "tile.yield"(%[[KEPT]])
// CHECK: {unroll = 1 : i64, width = 16 : i64}
// CHECK: vector.reduction <add>, %[[SUM]]
// CHECK: schedule = "one program a row"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, ["s0", 100], [100, 1]>, %out: !tile.buffer<f32, ["s0"], [1]>, %s0: index):
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c100 = arith.constant 100 : index
  %work = arith.muli %s0, %c100 : index
  %zero = arith.constant dense<0.0> : vector<16xf32>
  "tile.grid"(%s0, %work) ({
  ^bb1(%row: index):
    %start = arith.muli %row, %c100 : index
    %sum = "tile.loop"(%c0, %c100, %zero) ({
    ^bb2(%i: index, %mask: vector<16xi1>, %total: vector<16xf32>):
      %offset = arith.addi %start, %i : index
      %v = "tile.load"(%x, %offset, %c1, %mask) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>} : (!tile.buffer<f32, ["s0", 100], [100, 1]>, index, index, vector<16xi1>) -> vector<16xf32>
      %next = arith.addf %total, %v : vector<16xf32>
      %kept = arith.select %mask, %next, %total : vector<16xi1>, vector<16xf32>
      "tile.yield"(%kept) : (vector<16xf32>) -> ()
    }) {width = 16 : i64, unroll = 1 : i64} : (index, index, vector<16xf32>) -> vector<16xf32>
    %scalar = vector.reduction <add>, %sum : vector<16xf32> into f32
    "tile.store"(%scalar, %out, %row) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (f32, !tile.buffer<f32, ["s0"], [1]>, index) -> ()
  }) : (index, index) -> ()
}) {sym_name = "scheduled", symbols = ["s0"], outputs = 1 : i64, domain = ["s0", 100], reduced = array<i64: 1>, schedule = "one program a row"} : () -> ()
