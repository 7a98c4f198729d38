// RUN: %girih-opt %s | %girih-opt | filecheck %s

// CHECK-LABEL: func.func @dot
// CHECK: "tile.dot"(%{{.*}}, %{{.*}}, %{{.*}}) : (vector<16x32xbf16>, vector<32x64xbf16>, vector<16x64xf32>) -> vector<16x64xf32>
func.func @dot(%a: vector<16x32xbf16>, %b: vector<32x64xbf16>, %c: vector<16x64xf32>) -> vector<16x64xf32> {
  %d = "tile.dot"(%a, %b, %c) : (vector<16x32xbf16>, vector<32x64xbf16>, vector<16x64xf32>) -> vector<16x64xf32>
  return %d : vector<16x64xf32>
}
