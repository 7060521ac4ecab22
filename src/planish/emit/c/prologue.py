"""The prologue of generated functions: headers and small helper functions, each written once.

>>> print(emit_prologue(["static void f(int64_t *A) { A[0] = planish_min(A[1], 3); }"]))
#include <stddef.h>
#include <stdint.h>
<BLANKLINE>
static inline int64_t planish_min(int64_t a, int64_t b) { return a < b ? a : b; }
<BLANKLINE>
static void f(int64_t *A) { A[0] = planish_min(A[1], 3); }
<BLANKLINE>
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from planish.emit.c.cases import UNKNOWN
from planish.emit.c.compiler_attributes import USUAL, CompilerSettings
from planish.emit.c.expression import c_type, helper_suffix
from planish.emit.c.partial_sums import REDUCE, REDUCE_EACH
from planish.emit.c.pragmas import LOOKED_UP, ONE_BY_ONE
from planish.emit.idioms.lane_sums import HALVING, LANES, STRIP, SUM, SUMS
from planish.emit.idioms.math_functions import LANE_FUNCTIONS
from planish.emit.idioms.running_best import SELDOM
from planish.ir.expr import PURE_FUNCTIONS
from planish.ir.types import ALL_TYPES, F32, F64, I32, I64, Type

_ALLOCATE = """\
/* A block whose address is a multiple of 64; NULL where there is no memory. planish_release frees it. */
static inline void *planish_allocate(size_t bytes)
{
  if (bytes > SIZE_MAX / 2) {
    return NULL;
  }
  void *const block = malloc(bytes + 64 + sizeof(void *));
  if (block == NULL) {
    return NULL;
  }
  const uintptr_t first = (uintptr_t)block + sizeof(void *);
  void **const aligned = (void **)(first + (64 - first % 64) % 64);
  aligned[-1] = block;
  return aligned;
}"""

_RELEASE = """\
static inline void planish_release(void *aligned) { free(aligned == NULL ? NULL : ((void **)aligned)[-1]); }"""

_UNDIRECTED = """\
/* Whether loops run as they are written, whatever directives tell of threads and devices. */
#if defined(_OPENMP) || defined(_OPENACC)
#define planish_undirected 0
#else
#define planish_undirected 1
#endif"""

_BORROW = """\
#ifdef __linux__
#include <sys/mman.h>
#endif

/* A block like those of planish_allocate, which the thread keeps for later when it is given back. Apart, because clang
 * takes registers from xmm16 on to be as they were when the thread's own memory has been found, which may use them. */
static planish_local struct { void *block; size_t bytes; int lent; } planish_kept[32];

static planish_apart void *planish_borrow(size_t bytes)
{
  const size_t page = (size_t)1 << 21;
  int slot = -1;
  bytes += bytes == 0; /* No memory at all is not what is asked for. */
  for (int i = 0; i < 32; i++) {
    if (planish_kept[i].lent) {
      continue;
    }
    if (planish_kept[i].bytes >= bytes) { /* Mostly the first one: small products are over in a microsecond. */
      planish_kept[i].lent = 1;
      return planish_kept[i].block;
    }
    if (slot < 0 || planish_kept[slot].bytes < planish_kept[i].bytes) {
      slot = i;
    }
  }
  if (slot < 0 || bytes > (size_t)64 << 20) {
    return planish_allocate(bytes); /* Not kept: the rest of the program may need as much. */
  }
  free(planish_kept[slot].block);
  const size_t whole = (bytes + page - 1) / page * page;
  planish_kept[slot].block = aligned_alloc(page, whole);
  planish_kept[slot].bytes = planish_kept[slot].block == NULL ? 0 : whole;
#ifdef MADV_HUGEPAGE
  if (planish_kept[slot].block != NULL) {
    madvise(planish_kept[slot].block, whole, MADV_HUGEPAGE); /* Only a wish: large pages are found in less time. */
  }
#endif
  planish_kept[slot].lent = planish_kept[slot].block != NULL;
  return planish_kept[slot].block;
}"""

_RETURN = """\
static planish_apart void planish_return(void *block)
{
  for (int i = 0; i < 32; i++) {
    if (planish_kept[i].block == block) {
      planish_kept[i].lent = 0;
      return;
    }
  }
  planish_release(block);
}"""

