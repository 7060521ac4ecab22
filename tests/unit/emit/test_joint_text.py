"""One text for several targets: what replaces something in a reading of the user's text comes to the same in it."""

from __future__ import annotations

import random

import pytest

from planish.core.span import Source, TextChange, rewrite
from planish.emit.dropin.joint_text import PatchPlace, Reading, join_readings
from planish.emit.dropin.patched_file import Patch, assemble
from planish.frontend.c.reader import read_c
from planish.frontend.c.translation_unit import CFile

LOOPS = """\
#define SUM(T) T sum_##T(int n, const T *x) { T s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }
#define ALL(k) for (i = 0; i < n; i++) a[i] = k;
#ifdef __CHAR_UNSIGNED__
SUM(int) SUM(char)
void turn(int *restrict out, const int *restrict ring, int n, int size, int start) {
  for (int i = 0; i < n; i++) out[i] = ring[(start + i) % size];
}
#else
SUM(double)
void each(int n, float *a) { int i; ALL(1) ALL(2) }
#endif
void both(int n, float *a) { int i; ALL(3); }
void apart(short *y, int n, int d, int size, int w) {
  for (int i = 0; i < n; i++) { y[(w + i) % size] = y[(w + i + d) % size] / 2; }
}
void plain(int n, float *a) { for (int i = 0; i < n; i++) a[i] = 0; }
"""


def test_targets_with_other_macros_share_a_text() -> None:
    files = [read_c(Source("a.c", LOOPS), defines=x) for x in ((), ("__CHAR_UNSIGNED__=1",))]
    places = [place_regions(x) for x in files]
    assert [len(x) for x in places] == [5, 6]
    assert not any(x.clashes(y) for x in places[0] for y in places[1])
    joint = join_readings(files[0].source.written, [*places[0], *places[1]])
    for file, own in zip(files, places, strict=True):
        regions = [x for f in file.functions for x in f.regions]
        extents = [x.within(joint) for x in own]
        assert [joint.text[start:][:20] for start, _ in extents] == [file.source.text[x.start :][:20] for x in regions]
        made = assemble(joint, [Patch(*x, f"NEST{n};") for n, x in enumerate(extents)], "", "")
        patches = [Patch(x.start, x.end, f"NEST{n};") for n, x in enumerate(regions)]
        assert made == assemble(file.source, patches, "", "")


def place_regions(file: CFile) -> list[PatchPlace]:
    """The places of all nests of a file."""
    reading = Reading(file.source)
    return [reading.place(x.start, x.end) for f in file.functions for x in f.regions]


def test_one_place_that_is_read_in_two_ways_is_refused() -> None:
    written = Source("a.c", "f; M; g; h;")
    one = Reading(rewrite(written, "f; x; y; g; h;", [TextChange(3, 4, 3, 7, (3, 4))]))
    other = Reading(rewrite(written, "f; z; y; g; h;", [TextChange(3, 4, 3, 7, (3, 4))]))
    plain = Reading(written)
    assert one.place(3, 5).clashes(other.place(6, 8))
    assert one.place(0, 8).clashes(plain.place(0, 5)) and not one.place(0, 2).clashes(plain.place(0, 2))
    assert not one.place(3, 5).clashes(Reading(one.source).place(3, 5))
    assert one.place(3, 5).clashes(one.place(3, 8)) and not one.place(3, 5).clashes(one.place(6, 8))


@pytest.mark.parametrize("seed", range(20))
def test_patches_come_to_the_same_in_the_text_of_all(seed: int) -> None:
    """Texts are rewritten twice; what no other target's nests are in the way of is as it would be alone."""
    rng = random.Random(seed)
    written = Source("a.c", "".join(rng.choice("abcdef;\n") for _ in range(80)))
    pool = make_changes(rng, written.text)
    readings = [Reading(read(rng, written, [x for x in pool if rng.random() < 0.6])) for _ in range(3)]
    taken: list[PatchPlace] = []
    kept: list[list[tuple[PatchPlace, Patch]]] = []
    for reading in readings:
        cuts = sorted(rng.sample(range(len(reading.source.text)), 8))
        own = [Patch(x, y, "NEST") for x, y in zip(cuts[::2], cuts[1::2], strict=True)]
        placed = [(reading.place(x.start, x.end), x) for x in own]
        kept.append([x for x in placed if not any(x[0].clashes(y) for y in taken)])
        taken += [x for x, _ in kept[-1]]
    joint = join_readings(written, taken)
    for reading, own_places in zip(readings, kept, strict=True):
        moved = [Patch(*x.within(joint), patch.text) for x, patch in own_places]
        assert assemble(joint, moved, "", "") == assemble(reading.source, [x for _, x in own_places], "", "")


def make_changes(rng: random.Random, text: str) -> list[tuple[int, int, str]]:
    """Parts of a text, and what is written in their place."""
    cuts = sorted(rng.sample(range(len(text)), 8))
    return [(x, y, rng.choice("XYZ") * rng.randrange(1, 6)) for x, y in zip(cuts[::2], cuts[1::2], strict=True)]


def read(rng: random.Random, source: Source, first: list[tuple[int, int, str]]) -> Source:
    """A text rewritten by some changes, and once more by others."""
    made = write(source, first)
    return write(made, make_changes(rng, made.text)[: rng.randrange(3)])


def write(source: Source, changes: list[tuple[int, int, str]]) -> Source:
    """A text with changes."""
    parts: list[str] = []
    told: list[TextChange] = []
    at = 0
    for start, end, text in changes:
        parts += [source.text[at:start]]
        length = sum(map(len, parts))
        told.append(TextChange(start, end, length, length + len(text), (start, end)))
        parts.append(text)
        at = end
    return rewrite(source, "".join((*parts, source.text[at:])), told)
