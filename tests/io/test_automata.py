"""Models by file name, and what no file of any format may do."""

from __future__ import annotations

import json
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from momata.core.alphabet import Alphabet
from momata.core.probabilistic import random_hmm, random_pfa
from momata.core.wfa import WFA
from momata.errors import MomataError, OptionError
from momata.io.automata import FORMATS, format_of, read_model, write_model
from momata.learn.ngram import learn_ngram
from momata.predict.automaton_model import AutomatonModel

READABLE = [name for name, found in FORMATS.items() if found.reader]
SEQUENCES = ["abca", "ab", "", "cab", "aabbcc", "bca", "abc", "c"]


@pytest.mark.parametrize("ending", [e for f in FORMATS.values() if f.reader for e in f.endings])
def test_every_ending(tmp_path, ending):
    hmm = random_hmm(3, 2)
    for suffix in ("",) if ending == ".npz" else ("", ".gz"):
        path = tmp_path / f"x{ending}{suffix}"
        assert write_model(hmm, path, force=True) == []
        found = read_model(path)
        assert np.allclose(
            found.log_prob([[0, 1, 1], []]), AutomatonModel(hmm.to_pfa()).log_prob([[0, 1, 1], []]), atol=1e-11
        )
        assert found.alphabet == Alphabet.of_size(2)
        assert found.alphabet.closed


def test_names():
    assert format_of("a.JSON.gz") == "json"
    assert format_of("-") == "npz"
    assert format_of("1.pautomac_model.txt") == "pautomac"
    assert format_of("a.b", "att") == "att"
    with pytest.raises(OptionError, match=r"a\.txt: its ending names no format"):
        format_of("a.txt")
    with pytest.raises(OptionError, match="names no format"):
        format_of("a.npz.gz")
    with pytest.raises(OptionError, match="format='x' is not known"):
        format_of("a.att", "x")
    with pytest.raises(OptionError, match="a drawing cannot be read back"):
        read_model("a.dot")


def test_what_a_file_does_not_hold_is_said(tmp_path):
    ngram = learn_ngram(SEQUENCES, order=2).model
    own = Alphabet([s for s in ngram.alphabet if s != "<unk>"])
    wfa = WFA([1.0], [0.1], np.full((len(own), 1, 1), 0.2), own)
    notes = write_model(AutomatonModel(wfa, ngram, 0.25), tmp_path / "a.att")
    assert len(notes) == 1
    assert "share 0.25" in notes[0]
    assert write_model(AutomatonModel(wfa, ngram, 0.25), tmp_path / "a.json") == []
    assert write_model(AutomatonModel(wfa, ngram, 0.0), tmp_path / "b.att") == []
    assert "uniform" in write_model(AutomatonModel(wfa, share=0.5), tmp_path / "c.att")[0]
    notes = write_model(ngram, tmp_path / "a.treba")
    assert "without its counts" in notes[0]
    assert "symbols are written as the numbers 0 to" in notes[1]
    assert write_model(ngram, tmp_path / "a.dot")
    with pytest.raises(OptionError, match="a list is no sequence model"):
        write_model([], tmp_path / "d.att")


def test_ngrams_become_automata(tmp_path):
    ngram = learn_ngram(SEQUENCES, order=3).model
    write_model(ngram, tmp_path / "a.att")
    found = read_model(tmp_path / "a.att")
    assert np.allclose(found.log_prob(SEQUENCES), ngram.log_prob(SEQUENCES), atol=1e-9)
    assert found.alphabet == ngram.alphabet


# ---------------------------------------------------------------------- files that were damaged

TOKENS = [
    *b"0 1 -1 1.0 1e308 -1e308 1e999 NaN Infinity -inf 1000000000000 <eps> <s> # \\ \\\" \\[ > ( ) , : [ { } I:".split(),
    b"2000", b"_", b"null", b"true", b"9" * 40, b"[" * 2000,
    b'"', b"\n", b"\t", b" ", b"\0", b"\xff", b"\xc3\xa9", b"\xef\xbb\xbf",
]  # fmt: skip


