"""Frames: what is sent arrives, and what is no frame is refused in one way only."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from wasm_kernel.host.door import BUFFERS_MAX, HEADER_MAX_BYTES, BadFrame, Frame

ROOM = 1 << 20

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
HEADERS = st.dictionaries(st.text(), JSON, max_size=6)
BUFFERS = st.lists(st.binary(max_size=200), max_size=6)


def packed(header: bytes, buffers: list[bytes]) -> bytes:
    """A frame whose lengths are right, whatever its header is."""
    words = [len(header), len(buffers), *map(len, buffers)]
    return struct.pack(f"<{len(words)}I", *words) + header + b"".join(buffers)


def refused_or_decoded(data: bytes, max_bytes: int = ROOM) -> Frame | None:
    """The frame, or None where it was refused; any other exception fails the test."""
    try:
        frame = Frame.decode(data, max_bytes=max_bytes)
    except BadFrame as error:
        assert str(error)
        return None
    assert isinstance(frame.header, dict)
    assert all(isinstance(buffer, bytes) for buffer in frame.buffers)
    return frame


@given(HEADERS, BUFFERS)
def test_what_is_sent_arrives(header: dict[str, Any], buffers: list[bytes]) -> None:
    frame = Frame(header, buffers)
    assert Frame.decode(frame.encode(), max_bytes=ROOM) == frame


def test_lone_surrogate_arrives() -> None:
    frame = Frame({"text": "a\ud800b"})
    assert Frame.decode(frame.encode(), max_bytes=ROOM) == frame


@given(st.binary(max_size=300))
@example(b"")
@example(struct.pack("<II", 0xFFFFFFFF, 0xFFFFFFFF))
@example(struct.pack("<III", 2, 1, 0xFFFFFFFF) + b"{}")
@example(struct.pack("<II", 2, BUFFERS_MAX) + b"{}")
@example(struct.pack("<II", HEADER_MAX_BYTES + 1, 0))
def test_any_bytes_are_decoded_or_refused(data: bytes) -> None:
    refused_or_decoded(data)


@given(HEADERS, BUFFERS, st.data())
def test_damaged_frame_is_decoded_or_refused(
    header: dict[str, Any], buffers: list[bytes], data: st.DataObject
) -> None:
    frame = bytearray(Frame(header, buffers).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(frame) - 1))
        frame[place] = data.draw(st.integers(0, 255))
    refused_or_decoded(bytes(frame))


@given(HEADERS, BUFFERS, st.data())
def test_cut_frame_is_refused(
    header: dict[str, Any], buffers: list[bytes], data: st.DataObject
) -> None:
    frame = Frame(header, buffers).encode()
    cut = data.draw(st.integers(0, len(frame) - 1))
    assert refused_or_decoded(frame[:cut]) is None


@given(HEADERS, BUFFERS, st.binary(min_size=1, max_size=8))
def test_frame_with_something_behind_it_is_refused(
    header: dict[str, Any], buffers: list[bytes], rest: bytes
) -> None:
    assert refused_or_decoded(Frame(header, buffers).encode() + rest) is None


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"[]",
        b"null",
        b'"text"',
        b"{",
        b"{}{}",
        b"\xff\xfe",
        b'{"a": "\xed\xa0\x80"}',
        b'{"a": ' + b"1" * 10_000 + b"}",
        b'{"a": ' + b"[" * 200_000 + b"]" * 200_000 + b"}",
        b'{"a": ' * 100_000 + b"1" + b"}" * 100_000,
    ],
    ids=[
        "empty", "list", "null", "text", "open", "two", "not utf-8", "surrogate",
        "huge number", "deep list", "deep object",
    ],
)  # fmt: skip
def test_header_that_is_no_json_object_is_refused(header: bytes) -> None:
    with pytest.raises(BadFrame, match="the header of the message"):
        Frame.decode(packed(header, []), max_bytes=1 << 22)


def test_message_beyond_the_limit_is_refused_before_it_is_read() -> None:
    frame = Frame({"a": "b"}, [bytes(100)]).encode()
    assert Frame.decode(frame, max_bytes=len(frame)).buffers == [bytes(100)]
    with pytest.raises(BadFrame, match="at most"):
        Frame.decode(frame, max_bytes=len(frame) - 1)


def test_too_many_buffers_are_refused() -> None:
    most = packed(b"{}", [b""] * BUFFERS_MAX)
    assert len(Frame.decode(most, max_bytes=ROOM).buffers) == BUFFERS_MAX
    with pytest.raises(BadFrame, match="too many buffers"):
        Frame.decode(packed(b"{}", [b""] * (BUFFERS_MAX + 1)), max_bytes=ROOM)


def test_duplicate_keys_decode_to_one_value() -> None:
    frame = Frame.decode(packed(b'{"op": 1, "op": 2}', []), max_bytes=ROOM)
    assert frame.header == json.loads('{"op": 1, "op": 2}') == {"op": 2}
