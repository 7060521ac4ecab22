"""A Dask cluster of two workers on this machine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def cluster_address() -> Iterator[str]:
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "protocol": "tcp://"}
    with distributed.LocalCluster(**options) as cluster:
        yield cluster.scheduler_address
