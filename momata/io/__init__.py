"""Every byte in or out.

Names load on first use, so that asking for one reader does not pay for the others.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "momata.io.automata": ("read_model", "write_model"),
    "momata.io.hmmlearn_bridge": ("from_hmmlearn", "to_hmmlearn"),
    "momata.io.formats": ("read_corpus", "write_corpus"),
    "momata.io.model_file": ("load", "save"),
    "momata.io.pautomac": ("read_ranking", "read_target"),
    "momata.io.tables": ("read_events",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [*sorted(_HOME_OF)]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'momata.io' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
