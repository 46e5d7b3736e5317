"""Threads, processes and programs of a notebook's guest: they take turns and start nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from wasm_kernel import Session

from .conftest import Cell, MakeSession

RunCell = Callable[..., Cell]

PATIENCE_SECONDS = 10.0
LOOKING = "import _thread, os, queue, subprocess, sys, threading, time\n"


def printed(cell: RunCell, session: Session, code: str) -> str:
    """What a cell that ends well prints."""
    ran = cell(session, LOOKING + code)
    assert ran.result.success, (code, ran.result.error, ran.result.stderr)
    return ran.stdout


def test_a_thread_runs_when_it_is_joined(shared: Session, cell: RunCell) -> None:
    code = "t = threading.Thread(target=print, args=('there',))\nt.start()\nprint('here')\nt.join()"
    assert printed(cell, shared, code) == "here\nthere\n"


def test_a_thread_nobody_joins_runs_before_its_cell_ends(shared: Session, cell: RunCell) -> None:
    code = "threading.Thread(target=print, args=('left',)).start()\nprint('last line')"
    assert printed(cell, shared, code) == "last line\nleft\n"
    after_an_error = cell(
        shared, LOOKING + "threading.Thread(target=print, args=('left',)).start()\n1/0"
    )
    assert after_an_error.stdout == "left\n"


def test_the_streams_are_those_of_the_one_process(shared: Session, cell: RunCell) -> None:
    """What ipykernel's own tests ask before they look at what was printed."""
    code = "print(sys.stdout._is_master_process(), sys.stderr._is_master_process())"
    assert printed(cell, shared, code) == "True True\n"


def test_threads_run_while_another_sleeps(shared: Session, cell: RunCell) -> None:
    code = (
        "def work(n):\n    print('begin', n)\n    time.sleep(0.01)\n    print('end', n)\n"
        "ts = [threading.Thread(target=work, args=(n,)) for n in range(2)]\n"
        "for t in ts: t.start()\n"
        "for t in ts: t.join()"
    )
    assert printed(cell, shared, code) == "begin 0\nbegin 1\nend 1\nend 0\n"


def test_nobody_enters_while_the_owner_of_a_lock_sleeps(shared: Session, cell: RunCell) -> None:
    code = (
        "lock = threading.Lock()\n"
        "def work(n):\n    with lock: print(n); time.sleep(0.01); print(n)\n"
        "ts = [threading.Thread(target=work, args=(n,)) for n in range(3)]\n"
        "for t in ts: t.start()\n"
        "for t in ts: t.join()"
    )
    assert printed(cell, shared, code).split() == ["0", "0", "1", "1", "2", "2"]


def test_the_error_of_a_thread_is_shown_and_its_cell_goes_on(
    shared: Session, cell: RunCell
) -> None:
    code = "t = threading.Thread(target=lambda: 1/0)\nt.start()\nt.join()\nprint('on')"
    ran = cell(shared, LOOKING + code)
    assert ran.result.success and ran.stdout == "on\n"
    assert "Exception in thread" in ran.stderr and "ZeroDivisionError" in ran.stderr


def test_a_worker_of_a_queue_serves_later_cells_too(session: Session, cell: RunCell) -> None:
    begin = (
        "q = queue.Queue()\n"
        "def worker():\n    while True:\n        print(q.get())\n        q.task_done()\n"
        "threading.Thread(target=worker, daemon=True).start()"
    )
    assert printed(cell, session, begin) == ""
    assert printed(cell, session, "q.put('one')\nq.put('two')\nq.join()") == "one\ntwo\n"
    assert printed(cell, session, "q.put('three')\nq.join()") == "three\n"


def test_a_thread_that_waits_for_its_cell_is_begun_again(shared: Session, cell: RunCell) -> None:
    code = (
        "e = threading.Event()\n"
        "t = threading.Thread(target=lambda: (e.wait(), print('after')))\n"
        "t.start()\ntime.sleep(0.01)\nprint('set', t.is_alive())\ne.set()\nt.join()"
    )
    assert printed(cell, shared, code) == "set True\nafter\n"


