"""The verbs `serve` and `web`: run the server of REST and the page, and open the page."""

from __future__ import annotations

import json
import os
import sys
import webbrowser
from collections.abc import Iterator
from functools import partial
from typing import Annotated, Literal
from urllib.error import URLError
from urllib.request import urlopen

from cortex.core.model.caller import Caller
from cortex.core.model.parameters import OUTSIDE_PATH, Between
from cortex.core.model.problem import ConflictError, InvalidInputError, NotFoundError
from cortex.core.text.value import NamedTuple
from cortex.interfaces.listener import open_listener
from cortex.operations.share.units import render_unit
from cortex.vault import private, user_settings
from cortex.vault.extra import WEB, require
from cortex.vault.locate import Vault, nearest_vault_root

PORT, PORT_VARIABLE = 7438, "CORTEX_PORT"  # as seed 001 has them
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_MIN_TOKEN_CHARS, _MAX_TOKEN_BYTES = 32, 1_000
_STOP_SECONDS = 2  # for answers that are under way when the server is ended
_ASK_SECONDS = 2.0
_MAX_PORT = 65_535
_BACKLOG = 512


class ServeResult(NamedTuple):
    """A unit, a token, or where the page is; empty after serving."""

    text: str = ""
    url: str = ""  # of the page, with a one-time code
    opened: bool = False  # in a browser

    def lines(self) -> Iterator[str]:
        """For a person."""
        yield from self.text.rstrip("\n").split("\n") if self.text else ()
        if self.url:
            yield self.url


def serve(
    vault: Vault,
    caller: Caller,
    *,
    host: str = _LOOPBACK[0],
    port: Annotated[int, Between(0, _MAX_PORT)] | None = None,
    token_file: Annotated[str, OUTSIDE_PATH] = "",
    allow_host: tuple[str, ...] = (),
    print_unit: Literal["", "systemd", "launchd"] = "",
    print_token: bool = False,
) -> ServeResult:
    """Serve the memory over HTTP: a page, REST, a live stream, MCP.

    cortex web opens the page. Programs send `Authorization: Bearer TOKEN`; /openapi.json describes
    what they may ask, /mcp is for agents. It needs the extra web, and runs until ctrl-C ends it.

    Only this machine reaches it. To listen elsewhere it needs a token of its own (--token-file) and
    the names by which others reach it (--allow-host); put TLS before it.

    host: the address to listen on
    port: by default $CORTEX_PORT, else 7438; 0 takes a free one
    token_file: holds the token, and is made if it is missing; by default yours, as of cortex mcp token
    allow_host: names under which others may reach it
    print_unit: print what starts it with your session: systemd or launchd
    print_token: print the token, for programs

    Example: cortex serve
    Example: cortex serve --print-unit systemd > ~/.config/systemd/user/cortex.service
    """
    require("cortex serve", WEB)
    port = _chosen_port(port)
    path = os.path.join(caller.cwd, os.path.expanduser(token_file)) if token_file else ""
    if host not in _LOOPBACK and not (token_file and allow_host):
        hint = f"cortex serve --host {host} --token-file FILE --allow-host NAME"
        raise InvalidInputError(f"{host} can be reached from elsewhere: that needs both", hint)
    if print_unit:
        options = ["--host", host, "--port", f"{port}", *(["--token-file", path] if path else [])]
        options += ["--allow-host", ",".join(allow_host)] if allow_host else []
        return ServeResult(render_unit(print_unit, vault.root, "serve", options))
    token = _read_token(path) if path else user_settings.own_token()
    if print_token:
        return ServeResult(token)
    names = tuple(name.lower() for name in allow_host)
    _run((host, port), vault, caller, token, names=names)
    return ServeResult()


def web(
    vault: Vault,
    caller: Caller,
    *,
    port: Annotated[int, Between(1, _MAX_PORT)] | None = None,
    token_file: Annotated[str, OUTSIDE_PATH] = "",
    print: bool = False,
) -> ServeResult:
    """Open the page of the memory in a browser.

    It starts the server where none runs. The address holds a code that works once, within two
    minutes; then the browser stays let in for 30 days.

    port: of the server; by default $CORTEX_PORT, else 7438
    token_file: the server's, where it has one of its own
    print: print the address, and open nothing

    Example: cortex web
    """
    require("cortex web", WEB)
    from cortex.interfaces.http.guard import CODE_SECONDS, Secrets  # noqa: PLC0415  an extra

    port = _chosen_port(port)
    path = os.path.join(caller.cwd, os.path.expanduser(token_file)) if token_file else ""
    token = _read_token(path) if path else user_settings.own_token()
    secrets = Secrets(token)
    # Signed, not asked for: a program of somebody else's that listens here is never told the token.
    code = secrets.issue("code", CODE_SECONDS, os.urandom(8).hex())
    url = f"http://{_LOOPBACK[0]}:{port}/#k={code}"
    answers = _ask_health(port)
    if answers is None and print:
        raise NotFoundError(f"no server of Cortex runs on port {port}", "cortex serve starts one")
    if answers is None:
        _run((_LOOPBACK[0], port), vault, caller, token, opens=url)
        return ServeResult()
    if answers != secrets.sign("vault", vault.root):
        message = f"what answers on port {port} is of another vault, or of somebody else"
        raise ConflictError(message, f"cortex web --port {port + 1} starts one for this vault")
    return ServeResult(url=url, opened=not print and webbrowser.open(url))


