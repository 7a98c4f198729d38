// RUN: %girih-opt --split-input-file --verify-diagnostics %s

// What loads, stores, gathers, local buffers and checks reject.

func.func @f(%b: f32, %o: index) {
  // expected-error @+1 {{'tile.load' expected buffer to be a buffer, got f32}}
  %0 = "tile.load"(%b, %o) {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>} : (f32, index) -> f32
  return
}

// -----

func.func @f(%b: !tile.buffer<f32, [4], [1]>, %o: i64) {
  // expected-error @+1 {{'tile.load' expected offset to have type index, got i64}}
  %0 = "tile.load"(%b, %o) {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>} : (!tile.buffer<f32, [4], [1]>, i64) -> f32
  return
}

// -----

func.func @f(%b: !tile.buffer<f32, [4], [1]>, %o: index) {
  // expected-error @+1 {{'tile.load' expected value to have element type f32, got f64}}
  %0 = "tile.load"(%b, %o) {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>} : (!tile.buffer<f32, [4], [1]>, index) -> f64
  return
}

// -----

func.func @f(%b: !tile.buffer<ui8, [4], [1]>, %o: index) {
  // expected-error @+1 {{'tile.load' expected value to have element type i8, got ui8}}
  %0 = "tile.load"(%b, %o) {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>} : (!tile.buffer<ui8, [4], [1]>, index) -> ui8
  return
}

// -----

func.func @f(%b: !tile.buffer<f32, [4], [1]>, %o: index, %s: index, %t: index, %u: index) {
  // expected-error @+1 {{'tile.load' expected value to have at most 2 vector dims, got vector<2x2x2xf32>}}
  %0 = "tile.load"(%b, %o, %s, %t, %u) {operandSegmentSizes = array<i32: 1, 1, 3, 0, 0>} : (!tile.buffer<f32, [4], [1]>, index, index, index, index) -> vector<2x2x2xf32>
  return
}

// -----

func.func @f(%b: !tile.buffer<f32, [4], [1]>, %o: index) {
  // expected-error @+1 {{'tile.load' expected strides to number 1, one for each vector dim, got 0}}
  %0 = "tile.load"(%b, %o) {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0>} : (!tile.buffer<f32, [4], [1]>, index) -> vector<4xf32>
  return
}

// -----

func.func @f(%b: !tile.buffer<f32, [4], [1]>, %o: index, %s: i64) {
  // expected-error @+1 {{'tile.load' expected strides to have type index, got i64}}
  %0 = "tile.load"(%b, %o, %s) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (!tile.buffer<f32, [4], [1]>, index, i64) -> vector<4xf32>
  return
}

// -----

func.func @f(%b: !tile.buffer<f32, [4], [1]>, %o: index, %s: index, %m: vector<4xi1>, %n: vector<4xi1>) {
  // expected-error @+1 {{'tile.load' expected masks to number 0 or 1, got 2}}
  %0 = "tile.load"(%b, %o, %s, %m, %n) {operandSegmentSizes = array<i32: 1, 1, 1, 2, 0>} : (!tile.buffer<f32, [4], [1]>, index, index, vector<4xi1>, vector<4xi1>) -> vector<4xf32>
  return
}

// -----

func.func @f(%b: !tile.buffer<f32, [4], [1]>, %o: index, %s: index, %m: vector<8xi1>) {
  // expected-error @+1 {{'tile.load' expected masks to have type vector<4xi1>, got vector<8xi1>}}
  %0 = "tile.load"(%b, %o, %s, %m) {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>} : (!tile.buffer<f32, [4], [1]>, index, index, vector<8xi1>) -> vector<4xf32>
  return
}

// -----

func.func @f(%b: !tile.buffer<f32, [4], [1]>, %o: index, %m: vector<4xi1>) {
  // expected-error @+1 {{'tile.load' expected masks to have type i1, got vector<4xi1>}}
  %0 = "tile.load"(%b, %o, %m) {operandSegmentSizes = array<i32: 1, 1, 0, 1, 0>} : (!tile.buffer<f32, [4], [1]>, index, vector<4xi1>) -> f32
  return
}

// -----

func.func @f(%b: !tile.buffer<f32, [4], [1]>, %o: index, %s: index, %t: f64) {
  // expected-error @+1 {{'tile.load' expected other to have type f32, got f64}}
  %0 = "tile.load"(%b, %o, %s, %t) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 1>} : (!tile.buffer<f32, [4], [1]>, index, index, f64) -> vector<4xf32>
  return
}

// -----

func.func @f(%v: f64, %b: !tile.buffer<f32, [4], [1]>, %o: index) {
  // expected-error @+1 {{'tile.store' expected value to have element type f32, got f64}}
  "tile.store"(%v, %b, %o) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (f64, !tile.buffer<f32, [4], [1]>, index) -> ()
  return
}

// -----

func.func @f(%v: vector<4xf32>, %b: !tile.buffer<f32, [4], [1]>, %o: index) {
  // expected-error @+1 {{'tile.store' expected strides to number 1, one for each vector dim, got 0}}
  "tile.store"(%v, %b, %o) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (vector<4xf32>, !tile.buffer<f32, [4], [1]>, index) -> ()
  return
}

// -----

