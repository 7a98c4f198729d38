"""Kernels in Triton IR, written by hand."""

ADD = """
module {
  tt.func public @add_0(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %out: !tt.ptr<f32>,
                        %n: i64) {
    %block = arith.constant 1024 : i64
    %program32 = tt.get_program_id x : i32
    %program = arith.extsi %program32 : i32 to i64
    %start = arith.muli %program, %block : i64
    %lanes32 = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>
    %lanes = arith.extsi %lanes32 : tensor<1024xi32> to tensor<1024xi64>
    %starts = tt.splat %start : i64 -> tensor<1024xi64>
    %i = arith.addi %starts, %lanes : tensor<1024xi64>
    %limit = tt.splat %n : i64 -> tensor<1024xi64>
    %inside = arith.cmpi slt, %i, %limit : tensor<1024xi64>
    %xs = tt.splat %x : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
    %xp = tt.addptr %xs, %i : tensor<1024x!tt.ptr<f32>>, tensor<1024xi64>
    %xv = tt.load %xp, %inside : tensor<1024x!tt.ptr<f32>>
    %ys = tt.splat %y : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
    %yp = tt.addptr %ys, %i : tensor<1024x!tt.ptr<f32>>, tensor<1024xi64>
    %yv = tt.load %yp, %inside : tensor<1024x!tt.ptr<f32>>
    %sum = arith.addf %xv, %yv : tensor<1024xf32>
    %os = tt.splat %out : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
    %op = tt.addptr %os, %i : tensor<1024x!tt.ptr<f32>>, tensor<1024xi64>
    tt.store %op, %sum, %inside : tensor<1024x!tt.ptr<f32>>
    tt.return
  }
}
"""
"""out = x + y over n elements, in blocks of 1024."""
