// RUN: %girih-opt --recognize-attention=target=gpu %s | filecheck %s
// RUN: %girih-opt --recognize-attention %s | filecheck %s --check-prefix=CPU
// RUN: %girih-opt --recognize-attention="target=gpu allow-tf32=true" %s | filecheck %s --check-prefix=TF32

// CPU-NOT: flash_attention

// CHECK-LABEL: @plain
// CHECK-SAME: (%[[Q:.*]]: tensor<4x8x16xf16>, %[[K:.*]]: tensor<4x8x16xf16>, %[[V:.*]]: tensor<4x8x32xf16>)
// CHECK-DAG: %[[Q4:.*]] = "graph.reshape"(%[[Q]]) {{.*}} -> tensor<1x4x8x16xf16>
// CHECK-DAG: %[[K4:.*]] = "graph.reshape"(%[[K]]) {{.*}} -> tensor<1x4x8x16xf16>
// CHECK-DAG: %[[V4:.*]] = "graph.reshape"(%[[V]]) {{.*}} -> tensor<1x4x8x32xf16>
// CHECK: %[[Y:.*]]:3 = "graph.flash_attention"(%[[Q4]], %[[K4]], %[[V4]]) ({
// CHECK: graph.mul
// CHECK: graph.yield
// CHECK: %[[Y3:.*]] = "graph.reshape"(%[[Y]]#0)
// CHECK: return %[[Y3]]
func.func @plain(%q: tensor<4x8x16xf16>, %k: tensor<4x8x16xf16>, %v: tensor<4x8x32xf16>) -> tensor<4x8x32xf16> {
  %t = "graph.permute"(%k) {permutation = array<i64: 0, 2, 1>} : (tensor<4x8x16xf16>) -> tensor<4x16x8xf16>
  %s = "graph.bmm"(%q, %t) : (tensor<4x8x16xf16>, tensor<4x16x8xf16>) -> tensor<4x8x8xf16>
  %c = "graph.constant"() {value = 0.25 : f64} : () -> tensor<f16>
  %x = "graph.mul"(%s, %c) : (tensor<4x8x8xf16>, tensor<f16>) -> tensor<4x8x8xf16>
  %w = "graph.softmax"(%x) {dim = 2 : i64} : (tensor<4x8x8xf16>) -> tensor<4x8x8xf16>
  %y = "graph.bmm"(%w, %v) : (tensor<4x8x8xf16>, tensor<4x8x32xf16>) -> tensor<4x8x32xf16>
  return %y : tensor<4x8x32xf16>
}

