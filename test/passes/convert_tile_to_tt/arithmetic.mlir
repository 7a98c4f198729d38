// RUN: %girih-opt --convert-tile-to-tt %s | filecheck %s

// Most ops are the same on tensors. Division rounds to nearest in f32; there is no
// negation; casts of indices change widths, if that.
// CHECK-LABEL: "tt.func"
// CHECK-DAG: %[[HALF:.*]] = arith.constant dense<5.000000e-01> : tensor<16xf32>
// CHECK: %[[V:.*]] = "tt.load"{{.*}} -> tensor<16xf32>
// CHECK: %[[Q:.*]] = "tt.precise_divf"(%[[V]], %[[HALF]])
// CHECK: %[[ZERO:.*]] = arith.constant dense<-0.000000e+00> : tensor<16xf32>
// CHECK: %[[N:.*]] = arith.subf %[[ZERO]], %[[Q]] : tensor<16xf32>
// CHECK: %[[W:.*]] = arith.extf %[[N]] : tensor<16xf32> to tensor<16xf64>
// CHECK: %[[D:.*]] = arith.divf %[[W]], %[[W]] : tensor<16xf64>
// CHECK: %[[T:.*]] = arith.truncf %[[D]] : tensor<16xf64> to tensor<16xf32>
// CHECK: %[[L:.*]] = "tt.make_range"() {end = 16 : i32, start = 0 : i32}
// CHECK: %[[C:.*]] = arith.extsi %[[L]] : tensor<16xi32> to tensor<16xi64>
// CHECK: %[[F:.*]] = arith.sitofp %[[C]] : tensor<16xi64> to tensor<16xf32>
// CHECK: %[[M:.*]] = arith.cmpf ogt, %[[T]], %[[F]] : tensor<16xf32>
// CHECK: arith.select %[[M]], %[[T]], %[[F]] : tensor<16xi1>, tensor<16xf32>
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [16], [1]>, %y: !tile.buffer<f32, [16], [1]>):
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %half = arith.constant dense<0.5> : vector<16xf32>
  "tile.grid"(%one, %one) ({
  ^bb0(%pid: index):
    %v = "tile.load"(%x, %zero, %one) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (!tile.buffer<f32, [16], [1]>, index, index) -> vector<16xf32>
    %q = arith.divf %v, %half : vector<16xf32>
    %n = arith.negf %q : vector<16xf32>
    %w = arith.extf %n : vector<16xf32> to vector<16xf64>
    %d = arith.divf %w, %w : vector<16xf64>
    %t = arith.truncf %d : vector<16xf64> to vector<16xf32>
    %l = vector.step : vector<16xindex>
    %c = arith.index_cast %l : vector<16xindex> to vector<16xi64>
    %f = arith.sitofp %c : vector<16xi64> to vector<16xf32>
    %m = arith.cmpf ogt, %t, %f : vector<16xf32>
    %s = arith.select %m, %t, %f : vector<16xi1>, vector<16xf32>
    "tile.store"(%s, %y, %zero, %one) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>} : (vector<16xf32>, !tile.buffer<f32, [16], [1]>, index, index) -> ()
  }) : (index, index) -> ()
}) {sym_name = "numbers", symbols = [], outputs = 1 : i64, domain = [16], reduced = array<i64>} : () -> ()

// Constant lane numbers are a range; unsigned casts of indices extend with zeros.
// CHECK-LABEL: "tt.func"
// CHECK: %[[PID:.*]] = "tt.get_program_id"
// CHECK: %[[R:.*]] = "tt.make_range"() {end = 4 : i32, start = 0 : i32}
// CHECK: arith.extui %[[PID]] : i32 to i64
// CHECK-NOT: dense<[0
"tile.kernel"() ({
^bb0(%y: !tile.buffer<i64, [4], [1]>):
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  "tile.grid"(%one, %one) ({
  ^bb0(%pid: index):
    %l = arith.constant dense<[0, 1, 2, 3]> : vector<4xi64>
    %i = arith.index_castui %pid : index to i64
    %b = vector.broadcast %i : i64 to vector<4xi64>
    %s = arith.addi %l, %b : vector<4xi64>
    "tile.store"(%s, %y, %zero, %one) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>} : (vector<4xi64>, !tile.buffer<i64, [4], [1]>, index, index) -> ()
  }) : (index, index) -> ()
}) {sym_name = "lanes", symbols = [], outputs = 1 : i64, domain = [4], reduced = array<i64>} : () -> ()

