module {
  llvm.func @Sleef_sinf16_u10(vector<16xf32>) -> vector<16xf32> attributes {memory_effects = #llvm.memory_effects<other = none, argMem = none, inaccessibleMem = none, errnoMem = none, targetMem0 = none, targetMem1 = none>, no_unwind, will_return}
  func.func @main(%arg0: !tile.buffer<f32, [4], [1]> {graph.name = "x"}) -> !tile.buffer<f32, [4], [1]> {
    %0 = host.alloc : !tile.buffer<f32, [4], [1]>
    host.native function @run0 {
      host.launch %arg0, %0 kernel @k0_sin_add outputs 1 symbols [] : !tile.buffer<f32, [4], [1]>
    }
    host.return %0 : !tile.buffer<f32, [4], [1]>
  }
  llvm.func internal @k0_sin_add(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: !llvm.ptr) attributes {no_inline, no_unwind, prefer_vector_width = "512"} {
    %0 = llvm.mlir.constant(dense<[true, true, true, true, false, false, false, false, false, false, false, false, false, false, false, false]> : vector<16xi1>) : vector<16xi1>
    %1 = llvm.mlir.constant(dense<0.000000e+00> : vector<16xf32>) : vector<16xf32>
    %2 = llvm.mlir.constant(dense<0.636619746> : vector<16xf32>) : vector<16xf32>
    %3 = llvm.mlir.constant(dense<0x4B400000> : vector<16xf32>) : vector<16xf32>
    %4 = llvm.mlir.constant(dense<1262485504> : vector<16xi32>) : vector<16xi32>
    %5 = llvm.mlir.constant(dense<-1.57079637> : vector<16xf32>) : vector<16xf32>
    %6 = llvm.mlir.constant(dense<-4.37113883E-8> : vector<16xf32>) : vector<16xf32>
    %7 = llvm.mlir.constant(dense<1.71512493E-15> : vector<16xf32>) : vector<16xf32>
    %8 = llvm.mlir.constant(dense<2.83724694E-6> : vector<16xf32>) : vector<16xf32>
    %9 = llvm.mlir.constant(dense<-1.98534981E-4> : vector<16xf32>) : vector<16xf32>
    %10 = llvm.mlir.constant(dense<8.333380e-03> : vector<16xf32>) : vector<16xf32>
    %11 = llvm.mlir.constant(dense<-0.166666672> : vector<16xf32>) : vector<16xf32>
    %12 = llvm.mlir.constant(dense<2.44306684E-5> : vector<16xf32>) : vector<16xf32>
    %13 = llvm.mlir.constant(dense<-0.00138873013> : vector<16xf32>) : vector<16xf32>
    %14 = llvm.mlir.constant(dense<0.0416666456> : vector<16xf32>) : vector<16xf32>
    %15 = llvm.mlir.constant(dense<5.000000e-01> : vector<16xf32>) : vector<16xf32>
    %16 = llvm.mlir.constant(dense<1.000000e+00> : vector<16xf32>) : vector<16xf32>
    %17 = llvm.mlir.constant(dense<1> : vector<16xi32>) : vector<16xi32>
    %18 = llvm.mlir.constant(dense<0> : vector<16xi32>) : vector<16xi32>
    %19 = llvm.mlir.constant(dense<2> : vector<16xi32>) : vector<16xi32>
    %20 = llvm.mlir.constant(dense<30> : vector<16xi32>) : vector<16xi32>
    %21 = llvm.mlir.constant(dense<1.22070313E-4> : vector<16xf32>) : vector<16xf32>
    %22 = llvm.mlir.constant(dense<1.000000e+05> : vector<16xf32>) : vector<16xf32>
    %23 = llvm.load %arg0 {alignment = 8 : i64} : !llvm.ptr -> !llvm.ptr
    %24 = llvm.getelementptr %arg0[1] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr
    %25 = llvm.load %24 {alignment = 8 : i64} : !llvm.ptr -> !llvm.ptr
    %26 = llvm.intr.masked.load %23, %0, %1 {alignment = 4 : i32} : (!llvm.ptr, vector<16xi1>, vector<16xf32>) -> vector<16xf32>
    %27 = llvm.intr.fma(%26, %2, %3) : (vector<16xf32>, vector<16xf32>, vector<16xf32>) -> vector<16xf32>
    %28 = llvm.bitcast %27 : vector<16xf32> to vector<16xi32>
    %29 = llvm.sub %28, %4 : vector<16xi32>
    %30 = llvm.fsub %27, %3 : vector<16xf32>
    %31 = llvm.intr.fma(%30, %5, %26) : (vector<16xf32>, vector<16xf32>, vector<16xf32>) -> vector<16xf32>
    %32 = llvm.fmul %30, %6 : vector<16xf32>
    %33 = llvm.fneg %32 : vector<16xf32>
    %34 = llvm.intr.fma(%30, %6, %33) : (vector<16xf32>, vector<16xf32>, vector<16xf32>) -> vector<16xf32>
    %35 = llvm.fsub %31, %32 : vector<16xf32>
    %36 = llvm.fsub %31, %35 : vector<16xf32>
    %37 = llvm.fsub %36, %32 : vector<16xf32>
    %38 = llvm.fsub %37, %34 : vector<16xf32>
    %39 = llvm.intr.fma(%30, %7, %38) : (vector<16xf32>, vector<16xf32>, vector<16xf32>) -> vector<16xf32>
    %40 = llvm.fmul %35, %35 : vector<16xf32>
    %41 = llvm.intr.fma(%8, %40, %9) : (vector<16xf32>, vector<16xf32>, vector<16xf32>) -> vector<16xf32>
    %42 = llvm.intr.fma(%41, %40, %10) : (vector<16xf32>, vector<16xf32>, vector<16xf32>) -> vector<16xf32>
    %43 = llvm.intr.fma(%42, %40, %11) : (vector<16xf32>, vector<16xf32>, vector<16xf32>) -> vector<16xf32>
    %44 = llvm.fmul %43, %40 : vector<16xf32>
    %45 = llvm.intr.fma(%44, %35, %39) : (vector<16xf32>, vector<16xf32>, vector<16xf32>) -> vector<16xf32>
    %46 = llvm.fadd %35, %45 : vector<16xf32>
    %47 = llvm.intr.fma(%12, %40, %13) : (vector<16xf32>, vector<16xf32>, vector<16xf32>) -> vector<16xf32>
    %48 = llvm.intr.fma(%47, %40, %14) : (vector<16xf32>, vector<16xf32>, vector<16xf32>) -> vector<16xf32>
    %49 = llvm.fmul %48, %40 : vector<16xf32>
    %50 = llvm.fmul %35, %39 : vector<16xf32>
    %51 = llvm.fneg %50 : vector<16xf32>
    %52 = llvm.intr.fma(%49, %40, %51) : (vector<16xf32>, vector<16xf32>, vector<16xf32>) -> vector<16xf32>
    %53 = llvm.fmul %40, %15 : vector<16xf32>
    %54 = llvm.fsub %16, %53 : vector<16xf32>
    %55 = llvm.fsub %16, %54 : vector<16xf32>
    %56 = llvm.fsub %55, %53 : vector<16xf32>
    %57 = llvm.fadd %56, %52 : vector<16xf32>
    %58 = llvm.fadd %54, %57 : vector<16xf32>
    %59 = llvm.and %29, %17 : vector<16xi32>
    %60 = llvm.icmp "ne" %59, %18 : vector<16xi32>
    %61 = llvm.select %60, %58, %46 : vector<16xi1>, vector<16xf32>
    %62 = llvm.and %29, %19 : vector<16xi32>
    %63 = llvm.shl %62, %20 : vector<16xi32>
    %64 = llvm.bitcast %61 : vector<16xf32> to vector<16xi32>
    %65 = llvm.xor %64, %63 : vector<16xi32>
    %66 = llvm.bitcast %65 : vector<16xi32> to vector<16xf32>
    %67 = llvm.intr.fabs(%26) : (vector<16xf32>) -> vector<16xf32>
    %68 = llvm.fcmp "olt" %67, %21 : vector<16xf32>
    %69 = llvm.select %68, %26, %66 : vector<16xi1>, vector<16xf32>
    %70 = llvm.fcmp "oge" %67, %22 : vector<16xf32>
    %71 = "llvm.intr.vector.reduce.or"(%70) : (vector<16xi1>) -> i1
    llvm.cond_br %71, ^bb1, ^bb2
  ^bb1:  // pred: ^bb0
    %72 = llvm.call @Sleef_sinf16_u10(%26) : (vector<16xf32>) -> vector<16xf32>
    %73 = llvm.select %70, %72, %69 : vector<16xi1>, vector<16xf32>
    llvm.br ^bb3(%73 : vector<16xf32>)
  ^bb2:  // pred: ^bb0
    llvm.br ^bb3(%69 : vector<16xf32>)
  ^bb3(%74: vector<16xf32>):  // 2 preds: ^bb1, ^bb2
    llvm.br ^bb4
  ^bb4:  // pred: ^bb3
    %75 = llvm.fadd %74, %16 : vector<16xf32>
    llvm.intr.masked.store %75, %25, %0 {alignment = 4 : i32} : vector<16xf32>, vector<16xi1> into !llvm.ptr
    llvm.return
  }
  llvm.func @run0(%arg0: !llvm.ptr, %arg1: !llvm.ptr, %arg2: !llvm.ptr) attributes {no_inline, no_unwind, prefer_vector_width = "512"} {
    llvm.call @k0_sin_add(%arg0, %arg1, %arg2) : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
    llvm.return
  }
}
