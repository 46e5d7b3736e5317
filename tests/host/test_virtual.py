"""A deterministic guest: what it can ask of files and folders is the same in every run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from wasm_kernel import ExecutionPolicy, create_sandbox
from wasm_kernel.host.world import BEGIN_NS, VirtualWorld

POLICY = ExecutionPolicy(deterministic=True, seed=3)


def ran(workspace: Path, code: str, policy: ExecutionPolicy = POLICY) -> tuple[str, int | None]:
    """What a script printed, and the fuel it used."""
    with create_sandbox(policy=policy, workspace=workspace) as sandbox:
        result = sandbox.execute(code)
    assert result.success, result.stderr
    return result.stdout, result.fuel_consumed


STAT = """
import os
with open('made.txt', 'w') as file:
    file.write('text')
os.makedirs('folder/inner')
for name in ('made.txt', 'folder', 'user_code.py', '.'):
    found = os.stat(name)
    print(name, found.st_ino, found.st_dev, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
os.utime('made.txt')
print(os.stat('made.txt').st_mtime)
"""


def test_two_workspaces_cannot_be_told_apart(tmp_path: Path) -> None:
    first = ran(tmp_path / "one", STAT)
    assert first == ran(tmp_path / "two", STAT)
    plain = ExecutionPolicy()
    assert ran(tmp_path / "three", STAT, plain)[0] != ran(tmp_path / "four", STAT, plain)[0]


def test_a_written_file_is_as_old_as_the_guests_own_clock_says(tmp_path: Path) -> None:
    out, _ = ran(
        tmp_path,
        "import os, time\nbefore = time.time_ns()\nopen('a', 'w').write('x')\n"
        "print(before < os.stat('a').st_mtime_ns < time.time_ns())",
    )
    assert out == "True\n"
    assert BEGIN_NS < (tmp_path / "a").stat().st_mtime_ns < BEGIN_NS + 10**9


def test_a_file_that_was_given_keeps_its_time(tmp_path: Path) -> None:
    given = tmp_path / "given"
    given.write_text("x")
    os.utime(given, ns=(1, 1_600_000_000_123_456_789))
    out, _ = ran(tmp_path, "import os\nprint(os.stat('given').st_mtime_ns)")
    assert out == "1600000000123456789\n"


def test_each_rewrite_of_a_file_is_a_change(tmp_path: Path) -> None:
    """The size may be the same and nobody may have looked at the clock in between."""
    (tmp_path / "a").write_text("1")
    with create_sandbox(policy=POLICY, workspace=tmp_path) as sandbox:
        for content in "123":
            result = sandbox.execute(f"open('a', 'w').write('{content}')")
            assert result.files_modified == ["a"]


@pytest.mark.parametrize("count", [0, 1, 40, 1500])
def test_folders_are_listed_in_the_order_of_their_names(tmp_path: Path, count: int) -> None:
    folder = tmp_path / "listed"
    folder.mkdir()
    names = [f"{(number * 7919) % 1500:04}-{'x' * (number % 50)}" for number in range(count)]
    for name in names:
        (folder / name).touch()
    out, _ = ran(
        tmp_path,
        "import os\nprint(*os.listdir('listed'))\n"
        "print(*[entry.name for entry in os.scandir('listed')])\n"
        "print(all(entry.inode() == entry.stat().st_ino for entry in os.scandir('listed')))",
    )
    assert out.splitlines() == [" ".join(sorted(names))] * 2 + ["True"]


def test_a_listing_has_what_came_since_the_last_one(tmp_path: Path) -> None:
    out, _ = ran(
        tmp_path,
        "import os\nfor name in 'bca':\n    open(name, 'w').close()\n"
        "    print(*[n for n in os.listdir() if len(n) == 1])",
    )
    assert out.splitlines() == ["b", "b c", "a b c"]


def test_the_world_survives_being_saved() -> None:
    world = VirtualWorld.seeded(5)
    for _ in range(64):
        world.random_bytes(8)
        world.advance(17)
        assert VirtualWorld.resumed(vars(world), 9) == world


@pytest.mark.parametrize("saved", [None, 3, {"time_ns": -1, "random_state": 2**64}, {"x": 1}])
def test_a_crafted_world_is_a_new_one(saved: object) -> None:
    assert VirtualWorld.resumed(saved, 9) == VirtualWorld.seeded(9)