_LOCAL = """\
#ifdef __cplusplus
#define planish_local thread_local
#else
#define planish_local _Thread_local
#endif"""

_RESTRICT = """\
#if !defined(__cplusplus)
#define planish_restrict restrict
#elif defined(__GNUC__) || defined(_MSC_VER)
#define planish_restrict __restrict
#else
#define planish_restrict
#endif"""

_ALIGNED = """\
#ifdef __cplusplus
#define planish_aligned(bytes) alignas(bytes)
#else
#define planish_aligned(bytes) _Alignas(bytes)
#endif"""

_SPARE = """\
/* Not every file that includes this calls all of it. */
#if defined(__GNUC__)
#define planish_spare __attribute__((unused))
#else
#define planish_spare
#endif"""

_APART = """\
#if defined(__GNUC__)
#define planish_apart __attribute__((noinline))
#else
#define planish_apart
#endif"""

_INSIDE = """\
#if defined(__GNUC__)
#define planish_inside static inline __attribute__((always_inline))
#else
#define planish_inside static inline
#endif"""

_PART = """\
/* A function of few operations, which becomes a part of what calls it: as long as a call of it takes. */
#if defined(__GNUC__) && !defined(planish_told)
#define planish_part static inline __attribute__((always_inline))
#else
#define planish_part static
#endif"""

_FLOORDIV = """\
/* a / b rounded down; b is not zero. */
static inline int64_t planish_floordiv(int64_t a, int64_t b)
{
  return a / b - (b > 0 ? a % b < 0 : a % b > 0);
}"""

_MOD = """\
/* What a / b rounded down leaves; b is not zero. */
static inline int64_t planish_mod(int64_t a, int64_t b)
{
  return a % b + ((b > 0 ? a % b < 0 : a % b > 0) ? b : 0);
}"""


_UNALIGNED = """\
/* A vector at any address. Volatile, since clang 19 makes of several such loads aligned ones, some of which lie behind
 * the last element. */
typedef volatile HVX_Vector planish_unaligned __attribute__((aligned(1), may_alias));"""

_WORD = """\
/* Four bytes of memory as a number. */
static inline int32_t planish_word(const void *from)
{
  int32_t word;
  memcpy(&word, from, sizeof word);
  return word;
}"""

_KEEP = """\
/* gcc would load the value anew from memory at each use, which costs more than it saves; clang knows better. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)
#define planish_keep(x) __asm__("" : "+v"(x))
#elif defined(__GNUC__) && !defined(__clang__) && defined(__aarch64__)
#define planish_keep(x) __asm__("" : "+w"(x))
#else
#define planish_keep(x) ((void)0)
#endif"""


def _hidden(type: Type) -> str:
    """The function that returns what it gets, of which clang knows nothing then."""
    return f"""\
/* A number of whose value clang knows nothing. */
static inline {c_type(type)} planish_hidden_{type}({c_type(type)} x)
{{
#if defined(__clang__) && defined(__x86_64__)
  __asm__("" : "+x"(x));
#endif
  return x;
}}"""


_PROMISE = """\
/* What every call keeps: the compiler may count on it. */
#if defined(__GNUC__)
#define planish_promise(x) do { if (!(x)) __builtin_unreachable(); } while (0)
#else
#define planish_promise(x) ((void)0)
#endif"""

_ROUNDED = """\
/* A product that is rounded by itself: gcc 12 would round it once with a sum and a difference that stand side by side,
 * even where contraction is off. */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#define planish_rounded(x) __builtin_assoc_barrier(x)
#else
#define planish_rounded(x) (x)
#endif"""

_BF16 = """\
/* The bits of a bf16 value: also of one that is a number of a type of its own to the compiler. */
#if defined(__GNUC__)
typedef uint16_t __attribute__((__may_alias__)) planish_bf16;
#else
typedef uint16_t planish_bf16;
#endif"""

_ADDRESS = """\
/* An address as an integer, in memory that holds addresses of any type. */
#if defined(__GNUC__)
typedef uint64_t __attribute__((__may_alias__)) planish_address;
#else
typedef uint64_t planish_address;
#endif"""

