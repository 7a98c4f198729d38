// RUN: %girih-opt --split-input-file --verify-diagnostics %s

// What calls of ATen ops reject.

func.func @f() {
  // expected-error @+1 {{'graph.extern' expected op to read namespace.name.overload, got aten.foo}}
  %0 = "graph.extern"() {op = "aten.foo", args = [], kwargs = {}} : () -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.extern' expected args to refer to the 1 operands, got 1}}
  %0 = "graph.extern"(%x) {op = "aten.foo.default", args = [[{operand = 1 : i64}]], kwargs = {}} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.extern' expected args to refer to the 1 operands, got 2}}
  %0 = "graph.extern"(%x) {op = "aten.foo.default", args = [], kwargs = {out = {operand = 2 : i64}}} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.extern' expected strides to have one entry for each of 1 results, got 2}}
  %0 = "graph.extern"(%x) {op = "aten.foo.default", args = [], kwargs = {}, strides = [[1], [1]]} : (tensor<4xf32>) -> tensor<4xf32>
  return
}
