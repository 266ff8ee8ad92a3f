"""The socket on which a server of ours listens."""

from __future__ import annotations

import socket

from cortex.core.model.problem import InvalidInputError


def open_listener(host: str, port: int, backlog: int, hint: str) -> socket.socket:
    """A socket that listens; port 0 takes a free one. Raises `InvalidInputError` with the hint."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=backlog)
    except OSError as error:
        message = f"cannot listen on {host}:{port}: {error.strerror}"
        raise InvalidInputError(message, hint) from error
    # asyncio sets it for sockets that name their protocol alone; without, each answer waits 40 ms.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
