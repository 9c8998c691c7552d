"""The formats of the PAutomaC and SPiCe competitions: integer sequences, solutions, next-symbol targets."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from momata._kernels import tokenize
from momata._kernels.tokenize import parse_integers
from momata.core.alphabet import Alphabet
from momata.core.corpus import Corpus
from momata.errors import FormatError, OptionError
from momata.io.sources import FileSource
from momata.io.streams import BYTE_ORDER_MARK, PathLike, atomic_write, check_text, display_name, place_of, read_bytes
from momata.io.text import repeated

__all__ = ["Ranking", "looks_like_pautomac", "read_pautomac", "read_ranking", "read_target", "write_pautomac"]

_BATCH = 10_000  # sequences written at once


def read_pautomac(data: bytes, path: PathLike) -> Corpus:
    """Read ``count alphabet``, then a line ``length symbols...`` a sequence.

    The alphabet is that of the integers from 0 as the first line declares it, and closed.
    """
    text = check_text(data, path)
    tokens, offsets, count, n_symbols, error, position = parse_integers(np.frombuffer(text, dtype=np.uint8))
    name = display_name(path)
    if error != tokenize.OK:
        message = _explanation(text, error, position, count, n_symbols, len(offsets) - 1)
        raise FormatError(message, name, *place_of(text, position))
    if count == 0:
        raise FormatError("holds no sequences: its first line announces 0. Check that this is the file you mean.", name)
    return Corpus(tokens, offsets, Alphabet.of_size(n_symbols), source=FileSource(str(path), _find_integer, first=2))


def looks_like_pautomac(data: bytes) -> bool:
    """Say whether the first line is two integers and everything after it agrees with them."""
    data = data.removeprefix(BYTE_ORDER_MARK)
    first = data.partition(b"\n")[0].split()
    if len(first) != 2 or not all(word.isdigit() for word in first) or not first[0].strip(b"0"):
        return False
    return parse_integers(np.frombuffer(data, dtype=np.uint8))[4] == tokenize.OK


def _find_integer(text: bytes, sequence: int, position: int) -> int:
    starts, _, offsets = tokenize.split_lines_and_words(np.frombuffer(text, dtype=np.uint8))
    return int(starts[offsets[sequence + 1] : offsets[sequence + 2]][position + 1])


def _explanation(text: bytes, error: int, position: int, count: int, n_symbols: int, n_rows: int) -> str:
    """Say what is wrong with an integer file, why, and what to do."""
    line = text[position:].partition(b"\n")[0].decode("utf-8").split()
    word = f"{line[0][:40]!r}" if line else "''"
    if error == tokenize.NO_HEADER:
        shown = text.partition(b"\n")[0].decode("utf-8").strip()[:40]
        return (
            f"the first line is {shown!r}, "
            "and a PAutomaC file starts with two integers: the number of strings and the size of the alphabet. "
            "Put them there, or use --format text if there is no such line. (Model and solution files are not corpora.)"
        )
    if error == tokenize.WRONG_COUNT:
        return (
            f"the first line announces {count} strings, and {n_rows} follow. "
            "Correct it, or fetch the file again if it was cut short."
        )
    if error == tokenize.WRONG_LENGTH:
        return (
            f"the line announces {line[0]} symbols, and {len(line) - 1} follow. "
            "Correct its first number or its symbols."
        )
    if error == tokenize.NEGATIVE:
        return f"{word} is negative, and lengths and symbols are integers from 0. Renumber the symbols from 0."
    if error == tokenize.OUTSIDE_ALPHABET:
        return (
            f"symbol {word} is outside the alphabet of {n_symbols} symbols (0 to {n_symbols - 1}) "
            "that the first line announces. Correct either."
        )
    if error == tokenize.EMPTY_LINE:
        return "the line is empty, and each line must start with the length of its string. Write 0 for an empty string."
    if error == tokenize.TOO_MANY_SYMBOLS:
        return (
            f"the first line announces an alphabet of {n_symbols} symbols, "
            f"more than the {tokenize.MAX_ALPHABET} that can be. Correct it."
        )
    return (
        f"{word} is not an integer, and lengths and symbols are integers from 0. "
        "Use --format text for symbols of other kinds."
    )


def write_pautomac(corpus: Corpus, path: PathLike, force: bool = False) -> None:
    """Write integer sequences; symbols must be whole numbers from 0, as integers or as texts."""
    values = np.array([_value(symbol) for symbol in corpus.alphabet], dtype=np.int64)
    if len(set(values.tolist())) < len(values):
        raise OptionError(
            "two symbols of the alphabet are the same number, so format pautomac cannot keep them apart. Rename one."
        )
    n_symbols = int(values.max()) + 1 if values.size else 0
    with atomic_write(path, force) as file:
        rows = repeated(corpus)
        file.write(f"{len(rows)} {n_symbols}\n")
        file.writelines(_rows(rows, [str(v) for v in values.tolist()]))


def _value(symbol: object) -> int:
    text = symbol if isinstance(symbol, str) else str(symbol) if type(symbol) is int else ""
    if (
        not (text.isascii() and text.isdigit())
        or (text[0] == "0" and text != "0")
        or len(text) > 8
        or int(text) >= tokenize.MAX_ALPHABET
    ):
        raise OptionError(
            f"symbol {symbol!r} is not a whole number from 0 to {tokenize.MAX_ALPHABET - 1}, "
            "and PAutomaC files hold nothing else. Write format text instead."
        )
    return int(text)


def _rows(corpus: Corpus, names: list[str]) -> Iterator[str]:
    for first in range(0, len(corpus), _BATCH):
        bounds = corpus.offsets[first : first + _BATCH + 1]
        words = [names[t] for t in corpus.tokens[bounds[0] : bounds[-1]].tolist()]
        places = (bounds - bounds[0]).tolist()
        yield "".join([" ".join([str(b - a), *words[a:b]]) + "\n" for a, b in itertools.pairwise(places)])


# ---------------------------------------------------------------------- solutions and targets


def read_target(path: PathLike) -> NDArray[np.float64]:
    """Read a PAutomaC solution: the number of test strings, then the probability of each, one a line."""
    name = display_name(path)
    lines = _filled_lines(path)
    (number, _, words), *rest = lines
    if len(words) != 1 or not (words[0].isascii() and words[0].isdigit()):
        raise FormatError(
            f"the first line of a solution is the number of test strings, and this is {' '.join(words)[:40]!r}. "
            "Is it the solution file?",
            name,
            number,
            1,
        )
    if int(words[0][:18]) != len(rest):
        raise FormatError(
            f"the first line announces {words[0]} probabilities, and {len(rest)} follow. Is the file complete?",
            name,
            number,
            1,
        )
    for number, line, found in rest:
        if len(found) != 1:
            raise FormatError(
                f"one probability a line is expected, and this has {len(found)} words. Is it the solution file?",
                name,
                number,
                _second(line),
            )
    return np.array([_probability(found[0], name, number, line.index(found[0]) + 1) for number, line, found in rest])


@dataclass(frozen=True, eq=False)
class Ranking:
    """What may follow each prefix of a SPiCe problem, best first.

    Attributes
    ----------
    ideal : (n_prefixes,) float64 array
        Discounted cumulative gain of the best five; what a score is divided by.
    offsets : (n_prefixes + 1,) int64 array
        Entries ``offsets[i]:offsets[i + 1]`` belong to prefix ``i``.
    symbols : (n_entries,) int32 array
        -1 is the end of the sequence.
    probabilities : (n_entries,) float64 array
    """

    ideal: NDArray[np.float64]
    offsets: NDArray[np.int64]
    symbols: NDArray[np.int32]
    probabilities: NDArray[np.float64]

    def __len__(self) -> int:
        return self.ideal.size

    def first(self, n: int) -> Ranking:
        """Return the rankings of the first ``n`` prefixes."""
        entries = slice(0, self.offsets[n])
        return Ranking(self.ideal[:n], self.offsets[: n + 1], self.symbols[entries], self.probabilities[entries])

    def __getitem__(self, prefix: int) -> dict[int, float]:
        """Return the probability of each symbol listed after one prefix."""
        i = range(len(self))[prefix]
        entries = slice(self.offsets[i], self.offsets[i + 1])
        return dict(zip(self.symbols[entries].tolist(), self.probabilities[entries].tolist(), strict=True))


def read_ranking(path: PathLike) -> Ranking:
    """Read SPiCe targets: in each line the ideal gain of a prefix, then pairs of symbol (-1 = end) and probability."""
    name = display_name(path)
    ideal, lengths, symbols, probabilities = [], [0], [], []
    for number, line, words in _filled_lines(path):
        if len(words) < 3 or len(words) % 2 == 0:
            raise FormatError(
                "a gain and then pairs of symbol and probability are expected, "
                f"and this has {len(words)} words. Is it the target file?",
                name,
                number,
                len(line) + 1,
            )
        columns = _columns(line, words)
        gain = _real(words[0], name, number, columns[0])
        if gain <= 0:
            raise FormatError(
                f"the ideal gain is {words[0]}, and scores are divided by it, so it must be positive.",
                name,
                number,
                columns[0],
            )
        ideal.append(gain)
        symbols += [_symbol(w, name, number, c) for w, c in zip(words[1::2], columns[1::2], strict=True)]
        probabilities += [_probability(w, name, number, c) for w, c in zip(words[2::2], columns[2::2], strict=True)]
        lengths.append(len(words) // 2)
    offsets = np.cumsum(lengths, dtype=np.int64)
    return Ranking(np.array(ideal), offsets, np.array(symbols, dtype=np.int32), np.array(probabilities))


def _filled_lines(path: PathLike) -> list[tuple[int, str, list[str]]]:
    """Return number, text and words of each line; blank lines may only end the file."""
    lines = check_text(read_bytes(path), path).decode("utf-8").rstrip().split("\n")
    found = [(i, line, line.split()) for i, line in enumerate(lines, 1)]
    for i, _, words in found:
        if not words:
            message = (
                "is empty. Check that this is the file you mean."
                if lines == [""]
                else "the line is empty. Fill or remove it."
            )
            raise FormatError(message, display_name(path), i, 1)
    return found


def _columns(line: str, words: list[str]) -> list[int]:
    columns, at = [], 0
    for word in words:
        at = line.index(word, at)
        columns.append(at + 1)
        at += len(word)
    return columns


def _second(line: str) -> int:
    return _columns(line, line.split())[1]


def _real(word: str, name: str, line: int, column: int) -> float:
    try:
        value = float(word)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise FormatError(f"{word[:40]!r} is not a finite number. Correct it.", name, line, column)
    return value


def _probability(word: str, name: str, line: int, column: int) -> float:
    value = _real(word, name, line, column)
    if not 0 <= value <= 1:
        raise FormatError(
            f"{word[:40]!r} is not a probability, which lies between 0 and 1. Correct it.", name, line, column
        )
    return value


def _symbol(word: str, name: str, line: int, column: int) -> int:
    digits = word[1:] if word == "-1" else word
    if not (digits.isascii() and digits.isdigit() and len(digits) < 10):
        raise FormatError(
            f"{word[:40]!r} is not a symbol: those are integers from 0, and -1 for the end of the sequence.",
            name,
            line,
            column,
        )
    return int(word)