// Heads are seen behind views, and read as often as queries want; the mask of positions
// is computed in place.
// CHECK-LABEL: @heads
// CHECK-SAME: (%[[X:.*]]: tensor<2x8x4x16xbf16>, %[[K:.*]]: tensor<2x8x2x16xbf16>, %[[B:.*]]: tensor<1x4x1x8xf32>)
// CHECK-DAG: %[[Q4:.*]] = "graph.permute"(%[[X]]) {permutation = array<i64: 0, 2, 1, 3>}
// CHECK-DAG: %[[KH:.*]] = "graph.permute"(%[[K]]) {permutation = array<i64: 0, 2, 1, 3>}
// CHECK: "graph.flash_attention"(%[[Q4]], %[[K1:.*]], %[[V1:.*]], %[[B]]) ({
// CHECK: ^bb0(%[[S:.*]]: tensor<2x4x8x8xbf16>, %[[A:.*]]: tensor<1x4x1x8xf32>):
// CHECK-DAG: graph.iota
// CHECK-DAG: graph.where
// CHECK: graph.yield
// CHECK-NOT: graph.softmax
func.func @heads(%x: tensor<2x8x4x16xbf16>, %k: tensor<2x8x2x16xbf16>, %b: tensor<1x4x1x8xf32>) -> tensor<2x4x8x16xbf16> {
  %q = "graph.permute"(%x) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x8x4x16xbf16>) -> tensor<2x4x8x16xbf16>
  %kh = "graph.permute"(%k) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x8x2x16xbf16>) -> tensor<2x2x8x16xbf16>
  %k5 = "graph.reshape"(%kh) : (tensor<2x2x8x16xbf16>) -> tensor<2x2x1x8x16xbf16>
  %kb = "graph.broadcast_to"(%k5) : (tensor<2x2x1x8x16xbf16>) -> tensor<2x2x2x8x16xbf16>
  %k4 = "graph.reshape"(%kb) : (tensor<2x2x2x8x16xbf16>) -> tensor<2x4x8x16xbf16>
  %kt = "graph.permute"(%k4) {permutation = array<i64: 0, 1, 3, 2>} : (tensor<2x4x8x16xbf16>) -> tensor<2x4x16x8xbf16>
  %q3 = "graph.reshape"(%q) : (tensor<2x4x8x16xbf16>) -> tensor<8x8x16xbf16>
  %k3 = "graph.reshape"(%kt) : (tensor<2x4x16x8xbf16>) -> tensor<8x16x8xbf16>
  %s3 = "graph.bmm"(%q3, %k3) : (tensor<8x8x16xbf16>, tensor<8x16x8xbf16>) -> tensor<8x8x8xbf16>
  %s = "graph.reshape"(%s3) : (tensor<8x8x8xbf16>) -> tensor<2x4x8x8xbf16>
  %sf = "graph.cast"(%s) : (tensor<2x4x8x8xbf16>) -> tensor<2x4x8x8xf32>
  %sb = "graph.add"(%sf, %b) : (tensor<2x4x8x8xf32>, tensor<1x4x1x8xf32>) -> tensor<2x4x8x8xf32>
  %i = "graph.iota"() {start = 0 : i64, step = 1 : i64} : () -> tensor<8xi64>
  %r = "graph.reshape"(%i) : (tensor<8xi64>) -> tensor<8x1xi64>
  %c = "graph.le"(%i, %r) : (tensor<8xi64>, tensor<8x1xi64>) -> tensor<8x8xi1>
  %n = "graph.constant"() {value = 0xFFF0000000000000 : f64} : () -> tensor<f32>
  %m = "graph.where"(%c, %sb, %n) : (tensor<8x8xi1>, tensor<2x4x8x8xf32>, tensor<f32>) -> tensor<2x4x8x8xf32>
  %w = "graph.softmax"(%m) {dim = 3 : i64} : (tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  %wb = "graph.cast"(%w) : (tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xbf16>
  %w3 = "graph.reshape"(%wb) : (tensor<2x4x8x8xbf16>) -> tensor<8x8x8xbf16>
  %v3 = "graph.reshape"(%k4) : (tensor<2x4x8x16xbf16>) -> tensor<8x8x16xbf16>
  %y3 = "graph.bmm"(%w3, %v3) : (tensor<8x8x8xbf16>, tensor<8x8x16xbf16>) -> tensor<8x8x16xbf16>
  %y = "graph.reshape"(%y3) : (tensor<8x8x16xbf16>) -> tensor<2x4x8x16xbf16>
  return %y : tensor<2x4x8x16xbf16>
}

// The weights are a result too.
// CHECK-LABEL: @weights_are_read
// CHECK-NOT: flash_attention
func.func @weights_are_read(%q: tensor<4x8x16xf16>, %k: tensor<4x16x8xf16>) -> (tensor<4x8x16xf16>, tensor<4x8x8xf16>) {
  %s = "graph.bmm"(%q, %k) : (tensor<4x8x16xf16>, tensor<4x16x8xf16>) -> tensor<4x8x8xf16>
  %w = "graph.softmax"(%s) {dim = 2 : i64} : (tensor<4x8x8xf16>) -> tensor<4x8x8xf16>
  %y = "graph.bmm"(%w, %q) : (tensor<4x8x8xf16>, tensor<4x8x16xf16>) -> tensor<4x8x16xf16>
  return %y, %w : tensor<4x8x16xf16>, tensor<4x8x8xf16>
}

// CHECK-LABEL: @scores_are_read
// CHECK-NOT: flash_attention
func.func @scores_are_read(%q: tensor<4x8x16xf16>, %k: tensor<4x16x8xf16>) -> (tensor<4x8x16xf16>, tensor<4x8x8xf16>) {
  %s = "graph.bmm"(%q, %k) : (tensor<4x8x16xf16>, tensor<4x16x8xf16>) -> tensor<4x8x8xf16>
  %w = "graph.softmax"(%s) {dim = 2 : i64} : (tensor<4x8x8xf16>) -> tensor<4x8x8xf16>
  %y = "graph.bmm"(%w, %q) : (tensor<4x8x8xf16>, tensor<4x8x16xf16>) -> tensor<4x8x16xf16>
  return %y, %s : tensor<4x8x16xf16>, tensor<4x8x8xf16>
}

// CHECK-LABEL: @another_dim
// CHECK-NOT: flash_attention
func.func @another_dim(%q: tensor<4x8x16xf16>, %k: tensor<4x16x8xf16>) -> tensor<4x8x16xf16> {
  %s = "graph.bmm"(%q, %k) : (tensor<4x8x16xf16>, tensor<4x16x8xf16>) -> tensor<4x8x8xf16>
  %w = "graph.softmax"(%s) {dim = 1 : i64} : (tensor<4x8x8xf16>) -> tensor<4x8x8xf16>
  %y = "graph.bmm"(%w, %q) : (tensor<4x8x8xf16>, tensor<4x8x16xf16>) -> tensor<4x8x16xf16>
  return %y : tensor<4x8x16xf16>
}

// Weights that are transposed, or scores that are, are others.
// CHECK-LABEL: @transposed
// CHECK-NOT: flash_attention
func.func @transposed(%q: tensor<4x8x16xf16>, %k: tensor<4x16x8xf16>) -> tensor<4x8x16xf16> {
  %s = "graph.bmm"(%q, %k) : (tensor<4x8x16xf16>, tensor<4x16x8xf16>) -> tensor<4x8x8xf16>
  %t = "graph.permute"(%s) {permutation = array<i64: 0, 2, 1>} : (tensor<4x8x8xf16>) -> tensor<4x8x8xf16>
  %w = "graph.softmax"(%t) {dim = 2 : i64} : (tensor<4x8x8xf16>) -> tensor<4x8x8xf16>
  %y = "graph.bmm"(%w, %q) : (tensor<4x8x8xf16>, tensor<4x8x16xf16>) -> tensor<4x8x16xf16>
  return %y : tensor<4x8x16xf16>
}

// CHECK-LABEL: @dropped_out
// CHECK-NOT: flash_attention
func.func @dropped_out(%q: tensor<4x8x16xf16>, %k: tensor<4x16x8xf16>, %d: tensor<4x8x8xf16>) -> tensor<4x8x16xf16> {
  %s = "graph.bmm"(%q, %k) : (tensor<4x8x16xf16>, tensor<4x16x8xf16>) -> tensor<4x8x8xf16>
  %w = "graph.softmax"(%s) {dim = 2 : i64} : (tensor<4x8x8xf16>) -> tensor<4x8x8xf16>
  %m = "graph.mul"(%w, %d) : (tensor<4x8x8xf16>, tensor<4x8x8xf16>) -> tensor<4x8x8xf16>
  %y = "graph.bmm"(%m, %q) : (tensor<4x8x8xf16>, tensor<4x8x16xf16>) -> tensor<4x8x16xf16>
  return %y : tensor<4x8x16xf16>
}

// A head is too wide for a block.
// CHECK-LABEL: @wide
// CHECK-NOT: flash_attention
func.func @wide(%q: tensor<4x8x512xf16>, %k: tensor<4x512x8xf16>) -> tensor<4x8x512xf16> {
  %s = "graph.bmm"(%q, %k) : (tensor<4x8x512xf16>, tensor<4x512x8xf16>) -> tensor<4x8x8xf16>
  %w = "graph.softmax"(%s) {dim = 2 : i64} : (tensor<4x8x8xf16>) -> tensor<4x8x8xf16>
  %y = "graph.bmm"(%w, %q) : (tensor<4x8x8xf16>, tensor<4x8x512xf16>) -> tensor<4x8x512xf16>
  return %y : tensor<4x8x512xf16>
}

// As einsum writes it: dims of size 1 are moved about, and weights turned twice.
// CHECK-LABEL: @turned_twice
// CHECK: graph.flash_attention
// CHECK-NOT: graph.softmax
func.func @turned_twice(%q: tensor<4x8x16xf16>, %k: tensor<4x16x8xf16>) -> tensor<4x8x16xf16> {
  %s = "graph.bmm"(%q, %k) : (tensor<4x8x16xf16>, tensor<4x16x8xf16>) -> tensor<4x8x8xf16>
  %s5 = "graph.reshape"(%s) : (tensor<4x8x8xf16>) -> tensor<2x2x8x1x8xf16>
  %sp = "graph.permute"(%s5) {permutation = array<i64: 0, 1, 2, 4, 3>} : (tensor<2x2x8x1x8xf16>) -> tensor<2x2x8x8x1xf16>
  %s4 = "graph.reshape"(%sp) : (tensor<2x2x8x8x1xf16>) -> tensor<2x2x8x8xf16>
  %w = "graph.softmax"(%s4) {dim = 3 : i64} : (tensor<2x2x8x8xf16>) -> tensor<2x2x8x8xf16>
  %a = "graph.permute"(%w) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x2x8x8xf16>) -> tensor<2x8x2x8xf16>
  %b = "graph.permute"(%a) {permutation = array<i64: 0, 2, 1, 3>} : (tensor<2x8x2x8xf16>) -> tensor<2x2x8x8xf16>
  %w3 = "graph.reshape"(%b) : (tensor<2x2x8x8xf16>) -> tensor<4x8x8xf16>
  %y = "graph.bmm"(%w3, %q) : (tensor<4x8x8xf16>, tensor<4x8x16xf16>) -> tensor<4x8x16xf16>
  return %y : tensor<4x8x16xf16>
}

