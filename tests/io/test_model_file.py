"""Model files: what is saved comes back, and no file, however made, does harm."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import pickle
import struct
import sys
import time
import tracemalloc
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from momata.core.corpus import Corpus
from momata.errors import AlphabetError, FormatError, ModelFileError, OptionError
from momata.io.model_file import load, save
from momata.io.model_parts import FORMAT_VERSION, plain, versions
from momata.learn.ngram import learn_ngram
from momata.predict.ngram_model import NGramModel

SEQUENCES = ["abca", "ab", "", "cab", "aabbcc", "bca", "abc", "c"]


@pytest.fixture(scope="module")
def model() -> NGramModel:
    return learn_ngram(SEQUENCES, order=3).model


@pytest.fixture(scope="module")
def good(model, tmp_path_factory) -> bytes:
    """Return the bytes of a sound model file."""
    path = tmp_path_factory.mktemp("good") / "m.npz"
    save(model, path)
    return path.read_bytes()


def members_of(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def archive_of(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def npy(array: Any, allow_pickle: bool = False) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asarray(array), allow_pickle=allow_pickle)
    return buffer.getvalue()


def npy_claiming(descr: str, shape: str, body: bytes, fortran: bool = False) -> bytes:
    """Return an array file whose header says anything at all."""
    header = f"{{'descr': {descr!r}, 'fortran_order': {fortran}, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + body


def with_json(data: bytes, **changes: Any) -> bytes:
    """Return a model file with other values in its description; ``...`` removes one."""
    members = members_of(data)
    description = json.loads(members["model.json"]) | changes
    text = json.dumps({k: v for k, v in description.items() if v is not ...})
    return archive_of(members | {"model.json": text.encode()})


def with_member(data: bytes, name: str, content: bytes) -> bytes:
    return archive_of(members_of(data) | {name: content})


def arrays_of(data: bytes) -> dict[str, np.ndarray]:
    members = members_of(data)
    return {n.removesuffix(".npy"): np.load(io.BytesIO(b)) for n, b in members.items() if n != "model.json"}


def with_arrays(data: bytes, **arrays: Any) -> bytes:
    return archive_of(members_of(data) | {f"{name}.npy": npy(array) for name, array in arrays.items()})


@pytest.fixture
def refused(tmp_path):
    """Return a function that checks that bytes are refused as a model, and returns the message."""

    def check(data: bytes, message: str | None = None) -> str:
        path = tmp_path / "bad.npz"
        path.write_bytes(data)
        with pytest.raises(ModelFileError, match=message) as caught:
            load(path)
        assert str(caught.value).startswith(f"{path}: ")
        return str(caught.value)

    return check


# ---------------------------------------------------------------------- round trips


@pytest.mark.parametrize("smoothing", ["kn", "mkn", "none"])
@pytest.mark.parametrize("order", [1, 2, 4, 9])
def test_a_model_comes_back_bit_for_bit(tmp_path, smoothing, order):
    model = learn_ngram(SEQUENCES, order=order, smoothing=smoothing).model
    save(model, tmp_path / "m.npz")
    again = load(tmp_path / "m.npz")
    test = [*SEQUENCES, "ccc", "bbbbbbbbb", "acb"]
    assert np.array_equal(model.log_prob(test), again.log_prob(test))
    assert np.array_equal(model.next_symbols(test), again.next_symbols(test))
    assert list(again.sample(20, seed=5)) == list(model.sample(20, seed=5))
    assert (again.order, again.smoothing, again.n_states) == (model.order, model.smoothing, model.n_states)
    assert again.alphabet == model.alphabet
    assert again.alphabet.closed == model.alphabet.closed
    assert again.training == {**model.training, "versions": versions()}


@pytest.mark.parametrize(
    "symbols",
    [
        ["a", "é", "日本", "\U0001f600", "", " ", "\n", 'q"\\', "\0", "None", "1"],
        [3, -1, 0, 10**30],
        [0.5, -0.25, 1e300, 5e-324, 2.0],
        [True, False],
        [None, "x"],
        [("a", 1), ("a", 2), (), (("deep", (None, True)), 0.5)],
        [1, "1", 2.5, None, ("1",)],
    ],
    ids=["str", "int", "float", "bool", "None", "tuple", "mixed"],
)
def test_symbols_come_back_with_their_types(tmp_path, symbols):
    rng = np.random.default_rng(0)
    sequences = [[symbols[i] for i in rng.integers(len(symbols), size=n)] for n in (5, 0, 12, 3)]
    for smoothing in ("kn", "none"):
        model = learn_ngram([*sequences, symbols], order=2, smoothing=smoothing).model
        save(model, tmp_path / "m.npz")
        again = load(tmp_path / "m.npz")
        assert list(map(repr, again.alphabet)) == list(map(repr, model.alphabet))
        assert np.array_equal(again.log_prob(sequences), model.log_prob(sequences))


@pytest.mark.parametrize(
    "symbol",
    [b"bytes", frozenset("a"), 1j, ("a", b"b"), float("inf"), "\ud800", 10**5000],
    ids=["bytes", "set", "complex", "tuple", "infinity", "half a character", "endless"],
)
def test_a_symbol_that_no_file_can_hold_is_refused_and_no_file_appears(tmp_path, symbol):
    model = learn_ngram([[symbol]], order=1).model
    with pytest.raises(AlphabetError, match="cannot be written to a model file"):
        save(model, tmp_path / "m.npz")
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_model_is_refused(tmp_path):
    for thing in (object(), {"a": 1}, Corpus.from_sequences(["ab"])):
        with pytest.raises(OptionError, match="cannot be saved as a model"):
            save(thing, tmp_path / "m.npz")
    assert list(tmp_path.iterdir()) == []


def test_training_notes_that_json_cannot_hold_are_refused(tmp_path):
    model = learn_ngram(["ab"], order=1).model
    model.training["note"] = object()
    with pytest.raises(OptionError, match="training"):
        save(model, tmp_path / "m.npz")
    assert list(tmp_path.iterdir()) == []
    model.training["note"] = [np.float64("nan"), -np.inf, np.int64(3), (1, np.arange(2))]
    save(model, tmp_path / "m.npz")
    assert load(tmp_path / "m.npz").training["note"] == [None, None, 3, [1, [0, 1]]]


def test_equal_models_give_equal_bytes_whenever_they_are_saved(tmp_path, model, good, monkeypatch):
    monkeypatch.setattr(time, "time", lambda: 2e9)
    save(learn_ngram(SEQUENCES, order=3).model, tmp_path / "a.npz")
    assert (tmp_path / "a.npz").read_bytes() == good
    save(learn_ngram([*SEQUENCES, "a"], order=3).model, tmp_path / "b.npz")
    assert (tmp_path / "b.npz").read_bytes() != good


def test_a_loaded_model_saves_to_the_file_it_came_from(tmp_path, good):
    (tmp_path / "m.npz").write_bytes(good)
    save(load(tmp_path / "m.npz"), tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == good


def test_numpy_reads_the_arrays_of_a_model_file(tmp_path, model, good):
    (tmp_path / "m.npz").write_bytes(good)
    with np.load(tmp_path / "m.npz", allow_pickle=False) as arrays:
        assert np.array_equal(arrays["through"], model.counts.through)


def test_standard_streams(model, good, standard_input, standard_output):
    out = standard_output()
    save(model, "-")
    assert out.getvalue() == good
    standard_input(good)
    assert np.array_equal(load("-").log_prob(SEQUENCES), model.log_prob(SEQUENCES))
    standard_input(good[:-30])
    with pytest.raises(ModelFileError, match=r"^standard input: "):
        load("-")


def test_a_packed_model_file(tmp_path, model):
    save(model, tmp_path / "m.npz.gz")
    assert (tmp_path / "m.npz.gz").read_bytes()[:2] == b"\x1f\x8b"
    assert np.array_equal(load(tmp_path / "m.npz.gz").log_prob(SEQUENCES), model.log_prob(SEQUENCES))


def test_an_existing_file_is_kept_unless_forced(tmp_path, model, good):
    path = tmp_path / "m.npz"
    path.write_bytes(b"mine")
    with pytest.raises(OptionError, match="exists"):
        save(model, path, force=False)
    assert path.read_bytes() == b"mine"
    save(model, path, force=True)
    assert path.read_bytes() == good


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt(), MemoryError()])
def test_a_failure_while_writing_leaves_the_old_file_and_nothing_else(tmp_path, model, monkeypatch, error):
    path = tmp_path / "m.npz"
    path.write_bytes(b"old")
    writes = []

    def fail(self, *args, **options):
        writes.append(args)
        if len(writes) == 3:
            raise error
        return real(self, *args, **options)

    real = zipfile.ZipFile.writestr
    monkeypatch.setattr(zipfile.ZipFile, "writestr", fail)
    with pytest.raises((OptionError, KeyboardInterrupt, MemoryError)):
        save(model, path)
    assert len(writes) == 3
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


# ---------------------------------------------------------------------- files that are no models


class Trap:
    """A class whose pickle makes a file when it is opened."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_is_never_opened(tmp_path, refused, protocol):
    mark = tmp_path / "executed"
    data = pickle.dumps(Trap(mark), protocol)
    message = refused(data)
    assert not mark.exists()
    if protocol >= 2:
        assert "pickle" in message
    pickle.loads(data)
    assert mark.exists(), "the trap would not have worked"


