// RUN: %girih-opt --pass-pipeline='tile{vector-bits=512}' %s | filecheck %s
// RUN: %girih-opt --pass-pipeline='tile{vector-bits=512 saturates-float8=false}' %s | filecheck %s --check-prefix=NAN
// RUN: %girih-opt --pass-pipeline='tile{target=gpu casts-float8=true}' %s | filecheck %s --check-prefix=GPU

// A cast to float8 is integer arithmetic that ends in the byte that is stored; what is
// too large has the bits of 448, or those of NaN. A GPU may have an instruction.
// CHECK-LABEL: "tile.kernel"
// CHECK-DAG: [[LARGEST:%.+]] = arith.constant dense<126> : vector<16xi32>
// CHECK: [[X:%.+]] = "tile.load"(%arg0
// CHECK: arith.bitcast [[X]] : vector<16xf32> to vector<16xi32>
// CHECK: arith.minui %{{.*}}, [[LARGEST]]
// CHECK: [[BITS:%.+]] = arith.trunci %{{.*}} : vector<16xi32> to vector<16xi8>
// CHECK: "tile.store"([[BITS]], %arg1
// CHECK: sym_name = "encode"
// NAN-LABEL: "tile.kernel"
// NAN: [[NAN:%.+]] = arith.constant dense<127> : vector<16xi32>
// NAN: arith.minui %{{.*}}, [[NAN]]
// NAN: sym_name = "encode"
// GPU-LABEL: "tile.kernel"
// GPU: [[N:%.+]] = arith.truncf %{{.*}} : vector<[[SIZE:[0-9]+]]xf32> to vector<[[SIZE]]xf8E4M3FN>
// GPU: [[B:%.+]] = arith.bitcast [[N]] : vector<[[SIZE]]xf8E4M3FN> to vector<[[SIZE]]xi8>
// GPU: "tile.store"([[B]]
// GPU: sym_name = "encode"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [64], [1]>, %y: !tile.buffer<f8E4M3FN, [64], [1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [64], [1]>) -> tensor<64xf32>
  %1 = "graph.cast"(%0) : (tensor<64xf32>) -> tensor<64xf8E4M3FN>
  "tile.write"(%1, %y) : (tensor<64xf8E4M3FN>, !tile.buffer<f8E4M3FN, [64], [1]>) -> ()
}) {domain = [64], outputs = 1 : i64, reduced = array<i64>, sym_name = "encode", symbols = []} : () -> ()

// What is only moved stays a byte.
// CHECK-LABEL: "tile.kernel"
// CHECK-NOT: f32
// CHECK: [[X:%.+]] = "tile.load"(%arg0, {{.*}} -> vector<64xi8>
// CHECK: [[Y:%.+]] = arith.select {{.*}} : vector<64xi1>, vector<64xi8>
// CHECK: "tile.store"([[Y]], %arg1
// CHECK-NOT: f32
// CHECK: sym_name = "move"
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f8E5M2, [64], [1]>, %y: !tile.buffer<f8E5M2, [128], [1]>):
  %0 = "tile.read"(%x) : (!tile.buffer<f8E5M2, [64], [1]>) -> tensor<64xf8E5M2>
  %1 = "graph.concat"(%0, %0) {dim = 0 : i64} : (tensor<64xf8E5M2>, tensor<64xf8E5M2>) -> tensor<128xf8E5M2>
  "tile.write"(%1, %y) : (tensor<128xf8E5M2>, !tile.buffer<f8E5M2, [128], [1]>) -> ()
}) {domain = [128], outputs = 1 : i64, reduced = array<i64>, sym_name = "move", symbols = []} : () -> ()
