// RUN: %girih-opt --split-input-file --verify-diagnostics %s

// What attention kernels reject.

func.func @f(%q: tensor<1x2x8x16xf32>, %k: tensor<1x2x4x8xf32>) {
  // expected-error @+1 {{'graph.flash_attention' expected key to have size 16, got 8}}
  %0:3 = "graph.flash_attention"(%q, %k, %k) ({
  }) : (tensor<1x2x8x16xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>) -> (tensor<1x2x8x8xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x3x8x16xf32>, %k: tensor<1x2x4x16xf32>) {
  // expected-error @+1 {{'graph.flash_attention' expected key to have a number of heads that divides 3, got 2}}
  %0:3 = "graph.flash_attention"(%q, %k, %k) ({
  }) : (tensor<1x3x8x16xf32>, tensor<1x2x4x16xf32>, tensor<1x2x4x16xf32>) -> (tensor<1x3x8x16xf32>, tensor<1x3x8xf32>, tensor<1x3x8xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x2x8x16xf32>) {
  // expected-error @+1 {{'graph.flash_attention' expected body to end in graph.yield, got nothing}}
  %0:3 = "graph.flash_attention"(%q, %q, %q) ({
  ^bb0(%s: tensor<1x2x8x8xf32>):
  }) : (tensor<1x2x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x16xf32>) -> (tensor<1x2x8x16xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x2x8x16xf32>) {
  // expected-error @+1 {{'graph.flash_attention' expected body to yield 1 values, got 2}}
  %0:3 = "graph.flash_attention"(%q, %q, %q) ({
  ^bb0(%s: tensor<1x2x8x8xf32>):
    "graph.yield"(%s, %s) : (tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>) -> ()
  }) : (tensor<1x2x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x16xf32>) -> (tensor<1x2x8x16xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x2x8x16xf32>) {
  // expected-error @+1 {{'graph.flash_attention' expected body to yield values of shape [1, 2, 8, 8], got tensor<1x2x8x16xf32>}}
  %0:3 = "graph.flash_attention"(%q, %q, %q) ({
  ^bb0(%s: tensor<1x2x8x8xf32>):
    "graph.yield"(%q) : (tensor<1x2x8x16xf32>) -> ()
  }) : (tensor<1x2x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x16xf32>) -> (tensor<1x2x8x16xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x2x8x16xf32>, %g: tensor<1x2x8x8xf32>, %l: tensor<1x2x8xf32>) {
  // expected-error @+1 {{'graph.flash_attention_backward' expected gradient to have type tensor<1x2x8x16xf32>, got tensor<1x2x8x8xf32>}}
  %0:3 = "graph.flash_attention_backward"(%g, %q, %q, %q, %l, %l, %l) ({
  }) : (tensor<1x2x8x8xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>) -> (tensor<1x2x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x16xf32>)
  return
}

// -----

func.func @f(%q: tensor<1x2x8x16xbf16>, %l: tensor<1x2x8xf32>, %d: tensor<1x2x8xbf16>) {
  // expected-error @+1 {{'graph.flash_attention_backward' expected delta to have type tensor<1x2x8xf32>, got tensor<1x2x8xbf16>}}
  %0:3 = "graph.flash_attention_backward"(%q, %q, %q, %q, %l, %l, %d) ({
  }) : (tensor<1x2x8x16xbf16>, tensor<1x2x8x16xbf16>, tensor<1x2x8x16xbf16>, tensor<1x2x8x16xbf16>, tensor<1x2x8xf32>, tensor<1x2x8xf32>, tensor<1x2x8xbf16>) -> (tensor<1x2x8x16xbf16>, tensor<1x2x8x16xbf16>, tensor<1x2x8x16xbf16>)
  return
}

// -----

func.func @f(%q: tensor<1x2x8x16xf32>, %l: tensor<1x2x8xf32>) {
  // expected-error @+1 {{'graph.flash_attention_backward' expected body to take 2 values, got 1}}
  %0:3 = "graph.flash_attention_backward"(%q, %q, %q, %q, %l, %l, %l) ({
  ^bb0(%s: tensor<1x2x8x8xf32>):
    "graph.yield"(%s, %s) : (tensor<1x2x8x8xf32>, tensor<1x2x8x8xf32>) -> ()
  }) : (tensor<1x2x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>, tensor<1x2x8xf32>) -> (tensor<1x2x8x16xf32>, tensor<1x2x8x16xf32>, tensor<1x2x8x16xf32>)
  return
}
