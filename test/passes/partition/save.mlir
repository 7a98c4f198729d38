// RUN: %girih-opt --partition %s | filecheck %s

// The derivative reads the result itself: nothing else is saved.
// CHECK-LABEL: func.func @result
// CHECK-SAME: ({{%.+}}: tensor<4xf32> {graph.requires_grad}) -> tensor<4xf32> {
// CHECK: [[Y:%.+]] = "graph.exp"
// CHECK-NEXT: return [[Y]] : tensor<4xf32>
// CHECK-LABEL: func.func @result_backward
// CHECK-SAME: ([[Y:%.+]]: tensor<4xf32> {graph.saved = "out0"},
// CHECK-SAME: [[G:%.+]]: tensor<4xf32> {graph.cotangent = 0 : i64})
// CHECK-SAME: -> (tensor<4xf32> {graph.gradient = 0 : i64})
// CHECK: [[DX:%.+]] = "graph.mul"([[G]], [[Y]])
// CHECK-NEXT: return [[DX]]
func.func @result(%x: tensor<4xf32> {graph.requires_grad},
    %g: tensor<4xf32> {graph.cotangent = 0 : i64})
    -> (tensor<4xf32> {graph.kept}, tensor<4xf32> {graph.gradient = 0 : i64}) {
  %0 = "graph.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "graph.mul"(%g, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// A result that the derivative does not read belongs to the user, who may write to it:
// what is computed from it is saved in its place.
// CHECK-LABEL: func.func @not_the_result
// CHECK: [[Y:%.+]] = "graph.mm"
// CHECK: [[A:%.+]] = "graph.add"([[Y]], [[Y]])
// CHECK: return [[Y]], {{%.+}}, [[A]]
// CHECK-LABEL: func.func @not_the_result_backward
// CHECK-SAME: ([[A:%.+]]: tensor<64x64xf32> {graph.saved = "out2"},
// CHECK-NEXT: "graph.mul"({{%.+}}, [[A]])
func.func @not_the_result(%x: tensor<64x64xf32> {graph.kept, graph.requires_grad},
    %g: tensor<64x64xf32> {graph.cotangent = 1 : i64})
    -> (tensor<64x64xf32> {graph.detached}, tensor<64x64xf32>,
        tensor<64x64xf32> {graph.gradient = 0 : i64}) {
  %0 = "graph.mm"(%x, %x) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = "graph.add"(%0, %0)
      : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = "graph.neg"(%1) : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = "graph.mul"(%g, %1)
      : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %0, %2, %3 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
}

// A result that is reshaped is what it was reshaped from.
// CHECK-LABEL: func.func @reshaped
// CHECK-SAME: -> tensor<2x4xf32> {
// CHECK-LABEL: func.func @reshaped_backward
// CHECK-SAME: ([[Y:%.+]]: tensor<2x4xf32> {graph.saved = "out0"},
// CHECK: [[E:%.+]] = "graph.reshape"([[Y]]) : (tensor<2x4xf32>) -> tensor<8xf32>
// CHECK: "graph.mul"([[E]], [[E]])
func.func @reshaped(%x: tensor<8xf32> {graph.requires_grad},
    %g: tensor<2x4xf32> {graph.cotangent = 0 : i64})
    -> (tensor<2x4xf32> {graph.kept}, tensor<8xf32> {graph.gradient = 0 : i64}) {
  %0 = "graph.tanh"(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = "graph.reshape"(%0) : (tensor<8xf32>) -> tensor<2x4xf32>
  %2 = "graph.mul"(%0, %0) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %3 = "graph.reshape"(%g) : (tensor<2x4xf32>) -> tensor<8xf32>
  %4 = "graph.mul"(%3, %2) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %1, %4 : tensor<2x4xf32>, tensor<8xf32>
}

// Of two results with one value it is the one that is returned, not the one that an
// argument is overwritten with.
// CHECK-LABEL: func.func @written_and_returned
// CHECK-LABEL: func.func @written_and_returned_backward
// CHECK-SAME: ({{%.+}}: tensor<4xf32> {graph.saved = "out1"},
func.func @written_and_returned(%x: tensor<4xf32>,
    %y: tensor<4xf32> {graph.requires_grad},
    %g: tensor<4xf32> {graph.cotangent = 1 : i64})
    -> (tensor<4xf32> {graph.kept, graph.writes = 0 : i64}, tensor<4xf32> {graph.kept},
        tensor<4xf32> {graph.gradient = 1 : i64}) {
  %0 = "graph.exp"(%y) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "graph.mul"(%g, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %0, %1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// What simplification made one value of an argument and a result (y * 1) is the one that
// the derivative read before.
// CHECK-LABEL: func.func @merged_backward
// CHECK-SAME: tensor<4xf32> {graph.saved = "out0"}
func.func @merged(%x: tensor<4xf32> {graph.requires_grad},
    %g: tensor<4xf32> {graph.cotangent = 1 : i64})
    -> (tensor<4xf32> {graph.kept}, tensor<4xf32>,
        tensor<4xf32> {graph.gradient = 0 : i64}) {
  %0 = "graph.sin"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "graph.cos"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = "graph.mul"(%g, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %x, %0, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
