"""Threads, processes, queues and programs, as courses on concurrency teach them."""
# ruff: noqa
# fmt: off

# %% thread
import queue
import threading
import time
def greet(name):
    print("hello", name)
thread = threading.Thread(target=greet, args=("ada",))
thread.start()
thread.join()

# %% thread-is-over
thread.is_alive(), thread.daemon

# %% thread-started-twice
thread.start()

# %% thread-joined-too-early
threading.Thread(target=greet).join()

# %% thread-class
class Squarer(threading.Thread):
    def __init__(self, number):
        super().__init__(name=f"squarer-{number}")
        self.number, self.result = number, None
    def run(self):
        self.result = self.number ** 2
squarers = [Squarer(number) for number in range(4)]
for squarer in squarers:
    squarer.start()
for squarer in squarers:
    squarer.join()
[(squarer.name, squarer.result) for squarer in squarers]

# %% thread-that-fails
broken = threading.Thread(target=lambda: 1 / 0)
broken.start()
broken.join()
broken.is_alive()

# %% thread-nobody-joins
threading.Thread(target=greet, args=("bob",)).start()
time.sleep(0.05)

# %% lock
counter = 0
guard = threading.Lock()
def count():
    global counter
    for _ in range(100):
        with guard:
            counter += 1
threads = [threading.Thread(target=count) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
counter

# %% lock-with-a-nap
order = []
def visit(name):
    with guard:
        order.append(name + " in")
        time.sleep(0.01)
        order.append(name + " out")
threads = [threading.Thread(target=visit, args=(name,)) for name in "abc"]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
[pair[0][0] == pair[1][0] for pair in zip(order[::2], order[1::2])]

# %% lock-twice-in-vain
guard.acquire(), guard.acquire(blocking=False), guard.acquire(timeout=0.01), guard.locked()

# %% lock-released-twice
guard.release()
guard.release()

# %% rlock
again = threading.RLock()
with again:
    with again:
        print("twice")

# %% naps-overlap
def nap():
    time.sleep(0.3)
start = time.perf_counter()
threads = [threading.Thread(target=nap) for _ in range(5)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
time.perf_counter() - start < 1.2

# %% event
ready = threading.Event()
def wait_for_it():
    ready.wait()
    print("go")
def say_so():
    time.sleep(0.02)
    ready.set()
threads = [threading.Thread(target=wait_for_it), threading.Thread(target=say_so)]
[thread.start() for thread in threads]
[thread.join() for thread in threads];

# %% event-set-by-the-cell
ready = threading.Event()
thread = threading.Thread(target=wait_for_it)
thread.start()
time.sleep(0.02)
ready.set()
thread.join()

# %% condition
items, changed = [], threading.Condition()
def take():
    with changed:
        changed.wait_for(lambda: items)
        print("took", items.pop())
def give():
    with changed:
        items.append(1)
        changed.notify()
threads = [threading.Thread(target=take), threading.Thread(target=give)]
[thread.start() for thread in threads]
[thread.join() for thread in threads];

# %% barrier
gate, passed = threading.Barrier(3), []
def cross(name):
    gate.wait()
    passed.append(name)
threads = [threading.Thread(target=cross, args=(name,)) for name in "xyz"]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
sorted(passed)

# %% semaphore
places = threading.Semaphore(2)
def park(name):
    with places:
        time.sleep(0.01)
        passed.append(name)
threads = [threading.Thread(target=park, args=(number,)) for number in range(5)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
len(passed)

# %% timer
timer = threading.Timer(0.02, greet, args=("later",))
timer.start()
timer.join()

# %% timer-cancelled
timer = threading.Timer(60, greet, args=("never",))
timer.start()
timer.cancel()
timer.join()

# %% thread-local
own = threading.local()
own.value = 1
seen = []
thread = threading.Thread(target=lambda: seen.append(hasattr(own, "value")))
thread.start()
thread.join()
seen, own.value

# %% names-of-threads
names = []
thread = threading.Thread(target=lambda: names.append(threading.current_thread().name), name="reader")
thread.start()
thread.join()
names, threading.current_thread() is threading.main_thread()

# %% producer-and-consumer
channel = queue.Queue(maxsize=3)
def produce():
    for number in range(3):
        channel.put(number)
    channel.put(None)
def consume():
    while (number := channel.get()) is not None:
        print("got", number)
threads = [threading.Thread(target=produce), threading.Thread(target=consume)]
[thread.start() for thread in threads]
[thread.join() for thread in threads];

# %% workers-of-a-queue
work = queue.Queue()
done = []
def worker():
    while True:
        done.append(work.get() ** 2)
        work.task_done()
threading.Thread(target=worker, daemon=True).start()
for number in range(5):
    work.put(number)
work.join()
sorted(done)

# %% workers-in-a-later-cell
work.put(9)
work.join()
done[-1]

# %% queue-empty
queue.Queue().get(timeout=0.01)

# %% background-loop
is_running, ticks = True, []
def tick():
    while is_running:
        ticks.append(1)
        time.sleep(0.01)
thread = threading.Thread(target=tick, daemon=True)
thread.start()
time.sleep(0.05)
is_running = False
thread.join()
len(ticks) > 1

# %% low-level-thread
import _thread
_thread.start_new_thread(greet, ("below",))
time.sleep(0.05)

# %% process
import multiprocessing as mp
process = mp.Process(target=greet, args=("child",))
process.start()
process.join()
process.exitcode, process.is_alive()

# %% process-that-fails
process = mp.Process(target=int, args=("x",))
process.start()
process.join()
process.exitcode

# %% process-terminated
process = mp.Process(target=time.sleep, args=(60,))
process.start()
process.terminate()
process.join()
process.exitcode

# %% process-queue
def answer(number, results):
    results.put((number, number ** 2))
results = mp.Queue()
processes = [mp.Process(target=answer, args=(number, results)) for number in range(3)]
[process.start() for process in processes]
[process.join() for process in processes]
sorted(results.get() for _ in processes)

# %% process-shared-memory
total, cells = mp.Value("i", 0), mp.Array("d", 3)
def add(total, cells):
    with total.get_lock():
        total.value += 5
    cells[1] += 0.5
processes = [mp.Process(target=add, args=(total, cells)) for _ in range(2)]
[process.start() for process in processes]
[process.join() for process in processes]
total.value, cells[:]

# %% process-pipe
here, there = mp.Pipe()
def send(end):
    end.send(["from", "the", "child"])
    end.close()
process = mp.Process(target=send, args=(there,))
process.start()
print(here.recv())
process.join()

# %% process-manager
with mp.Manager() as manager:
    shared = manager.dict()
    process = mp.Process(target=shared.update, kwargs={"a": 1})
    process.start()
    process.join()
    print(shared)

# %% program
import subprocess
subprocess.run(["echo", "hello"])

# %% program-captured
subprocess.run("echo one; echo two >&2", shell=True, capture_output=True, text=True)

# %% program-output
subprocess.check_output(["echo", "hello"])

# %% program-that-fails
subprocess.run(["false"], check=True)

# %% program-that-is-not-there
subprocess.run(["no-such-program"])

# %% program-with-input
subprocess.run(["sort"], input="b\na\n", text=True, capture_output=True).stdout

# %% program-talks
program = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
program.communicate("said")

# %% program-line-by-line
program = subprocess.Popen("printf 'a\\nb\\n'", shell=True, stdout=subprocess.PIPE, text=True)
for line in program.stdout:
    print(line.strip())
program.wait()

# %% program-into-a-file
with open("listing.txt", "w") as file:
    subprocess.call(["echo", "listed"], stdout=file)
open("listing.txt").read()

# %% program-is-python
import sys
subprocess.run([sys.executable, "-c", "print(6 * 7)"], capture_output=True, text=True).stdout

# %% program-takes-too-long
subprocess.run(["sleep", "0.2"], timeout=0.05)

# %% shell-status
import os
os.system("echo hello"), os.system("false")

# %% shell-output
os.popen("echo hello").read(), subprocess.getoutput("echo hello")

# %% workers-of-a-pool
import multiprocessing.pool
with multiprocessing.pool.ThreadPool(processes=3) as pool:
    print(len(pool._pool), pool._processes, pool.starmap(divmod, [(7, 2), (9, 4)]))
