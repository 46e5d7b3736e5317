"""Magics and shell commands: those that work, and those that explain why they cannot."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from nbformat.sign import NotebookNotary

from wasm_kernel import Session
from wasm_kernel.core.events import (
    DisplayEvent,
    ErrorEvent,
    InputEvent,
    ResultEvent,
    StreamEvent,
)
from wasm_kernel.notebook.commands import COMMANDS

from .conftest import Cell, MakeSession

RunCell = Callable[..., Cell]
PROCESSES = "processes cannot be started in the sandbox"
NETWORK = "the sandbox has no network"


def printed(cell: RunCell, session: Session, code: str) -> str:
    """What a cell that ends well prints."""
    ran = cell(session, code)
    assert ran.result.success, (code, ran.result.error, ran.result.stderr)
    return ran.stdout


# Magics that a notebook is full of.


def test_timeit_and_time(shared: Session, cell: RunCell) -> None:
    assert "per loop" in printed(cell, shared, "%timeit -n 2 -r 2 1 + 1")
    assert "per loop" in printed(cell, shared, "%%timeit -n 1 -r 1\nsum(range(10))")
    assert "Wall time" in printed(cell, shared, "%time timed = 3")
    assert "Wall time" in printed(cell, shared, "%%time\ntimed_too = 4")
    assert cell(shared, "timed, timed_too").value == "(3, 4)"


def test_timeit_takes_the_loops_and_runs_that_there_is_fuel_for(
    make_session: MakeSession, cell: RunCell
) -> None:
    session = make_session(fuel_budget=3_000_000_000)
    for line in ("sum(range(100_000))", "-n 5 -r 1000 sum(range(100_000))"):
        measured = cell(session, f"%timeit -o -q {line}\n")
        assert measured.result.success, measured.result.error
        runs = printed(cell, session, "print(_.repeat, len(_.all_runs), _.loops)").split()
        assert runs[0] == runs[1]
        assert int(runs[2]) >= 1
    assert int(runs[0]) < 1000
    # A statement that is dear by itself is tried once and measured once.
    assert "of 1 run," in printed(cell, session, "%timeit sum(range(2_000_000))")


def test_who_and_whos(session: Session, cell: RunCell) -> None:
    assert printed(cell, session, "%who") == "Interactive namespace is empty.\n"
    cell(session, "apple = 1\npear = 'p'")
    assert printed(cell, session, "%who").split() == ["apple", "pear"]
    assert printed(cell, session, "%who str").split() == ["pear"]
    table = printed(cell, session, "%whos")
    assert "apple" in table and "int" in table and "pear" in table
    assert cell(session, "%who_ls").value == "['apple', 'pear']"


def test_run_a_script(session: Session, cell: RunCell) -> None:
    (session.workspace / "script.py").write_text(
        "import sys\nfound = sys.argv[1:]\nprint(__name__)\n"
    )
    assert printed(cell, session, "%run script.py a b") == "__main__\n"
    assert cell(session, "found").value == "['a', 'b']"
    (session.workspace / "broken.py").write_text("1/0\n")
    (event,) = cell(session, "%run broken.py").of(ErrorEvent)
    assert event.name == "ZeroDivisionError"


def test_a_program_reads_the_users_modules_anew(session: Session, cell: RunCell) -> None:
    part, folder = session.workspace / "part.py", session.workspace / "deep"
    folder.mkdir()
    (folder / "beside.py").write_text("import sys\nprint(sys.argv, __name__)\n")
    (folder / "main.py").write_text(
        "import beside, part, sys\nprint(part.value, hasattr(part, 'mark'), sys.argv[0])\n"
        "part.value = None\nsys.path.append('/nowhere')\nprint(__name__, __file__)\n"
    )
    part.write_text("value = 1\n")
    assert cell(session, "import part, sys\npart.mark = True\npart.value").value == "1"
    ends = "deep/main.py\n__main__ /app/deep/main.py\n"
    beside = "['deep/main.py'] beside\n"
    assert printed(cell, session, "!python deep/main.py") == f"{beside}1 False {ends}"
    part.write_text("value = 'two'\n")
    asked = "!python -u -W ignore -X dev deep/main.py"
    assert printed(cell, session, asked) == f"{beside}two False {ends}"
    kept = "part.value, part.mark, 'beside' in sys.modules, '/nowhere' in sys.path"
    assert cell(session, kept).value == "(1, True, False, False)"
    (session.workspace / "wrong.py").write_text("def f():\n    1 / 0\nf()\n")
    said = printed(cell, session, "!python wrong.py")
    assert said.startswith("Traceback") and 'File "/app/wrong.py", line 2, in f' in said
    assert "python_program" not in said
    said = printed(cell, session, "!python nowhere.py")
    assert (
        said == "python: can't open file '/app/nowhere.py': [Errno 2] No such file or directory\n"
    )


def test_writefile_and_load(session: Session, cell: RunCell) -> None:
    ran = cell(session, "%%writefile made.py\nvalue = 1")
    assert ran.result.success and ran.result.files_created == ["made.py"]
    assert (session.workspace / "made.py").read_text() == "value = 1\n"
    ran = cell(session, "%%writefile -a made.py\nvalue += 1")
    assert ran.result.files_modified == ["made.py"]
    assert "value += 1" in printed(cell, session, "%load made.py")


def test_history_and_prun_and_env(session: Session, cell: RunCell) -> None:
    cell(session, "first = 1")
    assert "first = 1" in printed(cell, session, "%history")
    ran = cell(session, "%prun -q -s cumulative sum(range(10))")
    assert ran.result.success
    ran = cell(session, "%prun sum(range(10))")
    text = ran.stdout + "".join(str(event.data) for event in ran.of(DisplayEvent))
    assert "function calls" in text
    assert printed(cell, session, "%env FLAVOUR=mint") == "env: FLAVOUR=mint\n"
    assert cell(session, "%env FLAVOUR").value == "'mint'"
    assert cell(session, "import os\nos.environ['FLAVOUR']").value == "'mint'"


def test_debug_looks_at_the_last_error(session: Session, cell: RunCell) -> None:
    cell(session, "def half(number):\n    return number / 0\nhalf(21)")
    ran = cell(session, "%debug", answers=["number", "up", "q"])
    assert ran.result.success
    assert [event.prompt for event in ran.of(InputEvent)] == ["ipdb> "] * 3
    assert "21\n" in ran.stdout and "----> 3" in ran.stdout


def test_a_cell_is_debugged_step_by_step(session: Session, cell: RunCell) -> None:
    code = "def twice(n):\n    breakpoint()\n    n *= 2\n    return n\ntwice(4)"
    ran = cell(session, code, answers=["n", "n", "p n", "c"])
    assert ran.value == "8"
    assert "\n8\n" in ran.stdout


def test_pdb_begins_at_the_error(session: Session, cell: RunCell) -> None:
    assert "turned ON" in printed(cell, session, "%pdb on")
    ran = cell(session, "value = 5\n1 / 0", answers=["value + 1", "q"])
    assert ran.error.name == "ZeroDivisionError"
    assert "6\n" in ran.stdout
    assert "turned OFF" in printed(cell, session, "%pdb off")


def test_a_debugger_that_nobody_can_answer_goes_on(session: Session, cell: RunCell) -> None:
    note = "this frontend does not support input requests: the debugger goes on\n"
    ran = cell(session, "%pdb on\n1 / 0")
    assert ran.error.name == "ZeroDivisionError" and ran.stdout.endswith(note)
    assert not ran.result.rolled_back
    ran = cell(session, "%pdb off\nbreakpoint()\n'after it'")
    assert ran.value == "'after it'" and ran.stdout.endswith(note)
    assert cell(session, "import pdb\npdb.set_trace()").error.name == "StdinNotImplementedError"
    ran = cell(session, "%env PYTHONBREAKPOINT=0\nbreakpoint()")
    assert ran.result.success and "->" not in ran.stdout


def test_the_standard_debugger_is_the_notebooks(session: Session, cell: RunCell) -> None:
    code = "import pdb\ndef twice(n):\n    pdb.set_trace()\n    return 2 * n\ntwice(4)"
    ran = cell(session, code, answers=["p n + 1", "c"])
    assert ran.value == "8" and "5\n" in ran.stdout
    assert [event.prompt for event in ran.of(InputEvent)] == ["ipdb> "] * 2


def test_what_would_go_into_the_next_cell_is_shown(session: Session, cell: RunCell) -> None:
    cell(session, "first = 1")
    note = "[copy this into a cell: the sandbox cannot write cells]\n"
    assert printed(cell, session, "%recall 1") == note + "first = 1\n"


def test_widgets_are_not_said_to_be_installable(shared: Session, cell: RunCell) -> None:
    for name in ("ipywidgets", "comm"):
        trace = "\n".join(cell(shared, f"import {name}").error.traceback)
        assert "no widgets in the sandbox" in trace and "pip install" not in trace
    assert "pip install" in "\n".join(cell(shared, "import flask").error.traceback)


def test_a_search_of_the_history_finds_the_inputs_of_this_session(
    session: Session, cell: RunCell
) -> None:
    for code in ("apple = 1", "pear = 2", "apple += 1"):
        cell(session, code)
    assert cell(session, "%history -g appl").stdout == (
        "   1: apple = 1\n   3: apple += 1\n   4: %history -g appl\n"
    )
    assert cell(session, "%history -g pear -l 1").stdout.startswith("   5: %history -g pear")


def test_history_is_kept_in_memory(shared: Session, cell: RunCell) -> None:
    assert cell(shared, "get_ipython().history_manager.hist_file").value == "':memory:'"


def test_matplotlib_magic(session: Session, cell: RunCell) -> None:
    assert cell(session, "%matplotlib inline").result.success
    assert cell(session, "%config InlineBackend.figure_format = 'svg'").result.success
    ran = cell(session, "import matplotlib.pyplot as plt\nplt.plot([1, 2]);")
    (event,) = ran.of(DisplayEvent)
    assert "<svg" in str(event.data["image/svg+xml"])
    assert "inline" in printed(cell, session, "%matplotlib --list")


def test_matplotlib_reads_its_settings_in_the_workspace(session: Session, cell: RunCell) -> None:
    (session.workspace / "matplotlibrc").write_text("figure.dpi: 42\nbackend: tkagg\n")
    asked = "import matplotlib as mpl\n(mpl.rcParams['figure.dpi'], mpl.get_backend())"
    assert cell(session, asked).value == "(42.0, 'inline')"
    assert cell(session, "mpl.rcParams['figure.dpi'] = 50").result.success
    with session.fork() as fork:
        assert cell(fork, asked).value == "(50.0, 'inline')"


def test_a_session_starts_with_settings_that_cannot_be_read(
    session: Session, cell: RunCell
) -> None:
    (session.workspace / "matplotlibrc").write_bytes(b"\xff\xfe")
    ran = cell(session, "1 + 1")
    assert ran.value == "2" and "matplotlibrc" in ran.stderr


def test_matplotlib_windows_are_refused_in_one_sentence(session: Session, cell: RunCell) -> None:
    ran = cell(session, "%matplotlib qt")
    text = ran.stdout + ran.stderr + "".join(event.value for event in ran.of(ErrorEvent))
    assert "no screen" in text and "inline" in text and text.strip().count("\n") == 0
    (event,) = cell(session, "import matplotlib.pyplot as plt\nplt.plot([1]);").of(DisplayEvent)
    assert "image/png" in event.data
    error = cell(session, "%matplotlib inlin").error
    assert error.name == "RuntimeError" and "'inlin' is not a recognised" in error.value


def test_config_shows_and_sets(session: Session, cell: RunCell) -> None:
    assert cell(session, "%config InteractiveShell.ast_node_interactivity = 'all'").result.success
    assert len(cell(session, "1\n2").events) == 2


def test_autoreload(session: Session, cell: RunCell) -> None:
    assert cell(session, "%load_ext autoreload\n%autoreload 2").result.success
    module = session.workspace / "changing.py"
    module.write_text("def f(): return 'old'\n")
    assert cell(
        session, "import sys\nsys.path.insert(0, '/app')\nfrom changing import f"
    ).result.success
    assert cell(session, "f()").value == "'old'"
    module.write_text("def f(): return 'new and longer'\n")
    assert cell(session, "f()").value == "'new and longer'"


@pytest.mark.parametrize(
    "code",
    ["%lsmagic", "%xmode Minimal\n%xmode Context", "len?", "%pinfo len", "%%html\n<b>x</b>",
     "%%capture held\nprint(1)", "%precision 3", "%alias_magic t time", "%macro m 1", "%pdoc len",
     "%%markdown\n*x*", "%psearch le*", "%dhist", "%colors NoColor", "%%python\n1"],
)  # fmt: skip
def test_other_magics_work(shared: Session, cell: RunCell, code: str) -> None:
    assert cell(shared, code).result.success


def test_reset_leaves_a_session_that_works(session: Session, cell: RunCell) -> None:
    cell(session, "gone = 1")
    assert cell(session, "%reset -f").result.success
    assert cell(session, "gone").error.name == "NameError"
    assert printed(cell, session, "print(1)") == "1\n"


def test_an_unknown_magic_is_a_short_error(session: Session, cell: RunCell) -> None:
    ran = cell(session, "%no_such_magic")
    assert not ran.result.success and ran.result.error is not None
    assert "not found" in ran.result.error.value


# Shell commands in Python.


def test_listing_and_reading(session: Session, cell: RunCell) -> None:
    (session.workspace / "a.txt").write_text("one\ntwo\nthree\n")
    (session.workspace / "folder").mkdir()
    assert printed(cell, session, "!pwd") == "/app\n"
    assert printed(cell, session, "!ls") == "a.txt\nfolder\n"
    assert printed(cell, session, "%ls").split() == ["a.txt", "folder/"]
    assert "a.txt" in printed(cell, session, "!ls -la")
    assert printed(cell, session, "!cat a.txt") == "one\ntwo\nthree\n"
    assert printed(cell, session, "%cat a.txt") == "one\ntwo\nthree\n"
    assert printed(cell, session, "!head -n 1 a.txt") == "one\n"
    assert printed(cell, session, "!head -2 a.txt") == "one\ntwo\n"
    assert printed(cell, session, "!tail -n 1 *.txt") == "three\n"
    assert printed(cell, session, "!wc -l a.txt") == "3 a.txt\n"


def test_values_go_in_and_lines_come_out(session: Session, cell: RunCell) -> None:
    assert printed(cell, session, "name = 'Ada'\n!echo $name {name.upper()}") == "Ada ADA\n"
    assert cell(session, "lines = !echo a b\nlist(lines)").value == "['a b']"
    assert (
        cell(session, "def f(inner):\n    found = !echo {inner}\n    return found[0]\nf(3)").value
        == "'3'"
    )


def test_changing_folders(session: Session, cell: RunCell) -> None:
    assert printed(cell, session, "!mkdir -p one/two\n%cd one/two") == "/app/one/two\n"
    assert printed(cell, session, "!pwd") == "/app/one/two\n"
    assert cell(session, "%pwd").value == "'/app/one/two'"
    assert cell(session, "import os\nos.getcwd()").value == "'/app/one/two'"
    assert printed(cell, session, "%cd -q /app\n!pwd") == "/app\n"
    ran = cell(session, "%cd nowhere")
    assert "nowhere" in ran.stdout + ran.stderr + str(ran.result.error)
    assert cell(session, "os.getcwd()").value == "'/app'"


def test_changing_files(session: Session, cell: RunCell) -> None:
    ran = cell(session, "open('a', 'w').write('x')\n!cp a b\n!mv b c\n!rm a\n!mkdir d\n!rmdir d")
    assert ran.result.success and ran.result.files_created == ["c"]
    assert sorted(path.name for path in session.workspace.iterdir()) == ["c"]


@pytest.mark.parametrize("command", ["ls", "cat", "head", "wc", "rm", "grep x"])
def test_a_missing_file_is_said(session: Session, cell: RunCell, command: str) -> None:
    ran = cell(session, f"!{command} missing.txt\n_exit_code")
    text = ran.stdout + ran.stderr
    assert "missing.txt" in text and "No such file" in text
    assert ran.value != "0"


def test_lines_of_a_shell_without_a_shell(session: Session, cell: RunCell) -> None:
    (session.workspace / "a.txt").write_text("b\na\nb\n")
    assert printed(cell, session, "!sort a.txt | uniq") == "a\nb\n"
    assert printed(cell, session, "!cat missing &> /dev/null || echo no && echo yes") == "no\nyes\n"
    assert cell(session, "!echo one > out.txt; echo two >> out.txt").result.files_created == [
        "out.txt"
    ]
    assert (session.workspace / "out.txt").read_text() == "one\ntwo\n"
    assert printed(cell, session, "%%bash\n# a comment\npwd\nwc -l < a.txt") == "/app\n3\n"


WC_AND_SEQ = "2 a.csv\n2 a.csv\n4 total\n5\n3\n1\n"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("find folder", "folder folder/deep folder/deep/y.py folder/x.py folder/z.txt"),
        ("find folder -maxdepth 1 -type f", "folder/x.py folder/z.txt"),
        ("find folder -mindepth 2", "folder/deep/y.py"),
        ("find . -name '*.py' -exec cat {} \\;", "two one"),
        ("find folder -name '*.py' -exec cat {} + | wc -l", "2"),
        ("find folder -name '*.py' -exec grep -q two {} \\; -print", "folder/deep/y.py"),
        ("find folder -iname 'Z*' -o -path '*/deep/*'", "folder/deep/y.py folder/z.txt"),
        (
            "find folder -type f ! \\( -name '*.py' -o -empty \\) -delete; find folder -type f",
            "folder/deep/y.py folder/x.py",
        ),
        ("find folder/deep -delete; ls folder", "x.py z.txt"),
        ("find folder -type f -size +4c", "folder/z.txt"),
        ("find folder -mtime -1 -type d", "folder folder/deep"),
        ("find folder -type f -newer folder/z.txt", "folder/x.py"),
        ("find empty folder -empty", "empty"),
    ],
)
def test_find(session: Session, cell: RunCell, line: str, expected: str) -> None:
    deep = session.workspace / "folder" / "deep"
    deep.mkdir(parents=True)
    (session.workspace / "empty").mkdir()
    for path, text in ((deep / "y.py", "two\n"), (deep.parent / "x.py", "one\n")):
        path.write_text(text)
    (deep.parent / "z.txt").write_text("a longer one\n")
    now = time.time()
    os.utime(deep / "y.py", (now - 60, now - 60))
    os.utime(deep.parent / "z.txt", (now - 30, now - 30))
    assert " ".join(printed(cell, session, f"!{line}").split()) == expected


@pytest.mark.parametrize(
    "line",
    [
        "find . -name '*' -regex x -delete",
        "find . -delete -frob",
        "find . \\( -name x -delete",
        "find . -delete -exec",
    ],
)
def test_find_does_nothing_where_it_does_not_know_what(
    session: Session, cell: RunCell, line: str
) -> None:
    (session.workspace / "kept").write_text("")
    assert "find: " in printed(cell, session, f"!{line}")
    assert cell(session, "_exit_code").value == "2"
    assert (session.workspace / "kept").exists()


GREP = "1\n2\n1:x,1\n2-y,2\n"
SED = "<x>+1\n<y>+2\n1\n2\n"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("for i in 1 2; do echo n $i; done", "n 1\nn 2\n"),
        ("x=5; if [ $x -gt 3 ]; then echo big; else echo small; fi", "big\n"),
        ("i=0; while [ $i -lt 2 ]; do i=$((i + 1)); echo $i; done", "1\n2\n"),
        ('cat a.csv | while read line; do echo "<$line>"; done', "<x,1>\n<y,2>\n"),
        ("f=a/b.tar.gz; echo ${f##*/} ${f%.gz} ${#f} ${none:-else}", "b.tar.gz a/b.tar 10 else\n"),
        ("echo $(cat a.csv | wc -l) `echo in`", "2 in\n"),
        (
            "echo {a,b}{1..2} '{a,b}' 'x$HOME' \"q\\\"r\" a\\ b",
            'a1 a2 b1 b2 {a,b} x$HOME q"r a b\n',
        ),
        ("cat <<END\nhi $((1 + 1))\nEND", "hi 2\n"),
        ("cat nowhere 2> /dev/null || echo no", "no\n"),
        ("(cd folder; pwd); pwd", "/app/folder\n/app\n"),
        ("[[ -f a.csv && ! -d a.csv ]] && echo file # a comment", "file\n"),
        ("VALUE=3 python -c 'import os; print(os.environ[\"VALUE\"])'; echo [$VALUE]", "3\n[]\n"),
        ("sed 's/x/z/' a.csv; sed -n 2p a.csv", "z,1\ny,2\ny,2\n"),
        ("awk 'BEGIN {print \"one\"}'; mkdir || echo $?", "one\n1\n"),
        ("awk -F, 'NR>1 {print $2}' a.csv; cut -d, -f1 a.csv", "2\nx\ny\n"),
        ("cat a.csv | tr ',' '\\n' | sort -r | head -n 1", "y\n"),
        ("seq 2 | xargs -n1 echo; basename /a/b.txt .txt", "1\n2\nb\n"),
        ("tar czf a.tgz a.csv && rm a.csv && tar xzf a.tgz && wc -l a.csv", "2 a.csv\n"),
        ("zip -q a.zip a.csv && unzip -q -o a.zip -d out && ls out", "a.csv\n"),
        ("wc -l a.csv a.csv; seq 5 -2 1; seq 2 1", WC_AND_SEQ),
        ("touch 'b c'; find . -name 'b*' -print0 | xargs -0 ls", "./b c\n"),
        ("grep -rn x *.csv; grep -r y .; grep -l x a.csv", "1:x,1\n./a.csv:y,2\na.csv\n"),
        ("grep 'x\\|q' a.csv; grep 'x|y' a.csv; grep -E '^(x|q),' a.csv", "x,1\nx,1\n"),
        ("grep -o '[[:digit:]]' a.csv; grep -A1 -n x a.csv; grep -w , a.csv", GREP),
        ("sed 's/[a-z]\\+/<&>/; s/,\\(.\\)/+\\1/' a.csv; sed -E 's/(x|y),//' a.csv", SED),
        ("tr a-z A-Z <<< $'a\\tit\\'s'", "A\tIT'S\n"),
        ("set -e; false; echo never", ""),
        ("echo $((2*(3+1))) $(( (1 + 2) * 3 ))", "8 9\n"),
        ("echo $((1/0)); echo never", ""),
        ("[ 1 -so 2 ]; grep '(' a.csv; unzip a.csv; echo still", "still\n"),
        ("echo a; exit 3; echo never", "a\n"),
    ],
)
def test_a_script_of_the_shell(session: Session, cell: RunCell, line: str, expected: str) -> None:
    (session.workspace / "a.csv").write_text("x,1\ny,2\n")
    (session.workspace / "folder").mkdir()
    assert printed(cell, session, f"%%bash --no-raise-error\n{line}") == expected


def test_a_script_gets_arguments(session: Session, cell: RunCell) -> None:
    assert printed(cell, session, '%%bash -s "one two" 3\necho $2 $1 $#') == "3 one two 2\n"


def test_a_shell_line_leaves_the_session_as_it_was(session: Session, cell: RunCell) -> None:
    cell(session, "!mkdir inner; cd inner; export LEAKED=1")
    assert (
        cell(session, "import os\nos.getcwd(), 'LEAKED' in os.environ").value == "('/app', False)"
    )


def test_the_streams_of_a_script_are_two(session: Session, cell: RunCell) -> None:
    ran = cell(session, "%%bash\necho out\necho err >&2")
    assert (ran.stdout, ran.stderr) == ("out\n", "err\n")
    assert cell(session, "!echo err >&2").stdout == "err\n", "a terminal has one"
    assert cell(session, "%%bash --out o --err e\necho out\necho err >&2").stdout == ""
    assert cell(session, "o, e").value == "('out\\n', 'err\\n')"
    # As IPython has it where there is no such program.
    cell(session, "%%ruby --bg --out lines --err o\nputs 1")
    assert cell(session, "lines, o").value == "('', '')"


def test_a_script_that_fails_fails_its_cell(session: Session, cell: RunCell) -> None:
    for code in ("%%bash\nexit 3", "%%script false\nx", "%%python\n1/0", "%%sh\nls nowhere"):
        assert cell(session, code).error.name == "CalledProcessError"
    assert "ZeroDivisionError" in cell(session, "%%python3\n1/0").stderr
    assert cell(session, "%%script false --no-raise-error\nskipped (").result.success
    assert printed(cell, session, "%%script echo skipping\nskipped (") == "skipping\n"


@pytest.mark.parametrize(
    ("code", "value"),
    [
        ("list(f.ThreadPoolExecutor(4).map(abs, [-1, -2]))", "[1, 2]"),
        ("[r.result() for r in f.as_completed([f.ProcessPoolExecutor().submit(abs, -3)])]", "[3]"),
        ("str(f.ThreadPoolExecutor().submit(int, 'x').exception())[:7]", "'invalid'"),
        ("m.Pool(2).map(abs, [-1]), m.Pool().starmap(pow, [(2, 3)])", "([1], [8])"),
        ("m.Pool(2).apply_async(abs, (-1,)).get(timeout=1)", "1"),
        ("list(m.pool.ThreadPool(2).imap_unordered(abs, [-1]))", "[1]"),
        ("m.get_context('spawn').Pool(2).map(abs, [-4])", "[4]"),
    ],
)
def test_pools_work_in_sequence(shared: Session, cell: RunCell, code: str, value: str) -> None:
    imports = "import concurrent.futures as f, multiprocessing as m, multiprocessing.pool\n"
    assert cell(shared, imports + code).value == value


def test_a_wait_that_nothing_can_end_says_so(shared: Session, cell: RunCell) -> None:
    ran = cell(shared, "import queue\nqueue.Queue().get()")
    assert ran.error.name == "RuntimeError" and "no other thread" in ran.error.value
    assert cell(shared, "queue.Queue().get(timeout=0.01)").error.name == "Empty"
    assert cell(shared, "import threading\nthreading.Event().wait(0.01)").value == "False"


@pytest.mark.parametrize("code", ["!pip install flask", "%pip install flask", "!pip3 install -q x"])
def test_installing_says_what_to_do(shared: Session, cell: RunCell, code: str) -> None:
    ran = cell(shared, code)
    text = ran.stdout + ran.stderr
    assert "packages cannot be installed" in text
    assert "pip install --target workspace/site-packages" in text


@pytest.mark.parametrize(
    "code",
    [
        "open('r.txt', 'w').write('x; echo owned | sh')\n%pip install -r r.txt",
        "!pip install 'x; echo owned | sh'",
        "__import__('x; echo owned | sh')",
    ],
)
def test_the_advice_is_one_harmless_line_for_a_shell(
    shared: Session, cell: RunCell, code: str
) -> None:
    """A requirement may hold what a shell obeys, and somebody will copy the line."""
    ran = cell(shared, code)
    error = ran.result.error
    said = ran.stdout + ran.stderr + (error.traceback[-1] if error is not None else "")
    assert "workspace/site-packages 'x; echo owned | sh'" in said


def test_a_missing_package_says_how_it_gets_here(shared: Session, cell: RunCell) -> None:
    ran = cell(shared, "import flask.views")
    assert ran.result.error is not None
    assert "pip install --target workspace/site-packages flask" in ran.result.error.traceback[-1]
    assert "module of your own goes into the workspace" in ran.result.error.traceback[-1]
    for code in ("import pandas.nothere", "raise ModuleNotFoundError('no name')"):
        ran = cell(shared, code)
        assert ran.result.error is not None
        assert "site-packages" not in "".join(ran.result.error.traceback)


@pytest.mark.parametrize("code", ["frame.to_parquet('x')", "frame.to_feather('x')"])
def test_a_package_that_pandas_lacks_is_not_asked_of_pip_in_vain(
    shared: Session, cell: RunCell, code: str
) -> None:
    """pandas says "use pip or conda", and neither has a pyarrow that runs here."""
    ran = cell(shared, f"import pandas as pd\nframe = pd.DataFrame({{'a': [1]}})\n{code}")
    assert ran.result.error is not None and ran.result.error.name == "ImportError"
    last = ran.result.error.traceback[-1].splitlines()[-1]
    assert last == (
        "pyarrow has compiled parts, which do not run in the sandbox; there is what pandas has "
        "for CSV, JSON, Excel and SQLite"
    )


def test_git_is_not_said_to_be_a_matter_of_the_network_alone(
    shared: Session, cell: RunCell
) -> None:
    said = "git: the sandbox has no network and no git; use it on your computer\n"
    assert cell(shared, "!git status").stdout == said


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        ("open('../data/table.csv')", "did you mean /data/table.csv?"),
        ("open('data/table.csv')", "did you mean /data/table.csv?"),
        ("open('/home/me/project/table.csv')", "did you mean /data/table.csv?"),
        ("import numpy as np\nnp.loadtxt('table.csv')", "did you mean /data/table.csv?"),
        ("from IPython.display import Image\nImage('table.csv')", "did you mean /data/table.csv?"),
        ("open('C:/notes/here.txt')", "the workspace (/app) and the data folder (/data)"),
        ("open('/home/me/here.txt')", "did you mean /app/here.txt?"),
        ("import pathlib\npathlib.Path('folder').iterdir()", "the workspace (/app)"),
        ("open('../other.csv', 'w')", "the workspace (/app) and the data folder (/data)"),
    ],
)
def test_a_missing_file_says_where_files_are(
    make_session: MakeSession, cell: RunCell, tmp_path: Path, code: str, advice: str
) -> None:
    """A notebook finds files beside it and around it; here it has two folders."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "table.csv").write_text("1\n")
    session = make_session(mount_data_dir=str(tmp_path / "data"))
    (session.workspace / "here.txt").write_text("here")
    error = cell(session, code).result.error
    assert error is not None and error.name == "FileNotFoundError"
    assert advice in error.traceback[-1]


