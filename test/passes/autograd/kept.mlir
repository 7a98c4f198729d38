// RUN: %girih-opt --split-input-file --autograd %s | filecheck %s

// What the derivative reads is marked.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %arg0: tensor<4xf32> {graph.requires_grad}
// CHECK-SAME: %arg1: tensor<4xf32> {graph.kept, graph.requires_grad}
// CHECK-SAME: -> (tensor<4xf32> {graph.kept}
func.func @main(%x: tensor<4xf32> {graph.requires_grad},
    %y: tensor<4xf32> {graph.requires_grad}) -> tensor<4xf32> {
  %0 = "graph.div"(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Not where eager does not keep it, which lets the user write to it.
// CHECK-LABEL: func.func @main
// CHECK-SAME: -> (tensor<4xf32> {graph.unkept}
func.func @main(%x: tensor<4xf32> {graph.requires_grad},
    %y: tensor<4xf32> {graph.requires_grad}) -> (tensor<4xf32> {graph.unkept}) {
  %0 = "graph.div"(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