def _chosen_port(port: int | None) -> int:
    """The port that is given, else that of the environment, else ours."""
    if port is not None:
        return port
    word = os.environ.get(PORT_VARIABLE, "")
    if word and not (word.isascii() and word.isdecimal() and int(word) <= _MAX_PORT):
        raise InvalidInputError(
            f"${PORT_VARIABLE} is {word!r}, and no port", "cortex serve --port 7438"
        )
    return int(word) if word else PORT


def _read_token(path: str) -> str:
    """The token in a file that its owner alone reads; a new one where there is no file. Raises
    `InvalidInputError`, `OSError`."""
    if not os.path.lexists(path):
        private.replace(path, os.urandom(32).hex().encode() + b"\n")
    if os.stat(path).st_mode & 0o077:
        raise InvalidInputError(f"others may read {path}", f"chmod 600 {path}")
    token = private.read(path, _MAX_TOKEN_BYTES).decode("ascii", "ignore").strip()
    if len(token) < _MIN_TOKEN_CHARS:
        hint = f"remove it; cortex serve --token-file {path} makes a new one"
        raise InvalidInputError(f"{path} holds no token of {_MIN_TOKEN_CHARS} characters", hint)
    return token


def _ask_health(port: int) -> str | None:
    """What the server on a port of this machine says of its vault; None where nothing answers. Raises
    `ConflictError` where something else does."""
    try:
        with urlopen(f"http://{_LOOPBACK[0]}:{port}/health", timeout=_ASK_SECONDS) as answer:
            told = json.loads(answer.read(10_000))
            return str(told["vault"])
    except URLError as error:
        if isinstance(error.reason, ConnectionRefusedError):
            return None
    except (OSError, ValueError, KeyError, TypeError):
        pass  # something that is not ours, which is told below
    message = f"what answers on port {port} is no server of Cortex"
    raise ConflictError(message, f"cortex web --port {port + 1}")


def _run(
    address: tuple[str, int],
    vault: Vault,
    caller: Caller,
    token: str,
    *,
    names: tuple[str, ...] = (),
    opens: str = "",
) -> None:
    """Serve until the process is ended. `opens` is an address that is opened in a browser meanwhile."""
    # 0.3 s, which asking for a unit does without.
    import uvicorn  # noqa: PLC0415

    from cortex.interfaces.http.app import Site, make_app  # noqa: PLC0415
    from cortex.interfaces.mcp.server import ToolServer, free_memory, lean_memory  # noqa: PLC0415
    from cortex.interfaces.mcp.tools import select_tools  # noqa: PLC0415
    from cortex.vault.state.known_vaults import find_workplace  # noqa: PLC0415

    host, port = address
    hint = "cortex web opens the page of a server that runs; --port takes another port"
    listener = open_listener(host, port, _BACKLOG, hint)
    port = listener.getsockname()[1]
    # A vault that is named from elsewhere is looked at from its own folder: its project counts there.
    cwd = caller.cwd if nearest_vault_root(caller.cwd) == vault.root else vault.root
    find = partial(find_workplace, vault.root, cwd, os.environ)
    tools = ToolServer(select_tools(("default",)), find, cwd, structured=False)
    app = make_app(Site(vault, cwd, port, names, token), tools)
    shown = f"[{host}]" if ":" in host else host
    print(f"listening on http://{shown}:{port}/", file=sys.stderr, flush=True)
    if opens:
        print(f"{opens}", file=sys.stderr, flush=True)
        webbrowser.open(opens)  # its request waits in the kernel
    elif sys.stderr.isatty():
        print("cortex web opens the page; ctrl-C ends the server", file=sys.stderr, flush=True)
    config = uvicorn.Config(
        app, ws="none", loop="asyncio", log_level="warning", access_log=False, server_header=False,
        timeout_graceful_shutdown=_STOP_SECONDS,
    )  # fmt: skip
    with listener, lean_memory():
        free_memory()
        uvicorn.Server(config).run(sockets=[listener])
