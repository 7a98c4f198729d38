// RUN: %girih-opt --tile=target=gpu %s | filecheck %s
// RUN: %girih-opt --print-schedules=target=gpu %s | filecheck %s --check-prefix=PLAN

// PLAN: forward: attention: rows by blocks of 64 x 64, 4 warps, 3 stages
// PLAN: backward: attention: keys by blocks of 128 x 64, {{.*}}; queries by blocks of 64 x 128
// PLAN: nothing: empty: the outputs have no elements

// A program has a block of queries, of one head; it walks over blocks of keys, up to the
// last one that a query sees. Largest score, sum of powers and result are carried.
// CHECK-LABEL: "tile.kernel"
// CHECK-DAG: %[[ZERO:[a-z0-9_]+]] = arith.constant 0 : index
// CHECK-DAG: %[[STEP:[a-z0-9_]+]] = arith.constant 64 : index
// CHECK: "tile.grid"
// CHECK: %[[Q:[a-z0-9_]+]] = "tile.load"(%arg0, {{.*}} -> vector<64x64xbf16>
// CHECK: %[[END:[a-z0-9_]+]] = arith.minsi
// CHECK: %[[CLEAR:[a-z0-9_]+]] = arith.minsi
// CHECK: scf.for %{{.*}} = %[[ZERO]] to %[[CLEAR]] step %[[STEP]]
// CHECK-NOT: arith.cmpi
// CHECK: scf.yield
// CHECK: %[[R:[a-z0-9_]+]]:3 = scf.for %{{.*}} = %[[CLEAR]] to %[[END]] step %[[STEP]] iter_args(%[[M:[a-z0-9_]+]] = %{{.*}}, %[[L:[a-z0-9_]+]] = %{{.*}}, %[[A:[a-z0-9_]+]] = %{{.*}})
// CHECK-DAG: %[[K:[a-z0-9_]+]] = "tile.load"(%arg1, {{.*}} -> vector<64x64xbf16>
// CHECK-DAG: %[[V:[a-z0-9_]+]] = "tile.load"(%arg2, {{.*}} -> vector<64x64xbf16>
// CHECK: %[[KT:[a-z0-9_]+]] = vector.transpose %[[K]], [1, 0]
// CHECK: %[[S:[a-z0-9_]+]] = "tile.dot"(%[[Q]], %[[KT]], %{{.*}})
// CHECK: math.tanh {{.*}} fastmath<afn>
// CHECK: %[[X:[a-z0-9_]+]] = arith.select
// CHECK: %[[N:[a-z0-9_]+]] = vector.multi_reduction <maximumf>, %[[X]], %[[M]] [1]
// CHECK: %[[P:[a-z0-9_]+]] = math.exp2
// CHECK: vector.multi_reduction <add>, %[[P]]
// CHECK: %[[PB:[a-z0-9_]+]] = arith.truncf %[[P]]
// CHECK: %[[AN:[a-z0-9_]+]] = "tile.dot"(%[[PB]], %[[V]]
// CHECK: scf.yield %[[N]], %{{.*}}, %[[AN]]
// CHECK: arith.divf %[[R]]#2
// CHECK: "tile.store"({{.*}}%arg3
// CHECK: "tile.store"({{.*}}%arg4
// CHECK: "tile.store"({{.*}}%arg5
"tile.kernel"() ({
^bb0(%q: !tile.buffer<bf16, [2, 4, 512, 64], [131072, 32768, 64, 1]>, %k: !tile.buffer<bf16, [2, 2, 512, 64], [65536, 32768, 64, 1]>, %v: !tile.buffer<bf16, [2, 2, 512, 64], [65536, 32768, 64, 1]>, %y: !tile.buffer<bf16, [2, 4, 512, 64], [131072, 64, 256, 1]>, %m: !tile.buffer<f32, [2, 4, 512], [2048, 512, 1]>, %l: !tile.buffer<f32, [2, 4, 512], [2048, 512, 1]>):
  %0 = "tile.read"(%q) : (!tile.buffer<bf16, [2, 4, 512, 64], [131072, 32768, 64, 1]>) -> tensor<2x4x512x64xbf16>
  %1 = "tile.read"(%k) : (!tile.buffer<bf16, [2, 2, 512, 64], [65536, 32768, 64, 1]>) -> tensor<2x2x512x64xbf16>
  %2 = "tile.read"(%v) : (!tile.buffer<bf16, [2, 2, 512, 64], [65536, 32768, 64, 1]>) -> tensor<2x2x512x64xbf16>
  %3:3 = "graph.flash_attention"(%0, %1, %2) ({
  ^bb1(%s: tensor<2x4x512x512xbf16>):
    %t = "graph.tanh"(%s) : (tensor<2x4x512x512xbf16>) -> tensor<2x4x512x512xbf16>
    %i = "graph.iota"() {start = 0 : i64, step = 1 : i64} : () -> tensor<512xi64>
    %r = "graph.reshape"(%i) : (tensor<512xi64>) -> tensor<512x1xi64>
    %c = "graph.le"(%i, %r) : (tensor<512xi64>, tensor<512x1xi64>) -> tensor<512x512xi1>
    %n = "graph.constant"() {value = 0xFFF0000000000000 : f64} : () -> tensor<bf16>
    %w = "graph.where"(%c, %t, %n) : (tensor<512x512xi1>, tensor<2x4x512x512xbf16>, tensor<bf16>) -> tensor<2x4x512x512xbf16>
    "graph.yield"(%w) : (tensor<2x4x512x512xbf16>) -> ()
  }) : (tensor<2x4x512x64xbf16>, tensor<2x2x512x64xbf16>, tensor<2x2x512x64xbf16>) -> (tensor<2x4x512x64xbf16>, tensor<2x4x512xf32>, tensor<2x4x512xf32>)
  "tile.write"(%3#0, %y) : (tensor<2x4x512x64xbf16>, !tile.buffer<bf16, [2, 4, 512, 64], [131072, 64, 256, 1]>) -> ()
  "tile.write"(%3#1, %m) : (tensor<2x4x512xf32>, !tile.buffer<f32, [2, 4, 512], [2048, 512, 1]>) -> ()
  "tile.write"(%3#2, %l) : (tensor<2x4x512xf32>, !tile.buffer<f32, [2, 4, 512], [2048, 512, 1]>) -> ()
}) {sym_name = "forward", symbols = [], outputs = 3 : i64, domain = [2, 4, 512, 64], reduced = array<i64>} : () -> ()

// Gradients of keys and values, over all queries that read them; then those of queries.
// CHECK-LABEL: "tile.kernel"
// CHECK: "tile.grid"
// CHECK: %[[K:[a-z0-9_]+]] = "tile.load"(%arg2, {{.*}} -> vector<64x64xf16>
// CHECK: %[[V:[a-z0-9_]+]] = "tile.load"(%arg2, {{.*}} -> vector<64x64xf16>
// CHECK: scf.for
// CHECK: scf.for
// CHECK: %[[ST:[a-z0-9_]+]] = "tile.dot"(%[[K]], {{.*}} -> vector<64x128xf32>
// CHECK: "tile.dot"(%[[V]], {{.*}} -> vector<64x128xf32>
// CHECK: "tile.dot"({{.*}} -> vector<64x64xf32>
// CHECK: "tile.dot"({{.*}} -> vector<64x64xf32>
// CHECK: "tile.grid"
// CHECK: %[[Q:[a-z0-9_]+]] = "tile.load"(%arg1, {{.*}} -> vector<64x64xf16>
// CHECK: scf.for
// CHECK: "tile.dot"(%[[Q]], {{.*}} -> vector<64x128xf32>
// CHECK: "tile.dot"
// CHECK: "tile.dot"
// CHECK-NOT: "tile.dot"
"tile.kernel"() ({
^bb0(%g: !tile.buffer<f16, [1, 4, 512, 64], [131072, 32768, 64, 1]>, %q: !tile.buffer<f16, [1, 4, 512, 64], [131072, 32768, 64, 1]>, %k: !tile.buffer<f16, [1, 2, 300, 64], [38400, 19200, 64, 1]>, %l: !tile.buffer<f32, [1, 4, 512], [2048, 512, 1]>, %dq: !tile.buffer<f16, [1, 4, 512, 64], [131072, 32768, 64, 1]>, %dk: !tile.buffer<f16, [1, 2, 300, 64], [38400, 19200, 64, 1]>, %dv: !tile.buffer<f16, [1, 2, 300, 64], [38400, 19200, 64, 1]>):
  %0 = "tile.read"(%g) : (!tile.buffer<f16, [1, 4, 512, 64], [131072, 32768, 64, 1]>) -> tensor<1x4x512x64xf16>
  %1 = "tile.read"(%q) : (!tile.buffer<f16, [1, 4, 512, 64], [131072, 32768, 64, 1]>) -> tensor<1x4x512x64xf16>
  %2 = "tile.read"(%k) : (!tile.buffer<f16, [1, 2, 300, 64], [38400, 19200, 64, 1]>) -> tensor<1x2x300x64xf16>
  %3 = "tile.read"(%l) : (!tile.buffer<f32, [1, 4, 512], [2048, 512, 1]>) -> tensor<1x4x512xf32>
  %4:3 = "graph.flash_attention_backward"(%0, %1, %2, %2, %3, %3, %3) ({
  ^bb1(%s: tensor<1x4x512x300xf16>, %d: tensor<1x4x512x300xf16>):
    "graph.yield"(%s, %d) : (tensor<1x4x512x300xf16>, tensor<1x4x512x300xf16>) -> ()
  }) : (tensor<1x4x512x64xf16>, tensor<1x4x512x64xf16>, tensor<1x2x300x64xf16>, tensor<1x2x300x64xf16>, tensor<1x4x512xf32>, tensor<1x4x512xf32>, tensor<1x4x512xf32>) -> (tensor<1x4x512x64xf16>, tensor<1x2x300x64xf16>, tensor<1x2x300x64xf16>)
  "tile.write"(%4#0, %dq) : (tensor<1x4x512x64xf16>, !tile.buffer<f16, [1, 4, 512, 64], [131072, 32768, 64, 1]>) -> ()
  "tile.write"(%4#1, %dk) : (tensor<1x2x300x64xf16>, !tile.buffer<f16, [1, 2, 300, 64], [38400, 19200, 64, 1]>) -> ()
  "tile.write"(%4#2, %dv) : (tensor<1x2x300x64xf16>, !tile.buffer<f16, [1, 2, 300, 64], [38400, 19200, 64, 1]>) -> ()
}) {sym_name = "backward", symbols = [], outputs = 3 : i64, domain = [1, 4, 512, 64], reduced = array<i64>} : () -> ()

// CHECK-LABEL: "tile.kernel"
// CHECK-NOT: "tile.grid"
"tile.kernel"() ({
^bb0(%q: !tile.buffer<f16, [1, 0, 8, 16], [128, 128, 16, 1]>, %y: !tile.buffer<f16, [1, 0, 8, 16], [128, 128, 16, 1]>, %m: !tile.buffer<f32, [1, 0, 8], [8, 8, 1]>, %l: !tile.buffer<f32, [1, 0, 8], [8, 8, 1]>):
  %0 = "tile.read"(%q) : (!tile.buffer<f16, [1, 0, 8, 16], [128, 128, 16, 1]>) -> tensor<1x0x8x16xf16>
  %1:3 = "graph.flash_attention"(%0, %0, %0) ({
  ^bb1(%s: tensor<1x0x8x8xf16>):
    "graph.yield"(%s) : (tensor<1x0x8x8xf16>) -> ()
  }) : (tensor<1x0x8x16xf16>, tensor<1x0x8x16xf16>, tensor<1x0x8x16xf16>) -> (tensor<1x0x8x16xf16>, tensor<1x0x8xf32>, tensor<1x0x8xf32>)
  "tile.write"(%1#0, %y) : (tensor<1x0x8x16xf16>, !tile.buffer<f16, [1, 0, 8, 16], [128, 128, 16, 1]>) -> ()
  "tile.write"(%1#1, %m) : (tensor<1x0x8xf32>, !tile.buffer<f32, [1, 0, 8], [8, 8, 1]>) -> ()
  "tile.write"(%1#2, %l) : (tensor<1x0x8xf32>, !tile.buffer<f32, [1, 0, 8], [8, 8, 1]>) -> ()
}) {sym_name = "nothing", symbols = [], outputs = 3 : i64, domain = [1, 0, 8, 16], reduced = array<i64>} : () -> ()
