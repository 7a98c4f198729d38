// RUN: %girih-opt --split-input-file --verify-diagnostics %s

// What kernels, grids and loops reject.

// expected-error @+1 {{'tile.kernel' expected body to have one block, got 0}}
"tile.kernel"() ({
}) {sym_name = "k", symbols = ["s0"], outputs = 1 : i64, domain = [4], reduced = array<i64>} : () -> ()

// -----

// expected-error @+1 {{'tile.kernel' expected argument 0 to have type index, got !tile.buffer<f32, [4], [1]>}}
"tile.kernel"() ({
^bb0(%b: !tile.buffer<f32, [4], [1]>):
}) {sym_name = "k", symbols = ["s0"], outputs = 1 : i64, domain = [4], reduced = array<i64>} : () -> ()

// -----

// expected-error @+1 {{'tile.kernel' expected body to take 1 symbols after the buffers, got 0 arguments}}
"tile.kernel"() ({
^bb0():
}) {sym_name = "k", symbols = ["s0"], outputs = 1 : i64, domain = [4], reduced = array<i64>} : () -> ()

// -----

// expected-error @+1 {{'tile.kernel' expected argument 0 to be a buffer, got f32}}
"tile.kernel"() ({
^bb0(%b: f32, %s: index):
}) {sym_name = "k", symbols = ["s0"], outputs = 1 : i64, domain = [4], reduced = array<i64>} : () -> ()

// -----

// expected-error @+1 {{'tile.kernel' expected argument 1 to have type index, got i64}}
"tile.kernel"() ({
^bb0(%b: !tile.buffer<f32, [4], [1]>, %s: i64):
}) {sym_name = "k", symbols = ["s0"], outputs = 1 : i64, domain = [4], reduced = array<i64>} : () -> ()

// -----

// expected-error @+1 {{'tile.kernel' expected sets to be positive, got 0}}
"tile.kernel"() ({
^bb0(%b: !tile.buffer<f32, [4], [1]>):
}) {sym_name = "k", sets = 0 : i64, symbols = [], outputs = 1 : i64, domain = [4], reduced = array<i64>} : () -> ()

// -----

// expected-error @+1 {{'tile.kernel' expected outputs to be at least 1 and at most the 1 buffers, got 2}}
"tile.kernel"() ({
^bb0(%b: !tile.buffer<f32, [4], [1]>, %s: index):
}) {sym_name = "k", symbols = ["s0"], outputs = 2 : i64, domain = [4], reduced = array<i64>} : () -> ()

// -----

// expected-error @+1 {{'tile.kernel' expected outputs to be at least 1 and at most the 1 buffers, got 0}}
"tile.kernel"() ({
^bb0(%b: !tile.buffer<f32, [4], [1]>, %s: index):
}) {sym_name = "k", symbols = ["s0"], outputs = 0 : i64, domain = [4], reduced = array<i64>} : () -> ()

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{'tile.read' expected buffer to be a buffer, got f32}}
  %0 = "tile.read"(%x) : (f32) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: !tile.buffer<f32, [4], [1]>) {
  // expected-error @+1 {{'tile.read' expected value to have type tensor<4xf32>, got tensor<5xf32>}}
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [4], [1]>) -> tensor<5xf32>
  return
}

// -----

func.func @f(%t: tensor<4xf32>, %x: f32) {
  // expected-error @+1 {{'tile.write' expected buffer to be a buffer, got f32}}
  "tile.write"(%t, %x) : (tensor<4xf32>, f32) -> ()
  return
}

// -----

func.func @f(%t: tensor<5xf32>, %x: !tile.buffer<f32, [4], [1]>) {
  // expected-error @+1 {{'tile.write' expected value to have type tensor<4xf32>, got tensor<5xf32>}}
  "tile.write"(%t, %x) : (tensor<5xf32>, !tile.buffer<f32, [4], [1]>) -> ()
  return
}

// -----