// CHECK-LABEL: @turned_once
// CHECK-NOT: flash_attention
func.func @turned_once(%q: tensor<4x8x16xf16>, %k: tensor<4x16x8xf16>) -> tensor<4x8x16xf16> {
  %s = "graph.bmm"(%q, %k) : (tensor<4x8x16xf16>, tensor<4x16x8xf16>) -> tensor<4x8x8xf16>
  %w = "graph.softmax"(%s) {dim = 2 : i64} : (tensor<4x8x8xf16>) -> tensor<4x8x8xf16>
  %a = "graph.permute"(%w) {permutation = array<i64: 0, 2, 1>} : (tensor<4x8x8xf16>) -> tensor<4x8x8xf16>
  %y = "graph.bmm"(%a, %q) : (tensor<4x8x8xf16>, tensor<4x8x16xf16>) -> tensor<4x8x16xf16>
  return %y : tensor<4x8x16xf16>
}

// A mask that is smaller than what is made of it is read itself; a larger one is not.
// CHECK-LABEL: @masks
// CHECK-SAME: (%{{.*}}: tensor<4x8x16xf16>, %{{.*}}: tensor<4x16x8xf16>, %[[M:.*]]: tensor<8x8xi1>, %[[F:.*]]: tensor<8x8xf32>)
// CHECK: %[[E:.*]] = "graph.eq"(%[[F]], %{{.*}})
// CHECK: "graph.flash_attention"(%{{.*}}, %{{.*}}, %{{.*}}, {{%.*}}) ({
// CHECK: ^bb0(%{{.*}}: tensor<1x4x8x8xf16>, %{{.*}}: tensor<8x8xi1>, %{{.*}}: tensor<8x8xi1>):
// CHECK: graph.where
// CHECK: graph.where
// CHECK: graph.yield
func.func @masks(%q: tensor<4x8x16xf16>, %k: tensor<4x16x8xf16>, %m: tensor<8x8xi1>, %f: tensor<8x8xf32>) -> tensor<4x8x16xf16> {
  %s = "graph.bmm"(%q, %k) : (tensor<4x8x16xf16>, tensor<4x16x8xf16>) -> tensor<4x8x8xf16>
  %z = "graph.constant"() {value = 0.0 : f64} : () -> tensor<f16>
  %n = "graph.constant"() {value = -60000.0 : f64} : () -> tensor<f16>
  %b = "graph.where"(%m, %z, %n) : (tensor<8x8xi1>, tensor<f16>, tensor<f16>) -> tensor<8x8xf16>
  %x = "graph.add"(%s, %b) : (tensor<4x8x8xf16>, tensor<8x8xf16>) -> tensor<4x8x8xf16>
  %zf = "graph.constant"() {value = 0.0 : f64} : () -> tensor<f32>
  %e = "graph.eq"(%f, %zf) : (tensor<8x8xf32>, tensor<f32>) -> tensor<8x8xi1>
  %xm = "graph.where"(%e, %n, %x) : (tensor<8x8xi1>, tensor<f16>, tensor<4x8x8xf16>) -> tensor<4x8x8xf16>
  %w = "graph.softmax"(%xm) {dim = 2 : i64} : (tensor<4x8x8xf16>) -> tensor<4x8x8xf16>
  %y = "graph.bmm"(%w, %q) : (tensor<4x8x8xf16>, tensor<4x8x16xf16>) -> tensor<4x8x16xf16>
  return %y : tensor<4x8x16xf16>
}

