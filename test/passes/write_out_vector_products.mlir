// RUN: %girih-opt --write-out-vector-products=target=cpu %s | filecheck %s
// RUN: %girih-opt --write-out-vector-products %s | filecheck %s --check-prefix=GPU

// GPU-NOT: reduce_sum

// CHECK-LABEL: func.func @product
// CHECK-SAME: ([[X:%.+]]: tensor<1x512xbf16>, [[W:%.+]]: tensor<1024x512xbf16>)
// CHECK-DAG: [[WIDE_X:%.+]] = "graph.cast"([[X]])
// CHECK-DAG: [[WIDE_W:%.+]] = "graph.cast"([[W]])
// CHECK: [[Y:%.+]] = "graph.mul"([[WIDE_X]], [[WIDE_W]])
// CHECK-NEXT: [[SUM:%.+]] = "graph.reduce_sum"([[Y]]) {dims = array<i64: 1>}
// CHECK-NEXT: [[CAST:%.+]] = "graph.cast"([[SUM]]) : (tensor<1024x1xf32>) -> tensor<1024x1xbf16>
// CHECK-NEXT: [[Z:%.+]] = "graph.reshape"([[CAST]]) : (tensor<1024x1xbf16>) -> tensor<1x1024xbf16>
// CHECK-NEXT: return [[Z]]
func.func @product(%x: tensor<1x512xbf16>, %w: tensor<1024x512xbf16>) -> tensor<1x1024xbf16> {
  %0 = "graph.permute"(%w) {permutation = array<i64: 1, 0>} : (tensor<1024x512xbf16>) -> tensor<512x1024xbf16>
  %1 = "graph.mm"(%x, %0) : (tensor<1x512xbf16>, tensor<512x1024xbf16>) -> tensor<1x1024xbf16>
  return %1 : tensor<1x1024xbf16>
}

// CHECK-LABEL: func.func @with_bias
// CHECK: [[SUM:%.+]] = "graph.reduce_sum"
// CHECK: [[B:%.+]] = "graph.reshape"({{.*}}) : (tensor<1024xf16>) -> tensor<1024x1xf16>
// CHECK: [[WIDE:%.+]] = "graph.cast"([[B]])
// CHECK: "graph.add"([[SUM]], [[WIDE]]) : (tensor<1024x1xf32>, tensor<1024x1xf32>)
func.func @with_bias(%x: tensor<1x1x512xf16>, %w: tensor<1024x512xf16>, %b: tensor<1024xf16>) -> tensor<1x1x1024xf16> {
  %0 = "graph.linear"(%x, %w, %b) : (tensor<1x1x512xf16>, tensor<1024x512xf16>, tensor<1024xf16>) -> tensor<1x1x1024xf16>
  return %0 : tensor<1x1x1024xf16>
}

// CHECK-LABEL: func.func @computed_in_float32
// CHECK-NOT: graph.linear
// CHECK: graph.reduce_sum
func.func @computed_in_float32(%x: tensor<1x512xf32>, %w: tensor<1024x512xi8>) -> tensor<1x1024xf32> {
  %0 = "graph.cast"(%w) : (tensor<1024x512xi8>) -> tensor<1024x512xf32>
  %1 = "graph.linear"(%x, %0) : (tensor<1x512xf32>, tensor<1024x512xf32>) -> tensor<1x1024xf32>
  return %1 : tensor<1x1024xf32>
}

// CHECK-LABEL: func.func @computed_for_two
// CHECK-COUNT-2: graph.linear
func.func @computed_for_two(%x: tensor<1x512xf32>, %z: tensor<1x512xf32>, %w: tensor<1024x512xi8>) -> (tensor<1x1024xf32>, tensor<1x1024xf32>) {
  %0 = "graph.cast"(%w) : (tensor<1024x512xi8>) -> tensor<1024x512xf32>
  %1 = "graph.linear"(%x, %0) : (tensor<1x512xf32>, tensor<1024x512xf32>) -> tensor<1x1024xf32>
  %2 = "graph.linear"(%z, %0) : (tensor<1x512xf32>, tensor<1024x512xf32>) -> tensor<1x1024xf32>
  return %1, %2 : tensor<1x1024xf32>, tensor<1x1024xf32>
}

// CHECK-LABEL: func.func @stored_in_float32
// CHECK-NEXT: [[Y:%.+]] = "graph.mul"
// CHECK-NEXT: "graph.reduce_sum"([[Y]]) {dims = array<i64: 1>}
func.func @stored_in_float32(%x: tensor<1x512xf32>, %w: tensor<1024x512xf32>) -> tensor<1x1024xf32> {
  %0 = "graph.linear"(%x, %w) : (tensor<1x512xf32>, tensor<1024x512xf32>) -> tensor<1x1024xf32>
  return %0 : tensor<1x1024xf32>
}

// CHECK-LABEL: func.func @two_rows
// CHECK-NEXT: graph.linear
func.func @two_rows(%x: tensor<2x512xbf16>, %w: tensor<1024x512xbf16>) -> tensor<2x1024xbf16> {
  %0 = "graph.linear"(%x, %w) : (tensor<2x512xbf16>, tensor<1024x512xbf16>) -> tensor<2x1024xbf16>
  return %0 : tensor<2x1024xbf16>
}

// CHECK-LABEL: func.func @lies_the_other_way
// CHECK-DAG: "graph.reshape"(%{{.*}}) : (tensor<1x512xbf16>) -> tensor<512x1xbf16>
// CHECK: "graph.reduce_sum"(%{{.*}}) {dims = array<i64: 0>} : (tensor<512x1024xf32>) -> tensor<1x1024xf32>
func.func @lies_the_other_way(%x: tensor<1x512xbf16>, %w: tensor<512x1024xbf16>) -> tensor<1x1024xbf16> {
  %0 = "graph.mm"(%x, %w) : (tensor<1x512xbf16>, tensor<512x1024xbf16>) -> tensor<1x1024xbf16>
  return %0 : tensor<1x1024xbf16>
}

// CHECK-LABEL: func.func @lies_the_other_way_in_float32
// CHECK: graph.reduce_sum
// CHECK: graph.mm
func.func @lies_the_other_way_in_float32(%x: tensor<1x512xf32>, %v: tensor<512x512xf32>, %w: tensor<512x8192xf32>) -> (tensor<1x512xf32>, tensor<1x8192xf32>) {
  %0 = "graph.mm"(%x, %v) : (tensor<1x512xf32>, tensor<512x512xf32>) -> tensor<1x512xf32>
  %1 = "graph.mm"(%x, %w) : (tensor<1x512xf32>, tensor<512x8192xf32>) -> tensor<1x8192xf32>
  return %0, %1 : tensor<1x512xf32>, tensor<1x8192xf32>
}

// CHECK-LABEL: func.func @small
// CHECK-NEXT: graph.linear
func.func @small(%x: tensor<1x16xbf16>, %w: tensor<32x16xbf16>) -> tensor<1x32xbf16> {
  %0 = "graph.linear"(%x, %w) : (tensor<1x16xbf16>, tensor<32x16xbf16>) -> tensor<1x32xbf16>
  return %0 : tensor<1x32xbf16>
}
