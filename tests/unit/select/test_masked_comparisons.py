"""Comparisons ask of the lanes of a mask alone, where nothing else asks what they find."""

from __future__ import annotations

import pytest

from planish.select.forms.masked_comparisons import ONE, fold_masks
from planish.select.program import RegisterProgram, Value, in_order


class Masks:
    """Comparisons of rows, and their conjunctions."""

    def __init__(self, bits: int = 512, lanes: int = 64, kind: str = "epu8") -> None:
        self.program, self.bits, self.lanes, self.kind = RegisterProgram(), bits, lanes, kind

    def compare(self, first: str, second: str) -> Value:
        rows = [self.program.make("load", self.bits, (x, 0)) for x in (first, second)]
        name = f"_mm{self.bits if self.bits > 128 else ''}_cmp_{self.kind}_mask"
        return self.program.make("call", self.lanes, (name, ()), (*rows, self.program.make("scalar", 8, (8, (ONE,)))))

    def both(self, *masks: Value) -> Value:
        return self.program.make("call", self.lanes, (f"_kand_mask{max(self.lanes, 8)}", ()), masks)

    def folded(self, *roots: Value) -> list[str]:
        made = fold_masks(roots, self.program, "x86")
        return [str(x.detail[0]) for x in in_order(made.roots) if x.kind == "call"]


@pytest.mark.parametrize(("bits", "lanes", "kind"), [(512, 64, "epu8"), (256, 8, "epi32"), (128, 8, "epi16")])
def test_one_of_two_comparisons_is_masked(bits: int, lanes: int, kind: str) -> None:
    x = Masks(bits, lanes, kind)
    names = x.folded(x.both(x.compare("a", "b"), x.compare("b", "c")))
    prefix = f"_mm{bits if bits > 128 else ''}"
    assert names == [f"{prefix}_cmp_{kind}_mask", f"{prefix}_mask_cmp_{kind}_mask"]


def test_what_something_else_asks_for_stays() -> None:
    x = Masks()
    a, b = x.compare("a", "b"), x.compare("b", "c")
    assert x.folded(x.both(a, b), a, b) == ["_mm512_cmp_epu8_mask"] * 2 + ["_kand_mask64"]


def test_chains_ask_of_what_is_known_of_two_masks() -> None:
    x = Masks()
    within, more, last = x.compare("a", "b"), x.compare("b", "c"), x.compare("c", "d")
    both = x.both(within, more)
    names = x.folded(both, x.both(within, x.both(more, last)))
    assert names == ["_mm512_cmp_epu8_mask", "_mm512_mask_cmp_epu8_mask", "_mm512_mask_cmp_epu8_mask"]


def test_other_machines_have_no_such_masks() -> None:
    x = Masks()
    root = x.both(x.compare("a", "b"), x.compare("b", "c"))
    assert fold_masks([root], x.program, "arm").roots == (root,)
