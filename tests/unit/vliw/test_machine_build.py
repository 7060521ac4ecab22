"""`planish build --target MACHINE`: nests become packets, checked in the simulator, with a report."""

from pathlib import Path

import pytest

from planish.build.packets import build_packets
from planish.cli.machines.machine_build import build_for_machine
from planish.core.span import Source
from planish.options import Options
from planish.report.packets import describe_packets
from planish.vliw.description import load_machine

TEXT = """void scale(int n, float a, const float *restrict x, float *restrict y)
{
    for (int i = 0; i < n; i++)
        y[i] = a * x[i];
}

void waves(int n, float *restrict y)
{
    for (int i = 0; i < n; i++)
        y[i] = __builtin_sinf(y[i]);
}

void smooth(int n, float a, float s[restrict 1], float *restrict y)
{
    for (int i = 0; i < n; i++) {
        s[0] = a * s[0] + y[i];
        y[i] = s[0];
    }
}
"""


def test_a_file_becomes_assembly_and_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "f.c").write_text(TEXT.replace("__builtin_", "").replace("void scale", "#include <math.h>\nvoid scale"))
    done = build_for_machine([str(tmp_path / "f.c")], tmp_path / "o", Options(), "ftmatrix", False)
    output = capsys.readouterr().out
    assert done == 0, output
    text = (tmp_path / "o" / "f.s").read_text()
    assert "VFMULS32.VMAC" in text and "; scale: i in 32 lanes" in text and "waves" not in text
    assert "refused[vliw-lower]: no operation computes `sin(" in output
    assert "calls were checked in the simulator of ftmatrix" in output


def test_the_interval_is_explained() -> None:
    source = Source("f.c", TEXT)
    (found,) = build_packets(source, Options(functions=("smooth",)), load_machine("ftmatrix"), check=False)
    told = list(describe_packets(found, source, all_remarks=True))
    assert any("which is the least" in x and "line 15" in x for x in told)
    assert any("s[0] = a * s[0] + y[i];" in x for x in told)


def test_another_machine_is_its_file() -> None:
    machine = load_machine(str(Path(__file__).parent / "narrow.toml"))
    text = (
        "void f(const float x[restrict 40], float y[restrict 40]) { for (int i = 0; i < 40; i++) y[i] += x[i] * x[i]; }"
    )
    (found,) = build_packets(Source("f.c", text), Options(), machine)
    assert found.message == "" and found.planned is not None and found.cycles > 0
    assert found.planned.tiles and found.planned.tiles[0].lanes == 4


def test_sizes_that_do_not_fit_are_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "f.c").write_text(TEXT)
    options = Options(functions=("scale",), sizes={"n": 10_000_000})
    narrow = str(Path(__file__).parent / "narrow.toml")  # it has no block transfers
    assert build_for_machine([str(tmp_path / "f.c")], tmp_path / "o", options, narrow, False) == 1
    said = capsys.readouterr().err
    assert "E0910" in said and "n = 10000000" in said and "for (int i = 0; i < n; i++)" in said
    assert not (tmp_path / "o" / "f.s").exists()


def test_arrays_that_never_fit_are_refused() -> None:
    text = "float a[1000000]; void f(void) { for (int i = 0; i < 1000000; i++) a[i] = 2 * a[i]; }"
    (found,) = build_packets(Source("f.c", text), Options(), load_machine(str(Path(__file__).parent / "narrow.toml")))
    assert found.planned is None and "take 4001040 bytes" in found.remarks[0].message
    assert "the machine has no block transfers" in found.remarks[0].message


def test_a_function_without_a_nest_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "f.c").write_text("float wave(float x);\n" + TEXT.replace("__builtin_sinf", "wave"))
    options = Options(functions=("waves",))
    assert build_for_machine([str(tmp_path / "f.c")], tmp_path / "o", options, "ftmatrix", False) == 0
    output = capsys.readouterr().out
    assert "refused[scop-call]" in output and "a call of wave" in output and "nothing was written" in output


def test_arrays_that_may_overlap_are_told() -> None:
    text = "void f(int n, const float *a, float *b) { for (int i = 1; i < n; i++) b[i] = a[i - 1]; }"
    for told, given in (("are taken not to overlap", text), ("", text.replace("*b", "*restrict b"))):
        source = Source("f.c", given)
        (found,) = build_packets(source, Options(), load_machine("ftmatrix"), check=False)
        said = "".join(describe_packets(found, source, all_remarks=False))
        assert ("note[vliw-overlap]" in said) == bool(told) and told in said


TABLES = {
    "hexagon": """void taps(int n, const short *restrict x, short *restrict y)
{
    static const short w[3] = {3, -5, 2};
    for (int i = 0; i < n; i++) {
        int s = 0;
        for (int k = 0; k < 3; k++) s += w[k] * x[i + k];
        y[i] = (short)(s >> 2);
    }
}
""",
    "ftmatrix": """void taps(const float x[restrict 18], float y[restrict 16])
{
    static const float w[3] = {0.5f, -1.25f, 3.0f};
    for (int i = 0; i < 16; i++) {
        float s = 0;
        for (int k = 0; k < 3; k++) s += w[k] * x[i + k];
        y[i] = s;
    }
}
""",
}


@pytest.mark.parametrize("machine", TABLES)
def test_constant_weights_are_numbers_in_what_is_compared(machine: str) -> None:
    options = Options(target="hexagon" if machine == "hexagon" else "generic")
    (result,) = build_packets(Source("taps.c", TABLES[machine]), options, load_machine(machine))
    assert result.message == ""
    assert result.planned is not None and result.planned.described != "one by one"
