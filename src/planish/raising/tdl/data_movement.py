"""Data-movement statements as operations: transpose, reshape, copy.

>>> from planish.ir.text.printer import print_kernel
>>> from planish.ir.types import F64
>>> made = move("reshape", ("f", "b"), ("a", "c", "b"), {"f": ("a", "c")}, F64)
>>> print(print_kernel(made.definition), end="")
kernel reshape(na, nc, nb; T: f64[na * nc, nb], S: f64[na, nc, nb])
{
  for a in 0 .. na {
    for c in 0 .. nc {
      for b in 0 .. nb {
        T[a * nc + c, b] = S[a, c, b]
      }
    }
  }
}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planish.ir.expr import Expr, Load, index
from planish.ir.index.polynomial import add, mul
from planish.ir.nest import Array, Assign, Block, For, Kernel, Stmt
from planish.ir.types import Type
from planish.raising.operation import Operation

Groups = Mapping[str, tuple[str, ...]]
TARGET, SOURCE = "T", "S"
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def move(kind: str, target: Sequence[str], source: Sequence[str], groups: Groups, element: Type) -> Operation:
    """`T(target) = S(source)`, where some of the indices stand for several others."""
    flat = flatten(target, groups)
    at = {x: _place(groups.get(x, (x,))) for x in (*target, *source)}
    sizes = {x: _size(groups.get(x, (x,))) for x in (*target, *source)}
    left, right = (tuple(at[x] for x in side) for side in (target, source))
    body: Stmt = Assign(TARGET, left, Load(SOURCE, right, element))
    for name in reversed(flat):
        body = For(name, index(0), index(f"n{name}"), 1, Block((body,)))
    arrays = tuple(
        Array(name, element, tuple(sizes[x] for x in side)) for name, side in ((TARGET, target), (SOURCE, source))
    )
    kernel = Kernel(kind, tuple(f"n{x}" for x in flat), (), arrays, Block((body,)))
    return Operation(kind, kernel, "" if kind == "reshape" else _einsum(target, source))


def flatten(indices: Sequence[str], groups: Groups) -> list[str]:
    """The indices with those that stand for several taken apart."""
    return [member for x in indices for member in groups.get(x, (x,))]


def _place(members: Sequence[str]) -> Expr:
    """The place of an element along a dimension of which several indices choose one; the last runs fastest."""
    out: Expr = index(0)
    for x in members:
        out = add(mul(out, index(f"n{x}")), index(x))
    return out


def _size(members: Sequence[str]) -> Expr:
    out: Expr = index(1)
    for x in members:
        out = mul(out, index(f"n{x}"))
    return out


def _einsum(target: Sequence[str], source: Sequence[str]) -> str:
    letters = dict(zip(source, _LETTERS, strict=False))
    return f"{''.join(letters[x] for x in source)}->{''.join(letters[x] for x in target)}"
