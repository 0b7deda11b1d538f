"""Deduplication of crawled pages: by address after normalisation, and by a digest of the content in bytes."""

import anabranch as ab


def normal(url: str) -> str:
    """The address without fragment, final slash and difference of case in the host."""
    address = url.split("#")[0]
    scheme, found, rest = address.partition("://")
    if not found:
        raise ValueError(f"no address: {url}")
    host, slash, path = rest.partition("/")
    return (scheme.lower() + "://" + host.lower() + slash + path).rstrip("/")


class Dedup(ab.Program):
    fetched: ab.Partitioned[ab.Table[str, int]] = ab.Table(default=0)
    digests: ab.Partitioned[ab.Table[bytes, str]]

    def is_new(self, url: str) -> bool:
        key = normal(url)
        self.fetched[key] += 1
        return self.fetched[key] == 1

    def original(self, url: str, digest: bytes) -> str | None:
        """The address under which the same content was seen first, None if this is the first."""
        if len(digest) != 4:
            raise ValueError("a digest has four bytes")
        first = self.digests.get(digest)
        if first is None:
            self.digests[digest] = normal(url)
        return first

    def times(self, url: str) -> int:
        return self.fetched[normal(url)]


CALLS: list[tuple[str, tuple[object, ...]]] = [
    ("is_new", ("http://Example.org/a/",)),
    ("is_new", ("HTTP://example.org/a#top",)),
    ("is_new", ("http://example.org/A",)),
    ("is_new", ("example.org",)),  # ValueError
    ("times", ("http://example.org/a",)),
    ("times", ("http://example.org",)),
    ("original", ("http://example.org/a", b"\x00\x01\x02\x03")),
    ("original", ("http://example.org/b", b"\x00\x01\x02\x03")),
    ("original", ("http://example.org/b", b"\x00\x00\x00\x00")),
    ("original", ("http://example.org/b", b"")),  # ValueError
]
