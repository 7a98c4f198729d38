// RUN: %girih-opt --split-input-file --verify-diagnostics %s

// What the ops of differentiation reject.

func.func @f(%x: tensor<4xf32>, %y: tensor<4xf64>) {
  // expected-error @+1 {{'graph.substitute' expected original to have type tensor<4xf32>, got tensor<4xf64>}}
  %0 = "graph.substitute"(%x, %y) : (tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: index) {
  // expected-error @+1 {{'graph.detach' expected x to be a ranked tensor, got index}}
  %0 = "graph.detach"(%x) : (index) -> index
  return
}

// -----

func.func @f(%x: index) {
  // expected-error @+1 {{'graph.substitute' expected value to be a ranked tensor, got index}}
  %0 = "graph.substitute"(%x, %x) : (index, index) -> index
  return
}

// -----

func.func @f(%y: tensor<f32>, %x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.gradient' expected cotangents to have 1 entries, got 0}}
  %0 = "graph.gradient"(%y, %x) {operandSegmentSizes = array<i32: 1, 1, 0>}
      : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%y: tensor<f32>, %x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.gradient' expected cotangents[0] to have type tensor<f32>, got tensor<4xf32>}}
  %0 = "graph.gradient"(%y, %x, %x) {operandSegmentSizes = array<i32: 1, 1, 1>}
      : (tensor<f32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.custom_vjp' expected body to take (tensor<4xf32>), got ()}}
  %0 = "graph.custom_vjp"(%x, %x) ({
    "graph.yield"(%x) : (tensor<4xf32>) -> ()
  }) {operandSegmentSizes = array<i32: 1, 1>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.custom_vjp' expected body to end in graph.yield, got graph.exp}}
  %0 = "graph.custom_vjp"(%x, %x) ({
  ^bb0(%g: tensor<4xf32>):
    %1 = "graph.exp"(%g) : (tensor<4xf32>) -> tensor<4xf32>
  }) {operandSegmentSizes = array<i32: 1, 1>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.custom_vjp' expected body to yield 1 values, got 0}}
  %0 = "graph.custom_vjp"(%x, %x) ({
  ^bb0(%g: tensor<4xf32>):
    "graph.yield"() : () -> ()
  }) {operandSegmentSizes = array<i32: 1, 1>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %y: tensor<2xf32>) {
  // expected-error @+1 {{'graph.custom_vjp' expected body to yield tensor<4xf32> or tensor<f32>, got tensor<2xf32>}}
  %0 = "graph.custom_vjp"(%x, %x) ({
  ^bb0(%g: tensor<4xf32>):
    "graph.yield"(%y) : (tensor<2xf32>) -> ()
  }) {operandSegmentSizes = array<i32: 1, 1>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.custom_vjp' expected absent to hold positions of inputs, got 1}}
  %0 = "graph.custom_vjp"(%x, %x) ({
  ^bb0(%g: tensor<4xf32>):
    "graph.yield"(%g) : (tensor<4xf32>) -> ()
  }) {absent = array<i64: 1>, operandSegmentSizes = array<i32: 1, 1>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}