@pytest.mark.parametrize("name", ["through.npy", "more.npy", "model.json"])
def test_an_array_of_objects_is_never_opened(tmp_path, good, refused, name):
    mark = tmp_path / "executed"
    trap = npy(np.array([Trap(mark)], dtype=object), allow_pickle=True)
    refused(with_member(good, name, trap))
    if name != "model.json":
        refused(with_member(good, name, trap), rf"{name} .*\|O.*may hold objects")
    assert not mark.exists()
    np.load(io.BytesIO(trap), allow_pickle=True)
    assert mark.exists(), "the trap would not have worked"


def test_files_that_are_something_else(tmp_path, good, refused):
    refused(b"", "not a model file")
    refused(b"a b c\nb c\n", "not a model file")
    refused(b"PK", "not a model file")
    refused(bytes(10_000), "not a model file")
    refused(np.random.default_rng(0).bytes(10_000), "not a model file")
    refused(npy(np.arange(3)), "not a model file")
    refused(archive_of({}), r"without model\.json")
    refused(archive_of({"readme.txt": b"hello"}), r"without model\.json")
    buffer = io.BytesIO()
    np.savez(buffer, a=np.arange(3), b=np.ones(2))
    refused(buffer.getvalue(), r"without model\.json")
    refused(with_member(good, "word/document.xml", b"<xml/>"), r"more than arrays and model\.json")
    refused(with_member(good, "MODEL.JSON", b"{}"), r"more than arrays and model\.json")


