"""What is raced, and by which programs."""

from __future__ import annotations

from pathlib import Path

from bench.races import loops, untimed
from bench.races.loops import choose, compile_driver, read_loops
from planish.run.toolchains.toolchain import find_compilers

FILE = """\
void clip(int n, unsigned char limit, const unsigned char *restrict a, unsigned char *restrict b)
{
}
long total(int n, const long *restrict a, float scale)
{
}
"""


def test_files_are_chosen_by_path_name_and_loops(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(FILE)
    (tmp_path / "b.c").write_text("void other(int n, int *x) {\n}\n")
    a, b = tmp_path / "a.c", tmp_path / "b.c"
    assert list(choose(tmp_path, ())) == [(a, ()), (b, ())]
    assert list(choose(tmp_path, ["b", "total"])) == [(a, ["total"]), (b, ())]
    assert list(choose(tmp_path, ["my.c"])) == [(Path("my.c"), ())]
    assert list(choose(tmp_path, ["my.c", "a"])) == [(Path("my.c"), ()), (a, ())]


def test_drivers_take_elements_of_any_type(tmp_path: Path) -> None:
    clip, total = read_loops(FILE)
    assert "sizeof(unsigned char), 'i', SIGNED }" in loops.write_driver(clip)
    assert [x.array for x in clip.parameters] == ["", "", "unsigned char", "unsigned char"]
    texts = {x.name: untimed.write_driver(x) for x in (clip, total)}
    assert "(c->n, 7, (void *)c->buffer[0], (void *)c->buffer[1])" in texts["clip"]
    assert "c->result = (double)((loop *)function)(c->n, (void *)c->buffer[0], 0.7)" in texts["total"]
    assert all(compile_driver(find_compilers()[0], x, tmp_path / name).exists() for name, x in texts.items())
