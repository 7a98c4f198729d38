// RUN: %girih-opt --split-input-file --verify-diagnostics %s

// What the ops of the launch program reject.

func.func @f() {
  // expected-error @+1 {{'host.alloc' expected buffer to be a buffer, got f32}}
  %0 = "host.alloc"() : () -> f32
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{'host.view' expected buffer to be a buffer, got f32}}
  %0 = "host.view"(%x) {offset = 0 : i64} : (f32) -> !tile.buffer<f32, [4], [1]>
  return
}

// -----

func.func @f(%x: !tile.buffer<f32, [4], [1]>) {
  // expected-error @+1 {{'host.view' expected view to be a buffer, got f32}}
  %0 = "host.view"(%x) {offset = 0 : i64} : (!tile.buffer<f32, [4], [1]>) -> f32
  return
}

// -----

func.func @f(%x: !tile.buffer<f32, [4], [1]>) {
  // expected-error @+1 {{'host.view' expected view to have element type f32, got f64}}
  %0 = "host.view"(%x) {offset = 0 : i64} : (!tile.buffer<f32, [4], [1]>) -> !tile.buffer<f64, [4], [1]>
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{'host.launch' expected buffers[0] to be a buffer, got f32}}
  "host.launch"(%x) {kernel = @k, outputs = 1 : i64, symbols = []} : (f32) -> ()
  return
}

// -----

func.func @f(%x: !tile.buffer<f32, [4], [1]>) {
  // expected-error @+1 {{'host.launch' expected outputs to be at least 1 and at most the 1 buffers, got 2}}
  "host.launch"(%x) {kernel = @k, outputs = 2 : i64, symbols = []} : (!tile.buffer<f32, [4], [1]>) -> ()
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'host.extern' expected op to read namespace.name.overload, got foo}}
  "host.extern"() {op = "foo", args = [], kwargs = {}} : () -> ()
  return
}

// -----

func.func @f(%x: f32, %y: !tile.buffer<f32, [4], [1]>) {
  // expected-error @+1 {{'host.copy' expected source to be a buffer, got f32}}
  "host.copy"(%x, %y) : (f32, !tile.buffer<f32, [4], [1]>) -> ()
  return
}

// -----

func.func @f(%x: !tile.buffer<f32, [4], [1]>, %y: f32) {
  // expected-error @+1 {{'host.copy' expected target to be a buffer, got f32}}
  "host.copy"(%x, %y) : (!tile.buffer<f32, [4], [1]>, f32) -> ()
  return
}

// -----

func.func @f(%x: !tile.buffer<f32, [4], [1]>, %y: !tile.buffer<f32, [5], [1]>) {
  // expected-error @+1 {{'host.copy' expected target to have shape [4], got !tile.buffer<f32, [5], [1]>}}
  "host.copy"(%x, %y) : (!tile.buffer<f32, [4], [1]>, !tile.buffer<f32, [5], [1]>) -> ()
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'host.size' expected value to have type index, got i64}}
  %0 = "host.size"() {expr = "s0"} : () -> i64
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'host.native' expected body to have one block, got 0}}
  "host.native"() ({
  }) : () -> ()
  return
}

// -----

func.func @f(%n: index) {
  // expected-error @+1 {{'host.native' expected body to hold only host.launch, got arith.addi}}
  "host.native"() ({
    %0 = arith.addi %n, %n : index
  }) : () -> ()
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'host.workspace' expected bytes to be at least 0, got -1}}
  "host.workspace"() {bytes = -1 : i64} : () -> ()
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{'host.free' expected buffer to be a buffer, got f32}}
  "host.free"(%x) : (f32) -> ()
  return
}

// -----

func.func @f() {
  %0 = "host.alloc"() : () -> !tile.buffer<f32, [4], [1]>
  "host.free"(%0) : (!tile.buffer<f32, [4], [1]>) -> ()
  // expected-error @+1 {{'host.free' expected buffer to be freed once, got two host.free}}
  "host.free"(%0) : (!tile.buffer<f32, [4], [1]>) -> ()
  return
}

// -----

// What is inside of another op reads it, too.
func.func @f() {
  %0 = "host.alloc"() : () -> !tile.buffer<f32, [4], [1]>
  // expected-error @+1 {{'host.free' expected buffer to have no use after it is freed, got 'host.native' at loc(}}
  "host.free"(%0) : (!tile.buffer<f32, [4], [1]>) -> ()
  "host.native"() ({
    "host.launch"(%0) {kernel = @k, outputs = 1, symbols = []} : (!tile.buffer<f32, [4], [1]>) -> ()
  }) : () -> ()
  return
}

// -----

func.func @f(%x: f32) {
  // expected-error @+1 {{'host.return' expected values[0] to be a buffer or an index, got f32}}
  "host.return"(%x) : (f32) -> ()
}
