// RUN: %girih-opt --pass-pipeline='tile{vector-bits=512}' %s | filecheck %s
// RUN: %girih-opt --pass-pipeline='tile{target=gpu}' %s | filecheck %s --check-prefix=GPU

// Two formulas that are stored alternately are computed once each. Their lanes are
// stored as one row.
// CHECK-LABEL: "tile.kernel"
// CHECK: "tile.loop"
// CHECK-DAG: [[X:%.+]] = "tile.load"(%arg0, {{.*}} -> vector<[[W:.+]]xf32>
// CHECK-DAG: [[A:%.+]] = arith.negf
// CHECK-DAG: [[B:%.+]] = math.absf
// CHECK: [[ROW:%.+]] = vector.shuffle [[A]], [[B]] [0, [[W]], 1,
// CHECK: "tile.store"([[ROW]], %arg2, {{.*}}, %c1,
// CHECK-NOT: "tile.store"
// CHECK-NOT: arith.select
// CHECK: sym_name = "alternating"
// GPU-LABEL: "tile.kernel"
// GPU-NOT: vector.shuffle
// GPU: sym_name = "alternating"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [64], [1]>, %y: !tile.buffer<f32, [64], [1]>, %out: !tile.buffer<f32, [64, 2], [2, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [64], [1]>) -> tensor<64xf32>
  %1 = "tile.read"(%y) : (!tile.buffer<f32, [64], [1]>) -> tensor<64xf32>
  %2 = "graph.reshape"(%0) : (tensor<64xf32>) -> tensor<64x1xf32>
  %3 = "graph.reshape"(%1) : (tensor<64xf32>) -> tensor<64x1xf32>
  %4 = "graph.pad"(%2) {high = array<i64: 0, 1>, low = array<i64: 0, 0>, value = 0} : (tensor<64x1xf32>) -> tensor<64x2xf32>
  %5 = "graph.pad"(%3) {high = array<i64: 0, 0>, low = array<i64: 0, 1>, value = 0} : (tensor<64x1xf32>) -> tensor<64x2xf32>
  %6 = "graph.neg"(%4) : (tensor<64x2xf32>) -> tensor<64x2xf32>
  %7 = "graph.abs"(%5) : (tensor<64x2xf32>) -> tensor<64x2xf32>
  %8 = "graph.iota"() {start = 0, step = 1} : () -> tensor<2xi64>
  %9 = "graph.constant"() {value = 1} : () -> tensor<i64>
  %10 = "graph.lt"(%8, %9) : (tensor<2xi64>, tensor<i64>) -> tensor<2xi1>
  %11 = "graph.where"(%10, %6, %7) : (tensor<2xi1>, tensor<64x2xf32>, tensor<64x2xf32>) -> tensor<64x2xf32>
  "tile.write"(%11, %out) : (tensor<64x2xf32>, !tile.buffer<f32, [64, 2], [2, 1]>) -> ()
}) {domain = [64, 2], outputs = 1 : i64, reduced = array<i64>, sym_name = "alternating", symbols = []} : () -> ()

// Where one formula gives both elements, the pairs are lanes as any others.
// CHECK-LABEL: "tile.kernel"
// CHECK-NOT: vector.shuffle
// CHECK: schedule = "flat: {{.*}}", sym_name = "one_formula"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [64, 2], [2, 1]>, %out: !tile.buffer<f32, [64, 2], [2, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [64, 2], [2, 1]>) -> tensor<64x2xf32>
  %1 = "graph.neg"(%0) : (tensor<64x2xf32>) -> tensor<64x2xf32>
  "tile.write"(%1, %out) : (tensor<64x2xf32>, !tile.buffer<f32, [64, 2], [2, 1]>) -> ()
}) {domain = [64, 2], outputs = 1 : i64, reduced = array<i64>, sym_name = "one_formula", symbols = []} : () -> ()

// Channels that become the last dim are computed together, and stored in turn: three
// vectors in memory hold the lanes of three.
// CHECK-LABEL: "tile.kernel"
// CHECK: "tile.loop"
// CHECK-COUNT-3: "tile.load"(%arg0, {{.*}} -> vector<16xf32>
// CHECK: [[TWO:%.+]] = vector.shuffle {{.*}} [0, 16, -1, 1, 17, -1,
// CHECK-NEXT: [[ALL:%.+]] = vector.shuffle [[TWO]], {{.*}} [0, 1, 16, 3, 4, 17,
// CHECK: "tile.store"([[ALL]], %arg1, {{.*}}, %c1,
// CHECK-COUNT-2: "tile.store"({{.*}}, %arg1, {{.*}}, %c1,
// CHECK-NOT: "tile.store"
// CHECK: sym_name = "channels"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [64, 3], [1, 64]>, %out: !tile.buffer<f32, [64, 3], [3, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [64, 3], [1, 64]>) -> tensor<64x3xf32>
  %1 = "graph.neg"(%0) : (tensor<64x3xf32>) -> tensor<64x3xf32>
  "tile.write"(%1, %out) : (tensor<64x3xf32>, !tile.buffer<f32, [64, 3], [3, 1]>) -> ()
}) {domain = [64, 3], outputs = 1 : i64, reduced = array<i64>, sym_name = "channels", symbols = []} : () -> ()

// A last dim that input and output have alike, and that fills a vector, stays one.
// CHECK-LABEL: "tile.kernel"
// CHECK-NOT: vector.shuffle
// CHECK: sym_name = "full_rows"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f64, [64, 7], [8, 1]>, %out: !tile.buffer<f64, [64, 7], [7, 1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f64, [64, 7], [8, 1]>) -> tensor<64x7xf64>
  %1 = "graph.neg"(%0) : (tensor<64x7xf64>) -> tensor<64x7xf64>
  "tile.write"(%1, %out) : (tensor<64x7xf64>, !tile.buffer<f64, [64, 7], [7, 1]>) -> ()
}) {domain = [64, 7], outputs = 1 : i64, reduced = array<i64>, sym_name = "full_rows", symbols = []} : () -> ()
