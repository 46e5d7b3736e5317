"""Attacks on the host itself: crafted values and outputs, a replaced driver, files of others.

Whatever a guest sends is data: an error of ours at worst, never code, never more memory than it
sent, never a host that stops.
"""

from __future__ import annotations

import base64
import json
import os
import pickle
import resource
import struct
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import wasm_kernel.session as session_module
from wasm_kernel import (
    NOTEBOOK_POLICY,
    CacheError,
    GuestProtocolError,
    InvalidRuntimeError,
    Limit,
    Session,
    VariableTransferError,
    WasmKernelError,
)
from wasm_kernel.core.events import (
    ClearEvent,
    DisplayEvent,
    ErrorEvent,
    Event,
    InputEvent,
    ResultEvent,
    StreamEvent,
    UpdateEvent,
)
from wasm_kernel.host import cache, engine
from wasm_kernel.host.guest import Program
from wasm_kernel.host.memory import WASM_PAGE
from wasm_kernel.runtimes.python import artifacts, decoding, image, outputs
from wasm_kernel.runtimes.python.image import Layout, ensure_image

from .conftest import HANG_GUARD_SECONDS, Canary
from .guest_code import SEND

MEGABYTE = 1_000_000


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Session]]:
    """``make(**policy_fields)``: a session on the test's workspace, closed at the end."""
    made: list[Session] = []

    def session(**fields: Any) -> Session:
        limits = {"fuel_budget": 20_000_000_000, "timeout_seconds": HANG_GUARD_SECONDS}
        policy = NOTEBOOK_POLICY.replace(**{**limits, **fields})
        made.append(Session(policy, tmp_path / "workspace"))
        return made[-1]

    yield session
    for one in made:
        one.close()


@pytest.fixture
def session(make: Callable[..., Session]) -> Session:
    return make()


def observed(session: Session, code: str, **options: Any) -> tuple[Any, list[Event]]:
    """The result of a cell, and its events."""
    events: list[Event] = []

    def on_event(event: Event) -> None:
        events.append(event)

    return session.execute(code, on_event=on_event, **options), events


# Crafted values.

RANGE = {"kind": "range", "span": [0, 1, 1], "name": None}


def column(dtype: str, **more: Any) -> dict[str, Any]:
    return {"kind": "plain", "dtype": dtype, "buffer": 0, **more}


def series(data: Any, index: Any = RANGE, name: Any = None) -> dict[str, Any]:
    return {"kind": "series", "name": name, "data": data, "index": index}


def frame(data: Any, columns: Any, index: Any = RANGE) -> dict[str, Any]:
    return {"kind": "frame", "columns": columns, "data": data, "index": index}


def array(dtype: Any, shape: Any, buffer: Any = 0) -> dict[str, Any]:
    return {"kind": "array", "dtype": dtype, "shape": shape, "buffer": buffer}


def categories(found: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "category", "codes": 0, "categories": found, "ordered": False}