@pytest.mark.parametrize(
    "code",
    ["threading.Lock().acquire() and lock.acquire()",
     "queue.Queue().get()",
     "queue.SimpleQueue().get()",
     "threading.Event().wait()",
     "threading.Semaphore(0).acquire()"],
)  # fmt: skip
def test_a_wait_without_end_is_an_error(shared: Session, cell: RunCell, code: str) -> None:
    ran = cell(shared, f"{LOOKING}lock = threading.Lock()\nlock.acquire()\n{code}")
    assert ran.result.error is not None and not ran.result.rolled_back
    assert "nothing can end this wait" in ran.result.error.value


def test_two_threads_that_wait_for_each_other_end(shared: Session, cell: RunCell) -> None:
    code = (
        "a, b = threading.Event(), threading.Event()\n"
        "one = threading.Thread(target=lambda: (a.wait(), b.set()))\n"
        "two = threading.Thread(target=lambda: (b.wait(), a.set()))\n"
        "one.start()\ntwo.start()\none.join()\ntwo.join()"
    )
    ran = cell(shared, LOOKING + code)
    assert ran.result.success and ran.stderr.count("nothing can end this wait") == 2


def test_a_thread_that_never_ends_does_not_keep_its_cell(shared: Session, cell: RunCell) -> None:
    loop = "def loop():\n    while True: time.sleep({nap})\n"
    daemon = loop.format(nap=0.01) + "threading.Thread(target=loop, daemon=True).start()"
    assert printed(cell, shared, daemon) == ""
    patient = loop.format(nap=PATIENCE_SECONDS * 2) + "threading.Thread(target=loop).start()"
    ran = cell(shared, LOOKING + patient)
    assert ran.result.success and "the sandbox ended this thread" in ran.stderr
    chain = "def again(): threading.Timer(60, again).start()\nagain()"
    assert cell(shared, LOOKING + chain).result.success


def test_many_threads_do_not_exhaust_the_stack(shared: Session, cell: RunCell) -> None:
    code = (
        "done = []\n"
        "ts = [threading.Thread(target=lambda: (time.sleep(0.001), done.append(1)))\n"
        "      for _ in range(300)]\n"
        "for t in ts: t.start()\n"
        "for t in ts: t.join()\n"
        "print(len(done))"
    )
    assert printed(cell, shared, code) == "300\n"


def test_asyncio_runs_in_a_thread(shared: Session, cell: RunCell) -> None:
    code = (
        "import asyncio\n"
        "t = threading.Thread(target=lambda: print(asyncio.run(asyncio.sleep(0, 'slept'))))\n"
        "t.start()\nt.join()\nawait asyncio.sleep(0)\nprint('and on')"
    )
    assert printed(cell, shared, code) == "slept\nand on\n"


def test_threads_have_numbers_of_their_own(shared: Session, cell: RunCell) -> None:
    code = (
        "seen = []\n"
        "t = threading.Thread(target=lambda: seen.append(threading.get_native_id()))\n"
        "t.start()\nt.join()\n"
        "print(seen == [t.ident] == [t.native_id], t.ident != threading.get_ident())"
    )
    assert printed(cell, shared, code) == "True True\n"


def test_what_a_thread_uses_is_the_cells(make_session: MakeSession, cell: RunCell) -> None:
    session = make_session(fuel_budget=2_000_000_000)
    code = "def spin():\n    while True: pass\nthreading.Thread(target=spin).start()"
    ran = cell(session, LOOKING + code)
    assert ran.result.rolled_back and ran.result.limit is not None


# Processes.


def test_a_process_is_a_thread_with_an_exit_code(shared: Session, cell: RunCell) -> None:
    code = (
        "import multiprocessing as mp\n"
        "ps = [mp.Process(target=f, args=a) for f, a in\n"
        "      ((print, ('child',)), (sys.exit, (3,)), (int, ('x',)))]\n"
        "for p in ps: p.start()\n"
        "for p in ps: p.join()\n"
        "print([p.exitcode for p in ps], mp.current_process().name)"
    )
    ran = cell(shared, LOOKING + code)
    assert ran.stdout == "child\n[0, 3, 1] MainProcess\n"
    assert "Process Process-" in ran.stderr and "ValueError" in ran.stderr