func.func @f(%x: !tile.buffer<f32,[4],[1]>) {
  // expected-error @+1 {{'tile.read' expected the buffer to read !tile.buffer<element, [sizes], [strides]>, got !tile.buffer<f32,[4],[1]>}}
  %0 = "tile.read"(%x) : (!tile.buffer<f32,[4],[1]>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: !tile.buffer<f32, [4 ], [1]>) {
  // expected-error @+1 {{'tile.read' expected !tile.buffer<f32, [4], [1]>, got !tile.buffer<f32, [4 ], [1]>}}
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [4 ], [1]>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: !tile.buffer<f32, [a], [1]>) {
  // expected-error @+1 {{'tile.read' expected the buffer to have sizes: invalid literal for int() with base 10: 'a'}}
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [a], [1]>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: !tile.buffer<f32, [4], [1, 1]>) {
  // expected-error @+1 {{'tile.read' expected as many strides as sizes, got !tile.buffer<f32, [4], [1, 1]>}}
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [4], [1, 1]>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: !tile.buffer<f99, [4], [1]>) {
  // expected-error @+1 {{'tile.read' expected the buffer to hold numbers, got f99}}
  %0 = "tile.read"(%x) : (!tile.buffer<f99, [4], [1]>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: !tile.buffer<f32, ["2 + s0"], [1]>) {
  // expected-error @+1 {{'tile.read' expected !tile.buffer<f32, ["s0 + 2"], [1]>, got !tile.buffer<f32, ["2 + s0"], [1]>}}
  %0 = "tile.read"(%x) : (!tile.buffer<f32, ["2 + s0"], [1]>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%n: index, %x: f32) {
  // expected-error @+1 {{'tile.grid' expected count to have type index, got f32}}
  "tile.grid"(%x, %n) ({
  ^bb0(%p: index):
  }) : (f32, index) -> ()
  return
}

// -----

func.func @f(%n: index, %x: f32) {
  // expected-error @+1 {{'tile.grid' expected work to have type index, got f32}}
  "tile.grid"(%n, %x) ({
  ^bb0(%p: index):
  }) : (index, f32) -> ()
  return
}

// -----

func.func @f(%n: index, %x: f32) {
  // expected-error @+1 {{'tile.grid' expected body to take (index), got (f32)}}
  "tile.grid"(%n, %n) ({
  ^bb0(%p: f32):
  }) : (index, index) -> ()
  return
}

// -----

func.func @f(%n: index, %x: f32) {
  // expected-error @+1 {{'tile.grid' expected body to take (index), got ()}}
  "tile.grid"(%n, %n) ({
  ^bb0:
  }) : (index, index) -> ()
  return
}

// -----

func.func @f(%n: index, %x: f32) {
  // expected-error @+1 {{'tile.grid' expected body to have one block, got 0}}
  "tile.grid"(%n, %n) ({
  
  }) : (index, index) -> ()
  return
}

// -----

func.func @f(%n: index, %x: f32) {
  // expected-error @+1 {{'tile.loop' expected low to have type index, got f32}}
  %0 = "tile.loop"(%x, %n, %x) ({
  ^bb0(%i: index, %m: vector<4xi1>, %c: f32):
    "tile.yield"(%c) : (f32) -> ()
  }) {width = 4 : i64, unroll = 1 : i64} : (f32, index, f32) -> f32
  return
}

// -----

func.func @f(%n: index, %x: f32) {
  // expected-error @+1 {{'tile.loop' expected high to have type index, got f32}}
  %0 = "tile.loop"(%n, %x, %x) ({
  ^bb0(%i: index, %m: vector<4xi1>, %c: f32):
    "tile.yield"(%c) : (f32) -> ()
  }) {width = 4 : i64, unroll = 1 : i64} : (index, f32, f32) -> f32
  return
}

// -----

func.func @f(%n: index, %x: f32) {
  // expected-error @+1 {{'tile.loop' expected width to be at least 1, got 0}}
  %0 = "tile.loop"(%n, %n, %x) ({
  ^bb0(%i: index, %m: vector<4xi1>, %c: f32):
    "tile.yield"(%c) : (f32) -> ()
  }) {width = 0 : i64, unroll = 1 : i64} : (index, index, f32) -> f32
  return
}

// -----

func.func @f(%n: index, %x: f32) {
  // expected-error @+1 {{'tile.loop' expected unroll to be at least 1, got 0}}
  %0 = "tile.loop"(%n, %n, %x) ({
  ^bb0(%i: index, %m: vector<4xi1>, %c: f32):
    "tile.yield"(%c) : (f32) -> ()
  }) {width = 4 : i64, unroll = 0 : i64} : (index, index, f32) -> f32
  return
}

// -----

func.func @f(%n: index, %x: f32) {
  // expected-error @+1 {{'tile.loop' expected body to take (index, vector<4xi1>, f32), got (index, vector<8xi1>, f32)}}
  %0 = "tile.loop"(%n, %n, %x) ({
  ^bb0(%i: index, %m: vector<8xi1>, %c: f32):
    "tile.yield"(%c) : (f32) -> ()
  }) {width = 4 : i64, unroll = 1 : i64} : (index, index, f32) -> f32
  return
}

// -----

func.func @f(%n: index, %x: f32) {
  // expected-error @+1 {{'tile.loop' expected outputs to have types (f32), got (f64)}}
  %0 = "tile.loop"(%n, %n, %x) ({
  ^bb0(%i: index, %m: vector<4xi1>, %c: f32):
    "tile.yield"(%c) : (f32) -> ()
  }) {width = 4 : i64, unroll = 1 : i64} : (index, index, f32) -> f64
  return
}

// -----

func.func @f(%n: index, %x: f32) {
  // expected-error @+1 {{'tile.loop' expected body to yield (f32), got (index)}}
  %0 = "tile.loop"(%n, %n, %x) ({
  ^bb0(%i: index, %m: vector<4xi1>, %c: f32):
    "tile.yield"(%n) : (index) -> ()
  }) {width = 4 : i64, unroll = 1 : i64} : (index, index, f32) -> f32
  return
}

// -----

func.func @f(%n: index, %x: f32) {
  // expected-error @+1 {{'tile.loop' expected body to yield (f32), got ()}}
  %0 = "tile.loop"(%n, %n, %x) ({
  ^bb0(%i: index, %m: vector<4xi1>, %c: f32):
    "tile.yield"() : () -> ()
  }) {width = 4 : i64, unroll = 1 : i64} : (index, index, f32) -> f32
  return
}

// -----

func.func @f(%n: index, %x: f32) {
  // expected-error @+1 {{'tile.loop' expected body to end in tile.yield, got nothing}}
  %0 = "tile.loop"(%n, %n, %x) ({
  ^bb0(%i: index, %m: vector<4xi1>, %c: f32):
  }) {width = 4 : i64, unroll = 1 : i64} : (index, index, f32) -> f32
  return
}

// -----

func.func @f(%n: index, %x: f32) {
  // expected-error @+1 {{'tile.loop' expected body to end in tile.yield, got arith.addf}}
  %0 = "tile.loop"(%n, %n, %x) ({
  ^bb0(%i: index, %m: vector<4xi1>, %c: f32):
    %y = arith.addf %c, %c : f32
  }) {width = 4 : i64, unroll = 1 : i64} : (index, index, f32) -> f32
  return
}

// -----

"tile.kernel"() ({
^bb0(%b: !tile.buffer<f32, [4], [1]>, %n: index):
  // expected-error @+1 {{'tile.grid' expected num_warps to be at least 1, got 0}}
  "tile.grid"(%n, %n) ({
  ^bb1(%program: index):
  }) {num_warps = 0 : i64} : (index, index) -> ()
}) {sym_name = "k", symbols = ["s0"], outputs = 1 : i64, domain = [4], reduced = array<i64>} : () -> ()
