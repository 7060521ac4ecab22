"""What a run has found so far: a JSON file that is written anew after each item, so that nothing is lost.

state = State(Path("gpu.json")); state.begin("check gemm.own"); state.finish("check gemm.own", {"worst": 1e-7})
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


class State:
    """Facts, items with what was found, faults, and the item at work."""

    def __init__(self, path: Path, content: dict[str, Any] | None = None):
        self.path = path
        self.content: dict[str, Any] = content if content is not None else self._read()

    def _read(self) -> dict[str, Any]:
        if self.path.exists():
            return dict(json.loads(self.path.read_text()))
        return {"facts": {}, "compiled": {}, "items": {}, "faults": [], "current": "", "begun": 0.0}

    def save(self) -> None:
        """Replace the file at once, so that no half of it is ever read."""
        part = self.path.with_suffix(".part")
        part.write_text(json.dumps(self.content, indent=1) + "\n")
        os.replace(part, self.path)

    def is_done(self, item: str) -> bool:
        """Whether an item was finished, or has failed."""
        return item in self.content["items"]

    def begin(self, item: str, now: float) -> None:
        """Say which item is at work, since when."""
        self.content["current"], self.content["begun"] = item, now
        self.save()

    def finish(self, item: str, found: dict[str, Any]) -> None:
        """Keep what an item found."""
        self.content["items"][item] = found
        self.content["current"] = ""
        self.save()

    def fail(self, item: str, what: str) -> None:
        """Keep that an item failed."""
        self.content["faults"].append({"item": item, "what": what[-1500:]})
        self.finish(item, {"failed": what.strip().splitlines()[-1][:300] if what.strip() else "failed"})