_FROM_BF16 = """\
/* The value whose bf16 bits these are: the upper half of a float. */
static inline float planish_from_bf16(uint16_t bits)
{
  const uint32_t word = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &word, sizeof value);
  return value;
}"""

_TO_BF16 = """\
/* The bits of the nearest bf16 value, ties to even. */
static inline uint16_t planish_to_bf16(float value)
{
  uint32_t word;
  memcpy(&word, &value, sizeof word);
  if (value != value) {
    return (uint16_t)(word >> 16 | 64); /* What is no number stays none. */
  }
  return (uint16_t)((word + 0x7fff + (word >> 16 & 1)) >> 16);
}"""

_FITS = """\
/* Whether a size is at least what is asked for, and no larger than the BLAS can be told. */
static inline int planish_fits(ptrdiff_t size, ptrdiff_t least) { return size >= least && size <= INT32_MAX; }"""

_FITS_WIDE = """\
/* Whether a size is at least what is asked for. */
static inline int planish_fits_wide(ptrdiff_t size, ptrdiff_t least) { return size >= least; }"""

_MANY = """\
/* Whether there are so many. Were compilers to know that there are not, they would write the loop for few out, or make
 * fewer lanes of it. */
static inline int planish_many(int64_t count, int64_t least)
{
  int many = count >= least;
#if defined(__GNUC__)
  __asm__("" : "+r"(many));
#endif
  return many;
}"""

_PRODUCT = """\
/* A product of sizes; INT64_MIN where it is, or one of them, larger than any size may be. */
static inline int64_t planish_product(int64_t a, int64_t b)
{
  const int64_t most = (int64_t)1 << 56;
  int64_t product;
  if (a < -most || a > most || b < -most || b > most) {
    return INT64_MIN;
  }
#if defined(__GNUC__)
  if (__builtin_mul_overflow(a, b, &product)) {
    return INT64_MIN;
  }
#else
  if (b != 0 && (a < 0 ? -a : a) > most / (b < 0 ? -b : b)) {
    return INT64_MIN;
  }
  product = a * b;
#endif
  return product < -most || product > most ? INT64_MIN : product;
}"""

_UNTIL_LINE = """\
/* How many pieces of so many bytes lie before the next line of the cache, at most `most`; `most` where no piece begins
 * with one. */
static inline ptrdiff_t planish_until_line(const void *first, size_t piece, ptrdiff_t most)
{
  const size_t bytes = (64 - (uintptr_t)first % 64) % 64;
  return bytes % piece != 0 || (ptrdiff_t)(bytes / piece) > most ? most : (ptrdiff_t)(bytes / piece);
}"""

_DISJOINT = """\
/* Whether two ranges of bytes have none in common. */
static inline int planish_disjoint(const void *a, int64_t a_bytes, const void *b, int64_t b_bytes)
{
  return (uintptr_t)a + (uintptr_t)a_bytes <= (uintptr_t)b || (uintptr_t)b + (uintptr_t)b_bytes <= (uintptr_t)a;
}"""


def _function(name: str, type: Type, result: str) -> str:
    spelt = c_type(type)
    return f"static inline {spelt} {name}({spelt} a, {spelt} b) {{ return {result}; }}"