@pytest.mark.parametrize(
    "code",
    [
        "open('/data/absent.csv')",
        "open('/usr/local/lib/absent')",
        "raise FileNotFoundError('of my own')",
        "raise FileNotFoundError",
        "raise FileNotFoundError(2, 'not a name', b'x')",
        "class Odd:\n    def __str__(self): raise ValueError\nraise FileNotFoundError(Odd())",
    ],
)
def test_other_missing_things_are_left_alone(shared: Session, cell: RunCell, code: str) -> None:
    error = cell(shared, code).result.error
    assert error is not None and error.name == "FileNotFoundError"
    assert "\n" not in error.traceback[-1].strip()


def test_a_package_put_beside_the_notebook_is_found(session: Session) -> None:
    assert not session.execute("import beside").success
    folder = session.workspace / "site-packages" / "beside"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("value = 5")
    assert session.execute("import beside; print(beside.value)").stdout == "5\n"


def test_installing_what_is_there_is_fine(shared: Session, cell: RunCell) -> None:
    assert "already satisfied: numpy" in printed(cell, shared, "%pip install numpy")
    ran = cell(shared, "%conda install numpy")
    assert ran.result.error is not None and "%pip" in ran.result.error.value


def test_pip_lists_what_is_there(shared: Session, cell: RunCell) -> None:
    listed = printed(cell, shared, "!pip list")
    assert "numpy" in listed and "pandas" in listed
    assert "ipython==" in printed(cell, shared, "%pip freeze").lower()


