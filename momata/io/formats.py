"""One door for all corpus formats: recognise, read, write."""

from __future__ import annotations

from pathlib import PurePath

from momata.core.alphabet import Alphabet, UnknownPolicy
from momata.core.corpus import Corpus
from momata.errors import FormatError, OptionError
from momata.io.streams import BYTE_ORDER_MARK, PathLike, display_name, read_bytes

__all__ = ["READABLE", "WRITABLE", "read_corpus", "recognise", "write_corpus"]

READABLE = ("text", "chars", "pautomac", "spice", "conll", "dp", "parquet", "events")
WRITABLE = ("text", "chars", "pautomac", "spice")

_BY_ENDING = {
    ".conll": "conll",
    ".conllu": "conll",
    ".conllx": "conll",
    ".csv": "events",
    ".dp": "dp",
    ".parquet": "parquet",
    ".tsv": "events",
}
_NUMBERED_ENDINGS = (".conllu", ".conllx")
_PARQUET_MARK = b"PAR1"


def read_corpus(
    path: PathLike,
    format: str | None = None,
    *,
    chars: bool = False,
    tags: str = "xpos",
    group: str | None = None,
    order: str | None = None,
    symbol: str | None = None,
    column: str | None = None,
    alphabet: Alphabet | None = None,
    unknown: str | UnknownPolicy | None = None,
) -> Corpus:
    """Read sequences from a file.

    Parameters
    ----------
    path : str or path
        ``"-"`` is standard input; ``.gz`` is unpacked.
    format : str, optional
        One of ``text``, ``chars``, ``pautomac``, ``spice``, ``conll``, ``dp``, ``parquet``, ``events``; recognised from
        the name and the first line by default.
    chars : bool
        Each character of a text is a symbol; the same as ``format="chars"``.
    tags : {"xpos", "upos", "column:N"}
        Which column of a CoNLL or ``.dp`` file.
    group, order, symbol : str, optional
        Columns of an event table (CSV, TSV, Parquet): what belongs to one sequence, what sorts it (file order by
        default), and what the symbols are.
    column : str, optional
        The list column of a Parquet file, if there are several.
    alphabet : Alphabet, optional
        Recode to this alphabet.
    unknown : str, optional
        With ``alphabet``: what becomes of other symbols: ``error``, ``skip``, ``share``, ``map=SYMBOL``.

    Raises
    ------
    FormatError
        The file does not follow its format, or holds no sequences.
    OptionError
        The options do not fit each other or the format.
    """
    _check_format(format, READABLE, "read")
    if chars and format not in (None, "text", "chars"):
        raise OptionError(
            f"chars=True makes each character of a text a symbol, and format={format!r} is no text. "
            "Leave out one of them."
        )
    data = read_bytes(path)
    if chars:
        format = "chars"
    elif format is None:
        format = "events" if group is not None or symbol is not None else recognise(path, data)
    _check_options(format, path, {"group": group, "symbol": symbol, "order": order, "column": column})
    if data in (b"", BYTE_ORDER_MARK):
        raise FormatError(
            "is empty, so it holds no sequences. Check that this is the file you mean.", display_name(path)
        )
    corpus = _read(format, data, path, tags, group, order, symbol, column)
    return corpus if alphabet is None else corpus.recode(alphabet, unknown)


def recognise(path: PathLike, data: bytes) -> str:
    """Return the format of a file by its name, or else by its bytes (unpacked).

    Any text is ``pautomac`` if its first line is two integers and all that follows agrees with them: the number of
    lines, the length that each line announces, and the range of the symbols.
    """
    name = _plain_name(path)
    if ".pautomac" in name or ".spice" in name:
        return "pautomac"
    by_ending = _BY_ENDING.get(PurePath(name).suffix)
    if by_ending:
        return by_ending
    if data.startswith(_PARQUET_MARK):
        return "parquet"
    from momata.io.pautomac import looks_like_pautomac

    return "pautomac" if looks_like_pautomac(data) else "text"


def write_corpus(corpus: Corpus, path: PathLike, format: str = "text", force: bool = False) -> None:
    """Write sequences so that reading the file in the same format gives them back.

    Whole-number weights repeat a sequence. Symbols that the format cannot hold are refused: white space in ``text``,
    more than one character in ``chars``, anything but integers from 0 in ``pautomac``.

    Parameters
    ----------
    corpus : Corpus
    path : str or path
        ``"-"`` is standard output; ``.gz`` is compressed.
    format : {"text", "chars", "pautomac", "spice"}
    force : bool
        Replace an existing file.
    """
    _check_format(format, WRITABLE, "written")
    from momata.io import pautomac, text

    write = {"text": text.write_text, "chars": text.write_chars}.get(format, pautomac.write_pautomac)
    write(corpus, path, force)


def _plain_name(path: PathLike) -> str:
    return PurePath(path).name.lower().removesuffix(".gz")


def _check_format(format: str | None, known: tuple[str, ...], done: str) -> None:
    if format is not None and format not in known:
        raise OptionError(f"format={format!r} cannot be {done}. Choose one of {', '.join(known)}.")


def _check_options(format: str, path: PathLike, columns: dict[str, str | None]) -> None:
    """Refuse options that the format has no use for, and an event table without its columns."""
    if format == "events" and (columns["group"] is None or columns["symbol"] is None):
        raise OptionError(
            f"{display_name(path)} is read as a table of events, and which columns hold what is not said. "
            "Give --group and --symbol (and --order), or --format text if each line is a sequence."
        )
    used = {"events": ("group", "symbol", "order"), "parquet": ("column",)}.get(format, ())
    for name, value in columns.items():
        if value is not None and name not in used:
            raise OptionError(
                f"{name}={value!r} names a column of a table, and {display_name(path)} is read as {format}. "
                "Leave it out, or name the --format."
            )


def _read(
    format: str,
    data: bytes,
    path: PathLike,
    tags: str,
    group: str | None,
    order: str | None,
    symbol: str | None,
    column: str | None,
) -> Corpus:
    """Call the reader of a format; readers are imported here so that each is paid for only when used."""
    if format in ("text", "chars"):
        from momata.io import text

        return text.read_text(data, path) if format == "text" else text.read_chars(data, path)
    if format in ("pautomac", "spice"):
        from momata.io import pautomac

        return pautomac.read_pautomac(data, path)
    if format in ("conll", "dp"):
        from momata.io import conll

        numbered = False if format == "dp" else True if _plain_name(path).endswith(_NUMBERED_ENDINGS) else None
        return conll.read_conll(data, path, tags, numbered)
    from momata.io import tables

    if format == "parquet":
        return tables.read_lists(data, path, column)
    return tables.events_of(data, path, str(group), order, str(symbol))
