"""What programs ask of an open file and WASI does not have: a second descriptor, a memory map.

NumPy needs the one for ``tofile`` and ``fromfile``, and the other for ``np.memmap``.
"""

import gc
import io
import mmap
import os


def install():
    """Put these in the places of the ones that fail."""
    os.dup = dup
    mmap.mmap = FileMap


def dup(fd, /):
    """Open the file of a descriptor once more."""
    file = _file_of(fd)
    if file is None:
        raise OSError("the sandbox cannot duplicate this descriptor; open the file by its name")
    flags = {(True, False): os.O_RDONLY, (False, True): os.O_WRONLY}
    copy = os.open(file.name, flags.get((file.readable(), file.writable()), os.O_RDWR))
    os.lseek(copy, os.lseek(fd, 0, os.SEEK_CUR), os.SEEK_SET)
    return copy


def _file_of(fd):
    """The object that has opened a descriptor: it knows the name, which WASI does not tell."""
    for value in gc.get_objects():
        if type(value) is io.FileIO and not value.closed and value.fileno() == fd:
            return value if isinstance(value.name, str | bytes | os.PathLike) else None
    return None


class FileMap:
    """A file's contents in memory; what is changed there goes to the file when it is flushed."""

    def __init__(self, fileno, length, flags=0, prot=0, access=0, offset=0, **_):
        self._path = None
        self._offset, self._position = offset, 0
        self._is_copy = access == mmap.ACCESS_COPY
        if fileno == -1:
            self._data = bytearray(length)
            return
        size = os.fstat(fileno).st_size
        if length == 0 and size == 0:
            raise ValueError("cannot mmap an empty file")
        if offset + length > size or offset > size:
            raise ValueError("mmap length is greater than file size")
        file = _file_of(fileno)
        data = os.pread(fileno, length or size - offset, offset)
        is_read_only = access == mmap.ACCESS_READ or (file is not None and not file.writable())
        self._data = data if is_read_only and not self._is_copy else bytearray(data)
        if isinstance(self._data, bytearray) and not self._is_copy and file is not None:
            # The descriptor may be closed before the map is.
            self._path = os.path.abspath(file.name)

    def __buffer__(self, flags):
        return memoryview(self._contents())

    def _contents(self):
        if self._data is None:
            raise ValueError("mmap closed or invalid")
        return self._data

    def flush(self, offset=0, size=None, **_):
        """Write the contents to the file."""
        if self._path is not None and self._data is not None:
            with open(self._path, "r+b") as file:
                file.seek(self._offset)
                file.write(self._data)

    def close(self):
        """Write the contents, and forget them."""
        self.flush()
        self._data = None

    @property
    def closed(self):
        return self._data is None

    def __del__(self):
        self.flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # As a sequence of bytes.

    def __len__(self):
        return len(self._contents())

    def __getitem__(self, place):
        found = self._contents()[place]
        return bytes(found) if isinstance(place, slice) else found

    def __setitem__(self, place, value):
        data = self._contents()
        if isinstance(data, bytes):
            raise TypeError("mmap can't modify a readonly memory map.")
        if isinstance(place, slice) and len(value) != len(data[place]):
            raise IndexError("mmap slice assignment is wrong size")
        data[place] = value

    def find(self, sub, start=None, end=None):
        return self._contents().find(sub, self._position if start is None else start, end)

    def rfind(self, sub, start=None, end=None):
        return self._contents().rfind(sub, self._position if start is None else start, end)

    def size(self):
        return len(self._contents()) + self._offset

    # As a file.

    def read(self, n=None):
        data = self._contents()
        end = len(data) if n is None or n < 0 else self._position + n
        found = bytes(data[self._position : end])
        self._position += len(found)
        return found

    def read_byte(self):
        if self._position >= len(self):
            raise ValueError("read byte out of range")
        return self.read(1)[0]

    def readline(self):
        end = self._contents().find(b"\n", self._position)
        return self.read(None if end < 0 else end + 1 - self._position)

    def __iter__(self):
        return iter(self.readline, b"")

    def write(self, data):
        if self._position + len(data) > len(self):
            raise ValueError("data out of range")
        self[self._position : self._position + len(data)] = data
        self._position += len(data)
        return len(data)

    def write_byte(self, byte):
        self.write(bytes([byte]))

    def seek(self, pos, whence=os.SEEK_SET):
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: len(self)}[whence]
        if not 0 <= base + pos <= len(self):
            raise ValueError("seek out of range")
        self._position = base + pos
        return self._position

    def tell(self):
        return self._position


FileMap.__name__ = FileMap.__qualname__ = FileMap.__module__ = "mmap"
