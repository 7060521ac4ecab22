"""The regret of searches on recorded spaces, trial by trial, as a figure: medians over some seeds.

    python -m bench.figures.searches          # docs/figures/searches.svg, without a machine

>>> "model" in draw_curves({"space": {"model": (2.0, 1.0)}})
True
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from math import log2

from bench.figures.svg import colour, document, line, text
from bench.harness.places import ROOT
from bench.sweeps.recorded_spaces import NamedSpace, read_spaces
from planish.tuning.searches.registry import SEARCHES

PLACE = ROOT / "docs" / "figures" / "searches.svg"
TRIALS, SEEDS = 30, 10
WIDTH, HEIGHT, LEFT, TOP, GAP = 270, 180, 50, 60, 30
Curves = Mapping[str, Sequence[float]]
"""The regret after each trial, by the name of the search."""


def compare(space: NamedSpace, trials: int = TRIALS, seeds: int = SEEDS) -> dict[str, list[float]]:
    """What each search that is here comes to on a space."""
    made = {x: make for x, make in SEARCHES.items() if x != "exhaustive" and (x != "tpe" or find_spec("optuna"))}
    return space.recorded.compare(made, trials, range(1, seeds + 1))


def draw_curves(spaces: Mapping[str, Curves]) -> str:
    """A field for each space, a line for each search."""
    names = list(dict.fromkeys(name for curves in spaces.values() for name in curves))
    parts = [text(LEFT, 20, "Best so far over the best of all, median of seeds", size=14)]
    for number, name in enumerate(names):
        x = LEFT + number * 130
        parts += [line(x, 36, x + 20, 36, colour(number)), text(x + 26, 40, name)]
    for place, (space, curves) in enumerate(spaces.items()):
        left, worst = LEFT + place * (WIDTH + GAP), max(max(x) for x in curves.values())
        top = max(log2(worst), 0.1)
        parts += [text(left, TOP, space), line(left, TOP + HEIGHT, left + WIDTH, TOP + HEIGHT, "#222222")]
        parts += [text(left - 6, TOP + 14, f"{worst:.2f}", anchor="end", size=10)]
        parts += [text(left - 6, TOP + HEIGHT, "1.00", anchor="end", size=10)]
        for name, curve in curves.items():
            step, scale = WIDTH / max(1, len(curve) - 1), (HEIGHT - 14) / top
            points = [(left + n * step, TOP + HEIGHT - log2(max(x, 1.0)) * scale) for n, x in enumerate(curve)]
            pairs = zip(points, points[1:], strict=False)
            parts += [line(*a, *b, colour(names.index(name))) for a, b in pairs]
        parts.append(text(left + WIDTH, TOP + HEIGHT + 16, f"{TRIALS} trials", anchor="end", size=10))
    return document(LEFT + len(spaces) * (WIDTH + GAP), TOP + HEIGHT + 30, parts)


def main() -> None:
    """Writes the figure."""
    found = {}
    for space in read_spaces():
        found[space.name] = compare(space)
        for name, curve in found[space.name].items():
            print(f"{space.name}, {name}: {curve[9]:.3f} after 10, {curve[-1]:.3f} after {TRIALS}", file=sys.stderr)
    PLACE.write_text(draw_curves(found))


if __name__ == "__main__":
    main()
