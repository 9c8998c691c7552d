"""Model files: a zip archive of plain arrays and one ``model.json``; nothing in it is ever executed.

Each kind of model gives its arrays and plain values (`to_parts`) and takes them back, checking that they make sense
(`from_parts`); this module knows the container.
"""

from __future__ import annotations

import importlib
import io
import json
import math
import zipfile
from importlib import metadata
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momata.core.alphabet import Alphabet
from momata.errors import AlphabetError, ModelFileError, MomataError, OptionError
from momata.io.streams import PathLike, atomic_write, display_name, read_bytes

__all__ = ["FORMAT_VERSION", "load", "save", "versions"]

FORMAT_VERSION = 1

_KINDS = {
    "ngram": ("momata.predict.ngram_model", "NGramModel"),
    "automaton": ("momata.predict.automaton_model", "AutomatonModel"),
}
_JSON = "model.json"
_DATE = (1980, 1, 1, 0, 0, 0)  # equal models give equal files
_FREE, _FACTOR = 64 << 20, 50  # a file may unpack to 64 MiB, or to 50 times its size
_MAX_JSON = 256 << 20
_MAX_BITS = 10_000  # of an integer; Python writes and reads no longer ones as text
_KNOWN_TYPES = ("<f8", "<i8", "<i4", "<f4", "|b1", "|u1")


def save(model: Any, path: PathLike, force: bool = True) -> None:
    """Write a model to a file; ``"-"`` is standard output.

    Parameters
    ----------
    model : LanguageModel
    path : str or path
    force : bool
        Replace an existing file. Either way the file appears whole or not at all.
    """
    if type(model).__name__ not in {name for _, name in _KINDS.values()}:
        raise OptionError(
            f"a {type(model).__name__} cannot be saved as a model. Save the language model that a learner returns."
        )
    arrays, values = model.to_parts()
    description = {
        "format": "momata", "version": FORMAT_VERSION, "kind": model.kind, "alphabet": _alphabet_out(model.alphabet),
        **values, "training": {k: v for k, v in model.training.items() if k != "versions"},
        "versions": model.training.get("versions") or versions(),
    }  # fmt: skip
    try:
        text = json.dumps(_plain(description), ensure_ascii=False, allow_nan=False, indent=1).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise OptionError(
            f"the training notes of the model cannot be written to a file ({error}). Keep plain values in them."
        ) from None
    with atomic_write(path, force, "wb") as file, zipfile.ZipFile(_Unseekable(file), "w") as archive:
        archive.writestr(zipfile.ZipInfo(_JSON, _DATE), text, zipfile.ZIP_DEFLATED)
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, np.ascontiguousarray(array), allow_pickle=False)
            archive.writestr(
                zipfile.ZipInfo(f"{name}.npy", _DATE), buffer.getbuffer(), zipfile.ZIP_DEFLATED, compresslevel=1
            )


def load(path: PathLike) -> Any:
    """Read a model from a file; ``"-"`` is standard input.

    Raises
    ------
    ModelFileError
        If the file is not a sound model file of this version of momata or an older one.
    """
    name = display_name(path)
    data = read_bytes(path, _FACTOR)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            sizes = _checked_members(archive, len(data), name)
            description = _read_description(archive, sizes, name)
            arrays = {
                member.removesuffix(".npy"): _read_array(_content(archive, member, size), member, name)
                for member, size in sizes.items()
                if member != _JSON
            }
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, OSError, ValueError, KeyError) as error:
        if isinstance(error, MomataError):
            raise
        raise ModelFileError(
            f"{name}: {_diagnosis(data)} ({error}). Learn the model again, or fetch the file again."
        ) from None
    except Exception as error:  # zlib.error and struct.error have no common base below Exception
        raise ModelFileError(
            f"{name}: {_diagnosis(data)} ({error}). Learn the model again, or fetch the file again."
        ) from None
    module, class_name = _KINDS[description["kind"]]
    kind = getattr(importlib.import_module(module), class_name)
    try:
        model = kind.from_parts(arrays, description | {"alphabet": _alphabet_in(description["alphabet"])})
    except (
        MomataError,
        KeyError,
        TypeError,
        ValueError,
        IndexError,
        OverflowError,
        AttributeError,
        RecursionError,
    ) as error:
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


# ---------------------------------------------------------------------- reading


def _checked_members(archive: zipfile.ZipFile, n_bytes: int, name: str) -> dict[str, int]:
    """Return what the archive holds, once it is known to be of a sensible size."""
    infos = archive.infolist()
    sizes = {info.filename: info.file_size for info in infos}
    if _JSON not in sizes:
        raise ModelFileError(
            f"{name}: an archive without {_JSON}, so it is no model of momata. Give a file that `momata learn` wrote."
        )
    total, allowed = sum(sizes.values()), max(_FREE, _FACTOR * n_bytes)
    if total > allowed or sizes[_JSON] > _MAX_JSON:
        raise ModelFileError(
            f"{name}: {n_bytes:,} bytes claim to unpack to {total:,}, more than the {allowed:,} that a model can. "
            "The file is damaged or was made to fill memory; do not use it."
        )
    if len(sizes) != len(infos) or any(m != _JSON and not m.endswith(".npy") for m in sizes):
        raise ModelFileError(
            f"{name}: the archive holds more than arrays and {_JSON}. Give a file that `momata learn` wrote."
        )
    if any(info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for info in infos):
        raise ModelFileError(
            f"{name}: the archive is compressed in a way that no model is. Give a file that `momata learn` wrote."
        )
    return sizes