# What a sandbox cannot do.


def one_sentence(ran: Cell) -> str:
    """The only thing a refused cell says."""
    error = ran.result.error
    text = error.value if error is not None else (ran.stdout + ran.stderr).strip()
    assert "\n" not in text and len(text) < 300, text
    return text


@pytest.mark.parametrize("code", ["%%script perl\n1", "%%perl\n1"])
def test_processes_are_refused(shared: Session, cell: RunCell, code: str) -> None:
    assert PROCESSES in one_sentence(cell(shared, code))


@pytest.mark.parametrize(
    "code", ["!gcc x.c", "!ls | gcc", "%%bash\ngcc x.c", "found = !gcc\nfound"]
)
def test_an_unknown_command_says_where_those_there_are_stand(
    shared: Session, cell: RunCell, code: str
) -> None:
    ran = cell(shared, code)
    text = ran.stdout + ran.stderr + "".join(e.data["text/plain"] for e in ran.of(ResultEvent))
    assert "gcc: command not found in the sandbox ('help' lists those that are there)" in text
    assert "grep, gunzip, gzip, head, help, hostname, ls" in printed(cell, shared, "!help")


def test_small_commands_that_ask_about_the_machine(cell: RunCell, shared: Session) -> None:
    text = "!nproc && arch && printenv LANG_OF_MINE HOME; clear"
    cell(shared, "import os; os.environ['LANG_OF_MINE'] = 'nb'")
    home = os.path.join("/app", ".wasm_kernel/home")
    assert printed(cell, shared, text) == f"1\nwasm32\nnb\n{home}\n"
    assert printed(cell, shared, "!printenv NO_SUCH_NAME; echo $?") == "1\n"


