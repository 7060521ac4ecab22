"""A translation for tests that costs nothing: it makes `return 1` of a function `value` a `return 2`."""

from __future__ import annotations

import time
from pathlib import Path

from planish.wrapper.request import TranslatedFunction, Translation, TranslationRequest

_OTHER = "double pow(double, double); static double more(double x) { return pow(x, x); }\n"


def translate(request: TranslationRequest, until: float | None = None) -> Translation:
    text = Path(request.source).read_text()
    if "crash" in text:
        raise RuntimeError("as asked")
    if "counted" in text:
        time.sleep(0.3)
        with Path("translations").open("a") as file:
            file.write("x")
    if "slow" in text:
        time.sleep(60)
    if "return 1" not in text:
        return Translation("", "nothing to replace")
    declared, value = "", "2"
    if "other" in text:
        declared, value = _OTHER, "(int)more(a[0])"
    made = f'{declared}#line 1 "{request.source}"\n' + text.replace("return 1", f"return {value}")
    return Translation(made, functions=(TranslatedFunction("value", 1, True, "doubled"),))
