// RUN: %girih-opt --autograd %s | filecheck %s

// The mask of the forward pass is used again.
// CHECK-LABEL: func.func @dropout
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<4xf32> {graph.cotangent = 0 : i64}
// CHECK: [[Y:%.+]]:2 = "graph.dropout"(%arg0)
// CHECK: [[KEPT:%.+]] = "graph.cast"([[Y]]#1)
// CHECK: [[SCALE:%.+]] = "graph.constant"() {value = 2.000000e+00 : f64}
// CHECK: [[FACTOR:%.+]] = "graph.mul"([[KEPT]], [[SCALE]])
// CHECK: "graph.mul"([[G]], [[FACTOR]])
func.func @dropout(%x: tensor<4xf32> {graph.requires_grad}) -> tensor<4xf32> {
  %0:2 = "graph.dropout"(%x) {p = 0.5 : f64}
      : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi1>)
  return %0#0 : tensor<4xf32>
}

// Of what is drawn no derivative is taken.
// CHECK-LABEL: func.func @noise
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<4xf32> {graph.cotangent = 0 : i64}
// CHECK: [[NOISE:%.+]] = "graph.randn"
// CHECK: [[D:%.+]] = "graph.mul"([[G]], [[NOISE]])
// CHECK: return {{.*}}, [[D]]
func.func @noise(%x: tensor<4xf32> {graph.requires_grad}) -> tensor<4xf32> {
  %0 = "graph.randn"() : () -> tensor<4xf32>
  %1 = "graph.mul"(%x, %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @bernoulli
// CHECK: [[Y:%.+]] = "graph.bernoulli"(%arg0)
// CHECK: [[ZEROS:%.+]] = "graph.full"() {value = 0.000000e+00 : f64}
// CHECK: return [[Y]], [[ZEROS]]
func.func @bernoulli(%x: tensor<4xf32> {graph.requires_grad}) -> tensor<4xf32> {
  %0 = "graph.bernoulli"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