// Products of float32 are those of tensor cores only where tf32 is allowed.
// CHECK-LABEL: @single
// CHECK-NOT: flash_attention
// TF32-LABEL: @single
// TF32: graph.flash_attention
func.func @single(%q: tensor<4x8x16xf32>, %k: tensor<4x16x8xf32>) -> tensor<4x8x16xf32> {
  %s = "graph.bmm"(%q, %k) : (tensor<4x8x16xf32>, tensor<4x16x8xf32>) -> tensor<4x8x8xf32>
  %w = "graph.softmax"(%s) {dim = 2 : i64} : (tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %y = "graph.bmm"(%w, %q) : (tensor<4x8x8xf32>, tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
  return %y : tensor<4x8x16xf32>
}

// CHECK-LABEL: @one_head
// CHECK-SAME: (%[[Q:.*]]: tensor<8x16xf16>, %[[K:.*]]: tensor<4x16xf16>)
// CHECK-DAG: %[[Q4:.*]] = "graph.reshape"(%[[Q]]) {{.*}} -> tensor<1x1x8x16xf16>
// CHECK-DAG: %[[K4:.*]] = "graph.reshape"(%[[K]]) {{.*}} -> tensor<1x1x4x16xf16>
// CHECK: "graph.flash_attention"(%[[Q4]], %[[K4]], %{{.*}}) ({
func.func @one_head(%q: tensor<8x16xf16>, %k: tensor<4x16xf16>) -> tensor<8x16xf16> {
  %t = "graph.permute"(%k) {permutation = array<i64: 1, 0>} : (tensor<4x16xf16>) -> tensor<16x4xf16>
  %s = "graph.mm"(%q, %t) : (tensor<8x16xf16>, tensor<16x4xf16>) -> tensor<8x4xf16>
  %w = "graph.softmax"(%s) {dim = 1 : i64} : (tensor<8x4xf16>) -> tensor<8x4xf16>
  %y = "graph.mm"(%w, %k) : (tensor<8x4xf16>, tensor<4x16xf16>) -> tensor<8x16xf16>
  return %y : tensor<8x16xf16>
}

// A classifier: its softmax is not of products that something is weighted with.
// CHECK-LABEL: @classifier
// CHECK-NOT: flash_attention
func.func @classifier(%x: tensor<8x16xf16>, %w: tensor<16x4xf16>, %v: tensor<4x300xf16>) -> tensor<8x300xf16> {
  %s = "graph.mm"(%x, %w) : (tensor<8x16xf16>, tensor<16x4xf16>) -> tensor<8x4xf16>
  %p = "graph.softmax"(%s) {dim = 1 : i64} : (tensor<8x4xf16>) -> tensor<8x4xf16>
  %y = "graph.mm"(%p, %v) : (tensor<8x4xf16>, tensor<4x300xf16>) -> tensor<8x300xf16>
  return %y : tensor<8x300xf16>
}

// One new query of a few heads, as in generation of text: the library reads the keys
// with more of the GPU.
// CHECK-LABEL: @few_queries
// CHECK-NOT: flash_attention
func.func @few_queries(%q: tensor<8x1x64xf16>, %k: tensor<8x64x4096xf16>, %v: tensor<8x4096x64xf16>) -> tensor<8x1x64xf16> {
  %s = "graph.bmm"(%q, %k) : (tensor<8x1x64xf16>, tensor<8x64x4096xf16>) -> tensor<8x1x4096xf16>
  %w = "graph.softmax"(%s) {dim = 2 : i64} : (tensor<8x1x4096xf16>) -> tensor<8x1x4096xf16>
  %y = "graph.bmm"(%w, %v) : (tensor<8x1x4096xf16>, tensor<8x4096x64xf16>) -> tensor<8x1x64xf16>
  return %y : tensor<8x1x64xf16>
}

// Queries, keys and values that were widened are read as they were; their factors, and
// the widening, are part of the score function.
// CHECK-LABEL: @widened
// CHECK-SAME: (%[[Q:.*]]: tensor<4x8x16xbf16>, %[[K:.*]]: tensor<4x8x16xbf16>)
// CHECK: %[[Y:.*]]:3 = "graph.flash_attention"(%[[Q4:.*]], %{{.*}}, %{{.*}}) ({
// CHECK: ^bb0(%[[S:.*]]: tensor<1x4x8x8xbf16>):
// CHECK: %[[X:.*]] = "graph.cast"(%[[S]]) : {{.*}} -> tensor<1x4x8x8xf32>
// CHECK: %[[F:.*]] = "graph.constant"() {value = 2.500000e-01 : f64}
// CHECK: "graph.mul"(%[[X]], %[[F]])
// CHECK: -> (tensor<1x4x8x16xbf16>,
// CHECK-NOT: graph.softmax
func.func @widened(%q: tensor<4x8x16xbf16>, %k: tensor<4x8x16xbf16>) -> tensor<4x8x16xbf16> {
  %c = "graph.constant"() {value = 0.5 : f64} : () -> tensor<f32>
  %qf = "graph.cast"(%q) : (tensor<4x8x16xbf16>) -> tensor<4x8x16xf32>
  %qs = "graph.mul"(%qf, %c) : (tensor<4x8x16xf32>, tensor<f32>) -> tensor<4x8x16xf32>
  %kf = "graph.cast"(%k) : (tensor<4x8x16xbf16>) -> tensor<4x8x16xf32>
  %ks = "graph.mul"(%c, %kf) : (tensor<f32>, tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
  %kt = "graph.permute"(%ks) {permutation = array<i64: 0, 2, 1>} : (tensor<4x8x16xf32>) -> tensor<4x16x8xf32>
  %s = "graph.bmm"(%qs, %kt) : (tensor<4x8x16xf32>, tensor<4x16x8xf32>) -> tensor<4x8x8xf32>
  %w = "graph.softmax"(%s) {dim = 2 : i64} : (tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %y = "graph.bmm"(%w, %kf) : (tensor<4x8x8xf32>, tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
  %r = "graph.cast"(%y) : (tensor<4x8x16xf32>) -> tensor<4x8x16xbf16>
  return %r : tensor<4x8x16xbf16>
}

// The result is read in float32: it stays that precise.
// CHECK-LABEL: @result_is_wide
// CHECK-NOT: flash_attention
func.func @result_is_wide(%q: tensor<4x8x16xbf16>, %k: tensor<4x16x8xbf16>) -> tensor<4x8x16xf32> {
  %qf = "graph.cast"(%q) : (tensor<4x8x16xbf16>) -> tensor<4x8x16xf32>
  %kf = "graph.cast"(%k) : (tensor<4x16x8xbf16>) -> tensor<4x16x8xf32>
  %s = "graph.bmm"(%qf, %kf) : (tensor<4x8x16xf32>, tensor<4x16x8xf32>) -> tensor<4x8x8xf32>
  %w = "graph.softmax"(%s) {dim = 2 : i64} : (tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %y = "graph.bmm"(%w, %qf) : (tensor<4x8x8xf32>, tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
  return %y : tensor<4x8x16xf32>
}

// CHECK-LABEL: @added
// CHECK-SAME: (%{{.*}}: tensor<4x8x16xf16>, %{{.*}}: tensor<4x16x8xf16>, %[[B:[a-z0-9]+]]: tensor<8xf16>)
// CHECK: "graph.flash_attention"(%{{.*}}, %{{.*}}, %{{.*}}, %[[B]]) ({
// CHECK: ^bb0(%{{.*}}: tensor<1x4x8x8xf16>, %[[A:.*]]: tensor<8xf16>):
// CHECK: %[[X:.*]] = "graph.mul"
// CHECK: "graph.add"(%[[X]], %[[A]])
func.func @added(%q: tensor<4x8x16xf16>, %k: tensor<4x16x8xf16>, %b: tensor<8xf16>) -> tensor<4x8x16xf16> {
  %s = "graph.baddbmm"(%b, %q, %k) {alpha = 0.25 : f64, beta = 1 : i64} : (tensor<8xf16>, tensor<4x8x16xf16>, tensor<4x16x8xf16>) -> tensor<4x8x8xf16>
  %w = "graph.softmax"(%s) {dim = 2 : i64} : (tensor<4x8x8xf16>) -> tensor<4x8x8xf16>
  %y = "graph.bmm"(%w, %q) : (tensor<4x8x8xf16>, tensor<4x8x16xf16>) -> tensor<4x8x16xf16>
  return %y : tensor<4x8x16xf16>
}

// What no softmax is taken of stays one product.
// CHECK-LABEL: @no_scores
// CHECK: graph.baddbmm
func.func @no_scores(%q: tensor<4x8x16xf16>, %k: tensor<4x16x8xf16>, %b: tensor<8xf16>) -> tensor<4x8x8xf16> {
  %s = "graph.baddbmm"(%b, %q, %k) {alpha = 0.25 : f64, beta = 1 : i64} : (tensor<8xf16>, tensor<4x8x16xf16>, tensor<4x16x8xf16>) -> tensor<4x8x8xf16>
  return %s : tensor<4x8x8xf16>
}
