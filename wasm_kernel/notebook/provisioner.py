"""How a Jupyter server starts this kernel: it listens at the kernel's ports first.

The wheel's kernelspec names this provisioner. A front end that knows nothing of provisioners
starts the kernel's process as any other, which then opens its ports by itself.
"""

from __future__ import annotations

import os
from typing import Any

from jupyter_client.provisioning import LocalProvisioner

from wasm_kernel.notebook.listeners import as_environment, listen


class ListeningProvisioner(LocalProvisioner):  # type: ignore[misc]
    """Jupyter's own provisioner, with the ports open before the process is started."""

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> Any:
        """Start the process, and hand it what it listens on."""
        listeners = listen(self.connection_info) if os.name == "posix" else {}
        descriptors = [listener.fileno() for listener in listeners.values()]
        kwargs["pass_fds"] = (*kwargs.get("pass_fds", ()), *descriptors)
        kwargs["env"] = {**kwargs.get("env", os.environ), **as_environment(listeners)}
        try:
            return await super().launch_kernel(cmd, **kwargs)
        finally:
            # From here on the ports are the kernel's: with its end nobody listens there.
            for listener in listeners.values():
                listener.close()