def mutated(data: bytes, rng: np.random.Generator) -> bytes:
    found = bytearray(data)
    for _ in range(rng.integers(1, 4)):
        at = int(rng.integers(0, len(found) + 1))
        kind = rng.integers(0, 6)
        if kind == 0 and at < len(found):
            found[at] = int(rng.integers(0, 256))
        elif kind == 1:
            del found[at : at + int(rng.integers(1, 9))]
        elif kind == 2:
            found[at:at] = TOKENS[rng.integers(0, len(TOKENS))]
        elif kind == 3:
            lines = bytes(found).split(b"\n")
            i, j = rng.integers(0, len(lines), 2)
            lines[i] = lines[j] if rng.random() < 0.5 else b""
            found = bytearray(b"\n".join(lines))
        elif kind == 4:
            words = bytes(found).split(b" " if rng.random() < 0.5 else b"\t")
            words[rng.integers(0, len(words))] = TOKENS[rng.integers(0, len(TOKENS))]
            found = bytearray(b" ".join(words))
        elif rng.random() < 0.2:
            del found[at:]
    return bytes(found)


def good_models() -> list:
    ngram = learn_ngram(SEQUENCES, order=2).model
    own = Alphabet([s for s in ngram.alphabet if s != "<unk>"])
    rng = np.random.default_rng(0)
    signed = WFA(rng.normal(size=2), rng.normal(size=2), rng.normal(size=(len(own), 2, 2)), own)
    return [random_pfa(4, 3), AutomatonModel(signed, ngram), ngram]


def refusal(path: Path) -> str:
    """Read a file; return why it was refused, nothing if it was not."""
    try:
        read_model(path)
    except MomataError as error:
        return str(error)
    return ""


def damage(folder: Path, format: str, n: int, seed: int) -> tuple[int, float, int]:
    """Read ``n`` damaged files; return how many could still be read, the longest time, and the most memory."""
    rng = np.random.default_rng(seed)
    files = []
    for k, model in enumerate(good_models()):
        path = folder / f"{k}{FORMATS[format].endings[0]}"
        try:
            write_model(model, path)
        except OptionError:  # a signed automaton in a format of probabilities
            continue
        files.append((path, path.read_bytes()))
        table = path.with_suffix(".syms")
        if table.exists():
            files.append((table, table.read_bytes()))
    n_read, longest, most = 0, 0.0, 0
    for _ in range(n):
        path, data = files[rng.integers(0, len(files))]
        path.write_bytes(mutated(data, rng))
        tracemalloc.reset_peak()
        began = time.perf_counter()
        n_read += not refusal(path.with_suffix(FORMATS[format].endings[0]))
        longest = max(longest, time.perf_counter() - began)
        most = max(most, tracemalloc.get_traced_memory()[1])
        path.write_bytes(data)
    return n_read, longest, most


@pytest.mark.parametrize("format", READABLE)
@pytest.mark.parametrize("n", [100, pytest.param(2000, marks=pytest.mark.slow)])
def test_damaged_files_are_refused_or_read(tmp_path, format, n):
    tracemalloc.start()
    try:
        n_read, longest, most = damage(tmp_path, format, n, seed=n)
    finally:
        tracemalloc.stop()
    assert n_read < n
    assert longest < 2.0  # under tracemalloc, on a busy machine; half a second as a rule
    assert most < 2**29


@pytest.mark.parametrize("format", [f for f in READABLE if f != "npz"])
@pytest.mark.parametrize(
    "text", ["", "\n", "\0", "{}", "[]", "0", "0 0 0 1e400", "PK\x03\x04", "# x", "1 2\n3 4 5", "<html>"]
)
def test_other_files(tmp_path, format, text):
    path = tmp_path / f"a{FORMATS[format].endings[0]}"
    path.write_text(text)
    message = refusal(path)
    assert not message or str(path) in message


def test_json_of_another_program(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps({"initial": [1]}))
    with pytest.raises(MomataError, match="does not describe a model"):
        read_model(tmp_path / "a.json")
