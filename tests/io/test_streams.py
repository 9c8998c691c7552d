"""Whole files in and out."""

from __future__ import annotations

import gzip
import io
import os
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from momata.errors import FormatError, OptionError
from momata.io import streams
from momata.io.streams import atomic_write, check_text, check_writable, decode_text, place_of, read_bytes

# ---------------------------------------------------------------------- reading


def test_plain_and_packed_files_give_the_same_bytes(tmp_path):
    for name, data in [("a.txt", b"x\ny"), ("a.txt.gz", gzip.compress(b"x\ny")), ("packed", gzip.compress(b"x\ny"))]:
        (tmp_path / name).write_bytes(data)
        assert read_bytes(tmp_path / name) == b"x\ny"
        assert read_bytes(str(tmp_path / name)) == b"x\ny"


def test_members_are_joined_and_zero_padding_is_allowed(tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"x") + gzip.compress(b"") + gzip.compress(b"y") + bytes(20))
    assert read_bytes(path) == b"xy"


def test_standard_input_packed_or_not(monkeypatch, standard_input):
    for data in (b"a b\n", gzip.compress(b"a b\n")):
        standard_input(data)
        assert read_bytes("-") == b"a b\n"
    monkeypatch.setattr(sys, "stdin", io.StringIO("é"))
    assert read_bytes("-") == "é".encode()
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(FormatError, match=r"^standard input: is closed"):
        read_bytes("-")


PACKED = gzip.compress(bytes(range(256)) * 40)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (PACKED[:-9], "ends in the middle"),
        (PACKED[:-1], "ends in the middle"),
        (PACKED[:11], "ends in the middle"),
        (PACKED[:2], "ends in the middle"),
        (PACKED + b"junk", "4 bytes that are not gzip follow"),
        (PACKED[:-8] + b"\0" * 8, "not a sound gzip file .*check"),
        (PACKED[:40] + b"\xff" * 60 + PACKED[100:], "not a sound gzip file"),
        (b"plain", "is named .gz but starts with the bytes 70 6c"),
        (b"", "is named .gz but is empty"),
    ],
)
def test_damaged_gzip_is_named(tmp_path, data, message):
    path = tmp_path / "a.gz"
    path.write_bytes(data)
    with pytest.raises(FormatError, match=message) as caught:
        read_bytes(path)
    assert str(caught.value).startswith(f"{path}: ")


def test_a_gzip_bomb_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "MAX_UNPACKED", 1000)
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(bytes(1000)))
    assert len(read_bytes(path)) == 1000
    path.write_bytes(gzip.compress(bytes(1001)))
    with pytest.raises(FormatError, match="unpacks to more than 1,000 bytes"):
        read_bytes(path)


def test_the_bound_is_four_gibibytes():
    assert streams.MAX_UNPACKED == 4 * 1024**3


