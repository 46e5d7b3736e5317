"""From events to messages: batched, in order, sanitised; the clock of these tests is a list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from wasm_kernel.notebook import publish
from wasm_kernel.notebook.publish import (
    BATCH_CHARACTERS,
    BATCH_SECONDS,
    Displays,
    Publisher,
    clean_reply_bundle,
    error_content,
    notes_text,
)

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)


class Stage:
    """A publisher, what it sent, and a clock that moves when it is told to."""

    def __init__(
        self, html: Literal["safe", "isolated", "text"] = "safe", silent: bool = False
    ) -> None:
        self.sent: list[tuple[str, dict[str, Any]]] = []
        self.timers: list[tuple[float, Callable[[], None]]] = []
        self.asked: list[InputEvent] = []
        self.displays = Displays()
        self.publisher = Publisher(
            lambda kind, content: self.sent.append((kind, content)),
            self._ask,
            lambda seconds, call: self.timers.append((seconds, call)),
            html=html,
            displays=self.displays,
            silent=silent,
        )

    def _ask(self, event: InputEvent) -> str:
        self.asked.append(event)
        return "an answer"

    def play(self, *events: Event) -> None:
        for event in events:
            self.publisher(event)

    def tick(self) -> None:
        """All timers fire."""
        timers, self.timers = self.timers, []
        for _, call in timers:
            call()

    @property
    def kinds(self) -> list[str]:
        return [kind for kind, _ in self.sent]

    @property
    def streams(self) -> list[tuple[str, str]]:
        return [
            (content["name"], content["text"]) for kind, content in self.sent if kind == "stream"
        ]

    def text(self, name: str) -> str:
        return "".join(text for stream, text in self.streams if stream == name)


def out(text: str) -> StreamEvent:
    return StreamEvent("stdout", text)


def err(text: str) -> StreamEvent:
    return StreamEvent("stderr", text)


# Batches.


def test_small_prints_wait_for_the_clock_and_go_as_one() -> None:
    stage = Stage()
    stage.play(*(out(f"{n}\n") for n in range(100)))
    assert stage.sent == []
    ((seconds, _),) = stage.timers
    assert seconds == BATCH_SECONDS
    stage.tick()
    assert stage.streams == [("stdout", "".join(f"{n}\n" for n in range(100)))]


def test_the_clock_is_asked_once_per_batch() -> None:
    stage = Stage()
    stage.play(out("a"), out("b"))
    stage.tick()
    assert stage.timers == []
    stage.play(out("c"))
    assert len(stage.timers) == 1
    stage.tick()
    assert stage.streams == [("stdout", "ab"), ("stdout", "c")]


def test_a_large_batch_goes_at_once() -> None:
    stage = Stage()
    stage.play(out("x" * 1000 + "\n"), out(("y" * 99 + "\n") * (BATCH_CHARACTERS // 100 + 1)))
    assert len(stage.streams) == 1
    stage.tick()
    assert len(stage.streams) == 1


def test_finish_leaves_nothing_behind_and_late_timers_nothing_to_do() -> None:
    stage = Stage()
    stage.play(out("last words"))
    stage.publisher.finish()
    assert stage.streams == [("stdout", "last words")]
    stage.tick()
    assert len(stage.sent) == 1


def test_a_timer_that_fires_with_nothing_to_send() -> None:
    stage = Stage()
    stage.play(out("a"), DisplayEvent({"text/plain": "d"}))
    stage.tick()
    assert stage.kinds == ["stream", "display_data"]


# Order.


def test_streams_keep_their_order() -> None:
    stage = Stage()
    stage.play(out("1"), out("2"), err("3"), out("4"))
    stage.publisher.finish()
    assert stage.streams == [("stdout", "12"), ("stderr", "3"), ("stdout", "4")]


def test_everything_else_comes_after_what_was_printed_before() -> None:
    stage = Stage()
    stage.play(
        out("1"),
        DisplayEvent({"text/plain": "2"}),
        out("3"),
        ClearEvent(wait=True),
        err("4"),
        ResultEvent({"text/plain": "5"}, {}, 7),
        out("6"),
        ErrorEvent("E", "7", ["tb"]),
    )
    assert stage.kinds == [
        "stream", "display_data", "stream", "clear_output",
        "stream", "execute_result", "stream", "error",
    ]  # fmt: skip
    assert stage.sent[3][1] == {"wait": True}
    assert stage.sent[5][1]["execution_count"] == 7


def test_a_question_comes_after_what_was_printed_before() -> None:
    stage = Stage()
    stage.play(out("before"))
    question = InputEvent("who? ", False, lambda: False)
    assert stage.publisher(question) == "an answer"
    assert stage.streams == [("stdout", "before")]
    assert stage.asked == [question]


events = st.lists(
    st.one_of(
        st.builds(out, st.text("ab\n", max_size=5)),
        st.builds(err, st.text("cd\n", max_size=5)),
        st.just("tick"),
        st.just(ClearEvent(wait=False)),
    ),
    max_size=30,
)


@given(events)
def test_no_text_is_lost_doubled_or_moved(script: list[Any]) -> None:
    stage = Stage()
    expected: list[str] = []
    for step in script:
        if step == "tick":
            stage.tick()
            continue
        stage.play(step)
        if isinstance(step, StreamEvent):
            expected += [f"{step.name}:{letter}" for letter in step.text]
        else:
            expected.append("clear")
    stage.publisher.finish()
    found: list[str] = []
    for kind, content in stage.sent:
        if kind == "stream":
            found += [f"{content['name']}:{letter}" for letter in content["text"]]
        else:
            found.append("clear")
    assert found == expected
    assert all(text for _, text in stage.streams)


# Streams are sanitised, whatever the pieces.


def test_a_colour_that_is_cut_in_two_stays_a_colour() -> None:
    stage = Stage()
    stage.play(out("a\x1b[3"), out("1mred\x1b[0m"))
    stage.publisher.finish()
    assert stage.text("stdout") == "a\x1b[31mred\x1b[0m"


def test_what_steers_a_terminal_is_removed_even_in_pieces() -> None:
    stage = Stage()
    stage.play(*(out(letter) for letter in "a\x1b]0;title\x07b\x1b[2Jc"), err("\x1b[2J"))
    stage.publisher.finish()
    assert stage.text("stdout") == "abc"
    assert stage.text("stderr") == ""
    assert ("stderr", "") not in stage.streams


def test_each_stream_has_its_own_unfinished_sequence() -> None:
    stage = Stage()
    stage.play(out("a\x1b["), err("31m"), out("31mb"))
    stage.publisher.finish()
    assert stage.text("stdout") == "a\x1b[31mb"
    assert stage.text("stderr") == "31m"


# Displays.


def test_display_ids_are_remembered_and_only_those_can_be_updated() -> None:
    stage = Stage()
    stage.play(
        DisplayEvent({"text/plain": "one"}, {}, "mine"),
        UpdateEvent({"text/plain": "two"}, {}, "mine"),
        UpdateEvent({"text/plain": "three"}, {}, "not mine"),
        DisplayEvent({"text/plain": "four"}),
    )
    assert stage.kinds == ["display_data", "update_display_data", "display_data"]
    assert stage.displays.get("not mine") is None
    assert stage.sent[0][1]["transient"] == {"display_id": "mine"}
    assert stage.sent[1][1]["transient"] == {"display_id": "mine"}
    assert stage.sent[2][1]["transient"] == {}


def test_only_the_latest_displays_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cell that clears its outputs makes as many displays as it likes."""
    monkeypatch.setattr(publish, "DISPLAYS_MAX", 3)
    displays = Displays(str.upper)
    for name in ("a", "b", "c", "a", "d", "e"):
        assert displays.add(name) == name.upper()
    assert [name for name in "abcde" if displays.get(name)] == ["a", "d", "e"]


