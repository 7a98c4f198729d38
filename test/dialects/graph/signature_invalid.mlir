// RUN: %girih-opt --split-input-file --verify-diagnostics %s

// What is rejected of a graph function's contract with the runtime.

// expected-error @+1 {{'func.func' expected attributes to be known to the dialect, got graph.symbol}}
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>) attributes {graph.symbol = 1} {
  %0 = ub.poison : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{'func.func' expected graph.symbols to map each symbol to its range [least, most], got 1 : i64}}
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>) attributes {graph.symbols = 1} {
  %0 = ub.poison : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{'func.func' expected graph.symbols to map each symbol to its range [least, most], got s0 = 1 : i64}}
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>) attributes {graph.symbols = {s0 = 1}} {
  %0 = ub.poison : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{'func.func' expected graph.symbols to map each symbol to its range [least, most], got s0 = [3, 2]}}
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>) attributes {graph.symbols = {s0 = [3, 2]}} {
  %0 = ub.poison : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{'func.func' expected graph.symbols to map each symbol to its range [least, most], got s0 = [2]}}
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>) attributes {graph.symbols = {s0 = [2]}} {
  %0 = ub.poison : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{'func.func' expected argument 0 to have one of graph.argument, graph.constant, graph.cotangent, graph.donated, graph.kept, graph.name, graph.nonzero, graph.number, graph.requires_grad, graph.saved, graph.static, graph.strides, graph.symbol, graph.uncounted, graph.unkept, got graph.stride}}
func.func @main(%x: tensor<4xf32> {graph.stride = [1]}) -> (tensor<4xf32>) {
  %0 = ub.poison : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{'func.func' expected result 0 to have one of graph.detached, graph.equal, graph.gradient, graph.kept, graph.linked, graph.offset, graph.passed, graph.reached_by, graph.saved, graph.severed, graph.size, graph.split, graph.storage, graph.strides, graph.unkept, graph.unrecorded, graph.update, graph.view, graph.writes, got graph.name}}
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32> {graph.name = "y"}) {
  %0 = ub.poison : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{'func.func' expected result 0's graph.split to read <operation> <number> <dim>, got Split 1}}
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32> {graph.split = "Split 1"}) {
  %0 = ub.poison : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{'func.func' expected argument 0's graph.strides to be an array of integers and dim expressions, got 1 : i64}}
func.func @main(%x: tensor<4xf32> {graph.strides = 1}) -> (tensor<4xf32>) {
  %0 = ub.poison : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{'func.func' expected argument 0's graph.strides to have 1 entries, got 2}}
func.func @main(%x: tensor<4xf32> {graph.strides = [1, 1]}) -> (tensor<4xf32>) {
  %0 = ub.poison : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{'func.func' expected result 0's graph.strides to have 1 entries, got 0}}
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32> {graph.strides = []}) {
  %0 = ub.poison : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{'func.func' expected argument 0's graph.symbol to stand on a value of type index, got tensor<4xf32>}}
func.func @main(%x: tensor<4xf32> {graph.symbol = "s0"}) -> (tensor<4xf32>) {
  %0 = ub.poison : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{'func.func' expected argument 0's graph.number to belong to tensor<f64> or tensor<i64>, got tensor<4xf32>}}
func.func @main(%x: tensor<4xf32> {graph.number}) -> (tensor<4xf32>) {
  %0 = ub.poison : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{'func.func' expected result 0's graph.size to stand on a value of type index, got tensor<4xf32>}}
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32> {graph.size = "s0"}) {
  %0 = ub.poison : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{'func.func' expected result 0's graph.writes to name one of 1 arguments, got 1}}
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32> {graph.writes = 1}) {
  %0 = ub.poison : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{'func.func' expected result 0's graph.storage to read arg<n> or out<n>, got arg}}
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32> {graph.storage = "arg"}) {
  %0 = ub.poison : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{'func.func' expected result 0's graph.storage to be one of 1, got arg1}}
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32> {graph.storage = "arg1"}) {
  %0 = ub.poison : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{'func.func' expected result 0's graph.storage to be one of 1, got out1}}
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32> {graph.storage = "out1"}) {
  %0 = ub.poison : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{'func.func' expected result 0's graph.offset to be an integer or a dim expression, got unit}}
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32> {graph.offset = unit}) {
  %0 = ub.poison : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{'func.func' expected argument 0's graph.saved to read arg<n> or out<n>, got x}}
func.func @main(%x: tensor<4xf32> {graph.saved = "x"}) -> (tensor<4xf32>) {
  %0 = ub.poison : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{'func.func' expected result 0's graph.update to name one of 1 arguments, got 1}}
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32> {graph.update = 1}) {
  %0 = ub.poison : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @+1 {{'func.func' expected result 0's graph.linked}}
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32> {graph.linked = [1]}) {
  %0 = ub.poison : tensor<4xf32>
  return %0 : tensor<4xf32>
}
