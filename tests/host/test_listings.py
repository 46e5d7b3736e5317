"""Listings of folders: told piece by piece, from one reading."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from wasm_kernel import Session
from wasm_kernel.host.listings import KEPT_MAX, Entry, Listings, entries_of

ENTRIES = [Entry(f"name-{n}".encode(), n, 4) for n in range(100)]


class Reading:
    """Reads folders, and counts how often."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, _: int) -> list[Entry]:
        self.times += 1
        return ENTRIES


def names(told: bytes) -> tuple[list[bytes], int]:
    """The whole entries of an answer, and where the next one is."""
    found, at, following = [], 0, 0
    while at + 24 <= len(told):
        after, _, length, _ = struct.unpack_from("<QQIB3x", told, at)
        if at + 24 + length > len(told):
            break
        found.append(told[at + 24 : at + 24 + length])
        at, following = at + 24 + length, after
    return found, following


@pytest.mark.parametrize("room", [40, 64, 100, 4096, 1 << 20])
def test_every_entry_is_told_once(room: int) -> None:
    reading = Reading()
    listings = Listings(reading)
    found: list[bytes] = []
    begin = 0
    while True:
        told = listings.tell(3, begin, room)
        assert len(told) <= room
        some, following = names(told)
        found += some
        if len(told) < room:
            break
        begin = following
    assert found == [entry.name for entry in ENTRIES]
    assert reading.times == 1


def test_a_listing_begins_anew(tmp_path: Path) -> None:
    listings = Listings(lambda _: entries_of(str(tmp_path)))
    (tmp_path / "one").touch()
    assert b"one" in names(listings.tell(3, 0, 50))[0] + names(listings.tell(3, 2, 4096))[0]
    (tmp_path / "two").touch()
    assert {b".", b"..", b"one", b"two"} == set(names(listings.tell(3, 0, 4096))[0])


def test_few_listings_are_kept_half_told() -> None:
    listings = Listings(Reading())
    for descriptor in range(1_000):
        listings.tell(descriptor, 0, 100)
    assert len(listings._half_told) == KEPT_MAX


def test_kinds_are_those_of_the_names_themselves(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder")
    os.mkfifo(tmp_path / "pipe")
    kinds = {entry.name: entry.kind for entry in entries_of(str(tmp_path))}
    assert kinds == {b".": 3, b"..": 3, b"file": 4, b"folder": 3, b"link": 7, b"pipe": 0}


def test_what_is_not_utf8_has_no_name_for_a_guest(tmp_path: Path) -> None:
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "plain").touch()
    with open(os.fsencode(folder) + b"/\xff", "wb"):
        pass
    with Session(workspace=folder) as session:
        ran = session.execute("import os\nprint(sorted(os.listdir()))")
    assert ran.stdout == "['plain']\n"
