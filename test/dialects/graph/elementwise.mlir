// RUN: %girih-opt %s -o %t.mlir
// RUN: %girih-opt %t.mlir | diff %t.mlir -
// RUN: filecheck %s --input-file %t.mlir

// Every elementwise op, with a symbolic size.

// CHECK-LABEL: @arithmetic_unary
// CHECK: "graph.abs"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.neg"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.sign"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.floor"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.ceil"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.round"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.trunc"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.relu"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.reciprocal"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.sqrt"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.rsqrt"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
func.func @arithmetic_unary(%x: tensor<?x16xf32, ["s0"]>) {
  %0 = "graph.abs"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %1 = "graph.neg"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %2 = "graph.sign"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %3 = "graph.floor"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %4 = "graph.ceil"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %5 = "graph.round"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %6 = "graph.trunc"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %7 = "graph.relu"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %8 = "graph.reciprocal"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %9 = "graph.sqrt"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %10 = "graph.rsqrt"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  return
}

// CHECK-LABEL: @exponential
// CHECK: "graph.exp"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.exp2"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.expm1"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.log"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.log2"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.log10"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.log1p"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.sigmoid"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.erf"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.erfc"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
func.func @exponential(%x: tensor<?x16xf32, ["s0"]>) {
  %0 = "graph.exp"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %1 = "graph.exp2"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %2 = "graph.expm1"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %3 = "graph.log"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %4 = "graph.log2"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %5 = "graph.log10"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %6 = "graph.log1p"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %7 = "graph.sigmoid"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %8 = "graph.erf"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %9 = "graph.erfc"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  return
}

// CHECK-LABEL: @trigonometric
// CHECK: "graph.sin"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.cos"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.tan"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.asin"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.acos"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.atan"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
func.func @trigonometric(%x: tensor<?x16xf32, ["s0"]>) {
  %0 = "graph.sin"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %1 = "graph.cos"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %2 = "graph.tan"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %3 = "graph.asin"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %4 = "graph.acos"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %5 = "graph.atan"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  return
}

// CHECK-LABEL: @hyperbolic
// CHECK: "graph.sinh"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.cosh"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.tanh"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.asinh"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.acosh"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.atanh"(%{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
func.func @hyperbolic(%x: tensor<?x16xf32, ["s0"]>) {
  %0 = "graph.sinh"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %1 = "graph.cosh"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %2 = "graph.tanh"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %3 = "graph.asinh"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %4 = "graph.acosh"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %5 = "graph.atanh"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  return
}

// CHECK-LABEL: @predicates
// CHECK: "graph.isnan"(%{{.*}}){{.*}}-> tensor<?x16xi1, ["s0"]>
// CHECK: "graph.isinf"(%{{.*}}){{.*}}-> tensor<?x16xi1, ["s0"]>
// CHECK: "graph.isfinite"(%{{.*}}){{.*}}-> tensor<?x16xi1, ["s0"]>
func.func @predicates(%x: tensor<?x16xf32, ["s0"]>) {
  %0 = "graph.isnan"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xi1, ["s0"]>
  %1 = "graph.isinf"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xi1, ["s0"]>
  %2 = "graph.isfinite"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xi1, ["s0"]>
  return
}

// CHECK-LABEL: @not
// CHECK: "graph.logical_not"(%{{.*}}){{.*}}-> tensor<?x16xi1, ["s0"]>
// CHECK: "graph.bitwise_not"(%{{.*}}){{.*}}-> tensor<?x16xi1, ["s0"]>
func.func @not(%x: tensor<?x16xi1, ["s0"]>) {
  %0 = "graph.logical_not"(%x) : (tensor<?x16xi1, ["s0"]>) -> tensor<?x16xi1, ["s0"]>
  %1 = "graph.bitwise_not"(%x) : (tensor<?x16xi1, ["s0"]>) -> tensor<?x16xi1, ["s0"]>
  return
}

// CHECK-LABEL: @magnitude_of_complex
// CHECK: "graph.abs"(%{{.*}}){{.*}}-> tensor<4xf32>
func.func @magnitude_of_complex(%x: tensor<4xcomplex<f32>>) {
  %0 = "graph.abs"(%x) : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return
}

