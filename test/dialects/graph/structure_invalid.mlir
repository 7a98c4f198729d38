// RUN: %girih-opt --split-input-file --verify-diagnostics %s

// What fusions reject.

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.fusion' expected reduced to be at least 0 and below the rank 1, got 1}}
  %0 = "graph.fusion"(%x) ({
  ^bb0(%a: tensor<4xf32>):
    "graph.yield"(%a) : (tensor<4xf32>) -> ()
  }) {domain = [4], reduced = array<i64: 1>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.fusion' expected body to have one block, got 0}}
  %0 = "graph.fusion"(%x) ({
  }) {domain = [4], reduced = array<i64>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.fusion' expected body to take (tensor<4xf32>), got (tensor<4xi64>)}}
  %0 = "graph.fusion"(%x) ({
  ^bb0(%a: tensor<4xi64>):
    "graph.yield"(%x) : (tensor<4xf32>) -> ()
  }) {domain = [4], reduced = array<i64>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.fusion' expected body to end in graph.yield, got graph.exp}}
  %0 = "graph.fusion"(%x) ({
  ^bb0(%a: tensor<4xf32>):
    %1 = "graph.exp"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  }) {domain = [4], reduced = array<i64>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.fusion' expected body to end in graph.yield, got nothing}}
  %0 = "graph.fusion"(%x) ({
  ^bb0(%a: tensor<4xf32>):
  }) {domain = [4], reduced = array<i64>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @+1 {{'graph.fusion' expected body to yield (tensor<4x4xf32>), got (tensor<4xf32>)}}
  %0 = "graph.fusion"(%x) ({
  ^bb0(%a: tensor<4xf32>):
    "graph.yield"(%a) : (tensor<4xf32>) -> ()
  }) {domain = [4], reduced = array<i64>} : (tensor<4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x5xf32>) -> tensor<4x1xf32> {
  // expected-error @+1 {{'graph.fusion' expected closing to name no dim that reduced names, got [1]}}
  %0 = "graph.fusion"(%x) ({
  ^bb0(%a: tensor<4x5xf32>):
    %1 = "graph.reduce_sum"(%a) {dims = array<i64: 1>} : (tensor<4x5xf32>) -> tensor<4x1xf32>
    "graph.yield"(%1) : (tensor<4x1xf32>) -> ()
  }) {domain = [4, 5], reduced = array<i64: 1>, closing = array<i64: 1>} : (tensor<4x5xf32>) -> tensor<4x1xf32>
  return %0 : tensor<4x1xf32>
}
