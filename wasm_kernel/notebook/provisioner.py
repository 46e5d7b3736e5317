"""How a Jupyter server starts this kernel: it listens at the kernel's ports first, and takes the
process that waits for a launch where there is one.

The wheel's kernelspec names this provisioner. A front end that knows nothing of provisioners
starts the kernel's process as any other, which then opens its ports by itself.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from typing import Any

from jupyter_client.provisioning import LocalProvisioner

from wasm_kernel.notebook.listeners import as_environment, listen
from wasm_kernel.notebook.spare import Launch, spares


class ListeningProvisioner(LocalProvisioner):  # type: ignore[misc]
    """Jupyter's own provisioner, with the ports open before the process is started."""

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> Any:
        """Take a spare process, or start one, and hand it what it listens on."""
        listeners = listen(self.connection_info) if os.name == "posix" else {}
        launch = Launch.of(cmd, kwargs)
        try:
            if launch is None or not self._take_spare(launch, listeners):
                descriptors = {name: listener.fileno() for name, listener in listeners.items()}
                kwargs["pass_fds"] = (*kwargs.get("pass_fds", ()), *descriptors.values())
                kwargs["env"] = {**kwargs.get("env", os.environ), **as_environment(descriptors)}
                await super().launch_kernel(cmd, **kwargs)
        finally:
            # From here on the ports are the kernel's: with its end nobody listens there.
            for listener in listeners.values():
                listener.close()
        if launch is not None:
            spares.launched(launch)
        return self.connection_info

    def _take_spare(self, launch: Launch, listeners: Mapping[str, socket.socket]) -> bool:
        process = spares.take(launch, listeners)
        if process is None:
            return False
        self.process = process
        # It leads a session of its own, as every kernel does.
        self.pid = self.pgid = process.pid
        self.cwd = launch.cwd
        return True
