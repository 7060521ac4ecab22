"""A content-addressed store on disk, shared safely by several processes, that never fails a build.

>>> import tempfile
>>> cache = Cache(tempfile.mkdtemp())
>>> address = key("source text", "-O3", 1)
>>> cache.put(address, b"object code")
True
>>> cache.get(address)
b'object code'
>>> cache.info().entries
1
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from planish.core.diagnostic import Diagnostic

DEFAULT_LIMIT = 512 * 1024 * 1024
"""Bytes that a cache holds before the entries used longest ago are dropped."""

_DIGEST = 32
_SUFFIX = ".entry"
_KEEP = 0.8  # an eviction goes below the limit, so that the next put does not evict again


class CacheWarning(UserWarning):
    """The cache does not work (disk full, no permission); the build goes on without it."""


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """What a cache holds: how many entries, how many bytes with their headers, and where."""

    entries: int
    bytes: int
    path: Path


def default_root() -> Path:
    """The user's cache directory for planish (`$XDG_CACHE_HOME/planish`, else `~/.cache/planish`)."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification says that a relative path is to be ignored.
    if base and Path(base).is_absolute():
        return Path(base) / "planish"
    return Path(os.path.expanduser("~")) / ".cache" / "planish"


def key(*parts: object) -> str:
    """The address of what `parts` determine: SHA-256 over their types and texts, as 64 hexadecimal digits.

    Parts are separated by their lengths, so `key("ab", "c")` and `key("a", "bc")` differ. The text of a part is its
    bytes, or its `repr`, which has to be the same in every process (dataclasses, numbers, strings and tuples are).
    """
    digest = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else repr(part).encode("utf-8", "surrogatepass")
        digest.update(f"{type(part).__name__}:{len(data)}:".encode())
        digest.update(data)
    return digest.hexdigest()


class Cache:
    """Bytes by address under the directory `root`.

    Each entry is one file that starts with the digest of its content: a damaged entry is a miss and is removed.
    Writers put a whole file in place by a rename, so a reader sees an entry whole or not at all. Where the directory
    cannot be written, one `CacheWarning` is given and every `put` does nothing.
    """

    def __init__(self, root: str | Path | None = None, limit_bytes: int = DEFAULT_LIMIT) -> None:
        self.root = Path(root) if root is not None else default_root()
        self.limit_bytes = limit_bytes
        self._lock = threading.Lock()
        self._held: int | None = None
        self._warned = False

    def get(self, address: str) -> bytes | None:
        """The content at `address`, or None; it then counts as used now."""
        path = self._path(address)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            self._warn("read", error)
            return None
        content = data[_DIGEST:]
        if len(data) < _DIGEST or hashlib.sha256(content).digest() != data[:_DIGEST]:
            _remove(path)
            return None
        try:
            os.utime(path)
        except OSError:
            pass  # only the order of eviction suffers
        return content

    def put(self, address: str, content: bytes) -> bool:
        """Stores `content` at `address`, and says whether it did: on any trouble with the disk it warns once and stores
        nothing."""
        if len(content) + _DIGEST > self.limit_bytes:
            return False
        path = self._path(address)
        temporary = ""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(prefix=".put-", dir=path.parent)
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(content).digest())
                file.write(content)
            os.replace(temporary, path)
            temporary = ""
        except OSError as error:
            self._warn("write", error)
            return False
        finally:
            if temporary:
                _remove(Path(temporary))
        self._account(len(content) + _DIGEST)
        return True

    def info(self) -> CacheInfo:
        """The number of entries and their bytes, counted now."""
        sizes = [size for _, _, size in self._entries()]
        return CacheInfo(len(sizes), sum(sizes), self.root)

    def clear(self) -> None:
        """Removes every entry, and what interrupted writers left; other files under the root stay."""
        with self._lock:
            for bucket in self._buckets():
                try:
                    shutil.rmtree(bucket)
                except FileNotFoundError:
                    pass  # another process clears as well
                except OSError as error:
                    self._warn("clear", error)
            self._held = None

    def _path(self, address: str) -> Path:
        if len(address) < 3 or not address.isalnum():
            raise ValueError(f"not an address of a cache entry: {address!r}")
        return self.root / address[:2] / (address[2:] + _SUFFIX)

    def _buckets(self) -> Iterator[Path]:
        try:
            children = sorted(self.root.iterdir())
        except OSError:
            return
        yield from (child for child in children if len(child.name) == 2 and child.is_dir())

    def _entries(self) -> list[tuple[float, Path, int]]:
        found: list[tuple[float, Path, int]] = []
        for bucket in self._buckets():
            try:
                with os.scandir(bucket) as entries:
                    for entry in entries:
                        if entry.name.endswith(_SUFFIX):
                            stat = entry.stat()
                            found.append((stat.st_mtime, Path(entry.path), stat.st_size))
            except OSError:
                continue  # another process removed it in the meantime
        return found

    def _account(self, added: int) -> None:
        with self._lock:
            # What other processes add is seen at the next count; the limit is kept roughly, the scan is rare.
            self._held = None if self._held is None else self._held + added
            if self._held is not None and self._held <= self.limit_bytes:
                return
            entries = sorted(self._entries())
            held = sum(size for _, _, size in entries)
            if held > self.limit_bytes:
                for _, path, size in entries:
                    if held <= self.limit_bytes * _KEEP:
                        break
                    _remove(path)
                    held -= size
            self._held = held

    def _warn(self, verb: str, error: OSError) -> None:
        if self._warned:
            return
        self._warned = True
        reason = error.strerror or str(error)
        diagnostic = Diagnostic(
            "E0901",
            f"cannot {verb} the cache in {self.root}: {reason}",
            help="the build goes on without it; set XDG_CACHE_HOME to a directory that can be written",
            severity="warning",
        )
        warnings.warn(CacheWarning(diagnostic.render()), stacklevel=3)


def _remove(path: Path) -> None:
    try:
        path.unlink()
    except OSError:
        pass
