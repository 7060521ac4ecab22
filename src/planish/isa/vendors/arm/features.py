"""Feature requirements of Neon instructions, by the beginnings of their names.

>>> features_of("usdot", "vusdotq_s32"), features_of("pmull2", "vmull_high_p64"), features_of("add", "vaddq_s8")
(('I8MM',), ('AES',), ())
"""

from __future__ import annotations

_BEGINNINGS = (
    (("aes",), "AES"), (("sha1", "sha256"), "SHA2"), (("crc32",), "CRC32"), (("sqrdmlah", "sqrdmlsh"), "RDM"),
    (("usdot", "sudot", "smmla", "ummla", "usmmla"), "I8MM"), (("sdot", "udot"), "DOTPROD"),
)  # fmt: skip


def features_of(mnemonic: str, name: str) -> tuple[str, ...]:
    """The extensions that an intrinsic needs: FEAT_AES, FEAT_SHA256 and so on."""
    if mnemonic.startswith("pmull") and "p64" in name:
        return ("AES",)
    return tuple(feature for starts, feature in _BEGINNINGS if mnemonic.startswith(starts))
