"""The one place with compile options."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

import numba

__all__ = ["kernel"]

_Function = TypeVar("_Function", bound=Callable[..., Any])
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


def kernel(function: _Function) -> _Function:
    """Compile a function on its first call; keep the machine code on disk where that is possible.

    Compiled functions run without the interpreter lock.
    """
    try:
        return numba.njit(cache=True, **_OPTIONS)(function)  # type: ignore[no-any-return]
    except RuntimeError as error:  # numba: "cannot cache function ...: no locator available"
        logging.getLogger("momata").info("compiled code is not kept: %s", error)
        return numba.njit(**_OPTIONS)(function)  # type: ignore[no-any-return]
