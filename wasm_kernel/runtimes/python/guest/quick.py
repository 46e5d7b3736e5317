"""Parts of IPython that every cell goes through, for a fraction of the instructions.

Each does exactly what its base class does, or ipykernel's; a test compares them.
"""

import os
import re
import struct
import zlib

from IPython.core.compilerop import CachingCompiler
from IPython.core.history import HistoryManager
from IPython.core.inputtransformer2 import TransformerManager

# Magics, shell lines and help need one of these characters; "!=" is none. Other escapes and
# prompts stand at the beginning of a line, whatever character ends the line before.
_SPECIAL = re.compile(
    r"[%?\r\v\f\x1c-\x1e\x85\u2028\u2029]|!(?!=)|^\s*(?:[,;/]|>>>|\.\.\.|In \[)|\A[\s\\]",
    re.MULTILINE,
)


class QuickTransformer(TransformerManager):
    """Leaves plain Python alone without splitting it into tokens first."""

    def __init__(self):
        super().__init__()
        self._usual = self._transforms()

    def _transforms(self):
        return [*self.cleanup_transforms, *self.line_transforms, *self.token_transformers]

    def transform_cell(self, cell):
        if not cell or _SPECIAL.search(cell) or self._transforms() != self._usual:
            return super().transform_cell(cell)
        return cell if cell.endswith("\n") else cell + "\n"


class QuickHistory(HistoryManager):
    """Keeps inputs in memory: there is no database that they would have to be queued for."""

    def store_inputs(self, line_num, source, source_raw=None):
        raw = (source if source_raw is None else source_raw).rstrip("\n")
        if self._exit_re.match(raw.strip()):
            return
        self.input_hist_parsed.append(source.rstrip("\n"))
        self.input_hist_raw.append(raw)
        # Traits notify whoever watches them, at twenty times the price of a dict; nobody does.
        values = self._trait_values
        last, second, third = (values.get(name, "") for name in ("_i00", "_i", "_ii"))
        values["_i00"], values["_i"], values["_ii"], values["_iii"] = raw, last, second, third
        names = {"_i": last, "_ii": second, "_iii": third, f"_i{line_num}": raw}
        self.shell.user_ns.update(names)
        self.shell.user_ns_hidden.update(names)


class CellCompiler(CachingCompiler):
    """Names cells as ipykernel does: warnings, help and debuggers show the name of a file.

    Its number there is a digest that takes a step for every four characters. Only the message of
    a syntax error shows nothing but that number, so it is worked out for those alone.
    """

    _last = ("", "")

    def get_code_name(self, raw_code, transformed_code, number):
        digest = zlib.crc32(raw_code.encode("utf-8", "replace"))
        name = f"/tmp/ipykernel_{os.getpid()}/{digest}.py"
        self._last = (name, raw_code)
        return name

    def message(self, error):
        """The text of a syntax error, with the name that ipykernel gives the last cell."""
        name, raw_code = self._last
        text = str(error)
        if error.filename != name:
            return text
        number = murmur2(raw_code.encode("utf-8", "replace"), _SEED)
        return text.replace(f"({os.path.basename(name)}, line ", f"({number}.py, line ")


_SEED = 0xC70F6907
_WORD = 0xFFFFFFFF


def murmur2(data, seed):
    """MurmurHash2 of 32 bits, by which ipykernel numbers cells."""
    mixer = 0x5BD1E995
    digest = seed ^ len(data)
    whole = len(data) & ~3
    for (word,) in struct.iter_unpack("<I", data[:whole]):
        word = (word * mixer) & _WORD
        word = ((word ^ (word >> 24)) * mixer) & _WORD
        digest = ((digest * mixer) & _WORD) ^ word
    if whole < len(data):
        digest = ((digest ^ int.from_bytes(data[whole:], "little")) * mixer) & _WORD
    digest = ((digest ^ (digest >> 13)) * mixer) & _WORD
    return digest ^ (digest >> 15)
