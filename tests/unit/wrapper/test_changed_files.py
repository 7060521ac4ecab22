"""A drop-in is for the text that the compiler was to take: none is made of a file that is another one by then.

    translate(request)  # a reason and no text, where `request.expanded` is the digest of something else
"""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from planish.core.cache import Cache
from planish.wrapper import worker
from planish.wrapper.preprocessing import digest_text, preprocess_by
from planish.wrapper.request import CHANGED, Translation, TranslationRequest
from planish.wrapper.translation import translate
from planish.wrapper.worker import translate_remembered

GCC = shutil.which("gcc") or ""
pytestmark = pytest.mark.skipif(not GCC, reason="gcc is not here")
PRODUCT = """\
void product(float *restrict c, const float *restrict a, const float *restrict b)
{
    for (int i = 0; i < 64; i++)
        for (int j = 0; j < 64; j++)
            for (int k = 0; k < 64; k++)
                c[i * 64 + j] += a[i * 64 + k] * b[k * 64 + j];
}
"""


@pytest.fixture
def request_(tmp_path: Path) -> TranslationRequest:
    path = tmp_path / "product.c"
    path.write_text(PRODUCT)
    flags = ("-O3", "-march=native")
    digest = digest_text(preprocess_by(GCC, flags, str(path)))
    return TranslationRequest(
        str(path), GCC, "gcc", flags, (), (), flags, "reassociate", 60.0, expanded=digest
    )  # fmt: skip


def test_a_file_that_was_edited_is_not_replaced(request_: TranslationRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Translation("void product(void) {}\n")
    monkeypatch.setattr("planish.wrapper.translation._translate", lambda *_: made)
    assert translate(request_).text == made.text
    Path(request_.source).write_text(PRODUCT.replace("+=", "-="))
    assert translate(request_).reason == CHANGED
    assert translate(replace(request_, expanded=digest_text(""))).reason == CHANGED


def test_nothing_is_kept_of_it(
    request_: TranslationRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = [Translation("", CHANGED), Translation("", "no loop")]
    monkeypatch.setattr(worker, "_run", lambda *_: answers.pop(0))
    asked = [translate_remembered(request_, "text", Cache(tmp_path), tmp_path, lambda: True)[0] for _ in range(3)]
    assert [x.reason for x in asked] == [CHANGED, "no loop", "no loop"]
