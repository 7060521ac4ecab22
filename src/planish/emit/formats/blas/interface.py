"""The calling interface of a BLAS: the functions' names, and the width of its integers.

>>> from planish.ir.expr import Const, index
>>> n, x, one = BlasSize(index("n")), BlasPointer("x", (index(0),)), BlasSize(index(1))
>>> scal = RoutineCall("scal", F64, (n, BlasValue(Const(2.0, F64)), x, one))
>>> BlasInterface(prefix="scipy_").prototype(scal)
'void scipy_cblas_dscal(int, double, double *, int);'
>>> BlasInterface(suffix="64_", wide=True).symbol(scal)
'cblas_dscal64_'
"""

from __future__ import annotations

from dataclasses import dataclass

from planish.emit.c.expression import c_type
from planish.emit.formats.blas.operands import Argument, BlasFlag, BlasPointer, BlasSize, BlasValue, RoutineCall
from planish.ir.types import F32, F64

_LETTERS = {F32: "s", F64: "d"}

WORDS = """\
/* What the routines of a BLAS are told by numbers. */
enum { CblasRowMajor = 101, CblasColMajor = 102 };
enum { CblasNoTrans = 111, CblasTrans = 112 };
enum { CblasUpper = 121, CblasLower = 122, CblasNonUnit = 131, CblasUnit = 132, CblasLeft = 141, CblasRight = 142 };
"""
"""What `cblas.h` says of the words; every BLAS has the same numbers."""


@dataclass(frozen=True, slots=True)
class BlasInterface:
    """The names of a library's functions begin and end with what its build adds to those of CBLAS; `wide`: its integers
    have 64 bits."""

    prefix: str = ""
    suffix: str = ""
    wide: bool = False

    def named(self, function: str) -> str:
        """The library's name of a function of CBLAS ("ddot")."""
        return f"{self.prefix}cblas_{function}{self.suffix}"

    def symbol(self, call: RoutineCall) -> str:
        """The name of the function that is called."""
        return self.named(_LETTERS[call.type] + call.function)

    def prototype(self, call: RoutineCall) -> str:
        """The function's declaration: routines write to the last array, unless they return a number."""
        pointers = [x for x in call.arguments if isinstance(x, BlasPointer)]
        written = pointers[-1] if call.result is None else None
        types = [self._type(x, call, x is written) for x in call.arguments]
        result = "void" if call.result is None else c_type(call.type)
        return f"{result} {self.symbol(call)}({', '.join(types)});"

    def _type(self, argument: Argument, call: RoutineCall, written: bool) -> str:
        match argument:
            case BlasFlag():
                return "int"
            case BlasSize():
                return "int64_t" if self.wide else "int"
            case BlasValue():
                return c_type(call.type)
            case BlasPointer():
                return f"{'' if written else 'const '}{c_type(call.type)} *"