def test_what_cannot_be_read_is_named(tmp_path, monkeypatch):
    with pytest.raises(FormatError, match="no such file") as caught:
        read_bytes(tmp_path / "none.txt")
    assert caught.value.path == str(tmp_path / "none.txt")
    with pytest.raises(FormatError, match="is a folder"):
        read_bytes(tmp_path)
    with pytest.raises(FormatError, match="cannot be read: "):
        read_bytes("a\0b" * 3)

    def refuse(_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(streams.Path, "read_bytes", refuse)
    with pytest.raises(FormatError, match=r"cannot be read: Permission denied\. Check"):
        read_bytes(tmp_path / "secret.txt")


def test_text_loses_its_byte_order_mark_only():
    assert decode_text(b"\xef\xbb\xbfa\xc3\xa9\r\n", "x") == "aé\r\n"
    assert check_text(b"abc", "x") == b"abc"


@pytest.mark.parametrize(
    ("data", "line", "column", "message"),
    [
        (b"a\nb\xff", 2, 2, "byte 0xff does not belong to UTF-8"),
        ("é é".encode() + b"\xe9\n", 1, 4, "byte 0xe9"),
        (b"\xef\xbb\xbfab\xff", 1, 3, "byte 0xff"),
        (b"one\ntwo\xc3", 2, 4, "byte 0xc3"),
        ("\né".encode() + b"a\0", 2, 3, "NUL byte"),
        (b"\xff\xfea\0", 1, 1, "byte 0xff"),
    ],
)
def test_binary_data_is_refused_with_its_place(data, line, column, message):
    with pytest.raises(FormatError, match=message) as caught:
        decode_text(data, "some.txt")
    assert (caught.value.path, caught.value.line, caught.value.column) == ("some.txt", line, column)
    assert str(caught.value).startswith(f"some.txt, line {line}, column {column}: ")


@given(st.text(alphabet="aé\n\U0001f600", max_size=20), st.data())
def test_places_count_characters(text, data):
    at = data.draw(st.integers(0, len(text)))
    before = text[:at].split("\n")
    assert place_of(text.encode(), len(text[:at].encode())) == (len(before), len(before[-1]) + 1)


# ---------------------------------------------------------------------- writing


def write(path, content, error=None, **options):
    """Write a file, and fail at the end if an error is given."""
    with atomic_write(path, **options) as file:
        file.write(content)
        if error is not None:
            raise error


def only_file(folder):
    (found,) = folder.iterdir()
    return found.name


def test_text_is_utf8_with_plain_line_ends(tmp_path):
    with atomic_write(tmp_path / "a.txt") as file:
        file.write("é\nb\n")
        assert not (tmp_path / "a.txt").exists()
    assert (tmp_path / "a.txt").read_bytes() == b"\xc3\xa9\nb\n"
    assert only_file(tmp_path) == "a.txt"


def test_packed_output_is_reproducible(tmp_path):
    for mode, content in [("w", "é\n"), ("wb", "é\n".encode())]:
        for name in (f"a.{mode}.gz", f"b.{mode}.GZ"):
            with atomic_write(tmp_path / name, mode=mode) as file:
                file.write(content)
            assert read_bytes(tmp_path / name) == "é\n".encode()
        assert (tmp_path / f"a.{mode}.gz").read_bytes() == (tmp_path / f"b.{mode}.GZ").read_bytes()


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_nothing_changes_when_writing_fails(tmp_path, error, name):
    with pytest.raises(error):
        write(tmp_path / name, "half", error())
    assert list(tmp_path.iterdir()) == []
    (tmp_path / name).write_bytes(b"old")
    with pytest.raises(error):
        write(tmp_path / name, b"half", error(), force=True, mode="wb")
    assert (tmp_path / name).read_bytes() == b"old"
    assert only_file(tmp_path) == name


def test_existing_files_are_kept_without_force(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")
    for refused in (lambda: check_writable(path), lambda: atomic_write(path).__enter__()):
        with pytest.raises(OptionError) as caught:
            refused()
        assert str(caught.value) == f"{path} exists. Use --force to replace it."
    check_writable(path, force=True)
    with atomic_write(path, force=True) as file:
        file.write("new")
    assert path.read_bytes() == b"new"


def test_a_file_that_appears_meanwhile_is_kept(tmp_path):
    path = tmp_path / "a.txt"

    def interrupted():
        with atomic_write(path) as file:
            file.write("mine")
            path.write_bytes(b"theirs")

    with pytest.raises(OptionError, match="exists"):
        interrupted()
    assert path.read_bytes() == b"theirs"
    assert only_file(tmp_path) == "a.txt"


@pytest.mark.parametrize("check", [check_writable, lambda p: atomic_write(p).__enter__()])
def test_impossible_targets_are_refused(tmp_path, check):
    for path, message in [
        (tmp_path, "is a folder"),
        (f"{tmp_path}/new/", "is a folder"),
        (tmp_path / "no" / "a.txt", "there is no folder .*no"),
        ("", "not a file name"),
        ("a\0b", "not a file name"),
    ]:
        with pytest.raises(OptionError, match=message):
            check(path)
    assert list(tmp_path.iterdir()) == []


def test_check_leaves_no_file(tmp_path):
    check_writable(tmp_path / "a.txt")
    check_writable("-")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_refuses_files_is_named(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(streams.Path, "open", refuse)
    with pytest.raises(OptionError, match=r"a.txt cannot be written: Permission denied"):
        check_writable(tmp_path / "a.txt")
    with pytest.raises(OptionError, match=r"a.txt cannot be written"), atomic_write(tmp_path / "a.txt"):
        pass


def test_a_full_disk_is_named_and_leaves_nothing(tmp_path):
    with pytest.raises(OptionError, match="No space left"):
        write(tmp_path / "a.txt", "half", OSError(28, "No space left on device"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="permissions and links of POSIX")
def test_permissions_and_links_are_kept(tmp_path):
    target, link = tmp_path / "a.txt", tmp_path / "link.txt"
    target.write_bytes(b"old")
    target.chmod(0o640)
    link.symlink_to(target)
    with atomic_write(link, force=True) as file:
        file.write("new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert target.stat().st_mode & 0o777 == 0o640
    with atomic_write(tmp_path / "new.txt") as file:
        file.write("new")
    (tmp_path / "plain.txt").write_bytes(b"")
    assert (tmp_path / "new.txt").stat().st_mode == (tmp_path / "plain.txt").stat().st_mode


@pytest.mark.skipif(os.name != "posix", reason="devices of POSIX")
def test_a_device_is_written_and_not_replaced():
    check_writable(os.devnull)
    with atomic_write(os.devnull) as file:
        file.write("gone")
    assert not os.path.isfile(os.devnull)  # noqa: PTH113


def test_standard_output_as_text_and_bytes(monkeypatch, standard_output):
    caught = standard_output()
    for mode, content in [("w", "é\n"), ("wb", "é\n".encode())]:
        with atomic_write("-", mode=mode) as file:
            file.write(content)
    assert caught.getvalue() == "é\né\n".encode()
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    with atomic_write("-") as file:
        file.write("é")
    assert sys.stdout.getvalue() == "é"
    with pytest.raises(OptionError, match="takes text only"), atomic_write("-", mode="wb"):
        pass


def test_other_modes_are_refused(tmp_path):
    with pytest.raises(OptionError, match="mode='a'"), atomic_write(tmp_path / "a", mode="a"):
        pass
