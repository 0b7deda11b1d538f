"""What guards a connection: the token of the run, TLS where asked, and how long a message may be."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from anabranch.lang.similar import asks_back_when_made

HEADER = "authorization"
MAX_MESSAGE = 64 << 20  # bytes


@asks_back_when_made
@dataclass(frozen=True, slots=True)
class Tls:
    """PEM texts for encrypted connections: `ab.run(..., tls=)` needs all three, `app.serve(tls=)` the certificate and
    its key, `ab.connect(..., tls=)` the roots that it trusts. No text of it shows the key.
    """

    certificate: bytes | None = None
    key: bytes | None = field(default=None, repr=False)
    roots: bytes | None = None


@dataclass(frozen=True, slots=True)
class Security:
    """Both ends of a run have the same token. No text of it shows the token or the key.

    >>> Security("secret")
    Security(tls=None, max_message=67108864)
    """

    token: str = field(repr=False)
    tls: Tls | None = None
    max_message: int = MAX_MESSAGE

    def __post_init__(self) -> None:
        if not self.token or not self.token.isascii() or not self.token.isprintable():
            raise ValueError("a token is printable ASCII, and not empty; Security.of_a_run() makes one")

    @classmethod
    def of_a_run(cls, tls: Tls | None = None, max_message: int = MAX_MESSAGE) -> Security:
        """With a new token."""
        return cls(secrets.token_urlsafe(32), tls, max_message)

    @property
    def scheme(self) -> str:
        return "grpc" if self.tls is None else "grpc+tls"

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        """What a client sends with each call."""
        return [(HEADER.encode(), f"Bearer {self.token}".encode())]

    def admits(self, headers: Mapping[str, Sequence[str | bytes]]) -> bool:
        """Do these headers carry the token, once? Takes as long for a token that is nearly right as for any other."""
        given = headers.get(HEADER, [])
        if len(given) != 1:
            return False
        found = given[0]
        text = found if isinstance(found, bytes) else found.encode("utf-8", "surrogateescape")
        return hmac.compare_digest(text, f"Bearer {self.token}".encode())