@pytest.mark.parametrize("text", ["", "[]", "null", "3", '"momata"', "{}", '{"format": "onnx"}', "{", "\x00", "nul"])
def test_descriptions_that_are_not_momatas(good, refused, text):
    message = refused(with_member(good, "model.json", text.encode()))
    assert "describe" in message or "damaged" in message


def test_a_description_that_is_not_utf8(good, refused):
    refused(with_member(good, "model.json", b'{"format": "\xff"}'))
    refused(with_member(good, "model.json", json.dumps({"format": "momata"}).encode("utf-16")))


@pytest.mark.parametrize("depth", [100, 400, 900, 2000, 5000, 9000, 100_000])
def test_deep_nesting(good, refused, depth):
    refused(with_member(good, "model.json", b"[" * depth + b"]" * depth))
    refused(with_member(good, "model.json", b'{"a":' * depth + b"1" + b"}" * depth))
    description = json.loads(members_of(good)["model.json"])
    marked = json.dumps(description | {"alphabet": {"symbols": ["HERE"], "closed": False}})
    deep = '{"tuple":[' * depth + "]}" * depth
    refused(with_member(good, "model.json", marked.replace('"HERE"', deep).encode()))


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(FormatError, match="there is no such file"):
        load(tmp_path / "absent.npz")
    with pytest.raises(FormatError, match="is a folder"):
        load(tmp_path)


def test_every_cut_is_refused(good, refused):
    lengths = {*range(200), *range(0, len(good), 37), *range(len(good) - 120, len(good))}
    for n in sorted(lengths):
        refused(good[:n])


