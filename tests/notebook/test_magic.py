"""``%%sandbox`` and ``%sandbox`` in a real IPython: every option and every command."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from host_shell import FOOTER, HostShell, Ran

from wasm_kernel import Limit, SandboxResult, Session, SessionClosedError
from wasm_kernel.notebook.magic_sessions import LINE_COMMANDS

ENDLESS = "while True: pass"


def value(host: HostShell, expression: str, options: str = "") -> str:
    """What the sandbox shows for an expression."""
    (text,) = cell(host, options, expression).texts
    return text


def cell(host: HostShell, options: str, code: str) -> Ran:
    """A cell in the sandbox that must succeed."""
    return host.ok(f"%%sandbox {options}\n{code}")


def line(host: HostShell, command: str) -> str:
    """What a command shows."""
    (text,) = host.ok(f"%sandbox {command}").texts
    return text


def session_of(host: HostShell, name: str = "default") -> Session:
    """The live session behind a name."""
    found: Session = host.shell._wasm_kernel_magics.sessions.live(name)
    return found


# Sessions.


def test_variables_stay_from_cell_to_cell_and_out_of_the_host(host: HostShell) -> None:
    cell(host, "", "x = 20")
    assert value(host, "x + 1") == "21"
    assert "x" not in host.variables


def test_a_cell_shows_what_it_prints_and_its_value(host: HostShell) -> None:
    ran = cell(host, "", "import sys\nprint('out')\nprint('err', file=sys.stderr)\n6 * 7")
    assert (ran.stdout, ran.stderr, ran.texts) == ("out\n", "err\n", ["42"])


def test_the_host_keeps_its_last_value_and_its_outputs(host: HostShell) -> None:
    host.ok("'mine'")
    before = dict(host.variables["Out"])
    cell(host, "", "'of the sandbox'")
    assert host.variables["_"] == "mine"
    assert host.variables["Out"] == before


def test_sessions_have_variables_and_folders_of_their_own(host: HostShell) -> None:
    cell(host, "", "who = 'first'\nopen('a.txt', 'w').close()")
    cell(host, "--session other", "who = 'second'\nopen('b.txt', 'w').close()")
    assert value(host, "who") == "'first'"
    assert value(host, "who", "--session other") == "'second'"
    assert (Path("workspace/a.txt").exists(), Path("workspace-other/b.txt").exists()) == (True,) * 2
    assert line(host, "list") == "default\nother"


@pytest.mark.parametrize("name", ["../up", "a/b", "'a b'", "-x", ".", "a\x1b[31m"])
def test_a_session_name_is_no_path(host: HostShell, tmp_path: Path, name: str) -> None:
    ran = host.sandbox(f"--session={name}", "1")
    assert "cannot name a session: use letters, digits, - and _" in ran.usage_error
    assert list(tmp_path.iterdir()) == []


def test_a_fresh_cell_sees_nothing_and_leaves_nothing(host: HostShell) -> None:
    cell(host, "", "x = 1")
    assert value(host, "'x' in globals()", "--fresh") == "False"
    cell(host, "--fresh", "x = 2\nopen('kept.txt', 'w').write('files do stay')")
    assert value(host, "x, open('kept.txt').read()") == "(1, 'files do stay')"
    assert line(host, "list") == "default"


# Limits.

LIMITS = {
    "--fuel 150M": (ENDLESS, Limit.FUEL, "all of its fuel (150 M instructions)"),
    "--fuel 150_000_000": (ENDLESS, Limit.FUEL, "all of its fuel (150 M instructions)"),
    "--fuel=0.15G": (ENDLESS, Limit.FUEL, "all of its fuel (150 M instructions)"),
    "--timeout 200ms": ("import time; time.sleep(3600)", Limit.TIME, "longer than 200 ms"),
    "--timeout 0.2s": ("import time; time.sleep(3600)", Limit.TIME, "longer than 200 ms"),
    "--memory 200MB": ("x = bytearray(150_000_000)", Limit.MEMORY, "MemoryError"),
    "--memory=190MiB": ("x = bytearray(150_000_000)", Limit.MEMORY, "MemoryError"),
}


@pytest.mark.parametrize("options", LIMITS)
def test_a_limit_in_human_units(host: HostShell, options: str) -> None:
    code, limit, sentence = LIMITS[options]
    ran = host.sandbox(f"{options} --result ended", code)
    assert sentence in str(ran.error)
    assert host.variables["ended"].limit is limit


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--fuel 5X", "'5X' is not an amount of fuel such as 5G or 200M"),
        (
            "--fuel 0",
            "invalid execution policy: fuel_budget: Input should be greater than 0 (got 0)",
        ),
        ("--memory 512XB", "'512XB' is not a size such as 512MB or 1GiB"),
        ("--memory 10MB", "a session needs at least 1"),
        ("--timeout soon", "'soon' is not a time such as 30s, 250ms or 2m"),
        ("--timeout -1s", "expected one argument"),
        ("--policy no.toml", "there is no policy file no.toml"),
        ("--data nowhere", "nowhere to read as data"),
        ("--image other", "invalid choice: 'other'"),
        (
            "--no-such-option",
            "unrecognized arguments: --no-such-option; %%sandbox? lists the options",
        ),
        ("status", "%%sandbox takes options, not 'status'"),
        ("-i 'x", "a quote is not closed"),
        ("--result 1x", "'1x' is not a variable name"),
        ("-i nothing", "-i nothing: there is no such variable"),
        ("-i x=1/0", "-i x=1/0: ZeroDivisionError: division by zero"),
        ("-i x=[1,", "-i x=[1,: SyntaxError"),
        ("-i x=object()", "-i x: a builtins.object cannot cross the border; what can: None, bool"),
        ("-o missing", "-o missing: there is no variable missing"),
        ("-o __name__", "'__name__' is a name of Python's own and cannot be passed"),
        ("-o a.b", "'a.b' is not a variable name"),
    ],
)
def test_a_mistake_is_one_clear_sentence(host: HostShell, options: str, sentence: str) -> None:
    assert sentence in host.sandbox(options, "1;").usage_error


def test_a_mistake_leaves_no_session_behind(host: HostShell) -> None:
    for options in ("--data nowhere", "--memory 10MB", "--fuel 5X", "--timeout 0s", "-i nothing"):
        assert host.sandbox(options, "1").error is not None
    assert line(host, "list") == "no sessions yet; a %%sandbox cell makes one"
    assert value(host, "1 + 1") == "2"


def test_fuel_and_time_are_those_of_one_cell(host: HostShell) -> None:
    cell(host, "--fuel 200M --timeout 60s", "x = 1")
    assert session_of(host).policy.timeout_seconds is None
    assert value(host, "sum(1 for _ in range(2_000_000))") == "2000000"


def test_memory_stays_and_the_other_options_with_it(host: HostShell, tmp_path: Path) -> None:
    (tmp_path / "given").mkdir()
    cell(host, "--memory 400MB --data given --deterministic", "x = 1")
    cell(host, "--fuel 5G", "y = x")
    cell(host, "--timeout 20s", "z = y")
    policy = session_of(host).policy
    assert (policy.memory_bytes, policy.deterministic) == (400_000_000, True)
    assert policy.mount_data_dir == str(tmp_path / "given")


def test_a_cell_that_ran_into_a_limit_never_was(host: HostShell) -> None:
    cell(host, "", "kept = [1]\nopen('f', 'w').write('before')")
    ran = host.sandbox("--fuel 150M", f"kept.append(2)\nopen('f', 'w').write('after')\n{ENDLESS}")
    assert "the cell was rolled back: variables and files are as before it" in str(ran.error)
    assert "To give it more: %%sandbox --fuel 750M" in ran.stdout
    assert value(host, "kept, open('f').read()") == "([1], 'before')"


def test_a_policy_file(host: HostShell, tmp_path: Path) -> None:
    (tmp_path / "my policy.toml").write_text("fuel_budget = 200_000_000\nhtml = 'text'\n")
    ran = host.sandbox("--policy 'my policy.toml' --result ended", ENDLESS)
    assert "OutOfFuel" in str(ran.error)
    assert host.variables["ended"].limit is Limit.FUEL
    assert session_of(host).policy.html == "text"
    assert line(host, "policy").startswith("fuel_budget           200M\n")
    (tmp_path / "bad.toml").write_text("no_such_field = 1\n")
    assert (
        "no_such_field: there is no such field"
        in host.sandbox("--policy bad.toml", "1").usage_error
    )


def test_deterministic(host: HostShell) -> None:
    code = "import random, time, uuid\n(random.random(), str(uuid.uuid4()), time.time())"
    first, second = (value(host, code, "--fresh --deterministic") for _ in range(2))
    assert first == second != value(host, code, "--fresh")


def test_the_image(host: HostShell) -> None:
    assert value(host, "'pandas' in __import__('sys').modules", "--image notebook") == "True"


# Folders.


@pytest.mark.parametrize("option", ["--workspace 'my files'", '--workspace="my files"'])
def test_a_workspace_with_a_space_in_its_name(host: HostShell, tmp_path: Path, option: str) -> None:
    cell(host, option, "open('a.txt', 'w').write('hello')")
    assert (tmp_path / "my files" / "a.txt").read_text() == "hello"
    assert value(host, "open('/app/a.txt').read()", option) == "'hello'"
    refused = host.sandbox("--workspace other", "1").usage_error
    assert refused == (
        f"the session default works in {tmp_path / 'my files'}, which cannot change while it "
        "lives; use another name with --session, or first %sandbox close --session default"
    )


def test_a_folder_of_data_can_be_read_only(host: HostShell, tmp_path: Path) -> None:
    (tmp_path / "given").mkdir()
    (tmp_path / "given" / "a.csv").write_text("a\n1\n")
    assert value(host, "open('/data/a.csv').read()", "--data given") == r"'a\n1\n'"
    assert host.sandbox("", "open('/data/a.csv', 'w')").error is not None
    assert (tmp_path / "given" / "a.csv").read_text() == "a\n1\n"
    assert "as its data, which cannot change" in host.sandbox("--data .", "1").usage_error
    assert "is not deterministic, which" in host.sandbox("--deterministic", "1").usage_error


# Variables.


def test_variables_in_by_name_list_and_expression(host: HostShell) -> None:
    host.ok("a, b, c, frame = 1, 'two', [3.5, None], {'key one': [7]}")
    options = """-i a,b -i c -i d=a+1 -i e=frame["key one"] -i 'f = [a, b]' --input g=b.upper()"""
    assert value(host, "(a, b, c, d, e, f, g)", options) == str(
        (1, "two", [3.5, None], 2, [7], [1, "two"], "TWO")
    )


def test_an_expression_may_be_a_plain_text(host: HostShell) -> None:
    assert value(host, "x", """-i x="some text" """) == "'some text'"


def test_variables_out_by_name_and_list(host: HostShell) -> None:
    cell(host, "-o a,b -o c --output d", "a, b, c, d = 1, 'two', {'k': [None]}, b'four'")
    found = [host.variables[name] for name in "abcd"]
    assert found == [1, "two", {"k": [None]}, b"four"]


def test_what_comes_out_is_a_copy(host: HostShell) -> None:
    host.ok("mine = [1]")
    cell(host, "-i mine -o theirs", "mine.append(2)\ntheirs = mine")
    assert (host.variables["mine"], host.variables["theirs"]) == ([1], [1, 2])


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ("-o kept", "kept = 'new'\n1 / 0"),
        ("-o kept --allow-errors", "kept = 'new'\n1 / 0"),
        ("-o kept --fuel 150M", f"kept = 'new'\n{ENDLESS}"),
        ("-o kept,missing", "kept = 'new'"),
        ("-o kept -o code", "kept = 'new'\ncode = lambda: 1"),
    ],
)
def test_the_host_keeps_its_variable_unless_all_went_well(
    host: HostShell, options: str, code: str
) -> None:
    host.ok("kept = 'old'")
    host.sandbox(options, code)
    assert host.variables["kept"] == "old"


def test_a_variable_that_cannot_come_out_says_which_can(host: HostShell) -> None:
    refused = host.sandbox("-o f", "f = lambda: 1").usage_error
    assert refused.startswith("-o f: builtins.function cannot cross the border; what can: None")


def test_arrays_frames_and_pictures(host: HostShell) -> None:
    host.variables["array"] = np.arange(6, dtype="int64").reshape(2, 3)
    host.variables["series"] = pd.Series([1.5, None], index=["a", "b"], name="s")
    options = "-i array,series -o doubled,sums,picture"
    cell(host, options,
         "from PIL import Image\ndoubled, sums = array * 2, series.fillna(0)\n"
         "picture = Image.new('RGB', (3, 2), 'red')")  # fmt: skip
    assert host.variables["doubled"].tolist() == [[0, 2, 4], [6, 8, 10]]
    assert host.variables["sums"].to_dict() == {"a": 1.5, "b": 0.0}
    assert host.variables["picture"].getpixel((0, 0)) == (255, 0, 0)


def mixed_frame(rows: int) -> pd.DataFrame:
    """A frame with a column of each kind that data usually has, and nulls in all but the first."""
    random = np.random.default_rng(7)
    is_null = random.random(rows) < 0.1
    number = random.integers(-(2**62), 2**62, rows)
    cities = np.array(["Oslo", "Lima", "Pune", "Ærø", "東京", None], dtype=object)
    places = np.where(is_null, 5, random.integers(0, 5, rows))
    moment = pd.Series(pd.date_range("2020-01-01", periods=rows, freq="s"))
    return pd.DataFrame(
        {
            "int": number,
            "float": np.where(is_null, np.nan, random.normal(size=rows)),
            "string": pd.Series(cities[places], dtype="str"),
            "datetime": moment.mask(is_null),
            "category": pd.Categorical.from_codes(np.where(is_null, -1, places), cities[:5]),
            "nullable": pd.Series(number, dtype="Int64").mask(is_null),
        }
    )


def round_trip(host: HostShell, frame: pd.DataFrame) -> pd.DataFrame:
    """A frame that went through the sandbox, where it had the same types."""
    host.variables["frame"] = frame
    cell(
        host,
        "-i frame -o back,types",
        "back = frame.copy()\ntypes = frame.dtypes.astype(str).to_dict()",
    )
    assert host.variables["types"] == frame.dtypes.astype(str).to_dict()
    back: pd.DataFrame = host.variables["back"]
    return back


def test_a_million_rows_in_and_out(host: HostShell) -> None:
    """Equal without exception; docs/differences.md says which types may differ."""
    frame = mixed_frame(1_000_000)
    pd.testing.assert_frame_equal(round_trip(host, frame), frame)


def test_the_other_types_of_columns(host: HostShell) -> None:
    rows = 10_000
    moment = pd.Series(pd.date_range("2020-01-01", periods=rows, freq="s", tz="Europe/Oslo"))
    frame = pd.DataFrame(
        {
            "small": np.arange(rows, dtype="int16"),
            "flag": np.arange(rows) % 3 == 0,
            "maybe": pd.Series(np.arange(rows) % 3 == 0, dtype="boolean").mask(
                moment.dt.second == 7
            ),
            "half": np.arange(rows, dtype="float32"),
            "complex": np.arange(rows) * 1j,
            "distinct": pd.Series([f"row {n}" for n in range(rows)], dtype="str"),
            "zoned": moment,
            "span": moment - moment.iloc[0],
            "seconds": moment.dt.tz_localize(None).astype("datetime64[s]"),
            "ordered": pd.Categorical(["low", "high"] * (rows // 2), ["low", "high"], ordered=True),
        }
    ).set_index(pd.Index([f"i{n}" for n in range(rows)], name="label"))
    pd.testing.assert_frame_equal(round_trip(host, frame), frame)


def test_what_differs_after_crossing(host: HostShell) -> None:
    """The whole list of docs/differences.md."""
    host.variables["given"] = pd.DataFrame(
        {
            "object": pd.Series(["a", None, float("nan")], dtype="object"),
            "string": pd.Series(["a", None, "b"], dtype="string"),
        }
    ).set_index(pd.date_range("2020-01-01", periods=3, freq="D"))
    code = "import numpy as np\nback, default, pair_back = given, np.arange(2), pair"
    cell(host, "-i given -i pair=(1,2.5) -o back,default,pair_back", code)
    back = host.variables["back"]
    assert [str(dtype) for dtype in back.dtypes] == ["str", "str"]
    assert back["object"].isna().tolist() == [False, True, True]
    assert back.index.freq is None
    assert str(host.variables["default"].dtype) == "int64"
    assert host.variables["pair_back"] == [1, 2.5]
    cell(host, "-o scalar", "scalar = np.float32(1.5)")
    assert type(host.variables["scalar"]) is float


# What is kept and what is shown.


def test_the_result_is_kept_whether_or_not_the_cell_succeeds(host: HostShell) -> None:
    cell(host, "--result good", "print('hi')\nopen('f.txt', 'w').write('x')")
    good = host.variables["good"]
    assert isinstance(good, SandboxResult)
    assert (good.success, good.stdout, good.files_created) == (True, "hi\n", ["f.txt"])
    host.sandbox("--result bad -o nothing", "1 / 0")
    assert host.variables["bad"].error.name == "ZeroDivisionError"
    host.sandbox("--result ran -o nothing", "print('ran')")
    assert host.variables["ran"].stdout == "ran\n"


def test_an_error_is_the_error_of_the_cell(host: HostShell) -> None:
    ran = host.sandbox("", "def f():\n    return 1 / 0\nf()")
    assert str(ran.error) == "ZeroDivisionError: division by zero"
    lines = ran.stdout.splitlines()
    assert "----> 3 f()" in lines
    assert "ZeroDivisionError: division by zero" in lines
    assert "wasm_kernel/notebook" not in ran.stdout
    assert "\x1b" not in ran.stdout
    assert FOOTER.match(lines[-1])


def test_allowed_errors_are_shown_and_stop_nothing(host: HostShell) -> None:
    ran = cell(host, "--allow-errors", "print('before')\n1 / 0")
    assert ran.stdout == "before\n"
    assert ran.stderr.splitlines()[-1] == "ZeroDivisionError: division by zero"


def test_quiet(host: HostShell) -> None:
    ran = cell(host, "--quiet", "print('out')\ndisplay('shown')\n'value'")
    assert (ran.stdout, ran.stderr, ran.outputs) == ("", "", [])
    ran = host.sandbox("--quiet", "print('out')\n1 / 0")
    assert (ran.stdout, ran.stderr) == ("ZeroDivisionError: division by zero\n", "")


def footers(ran: Ran) -> list[dict[str, Any]]:
    """The lines of metrics."""
    return [o.data for o in ran.outputs if FOOTER.match(o.data.get("text/plain", ""))]


def test_the_line_of_metrics(host: HostShell) -> None:
    (shown,) = footers(cell(host, "", "open('<b>.txt', 'w').close()"))
    assert shown["text/plain"].endswith("created <b>.txt]")
    assert "created &lt;b&gt;.txt" in shown["text/html"]
    assert footers(cell(host, "--no-metrics", "1")) == []
    assert "fuel" not in host.sandbox("--no-metrics", "1 / 0").stdout


@pytest.mark.parametrize(("mode", "lines"), [("on", 1), ("auto", 1), ("problems", 0), ("off", 0)])
def test_the_kernels_setting_for_metrics(
    host: HostShell, monkeypatch: pytest.MonkeyPatch, mode: str, lines: int
) -> None:
    monkeypatch.setenv("WASM_KERNEL_METRICS", mode)
    assert len(footers(cell(host, "", "1"))) == lines
    panel = "To give it more" in host.sandbox("--fuel 150M", ENDLESS).stdout
    assert panel == (mode != "off")


def test_rich_output_is_shown_safely(host: HostShell) -> None:
    ran = cell(
        host, "",
        "from IPython.display import HTML, display\n"
        "display(HTML('<b>bold</b><script>alert(1)</script>'))\n"
        "import matplotlib.pyplot as plt\nplt.plot([1, 2]);",
    )  # fmt: skip
    html, figure = ran.shown
    assert "<b>bold</b>" in html["text/html"]
    assert "script" not in html["text/html"]
    assert "image/png" in figure
    assert ran.stderr.startswith("[Interactive parts of this HTML were left out")


def test_text_cannot_steer_the_terminal(host: HostShell) -> None:
    ran = cell(host, "", r"print('a\x1b]0;title\x07b\x1b[2J', end='\x1b[31')")
    assert "\x1b]" not in ran.stdout
    assert "\x1b[2J" not in ran.stdout


def test_a_display_is_updated(host: HostShell) -> None:
    ran = cell(
        host, "",
        "from IPython.display import display, update_display\n"
        "display('first', display_id='mine')\nupdate_display('second', display_id='mine')\n"
        "update_display('lost', display_id='of somebody else')",
    )  # fmt: skip
    assert ran.texts == ["'first'", "'second'"]


def test_a_place_for_later_displays_is_empty(host: HostShell) -> None:
    ran = cell(
        host, "",
        "from IPython.display import display\n"
        "place = display(display_id=True)\nplace.update('filled')",
    )  # fmt: skip
    assert ran.texts[1:] == ["'filled'"]
    assert "no form that is safe" not in ran.texts[0] + ran.stderr


def test_outputs_are_cleared(host: HostShell) -> None:
    ran = cell(
        host, "",
        "from IPython.display import clear_output, display\n"
        "display('early')\nclear_output()\ndisplay('late')",
    )  # fmt: skip
    assert ran.texts == ["'late'"]


def test_a_hundred_thousand_lines(host: HostShell) -> None:
    ran = cell(host, "", "for n in range(100_000): print(n)")
    assert ran.stdout == "".join(f"{n}\n" for n in range(100_000))


def test_a_host_that_cannot_show_stops_the_cell(host: HostShell) -> None:
    class Broken(io.StringIO):
        def write(self, _: str) -> int:
            raise BrokenPipeError("nobody reads")

    cell(host, "", "x = 1")
    host.shell.colors = "nocolor"
    with redirect_stdout(Broken()):
        with pytest.raises(Exception, match="nobody reads"):
            host.shell.run_cell_magic("sandbox", "", f"x = 2\nprint('hello')\n{ENDLESS}")
    assert value(host, "x") == "1"


# Magics in magics.


def test_help(host: HostShell) -> None:
    for question in ("%%sandbox?", "%sandbox?", "?%%sandbox"):
        text = host.ok(question).everything
        assert "Run a cell in the WebAssembly sandbox" in text
        for option in ("--fuel N", "--memory SIZE", "-i NAME", "-o NAME", "--result NAME"):
            assert option in text
        for command in LINE_COMMANDS:
            assert command in text


def test_magics_around_the_cell(host: HostShell) -> None:
    assert "Wall time" in host.ok("%%time\n%%sandbox\nprint('timed')").stdout
    host.ok("%%capture held\n%%sandbox\nprint('captured')\n1")
    held = host.variables["held"]
    assert held.stdout == "captured\n"
    assert next(o.data["text/plain"] for o in held.outputs) == "1"


def test_magics_inside_the_cell(host: HostShell) -> None:
    ran = cell(host, "", "%%time\nprint('timed')")
    assert "timed\n" in ran.stdout and "Wall time" in ran.stdout
    assert value(host, "%pwd") == "'/app'"
    assert cell(host, "", "!echo a line").stdout == "a line\n"


def test_the_sandbox_in_the_sandbox_is_not_needed(host: HostShell) -> None:
    ran = cell(host, "", "%%sandbox --fuel 1\nprint('still one sandbox')")
    assert ran.stdout == (
        "this notebook already runs in the sandbox; %%sandbox is not needed here\n"
        "still one sandbox\n"
    )
    assert line(host, "list") == "default"


def test_variables_of_the_host_in_the_options(host: HostShell) -> None:
    host.ok("budget, name = '150M', 'ended'")
    host.sandbox("--fuel $budget --result {name}", ENDLESS)
    assert host.variables["ended"].limit is Limit.FUEL


def test_an_empty_cell_says_what_was_meant(host: HostShell) -> None:
    assert "Did you mean the line magic %sandbox" in host.run("%%sandbox").usage_error


# Commands.


def test_status(host: HostShell) -> None:
    assert line(host, "status") == "no session default yet; a %%sandbox cell makes it"
    assert line(host, "list") == "no sessions yet; a %%sandbox cell makes one"
    cell(host, "", "x = 1")
    line(host, "checkpoint begun")
    found = line(host, "")
    assert "session     default\ncells       1 run, 1 can be undone\nmemory" in found
    assert found.endswith(f"workspace   {Path.cwd() / 'workspace'}\ncheckpoints begun")


def test_undo(host: HostShell) -> None:
    for n in range(4):
        cell(host, f"-i n={n}", "x = n\nopen('f', 'w').write(str(x))")
    assert line(host, "undo") == "the last cell was undone; 3 more can be"
    assert value(host, "x, open('f').read()") == "(2, '2')"
    assert line(host, "undo 3") == "the last 3 cells were undone; 1 more can be"
    assert value(host, "x") == "0"


def test_checkpoint_and_restore(host: HostShell) -> None:
    cell(host, "", "x = 1")
    said = line(host, "checkpoint 'two words'")
    assert said == "checkpoint 'two words' set; come back with %sandbox restore 'two words'"
    cell(host, "", "x = 2")
    assert line(host, "restore 'two words'") == "back at checkpoint 'two words'"
    assert value(host, "x") == "1"


def test_fork(host: HostShell) -> None:
    cell(host, "", "x = 1\nopen('f', 'w').write('shared')")
    assert line(host, "fork twin") == (
        "session twin goes on from here in workspace-twin (with a copy of all files); "
        "use --session twin"
    )
    cell(host, "--session twin", "x += 1\nopen('f', 'w').write('its own')")
    assert value(host, "x, open('f').read()") == "(1, 'shared')"
    assert value(host, "x, open('f').read()", "--session twin") == "(2, 'its own')"
    assert "there is a session twin already" in host.run("%sandbox fork twin").usage_error
    line(host, "close --session twin")
    assert "it was there already, with its own files" in line(host, "fork twin")
    assert value(host, "x, open('f').read()", "--session twin") == "(1, 'its own')"


def test_a_parked_session_goes_on_in_a_new_notebook(host: HostShell) -> None:
    cell(host, "", "x = 'parked'")
    assert "; %sandbox resume later.session" in line(host, "save later")
    cell(host, "", "x = 'gone on'")
    host.ok("%reload_ext wasm_kernel")
    assert line(host, "resume later") == "the session goes on where later.session was saved"
    assert value(host, "x") == "'parked'"


def test_reset_and_close(host: HostShell) -> None:
    cell(host, "--memory 500MB", "x = 1\nopen('f', 'w').close()")
    old = session_of(host)
    assert line(host, "reset") == "session default starts anew; its files stay"
    assert value(host, "'x' in globals()") == "False"
    assert session_of(host).policy.memory_bytes == 500_000_000
    assert line(host, "close") == "session default is closed; its files stay"
    assert Path("workspace/f").exists()
    with pytest.raises(SessionClosedError):
        old.execute("1")


def test_files(host: HostShell) -> None:
    assert line(host, "files") == "the workspace is empty"
    cell(host, "", "open('a.csv', 'w').write('n,m\\n1,2\\n')")
    assert line(host, "files").endswith("  a.csv")
    assert line(host, "files a.csv") == "n  m\n1  2"


def test_get_and_put(host: HostShell, tmp_path: Path) -> None:
    (tmp_path / "in put.txt").write_text("from the host")
    assert line(host, "put 'in put.txt'") == "copied in put.txt into the sandbox (13 B)"
    cell(
        host,
        "",
        "import os\nos.mkdir('d')\nopen('d/out.txt', 'w').write(open('in put.txt').read()[::-1])",
    )
    for path in ("d/out.txt", "/app/d/out.txt"):
        assert line(host, f"get {path}").endswith("out of the sandbox (13 B)")
        assert (tmp_path / "out.txt").read_text() == "tsoh eht morf"
        assert "exists here already" in host.run(f"%sandbox get {path}").usage_error
        (tmp_path / "out.txt").unlink()


def test_policy(host: HostShell) -> None:
    said = line(host, "policy fuel_budget=200M timeout_seconds=5s")
    assert said.startswith("fuel_budget           200M\n")
    assert "OutOfFuel" in str(host.sandbox("", ENDLESS).error)


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("dance", "%sandbox dance: the commands are status, undo, checkpoint, restore, fork,"),
        ("undo", "there is no session default (there are: none); a %%sandbox cell makes it"),
        ("save a --session b", "there is no session b (there are: none)"),
        ("close other", "usage: %sandbox close [--session NAME]"),
        ("status other", "usage: %sandbox status [--session NAME]"),
        ("fork", "usage: %sandbox fork NAME"),
        ("fork ../x", "'../x' cannot name a session"),
        ("get", "usage: %sandbox get PATH"),
        ("get ../x", "name a file of the workspace, without '..'"),
        ("get /etc/passwd", "name a file of the workspace, without '..'"),
        ("put", "usage: %sandbox put PATH"),
        ("put nothing", "nothing is not a file"),
        ("resume nothing", "nothing.session"),
        ("policy fuel_budget", "'fuel_budget': give FIELD=VALUE with one of fuel_budget,"),
        ("policy fuel_budget=lots", "fuel_budget: 'lots' is not an amount of fuel"),
        ("files ../x", "name a file of the workspace, without '..'"),
    ],
)
def test_a_wrong_command_is_one_clear_sentence(
    host: HostShell, command: str, sentence: str
) -> None:
    assert sentence in host.run(f"%sandbox {command}").usage_error


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("undo 1 2", "usage: %sandbox undo [N]"),
        ("undo many", "usage: %sandbox undo [N]"),
        ("undo 7", "7 cells cannot be undone: 1 can"),
        ("checkpoint", "usage: %sandbox checkpoint NAME"),
        ("restore nothing", "there is no checkpoint 'nothing'; there are: none"),
        ("save ../x", "give a plain file name; the session is parked in the workspace"),
        ("get nothing", "nothing cannot be read: No such file or directory"),
    ],
)
def test_a_wrong_command_to_a_live_session(host: HostShell, command: str, sentence: str) -> None:
    cell(host, "", "1")
    assert sentence in host.run(f"%sandbox {command}").usage_error


def test_every_command_is_tested_here() -> None:
    tested = Path(__file__).read_text()
    for command in LINE_COMMANDS:
        assert f'"{command}' in tested, command


# The extension.


def test_unloading_ends_every_session(host: HostShell) -> None:
    cell(host, "", "1")
    cell(host, "--session b", "1")
    sessions = [session_of(host), session_of(host, "b")]
    host.ok("%unload_ext wasm_kernel")
    for session in sessions:
        with pytest.raises(SessionClosedError):
            session.execute("1")
    assert "Cell magic `%%sandbox` not found" in host.run("%%sandbox\n1").usage_error
    assert "Line magic function `%sandbox` not found" in host.run("%sandbox list").usage_error
    assert "_wasm_kernel_magics" not in vars(host.shell)
    host.ok("%load_ext wasm_kernel")
    assert value(host, "1 + 1") == "2"


def test_loading_twice_changes_nothing(host: HostShell) -> None:
    cell(host, "", "x = 1")
    host.run("%load_ext wasm_kernel")
    assert value(host, "x") == "1"
    host.ok("%reload_ext wasm_kernel")
    assert value(host, "'x' in globals()") == "False"
