"""What is raced, and by which programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.races import loops, tsvc, untimed
from bench.races.loops import (
    UnfinishedDriver,
    choose,
    compile_driver,
    compile_library,
    one_of_each_kind,
    read_loops,
    run_driver,
)
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


SUITE = """\
#include "common.h"
real_t a[8], b[8], c[8], d[8], e[8], x[8], aa[8], bb[8], cc[8], tt[8], flat_2d_array[8];
int indx[8];
real_t s000(struct args_t * func_args)
{
    initialise_arrays(__func__);
    int k = *(int*)func_args->arg_info;
    real_t sum;
    for (int nl = 0; nl < 9; nl++) {
        sum = 0;
        for (int i = 0; i < 8; i++) {
            a[i] += k;
            if (a[i] < 1) exit (0);
            sum += a[i];
        }
        dummy(a, sum);
    }
    return sum;
}
int main() { time_function(&s000, &n1); }
"""
COMMON = """\
typedef float real_t;
void init(int **ip, real_t *s1, real_t *s2);
int initialise_arrays(char *name);
"""


def test_drivers_compare_and_time_libraries(tmp_path: Path) -> None:
    (tmp_path / "tsvc.c").write_text(SUITE)
    (tmp_path / "common.h").write_text(COMMON)
    empty = "{}\nint initialise_arrays(char *name) { return 0; }\n"
    (tmp_path / "common.c").write_text(COMMON + f"void init(int **ip, real_t *s1, real_t *s2) {empty}")
    suite, compiler = tsvc.read_suite(tmp_path), one_of_each_kind()[0]
    text = suite.unit(suite.loops[0])
    texts = {"right": text, "wrong": text.replace("a[i] +=", "a[i] += 2 *"), "other": text.replace("s000", "s001")}
    right, wrong, other = (compile_library(compiler, y, ("-w",), tmp_path / x) for x, y in texts.items())
    driver = compile_driver(
        compiler, suite.driver(suite.loops[0]), tmp_path / "driver", ("-rdynamic",), (tmp_path / "common.c",)
    )
    assert run_driver(driver, ("check", 0), (right, right, wrong)) == [0, 1]
    assert min(run_driver(driver, ("time", 2), (right, wrong))) > 0
    assert run_driver(driver, ("check", 1), (right, wrong), may_exit=True) == []
    with pytest.raises(UnfinishedDriver, match="check ends"):
        run_driver(driver, ("check", 1), (right, wrong))
    with pytest.raises(UnfinishedDriver, match=r"time .*other.*s000"):
        run_driver(driver, ("time", 1), (right, other))


def test_compilers_are_the_newest_of_their_kinds() -> None:
    kinds = [x.kind for x in find_compilers()]
    assert one_of_each_kind() == [find_compilers()[kinds.index(x)] for x in dict.fromkeys(kinds)]