def png(width: int, height: int, content: bytes = b"") -> bytes:
    """A PNG that claims some size."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", content)
        + chunk(b"IEND", b"")
    )


def nested(depth: int) -> dict[str, Any]:
    found: dict[str, Any] = column("<i8")
    for _ in range(depth):
        found = categories(found)
    return found


WORD = bytes(8)
CRAFTED: dict[str, tuple[Any, list[bytes]]] = {
    "nothing": (None, []),
    "a list": ([1], []),
    "a text": ("value", []),
    "a number": (5, []),
    "no kind": ({}, []),
    "a kind of its own": ({"kind": "pickle", "buffer": 0}, [WORD]),
    "kind as a list": ({"kind": ["json"]}, []),
    "bytes of no buffer": ({"kind": "bytes", "buffer": 5}, [WORD]),
    "bytes of a negative buffer": ({"kind": "bytes", "buffer": -1}, [WORD]),
    "bytes of a true buffer": ({"kind": "bytes", "buffer": True}, [WORD, WORD]),
    "bytes of a text buffer": ({"kind": "bytes", "buffer": "0"}, [WORD]),
    "bytes of a huge buffer": ({"kind": "bytes", "buffer": 10**30}, [WORD]),
    "float of a list": ({"kind": "json", "value": {"float": []}}, []),
    "int of a list": ({"kind": "json", "value": {"int": []}}, []),
    "objects": (array("O", [1]), [WORD]),
    "objects by another name": (array("object", [1]), [WORD]),
    "objects in a structure": (array("f8,O", [1]), [WORD * 2]),
    "a structure": (array("i4,i4", [1]), [WORD]),
    "nested types": (array("(2,)f8", [1]), [WORD * 2]),
    "void": (array("V8", [1]), [WORD]),
    "no type": (array(None, [1]), [WORD]),
    "a type that is none": (array("no such type", [1]), [WORD]),
    "a type that is long": (array("f8," * 100_000, [1]), [WORD]),
    "a type that is a list": (array([["a", "O"]], [1]), [WORD]),
    "no shape": (array("<f8", None), [WORD]),
    "a negative shape": (array("<f8", [-1]), [WORD]),
    "a shape of text": (array("<f8", ["1"]), [WORD]),
    "a shape of truth": (array("<f8", [True]), [WORD]),
    "a shape of ten gigabytes": (array("<f8", [10**10]), [WORD]),
    "a shape beyond all numbers": (array("<f8", [10**40]), [WORD]),
    "a shape with nothing in it": (array("<f8", [0, 2**62, 2**62]), [b""]),
    "forty dimensions": (array("<f8", [1] * 40), [WORD]),
    "half an item": (array("<f8", [1]), [b"1234"]),
    "too many items": (array("<f8", [1]), [WORD * 2]),
    "items of no size": (array("S0", [5]), [b""]),
    "a column of no length": (series(column("<i8")), [b""]),
    "a column of objects": (series(column("O")), [WORD]),
    "a zone on numbers": (series(column("<i8", tz="UTC")), [WORD]),
    "a zone that is a path": (series(column("<M8[ns]", tz="../../../etc/passwd")), [WORD]),
    "a zone that is absolute": (series(column("<M8[ns]", tz="/etc/passwd")), [WORD]),
    "a zone that is a folder": (series(column("<M8[ns]", tz="America")), [WORD]),
    "a zone with NUL": (series(column("<M8[ns]", tz="UTC\0")), [WORD]),
    "a zone that is a number": (series(column("<M8[ns]", tz=5)), [WORD]),
    "a mask of another length": (series(column("<i8", mask=1)), [WORD, b"\1\1"]),
    "a mask on times": (series(column("<M8[ns]", mask=1)), [WORD, b"\1"]),
    "times without a unit": (series(column("<M8")), [WORD]),
    "times beyond all years": (series(column("<M8[Y]")), [b"\xff" * 7 + b"\x7f"]),
    "an index of half floats": ({"kind": "index", "value": column("<f2")}, [b"12"]),
    "a series with an index of half floats": (
        series(column("<i8"), {"kind": "values", "name": None, "data": column("<f2", buffer=1)}),
        [WORD, b"12"],
    ),
    "truth values that are neither": (array("?", [2]), [b"\1\2"]),
    "a column of truth values that are neither": (series(column("?")), [b"\xff"]),
    "text of no code point": (series(column("<U1")), [b"\xff" * 4]),
    "an index of text of no code point": ({"kind": "index", "value": column("<U1")}, [b"\xff" * 4]),
    "an index without an end": (
        series(column("<i8"), {"kind": "range", "span": [0, 2**70, 1], "name": None}), [WORD]
    ),
    "an index of ten gigabytes": (
        series(column("<i8"), {"kind": "range", "span": [0, 10**10, 1], "name": None}), [WORD]
    ),
    "an index without a step": (
        series(column("<i8"), {"kind": "range", "span": [0, 1, 0], "name": None}), [WORD]
    ),
    "an index of text": (
        series(column("<i8"), {"kind": "range", "span": ["a", "b", "c"], "name": None}), [WORD]
    ),
    "an index of nothing": (series(column("<i8"), None), [WORD]),
    "a name that is a list": (series(column("<i8"), name=[1]), [WORD]),
    "columns without names": (frame([column("<i8")], []), [WORD]),
    "names without columns": (frame([], ["a"]), []),
    "columns that are a number": (frame(5, 5), []),
    "columns of other lengths": (
        frame([column("<i8"), column("<i4", buffer=1)], ["a", "b"]), [WORD, WORD]
    ),
    "a hundred columns of one buffer": (
        frame([column("<i8")] * 100, list(range(100)),
              {"kind": "range", "span": [0, 100_000, 1], "name": None}),
        [bytes(800_000)],
    ),
    "a name that is an object": (frame([column("<i8")], [{"a": 1}]), [WORD]),
    "codes beyond the categories": (
        series(categories(column("<i8", buffer=1))),
        [b"\x05\0\0\0", WORD],
    ),
    "categories that are the same": (
        series(categories(column("<i8", buffer=1))),
        [b"\0\0\0\0", WORD * 2],
    ),
    "categories in categories": (series(nested(5000)), [WORD]),
    "text whose lengths do not add up": (
        series({"kind": "strings", "dtype": "str", "lengths": 0, "buffer": 1}),
        [struct.pack("<i", 2**31 - 1), b"ab"],
    ),
    "text that is not UTF-8": (
        series({"kind": "strings", "dtype": "str", "lengths": 0, "buffer": 1}),
        [struct.pack("<i", 2), b"\xff\xfe"],
    ),
    "text with half a length": (
        series({"kind": "strings", "dtype": "str", "lengths": 0, "buffer": 1}), [b"12", b""]
    ),
    "text with a length below -1 that hides too much": (
        series({"kind": "strings", "dtype": "str", "lengths": 0, "buffer": 1}),
        [struct.pack("<iii", 2**31 - 1, -(2**31), 2), b"ab"],
    ),
    "repeated text that is not there": (
        series({"kind": "repeated", "dtype": "str", "codes": 2,
                "values": {"lengths": 0, "buffer": 1}}),
        [struct.pack("<i", 2), b"ab", struct.pack("<i", 1)],
    ),
    "repeated text before the first": (
        series({"kind": "repeated", "dtype": "object", "codes": 2,
                "values": {"lengths": 0, "buffer": 1}}),
        [struct.pack("<i", 2), b"ab", struct.pack("<i", -2)],
    ),
    "repeated text of three gigabytes": (
        series({"kind": "repeated", "dtype": "str", "codes": 2,
                "values": {"lengths": 0, "buffer": 1}},
               {"kind": "range", "span": [0, 3000, 1], "name": None}),
        [struct.pack("<i", MEGABYTE), b"x" * MEGABYTE, bytes(4 * 3000)],
    ),
    "a picture that is none": ({"kind": "picture", "buffer": 0}, [b"GIF89a"]),
    "a picture that ends at once": ({"kind": "picture", "buffer": 0}, [b"\x89PNG\r\n\x1a\n"]),
    "a picture of ten gigabytes": ({"kind": "picture", "buffer": 0}, [png(50_000, 50_000)]),
    "a picture of 400 megabytes": ({"kind": "picture", "buffer": 0}, [png(10_000, 10_000)]),
    "a picture without pixels": ({"kind": "picture", "buffer": 0}, [png(0, 0)]),
    "a picture of rubbish": ({"kind": "picture", "buffer": 0}, [png(5, 5, b"rubbish")]),
}  # fmt: skip


def outcome(decode: Callable[[Any, list[bytes]], Any], value: Any, buffers: list[bytes]) -> str:
    """How decoding ended: ``refused``, ``value``, or the name of an error that is not ours."""
    try:
        decode(value, buffers)
    except VariableTransferError:
        return "refused"
    except Exception as error:
        return type(error).__name__
    return "value"


@pytest.mark.parametrize("name", CRAFTED)
def test_a_crafted_value_is_refused(name: str) -> None:
    value, buffers = CRAFTED[name]
    with limited_memory(500 * MEGABYTE):
        assert outcome(decoding.decode, value, buffers) == "refused"


def test_texts_are_counted_over_the_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each text is an object of its own, ten times as large as what crossed."""
    monkeypatch.setattr(decoding, "_TEXTS_MAX", 3)
    texts = {"kind": "strings", "dtype": "str", "lengths": 0, "buffer": 1}
    more = {**texts, "lengths": 2, "buffer": 3}
    two = {"kind": "range", "span": [0, 2, 1], "name": None}
    buffers = [struct.pack("<ii", 1, 1), b"ab"] * 2
    assert outcome(decoding.decode, frame([texts], ["a"], two), buffers) == "value"
    assert outcome(decoding.decode, frame([texts, more], ["a", "b"], two), buffers) == "refused"


