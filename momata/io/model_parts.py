"""What every container of a model keeps, whatever its bytes look like: a description of plain values, and arrays.

Each kind of model gives its arrays and plain values (`to_parts`) and takes them back, checking that they make sense
(`from_parts`).
"""

from __future__ import annotations

import importlib
import math
from importlib import metadata
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momata.core.alphabet import Alphabet
from momata.errors import AlphabetError, ModelFileError, MomataError, OptionError

__all__ = [
    "FORMAT_VERSION",
    "MAX_BITS",
    "checked_description",
    "model_of_parts",
    "no_constant",
    "parts_of_model",
    "plain",
    "symbol_in",
    "symbol_out",
    "unwritable_notes",
    "versions",
]

FORMAT_VERSION = 1
MAX_BITS = 10_000
"""Of an integer; Python writes and reads no longer ones as text."""

_KINDS = {
    "ngram": ("momata.predict.ngram_model", "NGramModel"),
    "automaton": ("momata.predict.automaton_model", "AutomatonModel"),
    "em_state": ("momata.learn.em", "EMState"),
}


def parts_of_model(model: Any) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return a model's arrays and its description, which strict JSON can hold but for what a user put in ``training``."""
    if type(model).__name__ not in {name for _, name in _KINDS.values()}:
        raise OptionError(
            f"a {type(model).__name__} cannot be saved as a model. "
            "Save a language model: what a learner returns as .model, or LanguageModel(automaton)."
        )
    arrays, values = model.to_parts()
    description = {
        "format": "momata", "version": FORMAT_VERSION, "kind": model.kind, "alphabet": _alphabet_out(model.alphabet),
        **values, "training": {k: v for k, v in model.training.items() if k != "versions"},
        "versions": model.training.get("versions") or versions(),
    }  # fmt: skip
    try:
        return arrays, plain(description)
    except RecursionError as error:
        raise unwritable_notes(error) from None


def unwritable_notes(error: Exception) -> OptionError:
    """Say that ``training`` holds something that is no plain value."""
    return OptionError(
        f"the training notes of the model cannot be written to a file ({error}). Keep plain values in them."
    )


def checked_description(found: Any, name: str) -> dict[str, Any]:
    """Return a description once it is known to be one of a model that this version can read."""
    if not isinstance(found, dict) or found.get("format") != "momata":
        raise ModelFileError(f"{name}: does not describe a model of momata. Give a file that `momata` wrote.")
    version = found.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ModelFileError(
            f"{name}: its format version is {str(version)[:40]!r}, which is none. The file is damaged."
        )
    if version > FORMAT_VERSION:
        by = found.get("versions")
        writer = by.get("momata", "?") if isinstance(by, dict) else "?"
        raise ModelFileError(
            f"{name}: written in format version {str(version)[:40]} (by momata {str(writer)[:40]}); "
            f"this momata reads up to {FORMAT_VERSION}. Upgrade momata to use it."
        )
    kind = found.get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise ModelFileError(
            f"{name}: holds a model of kind {str(kind)[:40]!r}, unknown here. Known: {', '.join(_KINDS)}."
        )
    if not isinstance(found.setdefault("training", {}), dict):
        raise ModelFileError(
            f"{name}: its training summary is {str(found['training'])[:40]!r}, not an object. The file is damaged."
        )
    return found


def model_of_parts(arrays: dict[str, NDArray[Any]], description: dict[str, Any], name: str) -> Any:
    """Make a model of its parts; whatever does not fit is a `ModelFileError`."""
    module, class_name = _KINDS[description["kind"]]
    kind = getattr(importlib.import_module(module), class_name)
    try:
        model = kind.from_parts(arrays, description | {"alphabet": _alphabet_in(description["alphabet"])})
    except (MomataError, LookupError, TypeError, ValueError, OverflowError, AttributeError, RecursionError) as error:
        what = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
        raise ModelFileError(
            f"{name}: the parts of this model do not fit together: {what}. Learn the model again."
        ) from None
    model.training.setdefault("versions", description.get("versions", {}))
    return model


def versions() -> dict[str, str]:
    """Return the versions of what computes."""
    import platform

    from momata import __version__

    found = {"momata": __version__, "python": platform.python_version()}
    for package in ("numpy", "scipy", "numba", "scikit-learn"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = "absent"
    return found


def no_constant(word: str) -> float:
    """Refuse NaN and Infinity, which strict JSON does not have."""
    raise ValueError(f"{word} is no JSON")


# ---------------------------------------------------------------------- plain values


def _alphabet_out(alphabet: Alphabet) -> dict[str, Any]:
    return {"symbols": [symbol_out(s) for s in alphabet.symbols], "closed": alphabet.closed}


def symbol_out(symbol: Any) -> Any:
    """Return a symbol as a plain value; tuples are objects with one name."""
    if symbol is None or (isinstance(symbol, int) and symbol.bit_length() < MAX_BITS):
        return symbol
    if isinstance(symbol, str) and not any("\ud800" <= c <= "\udfff" for c in symbol):
        return symbol
    if isinstance(symbol, float) and math.isfinite(symbol):
        return symbol
    if isinstance(symbol, tuple):
        return {"tuple": [symbol_out(s) for s in symbol]}
    raise AlphabetError(
        f"a symbol of type {type(symbol).__name__} cannot be written to a model file{_shown(symbol)}. "
        "Use texts, numbers, or tuples of these as symbols."
    )


def _shown(symbol: Any) -> str:
    try:
        return f": {symbol!r:.80}"
    except ValueError:  # a number with more digits than Python writes
        return ""


def symbol_in(value: Any) -> Any:
    """Return the symbol that a plain value stands for."""
    if isinstance(value, float) and not math.isfinite(value):
        raise AlphabetError("a number of its alphabet is too large")
    return tuple(map(symbol_in, _list_in(value["tuple"]))) if isinstance(value, dict) else value


def _list_in(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise AlphabetError(f"{value!r:.40} stands where symbols should")
    return value


def _alphabet_in(value: Any) -> Alphabet:
    return Alphabet(map(symbol_in, _list_in(value["symbols"])), closed=bool(value["closed"]))


def plain(value: Any) -> Any:
    """Return a value in terms that strict JSON has: a number that does not exist becomes null."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, np.generic | np.ndarray):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