// CHECK-LABEL: @arithmetic_binary
// CHECK: "graph.add"(%{{.*}}, %{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.sub"(%{{.*}}, %{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.mul"(%{{.*}}, %{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.div"(%{{.*}}, %{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.floor_divide"(%{{.*}}, %{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.trunc_divide"(%{{.*}}, %{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.remainder"(%{{.*}}, %{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.fmod"(%{{.*}}, %{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.pow"(%{{.*}}, %{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.atan2"(%{{.*}}, %{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.copysign"(%{{.*}}, %{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.maximum"(%{{.*}}, %{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.minimum"(%{{.*}}, %{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
func.func @arithmetic_binary(%x: tensor<?x16xf32, ["s0"]>, %y: tensor<?x16xf32, ["s0"]>) {
  %0 = "graph.add"(%x, %y) : (tensor<?x16xf32, ["s0"]>, tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %1 = "graph.sub"(%x, %y) : (tensor<?x16xf32, ["s0"]>, tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %2 = "graph.mul"(%x, %y) : (tensor<?x16xf32, ["s0"]>, tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %3 = "graph.div"(%x, %y) : (tensor<?x16xf32, ["s0"]>, tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %4 = "graph.floor_divide"(%x, %y) : (tensor<?x16xf32, ["s0"]>, tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %5 = "graph.trunc_divide"(%x, %y) : (tensor<?x16xf32, ["s0"]>, tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %6 = "graph.remainder"(%x, %y) : (tensor<?x16xf32, ["s0"]>, tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %7 = "graph.fmod"(%x, %y) : (tensor<?x16xf32, ["s0"]>, tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %8 = "graph.pow"(%x, %y) : (tensor<?x16xf32, ["s0"]>, tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %9 = "graph.atan2"(%x, %y) : (tensor<?x16xf32, ["s0"]>, tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %10 = "graph.copysign"(%x, %y) : (tensor<?x16xf32, ["s0"]>, tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %11 = "graph.maximum"(%x, %y) : (tensor<?x16xf32, ["s0"]>, tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  %12 = "graph.minimum"(%x, %y) : (tensor<?x16xf32, ["s0"]>, tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  return
}

// CHECK-LABEL: @comparisons
// CHECK: "graph.eq"(%{{.*}}, %{{.*}}){{.*}}-> tensor<?x16xi1, ["s0"]>
// CHECK: "graph.ne"(%{{.*}}, %{{.*}}){{.*}}-> tensor<?x16xi1, ["s0"]>
// CHECK: "graph.lt"(%{{.*}}, %{{.*}}){{.*}}-> tensor<?x16xi1, ["s0"]>
// CHECK: "graph.le"(%{{.*}}, %{{.*}}){{.*}}-> tensor<?x16xi1, ["s0"]>
// CHECK: "graph.gt"(%{{.*}}, %{{.*}}){{.*}}-> tensor<?x16xi1, ["s0"]>
// CHECK: "graph.ge"(%{{.*}}, %{{.*}}){{.*}}-> tensor<?x16xi1, ["s0"]>
func.func @comparisons(%x: tensor<?x16xf32, ["s0"]>, %y: tensor<?x16xf32, ["s0"]>) {
  %0 = "graph.eq"(%x, %y) : (tensor<?x16xf32, ["s0"]>, tensor<?x16xf32, ["s0"]>) -> tensor<?x16xi1, ["s0"]>
  %1 = "graph.ne"(%x, %y) : (tensor<?x16xf32, ["s0"]>, tensor<?x16xf32, ["s0"]>) -> tensor<?x16xi1, ["s0"]>
  %2 = "graph.lt"(%x, %y) : (tensor<?x16xf32, ["s0"]>, tensor<?x16xf32, ["s0"]>) -> tensor<?x16xi1, ["s0"]>
  %3 = "graph.le"(%x, %y) : (tensor<?x16xf32, ["s0"]>, tensor<?x16xf32, ["s0"]>) -> tensor<?x16xi1, ["s0"]>
  %4 = "graph.gt"(%x, %y) : (tensor<?x16xf32, ["s0"]>, tensor<?x16xf32, ["s0"]>) -> tensor<?x16xi1, ["s0"]>
  %5 = "graph.ge"(%x, %y) : (tensor<?x16xf32, ["s0"]>, tensor<?x16xf32, ["s0"]>) -> tensor<?x16xi1, ["s0"]>
  return
}

// CHECK-LABEL: @logic
// CHECK: "graph.logical_and"(%{{.*}}, %{{.*}}){{.*}}-> tensor<?x16xi1, ["s0"]>
// CHECK: "graph.logical_or"(%{{.*}}, %{{.*}}){{.*}}-> tensor<?x16xi1, ["s0"]>
// CHECK: "graph.logical_xor"(%{{.*}}, %{{.*}}){{.*}}-> tensor<?x16xi1, ["s0"]>
func.func @logic(%x: tensor<?x16xi1, ["s0"]>, %y: tensor<?x16xi1, ["s0"]>) {
  %0 = "graph.logical_and"(%x, %y) : (tensor<?x16xi1, ["s0"]>, tensor<?x16xi1, ["s0"]>) -> tensor<?x16xi1, ["s0"]>
  %1 = "graph.logical_or"(%x, %y) : (tensor<?x16xi1, ["s0"]>, tensor<?x16xi1, ["s0"]>) -> tensor<?x16xi1, ["s0"]>
  %2 = "graph.logical_xor"(%x, %y) : (tensor<?x16xi1, ["s0"]>, tensor<?x16xi1, ["s0"]>) -> tensor<?x16xi1, ["s0"]>
  return
}

// CHECK-LABEL: @bits
// CHECK: "graph.bitwise_and"(%{{.*}}, %{{.*}}){{.*}}-> tensor<?x16xi32, ["s0"]>
// CHECK: "graph.bitwise_or"(%{{.*}}, %{{.*}}){{.*}}-> tensor<?x16xi32, ["s0"]>
// CHECK: "graph.bitwise_xor"(%{{.*}}, %{{.*}}){{.*}}-> tensor<?x16xi32, ["s0"]>
// CHECK: "graph.shift_left"(%{{.*}}, %{{.*}}){{.*}}-> tensor<?x16xi32, ["s0"]>
// CHECK: "graph.shift_right"(%{{.*}}, %{{.*}}){{.*}}-> tensor<?x16xi32, ["s0"]>
func.func @bits(%x: tensor<?x16xi32, ["s0"]>, %y: tensor<?x16xi32, ["s0"]>) {
  %0 = "graph.bitwise_and"(%x, %y) : (tensor<?x16xi32, ["s0"]>, tensor<?x16xi32, ["s0"]>) -> tensor<?x16xi32, ["s0"]>
  %1 = "graph.bitwise_or"(%x, %y) : (tensor<?x16xi32, ["s0"]>, tensor<?x16xi32, ["s0"]>) -> tensor<?x16xi32, ["s0"]>
  %2 = "graph.bitwise_xor"(%x, %y) : (tensor<?x16xi32, ["s0"]>, tensor<?x16xi32, ["s0"]>) -> tensor<?x16xi32, ["s0"]>
  %3 = "graph.shift_left"(%x, %y) : (tensor<?x16xi32, ["s0"]>, tensor<?x16xi32, ["s0"]>) -> tensor<?x16xi32, ["s0"]>
  %4 = "graph.shift_right"(%x, %y) : (tensor<?x16xi32, ["s0"]>, tensor<?x16xi32, ["s0"]>) -> tensor<?x16xi32, ["s0"]>
  return
}

// CHECK-LABEL: @broadcast_right_aligned
// CHECK: "graph.add"(%{{.*}}, %{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
// CHECK: "graph.mul"(%{{.*}}, %{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
func.func @broadcast_right_aligned(%x: tensor<?x16xf32, ["s0"]>, %y: tensor<16xf32>, %s: tensor<f32>) {
  %0 = "graph.add"(%x, %y) : (tensor<?x16xf32, ["s0"]>, tensor<16xf32>) -> tensor<?x16xf32, ["s0"]>
  %1 = "graph.mul"(%s, %x) : (tensor<f32>, tensor<?x16xf32, ["s0"]>) -> tensor<?x16xf32, ["s0"]>
  return
}

// CHECK-LABEL: @broadcast_both_sides
// CHECK: "graph.sub"(%{{.*}}, %{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
func.func @broadcast_both_sides(%x: tensor<?x1xf32, ["s0"]>, %y: tensor<1x16xf32>) {
  %0 = "graph.sub"(%x, %y) : (tensor<?x1xf32, ["s0"]>, tensor<1x16xf32>) -> tensor<?x16xf32, ["s0"]>
  return
}

// CHECK-LABEL: @where
// CHECK: "graph.where"(%{{.*}}, %{{.*}}, %{{.*}}){{.*}}-> tensor<?x16xf32, ["s0"]>
func.func @where(%c: tensor<16xi1>, %x: tensor<?x16xf32, ["s0"]>, %y: tensor<f32>) {
  %0 = "graph.where"(%c, %x, %y) : (tensor<16xi1>, tensor<?x16xf32, ["s0"]>, tensor<f32>) -> tensor<?x16xf32, ["s0"]>
  return
}

// CHECK-LABEL: @cast
// CHECK: "graph.cast"(%{{.*}}){{.*}}-> tensor<?x16xbf16, ["s0"]>
func.func @cast(%x: tensor<?x16xf32, ["s0"]>) {
  %0 = "graph.cast"(%x) : (tensor<?x16xf32, ["s0"]>) -> tensor<?x16xbf16, ["s0"]>
  return
}