@pytest.mark.parametrize("name", ["conda", "apt-get"])
def test_what_installs_elsewhere_says_how_packages_come(
    cell: RunCell, shared: Session, name: str
) -> None:
    text = printed(cell, shared, f"!{name} install -y six")
    assert text.startswith(f"{name}: not in the sandbox") and "pip install" in text


@pytest.mark.parametrize(
    "code",
    ["!git clone https://127.0.0.1/x",
     "import socket\nsocket.create_connection(('127.0.0.1', 80))",
     "import socket\nsocket.socket()",
     "import socket\nsocket.getaddrinfo('localhost', 80)",
     "import urllib.request\nurllib.request.urlopen('http://127.0.0.1/')",
     "import pandas\npandas.read_csv('https://127.0.0.1/a.csv')",
     "import http.client\nhttp.client.HTTPConnection('127.0.0.1').request('GET', '/')",
     "import http.client\nhttp.client.HTTPSConnection('127.0.0.1').request('GET', '/')",
     "import socket\nsocket.gethostbyname('localhost')"],
)  # fmt: skip
def test_the_network_is_refused(shared: Session, cell: RunCell, code: str) -> None:
    assert NETWORK in one_sentence(cell(shared, code))


def test_refusals_end_nothing(make_session: MakeSession, cell: RunCell) -> None:
    session = make_session()
    cell(session, "kept = 1")
    for code in ("%%perl\n1", "!gcc x.c", "import socket\nsocket.socket()"):
        assert not cell(session, code).result.rolled_back
    assert cell(session, "kept").value == "1"


