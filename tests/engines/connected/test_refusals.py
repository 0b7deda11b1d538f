"""Nobody without the token gets anything, and with it only what is a request."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import anabranch as ab
from anabranch.drivers import pieces
from anabranch.drivers.carried import pack_error, unpack_error
from anabranch.drivers.crossing import pack_table
from anabranch.drivers.flight import Client, Endpoint, Refused, Security, Stream
from anabranch.drivers.reception import ASK, BARE
from anabranch.drivers.values import Malformed, Values
from anabranch.testing.outcomes import canonical, state_contents
from tests.drivers.test_flight import RAW, refusal
from tests.engines.connected.conftest import Near
from tests.engines.connected.till import Sale

WRONG = {
    "no token": [],
    "a wrong token": [(b"authorization", b"Bearer x")],
    "the token alone": [(b"authorization", b"{token}")],
}
BATCH = pack_table(pa.table({"item": ["a", "b", "c"], "pieces": [1, 2, 3]}))
LOAD = pack_table(pa.table({"key": ["a", "b"], "value": [1, 2]}))

# Of each kind of request one that is carried out, and some that are refused.
GOOD: dict[str, tuple[Any, ...]] = {
    "describe": (),
    "call": ("record", (Sale("a", 2),), "first"),
    "many": ("sell", 3, BATCH, None),
    "read": ("sold", "get", ("a",), {}),
    "copy": ("sold",),
    "instances": ("days",),
    "arrow": ("pairs",),
    "load": ("sold", LOAD),
    "version": (),
    "metrics": (),
    "explain": (),
}
BAD: dict[str, list[tuple[Any, ...]]] = {
    "describe": [(1,)],
    "call": [(), ("sell",), ("sell", ("a", 1)), ("none", (), None), (1, (), None), ("stop", (), None),
             ("sell", ["a", 1], None), ("sell", ("a",), None), ("sell", ("a", 1, 2), None), ("__init__", (), None),
             (("sell",), ("a", 1), None), ("sell", ("a", 1), 7), ("sell", ("a", 1), "")],
    "many": [("sell", 3, BATCH), ("none", 3, BATCH, None), ("sell", 3, "x", None), ("sell", 3, b"", None),
             ("sell", 3, BATCH[:100], None), ("tick", -1, None, None), ("tick", BARE + 1, None, None),
             ("tick", True, None, None), ("tick", "1", None, None), ("tick", 1, None, b"x")],
    "read": [("none", "get", ("a",), {}), ("sold", "pop", ("a",), {}), ("sold", "_data", (), {}),
             ("sold", "__setitem__", ("a", 1), {}), ("sold", "__class__", (), {}), ("sold", "load", (LOAD,), {}),
             ("sold", "get", ["a"], {}), ("sold", "get", ("a",), None), ("sold", "get", ("a",), {1: 2}),
             ("sold", 7, (), {}), ("sold", "__getitem__", (), {}), ("sold", "__len__", (1,), {}),
             ("marks", "mark", ("a", 1), {}), ("marks", "found", (), {}), ("sold", "clear", (), {}),
             ("sold", "__getitem__", ("a",), {"key": "a"})],
    "copy": [(), ("none",), (None,)],
    "instances": [("none",), (["days"],)],
    "arrow": [("none",)],
    "load": [("sold",), ("none", LOAD), ("sold", None), ("sold", LOAD[:-20])],
    "version": [(1,)],
    "metrics": [("x",)],
    "explain": [((),)],
}  # fmt: skip


class Stranger:
    """Someone with the token who sends what they like."""

    def __init__(self, near: Near) -> None:
        self.near, self.values = near, near.far._described.values
        self._client = Client(near.served.address, Security(near.served.token))
        self._stream: Stream | None = None

    def send(self, body: bytes) -> Any:
        """The answer, or `Refused`."""
        if self._stream is None:
            self._stream = self._client.open(ASK)
        try:
            pieces.send(self._stream, body, 1 << 20)
            answer = pieces.receive(self._stream)
        except Refused:
            self._end()
            raise
        assert answer is not None
        return self.values.decode(answer)

    def refused(self, body: bytes) -> str:
        before = self.near.app.version, contents(self.near.app)
        with pytest.raises(Refused) as caught:
            self.send(body)
        assert (self.near.app.version, contents(self.near.app)) == before
        return str(caught.value)

    def close(self) -> None:
        self._end()
        self._client.close()

    def _end(self) -> None:
        if self._stream is not None:
            self._stream.close()
        self._stream = None


@pytest.fixture
def stranger(near: Near) -> Iterator[Stranger]:
    stranger = Stranger(near)
    yield stranger
    stranger.close()


def contents(app: Any) -> Any:
    return {name: state_contents(app.state[name].copy()) for name in app.state if name != "marks"}


# -- without the token ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("headers", WRONG.values(), ids=WRONG)
def test_every_endpoint_asks_for_the_token(near: Near, headers: Any) -> None:
    given = [(name, value.replace(b"{token}", near.served.token.encode())) for name, value in headers]
    for endpoint in near.served.endpoints:
        for body in (b"", near.far._described.values.encode(("call", "sell", ("a", 1), None))):
            assert "unauthenticated" in refusal(near.served.address, given, endpoint, body).lower(), endpoint
    assert near.app.version == 0


def test_a_client_with_a_wrong_token_is_told(near: Near) -> None:
    with pytest.raises(PermissionError, match=r"refuses the connection: .*does not carry the token"):
        ab.connect(near.served.address, "another")


@pytest.mark.parametrize(
    ("address", "error"), [("127.0.0.1:1", "begins with grpc://"), ("http://x", "begins with grpc://"), (7, "got 7")]
)
def test_addresses(address: Any, error: str) -> None:
    with pytest.raises(ValueError, match=error):
        ab.connect(address, "x")


# -- with it ----------------------------------------------------------------------------------------------------------


def test_every_endpoint_and_every_kind_of_request_is_tested_here(near: Near) -> None:
    named = {e for e in near.served.endpoints if e.name}
    assert {e.method for e in near.served.endpoints} <= set(RAW)
    assert named == {Endpoint("DO_EXCHANGE", ASK)}
    assert set(near.served.reception.kinds) == set(GOOD) == set(BAD)


def test_what_is_not_used_of_flight_is_refused(near: Near) -> None:
    headers = Security(near.served.token).headers
    for endpoint in near.served.endpoints:
        if not endpoint.name:
            assert "Unauthenticated" not in refusal(near.served.address, headers, endpoint, b"x")
    assert near.app.version == 0


@pytest.mark.parametrize("kind", GOOD)
def test_requests(stranger: Stranger, kind: str) -> None:
    encode = stranger.values.encode
    assert stranger.send(encode((kind, *GOOD[kind])))[0] == "gave"
    for given in BAD[kind]:
        assert "this is no request: " in stranger.refused(encode((kind, *given))), given
    assert stranger.send(encode((kind, *GOOD[kind])))[0] == "gave"


@pytest.mark.parametrize("body", [b"", b"\xc1", b"\x00" * 300, b"\xdd\xff\xff\xff\xff" + bytes(300)])
def test_no_values(stranger: Stranger, body: bytes) -> None:
    assert "this is no request: " in stranger.refused(body)


@pytest.mark.parametrize(
    "value", [1, None, "call", (), (1,), ("none",), [["call"]], {"call": 1}, ("_call", "sell", ())]
)
def test_no_requests(stranger: Stranger, value: Any) -> None:
    assert "this is no request: it does not begin with what is asked" in stranger.refused(stranger.values.encode(value))


@pytest.mark.parametrize(
    ("messages", "why"),
    [
        ([b"1234567"], "7 bytes that do not say how many follow"),
        ([(1 << 40).to_bytes(8, "little")], f"{1 << 40} bytes, and the limit is {pieces.WHOLE}"),
        ([(5).to_bytes(8, "little") + b"123456"], "6 bytes where 5 were announced"),
        ([(5).to_bytes(8, "little") + b"123", b""], "3 of 5 bytes, then an empty piece"),
        ([(5).to_bytes(8, "little") + b"123", None], "3 of 5 bytes, then the end"),
    ],
)
def test_messages_that_are_no_pieces(near: Near, messages: list[bytes | None], why: str) -> None:
    client = Client(near.served.address, Security(near.served.token))
    stream = client.open(ASK)
    for message in messages:
        stream.end() if message is None else stream.send(message)
    with pytest.raises(Refused, match=why):
        stream.receive()
    stream.close()
    client.close()
    assert near.far.sell("a") == 1


def test_a_table_that_says_it_has_more_rows_than_bytes(stranger: Stranger) -> None:
    bomb = pack_table(pa.table({"item": pa.nulls(10**8)}))
    assert len(bomb) < 1000
    assert "it says that it has 100000000 rows" in stranger.refused(
        stranger.values.encode(("many", "sell", 1, bomb, None))
    )


def mutated(random: random.Random, body: bytes) -> bytes:
    new = bytearray(body)
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(new) or 1)
        match random.randrange(6):
            case 0:
                new[at : at + 1] = random.randbytes(1)
            case 1 if new:
                new[at] ^= 1 << random.randrange(8)
            case 2:
                del new[at : at + random.randint(1, 9)]
            case 3:
                new[at:at] = random.randbytes(random.randint(1, 8))
            case 4:
                new[at : at + 4] = random.choice([b"\xff\xff\xff\x7f", b"\xff" * 4, b"\0\0\0\x80", b"\0" * 4])
            case _:
                new = new[: random.randrange(len(new) + 1)] or new
    return bytes(new)


@pytest.mark.parametrize("kind", GOOD)
def test_damaged_requests_change_nothing(stranger: Stranger, kind: str) -> None:
    """What is no longer a request is refused; what still is one, is one like any other."""
    chance, encode, near = random.Random(kind), stranger.values.encode, stranger.near
    request = (kind, *GOOD[kind])
    before = contents(near.app)
    outcomes = set()
    for i in range(150):
        body = mutated(chance, encode(request))
        if i % 3 == 0 and isinstance(request[-1], bytes):  # the table inside a request that is fine
            body = encode((*request[:-1], mutated(chance, request[-1])))
        try:
            outcome, _ = stranger.send(body)
        except Refused:
            outcome = "refused"
        outcomes.add(outcome)
        if outcome == "gave":
            assert stranger.values.decode(body)[0] in GOOD
            before = contents(near.app)
        assert contents(near.app) == before
    assert "refused" in outcomes
    assert near.far.twice("a") == "aa"


def test_random_bytes_change_nothing(stranger: Stranger) -> None:
    chance = random.Random(1)
    for _ in range(100):
        stranger.refused(chance.randbytes(chance.randint(0, 200)))


# -- exceptions -------------------------------------------------------------------------------------------------------


class Odd(Exception):
    """Cannot be made from its arguments, and has what no value is."""

    def __init__(self) -> None:
        super().__init__("a", "b")
        self.fine, self.odd = [1], object()


@pytest.mark.parametrize(
    "error",
    [
        KeyError(1, "a"), ValueError(), OverflowError("x"), SystemExit(3), StopIteration(5), OSError(2, "no", "f"),
        UnicodeDecodeError("utf-8", b"x", 0, 1, "why"), ab.Stopped("x"), ab.FrozenError("x"),
        ab.BadInput("p", entry="e", row=1, column="c", value=[1]), ab.InputOverflow("p", value=2**70),
    ],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
def test_exceptions_arrive_as_themselves(error: BaseException) -> None:
    error.add_note("a note")
    values = Values()
    found = unpack_error(values.decode(values.encode(pack_error(error, values))))
    assert type(found) is type(error) and str(found) == str(error)
    assert canonical(found.args) == canonical(error.args)
    assert vars(found) == vars(error) and found.__notes__ == ["a note"]
    for name in ("code", "value", "errno", "filename", "reason"):
        assert getattr(found, name, None) == getattr(error, name, None)


def test_odd_exceptions_arrive_too() -> None:
    values = Values()
    error = Odd()
    found = unpack_error(values.decode(values.encode(pack_error(error, values))))
    assert type(found) is Odd and found.args == ("a", "b") and vars(found) == {"fine": [1], "odd": None}
    group = ExceptionGroup("several", [ValueError(1)])
    remote = unpack_error(values.decode(values.encode(pack_error(group, values))))
    assert type(remote) is ab.RemoteError and remote.kind == "ExceptionGroup" and "several" in str(remote)
    chain = error = ValueError(0)
    for i in range(100):
        error.__cause__ = ValueError(i)
        error = error.__cause__
    assert len(values.encode(pack_error(chain, values))) < 10_000
    for packed in (1, (), ("builtins", "ValueError", [], {}, (), None, "")):
        with pytest.raises(Malformed, match="this is no exception"):
            unpack_error(packed)
    for module, name in (("os", "system"), ("anabranch", "run"), ("builtins", "int"), ("nowhere", "X"), ("os", "a.b")):
        assert type(unpack_error((module, name, (), {}, (), None, "t"))) is ab.RemoteError
