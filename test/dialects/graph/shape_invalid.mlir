// RUN: %girih-opt --split-input-file --verify-diagnostics %s

// What views and rearrangements reject.

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{'graph.reshape' expected y to have 16 elements, got [15]}}
  %0 = "graph.reshape"(%x) : (tensor<4x4xf32>) -> tensor<15xf32>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{'graph.reshape' expected y to have element type f32, got f64}}
  %0 = "graph.reshape"(%x) : (tensor<4x4xf32>) -> tensor<16xf64>
  return
}

// -----

func.func @f(%x: i32) {
  // expected-error @+1 {{'graph.reshape' expected x to be a ranked tensor, got i32}}
  %0 = "graph.reshape"(%x) : (i32) -> tensor<16xf64>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{'graph.reshape' expected y to be a ranked tensor, got f32}}
  %0 = "graph.reshape"(%x) : (tensor<4x4xf32>) -> f32
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{'graph.permute' expected permutation to order the dims 0 to 1, got [0, 0]}}
  %0 = "graph.permute"(%x) {permutation = array<i64: 0, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{'graph.permute' expected permutation to order the dims 0 to 1, got [0]}}
  %0 = "graph.permute"(%x) {permutation = array<i64: 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x3xf32>) {
  // expected-error @+1 {{'graph.permute' expected y to have type tensor<3x4xf32>, got tensor<4x3xf32>}}
  %0 = "graph.permute"(%x) {permutation = array<i64: 1, 0>} : (tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{'graph.permute' expected x to be a ranked tensor, got f32}}
  %0 = "graph.permute"(%x) {permutation = array<i64: 1, 0>} : (f32) -> tensor<4x3xf32>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{'graph.broadcast_to' expected x to broadcast to [4], got [4, 4]}}
  %0 = "graph.broadcast_to"(%x) : (tensor<4x4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.broadcast_to' expected x to broadcast with [4, 3], got [4]}}
  %0 = "graph.broadcast_to"(%x) : (tensor<4xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.broadcast_to' expected x to broadcast to [1], got [4]}}
  %0 = "graph.broadcast_to"(%x) : (tensor<4xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{'graph.slice' expected y to have rank 2, got [4]}}
  %0 = "graph.slice"(%x) {starts = [0, 0], steps = array<i64: 1, 1>} : (tensor<4x4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.slice' expected starts to have 1 entries, got []}}
  %0 = "graph.slice"(%x) {starts = [], steps = array<i64: 1>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.slice' expected steps to have 1 entries, got []}}
  %0 = "graph.slice"(%x) {starts = [0], steps = array<i64>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.slice' expected steps to be at least 1, got [0]}}
  %0 = "graph.slice"(%x) {starts = [0], steps = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.slice' expected starts to be at least 0, got -1}}
  %0 = "graph.slice"(%x) {starts = [-1], steps = array<i64: 1>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.slice' expected y to end before the size 4, got 4}}
  %0 = "graph.slice"(%x) {starts = [1], steps = array<i64: 1>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.slice' expected y to end before the size 4, got 4}}
  %0 = "graph.slice"(%x) {starts = [0], steps = array<i64: 2>} : (tensor<4xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%x: tensor<?xf32, ["s0 - (s0 // 2)"]>) {
  // expected-error @+1 {{'graph.broadcast_to' expected x to broadcast with [(s0 // 2)], got [s0 - (s0 // 2)]}}
  %0 = "graph.broadcast_to"(%x) : (tensor<?xf32, ["s0 - (s0 // 2)"]>) -> tensor<?xf32, ["(s0 // 2)"]>
  return
}

// -----

func.func @f(%x: tensor<?xf32, ["s0"]>) {
  // expected-error @+1 {{'graph.slice' expected starts to be at least 0, got -s0 - 1}}
  %0 = "graph.slice"(%x) {starts = ["-s0 - 1"], steps = array<i64: 1>} : (tensor<?xf32, ["s0"]>) -> tensor<1xf32>
  return
}

// -----

func.func @f(%x: tensor<?xf32, ["s0"]>) {
  // expected-error @+1 {{'graph.slice' expected y to end before the size s0, got s0}}
  %0 = "graph.slice"(%x) {starts = [0], steps = array<i64: 1>} : (tensor<?xf32, ["s0"]>) -> tensor<?xf32, ["s0 + 1"]>
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'graph.concat' expected inputs to be at least 1 in number, got 0}}
  %0 = "graph.concat"() {dim = 0 : i64} : () -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.concat' expected dim to be at least 0 and below the rank 1, got 1}}
  %0 = "graph.concat"(%x) {dim = 1 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %y: tensor<4xi64>) {
  // expected-error @+1 {{'graph.concat' expected inputs[1] to have element type f32, got i64}}
  %0 = "graph.concat"(%x, %y) {dim = 0 : i64} : (tensor<4xf32>, tensor<4xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>, %y: tensor<4x3xf32>) {
  // expected-error @+1 {{'graph.concat' expected inputs[1] to have the sizes [4, 4] outside dim 0, got tensor<4x3xf32>}}
  %0 = "graph.concat"(%x, %y) {dim = 0 : i64} : (tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x4xf32>, %y: tensor<4xf32>) {
  // expected-error @+1 {{'graph.concat' expected inputs[1] to have the sizes [4, 4] outside dim 0, got tensor<4xf32>}}
  %0 = "graph.concat"(%x, %y) {dim = 0 : i64} : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) {
  // expected-error @+1 {{'graph.concat' expected y to have type tensor<8xf32>, got tensor<4xf32>}}
  %0 = "graph.concat"(%x, %y) {dim = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{'graph.concat' expected inputs[0] to be a ranked tensor, got f32}}
  %0 = "graph.concat"(%x) {dim = 0 : i64} : (f32) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>, %y: f32) {
  // expected-error @+1 {{'graph.concat' expected inputs[1] to be a ranked tensor, got f32}}
  %0 = "graph.concat"(%x, %y) {dim = 0 : i64} : (tensor<4xf32>, f32) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.pad' expected low to have 1 entries, got []}}
  %0 = "graph.pad"(%x) {low = [], high = [0], value = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.pad' expected high to have 1 entries, got [0, 0]}}
  %0 = "graph.pad"(%x) {low = [0], high = [0, 0], value = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.pad' expected low to be at least 0, got [-1]}}
  %0 = "graph.pad"(%x) {low = [-1], high = [0], value = 0 : i64} : (tensor<4xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.pad' expected high to be at least 0, got [-1]}}
  %0 = "graph.pad"(%x) {low = [0], high = [-1], value = 0 : i64} : (tensor<4xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @f(%x: tensor<?xf32, ["s0"]>) {
  // expected-error @+1 {{'graph.pad' expected low to be at least 0, got [-s0 - 1]}}
  %0 = "graph.pad"(%x) {low = ["-s0 - 1"], high = [0], value = 0 : i64} : (tensor<?xf32, ["s0"]>) -> tensor<1xf32>
  return
}

// -----

func.func @f(%x: tensor<4xi64>) {
  // expected-error @+1 {{'graph.pad' expected value to be an integer for element type i64, got 0.5}}
  %0 = "graph.pad"(%x) {low = [0], high = [0], value = 0.5 : f64} : (tensor<4xi64>) -> tensor<4xi64>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.pad' expected y to have type tensor<5xf32>, got tensor<4xf32>}}
  %0 = "graph.pad"(%x) {low = [1], high = [0], value = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.flip' expected dims to be at least 0 and below the rank 1, got 1}}
  %0 = "graph.flip"(%x) {dims = array<i64: 1>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.flip' expected dims to name each dim once, got [0, 0]}}
  %0 = "graph.flip"(%x) {dims = array<i64: 0, 0>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.flip' expected dims to be at least 0 and below the rank 1, got -1}}
  %0 = "graph.flip"(%x) {dims = array<i64: -1>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x6xf32>) {
  // expected-error @+1 {{'graph.window' expected dim to be at least 0 and below the rank 2, got 2}}
  %0 = "graph.window"(%x) {dim = 2, step = 1} : (tensor<2x6xf32>) -> tensor<2x4x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x6xf32>) {
  // expected-error @+1 {{'graph.window' expected step to be at least 1, got 0}}
  %0 = "graph.window"(%x) {dim = 1, step = 0} : (tensor<2x6xf32>) -> tensor<2x4x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x6xf32>) {
  // expected-error @+1 {{'graph.window' expected y to have rank 3, got [2, 4]}}
  %0 = "graph.window"(%x) {dim = 1, step = 1} : (tensor<2x6xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%x: tensor<2x6xf32>) {
  // expected-error @+1 {{'graph.window' expected y to have the sizes [2, 4] before its last one, got [3, 4, 3]}}
  %0 = "graph.window"(%x) {dim = 1, step = 1} : (tensor<2x6xf32>) -> tensor<3x4x3xf32>
  return
}

// -----

func.func @f(%x: tensor<2x6xf32>) {
  // expected-error @+1 {{'graph.window' expected y to end at the size 6, got 7}}
  %0 = "graph.window"(%x) {dim = 1, step = 2} : (tensor<2x6xf32>) -> tensor<2x3x3xf32>
  return
}

// -----

func.func @insert_rank(%x: tensor<4x4xf32>, %p: tensor<4xf32>) {
  // expected-error @+1 {{'graph.insert' expected part to have rank 2, got [4]}}
  %0 = "graph.insert"(%x, %p) {starts = [0, 0], steps = array<i64: 1, 1>} : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @insert_starts(%x: tensor<4xf32>, %p: tensor<2xf32>) {
  // expected-error @+1 {{'graph.insert' expected starts to have 1 entries, got []}}
  %0 = "graph.insert"(%x, %p) {starts = [], steps = array<i64: 1>} : (tensor<4xf32>, tensor<2xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @insert_steps(%x: tensor<4xf32>, %p: tensor<2xf32>) {
  // expected-error @+1 {{'graph.insert' expected steps to have 1 entries, got []}}
  %0 = "graph.insert"(%x, %p) {starts = [0], steps = array<i64>} : (tensor<4xf32>, tensor<2xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @insert_step(%x: tensor<4xf32>, %p: tensor<2xf32>) {
  // expected-error @+1 {{'graph.insert' expected steps to be at least 1, got [0]}}
  %0 = "graph.insert"(%x, %p) {starts = [0], steps = array<i64: 0>} : (tensor<4xf32>, tensor<2xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @insert_start(%x: tensor<4xf32>, %p: tensor<2xf32>) {
  // expected-error @+1 {{'graph.insert' expected starts to be at least 0, got -1}}
  %0 = "graph.insert"(%x, %p) {starts = [-1], steps = array<i64: 1>} : (tensor<4xf32>, tensor<2xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @insert_end(%x: tensor<4xf32>, %p: tensor<2xf32>) {
  // expected-error @+1 {{'graph.insert' expected part to end before the size 4, got 4}}
  %0 = "graph.insert"(%x, %p) {starts = [3], steps = array<i64: 1>} : (tensor<4xf32>, tensor<2xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @insert_elements(%x: tensor<4xf32>, %p: tensor<2xf64>) {
  // expected-error @+1 {{'graph.insert' expected part to have element type f32, got f64}}
  %0 = "graph.insert"(%x, %p) {starts = [0], steps = array<i64: 1>} : (tensor<4xf32>, tensor<2xf64>) -> tensor<4xf32>
  return
}