def test_run_in_executor_runs_now(session: Session, cell: RunCell) -> None:
    code = "import asyncio\nawait asyncio.to_thread(lambda: 5)"
    assert cell(session, code).value == "5"


def test_commands_stream(session: Session) -> None:
    """A command's text is an event like any other, in its place between two prints."""
    texts: list[str] = []

    def on_event(event: object) -> None:
        if isinstance(event, StreamEvent):
            texts.append(event.text)

    session.execute("print('a')\n!echo b\nprint('c')", on_event=on_event)
    assert "".join(texts) == "a\nb\nc\n"


def test_the_interpreter_is_found_by_its_path(shared: Session, cell: RunCell) -> None:
    text = printed(cell, shared, "import sys\n!{sys.executable} -m pip install numpy")
    assert "already satisfied: numpy" in text


def test_requirements_are_read(session: Session, cell: RunCell) -> None:
    (session.workspace / "wanted.txt").write_text("numpy>=1  # for arrays\nflask\n")
    text = cell(session, "!pip install -r wanted.txt").stdout
    assert "already satisfied: numpy" in text and "site-packages flask\n" in text


@pytest.mark.parametrize("store_history", [True, False])
def test_a_semicolon_hides_the_value(session: Session, store_history: bool) -> None:
    """Without history too, as nbval runs cells: IPython looks for the semicolon there alone."""

    def shown(code: str) -> int:
        events: list[object] = []
        session.execute(code, on_event=events.append, store_history=store_history)
        return sum(isinstance(event, ResultEvent) for event in events)

    assert [shown(code) for code in ("5", "5;", "5;  # five", "';'", "%pwd", "5;\n", "5")] == [
        *(1, 0, 0, 1, 1, 0, 1)
    ]


