"""Models as one strict JSON object: the same parts as in a model file, arrays as lists; numbers come back bit for bit.

An array is ``{"type": "f8", "shape": [2, 3], "values": [...]}``, its values row by row.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momata.errors import FormatError, ModelFileError, MomataError
from momata.io.model_file import KNOWN_TYPES
from momata.io.model_parts import (
    MAX_BITS,
    checked_description,
    model_of_parts,
    no_constant,
    parts_of_model,
    unwritable_notes,
)
from momata.io.streams import PathLike, atomic_write, decode_text, display_name, read_bytes
from momata.predict.language_model import LanguageModel

__all__ = ["read_json", "write_json"]

_TYPES = {kind.lstrip("<|"): np.dtype(kind) for kind in KNOWN_TYPES}
_STRING_OR_CONSTANT = re.compile(r'"(?:[^"\\]|\\.)*"|NaN|-?Infinity', re.DOTALL)


def write_json(model: LanguageModel, path: PathLike, force: bool = False) -> None:
    """Write a model of any kind that model files know; ``"-"`` is standard output."""
    arrays, description = parts_of_model(model)
    try:
        lines = [f"{json.dumps(k)}: {_dumped(v)}" for k, v in description.items()]
    except (TypeError, ValueError, RecursionError) as error:
        raise unwritable_notes(error) from None
    shown = ",\n".join(f"  {json.dumps(name)}: {_dumped(_array_out(array))}" for name, array in arrays.items())
    lines.append(f'"arrays": {{\n{shown}\n}}')
    with atomic_write(path, force) as file:
        file.write("{\n" + ",\n".join(lines) + "\n}\n")


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, allow_nan=False)


def _array_out(array: NDArray[Any]) -> dict[str, Any]:
    return {"type": array.dtype.str.lstrip("<|"), "shape": list(array.shape), "values": array.ravel().tolist()}


# ---------------------------------------------------------------------- reading


def read_json(path: PathLike) -> LanguageModel:
    """Read a model; ``"-"`` is standard input.

    Raises
    ------
    FormatError
        If the file is no strict JSON; the message says where.
    ModelFileError
        If it is, and holds no sound model of this version of momata or an older one.
    """
    name = display_name(path)
    description = checked_description(_parsed(decode_text(read_bytes(path), path), name), name)
    try:
        given = description.pop("arrays")
        if not isinstance(given, dict):
            raise ModelFileError(f"its arrays are {str(given)[:40]}, not an object")
        arrays = {key: _array_in(value, key) for key, value in given.items()}
    except (MomataError, LookupError, TypeError, ValueError, OverflowError) as error:
        what = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
        raise ModelFileError(
            f"{name}: the parts of this model do not fit together: {what}. Correct them, or write the model again."
        ) from None
    model: LanguageModel = model_of_parts(arrays, description, name)
    return model


def _parsed(text: str, name: str) -> Any:
    try:
        return json.loads(
            text, parse_constant=no_constant, parse_int=_whole, parse_float=_finite,
            object_pairs_hook=_without_repeats,
        )  # fmt: skip
    except json.JSONDecodeError as error:
        raise FormatError(
            f"is no JSON: {error.msg}. Correct it, or fetch the file again.", name, error.lineno, error.colno
        ) from None
    except RecursionError:
        raise FormatError("is nested too deeply to be a model. The file is damaged.", name) from None
    except ValueError as error:
        place = next((m.start() for m in _STRING_OR_CONSTANT.finditer(text) if m.group()[0] != '"'), None)
        if "is no JSON" not in str(error) or place is None:
            raise FormatError(f"{error}. Correct it, or fetch the file again.", name) from None
        line, column = text.count("\n", 0, place) + 1, place - text.rfind("\n", 0, place)
        raise FormatError(
            f"{error}, and no weight. Correct it, or learn the model again.", name, line, column
        ) from None


def _whole(digits: str) -> int:
    if len(digits) > MAX_BITS // 3:
        raise ValueError(f"a whole number of {len(digits)} digits is too long")
    return int(digits)


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError(f"the number {digits[:40]} is too large")
    return value


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"an object has the name {twice[:40]!r} twice")
    return found


def _array_in(value: Any, name: str) -> NDArray[Any]:
    """Return an array, if it has the numbers that it says."""
    dtype = _TYPES.get(value["type"]) if isinstance(value, dict) and isinstance(value["type"], str) else None
    if dtype is None:
        raise ModelFileError(f"{name} is no array of a known type ({', '.join(_TYPES)})")
    shape, values = value["shape"], value["values"]
    if not (isinstance(shape, list) and isinstance(values, list) and all(map(_is_size, shape))):
        raise ModelFileError(f"{name} lacks a list of its sizes or of its values")
    if math.prod(shape) != len(values):
        raise ModelFileError(f"{name} should hold {math.prod(shape)} numbers and holds {len(values)}")
    wanted = {"f": (int, float), "i": (int,), "u": (int,), "b": (bool,)}[dtype.kind]
    if not all(type(v) in wanted for v in values):
        odd = next(v for v in values if type(v) not in wanted)
        raise ModelFileError(f"{name} holds {str(odd)[:40]!r}, no number of its type")
    array = np.array(values, dtype=dtype).reshape(shape)
    if dtype.kind == "f" and not np.all(np.isfinite(array)):
        raise ModelFileError(f"{name} holds a number that is too large")
    return array


def _is_size(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**40
