// RUN: %girih-opt --convert-tile-to-tt --split-input-file --verify-diagnostics %s

"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [16], [1]>, %y: !tile.buffer<f32, [16], [1]>):
  // expected-error @+1 {{'tile.read' expected IR of level 'tile' (a launch program and kernels with schedules), which has no such op in 'tile.kernel' (before pass 'convert-tile-to-tt')}}
  %0 = "tile.read"(%x) : (!tile.buffer<f32, [16], [1]>) -> tensor<16xf32>
  // expected-error @+1 {{'tile.write' expected IR of level 'tile'}}
  "tile.write"(%0, %y) : (tensor<16xf32>, !tile.buffer<f32, [16], [1]>) -> ()
}) {sym_name = "k", symbols = [], outputs = 1 : i64, domain = [16], reduced = array<i64>} : () -> ()

// -----

"tile.kernel"() ({
^bb0(%x: !tile.buffer<f32, [16], [1]>, %y: !tile.buffer<f32, [16], [1]>):
  %one = arith.constant 1.0 : f32
  %at = arith.constant 1 : index
  // expected-error @+1 {{expected a scheduled kernel with grids, got tile.store}}
  "tile.store"(%one, %y, %at) {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>} : (f32, !tile.buffer<f32, [16], [1]>, index) -> ()
}) {sym_name = "k", symbols = [], outputs = 1 : i64, domain = [16], reduced = array<i64>} : () -> ()

// -----

"tile.kernel"() ({
^bb0(%y: !tile.buffer<f32, [16], [1]>):
  %one = arith.constant 1 : index
  "tile.grid"(%one, %one) ({
  ^bb0(%pid: index):
    // expected-error @+1 {{have sizes that are powers of two, got [12]}}
    %v = vector.step : vector<12xindex>
  }) : (index, index) -> ()
}) {sym_name = "k", symbols = [], outputs = 1 : i64, domain = [16], reduced = array<i64>} : () -> ()

// -----

"tile.kernel"() ({
^bb0(%y: !tile.buffer<f32, [16], [1]>):
  %one = arith.constant 1 : index
  "tile.grid"(%one, %one) ({
  ^bb0(%pid: index):
    // expected-error @+1 {{expected a vector constant with equal elements or the elements 0, 1, 2, ..., got dense<[3, 1]>}}
    %v = arith.constant dense<[3, 1]> : vector<2xi32>
  }) : (index, index) -> ()
}) {sym_name = "k", symbols = [], outputs = 1 : i64, domain = [16], reduced = array<i64>} : () -> ()

// -----

"tile.kernel"() ({
^bb0(%y: !tile.buffer<f32, [16], [1]>):
  %one = arith.constant 1 : index
  "tile.grid"(%one, %one) ({
  ^bb0(%pid: index):
    // expected-error @+1 {{expected an op of scheduled kernels, got math.ctpop}}
    %v = math.ctpop %pid : index
  }) : (index, index) -> ()
}) {sym_name = "k", symbols = [], outputs = 1 : i64, domain = [16], reduced = array<i64>} : () -> ()