def test_store_and_rerun_are_there_from_the_start(session: Session, cell: RunCell) -> None:
    cell(session, "kept = 5")
    assert printed(cell, session, "%store kept") == "Stored 'kept' (int)\n"
    cell(session, "print('said twice')")
    assert "said twice" in printed(cell, session, "%rerun")
    assert "%rerun" in printed(cell, session, "%history -l 1")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("resource", "needs a whole operating system"),
        ("ipywidgets", "there are no widgets"),
        ("torch", "compiled parts, which do not run in the sandbox; there is scikit-learn"),
        ("cv2", "opencv-python has compiled parts"),
        ("line_profiler", "which do not run in the sandbox; there is %prun"),
        ("requests", "could do nothing there: the sandbox has no network; download the file on"),
    ],
)
def test_a_missing_module_that_cannot_be_added_says_so(
    shared: Session, cell: RunCell, name: str, reason: str
) -> None:
    error = cell(shared, f"import {name}").result.error
    assert error is not None and reason in error.traceback[-1]
    assert "site-packages" not in "".join(error.traceback)


def test_the_advice_names_the_package_and_not_the_module(shared: Session, cell: RunCell) -> None:
    error = cell(shared, "import dotenv").result.error
    assert error is not None and error.traceback[-1].endswith("site-packages python-dotenv")
    error = cell(shared, "import altair").result.error
    assert error is not None and error.traceback[-1].endswith("site-packages 'altair<6'")


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - {"save"}))
def test_a_command_to_the_host_among_code_says_where_it_goes(
    shared: Session, cell: RunCell, name: str
) -> None:
    ran = cell(shared, f"pass\n%{name}")
    assert ran.stderr == (
        f"UsageError: %{name} is for the sandbox and not for the code in it: give it a cell of its "
        "own (%sandbox?)\n"
    )
    # They are no magics: a name that is not defined is still only that.
    assert cell(shared, name).error.name == "NameError"


