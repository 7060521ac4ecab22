"""Where things lie: the repository, the programs that are measured, and the folder that results are stored in.

>>> (RESULTS.name, RESULTS.parent.name)
('results', 'bench')
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The repository."""
BENCH = ROOT / "bench"
RESULTS = BENCH / "results"
"""Where every script stores what it measured, and nothing else writes; it is not under version control."""
EXAMPLES = ROOT / "examples"
PROGRAMS = BENCH / "programs"
"""C files that are measured besides the examples, a folder for each kind."""
RIVALS = BENCH / "rivals"
"""What programs are compared with, as far as it is C."""
