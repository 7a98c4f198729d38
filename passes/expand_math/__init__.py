"""expand-math: mathematical functions become inlined formulas or calls.

Requires: `math` ops and `arith.remf` on floats, scalars or vectors of any rank.
Establishes: no `arith.remf`, no `math` op but processors' own (`driver.NATIVE`).

    %y = math.exp %x : vector<16xf32>        ; about 15 arith and math.fma ops
    %y = math.powf %a, %b : vector<16xf32>   ; tile.call @Sleef_powf16_u10(%a, %b)

On float32 the frequent functions are inlined; each states its maximal error, measured
against mpmath by test/passes/expand_math. Remainders are inlined on float64, too. The
other functions, and all others on float64, call Sleef (vectors) or libm (scalars); in a
function rather than a kernel by `llvm.call`.
bfloat16 and float16 are computed in float32.
It does not use approximations below 1.5 ulp, nor fast-math flags.

Read in this order: `driver` (the pass), `emitter` (how formulas are written), `rules`
(the table), one file for each family of functions, `calls`.
"""

from girih.passes.expand_math.driver import ExpandMathOptions, run

__all__ = ["ExpandMathOptions", "run"]
