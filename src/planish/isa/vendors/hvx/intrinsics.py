"""The intrinsics of HVX: their names follow from how assembly writes the instructions.

>>> intrinsic_of("Vxx32.h+=vtmpy(Vuu32.ub,Rt32.b)")
'Q6_Wh_vtmpyacc_WhWubRb'
>>> intrinsic_of("Vd32.ub=vasr(Vu32.h,Vv32.h,Rt8):rnd:sat"), intrinsic_of("if (!Qv4) Vx32.b-=Vu32.b")
('Q6_Vub_vasr_VhVhR_rnd_sat', 'Q6_Vb_condnac_QnVbVb')
>>> intrinsic_of("Vd32.cur=vmem(Rt32+#s4)") is None
True
"""

from __future__ import annotations

import re

HEADER = "hvx_hexagon_protos.h"
"""Clang's header of them; it wants `hexagon_types.h` before it."""

_CALL = re.compile(
    r"(?P<to>\w+(?:\.\w+)?)(?P<by>[-+&|^]?)=(?P<name>[a-z]\w*(?:\.\w+)?)\((?P<of>[^()]*)\)(?P<more>(?::[<\w]+)*)"
)
_MOVE = re.compile(r"(?P<to>\w+)=(?P<of>V\w+)")
_UNDER = re.compile(r"if \((?P<when>!?)Qv4\) (?P<to>V\w+\.\w+)(?P<by>[-+])=(?P<of>V\w+\.\w+)")
_OPERAND = re.compile(r"(?P<kind>[VQRP])[a-z](?P<pair>[a-z]?)(?:\d+)?(?:\.(?P<type>[a-z]+))?")
_ALWAYS = "#1"
"""A number that an instruction has only one of."""
_UPDATES = {"": "", "+": "acc", "-": "nac", "&": "and", "|": "or", "^": "xacc"}


def intrinsic_of(syntax: str) -> str | None:
    """The intrinsic of an instruction, as assembly writes it; None where it has none."""
    if found := _MOVE.fullmatch(syntax):
        return _joined(_operand(found["to"]), "equals", [_operand(found["of"])])
    if found := _UNDER.fullmatch(syntax):
        when = "Qn" if found["when"] else "Q"
        to = _operand(found["to"])
        return _joined(to, f"cond{_UPDATES[found['by']]}", [when, to, _operand(found["of"])])
    found = _CALL.fullmatch(syntax)
    if found is None:
        return None
    to, update = _operand(found["to"]), _UPDATES[found["by"]]
    # What is changed, not only written, has such a letter, and is an operand as well.
    operands = [to] if found["to"].startswith(("Vx", "Qx")) else []
    operands += [_operand(x) for x in found["of"].split(",") if x != _ALWAYS]
    name = found["name"].replace(".", "_") + update
    return _joined(to, name, operands, found["more"].replace("<<", "s").replace(":", "_"))


def _joined(to: str | None, name: str, operands: list[str | None], more: str = "") -> str | None:
    if to is None or None in operands:
        return None
    return f"Q6_{to}_{name}_{''.join(x for x in operands if x)}{more}"


def _operand(text: str) -> str | None:
    """An operand's letter with the type of its lanes: `Vuu32.ub` is `Wub`."""
    if text.startswith("#"):
        return "I"
    inverted = text.startswith("!")
    found = _OPERAND.fullmatch(text.removeprefix("!"))
    if found is None:
        return None
    letter = {"V": "W", "R": "P"}.get(found["kind"], found["kind"]) if found["pair"] else found["kind"]
    return letter + ("n" if inverted else "") + (found["type"] or "")
