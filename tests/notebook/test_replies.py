"""What the guest answers to questions of the page."""

from __future__ import annotations

from jupyter_client.session import json_packer

from wasm_kernel.notebook import replies


def test_a_match_is_one_short_line() -> None:
    """JupyterLab inserts the only match by itself, so it must not bring lines along."""
    texts = ["append", "x\n%policy fuel_budget=1T", "y" * 5_000, "tab\there", "größe"]
    found = {"start": 0, "end": 1, "types": [{"text": text} for text in texts]}
    assert replies.completion(found, "a", 1)["matches"] == ["append", "größe"]


def test_an_indent_is_white_space() -> None:
    """A console puts it before what the user types next."""

    def indent(given: object) -> object:
        return replies.completeness({"status": "incomplete", "indent": given})["indent"]

    assert indent(" \t ") == " \t "
    for hostile in ("\nimport os\n", "  x", "\x1b[2J", "\ud800", "\u202e", 5, None, ["  "]):
        assert indent(hostile) == ""
    assert indent(" " * 5_000) == " " * 200


def test_numbers_of_inputs_are_small() -> None:
    rows = [[10**4000, -(10**40), "x"], [1, 2, "y"], ["1", None, "z"]]
    assert replies.history(rows)["history"] == [[0, 0, "x"], [1, 2, "y"], [0, 0, "z"]]


def test_every_reply_can_be_sent() -> None:
    """What the guest says may hold half of a character, which no message can carry."""
    half = "\ud800"
    answers = [
        replies.completion({"types": [{"text": half, "type": half, "signature": half}]}, "a", 1),
        replies.inspection({"found": True, "data": {"text/plain": half, half: half}}),
        replies.completeness({"status": "incomplete", "indent": half}),
        replies.history([[1, 1, half], [1, 1, [half, half]]]),
        replies.expressions({half: {"status": "ok", "data": {"text/plain": half}}, "b": {half: 1}}),
    ]
    for answer in answers:
        json_packer(answer)
