"""isl's two file formats: what is read, what is refused and where, and what runs when."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from planish.astgen.checking.verify import compare_traces, trace_nest
from planish.astgen.formats import find_context, generate_input, list_input, load_input, parse_input
from planish.core.diagnostic import PlanishError
from planish.core.fork_pool import Bounds, run_apart
from planish.core.progress import Progress
from planish.ir.nest import Assign, For

MAP = "# a comment { with braces }\n[n] -> { S[i] -> [i, 0] : 0 <= i < n;\n  T[i] -> [i, 1] : 0 <= i < 2 }\n"
CONTEXT = "[n, m] -> { : n >= m }\n"
TREE = """
domain: "[n] -> { S[i] : 0 <= i < n }"
child:
  context: "[n] -> { [] : n >= 4 }"
  child:
    schedule: "[n] -> [{ S[i] -> [(-i)] }]"
"""


def test_a_map() -> None:
    found = parse_input(MAP + CONTEXT + "{ [i, j] -> unroll[1] }", "folder/a.in")
    assert (found.name, found.kind, found.parameters) == ("a", "map", ("n", "m"))
    assert found.schedule is None and not found.options.is_empty()
    times = [((0, 0), ("S", (0,))), ((0, 1), ("T", (0,))), ((1, 1), ("T", (1,)))]
    assert list_input(found, {"n": 1, "m": 1}) == times
    assert compare_traces(trace_nest(generate_input(found), {"n": 1, "m": 1}), times) is None


def test_shorter_values_of_a_map_end_in_zeros() -> None:
    found = parse_input("{ A[i] -> [i] : 0 <= i < 3; B[i] -> [i, i - 1] : 0 <= i < 3 } { : } { }", "a.in")
    ran = trace_nest(generate_input(found), {})
    assert ran[:2] == [("B", (0,)), ("A", (0,))] and ran[-2:] == [("A", (2,)), ("B", (2,))]
    assert compare_traces(ran, list_input(found, {})) is None


def test_values_that_the_context_excludes_run_nothing() -> None:
    assert list_input(parse_input(MAP + CONTEXT + "{ }", "a.in"), {"n": 1, "m": 2}) == []


def test_a_tree() -> None:
    found = parse_input(TREE, "a.st")
    assert (found.kind, found.parameters) == ("tree", ("n",))
    assert find_context(found.schedule).is_subset(found.context) and not found.context.plain_is_universe()
    assert [instance for _, instance in list_input(found, {"n": 2})] == [("S", (1,)), ("S", (0,))]
    assert trace_nest(generate_input(found), {"n": 4}) == [("S", (x,)) for x in (3, 2, 1, 0)]


def test_statements_are_made_as_wanted_and_names_are_spared() -> None:
    found = parse_input(TREE, "a.st")
    nest = generate_input(found, lambda name, at: Assign(f"my{name}", at, at[0]), frozenset({"i", "n"}))
    match nest.body:
        case (For(var=var, body=body),):
            assert var not in {"i", "n"}
            assert isinstance(body.body[0], Assign) and body.body[0].array == "myS"
        case _:
            pytest.fail(f"no loop: {nest}")


@pytest.mark.parametrize(
    ("text", "code", "line", "part"),
    [
        ("", "E0510", 1, "the schedule map is missing"),
        (MAP, "E0510", 3, "the context is missing"),
        (MAP + CONTEXT, "E0510", 4, "the options is missing"),
        (MAP + CONTEXT + "{ }\n\n{ }", "E0510", 7, "after the options"),
        ("\n{ S[i -> [i] }\n{ : } { }", "E0511", 2, "the schedule map is not"),
        (MAP + "[n] -> { : n >>> 1 }\n{ }", "E0511", 4, "the context is not"),
        (MAP + "{ [i] }\n{ }", "E0511", 4, "no set of parameters"),
        (MAP + CONTEXT + "# options\n{ [i] -> unroll", "E0511", 6, "the options is not"),
    ],
)
def test_bad_maps(text: str, code: str, line: int, part: str) -> None:
    with pytest.raises(PlanishError, match=part) as caught:
        parse_input(text, "bad.in")
    diagnostic = caught.value.diagnostic
    assert diagnostic.code == code and diagnostic.span is not None and diagnostic.span.line == line
    assert diagnostic.help and "bad.in" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ("domain: x", 1, "no schedule tree"),
        ("domain: 3", 1, "no number may stand here"),
        (TREE.replace('"[n] -> [{ S[i] -> [(-i)] }]"', "0"), 6, "no number may stand here"),
        (TREE.replace("schedule", "skedule"), 1, "no schedule tree"),
    ],
)
def test_bad_trees(text: str, line: int, part: str) -> None:
    with pytest.raises(PlanishError, match=part) as caught:
        parse_input(text, "bad.st")
    diagnostic = caught.value.diagnostic
    assert diagnostic.code == "E0501" and diagnostic.span is not None and diagnostic.span.line == line


NODES = '''domain: "[n] -> { A[i] : 0 <= i < n }"
child:
  context: "[n] -> { [] : n >= 3 }"
  child:
    schedule: "[n] -> [{ A[i] -> [(i)] }]"
    child:
      guard: "[n] -> { [i] : n >= 4 }"
      child:
        extension: "[n] -> { [i] -> B[j] : j = i }"
        child:
          sequence:
          - filter: "{ A[i] }"
          - filter: "{ B[j] }"
'''


@pytest.mark.parametrize(
    ("old", "new", "line", "column", "part"),
    [
        ("[] : n >= 3", ": n >= 3", 3, 3, "the context has no brackets, and the bands around it have 0"),
        ("[] : n >= 3", "[i] : n >= 3", 3, 3, "the context has 1 dimension, and the bands around it have 0"),
        ("[i] : n >= 4", ": n >= 4", 7, 7, "the guard has no brackets, and the bands around it have 1"),
        ("[i] : n >= 4", "[i, j] : n >= 4", 7, 7, "the guard has 2 dimensions, and the bands around it have 1"),
        ("[i] -> B[j]", "[i, k] -> B[j]", 9, 9, "the extension has 2 dimensions, and the bands around it have 1"),
    ],
)
def test_dimensions_of_nodes_are_those_around_them(old: str, new: str, line: int, column: int, part: str) -> None:
    generate_input(parse_input(NODES, "good.st"))
    with pytest.raises(PlanishError, match=part) as caught:
        parse_input(NODES.replace(old, new), "bad.st")
    diagnostic = caught.value.diagnostic
    assert diagnostic.code == "E0501" and diagnostic.span is not None and "write it as in" in diagnostic.help
    assert (diagnostic.span.line, diagnostic.span.column) == (line, column)


def test_a_parameter_may_be_named_first_in_a_node() -> None:
    text = NODES.replace('"[n] -> [{ A[i]', '"[n, s] -> [{ A[i]').replace("[n] -> { [i] : n", "[m] -> { [i] : m")
    assert set(parse_input(text, "late.st").parameters) == {"n", "s", "m"}
    generate_input(parse_input(text, "late.st"))


def mutilate(text: str, rng: random.Random) -> str:
    """The text with its end, a line, some characters missing, or one replaced."""
    at = rng.randrange(len(text))
    match rng.randrange(4):
        case 0:
            return text[:at]
        case 1:
            return text[:at] + text[at + rng.randrange(1, 6) :]
        case 2:
            lines = text.splitlines(keepends=True)
            del lines[rng.randrange(len(lines))]
            return "".join(lines)
        case _:
            return text[:at] + rng.choice("[]{}(),:->\"0 n") + text[at + 1 :]


@pytest.mark.parametrize("suffix", ["st", "in"])
def test_mutilated_files_are_read_or_refused(suffix: str) -> None:
    rng = random.Random(45)
    a_map = "[n] -> { S[i] -> [i] : 0 <= i < n }\n[n] -> { : n >= 3 }\n{ [i] -> unroll[0] }\n"
    pieces = [mutilate(NODES if suffix == "st" else a_map, rng) for _ in range(60)]

    def read(text: str, tell: Progress) -> str:
        try:
            generate_input(parse_input(text, f"odd.{suffix}"))
        except PlanishError as error:
            assert error.diagnostic.span is not None and error.diagnostic.help, error
        return "told or done"

    assert set(run_apart(read, pieces, Bounds(cpu=20))) == {"told or done"}


def test_flags_are_numbers() -> None:
    for flags in ("permutable: 1\n    coincident: [ 1 ]", "coincident:\n    - 1\n    permutable: 0"):
        found = parse_input(f"{TREE}    {flags}\n# 3 flags\n", "a.st")
        assert found.schedule.get_root().get_child(0).get_child(0).band_member_get_coincident(0)


def test_a_loop_without_a_bound() -> None:
    found = parse_input("{ S[i] -> [i] : i >= 0 } { : } { }", "endless.in")
    with pytest.raises(PlanishError, match="a loop of endless has no bound") as caught:
        generate_input(found)
    assert caught.value.diagnostic.code == "E0512"


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "a.st"
    path.write_text(TREE)
    assert load_input(str(path)).source.text == TREE
    with pytest.raises(PlanishError) as caught:
        load_input(str(tmp_path / "none.in"))
    assert caught.value.diagnostic.code == "E0101" and ".st" in caught.value.diagnostic.help


def test_a_parameter_may_be_named_by_an_expansion_alone() -> None:
    text = 'domain: "[n] -> { S[i] : 0 <= i < n }"\nchild:\n  expansion: "[p] -> { S[i] -> T[i, j] : 0 <= j < p }"\n'
    found = parse_input(text + '  contraction: "{ T[i, j] -> S[i] }"\n', "grown.st")
    assert set(found.parameters) == {"n", "p"}
    ran = trace_nest(generate_input(found), {"n": 2, "p": 3})
    assert sorted(ran) == [("T", (i, j)) for i in range(2) for j in range(3)]
