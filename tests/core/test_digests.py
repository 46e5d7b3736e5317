"""Digests for names: stable, different for different texts, and without OpenSSL."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

from wasm_kernel.core.digests import blake2b, name_of


def test_it_is_the_digest_that_hashlib_has() -> None:
    assert blake2b(b"text").digest() == hashlib.blake2b(b"text").digest()


def test_names_are_hexadecimal_and_as_long_as_asked_for() -> None:
    assert name_of("text") == hashlib.blake2b(b"text", digest_size=32).hexdigest()[:24]
    assert len(name_of("text", 16)) == 16
    assert name_of("text") != name_of("texts")


def test_a_run_does_without_openssl(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from wasm_kernel import Session\n"
        "with Session(workspace='workspace') as session:\n"
        "    session.execute('x = 1')\n"
        "print('_hashlib' in sys.modules)\n"
    )
    command = [sys.executable, "-P", "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