def test_a_fork_in_a_notebook_is_said_to_be_elsewhere(shared: Session, cell: RunCell) -> None:
    said = cell(shared, "%fork").stderr
    assert "there is no %fork in a notebook: %checkpoint and %restore go back" in said


def test_the_magic_s_commands_have_other_names_here(shared: Session, cell: RunCell) -> None:
    said = cell(shared, "%sandbox undo 2").stderr
    assert said.endswith("this notebook already runs in the sandbox: here it is %undo 2\n")


def test_pip_does_not_advise_what_cannot_work(shared: Session, cell: RunCell) -> None:
    said = printed(cell, shared, "!pip install 'torch>=2' 'polars[all]' humanize")
    assert "torch has compiled parts, which do not run in the sandbox; there is" in said
    assert "polars has compiled parts" in said
    assert said.count("workspace/site-packages") == 1
    assert "workspace/site-packages humanize\n" in said


def test_ssl_has_its_names_and_no_network(session: Session, cell: RunCell) -> None:
    ran = cell(
        session,
        "import imaplib, smtplib, socket, ssl, urllib.request\n"
        "ssl._create_default_https_context = ssl._create_unverified_context\n"
        "context = ssl.create_default_context()\n"
        "print(context.check_hostname, context.verify_mode == ssl.CERT_REQUIRED)\n"
        "context.check_hostname, context.verify_mode = False, ssl.CERT_NONE\n"
        "print(context.verify_mode == ssl._create_unverified_context().verify_mode)",
    )
    assert ran.result.success and ran.stdout == "True True\nTrue\n"
    for code in (
        "urllib.request.urlopen('https://example.com', context=context)",
        "smtplib.SMTP_SSL('example.com')",
        "imaplib.IMAP4_SSL('example.com')",
        "ssl.get_server_certificate(('example.com', 443))",
        "context.wrap_bio(None, None)",
        "ssl.MemoryBIO()",
    ):
        assert "the sandbox has no network" in cell(session, code).error.value, code


