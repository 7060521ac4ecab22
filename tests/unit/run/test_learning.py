"""Instructions learnt from a piece of a vendor's file: read, tried, kept, and learnt again from what was kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from planish.cli import main
from planish.core.cache import Cache
from planish.isa.collection import Collection
from planish.isa.vendors.x86.features import missing
from planish.isa.vendors.x86.specification import open_listing
from planish.run.instructions.learn import learn
from planish.run.instructions.machines import x86_flags, x86_machines

LISTING = """<intrinsics_list version="9.9">
{}
</intrinsics_list>"""
INTRINSIC = """<intrinsic tech="SSE2" name="{name}"><CPUID>SSE2</CPUID><category>Arithmetic</category>
<return type="__m128i" varname="dst" etype="UI8"/><parameter type="__m128i" varname="a" etype="UI8"/>
<parameter type="__m128i" varname="b" etype="UI8"/><operation>{operation}</operation>
<instruction name="PADDB" form="xmm, xmm"/></intrinsic>"""
LANES = "FOR j := 0 to 15\ni := j*8\ndst[i+7:i] := a[i+7:i] {} b[i+7:i]\nENDFOR"


def _listing(folder: Path, **operations: str) -> str:
    path = folder / "listing.xml"
    parts = (INTRINSIC.format(name=name, operation=x) for name, x in operations.items())
    path.write_text(LISTING.format("\n".join(parts)))
    return str(path)


def _learn(path: str, store: Path) -> tuple[Collection, int]:
    done: list[int] = []
    machines = x86_machines()

    def tell(_: str, count: int) -> None:
        done.append(count)

    return learn("x86", open_listing, path, machines, lambda _: None, Cache(store), tell), sum(done)


@pytest.mark.skipif(missing(("SSE2",), x86_flags()) is not None or not x86_machines(), reason="no x86 with a compiler")
def test_what_is_true_is_verified_and_what_is_not_is_left_out(tmp_path: Path) -> None:
    plus = LANES.format("+")
    operations = {"_mm_add_epi8": plus, "_mm_sub_epi8": plus, "_mm_no_such": plus, "_mm_xor_si128": "dst := unheard"}
    path = _listing(tmp_path, **operations)
    collection, _ = _learn(path, tmp_path / "store")
    found = {x.name: (x.status, x.reason) for x in collection}
    assert found["_mm_add_epi8"] == ("verified", "")
    assert found["_mm_sub_epi8"][0] == "excluded"
    assert found["_mm_sub_epi8"][1].startswith("differs")
    assert found["_mm_no_such"][0] == "excluded"
    assert found["_mm_no_such"][1].startswith("not compiled")
    assert found["_mm_xor_si128"] == ("refused", "`unheard` is not known")
    again, _ = _learn(path, tmp_path / "store")
    assert again.packed() == collection.packed()
    assert collection.source == "Intel's description of its intrinsics, version 9.9"


def test_without_a_machine_nothing_is_verified(tmp_path: Path) -> None:
    path = _listing(tmp_path, _mm_add_epi8=LANES.format("+"))
    for lacking, reason in (("no machine", "no machine"), (None, "nothing runs it")):
        store = Cache(tmp_path / "store")
        collection = learn("x86", open_listing, path, (), lambda _, x=lacking: x, store, lambda *_: None)
        assert [(x.status, x.reason) for x in collection] == [("unproven", f"not executed here: {reason}")]


def test_the_command_writes_the_collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = _listing(tmp_path, _mm_add_epi8=LANES.format("+"))
    assert main(["isa", "learn", "--x86", path, "-o", str(tmp_path / "lib"), "-q"]) == 0
    assert len(Collection.unpacked((tmp_path / "lib" / "x86.json.gz").read_bytes())) == 1


@pytest.mark.skipif(missing(("SSE2",), x86_flags()) is not None or not x86_machines(), reason="no x86 with a compiler")
def test_a_cluster_learns_the_same(
    tmp_path: Path, cluster_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plus = LANES.format("+")
    path = _listing(tmp_path, _mm_add_epi8=plus, _mm_sub_epi8=plus, _mm_xor_si128="dst := unheard")
    for options in (["--cluster", cluster_address], []):
        folder = tmp_path / f"lib{len(options)}"
        monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        assert main(["isa", "learn", "--x86", path, "-q", "-o", str(folder), *options]) == 0
    assert (tmp_path / "lib0/x86.json.gz").read_bytes() == (tmp_path / "lib2/x86.json.gz").read_bytes()


def test_a_file_whose_first_instructions_all_come_to_nothing_is_put_down(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    endless = "FOR j := 0 to 59999\ni := j*j*j\ndst[127:0] := a + i*b\nENDFOR"
    path = _listing(tmp_path, **{f"_mm_endless{x}": endless for x in range(200)})
    assert main(["isa", "learn", "--x86", path, "-q", "-o", str(tmp_path / "lib")]) == 1
    assert "E0661" in capsys.readouterr().err
    assert not (tmp_path / "lib").exists()


def test_one_endless_instruction_does_not_keep_others_from_being_read(tmp_path: Path) -> None:
    endless = "FOR j := 0 to 59999\ni := j*j*j\ndst[127:0] := a + i*b\nENDFOR"
    path = _listing(tmp_path, _mm_endless=endless, _mm_add_epi8=LANES.format("+"), _mm_sub_epi8=LANES.format("-"))
    collection = learn("x86", open_listing, path, (), lambda _: None, Cache(tmp_path / "store"), lambda *_: None)
    found = {x.name: x.status for x in collection}
    assert found == {"_mm_add_epi8": "unproven", "_mm_endless": "refused", "_mm_sub_epi8": "unproven"}


def test_where_no_specification_is_the_packages_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["isa", "learn", "--root", str(tmp_path)]) == 1
    told = capsys.readouterr().err
    assert "E0656" in told
    assert "rust-src" in told


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["show", "_mm_nothing"], "E0655"), (["list", "--kind", "integers"], "E0657"), (["find", "i32 += @"], "E0658"),
        (["classes", "no_such_class", "--isa", "hvx"], "E0659"), (["list", "--isa", "pdp11"], "E0654"),
        (["export", "-o", "x", "--format", "pdf"], "E0657"),
        (["export", "-o", "x", "--class", "no_such_class"], "E0659"),
        (["export", "-o", "x", "--format", "header", "--isa", "sve"], "E0659"),
        (["export", "-o", "x", "--class", "permute", "--isa", "sve"], "E0659"),
        (["learn", "--x86", "nowhere.xml"], "E0101"),
    ],
)  # fmt: skip
def test_wrong_words_are_told(arguments: list[str], code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["isa", *arguments]) == 1
    assert code in capsys.readouterr().err


def test_an_instruction_is_shown_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["isa", "show", "_mm_adds_epi16"]) == 0
    told = capsys.readouterr().out
    assert "i16 = sat(i16 + i16)" in told or "i16 = sat(s16 + s16)" in told
    assert "verified" in told


@pytest.mark.parametrize(
    ("format", "file", "holds"),
    [("header", "planish_operations.h", "planish_v128 planish_add_saturate_i8x16("),
     ("tablegen", "planish.td", "def int_planish_add_saturate : "), ("irdl", "planish.irdl.mlir", "@add_saturate {"),
     ("smt", "planish.smt2", "(declare-const |_mm_adds_epi8.a| (_ BitVec 128))"),
     ("json", "instructions.json", '"name": "add_saturate"'), ("markdown", "classes.md", "## add_saturate")],
)  # fmt: skip
def test_classes_are_exported(tmp_path: Path, format: str, file: str, holds: str) -> None:
    assert main(["isa", "export", "--format", format, "--class", "add_sat*", "-o", str(tmp_path)]) == 0
    text = (tmp_path / file).read_text()
    assert holds in text
    assert "multiply_accumulate" not in text or format == "json"


def test_of_one_architecture_others_are_not_written(tmp_path: Path) -> None:
    assert main(["isa", "export", "--format", "header", "--class", "add", "--isa", "arm", "-o", str(tmp_path)]) == 0
    text = (tmp_path / "planish_operations.h").read_text()
    assert "vaddq_s8(" in text
    assert "_mm_add_epi8" not in text


@pytest.mark.parametrize(
    ("name", "operation", "reason"),
    [
        ('_mm_x(a0, a1); system("true"); (void)_mm_x', LANES.format("+"), "no name of an instruction"),
        ("system", LANES.format("+"), "no name of an instruction"),
        ("_mm_x", "dst[999+7:999] := a[7:0]", "nothing is left by it"),
        ("_mm_x", "dst[31:0] := MIN(a[7:0])", "ValueError"),
        ("_mm_x", "x := a[31:0]\n" + "x := x*x\n" * 40 + "dst[31:0] := x", "more than 16384 bits"),
        ("_mm_x", "FOR j := 0 to 99999999999999\nENDFOR\ndst := a", "60000 steps"),
        ("_mm_x", "IF a[0]\n" * 500 + "dst := a", "deep in one another"),
        ("_mm_x", "dst[31:0] := Saturate99999999999(a[31:0])", "MemoryError"),
        ("_mm_x", "dst[9999999999:0] := a", "a slice of"),
    ],
)
def test_hostile_operations_are_refused_alone(tmp_path: Path, name: str, operation: str, reason: str) -> None:
    escaped = name.replace('"', "&quot;")
    path = _listing(tmp_path, **{escaped: operation, "_mm_add_epi8": LANES.format("+")})
    store = Cache(tmp_path / "store")
    collection = learn("x86", open_listing, path, (), lambda _: "nothing is run", store, lambda *_: None)
    assert collection.entry(name).status == "refused"
    assert reason in collection.entry(name).reason
    assert collection.entry("_mm_add_epi8").reason == "not executed here: nothing is run"


@pytest.mark.parametrize(
    "text",
    [
        "", "x", "<intrinsics_list/>", "<a>" * 200,
        '<!DOCTYPE a [<!ENTITY b "c">]><intrinsics_list>&b;</intrinsics_list>',
        "<intrinsics_list><intrinsic name='_mm_x'>", '<?xml version="1.0" encoding="foo"?><intrinsics_list/>',
        '<intrinsics_list><intrinsic name="_mm_x"><parameter type="int" varname="a" memwidth="²"/></intrinsic>',
    ],
)  # fmt: skip
def test_files_that_are_no_listing_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "listing.xml"
    path.write_text(text)
    assert main(["isa", "learn", "--x86", str(path), "-o", str(tmp_path / "lib"), "-q"]) == 1
    assert not (tmp_path / "lib" / "x86.json.gz").exists()


def test_a_place_that_cannot_be_written_is_told_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = _listing(tmp_path, _mm_add_epi8=LANES.format("+"))
    assert main(["isa", "learn", "--x86", path, "-o", path]) == 1
    assert "E0902" in capsys.readouterr().err
