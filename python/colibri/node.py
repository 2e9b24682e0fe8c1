# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A running node (`colibri node`), by its control socket."""
from __future__ import annotations

import json
import os
import socket
import stat
import typing

SYSTEM_SOCKET = '/run/colibri/node.sock'
_PART_MAX = 1 << 28


class NodeError(Exception):
    """The node answered a request with an error; str() is its text, `status` the exit
    status of the command: 1 it failed, 2 the request is wrong."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text.strip() or f'status {status}')
        self.status = status


def default_path() -> str:
    """The control socket that `colibri` finds: this user's node, or that of the system."""
    uid = os.geteuid()
    if uid == 0:
        return SYSTEM_SOCKET
    runtime = os.environ.get('XDG_RUNTIME_DIR', '')
    if runtime.startswith('/'):
        own = os.path.join(runtime, 'colibri-node.sock')
        return own if os.path.exists(own) else SYSTEM_SOCKET
    folder = f'/tmp/colibri-{uid}'
    try:
        found = os.lstat(folder)
    except OSError:
        return SYSTEM_SOCKET
    # Another user may have made it.
    if stat.S_ISDIR(found.st_mode) and found.st_uid == uid and not found.st_mode & 0o077:
        return os.path.join(folder, 'node.sock')
    return SYSTEM_SOCKET


class Node:
    """A node that runs. Each request is a connection of its own, so an object may be used
    by many threads, and by nodes that are started again.

        node = colibri.Node()
        for net in node.nets():
            print(net['net type'])

    path     its control socket; None: default_path().
    timeout  seconds for a request.

    Whether a user may look or change is up to the node (--ctl-mode, --ctl-group).
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *,
                 timeout: float = 60) -> None:
        self.path = default_path() if path is None else os.fspath(path)
        self.timeout = timeout

    def ask(self, verb: str, *nids: str, body: bytes | None = None,
            **keys: typing.Any) -> str:
        """Sends a request and returns the text of the answer.

        `verb` is a command with a dot, such as "net.show", "peer.show", "stats.show",
        "route.add" or "ping"; `keys` are its options, with "__" for a dot
        (route__net="tcp1"); `nids` its NIDs. Raises NodeError, or OSError if no node
        answers.
        """
        if body is not None:
            keys['body'] = len(body)
        words = [verb]
        for key, value in keys.items():
            if value is not None:
                value = int(value) if isinstance(value, bool) else value
                words.append(f'{key.replace("__", ".")}={value}')
        words += nids
        for word in words:
            if not word or any(c in word for c in ' \t\r\n\0'):
                raise ValueError(f'not a word of a request: {word!r}')
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
            sock.settimeout(self.timeout)
            sock.connect(self.path)
            try:
                sock.sendall(' '.join(words).encode() + b'\n' + (body or b''))
            except (BrokenPipeError, ConnectionResetError):
                pass               # The node may have answered before it hung up.
            with sock.makefile('rb') as answer:
                return self._read(answer)

    @staticmethod
    def _read(answer: typing.BinaryIO) -> str:
        head = answer.readline(128).split()
        if len(head) != 4 or head[0] != b'status' or not all(
                n.isdigit() for n in head[1:]):
            raise ConnectionError('the answer is not that of a node')
        status, out_nr, err_nr = (int(n) for n in head[1:])
        if max(out_nr, err_nr) > _PART_MAX:
            raise ConnectionError('the answer is too long')
        out, err = answer.read(out_nr), answer.read(err_nr)
        if len(out) != out_nr or len(err) != err_nr:
            raise ConnectionError('the node has hung up before it answered')
        if status != 0:
            raise NodeError(status, (err or out).decode(errors='replace'))
        return out.decode()

    def request(self, verb: str, *nids: str, **keys: typing.Any) -> typing.Any:
        """As ask(); returns the JSON of the answer as Python has it, None if it is
        empty."""
        text = self.ask(verb, *nids, json=1, **keys)
        return json.loads(text) if text.strip() else None

    def ping(self, nid: str, timeout: float | None = None) -> dict:
        """Pings a NID and returns what the peer says of itself. Raises NodeError if it
        does not answer."""
        ms = None if timeout is None else max(1, int(timeout * 1000))
        return self.request('ping', nid, timeout_ms=ms)['ping'][0]

    def nets(self, verbose: int = 0) -> list[dict]:
        """Networks and their interfaces, as `colibri net show --json` has them."""
        return self.request('net.show', verbose=verbose or None)['net']

    def peers(self, *nids: str, verbose: int = 0) -> list[dict]:
        """Peers, as `colibri peer show --json` has them."""
        return self.request('peer.show', *nids, verbose=verbose or None)['peer']

    def routes(self) -> list[dict]:
        """Routes, as `colibri route show --json` has them."""
        return self.request('route.show', verbose=1)['route']

    def stats(self) -> dict:
        """Counters, as `colibri stats show --json` has them."""
        return self.request('stats.show')['statistics']
