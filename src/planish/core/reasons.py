"""Every reason that a remark gives, by its id: what it means, and what the user can change.

>>> help_for("scop-jump").partition(":")[0], help_for("register-promote")
('test a condition around the statements instead', '')
>>> meaning_of("schedule-maxfuse") == meaning_of("schedule-fused")
True
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from planish.core.done_remarks import DONE
from planish.core.former_names import current_code


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something stays as it is: the remark's id, what that says, and what to change in order to get it."""

    id: str
    meaning: str
    help: str


_NOTHING = "nothing needs to change: "

REASONS = (
    # The C front-end: what is no static control part.
    Reason(
        "c-include",
        "a header was not found",
        "give its folder with -I DIR; names that it would define are unknown until then",
    ),
    Reason(
        "c-macro", "a macro of the file holds a nest, and is written out in the drop-in",
        "nothing needs to change: lines keep their numbers",
    ),
    Reason(
        "c-inline", "a function of another file is a part of a nest: the drop-in holds while that file is as it was",
        "nothing needs to change: build this file again when that one changes, as --depfile tells make",
    ),
    Reason(
        "c-ring", "a loop over a ring buffer is cut where its subscripts go round, and is written so in the drop-in",
        "nothing needs to change: lines keep their numbers",
    ),
    Reason(
        "scop-flags",
        "a function's text, or what it names, depends on macros that the compiler's flags decide, as `__AVX2__`",
        "put the loop into a function whose text asks no such macro, or ask a macro of your own, given with -D NAME",
    ),
    Reason("c-type", "no header declares a type", "give the folder of the header that does with -I DIR, or declare it"),
    Reason(
        "scop-affine",
        "a subscript, bound or condition is no sum of loop variables and sizes",
        "write it with loop variables times constants or sizes, as in A[i*lda + j], and keep sizes fixed inside",
    ),
    Reason(
        "scop-data",
        "a subscript, bound or condition depends on values that are read from memory or computed",
        "put what does not need these values into a nest of its own, before or behind this one",
    ),
    Reason(
        "scop-division",
        "an index is divided by, or taken modulo, what may be negative, zero, or no constant",
        "divide by positive constants only, and only what is never negative: let the loop count upwards from 0",
    ),
    Reason(
        "scop-wrap",
        "unsigned arithmetic in an index may wrap around",
        "use a signed type (int, long, ptrdiff_t) for what stands in subscripts and bounds, or write `i + 1 < n` for "
        "`i < n - 1`",
    ),
    Reason(
        "scop-narrow",
        "an index is converted to a narrower type",
        "declare counters and sizes with one type, at least as wide as int",
    ),
    Reason(
        "scop-array",
        "an array is declared with unknown extents, or with values",
        "write the extents, as in double A[n][m]; fill local arrays in a loop",
    ),
    Reason(
        "scop-assertion",
        "an assertion stands in the nest, which has to stop the program where it fails",
        "assert in front of the loops, or build with -D NDEBUG",
    ),
    Reason(
        "scop-assignment",
        "an assignment is part of an expression, or is to something that is no variable or element",
        "make each assignment a statement of its own, to a variable or an element",
    ),
    Reason(
        "scop-bound",
        "how often a loop runs is not known before it starts",
        "write `for (i = a; i < b; i += c)` with a constant c, and a, b made of sizes and outer loop variables",
    ),
    Reason(
        "scop-call",
        "a function is called that may do anything",
        "define it in the file, or give Planish the file that defines it as well (`planish build a.c b.c`), without "
        "recursion or a `return` in a loop; or move the call out of the nest",
    ),
    Reason(
        "scop-cast",
        "a pointer to one type is used as a pointer to another",
        "declare the parameter with the type of its elements",
    ),
    Reason(
        "scop-condition",
        "something that changes indices, or a loop, stands under a condition that depends on data",
        "move the condition into the loop, or assign `x = c ? a : b` to a variable instead of stepping a counter",
    ),
    Reason(
        "scop-conditional",
        "an #if group begins or ends inside of the nest",
        "put whole nests, or whole statements, between #if and #endif",
    ),
    Reason(
        "scop-empty",
        "the nest computes nothing, or only steps variables",
        _NOTHING + "compilers compute such values without a loop; leave out what nothing uses",
    ),
    Reason(
        "scop-exit",
        "something that is set inside of the nest is needed behind it in a way that cannot be restored",
        "declare what is only used inside of the nest inside of it",
    ),
    Reason(
        "scop-expression",
        "an operator or expression that kernels do not have",
        "write it with + - * / %, comparisons, shifts and bits of integers, ?: and the functions of math.h",
    ),
    Reason(
        "scop-jump",
        "control leaves the nest, or jumps inside of it",
        "test a condition around the statements instead: no goto, no return or break inside of loops",
    ),
    Reason(
        "scop-limit", "the polyhedral library gave up", "split the nest: fewer statements, conditions or loops at once"
    ),
    Reason("scop-literal", "a literal is no number of a type that kernels have", "write it as a plain number"),
    Reason(
        "scop-loop", "a loop does not count", "write it as `for (i = a; i < b; i++)`, with nothing else that ends it"
    ),
    Reason(
        "scop-macro",
        "the text comes out of a macro, whose place in the file could not be replaced",
        "write the loops out, or make the macro a static function",
    ),
    Reason(
        "scop-name",
        "a function that is called uses a variable of the file whose name means something else where the nest stands",
        "rename the parameter or the local variable that hides it",
    ),
    Reason(
        "scop-pragma",
        "a pragma in front of the loop asks for it as it is written",
        "leave out the pragma: a nest in lanes needs none, and `--threads N` makes threads",
    ),
    Reason(
        "scop-pointer",
        "an address is used in a way that hides which array it is in, or where",
        "write elements with subscripts of the arrays that are passed: a[i*n + j]",
    ),
    Reason(
        "scop-short",
        "a few iterations, in each one of a loop around them that stays as written",
        "let the loop around it be one that Planish reads: its own remark says what to change",
    ),
    Reason("scop-statement", "a statement that kernels do not have", "use assignments, if, and for"),
    Reason("scop-static", "a static variable keeps its value from call to call", "pass it as a pointer parameter"),
    Reason(
        "scop-struct",
        "a structure is used in the nest otherwise than by numbers in it that nothing can change meanwhile",
        "copy the member to a local variable before the nest, or pass it as a parameter",
    ),
    Reason(
        "scop-syntax", "a function could not be read", "write it in standard C; the rest of the file is read without it"
    ),
    Reason(
        "scop-type",
        "a type that kernels do not have: long double, a structure, volatile",
        "use integers up to 64 bits, float or double",
    ),
    Reason(
        "scop-unknown", "a name is not declared where it is used",
        "declare it in front of the function, or include its header, whose folder -I DIR gives",
    ),
    # Schedules and their search.
    Reason(
        "analysis-limit",
        "a pass over a function or a nest does not end within its operations",
        "split the function or the nest into several, and write subscripts as rows and columns: A[i*lda + j]",
    ),
    Reason(
        "analysis-depth",
        "a function is nested too deep to be analysed",
        "split long expressions, and chains of else-if, into several statements or functions",
    ),
    Reason(
        "analysis-time",
        "the analysis of a function takes more of the processor's time than it may",
        "split the function into several, or build it with --no-measure, which makes fewer versions",
    ),
    Reason(
        "analysis-wait",
        "the analysis of a function, with what it waits for, takes more time on the clock than it may",
        "build it with --no-measure or smaller --size, by a compiler that ends, on a machine with less to do",
    ),
    Reason(
        "analysis-killed",
        "the process that analyses a function was killed by another one, as the system does where memory is short",
        "free memory, or build fewer functions at a time (--function)",
    ),
    Reason(
        "analysis-crash",
        "the process that analyses a function crashed: a bug in Planish",
        "please report it with this file; the other functions are built all the same",
    ),
    Reason(
        "schedule-none",
        "no legal schedule but the written one was found within the bounds of the search",
        "a script of steps may order the nest by hand: planish build --script FILE",
    ),
    Reason(
        "schedule-gain",
        "without the clock: the loops found promise no more than what a C compiler makes of those that are there",
        "build it without --no-measure, so that versions are timed; --size N=1000,M=… gives the sizes that matter",
    ),
    Reason(
        "fft-radix",
        "the stages of a transform are not merged into one of higher radix",
        _NOTHING + "each stage is built on its own",
    ),
    Reason(
        "panels",
        "a factorisation by columns is not done by panels of them",
        "write it as docs/dense.md does, with one loop over columns around all others",
    ),
    Reason(
        "histogram-private", "a histogram has no private copies of its bins",
        "count in int or unsigned, in bins that are set before",
    ),  # fmt: skip
    Reason("emit-refused", "a version has no C of its own here", "pass the sizes of arrays, or declare them: A[n][m]"),
    Reason(
        "guard",
        "the new nest runs only where this holds; else the original does",
        "declare pointers that never overlap with `restrict`, and sizes that hold as constants",
    ),
    # Operations.
    Reason("raise", "what no operation of the library is", "docs/raising.md lists the forms that are recognised"),
    Reason(
        "raise-floats", "the library's kernels add in another order than --fp allows", "build with --fp reassociate"
    ),
    Reason(
        "raise-loops",
        "an operation runs as loops and not by a kernel of the library",
        _NOTHING + "the loops are scheduled like all others",
    ),
    Reason(
        "raise-none", "no version calls kernels of the library", "docs/raising.md lists the forms that are recognised"
    ),
    Reason(
        "strategy-none",
        "a strategy could not look at the nest",
        "nothing needs to change: the other strategies were tried; `planish explain FILE` lists what they made",
    ),
    Reason(
        "vliw-lower",
        "a VLIW machine has no operations for a nest, or not in these lanes",
        "`planish isa list --isa MACHINE` shows what there is; the remark says what is missing, and where",
    ),
    Reason(
        "vliw-overlap",
        "packets take arrays to be apart, where the text does not say so",
        "declare the parameters `restrict` where that is so; never call it with arrays that overlap",
    ),
    Reason(
        "vliw-pack",
        "a stream of operations does not become packets",
        _NOTHING + "smaller tiles were tried as well",
    ),
    Reason(
        "vliw-saturation",
        "a small nest was written out, and compared with its loops",
        "nothing needs to change: what takes fewer cycles was kept",
    ),
    Reason(
        "vliw-strips",
        "a nest was made of selected instructions, and compared with its loops",
        "nothing needs to change: what takes fewer cycles was kept",
    ),
    Reason(
        "device-launch",
        "a mapped nest cannot be launched on a GPU",
        "nothing needs to change: other orders of its loops were tried; the remark says what stands in the way",
    ),
    Reason(
        "device-serial",
        "a nest stays on the host: what runs most often is not independent",
        "write the algorithm with independent iterations; `planish explain --target GPU` shows what was tried",
    ),
    Reason(
        "map-refused",
        "a way to map a nest to blocks and threads is not for this nest",
        "nothing needs to change: another way was taken",
    ),
    Reason(
        "map-serial",
        "a part of a nest runs in one thread of a GPU",
        "move what is sequential out of the function, or write it with independent iterations",
    ),
    Reason(
        "time-tiles",
        "repeated sweeps run one by one on a GPU",
        "let each sweep assign one array from the one that the sweep before it assigns, at constant distances",
    ),
    Reason(
        "select-none",
        "no instructions are selected for strips of a nest of integers",
        "nothing needs to change: the other strategies were tried; `planish select FILE` shows what is selected",
    ),
    Reason(
        "raise-nothing", "nothing in the nest is an operation", "docs/raising.md lists the forms that are recognised"
    ),
    Reason(
        "blas-refused", "a nest does not call the BLAS", "docs/blas.md lists what is called, and with which layouts"
    ),
    Reason("algebra-chain", "the order of a chain of products stays", "give typical sizes with --size N=…"),
    Reason(
        "im2col",
        "a convolution does not become a matrix product",
        _NOTHING + "it runs as loops, or by a kernel of its own",
    ),
    Reason("algebra-cse", "a common subexpression stays", "store the common part in an array of its own"),
    Reason(
        "algebra-contraction",
        "a contraction does not become a matrix product",
        "order the dimensions so that those that are summed over are next to each other",
    ),
    Reason("algebra-dce", "a dead result is computed all the same", "make the array a local one of the function"),
    Reason(
        "algebra-epilogue",
        "elementwise operations on a result stay a pass of their own",
        "do it directly behind the operation, over the same elements",
    ),
    Reason("algebra-forward", "a copy stays", "read the original array in place of the copy"),
    Reason("algebra-identity", "an operation stays that changes nothing", "leave it out in the source"),
    Reason(
        "algebra-licm",
        "loop-invariant operations stay inside of a loop",
        "move what does not depend on the loop out of it",
    ),
    Reason("algebra-stopped", "the rules were stopped before none applied any more", "split the function into parts"),
    Reason("algebra-store", "an intermediate array stays", "make it of the type of what is stored in the end"),
    Reason(
        "algebra-symmetric",
        "both triangles of a symmetric product are computed",
        _NOTHING + "the product runs by the library's kernel",
    ),
    # Checks and times.
    Reason(
        "verify-compile", "a version does not compile", "see the compiler's message; --cc NAME takes another compiler"
    ),
    Reason(
        "verify-emulator", "nothing runs the target's code here", "install the emulator, or build on such a machine"
    ),
    Reason(
        "verify-exercised",
        "in no calls that could be made up, or in one only, did the new code run and change anything",
        "where numbers decide, --size NAME=VALUE, or call it in the file with these; else put the nest, without the "
        "conditions around it, into a function of its own",
    ),
    Reason(
        "verify-meaning",
        "the C that was made of a kernel is not compared with what the kernel means",
        "versions are compared with that C all the same; compare a call with the plain function, or with NumPy",
    ),
    Reason(
        "verify-none",
        "the original crashes or does not end with all inputs that were made up",
        "give sizes that it works with: --size N=1000,M=…",
    ),
    Reason(
        "verify-order",
        "a version computes floats that differ more from the original's than sums in another order do",
        "build with --fp strict where sums must keep their order; else please report it",
    ),
    Reason(
        "verify-time",
        "a version's call, or the function's own, takes too long for a check: the limit is some seconds a call",
        "where the function takes seconds by itself, put its loops into one that does not wait; else report it",
    ),
    Reason(
        "verify-result",
        "a version computes something else than the original, so that it is not used",
        "please report it",
    ),
    Reason(
        "verify-signature",
        "the function cannot be called for a check",
        "declare each parameter in the parentheses, with a name and a type that the file knows",
    ),
    Reason(
        "verify-targets",
        "a version for one of several targets is not right, or not seen to run, beside those for the others",
        "build for that target by itself; please report it",
    ),
    Reason(
        "verify-unseen",
        "the nest changes a variable of the file that no check compares",
        "declare it as a number, or an array of numbers whose length is a constant; or pass it as a parameter",
    ),
    Reason("verify-type", "the compiler does not know a type of the file", "choose one that does with --cc NAME"),
    Reason(
        "clock",
        "the best version is slower in a call that was timed, or faster in none of several; or it could not be timed",
        "give all sizes with --size N=1000,M=…: as fast is enough in one call; --no-measure takes the best guess",
    ),
    Reason(
        "tuned-stale",
        "what tuning, or a record of it, chose is not made of the nest any more",
        "tune the file again: strategies have changed since",
    ),
    # Loops from schedules.
    Reason("astgen-separate", "loops are not separated as far as the option asks", "ask for it in fewer dimensions"),
    Reason("astgen-unroll", "a loop is not written out as the option asks", "unroll loops with few iterations only"),
)

_REASONS = {reason.id: reason for reason in REASONS}


LOSSES: Mapping[Literal["processor", "wall", "depth", "killed", "crash"], str] = {
    "processor": "analysis-time", "wall": "analysis-wait", "depth": "analysis-depth", "killed": "analysis-killed",
    "crash": "analysis-crash",
}  # fmt: skip
"""The ids of functions of which nothing is known since their analysis did not come to its end, by what ended it."""


def help_for(id: str) -> str:
    """What the user can change about a refusal; empty for an id that is not a reason."""
    id = current_code(id)
    return _REASONS[id].help if id in _REASONS else ""


def meaning_of(id: str) -> str:
    """What a remark's id means, where it refuses something or else where it says what was done; KeyError if unknown."""
    id = current_code(id)
    return _REASONS[id].meaning if id in _REASONS else DONE[id]