def _content(archive: zipfile.ZipFile, member: str, size: int) -> bytes:
    """Return what a member holds, unpacking no more than the archive says there is."""
    with archive.open(member) as file:
        return file.read(size)


def _read_description(archive: zipfile.ZipFile, sizes: dict[str, int], name: str) -> dict[str, Any]:
    try:
        found = json.loads(_content(archive, _JSON, sizes[_JSON]).decode("utf-8"), parse_constant=_no_constant)
    except RecursionError:
        raise ModelFileError(f"{name}: {_JSON} is nested too deeply to be a model's. The file is damaged.") from None
    if not isinstance(found, dict) or found.get("format") != "momata":
        raise ModelFileError(
            f"{name}: {_JSON} does not describe a model of momata. Give a file that `momata learn` wrote."
        )
    version = found.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ModelFileError(f"{name}: its format version is {version!r}, which is none. The file is damaged.")
    if version > FORMAT_VERSION:
        by = found.get("versions")
        writer = by.get("momata", "?") if isinstance(by, dict) else "?"
        raise ModelFileError(
            f"{name}: written in format version {version} (by momata {writer}); this momata reads up to {FORMAT_VERSION}. "
            "Upgrade momata to use it."
        )
    if found.get("kind") not in _KINDS:
        raise ModelFileError(
            f"{name}: holds a model of kind {found.get('kind')!r}, unknown here. Known: {', '.join(_KINDS)}."
        )
    if not isinstance(found.setdefault("training", {}), dict):
        raise ModelFileError(
            f"{name}: its training summary is {found['training']!r:.40}, not an object. The file is damaged."
        )
    return found


def _no_constant(word: str) -> float:
    raise ValueError(f"{word} is no JSON")


def _read_array(data: bytes, member: str, name: str) -> NDArray[Any]:
    """Read one array; only plain numbers, only of the size that is really there, and no NaN or infinity."""
    buffer = io.BytesIO(data)
    version = np.lib.format.read_magic(buffer)
    if version != (1, 0):
        raise ModelFileError(f"{name}: {member} has array format {version}; models have (1, 0). The file is damaged.")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(buffer)
    body = data[buffer.tell() :]
    if dtype.str not in _KNOWN_TYPES or fortran:
        raise ModelFileError(
            f"{name}: {member} has type {dtype.str}, which no model has. Refused: it may hold objects."
        )
    if math.prod(shape) * dtype.itemsize != len(body):
        raise ModelFileError(
            f"{name}: {member} should hold {shape} numbers and has {len(body)} bytes. The file is damaged."
        )
    array = np.frombuffer(body, dtype).reshape(shape)
    if dtype.kind == "f" and not np.all(np.isfinite(array)):
        n_bad = int(np.count_nonzero(~np.isfinite(array)))
        raise ModelFileError(
            f"{name}: {n_bad} of {array.size} numbers in {member} are NaN or infinite. Learn the model again."
        )
    return array


def _diagnosis(data: bytes) -> str:
    if data[:1] == b"\x80" and data[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        return "this is a Python pickle, which could run code; momata never opens one"
    if data[:4] == b"PK\x03\x04":
        return "a damaged or truncated model file"
    return "not a model file of momata"


# ---------------------------------------------------------------------- plain values


def _alphabet_out(alphabet: Alphabet) -> dict[str, Any]:
    return {"symbols": [_symbol_out(s) for s in alphabet.symbols], "closed": alphabet.closed}


def _symbol_out(symbol: Any) -> Any:
    if symbol is None or (isinstance(symbol, int) and symbol.bit_length() < _MAX_BITS):
        return symbol
    if isinstance(symbol, str) and not any("\ud800" <= c <= "\udfff" for c in symbol):
        return symbol
    if isinstance(symbol, float) and math.isfinite(symbol):
        return symbol
    if isinstance(symbol, tuple):
        return {"tuple": [_symbol_out(s) for s in symbol]}
    raise AlphabetError(
        f"a symbol of type {type(symbol).__name__} cannot be written to a model file{_shown(symbol)}. "
        "Use texts, numbers, or tuples of these as symbols."
    )


def _shown(symbol: Any) -> str:
    try:
        return f": {symbol!r:.80}"
    except ValueError:  # a number with more digits than Python writes
        return ""


def _symbol_in(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        raise AlphabetError("a number of its alphabet is too large")
    return tuple(map(_symbol_in, _list_in(value["tuple"]))) if isinstance(value, dict) else value


def _list_in(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise AlphabetError(f"{value!r:.40} stands where symbols should")
    return value


def _alphabet_in(value: Any) -> Alphabet:
    return Alphabet(map(_symbol_in, _list_in(value["symbols"])), closed=bool(value["closed"]))


def _plain(value: Any) -> Any:
    """Return a value in terms that strict JSON has: a number that does not exist becomes null."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, np.generic | np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


class _Unseekable:
    """A stream that only writes, so that zipfile never seeks in a pipe."""

    def __init__(self, stream: Any) -> None:
        self.write, self.flush = stream.write, stream.flush