def test_bytes_become_base64_and_text_stays_beside_them() -> None:
    stage = Stage()
    stage.play(DisplayEvent({"image/png": PIXEL, "text/plain": "<Figure>"}))
    data = stage.sent[0][1]["data"]
    assert data["image/png"].startswith("iVBORw0KGgo")
    assert data["text/plain"] == "<Figure>"


def test_what_is_left_out_is_said() -> None:
    stage = Stage()
    bundle = {"application/javascript": "alert(1)", "text/plain": "<Javascript>"}
    stage.play(DisplayEvent(bundle))
    assert stage.kinds == ["display_data", "stream"]
    assert stage.sent[0][1]["data"] == {"text/plain": "<Javascript>"}
    assert stage.text("stderr").startswith("[Not shown: application/javascript ")
    assert stage.text("stderr").endswith("]\n")


@pytest.mark.parametrize("kind", ["display", "result", "update"])
def test_no_script_gets_through_any_door(kind: str) -> None:
    stage = Stage()
    stage.displays.add("mine")
    data = {"text/html": "<b>x</b><script>alert(1)</script>", "text/plain": "x"}
    made: dict[str, Event] = {
        "display": DisplayEvent(data),
        "result": ResultEvent(data, {}, 1),
        "update": UpdateEvent(data, {}, "mine"),
    }
    stage.play(made[kind])
    shown = stage.sent[0][1]["data"]["text/html"]
    assert "<b>x</b>" in shown
    assert "script" not in shown.lower()


def test_html_as_text() -> None:
    stage = Stage(html="text")
    stage.play(DisplayEvent({"text/html": "<b>x</b>", "text/plain": "x"}))
    assert stage.sent[0][1]["data"] == {"text/plain": "x"}


def test_errors_are_sanitised() -> None:
    content = error_content(ErrorEvent("E\x1b[2J", "v\x07", ["\x1b[31mred\x1b[0m\x1b]0;t\x07"]))
    assert content == {"ename": "E", "evalue": "v", "traceback": ["\x1b[31mred\x1b[0m"]}


def test_a_reply_carries_text_only() -> None:
    data = {"text/plain": "a\x1b[2Jb", "text/html": "<b>x</b>", "image/png": "AAAA"}
    assert clean_reply_bundle(data) == {"text/plain": "ab"}
    assert clean_reply_bundle({"text/plain": 5}) == {}


def test_notes_are_few_lines() -> None:
    assert notes_text([]) == ""
    assert notes_text(["a", "b"]) == "[a]\n[b]\n"
    assert notes_text([str(n) for n in range(100)]).count("\n") == 5


# Silent cells.


def test_a_silent_cell_sends_nothing_but_may_ask() -> None:
    stage = Stage(silent=True)
    stage.play(
        out("a"),
        DisplayEvent({"text/plain": "b"}, {}, "id"),
        ResultEvent({"text/plain": "c"}, {}, 1),
        ErrorEvent("E", "d", []),
        ClearEvent(wait=False),
    )
    assert stage.publisher(InputEvent("? ", True, lambda: False)) == "an answer"
    stage.publisher.finish()
    stage.tick()
    assert stage.sent == []