def test_a_process_has_a_number_and_a_parent(shared: Session, cell: RunCell) -> None:
    code = (
        "import multiprocessing as mp\n"
        "p = mp.Process(target=lambda: print(os.getpid() == p.pid, os.getppid() == own))\n"
        "own = os.getpid()\np.start()\np.join()\n"
        "print(own != p.pid, os.getpid() == own, os.getuid() > 0, os.getlogin())"
    )
    assert printed(cell, shared, code) == "True True\nTrue True True user\n"


def test_a_pipe_that_was_closed_has_an_end(shared: Session, cell: RunCell) -> None:
    code = (
        "import multiprocessing as mp\n"
        "one, two = mp.Pipe()\ntwo.send(1)\ntwo.close()\n"
        "print(one.poll(), one.recv())\n"
        "try: one.recv()\nexcept EOFError: print('end')"
    )
    assert printed(cell, shared, code) == "True 1\nend\n"


# Programs.


def test_a_program_has_its_own_folder_and_environment(session: Session, cell: RunCell) -> None:
    (session.workspace / "inner").mkdir()
    code = (
        "subprocess.run('pwd; echo $COLOUR', shell=True, cwd='inner', env={'COLOUR': 'red'})\n"
        "print(os.getcwd(), os.environ.get('COLOUR'))"
    )
    assert printed(cell, session, code) == "/app/inner\nred\n/app None\n"


@pytest.mark.parametrize("command", ["!python left.py", "import os; os.system('python left.py')"])
def test_what_a_program_left_open_is_written_at_its_end(
    session: Session, cell: RunCell, command: str
) -> None:
    program = (
        "def g(): return f\nf = open('left.txt', 'w'); f.write('kept')\n"
        "class Guest:\n    def __del__(self): print('bye', g.__name__)\nguest = Guest()\n"
    )
    cell(session, f"open('left.py', 'w').write({program!r});")
    assert "bye g" in cell(session, command + ";").result.stdout
    assert (session.workspace / "left.txt").read_text() == "kept"


def test_streams_of_a_program_go_where_they_are_sent(shared: Session, cell: RunCell) -> None:
    code = (
        "both = dict(stdout=subprocess.PIPE, stderr=subprocess.STDOUT)\n"
        "print(subprocess.run('echo a; echo b >&2', shell=True, **both).stdout)\n"
        "subprocess.run(['echo', 'unseen'], stdout=subprocess.DEVNULL)\n"
        "subprocess.run('echo seen >&2', shell=True)"
    )
    ran = cell(shared, LOOKING + code)
    assert ran.stdout == "b'a\\nb\\n'\n" and ran.stderr == "seen\n"


def test_a_program_that_is_not_there_is_not_found(shared: Session, cell: RunCell) -> None:
    ran = cell(shared, LOOKING + "subprocess.Popen(['ffmpeg', '-version'])")
    assert ran.result.error is not None and ran.result.error.name == "FileNotFoundError"
    assert ran.result.error.value == "[Errno 2] No such file or directory: 'ffmpeg'"
    assert "ffmpeg: command not found in the sandbox" in ran.result.error.traceback[-1]
    ran = cell(shared, LOOKING + "subprocess.run(['git', 'clone', 'x'])")
    assert ran.result.error is not None and "no network" in ran.result.error.traceback[-1]
    code = (
        "import io\nprogram = subprocess.Popen(['cat'], stdin=-1, stdout=-1)\n"
        "pipe = io.TextIOWrapper(program.stdin)\npipe.write('through')\npipe.close()\n"
        "print(program.stdout.read())"
    )
    assert cell(shared, LOOKING + code).stdout == "b'through'\n"


def test_a_pipe_takes_what_its_mode_says(shared: Session, cell: RunCell) -> None:
    code = "subprocess.Popen(['cat'], stdin=subprocess.PIPE).stdin.write('text')"
    ran = cell(shared, LOOKING + code)
    assert ran.result.error is not None and ran.result.error.name == "TypeError"


def test_a_program_of_asyncio_is_refused(shared: Session, cell: RunCell) -> None:
    ran = cell(shared, "import asyncio\nawait asyncio.create_subprocess_exec('ls')")
    assert ran.result.error is not None
    assert "processes cannot be started in the sandbox" in ran.result.error.value
