"""Model files: a zip archive of plain arrays and one ``model.json``; nothing in it is ever executed.

What the parts mean is known to `momata.io.model_parts`; this module knows the container.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from momata.errors import ModelFileError, MomataError
from momata.io.model_parts import checked_description, model_of_parts, no_constant, parts_of_model, unwritable_notes
from momata.io.streams import PathLike, atomic_write, display_name, read_bytes

__all__ = ["KNOWN_TYPES", "load", "save"]

_JSON = "model.json"
_DATE = (1980, 1, 1, 0, 0, 0)  # equal models give equal files
_FREE, _FACTOR = 64 << 20, 50  # a file may unpack to 64 MiB, or to 50 times its size
_MAX_JSON = 256 << 20
KNOWN_TYPES = ("<f8", "<i8", "<i4", "<f4", "|b1", "|u1")


def save(model: Any, path: PathLike, force: bool = True) -> None:
    """Write a model to a file; ``"-"`` is standard output.

    Parameters
    ----------
    model : LanguageModel
    path : str or path
    force : bool
        Replace an existing file. Either way the file appears whole or not at all.
    """
    arrays, description = parts_of_model(model)
    try:
        text = json.dumps(description, ensure_ascii=False, allow_nan=False, indent=1).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise unwritable_notes(error) from None
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
    return model_of_parts(arrays, description, name)


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
        found = json.loads(_content(archive, _JSON, sizes[_JSON]).decode("utf-8"), parse_constant=no_constant)
    except RecursionError:
        raise ModelFileError(f"{name}: {_JSON} is nested too deeply to be a model's. The file is damaged.") from None
    return checked_description(found, name)


def _read_array(data: bytes, member: str, name: str) -> NDArray[Any]:
    """Read one array; only plain numbers, only of the size that is really there, and no NaN or infinity."""
    buffer = io.BytesIO(data)
    version = np.lib.format.read_magic(buffer)
    if version != (1, 0):
        raise ModelFileError(f"{name}: {member} has array format {version}; models have (1, 0). The file is damaged.")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(buffer)
    body = data[buffer.tell() :]
    if dtype.str not in KNOWN_TYPES or fortran:
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


class _Unseekable:
    """A stream that only writes, so that zipfile never seeks in a pipe."""

    def __init__(self, stream: Any) -> None:
        self.write, self.flush = stream.write, stream.flush
