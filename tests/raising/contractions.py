"""Contractions of two tensors as C, from index strings `output-left-right` of the kind that the literature has.

>>> print(write_contraction("ab-ca-bc", "linear", 0).splitlines()[-2].strip())
C[a * nb + b] += A[c * na + a] * B[b * nc + c]; /*= contraction A B -> C: ca,bc->ab alpha=1 beta=1 */
"""

from __future__ import annotations

from typing import Literal

Form = Literal["nd", "linear"]

_LISTED = """
    ab-ac-cb ab-ca-cb ab-ac-bc ab-ca-bc
    ab-acd-dbc ab-cad-dcb ab-acd-bcd ab-cda-cdb ab-cad-bdc ab-dca-cdb ab-adc-cdb ab-cbd-dac
    ab-acde-bcde ab-cade-debc ab-edca-cdeb ab-acbe-ce
    ab-acb-c ab-cab-c ab-cbda-dc
    abc-acd-db abc-ad-bdc abc-bda-dc abc-adc-bd abc-adc-db abc-dca-bd abc-da-bcd abc-dab-dc abc-bad-cd abc-cbd-ad
    abc-abd-dc abc-dba-cd abc-dbc-ad abc-adbc-d
    abc-adec-ebd abc-aebd-dce abc-dbea-ecd abc-deca-dbe abc-cdea-bed abc-adbe-dec abc-eda-dcbe
    abc-adefb-fedc abc-defa-bfdec
    abcd-dbea-ec abcd-deca-be abcd-ebad-ce abcd-ea-ebcd abcd-eb-aecd abcd-ec-abed abcd-ace-ebd abcd-bea-dec
    abcd-ade-bec abcd-aec-ebd abcd-aebcd-e
    abcd-aebf-dfce abcd-aebf-fdec abcd-aecf-bfde abcd-aecf-fbed abcd-aedf-bfce abcd-aedf-fbec abcd-aefb-fdce
    abcd-aefc-fbed abcd-eafb-fdec abcd-eafc-bfde abcd-eafd-fbec abcd-aefd-cebf
    abcd-aebfg-gfdec
    abc-abd-adc abc-adb-acd abc-bad-bdc abc-bcd-bda abcd-abce-abed abcd-aceb-abed abcd-bae-bcde
    ab-abc-abc
"""
SPECIFICATIONS = tuple(_LISTED.split())
"""Two to four indices in the output, one to three that are summed over; in the last ones some are in all three."""

_SIZES = {"a": 4, "b": 5, "c": 3, "d": 6, "e": 2, "f": 3, "g": 2}


def write_contraction(spec: str, form: Form, number: int) -> str:
    """A function that does a contraction; `number` varies the type, the order of the loops and the beginning.

    Even numbers add to C what every second of them clears first, odd ones add up in a variable of their own.
    """
    output, left, right = spec.split("-")
    summed = [x for x in dict.fromkeys(left + right) if x not in output]
    letters = sorted({*output, *left, *right})
    type = "double" if number % 3 else "float"
    arrays = {"C": output, "A": left, "B": right}
    if form == "nd":
        parameters = [f"{type} {name}{''.join(f'[n{x}]' for x in indices)}" for name, indices in arrays.items()]
    else:
        parameters = [f"{'' if name == 'C' else 'const '}{type} *{name}" for name in arrays]
    target, a, b = (element(name, indices, form, number % 4 < 2) for name, indices in arrays.items())
    factors = f"{a} * {b}"
    added_up = number % 2 == 1
    cleared = added_up or number % 4 == 2
    mark = f"/*= contraction A B -> C: {left},{right}->{output} alpha=1 beta={int(not cleared)} */"
    sizes = " ".join(f"n{x}={_SIZES[x]}" for x in letters)
    lines = [
        f"/* C[{','.join(output)}] = sum of A[{','.join(left)}] B[{','.join(right)}] over {', '.join(summed)}.",
        f" * sizes: {sizes} */",
        f"void contract({', '.join(f'int n{x}' for x in letters)}, {', '.join(parameters)})",
        "{",
    ]
    if added_up:
        # The sum of one element is a loop nest of its own inside those over the output.
        lines += _loops(list(output), 1)
        depth = len(output) + 1
        lines[-1] += " {"
        lines += [_indented(depth, f"{type} sum = 0;"), *_loops(summed, depth)]
        lines += [_indented(depth + len(summed), f"sum += {factors}; {mark}")]
        lines += [_indented(depth, f"{target} = sum;"), _indented(depth - 1, "}")]
    else:
        if cleared:
            lines += [*_loops(list(output), 1), _indented(len(output) + 1, f"{target} = 0;")]
        order = [*output, *summed]
        turned = order[number % len(order) :] + order[: number % len(order)]
        lines += [*_loops(turned, 1), _indented(len(order) + 1, f"{target} += {factors}; {mark}")]
    return "\n".join([*lines, "}", ""])


def element(array: str, indices: str, form: Form, nested: bool = True) -> str:
    """An element of a tensor whose extents are those of its indices; `nested` subscripts have brackets.

    >>> element("A", "abc", "linear"), element("A", "abc", "linear", nested=False)
    ('A[(a * nb + b) * nc + c]', 'A[a * nb * nc + b * nc + c]')
    """
    if form == "nd":
        return array + "".join(f"[{x}]" for x in indices)
    if not nested:
        factors = [[x, *(f"n{y}" for y in indices[i + 1 :])] for i, x in enumerate(indices)]
        return f"{array}[{' + '.join(' * '.join(x) for x in factors)}]"
    place = indices[0]
    for x in indices[1:]:
        place = f"({place}) * n{x} + {x}" if " " in place else f"{place} * n{x} + {x}"
    return f"{array}[{place}]"


def _loops(indices: list[str], depth: int) -> list[str]:
    return [_indented(depth + i, f"for (int {x} = 0; {x} < n{x}; {x}++)") for i, x in enumerate(indices)]


def _indented(depth: int, text: str) -> str:
    return "    " * depth + text
