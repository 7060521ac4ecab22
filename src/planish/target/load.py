"""From what the user calls a machine to the machine: a described one, or this one.

>>> load_target("native").name, load_target("generic").name
('native', 'generic')
"""

from __future__ import annotations

from planish.target.description import NATIVE, load_description
from planish.target.machine import Target
from planish.target.probe import probe_host


def load_target(name: str) -> Target:
    """The target of `--target NAME`: "native" is probed, others are described in machines/NAME.toml or in NAME.toml.

    Raises PlanishError E0701 where there is none, E0702 where the file is no TOML, E0703 where an entry is wrong.
    """
    return probe_host() if name == NATIVE else load_description(name)
