"""The committed memory: both strategies against a model of plain bytes, on real linear memories."""

from __future__ import annotations

import functools
import multiprocessing
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import wasmtime
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from wasm_kernel import InvalidRuntimeError
from wasm_kernel.host import mapped, pages
from wasm_kernel.host.differ import LINE
from wasm_kernel.host.engine import shared_engine
from wasm_kernel.host.mapped import EXTENT_PAGES, MappedMemory, strategy
from wasm_kernel.host.memory import WASM_PAGE, GuestMemory, Image
from wasm_kernel.host.pages import PAGE, CommittedMemory
from wasm_kernel.host.watch import watch_store

IMAGE_SIZE = 6 * WASM_PAGE
MAX_SIZE = 24 * WASM_PAGE
SECRET = b"a secret that an undo must take with it"

STRATEGIES = [CommittedMemory]
if strategy() is MappedMemory:
    STRATEGIES.append(MappedMemory)


@functools.cache
def image_bytes() -> bytes:
    """No two pages are alike."""
    return b"".join(struct.pack("<I", number) for number in range(IMAGE_SIZE // 4))


@functools.cache
def small_module() -> wasmtime.Module:
    return wasmtime.Module(shared_engine(), '(module (memory (export "memory") 1))')


class LiveMemory(GuestMemory):
    """A small linear memory of a real instance, in a store of its own."""

    def __init__(self) -> None:
        store = wasmtime.Store(shared_engine())
        watch_store(store)
        memory = wasmtime.Instance(store, small_module(), []).exports(store)["memory"]
        assert isinstance(memory, wasmtime.Memory)
        super().__init__(store, memory)

    def content(self) -> bytes:
        return self.read(0, self.size)

    def close(self) -> None:
        self.store.close()


@pytest.fixture
def image(tmp_path: Path) -> Iterator[Image]:
    path = tmp_path / "memory.image"
    path.write_bytes(image_bytes())
    made = Image(path, "key")
    yield made
    made.close()


@pytest.fixture(params=STRATEGIES)
def committed(request: pytest.FixtureRequest, image: Image) -> Iterator[CommittedMemory]:
    made: CommittedMemory = request.param(image, MAX_SIZE)
    yield made
    made.close()


@pytest.fixture
def memory(committed: CommittedMemory) -> Iterator[LiveMemory]:
    made = LiveMemory()
    committed.load_into(made)
    yield made
    made.close()


def loaded(committed: CommittedMemory) -> bytes:
    """What a new instance finds."""
    fresh = LiveMemory()
    committed.load_into(fresh)
    content = fresh.content()
    fresh.close()
    return content


# One thing at a time.


def test_new_memory_holds_the_image(memory: LiveMemory) -> None:
    assert memory.content() == image_bytes()


def test_commit_of_nothing_changes_nothing(committed: CommittedMemory, memory: LiveMemory) -> None:
    record = committed.commit(memory)
    assert record.pages == 0
    assert committed.pages == 0
    assert loaded(committed) == image_bytes()


def test_commit_makes_a_change_the_state(committed: CommittedMemory, memory: LiveMemory) -> None:
    memory.write(5 * PAGE - 2, b"over the edge of a page")
    record = committed.commit(memory)
    assert record.pages == 2
    assert committed.pages == 2
    assert loaded(committed) == memory.content()


def test_rollback_is_a_new_memory_without_the_change(
    committed: CommittedMemory, memory: LiveMemory
) -> None:
    memory.write(PAGE, b"kept")
    committed.commit(memory)
    kept = memory.content()
    memory.write(PAGE, b"lost")
    memory.write(3 * PAGE, b"lost")
    assert loaded(committed) == kept


def test_undo_steps_back_one_commit_at_a_time(
    committed: CommittedMemory, memory: LiveMemory
) -> None:
    states, records = [memory.content()], []
    for number in range(4):
        memory.write(number * PAGE // 2, f"cell {number}".encode())
        records.append(committed.commit(memory))
        states.append(memory.content())
    while records:
        assert loaded(committed) == states.pop()
        committed.revert(records.pop())
    assert loaded(committed) == states.pop() == image_bytes()
    assert committed.pages == 0


@pytest.mark.parametrize("size", [1, EXTENT_PAGES - 1, EXTENT_PAGES, EXTENT_PAGES + 7])
def test_secret_of_an_undone_cell_is_in_no_later_memory(
    committed: CommittedMemory, memory: LiveMemory, size: int
) -> None:
    fill = (SECRET * (PAGE // len(SECRET) + 1))[:PAGE]
    memory.grow_to(IMAGE_SIZE + 16 * WASM_PAGE)
    for first in (3, IMAGE_SIZE // PAGE + 3):
        memory.write(first * PAGE, fill * size)
    record = committed.commit(memory)
    assert SECRET in loaded(committed), "the search finds what is there"
    committed.revert(record)
    assert SECRET not in loaded(committed)
    assert all(SECRET not in bytes(content) for _, content in committed.runs())
    with memoryview(committed._backing) as view:
        assert SECRET not in bytes(view)
    # Nor in pages that a later cell gets by growing the memory.
    later = LiveMemory()
    committed.load_into(later)
    later.grow_to(IMAGE_SIZE + 16 * WASM_PAGE)
    committed.commit(later)
    assert SECRET not in loaded(committed)
    later.close()


def test_secret_of_a_rolled_back_cell_is_in_no_later_memory(
    committed: CommittedMemory, memory: LiveMemory
) -> None:
    memory.write(7 * PAGE, SECRET)
    assert SECRET not in loaded(committed)


def test_growth_belongs_to_the_commit(committed: CommittedMemory, memory: LiveMemory) -> None:
    memory.grow_to(IMAGE_SIZE + 2 * WASM_PAGE)
    memory.write(IMAGE_SIZE + WASM_PAGE, b"beyond the image")
    record = committed.commit(memory)
    assert loaded(committed) == memory.content()
    committed.revert(record)
    assert loaded(committed) == image_bytes()


def test_reset_puts_a_memory_back_in_place(committed: CommittedMemory, memory: LiveMemory) -> None:
    memory.write(2 * PAGE, b"committed")
    committed.commit(memory)
    expected = memory.content()
    for round_ in range(3):
        memory.write(2 * PAGE, b"CHANGED")
        memory.write((4 + round_ // 2) * PAGE, SECRET)
        committed.reset(memory)
        assert memory.content() == expected
    assert committed.commit(memory).pages in range(4)
    assert loaded(committed) == expected


def test_reset_after_an_undo_knows_that_the_state_changed(
    committed: CommittedMemory, memory: LiveMemory
) -> None:
    """The next instance may well get the address of the one before."""
    memory.write(2 * PAGE, b"committed")
    record = committed.commit(memory)
    memory.write(2 * PAGE, b"CHANGED")
    committed.reset(memory)
    committed.revert(record)
    memory.close()
    for _ in range(3):
        fresh = LiveMemory()
        committed.load_into(fresh)
        fresh.write(2 * PAGE, b"CHANGED")
        committed.reset(fresh)
        assert fresh.content() == image_bytes()
        fresh.close()


def reset_after_growth(kind: type[CommittedMemory], path: Path) -> None:
    image = Image(path, "key")
    committed, memory = kind(image, MAX_SIZE), LiveMemory()
    committed.load_into(memory)
    memory.grow_to(MAX_SIZE)
    committed.commit(memory)
    for place in range(IMAGE_SIZE, MAX_SIZE, WASM_PAGE):
        memory.write(place, b"CHANGED")
    committed.reset(memory)
    assert memory.content() == image_bytes() + bytes(MAX_SIZE - IMAGE_SIZE)


@pytest.mark.parametrize("kind", STRATEGIES)
def test_reset_gives_zeros_where_only_growth_was_committed(
    kind: type[CommittedMemory], image: Image
) -> None:
    """Beyond its image a page is empty, and what lies behind the image on the host is not read.

    In a process of its own: whoever reads there may well be killed.
    """
    child = multiprocessing.get_context("spawn").Process(
        target=reset_after_growth, args=(kind, image.path)
    )
    child.start()
    child.join()
    assert child.exitcode == 0


def test_fork_is_equal_and_independent(committed: CommittedMemory, memory: LiveMemory) -> None:
    memory.write(PAGE, b"common")
    memory.write(10 * PAGE, bytes(EXTENT_PAGES * PAGE))
    committed.commit(memory)
    common = memory.content()
    twin = committed.fork()
    try:
        assert loaded(twin) == common
        memory.write(PAGE, b"original")
        committed.commit(memory)
        assert loaded(twin) == common
        other = LiveMemory()
        twin.load_into(other)
        other.write(11 * PAGE, b"twin")
        twin.commit(other)
        assert loaded(twin) == other.content()
        assert loaded(committed) == memory.content()
        other.close()
    finally:
        twin.close()


def test_runs_rebuild_the_state_elsewhere(
    committed: CommittedMemory, memory: LiveMemory, image: Image
) -> None:
    memory.write(PAGE, b"one")
    memory.write(20 * PAGE, bytes([7]) * (EXTENT_PAGES * PAGE))
    committed.commit(memory)
    saved = [(first, bytes(content)) for first, content in committed.runs()]
    again = type(committed)(image, MAX_SIZE)
    try:
        for first, content in saved:
            again.restore_run(first, content)
        assert loaded(again) == memory.content()
        assert again.pages == committed.pages
    finally:
        again.close()


@pytest.mark.parametrize(
    ("first", "size"), [(0, PAGE - 1), (MAX_SIZE // PAGE, PAGE), (MAX_SIZE // PAGE - 1, 2 * PAGE)]
)
def test_run_outside_the_memory_is_refused(
    committed: CommittedMemory, first: int, size: int
) -> None:
    with pytest.raises(ValueError, match="outside the memory"):
        committed.restore_run(first, bytes(size))
    assert committed.pages == 0


def test_cost_of_an_undo_record_is_what_it_keeps(
    committed: CommittedMemory, memory: LiveMemory
) -> None:
    memory.write(PAGE, b"one")
    assert committed.commit(memory).cost < LINE, "the image still has those pages"
    memory.write(PAGE, b"two")
    assert LINE <= committed.commit(memory).cost < 2 * PAGE


@pytest.mark.skipif(MappedMemory not in STRATEGIES, reason="needs Linux's page flags")
def test_a_page_that_was_put_away_is_the_image_again_after_undo(
    image: Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its live mapping is of the committed pages, which no longer have it."""
    monkeypatch.setattr(mapped, "RESIDENT_PAGES_MAX", 4)
    monkeypatch.setattr(mapped, "CHUNK_PAGES", 16)
    committed, memory = MappedMemory(image, MAX_SIZE), LiveMemory()
    committed.load_into(memory)

    def commit(*written: int) -> pages.UndoRecord:
        for page in written:
            memory.write(page * PAGE, b"written by cell")
        return committed.commit(memory)

    commit(2, 3, 4, 5)
    put_away = commit(1)
    memory.write(PAGE, b"once more")
    again = committed.commit(memory)
    follows = committed.revert(again, memory) and committed.revert(put_away, memory)
    if not follows:
        memory.close()
        memory = LiveMemory()
        committed.load_into(memory)
    commit(40, 41, 42, 43, 44)
    assert memory.read(PAGE, PAGE) == image.bytes_at(PAGE, 2 * PAGE)
    memory.close()
    committed.close()


@pytest.mark.skipif(strategy() is not MappedMemory, reason="copies are pages of Linux")
def test_copies_that_equal_the_image_are_given_back_once(image: Image, memory: LiveMemory) -> None:
    committed = MappedMemory(image, MAX_SIZE)
    committed.load_into(memory)

    def touch() -> None:
        for page in (2, 3, 9):
            memory.write(page * PAGE, memory.read(page * PAGE, 8))

    touch()
    memory.write(5 * PAGE, b"changed")
    assert committed._dirty(memory).count(1) == 4
    committed.commit(memory)
    expected = bytearray(image_bytes())
    expected[5 * PAGE : 5 * PAGE + 7] = b"changed"
    assert memory.content() == expected
    assert committed._dirty(memory).count(1) == 1
    touch()
    committed.commit(memory)
    assert committed._dirty(memory).count(1) == 4, "each would be faulted in again"
    assert memory.content() == expected
    committed.close()


@pytest.mark.skipif(strategy() is not MappedMemory, reason="faults are counted by Linux")
@pytest.mark.parametrize("is_counter_stuck", [False, True])
def test_pages_are_looked_up_again_after_a_fault(
    image: Image, memory: LiveMemory, monkeypatch: pytest.MonkeyPatch, is_counter_stuck: bool
) -> None:
    if is_counter_stuck:
        monkeypatch.setattr(mapped, "page_faults", lambda: (1, 0))
    committed = MappedMemory(image, MAX_SIZE)
    committed.load_into(memory)
    lookups = []
    dirty = committed._dirty

    def counted(of: GuestMemory) -> bytes:
        lookups.append(of)
        return dirty(of)

    monkeypatch.setattr(committed, "_dirty", counted)
    for step in range(40):
        memory.write(2 * PAGE, f"the same page {step}".encode())
        committed.reset(memory)
        assert memory.content() == image_bytes()
    settled = len(lookups)
    assert settled == 40 if is_counter_stuck else settled < 30
    for page in range(3, 60, 5):
        memory.write(page * PAGE, b"a page that was not written before")
        committed.reset(memory)
        assert memory.content() == image_bytes(), page
        assert len(lookups) > settled
        settled = len(lookups)
    committed.close()


def test_closing_twice_is_fine(image: Image) -> None:
    for kind in STRATEGIES:
        made = kind(image, MAX_SIZE)
        made.close()
        made.close()


def test_image_is_never_written(
    committed: CommittedMemory, memory: LiveMemory, image: Image
) -> None:
    memory.write(0, bytes(IMAGE_SIZE))
    committed.commit(memory)
    assert image.path.read_bytes() == image_bytes()
    assert image.bytes_at(0, IMAGE_SIZE) == image_bytes()
    assert image.bytes_at(IMAGE_SIZE - 2, IMAGE_SIZE + 2) == image_bytes()[-2:] + b"\0\0"


@pytest.mark.parametrize("size", [0, 1, WASM_PAGE - 1, WASM_PAGE + PAGE])
def test_file_that_is_no_whole_memory_is_no_image(tmp_path: Path, size: int) -> None:
    path = tmp_path / "broken.image"
    path.write_bytes(bytes(size))
    with pytest.raises(InvalidRuntimeError, match="is not a memory image; run: wasm-kernel setup"):
        Image(path, "key")


def test_range_outside_the_memory_cannot_be_read_or_written(memory: LiveMemory) -> None:
    for pointer, length in [(IMAGE_SIZE, 1), (IMAGE_SIZE - 1, 2), (-1, 1), (0, -1), (2**32, 0)]:
        assert not memory.holds(pointer, length)
        with pytest.raises(IndexError):
            memory.read(pointer, length)
    with pytest.raises(IndexError):
        memory.write(IMAGE_SIZE - 1, b"xx")
    assert memory.holds(IMAGE_SIZE, 0)


# Any sequence of steps, against a model.


class PagesMachine(RuleBasedStateMachine):
    """A session's memory beside plain bytes that do what it should do."""

    kind: type[CommittedMemory] = CommittedMemory

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name) / "memory.image"
        path.write_bytes(image_bytes())
        self.image = Image(path, "key")
        self.committed = self.kind(self.image, MAX_SIZE)
        self.memory = LiveMemory()
        self.committed.load_into(self.memory)
        self.live = bytearray(image_bytes())
        self.state = image_bytes()
        self.undo: list[tuple[pages.UndoRecord, bytes]] = []

    def teardown(self) -> None:
        self.memory.close()
        self.committed.close()
        self.image.close()
        self.folder.cleanup()

    @rule(
        place=st.sampled_from([0, 1, 3, 4, 40, 90, 98, 150, 300]),
        length=st.sampled_from([1, 100, PAGE, 5 * PAGE, (EXTENT_PAGES + 3) * PAGE, 90 * PAGE]),
        byte=st.integers(0, 255),
    )
    def write(self, place: int, length: int, byte: int) -> None:
        start = place * PAGE % len(self.live) + 17
        content = bytes([byte]) * min(length, len(self.live) - start)
        self.memory.write(start, content)
        self.live[start : start + len(content)] = content

    @precondition(lambda self: len(self.live) < MAX_SIZE)
    @rule(count=st.integers(1, 5))
    def grow(self, count: int) -> None:
        size = min(len(self.live) + count * WASM_PAGE, MAX_SIZE)
        self.memory.grow_to(size)
        self.live.extend(bytes(size - len(self.live)))

    @rule()
    def commit(self) -> None:
        self.undo.append((self.committed.commit(self.memory), self.state))
        self.state = bytes(self.live)
        assert loaded(self.committed) == self.state

    def start_anew(self) -> None:
        self.memory.close()
        self.memory = LiveMemory()
        self.committed.load_into(self.memory)
        self.live = bytearray(self.state)

    @rule()
    def roll_back(self) -> None:
        self.start_anew()

    @precondition(lambda self: self.undo)
    @rule()
    def undo_a_commit(self) -> None:
        record, self.state = self.undo.pop()
        self.committed.revert(record)
        self.start_anew()

    @precondition(lambda self: self.undo and self.live == self.state)
    @rule()
    def undo_a_commit_in_place(self) -> None:
        record, self.state = self.undo.pop()
        if self.committed.revert(record, self.memory):
            self.live = bytearray(self.state)
        else:
            self.start_anew()

    @precondition(lambda self: len(self.live) == len(self.state))
    @rule()
    def reset(self) -> None:
        self.committed.reset(self.memory)
        self.live = bytearray(self.state)

    @rule()
    def go_on_in_a_fork(self) -> None:
        twin = self.committed.fork()
        self.committed.close()
        self.committed = twin
        self.start_anew()

    @invariant()
    def memory_is_as_the_model(self) -> None:
        assert self.memory.content() == self.live
        assert self.committed.size == len(self.state)


class MappedMachine(PagesMachine):
    """The same for the mappings of Linux."""

    kind = MappedMemory


class CrowdedMachine(MappedMachine):
    """The same where resident pages are moved to the backing file early."""

    def __init__(self) -> None:
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(mapped, "RESIDENT_PAGES_MAX", 4)
        self.patch.setattr(mapped, "CHUNK_PAGES", 16)
        super().__init__()

    def teardown(self) -> None:
        super().teardown()
        self.patch.undo()


STEPS = settings(max_examples=100, stateful_step_count=40)

TestAnyStepsOnCopies = PagesMachine.TestCase
TestAnyStepsOnCopies.settings = STEPS
if MappedMemory in STRATEGIES:
    TestAnyStepsOnMappings = MappedMachine.TestCase
    TestAnyStepsOnMappings.settings = STEPS
    TestAnyStepsOnCrowdedMappings = CrowdedMachine.TestCase
    TestAnyStepsOnCrowdedMappings.settings = STEPS