def _helpers() -> dict[str, str]:
    """Every helper function by its name."""
    out = {
        "planish_apart": _APART,
        "planish_local": _LOCAL,
        "planish_restrict": _RESTRICT,
        "planish_aligned": _ALIGNED,
        "planish_spare": _SPARE,
        "planish_floordiv": _FLOORDIV,
        "planish_mod": _MOD,
        "planish_allocate": _ALLOCATE,
        "planish_release": _RELEASE,
        "planish_borrow": _BORROW,
        "planish_return": _RETURN,
        "planish_inside": _INSIDE,
        "planish_part": _PART,
        "planish_word": _WORD,
        "planish_unaligned": _UNALIGNED,
        "planish_keep": _KEEP,
        "planish_hidden_f32": _hidden(F32),
        "planish_hidden_f64": _hidden(F64),
        "planish_promise": _PROMISE,
        "planish_rounded": _ROUNDED,
        "planish_bf16": _BF16,
        "planish_address": _ADDRESS,
        "planish_from_bf16": _FROM_BF16,
        "planish_to_bf16": _TO_BF16,
        "planish_fits": _FITS,
        "planish_fits_wide": _FITS_WIDE,
        "planish_disjoint": _DISJOINT,
        "planish_undirected": _UNDIRECTED,
        "planish_until_line": _UNTIL_LINE,
        "planish_lanes": LANES,
        "planish_strip": STRIP,
        "planish_sum": SUM,
        "planish_unknown": UNKNOWN,
        "planish_many": _MANY,
        "planish_product": _PRODUCT,
        "planish_seldom": SELDOM,
        "planish_looked_up": LOOKED_UP,
        "planish_one_by_one": ONE_BY_ONE,
        "planish_reduce": REDUCE,
        "planish_reduce_each": REDUCE_EACH,
        **LANE_FUNCTIONS,
    }
    for type in ALL_TYPES:
        if type.is_int or type.kind == "float":
            for op, sign in (("min", "<"), ("max", ">")):
                name = f"planish_{op}{helper_suffix(type)}"
                out[name] = _function(name, type, f"a {sign} b ? a : b")
    # Sums in another order may overflow on the way where the original's did not; unsigned arithmetic wraps around.
    for type in (I32, I64):
        for op, sign in (("add", "+"), ("sub", "-"), ("mul", "*")):
            name = f"planish_wrap_{op}_{type}"
            out[name] = _function(name, type, f"({c_type(type)})((u{c_type(type)})a {sign} (u{c_type(type)})b)")
    return {**out, **HALVING, **SUMS}


HELPERS = _helpers()

_BEFORE = {"hvx_hexagon_protos.h": ("hexagon_types.h",)}
"""Headers that want others before them."""

_LOOP = re.compile(r"\bfor \(|\bplanish_reduce(?:_each)?\(")
_CALLED = "|".join(f"{name}f?" for name in PURE_FUNCTIONS if name != "abs")
_MATH = re.compile(rf"\b(?:{_CALLED})\(|\bINFINITY\b|\bNAN\b")

def emit_prologue(
    functions: Sequence[str], calls: Sequence[str] = (), headers: Sequence[str] = (),
    settings: CompilerSettings | None = USUAL,
) -> str:  # fmt: skip
    """Headers, the helper functions in use, and the functions: what stands before the user's own functions.

    `calls` are texts further down which use helpers as well, in the conditions under which they call the functions;
    `headers` are those that instructions need; `settings` hold for the functions and their helpers alone; None: the
    functions are the user's own.
    """
    text = "\n".join(functions)
    called = _helpers_of("\n".join(calls))
    used = [name for name in _helpers_of(text) if name not in called]
    sources = [HELPERS[name] for name in (*called, *used)]
    names = ["stddef.h", "stdint.h"]
    if any(map(_MATH.search, (text, *sources))):
        names.insert(0, "math.h")
    if "planish_allocate" in (*called, *used) or re.search(r"\b(?:ll)?abs\(", text):
        names.append("stdlib.h")
    if any(re.search(r"\bmem\w+\(", x) for x in sources):
        names.append("string.h")
    names += [x for name in headers for x in (*_BEFORE.get(name, ()), name) if x not in names]
    includes = [name if name.startswith('"') else f"<{name}>" for name in names]
    # Includes and what the user's functions use stand outside of the settings: these may name more than there is.
    parts = ["\n".join(f"#include {x}" for x in includes) + "\n"]
    if called:
        parts.append("\n".join(HELPERS[x] for x in called) + "\n")
    inside = ["\n".join(HELPERS[x] for x in used) + "\n"] if used else []
    body = "\n".join([*inside, "\n".join(function.rstrip("\n") + "\n" for function in functions)])
    if settings is not None and settings.guard:
        parts.append(settings.guard)
    if settings is not None and (settings.guard or settings.floats == "strict" or _LOOP.search(text)):
        body = f"{settings.opening}\n{body}\n{settings.closing}"
    parts.append(body)
    return "\n".join(parts)


def _helpers_of(text: str) -> list[str]:
    """The helpers that a text uses, and those that they use, in the order in which they are to stand."""
    used: set[str] = set()
    left = [text]
    while left:
        found = {name for name in re.findall(r"\bplanish_\w+", left.pop()) if name in HELPERS} - used
        used |= found
        left += [HELPERS[name] for name in found]
    return [name for name in HELPERS if name in used]
