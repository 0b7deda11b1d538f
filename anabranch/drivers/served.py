"""An app that other processes can call.

Laws: nobody without the token gets anything; what a client asks is a request like that of any caller in this process;
stopping it stops no app, but an app that stops, stops it.
"""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from anabranch.drivers.flight import Endpoint, Server
from anabranch.drivers.reception import ASK, Reception
from anabranch.drivers.tls import Security, Tls
from anabranch.graph.nodes import Graph
from anabranch.lang.arguments import as_instance, as_text
from anabranch.lang.scalars import short
from anabranch.lang.spec import EntrySpec

log = logging.getLogger(__name__)


class Served:
    """`address` and `token` are what `ab.connect` needs; whoever has the token may call every entry and read all state.

    No text of it shows the token.
    """

    def __init__(
        self,
        app: Any,
        graph: Graph,
        specs: Mapping[str, EntrySpec],
        host: str = "127.0.0.1",
        port: int = 0,
        security: Security | None = None,
    ) -> None:
        if type(port) is not int or not 0 <= port < 1 << 16:
            raise ValueError(f"a port is a number below 65536, or 0 for any that is free, got {short(port)}")
        host = as_text("host", host, "a name or an address of this machine", 'host="127.0.0.1"')
        security = security or Security.of_a_run()
        if security.tls is None and not _is_this_machine(host):
            log.warning("%s is served at %s without TLS: who sees the network sees the token and all data", app, host)
        self.token = security.token
        self._name = graph.name
        self.reception = Reception(app, graph, specs, security.max_message)
        streams = {ASK: self.reception.serve}
        self._server = Server(security, {}, streams, host, range(port, port + 1) if port else None)
        self._stopped = False

    @property
    def address(self) -> str:
        """What `ab.connect` needs beside the token, such as `grpc://127.0.0.1:7000`."""
        return self._server.address

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """All that can be called from outside."""
        return self._server.endpoints

    def stop(self) -> None:
        """Take no more calls and end the connections; may be called again. The app goes on."""
        self._stopped = True
        self._server.stop()

    def __enter__(self) -> Served:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<app {self._name} served at {self.address}{', stopped' if self._stopped else ''}>"


def security_of(token: object, tls: object) -> Security:
    """Read what was given to `app.serve`."""
    checked = None if tls is None else as_instance("tls", tls, Tls, "tls=ab.Tls(certificate, key)")
    if token is None:
        return Security.of_a_run(checked)
    return Security(as_text("token", token, "a text of printable ASCII", "token=secrets.token_urlsafe()"), checked)


def _is_this_machine(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
