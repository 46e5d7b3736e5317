"""The programs that are measured: small ones that must print the right thing, and computations.

A computation times itself inside the interpreter it runs in and prints the milliseconds of its
best repeat, so that entering and leaving a sandbox is not part of it.
"""

from __future__ import annotations

from dataclasses import dataclass

PRINT = "print(1+1)"
NUMPY = "import numpy as np\nprint(int(np.arange(10).sum()))"
PANDAS = "import pandas as pd\nprint(int(pd.DataFrame({'a': [1, 2]})['a'].sum()))"
FRAME = 'import pandas as pd; pd.DataFrame({"a":[1,2]}).sum()'
"""The first cell of a data notebook; what it shows is a Series with the number 3."""

IMPORT = "import pandas\nprint(1+1)"
"""A first cell that needs pandas and shows little: the start is measured, not the display."""

HOLD = (
    "import pandas as pd; frame = pd.DataFrame({'a': range(1000)}); total = frame.a.sum()",
    *["total = total + 1"] * 9,
)
"""The cells that an idle session has run before it is weighed."""


@dataclass(frozen=True)
class Computation:
    """A program whose speed is compared with native Python's."""

    title: str
    setup: str
    work: str
    needs: str = ""
    """A package that not every peer has."""

    def source(self, repeats: int) -> str:
        """The program as it is sent."""
        body = "\n".join(f"    {line}" for line in self.work.splitlines())
        return (
            f"import time\n{self.setup}\ndef work():\n{body}\nwork()\ntimes = []\n"
            f"for _ in range({repeats}):\n"
            "    started = time.perf_counter()\n    work()\n"
            "    times.append(time.perf_counter() - started)\n"
            "print(min(times) * 1000)\n"
        )


COMPUTATIONS: dict[str, Computation] = {
    "loop": Computation(
        "pure Python loop",
        "",
        "total = 0\nfor n in range(300_000):\n    total = (total * 31 + n) % 1_000_003\n"
        "return total",
    ),
    "json": Computation(
        "json there and back",
        "import json\n"
        "rows = [{'id': n, 'name': f'name {n}', 'tags': ['a', 'b']} for n in range(4000)]",
        "return json.loads(json.dumps(rows))",
    ),
    "regex": Computation(
        "regular expressions",
        "import re\ntext = ' '.join(f'user{n}@host{n % 97}.example' for n in range(8000))\n"
        "pattern = re.compile(r'(\\w+)@(\\w+)\\.example')",
        "return len(pattern.findall(text))",
    ),
    "sort": Computation(
        "sorting a list of tuples",
        "import random\nrandom.seed(1)\nrows = [(random.random(), str(n)) for n in range(60_000)]",
        "return sorted(rows)",
    ),
    "matmul": Computation(
        "numpy matmul, 256 x 256",
        "import numpy as np\nmatrix = np.random.default_rng(1).normal(size=(256, 256))",
        "return matrix @ matrix",
        needs="numpy",
    ),
    "numpy-sort": Computation(
        "numpy sort, 500,000 floats",
        "import numpy as np\nvalues = np.random.default_rng(1).normal(size=500_000)",
        "return np.sort(values)",
        needs="numpy",
    ),
    "groupby": Computation(
        "pandas groupby, 300,000 rows",
        "import numpy as np\nimport pandas as pd\nrandom = np.random.default_rng(1)\n"
        "frame = pd.DataFrame({'key': random.integers(0, 1000, 300_000), "
        "'value': random.normal(size=300_000)})",
        "return frame.groupby('key')['value'].agg(['mean', 'std', 'max'])",
        needs="pandas",
    ),
}