func.func @f(%b: f32, %o: vector<4xi64>) {
  // expected-error @+1 {{'tile.gather' expected buffer to be a buffer, got f32}}
  %0 = "tile.gather"(%b, %o) {operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (f32, vector<4xi64>) -> vector<4xf32>
  return
}

// -----

func.func @f(%b: !tile.buffer<f32, [4], [1]>, %o: vector<4xi32>) {
  // expected-error @+1 {{'tile.gather' expected offsets to have type vector<w x i64>, got vector<4xi32>}}
  %0 = "tile.gather"(%b, %o) {operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (!tile.buffer<f32, [4], [1]>, vector<4xi32>) -> vector<4xf32>
  return
}

// -----

func.func @f(%b: !tile.buffer<f32, [4], [1]>, %o: i64) {
  // expected-error @+1 {{'tile.gather' expected offsets to have type vector<w x i64>, got i64}}
  %0 = "tile.gather"(%b, %o) {operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (!tile.buffer<f32, [4], [1]>, i64) -> vector<4xf32>
  return
}

// -----

func.func @f(%b: !tile.buffer<f32, [4], [1]>, %o: vector<4xi64>, %m: vector<8xi1>) {
  // expected-error @+1 {{'tile.gather' expected mask to have type vector<4xi1>, got vector<8xi1>}}
  %0 = "tile.gather"(%b, %o, %m) {operandSegmentSizes = array<i32: 1, 1, 1, 0>} : (!tile.buffer<f32, [4], [1]>, vector<4xi64>, vector<8xi1>) -> vector<4xf32>
  return
}

// -----

func.func @f(%b: !tile.buffer<f32, [4], [1]>, %o: vector<4xi64>, %t: f64) {
  // expected-error @+1 {{'tile.gather' expected other to have type f32, got f64}}
  %0 = "tile.gather"(%b, %o, %t) {operandSegmentSizes = array<i32: 1, 1, 0, 1>} : (!tile.buffer<f32, [4], [1]>, vector<4xi64>, f64) -> vector<4xf32>
  return
}

// -----

func.func @f(%b: !tile.buffer<f32, [4], [1]>, %o: vector<4xi64>) {
  // expected-error @+1 {{'tile.gather' expected value to have type vector<4xf32>, got vector<8xf32>}}
  %0 = "tile.gather"(%b, %o) {operandSegmentSizes = array<i32: 1, 1, 0, 0>} : (!tile.buffer<f32, [4], [1]>, vector<4xi64>) -> vector<8xf32>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'tile.workspace' expected buffer to be a buffer, got f32}}
  %0 = "tile.workspace"() {elements = 4 : i64} : () -> f32
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'tile.workspace' expected buffer to have type !tile.buffer<f32, [5], [1]>, got !tile.buffer<f32, [4], [1]>}}
  %0 = "tile.workspace"() {elements = 5 : i64} : () -> !tile.buffer<f32, [4], [1]>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'tile.scratch' expected buffer to have type !tile.buffer<f32, [4], [1]>, got !tile.buffer<f32, [4], [2]>}}
  %0 = "tile.scratch"() {elements = 4 : i64} : () -> !tile.buffer<f32, [4], [2]>
  return
}

// -----

func.func @f(%o: f32) {
  // expected-error @+1 {{'tile.check' expected ok to have element type i1, got f32}}
  "tile.check"(%o) : (f32) -> ()
  return
}

// -----

func.func @f(%o: vector<4xi1>, %m: i1) {
  // expected-error @+1 {{'tile.check' expected mask to have type vector<4xi1>, got i1}}
  "tile.check"(%o, %m) : (vector<4xi1>, i1) -> ()
  return
}

// -----

func.func @f(%b: !tile.buffer<f32, [64], [1]>, %v: f32, %o: vector<4xi64>) {
  // expected-error @+1 {{'tile.update' expected value to be a vector of 1 or 2 dims of f32, got f32}}
  "tile.update"(%v, %b, %o) : (f32, !tile.buffer<f32, [64], [1]>, vector<4xi64>) -> ()
  return
}

// -----

func.func @f(%b: !tile.buffer<f32, [64], [1]>, %v: vector<4xf32>, %o: vector<8xi64>) {
  // expected-error @+1 {{'tile.update' expected offsets to have type vector<4xi64>, got vector<8xi64>}}
  "tile.update"(%v, %b, %o) : (vector<4xf32>, !tile.buffer<f32, [64], [1]>, vector<8xi64>) -> ()
  return
}

// -----

func.func @f(%b: !tile.buffer<f32, [64], [1]>, %v: vector<4xf32>, %o: vector<4xi64>, %m: i1) {
  // expected-error @+1 {{'tile.update' expected mask to have type vector<4xi1>, got i1}}
  "tile.update"(%v, %b, %o, %m) : (vector<4xf32>, !tile.buffer<f32, [64], [1]>, vector<4xi64>, i1) -> ()
  return
}

// -----

func.func @f(%b: f32, %o: index) {
  // expected-error @+1 {{'tile.prefetch' expected buffer to }}
  "tile.prefetch"(%b, %o) : (f32, index) -> ()
  return
}

// -----

func.func @f(%b: !tile.buffer<f32, [64], [1]>, %o: i64) {
  // expected-error @+1 {{'tile.prefetch' expected offset to }}
  "tile.prefetch"(%b, %o) : (!tile.buffer<f32, [64], [1]>, i64) -> ()
  return
}
