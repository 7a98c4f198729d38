// RUN: %girih-opt --split-input-file --verify-diagnostics %s

// What special functions reject: they are of floats alone.

func.func @f(%x: tensor<4xi32>) {
  // expected-error @+1 {{'graph.i0' expected x to have a real float element type, got i32}}
  %0 = "graph.i0"(%x) : (tensor<4xi32>) -> tensor<4xi32>
  return
}
