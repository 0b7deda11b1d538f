"""A feed: a post is sent to everyone who follows its author, so the keys of the fan-out come out of state."""

from typing import NamedTuple

import anabranch as ab


class Post(NamedTuple):
    author: str
    text: str


class Feed(ab.Program):
    followers: ab.Partitioned[ab.Table[str, list[str]]]
    inbox: ab.Partitioned[ab.Table[str, list[Post]]]

    def __init__(self, keep: int = 2) -> None:
        self.keep = keep

    def follow(self, user: str, author: str) -> bool:
        known = self.followers.get(author, [])
        if user in known:
            return False
        self.followers[author] = known + [user]
        return True

    def post(self, author: str, text: str) -> int:
        """The number of readers the post was sent to."""
        readers = self.followers.get(author, [])
        post = Post(author, text.strip())
        for reader in readers:
            self.inbox[reader] = [post, *self.inbox.get(reader, [])][: self.keep]
        return len(readers)

    def read(self, user: str) -> list[Post]:
        return self.inbox.get(user, [])


CALLS: list[tuple[str, tuple[object, ...]]] = [
    ("post", ("ada", "nobody hears")),
    ("follow", ("bob", "ada")),
    ("follow", ("bob", "ada")),
    ("follow", ("eve", "ada")),
    ("follow", ("ada", "ada")),
    ("post", ("ada", " hello ")),
    ("read", ("bob",)),
    ("post", ("ada", "again")),
    ("post", ("ada", "and again")),
    ("post", ("bob", "quiet")),
    ("read", ("bob",)),
    ("read", ("ada",)),
    ("read", ("dan",)),
]