// A sigmoid's division has no branch: its divisor is 1 or more. Others' may be anything.
// CHECK-LABEL: "tt.func"
// CHECK: %[[E:.*]] = "tt.extern_elementwise"{{.*}}__nv_expf
// CHECK: %[[D:.*]] = arith.addf {{.*}}, %[[E]]
// CHECK: "tt.elementwise_inline_asm"(%[[D]]) {asm_string = "{{.*}}rcp.approx.ftz.f32{{.*}}"
// CHECK: "tt.precise_divf"(%{{.*}}, %[[E]])
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [16], [1]>, %y: !tile.buffer<f32, [16], [1]>):
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %unit = arith.constant dense<1.0> : vector<16xf32>
  "tile.grid"(%one, %one) ({
  ^bb0(%pid: index):
    %v = "tile.load"(%x, %zero, %one) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (!tile.buffer<f32, [16], [1]>, index, index) -> vector<16xf32>
    %e = math.exp %v : vector<16xf32>
    %d = arith.addf %unit, %e : vector<16xf32>
    %s = arith.divf %unit, %d : vector<16xf32>
    %r = arith.divf %unit, %e : vector<16xf32>
    %t = arith.addf %s, %r : vector<16xf32>
    "tile.store"(%t, %y, %zero, %one) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>} : (vector<16xf32>, !tile.buffer<f32, [16], [1]>, index, index) -> ()
  }) : (index, index) -> ()
}) {sym_name = "sigmoid", symbols = [], outputs = 1 : i64, domain = [16], reduced = array<i64>} : () -> ()

// What is rounded by pairs and read again is stored as the pairs gave it; what is only
// stored has no pairs.
// CHECK-LABEL: "tt.func"
// CHECK: %[[P:.*]] = "tt.elementwise_inline_asm"(%[[V:.*]]) {asm_string = "{{.*}}cvt.rn.f16x2.f32{{.*}}"
// CHECK: %[[N:.*]] = arith.truncf %[[P]] : tensor<16xf32> to tensor<16xf16>
// CHECK-NOT: "tt.elementwise_inline_asm"
// CHECK: %[[M:.*]] = arith.mulf %[[P]], %[[P]]
// CHECK: %[[O:.*]] = arith.truncf %[[M]]
// CHECK: "tt.store"({{.*}}, %[[N]])
// CHECK: "tt.store"({{.*}}, %[[O]])
"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [16], [1]>, %y: !tile.buffer<f16, [16], [1]>, %z: !tile.buffer<f16, [16], [1]>):
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  "tile.grid"(%one, %one) ({
  ^bb0(%pid: index):
    %v = "tile.load"(%x, %zero, %one) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (!tile.buffer<f32, [16], [1]>, index, index) -> vector<16xf32>
    %n = arith.truncf %v : vector<16xf32> to vector<16xf16>
    %w = arith.extf %n : vector<16xf16> to vector<16xf32>
    %m = arith.mulf %w, %w : vector<16xf32>
    %o = arith.truncf %m : vector<16xf32> to vector<16xf16>
    "tile.store"(%n, %y, %zero, %one) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>} : (vector<16xf16>, !tile.buffer<f16, [16], [1]>, index, index) -> ()
    "tile.store"(%o, %z, %zero, %one) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>} : (vector<16xf16>, !tile.buffer<f16, [16], [1]>, index, index) -> ()
  }) : (index, index) -> ()
}) {sym_name = "pairs", symbols = [], outputs = 2 : i64, domain = [16], reduced = array<i64>} : () -> ()