def test_characters_are_counted_over_the_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """A column that lays its texts out one after the other has each as often as it is named."""
    monkeypatch.setattr(decoding, "_CHARACTERS_MAX", 10)

    def repeated(first: int) -> dict[str, Any]:
        texts = {"lengths": first, "buffer": first + 1}
        return {"kind": "repeated", "dtype": "str", "codes": first + 2, "values": texts}

    three = {"kind": "range", "span": [0, 3, 1], "name": None}
    buffers = [struct.pack("<i", 2), b"ab", bytes(12)] * 2
    assert outcome(decoding.decode, frame([repeated(0)], ["a"], three), buffers) == "value"
    both = frame([repeated(0), repeated(3)], ["a", "b"], three)
    assert outcome(decoding.decode, both, buffers) == "refused"


class limited_memory:
    """No more than some bytes of new memory; a claim that is believed ends in MemoryError."""

    def __init__(self, more: int) -> None:
        self._more = more

    def __enter__(self) -> None:
        self._before = resource.getrlimit(resource.RLIMIT_DATA)
        with open("/proc/self/status") as status:
            (used,) = (int(line.split()[1]) * 1024 for line in status if line.startswith("VmData"))
        resource.setrlimit(resource.RLIMIT_DATA, (used + self._more, self._before[1]))

    def __exit__(self, *_: object) -> None:
        resource.setrlimit(resource.RLIMIT_DATA, self._before)


def test_control_a_decoder_that_believes(monkeypatch: pytest.MonkeyPatch) -> None:
    """With its checks taken out, the decoder lets crafted values through or stumbles on them."""
    monkeypatch.setattr(decoding._Decoder, "_dtype", lambda _, text: np.dtype(text))
    monkeypatch.setattr(decoding._Decoder, "_buffer", lambda self, place: self._buffers[place])
    let_through = [n for n, (v, b) in CRAFTED.items() if outcome(decoding.decode, v, b) == "value"]
    assert {"a structure", "bytes of a negative buffer"} <= set(let_through)


KINDS = ["json", "bytes", "array", "picture", "frame", "series", "index", "plain", "strings",
         "repeated", "category", "range", "values"]  # fmt: skip
TYPES = [
    "<i8",
    "<f8",
    "<f2",
    "?",
    "<M8[ns]",
    "<m8[s]",
    "S3",
    "<U2",
    "O",
    "V4",
    "<c16",
    "str",
    "object",
]
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 5),
    st.sampled_from(TYPES),
    st.floats(),
    st.just(10**30),
)


FIELDS = (
    "value", "buffer", "dtype", "shape", "data", "index", "name", "columns", "span", "codes",
    "categories", "ordered", "lengths", "mask", "tz", "extension",
)  # fmt: skip


