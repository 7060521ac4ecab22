"""The index of operations: their normal forms, computed once and kept for later processes, or ahead of time at set-up.

>>> import tempfile
>>> from planish.core.cache import Cache
>>> cache = Cache(tempfile.mkdtemp())
>>> gemv = next(x for x in load_operations(cache) if x.name == "gemv")
>>> isinstance(pattern_for(gemv), Pattern), cache.info().entries
(True, 1)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from planish.core.cache import Cache, key
from planish.core.fingerprint import stamp_contents, stamp_program
from planish.ir.nest import If, Kernel
from planish.ir.traverse import walk
from planish.poly.canonical.canonicalise import tidy
from planish.poly.canonical.copy_propagation import without_copies
from planish.poly.canonical.hoist_reduction import compute_once
from planish.poly.canonical.minmax_idioms import find_updates
from planish.poly.isl.affine import NotAffineError
from planish.poly.isl.pickles import read_sets, write_sets
from planish.poly.match.composition import normal_form
from planish.poly.match.recurrence_equations import Equations, equations_of
from planish.poly.match.sum_of_products import NoFormError
from planish.poly.match.unify import Pattern, pattern_of
from planish.raising.operation import Operation
from planish.raising.raised import Raised
from planish.raising.tdl.reader import load_tactics, tactics_by_name
from planish.raising.tdl.tactic import Tactic

_PACKAGES = ("core", "ir", "poly", "raising")
_PLACES = tuple(f"planish.{x}." for x in _PACKAGES)
"""Where the classes are of which an operation and its means consist, and all that makes them."""
_PREPARED = Path(__file__).parent.with_name("prepared")
"""Where every user of this installation finds what was made when it was set up."""


@dataclass(frozen=True, slots=True)
class Means:
    """What a definition is compared by: its normal form, or equations where it has none, or why it has neither; and the
    nest itself, in the form in which kernels are looked at, unless the normal form says all. `builders`: what its
    tactic builds it from, for one that comes with Planish."""

    pattern: Pattern | Equations | str
    nest: Kernel | None
    builders: tuple[Raised, ...] = ()


_READ: dict[Operation, Means] = {}
"""Those that another process has made. What they are is determined by the operation, so whoever asks gets the same."""


def load_operations(cache: Cache | None) -> tuple[Operation, ...]:
    """The operations of the tactics that come with Planish, in their order; with a cache, what they are compared by is
    read from there, or put there."""
    return _load(cache.root) if cache is not None else tuple(x.operation for x in load_tactics())


@lru_cache(maxsize=4)
def _load(root: Path) -> tuple[Operation, ...]:
    cache, address = Cache(root), key("operations", stamp_program())
    known = _read(cache, address)
    if known is None:
        known = _read(*_prepared_place()) or _make_all()
        cache.put(address, write_sets(known))
    _READ.update(known)
    return tuple(known)


def prepare_all() -> bool:
    """Make what operations are compared by for every user of this installation; whether that had to be done."""
    cache, address = _prepared_place()
    if cache.get(address) is not None:
        return False
    cache.clear()
    return cache.put(address, write_sets(_make_all()))


def _prepared_place() -> tuple[Cache, str]:
    return Cache(_PREPARED), key("operations", stamp_contents(*_PACKAGES))


def _read(cache: Cache, address: str) -> dict[Operation, Means] | None:
    content = cache.get(address)
    known = None if content is None else read_sets(content, _PLACES)
    return known if isinstance(known, dict) else None


def _make_all() -> dict[Operation, Means]:
    return {x.operation: _means_of_tactic(x) for x in load_tactics()}


def _means_of_tactic(tactic: Tactic) -> Means:
    return replace(means_of(tactic.operation), builders=tactic.builders)


def means_of(operation: Operation) -> Means:
    """What an operation is compared by, where sums may be done in any order."""
    return _READ.get(operation) or _make(operation)


def pattern_for(operation: Operation) -> Pattern | Equations | str:
    """The definition in its normal form, or as equations where it has none; why it has neither."""
    return means_of(operation).pattern


def operations_by_name() -> dict[str, Operation]:
    """The operations of the tactics that come with Planish, each under its name."""
    # What was read is all of them, so that no tactic need be parsed.
    return {x.name: x for x in _READ or (y.operation for y in load_tactics())}


def builders_for(operation: Operation) -> tuple[Raised, ...]:
    """What an operation can be built from, as its tactic says; nothing for one that does not come with Planish."""
    if _READ:
        return _READ[operation].builders if operation in _READ else ()
    tactic = tactics_by_name().get(operation.name)
    return tactic.builders if tactic is not None and tactic.operation == operation else ()


def nest_for(operation: Operation, reassociate: bool) -> Kernel | None:
    """The definition in the form in which kernels are looked at; None where it is one value without tests, which is
    recognised however it is written."""
    means = means_of(operation)
    return means.nest if reassociate or means.nest is None else _prepared(operation, False)


def prepare(kernel: Kernel, reassociate: bool, settled: bool = False) -> Kernel:
    """A kernel in the form in which it is looked at, with rows as of `tidy`; raises NotAffineError where it is not a
    static control part."""
    ready = compute_once(without_copies(tidy(kernel, settled)))
    return find_updates(ready) if reassociate else ready


@lru_cache(maxsize=512)
def _make(operation: Operation) -> Means:
    pattern = _make_pattern(operation.definition)
    tests = any(isinstance(x, If) for x in walk(operation.definition.body))
    return Means(pattern, None if isinstance(pattern, Pattern) and not tests else _prepared(operation, True))


def _make_pattern(definition: Kernel) -> Pattern | Equations | str:
    try:
        return pattern_of(definition, normal_form(definition))
    except (NoFormError, NotAffineError):
        try:
            return equations_of(definition)
        except (NoFormError, NotAffineError) as error:
            return str(error)


@lru_cache(maxsize=512)
def _prepared(operation: Operation, reassociate: bool) -> Kernel | None:
    try:
        return prepare(operation.definition, reassociate)
    except NotAffineError:
        return None
