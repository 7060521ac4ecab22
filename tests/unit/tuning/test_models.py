"""What searches by a model look at: columns of points, and a Gaussian process with its uncertainty."""

from __future__ import annotations

from math import isfinite
from random import Random

import numpy as np

from planish.ir.text.parser import parse_kernel
from planish.library.strategies.nests.loops import LOOPS
from planish.library.strategy import Context
from planish.target.load import load_target
from planish.tuning.searches.gaussian_process import MOST, GaussianProcess
from planish.tuning.spaces.features import FeatureMap
from planish.tuning.spaces.strategy_space import find_space

PRODUCT = (
    "kernel k(n; A: f32[n, n] distinct, B: f32[n, n] distinct, C: f32[n, n] distinct)"
    " { for i in 0 .. n { for j in 0 .. n { for p in 0 .. n { C[i, j] += A[i, p] * B[p, j] } } } }"
)


def test_what_strategies_know_of_points_has_columns() -> None:
    space = find_space(Context.of(parse_kernel(PRODUCT), load_target("x86-avx512")), [LOOPS])
    features = FeatureMap(space)
    versions, arguments, known = features.groups
    assert known >= 7
    default = space.default
    rows = [features.of(x) for x in (default, *(space.sample(Random(3)) for _ in range(20)))]
    assert all(len(x) == versions + arguments + known and all(map(isfinite, x)) for x in rows)
    names = [x.name for own in space.alternatives.values() for x in own.features]
    column = versions + arguments + names.index("loops.loads.1")
    own = space.arguments(str(default.get("version")))
    jam = next(x for x in own if x.name.startswith("loops.jam.") and x.default != 1)
    more = space.complete({**default.as_dict(), jam.name: 1})
    assert more is not None
    assert features.of(more)[column] > features.of(default)[column], "what is jammed is loaded less often"


def test_a_process_is_sure_of_what_it_saw_and_unsure_of_what_is_far() -> None:
    rows = [[x / 8, y / 8, 0.0] for x in range(9) for y in range(9) if (x + y) % 2]
    process = GaussianProcess(rows, [r[0] ** 2 + r[1] for r in rows], (2, 1))
    mean, spread = process.predict([[0.5, 0.5, 0.0], [4.0, 4.0, 0.0]])
    assert abs(mean[0] - 0.75) < 0.05
    assert spread[1] > 3 * spread[0]


def test_equal_targets_and_many_rows_are_no_trouble() -> None:
    mean, spread = GaussianProcess([[1.0], [1.0]], [0.5, 0.5], (1,)).predict([[1.0]])
    assert np.isfinite(mean).all() and np.isfinite(spread).all() and abs(mean[0] - 0.5) < 0.1
    rng = np.random.default_rng(1)
    rows = rng.random((MOST + 50, 3))
    mean, _ = GaussianProcess(rows.tolist(), rows.sum(axis=1).tolist(), (1, 2)).predict(rows[:5].tolist())
    assert np.allclose(mean, rows[:5].sum(axis=1), atol=0.2)
