// RUN: %girih-opt --split-input-file --verify-diagnostics %s

// What is checked of every op: counts of operands, results and regions; attributes; names.

func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  // expected-error @+1 {{'graph.exp' expected operands to number 1, got 2}}
  %0 = "graph.exp"(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.exp' expected results to number 1, got 2}}
  %0:2 = "graph.exp"(%x) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.exp' expected regions to number 0, got 1}}
  %0 = "graph.exp"(%x) ({}) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.linear' expected operands to be at least 2 in number, got 1}}
  %0 = "graph.linear"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %y: tensor<4x4xf32>, %z: tensor<4xf32>, %w: tensor<4xf32>) {
  // expected-error @+1 {{'graph.linear' expected operands to be at most 3 in number, got 4}}
  %0 = "graph.linear"(%x, %y, %z, %w) : (tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'graph.index' expected operands to be at least 1 in number, got 0}}
  %0 = "graph.index"() {dims = array<i64: 0>} : () -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  // expected-error @+1 {{'graph.clamp' expected operandSegmentSizes to be an array<i32> of 3 group sizes, got nothing}}
  %0 = "graph.clamp"(%x, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  // expected-error @+1 {{'graph.clamp' expected operandSegmentSizes to be an array<i32> of 3 group sizes, got array<i32: 1, 1>}}
  %0 = "graph.clamp"(%x, %y) {operandSegmentSizes = array<i32: 1, 1>} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>) {
  // expected-error @+1 {{'graph.clamp' expected x to be one value, got 2}}
  %0 = "graph.clamp"(%x, %y, %z) {operandSegmentSizes = array<i32: 2, 1, 0>} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>) {
  // expected-error @+1 {{'graph.clamp' expected low to be at most one value, got 2}}
  %0 = "graph.clamp"(%x, %y, %z) {operandSegmentSizes = array<i32: 1, 2, 0>} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<4xf32>) {
  // expected-error @+1 {{'graph.clamp' expected operandSegmentSizes to add up to the 3 operands, got array<i32: 1, 1, 0>}}
  %0 = "graph.clamp"(%x, %y, %z) {operandSegmentSizes = array<i32: 1, 1, 0>} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.softmax' expected dim to be an integer, got nothing}}
  %0 = "graph.softmax"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.softmax' expected dim to be an integer, got 1.000000e+00 : f64}}
  %0 = "graph.softmax"(%x) {dim = 1.0 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.elu' expected alpha to be a float, got 1 : i64}}
  %0 = "graph.elu"(%x) {alpha = 1 : i64, scale = 1.0 : f64, input_scale = 1.0 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.gelu' expected approximate to be a string, got 1 : i64}}
  %0 = "graph.gelu"(%x) {approximate = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.reduce_sum' expected dims to be an array<i64>, got [0]}}
  %0 = "graph.reduce_sum"(%x) {dims = [0]} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.pad' expected low to be an array of integers and dim expressions, got 0 : i64}}
  %0 = "graph.pad"(%x) {low = 0 : i64, high = [0], value = 0.0 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.pad' expected low to be an array of integers and dim expressions, got [5.000000e-01]}}
  %0 = "graph.pad"(%x) {low = [0.5], high = [0], value = 0.0 : f64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.pad' expected value to be a number, true or false, got "x"}}
  %0 = "graph.pad"(%x) {low = [0], high = [0], value = "x"} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'graph.iota' expected start to be a number or a dim expression, got unit}}
  %0 = "graph.iota"() {start = unit, step = 1 : i64} : () -> tensor<4xi64>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.sort' expected descending to be true or false, got 1 : i64}}
  %0:2 = "graph.sort"(%x) {dim = 0 : i64, descending = 1 : i64, stable = true} : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi64>)
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'graph.size' expected expr to be an integer or a dim expression, got "s0 +"}}
  %0 = "graph.size"() {expr = "s0 +"} : () -> tensor<i64>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>, %y: tensor<4x4xf32>) {
  // expected-error @+1 {{'graph.mm' expected strides to be an array of arrays of strides, got [1]}}
  %0 = "graph.mm"(%x, %y) {strides = [1]} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'graph.extern' expected args to be an array of encoded arguments, got 1 : i64}}
  %0 = "graph.extern"() {op = "a.b.c", args = 1 : i64, kwargs = {}} : () -> tensor<4xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'graph.extern' expected args to be an array of encoded arguments, got [{foo = 1 : i64}]}}
  %0 = "graph.extern"() {op = "a.b.c", args = [{foo = 1 : i64}], kwargs = {}} : () -> tensor<4xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'graph.extern' expected kwargs to be a dictionary of encoded arguments, got 1 : i64}}
  %0 = "graph.extern"() {op = "a.b.c", args = [], kwargs = 1 : i64} : () -> tensor<4xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'graph.extern' expected effects to be unit, got 1 : i64}}
  %0 = "graph.extern"() {op = "a.b.c", args = [], kwargs = {}, effects = 1 : i64} : () -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.expp' expected the op's name to be registered, got one that is no op of this dialect}}
  %0 = "graph.expp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'foo.exp' expected the op's name to be registered, got one that is unknown}}
  %0 = "foo.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'host.launch' expected kernel to be a symbol, got "k"}}
  "host.launch"() {kernel = "k", outputs = 1 : i64, symbols = []} : () -> ()
  return
}

// -----

// expected-error @+1 {{'tile.kernel' expected symbols to be an array of strings, got [1]}}
"tile.kernel"() ({
}) {sym_name = "k", symbols = [1], outputs = 1 : i64, domain = [], reduced = array<i64>} : () -> ()
