// RUN: %girih-opt --split-input-file --verify-diagnostics %s

// What elementwise ops reject.

func.func @f(%x: i32) {
  // expected-error @+1 {{'graph.exp' expected x to be a ranked tensor, got i32}}
  %0 = "graph.exp"(%x) : (i32) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %y: i32) {
  // expected-error @+1 {{'graph.add' expected rhs to be a ranked tensor, got i32}}
  %0 = "graph.add"(%x, %y) : (tensor<4xf32>, i32) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xi64>) {
  // expected-error @+1 {{'graph.exp' expected x to have a float element type, got i64}}
  %0 = "graph.exp"(%x) : (tensor<4xi64>) -> tensor<4xi64>
  return
}

// -----

func.func @f(%x: tensor<4xi1>) {
  // expected-error @+1 {{'graph.neg' expected x to have a numeric element type other than i1, got i1}}
  %0 = "graph.neg"(%x) : (tensor<4xi1>) -> tensor<4xi1>
  return
}

// -----

func.func @f(%x: tensor<4xcomplex<f32>>, %y: tensor<4xcomplex<f32>>) {
  // expected-error @+1 {{'graph.lt' expected lhs to have a real element type, got complex<f32>}}
  %0 = "graph.lt"(%x, %y) : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> tensor<4xi1>
  return
}

// -----

func.func @f(%x: tensor<4xcomplex<f32>>) {
  // expected-error @+1 {{'graph.relu' expected x to have a real element type other than i1, got complex<f32>}}
  %0 = "graph.relu"(%x) : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  return
}

// -----

func.func @f(%x: tensor<4xcomplex<f32>>) {
  // expected-error @+1 {{'graph.erf' expected x to have a real float element type, got complex<f32>}}
  %0 = "graph.erf"(%x) : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  // expected-error @+1 {{'graph.shift_left' expected lhs to have an integer element type, got f32}}
  %0 = "graph.shift_left"(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  // expected-error @+1 {{'graph.bitwise_and' expected lhs to have an integer element type or i1, got f32}}
  %0 = "graph.bitwise_and"(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  // expected-error @+1 {{'graph.logical_and' expected lhs to have element type i1, got f32}}
  %0 = "graph.logical_and"(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %y: tensor<4xi64>) {
  // expected-error @+1 {{'graph.add' expected rhs to have element type f32, got i64}}
  %0 = "graph.add"(%x, %y) : (tensor<4xf32>, tensor<4xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %y: tensor<5xf32>) {
  // expected-error @+1 {{'graph.add' expected rhs to broadcast with [4], got [5]}}
  %0 = "graph.add"(%x, %y) : (tensor<4xf32>, tensor<5xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<?xf32, ["s0"]>, %y: tensor<?xf32, ["s1"]>) {
  // expected-error @+1 {{'graph.add' expected rhs to broadcast with [s0], got [s1]}}
  %0 = "graph.add"(%x, %y) : (tensor<?xf32, ["s0"]>, tensor<?xf32, ["s1"]>) -> tensor<?xf32, ["s0"]>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  // expected-error @+1 {{'graph.add' expected y to have type tensor<4xf32>, got tensor<5xf32>}}
  %0 = "graph.add"(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<5xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  // expected-error @+1 {{'graph.eq' expected y to have type tensor<4xi1>, got tensor<4xf32>}}
  %0 = "graph.eq"(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>) {
  // expected-error @+1 {{'graph.where' expected cond to have element type i1, got f32}}
  %0 = "graph.where"(%x, %y, %z) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xi1>, %y: tensor<4xf32>, %z: tensor<4xi64>) {
  // expected-error @+1 {{'graph.where' expected b to have element type f32, got i64}}
  %0 = "graph.where"(%x, %y, %z) : (tensor<4xi1>, tensor<4xf32>, tensor<4xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xi1>, %y: tensor<4xf32>, %z: tensor<3xf32>) {
  // expected-error @+1 {{'graph.where' expected b to broadcast with [4], got [3]}}
  %0 = "graph.where"(%x, %y, %z) : (tensor<4xi1>, tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.cast' expected y to have type tensor<4xi32>, got tensor<5xi32>}}
  %0 = "graph.cast"(%x) : (tensor<4xf32>) -> tensor<5xi32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.cast' expected y to be a ranked tensor, got i32}}
  %0 = "graph.cast"(%x) : (tensor<4xf32>) -> i32
  return
}

// -----

func.func @f(%x: tensor<?xf32>) {
  // expected-error @+1 {{'graph.isnan' expected the encoding to hold one dim expression for each '?', got tensor<?xf32>}}
  %0 = "graph.isnan"(%x) : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @f(%x: tensor<?xf32, ["s0*2"]>) {
  // expected-error @+1 {{'graph.isnan' expected '?' to be written 2*s0, got s0*2}}
  %0 = "graph.isnan"(%x) : (tensor<?xf32, ["s0*2"]>) -> tensor<?xi1, ["2*s0"]>
  return
}

// -----

func.func @f(%x: tensor<?xf32, ["s0 +"]>) {
  // expected-error @+1 {{'graph.isnan' expected '?' to be a dim expression: expected a dim expression, got 's0 +': invalid syntax (<unknown>, line 1)}}
  %0 = "graph.isnan"(%x) : (tensor<?xf32, ["s0 +"]>) -> tensor<4xi1>
  return
}

// -----

func.func @f(%x: tensor<?xf32, ["foo(s0)"]>) {
  // expected-error @+1 {{'graph.isnan' expected '?' to be a dim expression: expected a dim expression, got 'foo(s0)': 'foo'}}
  %0 = "graph.isnan"(%x) : (tensor<?xf32, ["foo(s0)"]>) -> tensor<4xi1>
  return
}

// -----

func.func @f(%x: tensor<?xf32, ["3"]>) {
  // expected-error @+1 {{'graph.isnan' expected '?' to depend on a symbol, got 3}}
  %0 = "graph.isnan"(%x) : (tensor<?xf32, ["3"]>) -> tensor<4xi1>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.exp' expected attributes to be among effects, girih.arguments, girih.channels_last, girih.launch, girih.library, girih.tuning, graph.checkpoint, operand_strides, got aproximate}}
  %0 = "graph.exp"(%x) {aproximate = true} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{got graph.chekpoint}}
  %0 = "graph.exp"(%x) {graph.chekpoint = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// expected-error-re @+1 {{'func.func' expected a type of a known dialect, got !{{[a-z]+}}.thing}}
func.func @f(%x: !unknown.thing) {
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.exp' expected a type of a known dialect, got !unknown.thing}}
  %0 = "graph.exp"(%x) : (tensor<4xf32>) -> !unknown.thing
  return
}
