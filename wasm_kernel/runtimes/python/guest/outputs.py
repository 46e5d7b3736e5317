"""Rich outputs on their way to the host: text in the header, bytes as buffers."""

import json

from wasm_guest import door, streams


def send(kind, data, metadata=None, **more):
    """Send a MIME bundle through the door."""
    streams.flush()
    header, buffers = {}, []
    for mime, value in data.items():
        if isinstance(value, (bytes, bytearray, memoryview)):
            header[str(mime)] = {"buffer": len(buffers)}
            buffers.append(bytes(value))
        elif isinstance(value, str) and len(value) > 10_000:
            header[str(mime)] = {"text_buffer": len(buffers)}
            buffers.append(value.encode("utf-8", "replace"))
        elif isinstance(value, str):
            header[str(mime)] = {"text": value}
        else:
            header[str(mime)] = {"json_buffer": len(buffers)}
            buffers.append(json.dumps(plain(value)).encode("utf-8"))
    door.call({"op": kind, "data": header, "metadata": plain(metadata or {}), **more}, buffers)


def send_error(error):
    """Send an error; its traceback goes as a buffer."""
    text = json.dumps(error).encode("utf-8", "replace")
    door.call({"op": "error"}, [text])


def as_text(data):
    """A bundle that goes into a reply as it is: binary representations are left out."""
    return {str(mime): value for mime, value in data.items() if isinstance(value, str)}


def plain(value):
    """The value if it is JSON, else its text."""
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError, RecursionError):
        return str(value)