def test_notebooks_are_written_and_read(session: Session, cell: RunCell) -> None:
    ran = cell(
        session,
        "import nbformat\nfrom nbformat.v4 import new_code_cell, new_markdown_cell, new_output\n"
        "shown = new_output('stream', text='1\\n')\n"
        "code = new_code_cell('x = 1\\nprint(x)', outputs=[shown])\n"
        "made = nbformat.v4.new_notebook(cells=[new_markdown_cell('# Title'), code])\n"
        "nbformat.write(made, 'made.ipynb')\n"
        "nbformat.read('made.ipynb', as_version=4) == made",
    )
    assert ran.value == "True"
    # The real one finds nothing wrong with it.
    real = nbformat.read(session.workspace / "made.ipynb", as_version=4)
    nbformat.validate(real)
    assert [c.source for c in real.cells] == ["# Title", "x = 1\nprint(x)"]
    assert cell(session, "nbformat.reads('{\"nbformat\": 3}', 4)").error.name == "ValidationError"
    assert cell(session, "%notebook history.ipynb").result.success
    exported = nbformat.read(session.workspace / "history.ipynb", as_version=4)
    nbformat.validate(exported)
    assert exported.cells[0].source.startswith("import nbformat")
    assert not NotebookNotary().check_signature(exported)


def test_pillow_draws_text_in_any_size(session: Session, cell: RunCell) -> None:
    ran = cell(
        session,
        "from PIL import Image, ImageDraw, ImageFont\n"
        "font = ImageFont.truetype('DejaVuSans.ttf', 20)\n"
        "print(font.getname(), font.getmetrics(), font.getbbox('Hello, World'))\n"
        "picture = Image.new('L', (300, 60))\n"
        "pen = ImageDraw.Draw(picture)\n"
        "pen.text((150, 30), 'Hello', font=font, anchor='mm', fill=255)\n"
        "print(picture.getbbox())\n"
        "pen.text((4, 4), 'two\\nlines', font_size=16, fill=255, stroke_width=2)\n"
        "print(picture.getbbox()[:2], pen.textbbox((0, 0), 'x', ImageFont.load_default(30)))\n"
        "ImageFont.truetype('missing.ttf', 9)",
    )
    # Within a pixel of what Pillow's own module says of these fonts.
    assert ran.stdout == (
        "('DejaVu Sans', 'Book') (19, 5) (0, 4, 121, 22)\n(125, 22, 174, 37)\n"
        "(3, 7) (-1, 14, 15, 30)\n"
    )
    assert ran.error.value == "cannot open resource"


def test_a_package_of_the_workspace_comes_before_a_stand_in(
    session: Session, cell: RunCell
) -> None:
    folder = session.workspace / "site-packages" / "nbformat"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("__version__ = 'own'\n")
    assert cell(session, "import nbformat\nnbformat.__version__").value == "'own'"


def test_going_home_makes_the_folder(session: Session, cell: RunCell) -> None:
    assert printed(cell, session, "%cd ~").strip() == "/app/.wasm_kernel/home"


def test_naming_home_makes_the_folder(session: Session, cell: RunCell) -> None:
    assert cell(session, "1 + 1").value == "2"
    home = session.workspace / ".wasm_kernel" / "home"
    assert not home.exists()
    ran = cell(
        session,
        "import os, pathlib\n"
        "(pathlib.Path.home() / 'data').mkdir()\n"
        "open(os.path.expanduser('~/data/a.txt'), 'w').close()",
    )
    assert ran.result.success and (home / "data" / "a.txt").exists()


def test_a_data_set_that_is_not_there_says_what_to_do(shared: Session, cell: RunCell) -> None:
    ran = cell(shared, "import statsmodels.api as sm\nsm.datasets.heart.load()")
    assert ran.error.name == "FileNotFoundError"
    assert "with heart.csv in the workspace" in "".join(ran.error.traceback)


def test_argparse_has_a_name_for_the_program(shared: Session, cell: RunCell) -> None:
    ran = cell(shared, "import argparse\nargparse.ArgumentParser().parse_args(['--no'])")
    assert "notebook: error: unrecognized arguments: --no" in ran.stderr


def test_a_figure_without_a_screen_is_not_warned_about(shared: Session, cell: RunCell) -> None:
    code = (
        "import matplotlib, matplotlib.pyplot as plt\nmatplotlib.use('Agg')\n"
        "plt.plot([1])\nplt.show()\nplt.close('all')\n%matplotlib inline"
    )
    ran = cell(shared, code)
    assert ran.result.success and ran.stderr == ""