def test_a_gzip_file_cut_short(tmp_path, model):
    save(model, tmp_path / "m.npz.gz")
    data = (tmp_path / "m.npz.gz").read_bytes()
    (tmp_path / "m.npz.gz").write_bytes(data[: len(data) // 2])
    with pytest.raises(FormatError, match="ends in the middle"):
        load(tmp_path / "m.npz.gz")


def test_changed_bytes_fail_the_check_sum(good, refused):
    with zipfile.ZipFile(io.BytesIO(good)) as archive:
        info = archive.getinfo("through.npy")
    place = info.header_offset + 30 + len(info.filename) + info.compress_size // 2
    refused(good[:place] + bytes([good[place] ^ 0x10]) + good[place + 1 :], "damaged or truncated")


def test_duplicate_members(good, refused):
    buffer = io.BytesIO(good)
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr("through.npy", npy(np.arange(3)))
    refused(buffer.getvalue(), r"more than arrays and model\.json")


def test_an_encrypted_member(good, refused):
    data = bytearray(good)
    place = good.rfind(b"PK\x01\x02")
    data[place + 8] |= 1
    refused(bytes(data), "encrypted")


# ---------------------------------------------------------------------- bombs


@functools.cache
def zeros_deflated(n: int) -> tuple[bytes, int]:
    """Return ``n`` zero bytes as a raw deflate stream, and their check sum."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block, crc, parts = bytes(1 << 20), 0, []
    for _ in range(n >> 20):
        parts.append(packer.compress(block))
        crc = zlib.crc32(block, crc)
    return b"".join([*parts, packer.flush()]), crc


def handmade(members: dict[str, tuple[bytes, int, int]]) -> bytes:
    """Return an archive of deflated members: packed bytes, check sum, and the size that the archive claims."""
    local, central, n = b"", b"", 0
    for name, (packed, crc, size) in members.items():
        fields = struct.pack("<HHHHHIIIHH", 20, 0, 8, 0, 33, crc, len(packed), size, len(name), 0)
        central += b"PK\x01\x02" + struct.pack("<H", 20) + fields + struct.pack("<HHHII", 0, 0, 0, 0, len(local))
        central += name.encode()
        local += b"PK\x03\x04" + fields + name.encode() + packed
        n += 1
    return local + central + b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, n, n, len(central), len(local), 0)


def deflated(data: bytes) -> tuple[bytes, int, int]:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(data) + packer.flush(), zlib.crc32(data), len(data)


def test_handmade_archives_are_sound(tmp_path, model, good):
    (tmp_path / "m.npz").write_bytes(handmade({n: deflated(d) for n, d in members_of(good).items()}))
    assert np.array_equal(load(tmp_path / "m.npz").log_prob(SEQUENCES), model.log_prob(SEQUENCES))


LARGE = 200 << 20


@pytest.mark.parametrize("name", ["through.npy", "more.npy", "model.json"])
@pytest.mark.parametrize("claimed", [LARGE, 100_000, 0, 2**32 - 2])
def test_a_bomb_is_refused_before_memory_is_used(good, refused, name, claimed):
    packed, crc = zeros_deflated(LARGE)
    assert len(packed) < LARGE // 500
    members = {n: deflated(d) for n, d in members_of(good).items()}
    data = handmade(members | {name: (packed, crc, claimed)})
    tracemalloc.start()
    try:
        message = refused(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * len(data) + (4 << 20), f"{peak:,} bytes of memory for a file of {len(data):,}"
    if claimed >= LARGE:
        assert "made to fill memory" in message


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA], ids=["bzip2", "lzma"])
def test_other_compressions_are_refused_before_memory_is_used(good, refused, method):
    data = archive_of({**members_of(good), "through.npy": bytes(40 << 20)}, method)
    assert len(data) < 1 << 20
    tracemalloc.start()
    try:
        refused(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 << 20


def test_many_members_that_are_small_each(good, refused):
    packed, crc = zeros_deflated(8 << 20)
    members = {n: deflated(d) for n, d in members_of(good).items()}
    more = {f"a{i}.npy": (packed, crc, 8 << 20) for i in range(10)}
    refused(handmade(members | more), "made to fill memory")


def test_a_model_that_packs_well_is_no_bomb(tmp_path):
    model = learn_ngram(["a" * 3000], order=2500).model
    save(model, tmp_path / "m.npz")
    assert np.array_equal(load(tmp_path / "m.npz").log_prob(["aaaa"]), model.log_prob(["aaaa"]))


# ---------------------------------------------------------------------- arrays


def test_the_good_file_survives_being_taken_apart(tmp_path, model, good):
    """Otherwise the tests below would refuse their files for another reason."""
    (tmp_path / "m.npz").write_bytes(with_arrays(with_json(good), **arrays_of(good)))
    assert np.array_equal(load(tmp_path / "m.npz").log_prob(SEQUENCES), model.log_prob(SEQUENCES))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["through", "end"])
def test_numbers_that_are_none(good, refused, bad, name):
    arrays = {n: arrays_of(good)[n].astype(np.float64) for n in ("through", "end")}
    arrays[name][2] = bad
    size = arrays[name].size
    refused(with_arrays(good, **arrays), rf"1 of {size} numbers in {name}\.npy are NaN or infinite")


def test_real_counts_are_fine(tmp_path, model, good):
    arrays = {n: arrays_of(good)[n].astype(np.float64) for n in ("through", "end")}
    (tmp_path / "m.npz").write_bytes(with_arrays(good, **arrays))
    assert np.allclose(load(tmp_path / "m.npz").log_prob(SEQUENCES), model.log_prob(SEQUENCES), rtol=1e-12)


@pytest.mark.parametrize("name", ["symbol", "child_start", "through", "end", "level_offsets"])
@pytest.mark.parametrize(
    "dtype", ["<f4", "<u8", "<f2", "<c16", "<U3", "|S4", "<M8[s]", "|b1", ">i8", "|u1", [("a", "<i4"), ("b", "|O")]]
)
def test_wrong_types(good, refused, name, dtype):
    n = arrays_of(good)[name].size
    refused(with_member(good, f"{name}.npy", npy(np.zeros(n, dtype=dtype), allow_pickle=True)))


@pytest.mark.parametrize("name", ["symbol", "child_start", "through", "end", "level_offsets"])
def test_numbers_of_the_wrong_width(good, refused, name):
    array = arrays_of(good)[name]
    refused(with_arrays(good, **{name: array.astype(np.int32 if array.dtype == np.int64 else np.int64)}))


@pytest.mark.parametrize("name", ["symbol", "child_start", "through", "end", "level_offsets"])
@pytest.mark.parametrize("shape", [(1, -1), (-1, 1), (2, -1), (), (0,)], ids=str)
def test_wrong_shapes(good, refused, name, shape):
    array = arrays_of(good)[name]
    array = array[: array.size // 2 * 2]
    size = array.size if shape in ((), (0,)) else None
    refused(with_arrays(good, **{name: array.reshape(shape) if size is None else np.zeros(shape, array.dtype)}))


@pytest.mark.parametrize("name", ["symbol", "child_start", "through", "end", "level_offsets"])
def test_arrays_that_are_missing_short_or_too_many(good, refused, name):
    array = arrays_of(good)[name]
    members = members_of(good)
    del members[f"{name}.npy"]
    refused(archive_of(members), name)
    refused(with_arrays(good, **{name: array[:-1]}))
    refused(with_arrays(good, **{name: np.append(array, array[-1:])}))
    refused(with_arrays(good, **{f"{name}2": array}), f"{name}2")


@pytest.mark.parametrize("name", ["kind", "depth", "alphabet", "cls", "self", ""])
def test_arrays_with_awkward_names(good, refused, name):
    refused(with_arrays(good, **{name: np.arange(3)}))


@pytest.mark.parametrize(
    "shape",
    [
        "(10,)", "(3,)", "(-4,)", "(-2, -2)", "(2**62,)", "(4611686018427387904, 4)", "(4, 0)", "(4.0,)", "(True,)", "4",
        "None", "('4',)", "(9223372036854775807, 9223372036854775807, 9223372036854775807)", "(4L,)", "(4,) * 3",
        "__import__('os').getcwd()", "(" * 500 + ")" * 500, f"({'1, ' * 100}4)", "(10**10000,)",
    ],
)  # fmt: skip
def test_headers_that_lie(good, refused, shape):
    refused(with_member(good, "through.npy", npy_claiming("<i8", shape, bytes(32))))


def test_headers_cut_or_foreign(good, refused):
    sound = members_of(good)["through.npy"]
    for n in (0, 1, 5, 6, 7, 8, 9, 10, 20, 60, len(sound) - 1):
        refused(with_member(good, "through.npy", sound[:n]))
    refused(with_member(good, "through.npy", sound + b"\0"))
    refused(with_member(good, "through.npy", sound[:6] + b"\x02\x00" + sound[8:]), "array format")
    refused(with_member(good, "through.npy", sound[:6] + b"\x09\x00" + sound[8:]), "array format")
    refused(with_member(good, "through.npy", sound.replace(b"'shape'", b"'shale'")))
    long = npy_claiming("<i8", "(4,)" + " " * 60_000, bytes(32))
    refused(with_member(good, "through.npy", long))
    array = arrays_of(good)["through"]
    fortran = npy_claiming("<i8", f"({array.size},)", array.tobytes(), fortran=True)
    refused(with_member(good, "through.npy", fortran))


def _put(name: str, index: Any, value: Any):
    def change(arrays: dict[str, np.ndarray]) -> None:
        arrays[name][index] = value

    return change


def _add(name: str, index: Any, value: Any):
    def change(arrays: dict[str, np.ndarray]) -> None:
        arrays[name][index] += value

    return change


def _swap_children(arrays: dict[str, np.ndarray]) -> None:
    arrays["symbol"][[1, 2]] = arrays["symbol"][[2, 1]]


def _lose_a_level(arrays: dict[str, np.ndarray]) -> None:
    arrays["level_offsets"] = arrays["level_offsets"][:-1]


def _gain_a_level(arrays: dict[str, np.ndarray]) -> None:
    arrays["level_offsets"] = np.append(arrays["level_offsets"], arrays["level_offsets"][-1])


MUTILATIONS = {
    "children out of order": (_swap_children, "out of order"),
    "a child twice": (_put("symbol", 2, 0), "out of order"),
    "symbol outside": (_put("symbol", -1, 99), "outside of the alphabet"),
    "symbol far outside": (_put("symbol", -1, 2**31 - 1), "outside of the alphabet"),
    "symbol negative": (_put("symbol", 1, -1), "outside of the alphabet"),
    "root with a symbol": (_put("symbol", 0, 0), "outside of the alphabet"),
    "counts too high": (_add("through", 1, 1), "add up"),
    "counts too low": (_add("through", 0, -1), "add up"),
    "ends too many": (_add("end", 0, 1), "add up"),
    "count negative": (_put("through", -1, -1), "add up"),
    "count huge": (_put("through", -1, 2**62), "add up"),
    "end negative": (_put("end", -1, -1), "add up"),
    "ends above count": (_put("end", -1, 1000), "add up"),
    "children fall": (_put("child_start", 2, 0), "children"),
    "children beyond": (_add("child_start", -1, 1), "children"),
    "children far beyond": (_put("child_start", slice(3, None), 2**31 - 1), "children"),
    "children negative": (_put("child_start", 1, -(2**31)), "children"),
    "root its own child": (_put("child_start", 0, 0), "children"),
    "child its own parent": (_put("child_start", 1, 1), "after its children"),
    "all below the root": (_put("child_start", slice(1, None), -1), "children"),
    "level moved": (_add("level_offsets", 2, 1), "levels"),
    "level negative": (_put("level_offsets", 1, -1), "levels"),
    "level huge": (_put("level_offsets", -1, 2**62), "levels"),
    "level lost": (_lose_a_level, "levels"),
    "level gained": (_gain_a_level, "levels"),
}


@pytest.mark.parametrize("name", MUTILATIONS)
def test_mutilated_trees(good, refused, name):
    change, message = MUTILATIONS[name]
    arrays = arrays_of(good)
    change(arrays)
    refused(with_arrays(good, **arrays), f"do not fit together: .*{message}")


def test_a_node_without_its_children(good, refused):
    arrays = arrays_of(good)
    arrays["child_start"][1:] = arrays["child_start"][-1]  # all nodes are children of the root
    refused(with_arrays(good, **arrays), "do not fit together")


def small_tree(**changes: Any) -> dict[str, np.ndarray]:
    """Return the tree of the strings "", a, ab: it adds up, but has no node for b."""
    int32, int64 = np.int32, np.int64
    tree = {
        "symbol": np.array([-1, 0, 1], int32), "child_start": np.array([1, 2, 3, 3], int32),
        "through": np.array([2, 1, 1], int64), "end": np.array([1, 0, 1], int64),
        "level_offsets": np.array([0, 1, 2, 3], int64),
    }  # fmt: skip
    return tree | changes


def test_a_missing_suffix(good, refused):
    data = with_json(good, alphabet={"symbols": ["a", "b"], "closed": True}, order=2)
    refused(with_arrays(data, **small_tree()), "suffix that is not in it")


# ---------------------------------------------------------------------- values


@pytest.mark.parametrize(
    "order", [0, -1, True, False, "3", 3.0, None, [3], {"a": 3}, 2, 4, 10**9, 2**31, 2**63, 10**300, ...]
)
def test_orders(good, refused, order):
    refused(with_json(good, order=order), "do not fit together")


@pytest.mark.parametrize("smoothing", ["KN", "", None, 1, ["kn"], {"kn": 1}, ...])
def test_smoothings(good, refused, smoothing):
    refused(with_json(good, smoothing=smoothing), "do not fit together")


@pytest.mark.parametrize("training", [None, [], "text", 3, True])
def test_training_that_is_no_object(good, refused, training):
    refused(with_json(good, training=training), "training summary")


def test_training_may_be_absent(tmp_path, good):
    (tmp_path / "m.npz").write_bytes(with_json(good, training=..., versions=...))
    assert load(tmp_path / "m.npz").training.get("seed") is None


@pytest.mark.parametrize("version", [0, -1, True, "1", 1.0, None, [1], ...])
def test_versions_that_are_none(good, refused, version):
    refused(with_json(good, version=version), "format version is .* which is none")


@pytest.mark.parametrize("version", [FORMAT_VERSION + 1, 10**30])
@pytest.mark.parametrize("writer", [{"momata": "9.1"}, None, "9", ...])
def test_a_newer_file_says_so(good, refused, version, writer):
    message = refused(with_json(good, version=version, versions=writer, kind="unheard of"), "Upgrade momata")
    assert str(version) in message
    assert ("9.1" in message) == (writer == {"momata": "9.1"})


@pytest.mark.parametrize("kind", ["wfa", "", None, 3, [], {}, "os", "__class__", ...])
def test_kinds(good, refused, kind):
    refused(with_json(good, kind=kind))


def symbols_of(data: bytes) -> list[Any]:
    return json.loads(members_of(data)["model.json"])["alphabet"]["symbols"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s[:-1], "outside of the alphabet"),
        (lambda s: [], "outside of the alphabet"),
        (lambda s: [*s[:-1], s[0]], "occurs twice"),
        (lambda s: [True, 1, *s[2:]], "occurs twice"),
        (lambda s: [{"tuple": ["x"]}, {"tuple": ["x"]}, *s[2:]], "occurs twice"),
        (lambda s: ["<s>", *s[1:]], "marks the start"),
        (lambda s: ["</s>", *s[1:]], "marks the end"),
        (lambda s: [["list"], *s[1:]], "do not fit together"),
        (lambda s: [{"set": []}, *s[1:]], "do not fit together"),
        (lambda s: [{}, *s[1:]], "do not fit together"),
        (lambda s: [{"tuple": 5}, *s[1:]], "do not fit together"),
        (lambda s: [{"tuple": [["list"]]}, *s[1:]], "do not fit together"),
        (lambda s: None, "do not fit together"),
        (lambda s: 4, "do not fit together"),
        (lambda s: "abcd", "do not fit together"),
        (lambda s: dict.fromkeys("abcd"), "do not fit together"),
    ],
)
def test_alphabets(good, refused, change, message):
    refused(with_json(good, alphabet={"symbols": change(symbols_of(good)), "closed": False}), message)


@pytest.mark.parametrize("alphabet", [None, [], "abc", 3, {}, {"symbols": ["a"]}, {"closed": True}, ...])
def test_alphabets_that_are_none(good, refused, alphabet):
    refused(with_json(good, alphabet=alphabet))


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"])
def test_numbers_that_json_does_not_have(good, refused, word):
    members = members_of(good)
    text = members["model.json"].replace(b'"a"', word.encode(), 1)
    assert text != members["model.json"]
    refused(with_member(good, "model.json", text))


# ---------------------------------------------------------------------- fuzz

ODD_VALUES = [
    None, True, False, 0, -1, 1, 2, 3, 4, 2**31, 2**63, -(2**63), 10**40, 0.5, 1e308, "", "a", "<s>", "kn", "none", [], [[]],
    {}, {"tuple": []}, {"tuple": ["a", None]}, ["a", "b"],
]  # fmt: skip


def mutated(good: bytes, rng: np.random.Generator) -> bytes:
    """Return a sound file with random damage: outside, inside a member, in a number, or in the description."""
    where = rng.integers(4)
    if where == 0:
        return _damaged(good, rng)
    members = members_of(good)
    names = sorted(members)
    name = names[rng.integers(len(names))]
    if where == 1:
        return archive_of(members | {name: _damaged(members[name], rng)})
    if where == 2:
        arrays = arrays_of(good)
        for _ in range(rng.integers(1, 4)):
            array = arrays[sorted(arrays)[rng.integers(len(arrays))]]
            info = np.iinfo(array.dtype)
            value = rng.choice([0, 1, -1, 2, 7, info.max, info.min, int(rng.integers(array.size + 2))])
            array[rng.integers(array.size)] = value
        return with_arrays(good, **arrays)
    description = json.loads(members["model.json"])
    _edit(description, rng)
    return archive_of(members | {"model.json": json.dumps(description).encode()})


def _damaged(data: bytes, rng: np.random.Generator) -> bytes:
    found = bytearray(data)
    for _ in range(rng.integers(1, 5)):
        a, b = sorted(int(x) for x in rng.integers(0, len(found) + 1, size=2))
        b = min(b, a + int(rng.integers(1, 40)))
        action = rng.integers(5)
        if action == 0 and a < len(found):
            found[a] ^= 1 << int(rng.integers(8))
        elif action == 1:
            del found[a:b]
        elif action == 2:
            found[a:a] = rng.bytes(int(rng.integers(1, 20)))
        elif action == 3 and a < len(found):
            c = int(rng.integers(len(found)))
            found[a], found[c] = found[c], found[a]
        elif action == 4 and rng.random() < 0.3:
            del found[a:]
    return bytes(found)


def _edit(value: Any, rng: np.random.Generator) -> None:
    """Change, remove or add a value somewhere in a tree of lists and dictionaries."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            return
        key = keys[rng.integers(len(keys))]
        inner = value[key]
        if isinstance(inner, dict | list) and len(inner) and rng.random() < 0.7:
            value = inner
            continue
        action = rng.integers(4)
        if action == 0:
            del value[key]
        elif action == 1 and isinstance(value, list):
            value.insert(key, inner)
        else:
            value[key] = ODD_VALUES[rng.integers(len(ODD_VALUES))]
        return


def use(model: Any) -> None:
    """Do with a model what the command line does, checking that numbers are numbers."""
    test = [*SEQUENCES, [], ["a", 1, None, "zz"]]
    logp = model.log_prob(test, unknown="skip")
    assert not np.isnan(logp).any()
    assert logp.max() <= 1e-9
    rows = model.next_symbols(test, unknown="skip")
    assert np.isfinite(rows).all()
    assert rows.min() >= 0
    assert isinstance(json.dumps(plain(model.summary()), allow_nan=False), str)


def fuzz(good: bytes, path: Path, seeds: range) -> int:
    """Return how many of the damaged files are still sound models."""
    path.write_bytes(good)
    use(load(path))  # compiles what has to be
    n_sound = 0
    for seed in seeds:
        path.write_bytes(mutated(good, np.random.default_rng(seed)))
        began = time.perf_counter()
        with contextlib.suppress(ModelFileError, FormatError):
            use(load(path))
            n_sound += 1
        assert time.perf_counter() - began < 1, f"seed {seed}"
    return n_sound


def test_damaged_files_load_or_are_refused(tmp_path, good):
    n_sound = fuzz(good, tmp_path / "m.npz", range(300))
    assert 5 < n_sound < 150, "the damage is too heavy or too light to tell anything"


if __name__ == "__main__":  # a long run: python tests/io/test_model_file.py FROM TO
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m.npz")
        save(learn_ngram(SEQUENCES, order=3).model, path)
        print(fuzz(path.read_bytes(), path, range(*map(int, sys.argv[1:]))), "still sound")