def descriptions(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    fields = {"kind": st.sampled_from(KINDS), **dict.fromkeys(FIELDS, inner)}
    return st.one_of(st.lists(inner, max_size=3), st.fixed_dictionaries({}, optional=fields))


@settings(max_examples=400, suppress_health_check=[HealthCheck.too_slow])
@given(
    value=st.recursive(LEAVES, descriptions, max_leaves=20),
    buffers=st.lists(
        st.sampled_from([b"", b"\1", WORD, WORD * 3, b"\xff" * 16, b"ab"]), max_size=4
    ),
)
@example(value=series(column("<i8", tz="UTC")), buffers=[WORD])
def test_any_description_is_a_value_or_refused(value: Any, buffers: list[bytes]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert outcome(decoding.decode, value, buffers) in ("refused", "value")


SEND_BACK = """
import base64, json
from wasm_guest import driver
crafted = json.loads(base64.b64decode({header!r}))
buffers = [base64.b64decode(b) for b in {buffers!r}]
driver._steps['get'] = lambda request, _: ({{'value': crafted}}, buffers)
"""


@pytest.mark.parametrize(
    "name",
    ["nothing", "objects", "a shape of ten gigabytes", "a zone on numbers", "a picture of rubbish",
     "an index of half floats", "text that is not UTF-8", "categories that are the same"],
)  # fmt: skip
def test_a_guest_that_sends_crafted_values(session: Session, name: str) -> None:
    value, buffers = CRAFTED[name]
    header = base64.b64encode(json.dumps(value).encode()).decode()
    packed = [base64.b64encode(buffer).decode() for buffer in buffers]
    assert session.execute(SEND_BACK.format(header=header, buffers=packed)).success
    with pytest.raises(VariableTransferError):
        session.get("anything")
    assert session.execute("print('alive')").stdout == "alive\n"


REPLIES = {
    "no value": "{}",
    "a failure of megabytes": "{'failed': 'x' * 5_000_000}",
    "a failure that is no text": "{'failed': [1, {}]}",
    "a type of megabytes": "{'type': 'x' * 5_000_000}",
    "a type that is no text": "{'type': {'a': 1}}",
    "a missing name": "{'missing': 'other'}",
    "not a reply": "5",
    "nothing": "None",
    "an exception": "1 / 0",
    "an end": "__import__('os')._exit(0)",
    "an abort": "__import__('os').abort()",
    "what JSON cannot hold": "{'value': object()}",
    "deep": "__import__('functools').reduce(lambda a, _: [a], range(900), {})",
}


@pytest.mark.parametrize("name", REPLIES)
def test_a_guest_that_answers_with_something_else(session: Session, name: str) -> None:
    session.execute("x = 1")
    session.execute(
        f"from wasm_guest import driver\ndriver._steps['get'] = lambda *_: {REPLIES[name]}"
    )
    with pytest.raises(VariableTransferError) as caught:
        session.get("x")
    assert len(str(caught.value)) < 5_000
    session.undo()
    assert session.get("x") == 1


@pytest.mark.parametrize("name", REPLIES)
def test_a_guest_that_answers_questions_with_something_else(session: Session, name: str) -> None:
    session.execute(
        "from wasm_guest import driver\n"
        f"for step in ('complete', 'inspect', 'is_complete', 'history'):\n"
        f"    driver._steps[step] = lambda *_: {REPLIES[name]}"
    )
    for ask in (
        lambda: session.complete("x"),
        lambda: session.inspect("x"),
        lambda: session.is_complete("x"),
        lambda: session.history("range"),
    ):
        try:
            answer = ask()
        except GuestProtocolError as error:
            assert len(str(error)) < 5_000
        else:
            assert isinstance(answer, dict | list)
    session.undo()
    assert session.is_complete("x")["status"] == "complete"


class Payload:
    """Unpickling this makes a file: the canary of everything that must not be unpickled."""

    def __init__(self, place: Path) -> None:
        self._place = place

    def __reduce__(self) -> tuple[Any, ...]:
        return (os.mkdir, (str(self._place),))


@pytest.fixture
def payload(tmp_path: Path) -> tuple[bytes, Path]:
    """A pickle, and what it would make."""
    place = tmp_path / "made-by-a-pickle"
    return pickle.dumps(Payload(place)), place


def test_nothing_is_unpickled(session: Session, payload: tuple[bytes, Path]) -> None:
    content, place = payload
    session.execute(f"raw = {content!r}")
    assert session.get("raw") == content
    shapes: list[tuple[Any, list[bytes]]] = [
        ({"kind": "bytes", "buffer": 0}, [content]),
        ({"kind": "pickle", "buffer": 0}, [content]),
        (array("O", [1]), [content]),
        (array("|O", [len(content) // 8]), [content]),
        (series(column("O")), [content]),
        ({"kind": "picture", "buffer": 0}, [content]),
        (series({"kind": "strings", "dtype": "object", "lengths": 0, "buffer": 1}),
         [struct.pack("<i", len(content)), content]),
    ]  # fmt: skip
    for value, buffers in shapes:
        outcome(decoding.decode, value, buffers)
    assert not place.exists()


def test_control_the_payload_is_live(payload: tuple[bytes, Path]) -> None:
    content, place = payload
    pickle.loads(content)
    assert place.exists()


def test_values_that_go_in_run_no_code(session: Session, payload: tuple[bytes, Path]) -> None:
    """Host to guest: text that looks like code arrives as text."""
    for text in ("__import__('os').abort()", "x;import os", "{x}", "%reset -f", "!ls", "'''"):
        session.put("text", text)
        assert session.get("text") == text
        session.put("listed", [text, {text: text}])
        assert session.get("listed") == [text, {text: text}]


# A driver, a shell and builtins that were replaced.

REPLACED = {
    "get_ipython": "get_ipython = None\nimport builtins\nbuiltins.get_ipython = None",
    "display": "import builtins\nbuiltins.display = display = None",
    "the formatters": "f = get_ipython().display_formatter\nf.format = None\nf.formatters.clear()",
    "a formatter": (
        "def bad(*_): raise SystemExit(3)\n"
        "get_ipython().display_formatter.formatters['text/plain'].for_type(int, bad)\n5"
    ),
    "the publisher": "get_ipython().display_pub.publish = None",
    "the display hook": "import sys\nsys.displayhook = None\nget_ipython().displayhook = None",
    "the exception hook": "import sys\nsys.excepthook = None\nget_ipython().showtraceback = None",
    "stdout": "import sys\nsys.stdout = None",
    "both streams": "import sys\nsys.stdout = sys.stderr = object()",
    "closed streams": "import sys\nsys.stdout.close(); sys.stderr.close()",
    "closed descriptors": (
        "import os\nfor n in range(20):\n    try: os.close(n)\n    except OSError: pass"
    ),
    "print and len": "import builtins\nbuiltins.print = builtins.len = None",
    "isinstance": "import builtins\nbuiltins.isinstance = lambda *_: True",
    "exceptions": "import builtins\nbuiltins.Exception = builtins.BaseException = int",
    "import": "import builtins\nbuiltins.__import__ = None",
    "all builtins": "import builtins\nbuiltins.__dict__.clear()",
    "json": "import json\njson.dumps = lambda *_, **__: '{}'\njson.loads = None",
    "the door": "from wasm_guest import door\ndoor.call = door.reply = lambda *_, **__: ({}, [])",
    "the door's marks": "from wasm_guest import door\ndoor.user_code = lambda *_: None",
    "the host module": "import _host\n_host.call = lambda *_: b''",
    "the steps": "from wasm_guest import driver\ndriver._steps.clear()",
    "serve": "import builtins\nbuiltins.__turn__ = lambda: None",
    "serve that fails": "import builtins\nbuiltins.__turn__ = lambda: 1 / 0",
    "serve that ends": "import builtins, os\nbuiltins.__turn__ = lambda: os._exit(0)",
    "execute": "from wasm_guest import shell\nshell.execute = None",
    "execute that lies": (
        "from wasm_guest import shell\nshell.execute = lambda *_: {'execution_count': 5}"
    ),
    "execute that answers nonsense": "from wasm_guest import shell\nshell.execute = lambda *_: 5",
    "run_cell": "get_ipython().run_cell = None",
    "the modules": "import sys\nsys.modules.clear()",
    "the path": "import sys\nsys.path.clear(); sys.meta_path.clear()",
    "a trace": "import sys\nsys.settrace(lambda *_: 1 / 0)",
    "the recursion limit": "import sys\nsys.setrecursionlimit(30)",
    "the user's names": "get_ipython().user_ns.clear()",
    "history": "get_ipython().history_manager = None",
    "an exception hook of IPython": (
        "get_ipython().set_custom_exc((Exception,), lambda *_: 1 / 0)\n1 / 0"
    ),
    "events of IPython": (
        "def fail(*_): raise SystemExit\n"
        "for name in ('pre_execute', 'post_execute', 'pre_run_cell', 'post_run_cell'):\n"
        "    get_ipython().events.register(name, fail)"
    ),
    "input transformers": "get_ipython().input_transformers_cleanup.append(lambda lines: 5)",
    "an ast transformer": "get_ipython().ast_transformers.append(5)",
    "a collector": "import gc\ngc.callbacks.append(lambda *_: 1 / 0)",
}


@pytest.mark.parametrize("name", REPLACED)
def test_what_a_guest_replaces_hurts_only_itself(
    make: Callable[..., Session], canary: Canary, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every use of the session after it is an answer or an error of ours, and undo heals it."""
    monkeypatch.setattr(session_module, "OVERHEAD_FUEL", 1_000_000_000)
    monkeypatch.setattr(session_module, "QUESTION_FUEL", 1_000_000_000)
    session = make(fuel_budget=1_000_000_000)
    session.execute("x = 1")
    session.checkpoint("before")
    session.execute(REPLACED[name])
    results = [session.execute(code) for code in ("print('alive')", "5", "1/0")]
    for use in (
        lambda: session.complete("x."),
        lambda: session.inspect("x"),
        lambda: session.is_complete("x"),
        lambda: session.history("range"),
        lambda: session.put("y", [1, 2]),
        lambda: session.get("x"),
        lambda: session.fork().close(),
    ):
        try:
            use()
        except WasmKernelError as error:
            assert len(str(error)) < 10_000
    failing = results[2]
    assert not failing.success or failing.stdout == "", "an error was called a success"
    for result in results:
        assert canary.traces(result) == []
    assert canary.changed() == []
    session.restore("before")
    ended = session.execute("print(x)\nx")
    assert ended.success and ended.stdout == "1\n"


@pytest.mark.parametrize("turn", ["del builtins.__turn__", "builtins.__turn__ = lambda: None"])
def test_a_shell_that_does_not_answer_says_how_to_mend_it(session: Session, turn: str) -> None:
    assert session.execute("import builtins\n" + turn).success
    for _ in range(2):
        result = session.execute("print('alive')")
        assert result.error is not None and result.rolled_back
        assert result.error.name == "SandboxError"
        assert "gave no answer" in result.error.value and "undo that one" in result.error.value
    session.undo()
    assert session.execute("print('alive')").stdout == "alive\n"


def test_control_a_turn_that_is_passed_on_answers(session: Session) -> None:
    """It is the missing answer that is told, not that somebody touched the name."""
    wrapped = "turn = builtins.__turn__\nbuiltins.__turn__ = lambda: turn()"
    assert session.execute("import builtins\n" + wrapped).success
    assert session.execute("print('alive')").stdout == "alive\n"


@pytest.mark.parametrize(
    "name", ["the steps", "execute", "serve", "serve that fails", "the modules"]
)
def test_a_cell_that_could_not_run_is_no_success(session: Session, name: str) -> None:
    session.execute(REPLACED[name])
    result, events = observed(session, "print('ran')")
    assert result.stdout == ""
    assert not result.success
    assert result.error is not None and result.error.value
    assert any(isinstance(event, ErrorEvent) for event in events)


# Forged messages in a session.

FORGED = {
    "begin and end": "for _ in range(300): send({'op': 'begin'}); send({'op': 'end'})",
    "next": "for _ in range(10): send({'op': 'next'})",
    "unknown": "for op in ('', 'x', None, 5, [], {}): send({'op': op})",
    "no operation": "send({})",
    "not JSON": "_host.call(frame(b'{'))",
    "not UTF-8": "_host.call(frame(b'\\xff'))",
    "not an object": "_host.call(frame(b'[]'))",
    "deep": "_host.call(frame(b'[' * 100_000))",
    "nothing": "_host.call(b'')",
    "short": "_host.call(b'1234567')",
    "a long header": "_host.call(_struct.pack('<II', 2**32 - 1, 0))",
    "many buffers": "_host.call(_struct.pack('<II', 0, 2**32 - 1))",
    "lengths beyond": "_host.call(_struct.pack('<IIII', 2, 2, 2**32 - 1, 2**32 - 1) + b'{}')",
    "huge numbers": "send({'op': 'result', 'data': {}, 'execution_count': 10**4000})",
    "not a number": "send({'op': 'result', 'data': {}, 'execution_count': float('nan')})",
    "display without data": "send({'op': 'display'})",
    "display of a list": "send({'op': 'display', 'data': [1]})",
    "display of nothing known": "send({'op': 'display', 'data': {'text/plain': {'other': 1}}})",
    "display of a missing buffer": "send({'op': 'display', 'data': {'image/png': {'buffer': 9}}})",
    "display of a negative buffer": (
        "send({'op': 'display', 'data': {'image/png': {'buffer': -1}}}, b'x')"
    ),
    "display of a true buffer": "send({'op': 'display', 'data': {'image/png': {'buffer': True}}})",
    "display with a long type": "send({'op': 'display', 'data': {'x' * 1000: {'text': ''}}})",
    "update without an id": "send({'op': 'update', 'data': {'text/plain': {'text': 'x'}}})",
    "update with an id of a list": (
        "send({'op': 'update', 'data': {'text/plain': {'text': 'x'}}, 'display_id': [1]})"
    ),
    "metadata of a list": (
        "send({'op': 'display', 'data': {'text/plain': {'text': 'x'}}, 'metadata': [1]})"
    ),
    "a reply of nothing": "send({'op': 'reply'})",
    "a reply that is not JSON": "send({'op': 'reply'}, b'{')",
    "a reply that is not UTF-8": "send({'op': 'reply'}, b'\\xff')",
    "a reply that is a list": "send({'op': 'reply'}, b'[]')",
    "a deep reply": "send({'op': 'reply'}, b'[' * 100_000)",
    "an error of nothing": "send({'op': 'error'})",
    "an error of numbers": "send({'op': 'error', 'name': 1, 'value': 2, 'traceback': 3})",
    "an error of other lines": "send({'op': 'error', 'traceback': [1, None, {}, 'line']})",
    "clear of text": "send({'op': 'clear', 'wait': 'yes'})",
    "input of numbers": "send({'op': 'input', 'prompt': 5, 'password': 'yes'})",
    "pip": "send({'op': 'pip', 'arguments': ['install', '--target', '/', '../../x']})",
    "pip of nothing": "send({'op': 'pip'})",
}
CALM = "\n".join(
    [
        SEND,
        "def calmly(source):",
        "    try: exec(source, globals())",
        "    except (RuntimeError, OSError, ValueError, MemoryError): pass",
    ]
)


@pytest.mark.parametrize("name", FORGED)
def test_forged_messages_in_a_session(session: Session, name: str) -> None:
    session.execute("x = 1")
    result, events = observed(session, f"{CALM}\ncalmly({FORGED[name]!r})\nprint('after')\nx")
    assert result.success and result.stdout == "after\n"
    assert result.execution_count == 2
    assert isinstance(events[-1], ResultEvent) and events[-1].data == {"text/plain": "1"}
    for event in events:
        assert well_formed(event), event
    assert session.execute("print(x)").stdout == "1\n"


def well_formed(event: Event) -> bool:
    """Whether an event has the types that its class names."""
    if isinstance(event, StreamEvent):
        return event.name in ("stdout", "stderr") and isinstance(event.text, str)
    if isinstance(event, ErrorEvent):
        texts = [event.name, event.value, *event.traceback]
        return all(isinstance(text, str) for text in texts)
    if isinstance(event, ClearEvent):
        return isinstance(event.wait, bool)
    if isinstance(event, InputEvent):
        return isinstance(event.prompt, str) and isinstance(event.password, bool)
    if isinstance(event, DisplayEvent | UpdateEvent | ResultEvent):
        if not isinstance(event.data, dict) or not isinstance(event.metadata, dict):
            return False
        if isinstance(event, UpdateEvent):
            return isinstance(event.display_id, str)
        if isinstance(event, ResultEvent):
            return type(event.execution_count) is int and event.execution_count >= 0
        return event.display_id is None or isinstance(event.display_id, str)
    return False


REPLY = f"{SEND}\ndef reply(value): send({{'op': 'reply'}}, _json.dumps(value).encode())\n"


def test_a_forged_reply_is_a_result_like_any_other(session: Session) -> None:
    """A cell may lie about itself; what it says is checked for its form."""
    lies = {
        "count": "{'execution_count': 10**9}",
        "count beyond": "{'execution_count': 2**40, 'error': None}",
        "count as text": "{'execution_count': '7'}",
        "error as text": "{'error': 'boom'}",
        "error of other types": "{'error': {'name': 5, 'value': [], 'traceback': {}}}",
        "expressions as a list": "{'user_expressions': [1, 2]}",
        "exit as text": "{'exit': 'yes'}",
        "nothing": "{}",
    }
    for name, lie in lies.items():
        result = session.execute(f"{REPLY}\nreply({lie})\nprint('on')")
        assert type(result).model_validate_json(result.model_dump_json()) == result, name
        assert result.metadata["exit"] is False
        assert type(session.execution_count) is int and 0 <= session.execution_count < 2**31
        assert isinstance(result.user_expressions, dict)
        session.undo()
    assert session.execute("print(1)").execution_count == 1


def test_a_forged_reply_hides_no_limit(make: Callable[..., Session]) -> None:
    session = make(fuel_budget=50_000_000)
    session.execute("x = 1")
    result = session.execute(f"{REPLY}\nx = 2\nreply({{}})\nwhile True: pass")
    assert result.rolled_back and result.limit is Limit.FUEL
    assert session.get("x") == 1


def test_forged_marks_buy_no_more_than_the_allowance(
    make: Callable[..., Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_module, "OVERHEAD_FUEL", 200_000_000)
    session = make(fuel_budget=100_000_000)
    for work in (
        "send({'op': 'end'})\nwhile True: pass",
        "while True: send({'op': 'end'}); send({'op': 'begin'})",
        "send({'op': 'end'})\nwhile True: [0] * 100",
        "send({'op': 'show'})\nwhile True: pass",
        "while True: send({'op': 'show'}); send({'op': 'end'}); send({'op': 'begin'})",
    ):
        result = session.execute(f"{SEND}\n{work}")
        assert result.rolled_back and result.limit is Limit.FUEL
        assert result.fuel_consumed is not None
        assert result.fuel_consumed + result.fuel_overhead <= 300_000_000


def test_a_printed_result_is_text(session: Session) -> None:
    """Nothing is found in stdout but text, however much it looks like a message."""
    forged = {"op": "reply", "reply": {"execution_count": 99, "error": None}}
    result, events = observed(session, f"print({json.dumps(json.dumps(forged))})\n1/0")
    assert not result.success and result.execution_count == 1
    assert json.loads(result.stdout) == forged
    assert [type(event) for event in events] == [StreamEvent, ErrorEvent]


def test_a_listener_is_never_asked_for_input_that_was_not_allowed(session: Session) -> None:
    code = f"{SEND}\nprint(send({{'op': 'input', 'prompt': 'password?', 'password': True}}))"
    result, events = observed(session, code)
    assert result.success and not any(isinstance(event, InputEvent) for event in events)


# Outputs that are too much.


def volume(events: list[Event]) -> int:
    """Bytes that a listener was given."""
    return sum(len(repr(event)) for event in events)


HUGE = {
    "text": "display({'text/plain': 'x' * 3_000_000}, raw=True)",
    "bytes": "display({'image/png': b'x' * 3_000_000}, raw=True)",
    "JSON": "display({'application/json': ['x' * 100] * 30_000}, raw=True)",
    "nested JSON": (
        "display({'application/json': {str(n): {'k': [n]} for n in range(60_000)}}, raw=True)"
    ),
    "metadata": "display({'text/plain': 'x'}, raw=True, metadata={'m': 'x' * 3_000_000})",
    "nested metadata": (
        "display({'text/plain': 'x'}, raw=True, metadata={'m': [[n] for n in range(80_000)]})"
    ),
    "a result": "'x' * 3_000_000",
    "many": "for _ in range(3000): display({'text/plain': 'x' * 1000}, raw=True)",
    "many of metadata": (
        "for _ in range(900): display({'text/plain': ''}, raw=True, metadata={'m': 'x' * 4000})"
    ),
    "updates": (
        "h = display('a', display_id='i')\n"
        "for _ in range(3000): h.update({'text/plain': 'x' * 1000}, raw=True)"
    ),
    "cleared ones": (
        f"{SEND}\nfor _ in range(1000):\n"
        "    send({'op': 'clear'}); send({'op': 'display', 'data': {'a': {'text': 'x' * 3000}}})"
    ),
    "one text under many names": (
        f"{SEND}\ntypes = {{f'a/{{n}}': {{'text_buffer': 0}} for n in range(64)}}\n"
        "try: send({'op': 'display', 'data': types}, b'x' * 100_000)\nexcept OSError: pass"
    ),
    "errors": f"{SEND}\nfor _ in range(3): send({{'op': 'error', 'traceback': ['x' * 1_500_000]}})",
}


@pytest.mark.parametrize("name", HUGE)
def test_huge_outputs_are_not_passed_on(make: Callable[..., Session], name: str) -> None:
    session = make(display_max_bytes=200_000)
    result, events = observed(session, HUGE[name])
    assert not result.rolled_back
    assert volume(events) < 1_000_000
    assert session.execute("print('alive')").stdout == "alive\n"


def test_control_outputs_without_a_cap(
    make: Callable[..., Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the caps taken out the listener gets it all."""
    monkeypatch.setattr(outputs.CellOutputs, "_admit", lambda *_: True)
    session = make(display_max_bytes=200_000)
    _, events = observed(session, HUGE["text"])
    assert volume(events) > 3_000_000


def test_a_hundred_thousand_types(session: Session) -> None:
    code = "display({f'application/x-{n}': 'x' for n in range(100_000)}, raw=True)"
    result, events = observed(session, f"{code}\nprint('on')")
    assert not any(isinstance(event, DisplayEvent) for event in events)
    assert not result.rolled_back
    assert session.execute("print('alive')").stdout == "alive\n"


def test_control_as_many_types_without_a_bound(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outputs, "BUNDLE_TYPES_MAX", 1_000)
    code = "display({f'application/x-{n}': 'x' for n in range(500)}, raw=True)"
    _, events = observed(session, code)
    assert [len(event.data) for event in events if isinstance(event, DisplayEvent)] == [500]


def test_a_million_clears(make: Callable[..., Session]) -> None:
    """Where nothing is shown there is nothing to clear, and nobody needs to hear of it."""
    session = make(fuel_budget=30_000_000)
    code = f"{SEND}\nnow, soon = [frame({{'op': 'clear', 'wait': w}}) for w in (False, True)]\n"
    loop = "for _ in range(1_000_000): _host.call(soon); _host.call(now)"
    result, events = observed(session, code + loop)
    assert result.limit is Limit.FUEL
    assert [type(event) for event in events] == [ClearEvent, ClearEvent, ErrorEvent]


def test_a_clear_after_each_output_is_passed_on(session: Session) -> None:
    code = "from IPython.display import clear_output\nfor n in range(3): print(n); clear_output()"
    _, events = observed(session, code)
    assert sum(isinstance(event, ClearEvent) for event in events) == 3


def test_a_million_displays(make: Callable[..., Session]) -> None:
    """As many as the fuel allows: the listener sees no more than the policy's count."""
    session = make(fuel_budget=30_000_000, display_max_count=100)
    code = f"{SEND}\nm = frame({{'op': 'display', 'data': {{'text/plain': {{'text': ''}}}}}})\n"
    result, events = observed(session, code + "for _ in range(1_000_000): _host.call(m)")
    assert result.limit is Limit.FUEL
    assert sum(isinstance(event, DisplayEvent) for event in events) == 100
    assert len(events) == 102


def test_control_a_higher_count_shows_more(make: Callable[..., Session]) -> None:
    session = make(fuel_budget=30_000_000, display_max_count=150)
    code = f"{SEND}\nm = frame({{'op': 'display', 'data': {{'text/plain': {{'text': ''}}}}}})\n"
    _, events = observed(session, code + "for _ in range(1_000_000): _host.call(m)")
    assert sum(isinstance(event, DisplayEvent) for event in events) == 150


def test_deep_json(session: Session) -> None:
    for depth in (100, 900, 5_000, 100_000):
        code = (
            f"{SEND}\ndeep = b'[' * {depth} + b']' * {depth}\n"
            'data = b\'{"op": "display", "data": {"a": {"json": \' + deep + b\'}}}\'\n'
            "_host.call(frame(data))\nprint('on')"
        )
        result, events = observed(session, code)
        assert result.success and result.stdout == "on\n"
        for event in events:
            if isinstance(event, DisplayEvent):
                json.dumps(event.data)


def test_the_name_of_a_display_can_be_sent(session: Session) -> None:
    """Half of a character in it would make the host fail while it serves the cell."""
    code = "send({'op': 'display', 'data': {}, 'display_id': 'a\\ud800'})\n"
    code += "send({'op': 'update', 'data': {}, 'display_id': 'a\\ud800'})"
    result, events = observed(session, SEND + code)
    assert result.success, result.error
    names = [e.display_id for e in events if isinstance(e, DisplayEvent | UpdateEvent)]
    assert names == ["a?", "a?"]


def test_errors_beyond_their_count_are_not_read(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    plain = outputs._json
    monkeypatch.setattr(outputs, "_json", lambda text: read.append(len(text)) or plain(text))
    result, events = observed(session, SEND + "for _ in range(500): send({'op': 'error'}, b'{}')")
    assert result.success
    assert len(read) == len([e for e in events if isinstance(e, ErrorEvent)]) == outputs.ERRORS_MAX


def test_long_prompts_names_and_tracebacks(make: Callable[..., Session]) -> None:
    session = make()
    code = (
        f"{SEND}\nsend({{'op': 'input', 'prompt': 'p' * 1_000_000}})\n"
        "send({'op': 'error', 'name': 'n' * 1_000_000, 'value': 'v' * 1_000_000,\n"
        "      'traceback': ['t' * 100] * 100_000})"
    )
    _, events = observed(session, code, allow_stdin=True)
    prompts = [event for event in events if isinstance(event, InputEvent)]
    errors = [event for event in events if isinstance(event, ErrorEvent)]
    assert all(len(event.prompt) <= 10_000 for event in prompts)
    for event in errors:
        assert len(event.name) <= 200 and len(event.value) <= 100_000
        assert sum(map(len, event.traceback)) <= 2_000_000


def test_a_reply_of_megabytes_is_bounded(make: Callable[..., Session]) -> None:
    session = make(display_max_bytes=200_000)
    result = session.execute("1", user_expressions={"x": "'x' * 3_000_000"})
    assert len(repr(result.user_expressions)) < 1_000_000


def test_names_and_texts_of_errors_are_bounded(session: Session) -> None:
    result = session.execute("raise type('E' * 1_000_000, (Exception,), {})('v' * 1_000_000)")
    assert result.error is not None
    assert len(result.error.name) <= 200 and len(result.error.value) <= 100_000


# Names.


@pytest.mark.parametrize(
    "name", ["x;import os", "__import__('os')", "__builtins__", "a.b", "x\n", "[x]"]
)
def test_names_that_are_code(session: Session, canary: Canary, name: str) -> None:
    for use in (lambda: session.put(name, 1), lambda: session.get(name)):
        with pytest.raises(VariableTransferError):
            use()
    assert canary.changed() == []


# Files of the cache that somebody else could have written.


@pytest.fixture
def other_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache of the test's own; nothing is compiled or built into it."""

    def fail(*_: object, **__: object) -> None:
        raise InvalidRuntimeError("nothing is built in this test")

    monkeypatch.setenv(cache.ENV_CACHE_DIR, str(tmp_path / "cache"))
    monkeypatch.setattr(image, "_build", fail)
    monkeypatch.setattr(engine, "_compile_in_child", fail)
    yield tmp_path / "cache"


@pytest.fixture
def planted_image(other_cache: Path, runtime: Program) -> tuple[Path, Callable[[], Any]]:
    """A small file in the place of an image, sealed as ours are, and how it is opened."""
    layout = Layout(runtime.path, "/app", "/data")
    path = layout.path("notebook")
    path.write_bytes(bytes(WASM_PAGE))
    path.chmod(0o600)
    cache.seal(path)
    return path, lambda: ensure_image.__wrapped__(runtime, layout, "notebook")


@pytest.fixture
def planted_module(
    other_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[Path, Callable[[], Any]]:
    """A small file in the place of a compiled module, sealed as ours are, and how it is opened."""
    wasm = other_cache.with_name("some.wasm")
    wasm.write_bytes(b"\0asm\x01\0\0\0")
    path = engine.compiled_path(cache.known_sha256(wasm))
    path.write_bytes(b"this would be native code")
    path.chmod(0o600)
    cache.seal(path)
    return path, lambda: engine.load_module(wasm)


TAMPERED: dict[str, Callable[[Path], object]] = {
    "writable by all": lambda path: path.chmod(0o666),
    "writable by the group": lambda path: path.chmod(0o620),
    "a symbolic link": lambda path: (
        path.rename(path.with_name("elsewhere")),
        path.symlink_to(path.with_name("elsewhere")),
    ),
    "in an open folder": lambda path: path.parent.chmod(0o777),
    "with an open manifest": lambda path: cache.manifest_of(path).chmod(0o666),
    "with a linked manifest": lambda path: (
        cache.manifest_of(path).rename(path.with_name("elsewhere")),
        cache.manifest_of(path).symlink_to(path.with_name("elsewhere")),
    ),
}


@pytest.mark.parametrize("how", TAMPERED)
@pytest.mark.parametrize("what", ["planted_image", "planted_module"])
def test_files_that_others_could_have_written_are_refused(
    request: pytest.FixtureRequest, what: str, how: str
) -> None:
    path, use = request.getfixturevalue(what)
    TAMPERED[how](path)
    with pytest.raises(CacheError) as caught:
        use()
    assert "chmod" in str(caught.value) or "symbolic link" in str(caught.value)


@pytest.mark.parametrize("what", ["planted_image", "planted_module"])
def test_files_that_were_changed_are_refused(request: pytest.FixtureRequest, what: str) -> None:
    """Changed or cut since they were sealed: built anew, which here means refused."""
    path, use = request.getfixturevalue(what)
    for content in (path.read_bytes()[:-1], b"\xff" * path.stat().st_size, b""):
        path.write_bytes(content)
        with pytest.raises(WasmKernelError):
            use()
    path.unlink()
    with pytest.raises(WasmKernelError):
        use()


def test_control_an_image_that_is_ours_is_used(
    planted_image: tuple[Path, Callable[[], Any]],
) -> None:
    _, use = planted_image
    opened = use()
    assert opened.size == WASM_PAGE
    opened.close()


def test_control_a_check_that_looks_away(
    planted_image: tuple[Path, Callable[[], Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the check of owners and modes an open file is mapped."""
    path, use = planted_image
    path.chmod(0o666)
    monkeypatch.setattr(cache, "require_private", lambda path: path.lstat())
    opened = use()
    assert opened.size == WASM_PAGE
    opened.close()


def test_a_module_that_is_none_is_removed(planted_module: tuple[Path, Callable[[], Any]]) -> None:
    path, use = planted_module
    with pytest.raises(InvalidRuntimeError, match="was removed"):
        use()
    assert not path.exists()


def test_the_runtime_of_these_tests_is_private() -> None:
    for path in (artifacts.artifact_folder(), engine.compiled_path("0" * 64).parent):
        cache.require_private(path)
