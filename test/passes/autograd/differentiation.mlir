// RUN: %girih-opt --autograd %s | filecheck %s

// A region may ask for gradients: they are resolved where it is differentiated.
// CHECK-LABEL: func.func @gradient_in_a_region
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<4xf32> {graph.cotangent = 0 : i64}
// CHECK: [[Y:%.+]] = "graph.custom_vjp"
// CHECK: "graph.yield"
// CHECK: [[X:%.+]] = "graph.alias"(%arg0)
// CHECK: [[E:%.+]] = "graph.exp"([[X]])
// CHECK: [[D:%.+]] = "graph.mul"([[G]], [[E]])
// CHECK: return [[Y]], [[D]]
func.func @gradient_in_a_region(%x: tensor<4xf32> {graph.requires_grad})
    -> tensor<4xf32> {
  %y = "graph.sin"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %0 = "graph.custom_vjp"(%y, %x) ({
  ^bb(%g: tensor<4xf32>):
    %a = "graph.alias"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %b = "graph.exp"(%a) : (tensor<4xf32>) -> tensor<4xf32>
    %c = "graph.gradient"(%b, %a, %g)
        {create_graph, operandSegmentSizes = array<i32: 1, 1, 1>}
        : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    "graph.yield"(%c) : (tensor<4xf32>) -> ()
  }) {operandSegmentSizes = array<i32: 1, 1>}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// A region may take the outputs after the cotangents: they are those of the op.
// CHECK-LABEL: func.func @derivative_by_its_output
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<4xf32> {graph.cotangent = 0 : i64}
// CHECK: [[Y:%.+]] = "graph.custom_vjp"
// CHECK: "graph.yield"
// CHECK: [[D:%.+]] = "graph.mul"([[G]], [[Y]])
// CHECK: return [[Y]], [[D]]
func.func @derivative_by_its_output(%x: tensor<4xf32> {graph.requires_grad})
    -> tensor<4xf32> {
  %y = "graph.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %0 = "graph.custom_vjp"(%y, %x) ({
  ^bb(%g: tensor<4xf32>, %out: tensor<4xf32>):
    %d = "graph.mul"(%g, %out) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    "graph.yield"(%d) : (tensor<4xf32>) -> ()
  }) {operandSegmentSizes = array<i32: 1, 1>}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// A write that autograd did not see: the derivative is that of what was there.
// CHECK-LABEL: func.func @unseen_write
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<4xf32> {graph.cotangent = 0 : i64}
// CHECK: [[COS:%.+]] = "graph.cos"(%arg0)
// CHECK: [[D:%.+]] = "graph.mul"([[G]], [[COS]])
// CHECK: return {{.*}}, [[D]] : tensor<4xf32>, tensor<4xf32>
func.func @unseen_write(%x: tensor<4xf32> {graph.requires_grad}) -> tensor<4xf32> {
  %y = "graph.sin"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %d = "graph.detach"(%y) : (tensor<4xf32>) -> tensor<4xf32>
  %n = "graph.exp"(%d) : (tensor<4xf32>) -> tensor<4xf32>
  %0 = "graph.substitute"(%n, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// An input that gets no gradient is not one that gets zeros: there is no result for it.
// Behind it, a region that materializes runs with zeros all the same.
// CHECK-LABEL: func.func @no_gradient
// CHECK-SAME: [[G:%[a-z0-9]+]]: tensor<4xf32> {graph.cotangent = 0 : i64}
// CHECK-SAME: -> (tensor<4xf32> {graph.linked = array<i64: 1>}, tensor<4xf32> {graph.gradient = 0 : i64})
// CHECK: [[D:%.+]] = "graph.exp"([[G]])
// CHECK: return {{.*}}, [[D]] : tensor<4xf32>, tensor<4xf32>
func.func @no_gradient(%x: tensor<4xf32> {graph.requires_grad},
    %w: tensor<4xf32> {graph.requires_grad}) -> tensor<4xf32> {
  %y = "graph.mul"(%x, %w) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %0 = "graph.custom_vjp"(%y, %x, %w) ({
  ^bb(%g: tensor<4xf32>):
    %a = "graph.exp"(%g) : (tensor<4xf32>) -> tensor<4xf32>
    %z = "graph.constant"() {value = 0.0} : () -> tensor<f32>
    "graph.yield"(%a, %z) : (tensor<4xf32>, tensor<f32>) -> ()
  }) {absent = array<i64: 1>, operandSegmentSizes = array<i32: 1, 2>}
      : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @behind_no_gradient
// CHECK: [[ZERO:%.+]] = "graph.full"() {value = 0.000000e+00 : f64}
// CHECK: [[D:%.+]] = "graph.cos"([[ZERO]])
// CHECK: return {{.*}}, [[D]] : tensor<4xf32>, tensor<4xf32>
func.func @behind_no_gradient(%x: tensor<4xf32> {graph.requires_grad})
    -> tensor<4xf32> {
  %0 = "graph.custom_vjp"(%x, %x) ({
  ^bb(%g: tensor<4xf32>):
    %a = "graph.cos"(%g) : (tensor<4xf32>) -> tensor<4xf32>
    "graph.yield"(%a) : (tensor<4xf32>) -> ()
  }) {materializes, operandSegmentSizes = array<i32: 1, 1>}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = "graph.custom_vjp"(%0, %0) ({
  ^bb(%g: tensor<4xf32>):
    %z = "graph.constant"() {value = 0.0} : () -> tensor<f32>
    "graph.yield"(%z) : (tensor<f32>) -> ()
  }) {absent = array<i64: 0>, operandSegmentSizes = array<i32: 1, 1>}
      : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
