"""Whole files in, whole files out: compressed or not, standard streams included.

A reader gets all bytes or a `FormatError` that names the file; a writer leaves either the complete new file or what was
there before.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import secrets
import shutil
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from momata.errors import FormatError, OptionError

__all__ = ["atomic_write", "check_text", "check_writable", "decode_text", "display_name", "place_of", "read_bytes"]

MAX_UNPACKED = 4 << 30
"""How many bytes a compressed file may unpack to; more is taken for a mistake or a trap."""

_FREE = 64 << 20
_GZIP_MARK = b"\x1f\x8b"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_CHUNK = 16 << 20

PathLike = str | os.PathLike[str]


def display_name(path: PathLike) -> str:
    """Return the name of a file for messages."""
    return "standard input" if os.fspath(path) == "-" else os.fspath(path) or "''"


# ---------------------------------------------------------------------- reading


def read_bytes(path: PathLike, factor: int | None = None) -> bytes:
    """Return the bytes of a file, unpacked if it is compressed with gzip.

    Parameters
    ----------
    path : str or path
        ``"-"`` is standard input. Gzip is recognised by the name (``.gz``) or by the first two bytes.
    factor : int, optional
        How many times its size a compressed file may unpack to, beyond the first 64 MiB; by default 4 GiB are allowed.
    """
    name = display_name(path)
    data = _read_stdin() if os.fspath(path) == "-" else _read_file(path, name)
    if data.startswith(_GZIP_MARK):
        return _unpack(data, name, MAX_UNPACKED if factor is None else max(_FREE, factor * len(data)))
    if name.lower().endswith(".gz"):
        found = "is empty" if not data else f"starts with the bytes {data[:2].hex(' ')}"
        raise FormatError(
            f"is named .gz but {found}; a gzip file starts with 1f 8b. Rename it, or compress it with gzip.", name
        )
    return data


def _read_stdin() -> bytes:
    if sys.stdin is None:
        raise FormatError("is closed, so there is nothing to read. Name a file instead of '-'.", "standard input")
    buffer = getattr(sys.stdin, "buffer", None)
    return sys.stdin.read().encode() if buffer is None else buffer.read()


def _read_file(path: PathLike, name: str) -> bytes:
    try:
        if not Path(path).is_dir():
            return Path(path).read_bytes()
    except FileNotFoundError:
        raise FormatError(f"there is no such file (looked in {Path.cwd()}). Check the name.", name) from None
    except (OSError, ValueError) as error:  # ValueError: a NUL byte in the name
        reason = getattr(error, "strerror", None) or error
        raise FormatError(f"cannot be read: {reason}. Check its permissions and the disk.", name) from error
    raise FormatError("is a folder, and a file is needed. Name one file inside it.", name)


def _unpack(data: bytes, name: str, limit: int) -> bytes:
    """Unpack all members of a gzip file; zero bytes may follow them, as tapes leave them, and nothing else."""
    parts: list[bytes] = []
    size, rest = 0, data
    while rest.startswith(_GZIP_MARK):
        member = zlib.decompressobj(wbits=31)
        while not member.eof:
            part, rest = _inflate(member, rest, name)
            size += len(part)
            if size > limit:
                raise FormatError(
                    f"unpacks to more than {limit:,} bytes, from {len(data):,}; "
                    "it is refused lest it fill the memory. "
                    "Unpack it yourself and give the file in parts.",
                    name,
                )
            parts.append(part)
        rest = member.unused_data
    if rest.strip(b"\0"):
        raise FormatError(
            f"{len(rest):,} bytes that are not gzip follow the compressed data. Fetch or compress the file again.", name
        )
    return b"".join(parts)


def _inflate(member: Any, packed: bytes, name: str) -> tuple[bytes, bytes]:
    """Unpack one chunk of a gzip member; return it and the packed bytes not yet used."""
    try:
        part = member.decompress(packed, _CHUNK)
    except zlib.error as error:
        raise FormatError(f"is not a sound gzip file ({error}). Fetch or compress it again.", name) from None
    if not part and not member.eof and not member.unconsumed_tail:
        raise FormatError(
            "ends in the middle of its compressed data, so part of it is missing. Fetch or compress it again.", name
        )
    return part, member.unconsumed_tail


def check_text(data: bytes, path: PathLike) -> bytes:
    """Return the bytes of a text without a byte order mark, once they are known to be UTF-8 without NUL bytes."""
    name = display_name(path)
    text = data.removeprefix(BYTE_ORDER_MARK)
    nul = text.find(b"\0")
    end = len(text) if nul < 0 else nul
    try:
        if not text.isascii():
            text[:end].decode("utf-8")
    except UnicodeDecodeError as error:
        line, column = place_of(text, error.start)
        raise FormatError(
            f"byte 0x{text[error.start]:02x} does not belong to UTF-8 text. "
            "Save the file as UTF-8, or, if it is not text, name its --format.",
            name,
            line,
            column,
        ) from None
    if nul >= 0:
        raise FormatError(
            "a NUL byte: this is no text but binary data (or UTF-16). Save it as UTF-8, or name its --format.",
            name,
            *place_of(text, nul),
        )
    return text


def decode_text(data: bytes, path: PathLike) -> str:
    """Return the text of a file; refuse what is not UTF-8 or holds NUL bytes, saying where."""
    return check_text(data, path).decode("utf-8")


def place_of(data: bytes, position: int) -> tuple[int, int]:
    """Return the line and the column (in characters), both from 1, of a byte of a text."""
    start = data.rfind(b"\n", 0, position) + 1
    return data.count(b"\n", 0, position) + 1, len(data[start:position].decode("utf-8", "replace")) + 1


# ---------------------------------------------------------------------- writing


def check_writable(path: PathLike, force: bool = False) -> None:
    """Raise `OptionError` if `atomic_write` would refuse this path.

    To be called before long work; leaves no file.
    """
    if os.fspath(path) == "-":
        return
    target = _checked_target(path, force)
    if target.exists() and not target.is_file():  # a device or a pipe: opening it could block
        return
    with _explained(path):
        temporary = _temporary_beside(target)
        temporary.open("xb").close()
        temporary.unlink()


@contextlib.contextmanager
def atomic_write(path: PathLike, force: bool = False, mode: str = "w") -> Iterator[IO[Any]]:
    r"""Give a file to write to; the target appears, complete, only when the block ends without an exception.

    Parameters
    ----------
    path : str or path
        ``"-"`` is standard output; a name that ends in ``.gz`` is compressed; a device or a pipe is written directly.
    force : bool
        Replace an existing file.
    mode : {"w", "wb"}
        Text (UTF-8, lines end with ``\n`` on every system) or bytes.
    """
    if mode not in ("w", "wb"):
        raise OptionError(f"mode={mode!r} is not a way to write a whole file. Use 'w' for text or 'wb' for bytes.")
    if os.fspath(path) == "-":
        with _standard_output(mode) as stream:
            yield stream
        return
    target = _checked_target(path, force)
    packed = os.fspath(path).lower().endswith(".gz")
    with _explained(path):
        if target.exists() and not target.is_file():
            with target.open("wb") as raw, _encoded(raw, packed, mode) as stream:
                yield stream
            return
        temporary = _temporary_beside(target)
        try:
            with temporary.open("xb") as raw, _encoded(raw, packed, mode) as stream:
                yield stream
            _checked_target(path, force)  # somebody may have made the file meanwhile
            if target.exists():
                shutil.copymode(target, temporary)
            temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def _temporary_beside(target: Path) -> Path:
    return target.with_name(f".momata-{secrets.token_hex(8)}.tmp")


def _checked_target(path: PathLike, force: bool) -> Path:
    """Return the file that is meant, links followed, if it may be written."""
    name = os.fspath(path)
    if not name or "\0" in name:
        raise OptionError(f"{name!r} is not a file name. Give the name of a file to write, or '-' for standard output.")
    target = Path(os.path.realpath(name))
    with _explained(path):
        is_folder, has_folder, is_file = target.is_dir(), target.parent.is_dir(), target.is_file()
    if is_folder or name.endswith(("/", os.sep)):
        raise OptionError(f"{name} is a folder, so it cannot be written as a file. Give a file name inside it.")
    if not has_folder:
        raise OptionError(
            f"{name} cannot be written: there is no folder {target.parent}. Make it first, or choose another."
        )
    if is_file and not force:
        raise OptionError(f"{name} exists. Use --force to replace it.")
    return target


@contextlib.contextmanager
def _explained(path: PathLike) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise OptionError(
            f"{os.fspath(path)} cannot be written: {reason}. "
            "Check the permissions of its folder and the space on the disk."
        ) from error


@contextlib.contextmanager
def _encoded(raw: IO[bytes], packed: bool, mode: str) -> Iterator[IO[Any]]:
    """Put compression and text encoding on top of a binary file, which stays open."""
    with contextlib.ExitStack() as stack:
        stream: Any = raw
        if packed:  # neither name nor time inside, so that equal contents give equal files
            stream = stack.enter_context(gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0))
        if mode == "w":
            text = io.TextIOWrapper(stream, encoding="utf-8", newline="\n")
            stack.callback(text.detach)  # flushes
            stream = text
        yield stream


@contextlib.contextmanager
def _standard_output(mode: str) -> Iterator[IO[Any]]:
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None and (mode == "wb" or sys.stdout is None):
        raise OptionError("standard output is closed or takes text only. Name a file instead of '-'.")
    sys.stdout.flush()
    if buffer is None:
        yield sys.stdout
        return
    with _encoded(buffer, False, mode) as stream:
        yield stream
    buffer.flush()
