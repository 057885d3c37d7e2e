"""Check the encoder and the decoder against the test vectors of docs/design/wire.md: `vectors.py [WIRE.MD]`."""

from __future__ import annotations

import re
import struct
import sys
from pathlib import Path

import authors
import key
import wire
from wire import Ack, Control, Host, Lane, Run

ADDRESSES = bytes.fromhex("02000000000b02000000000a")
SOURCE = bytes.fromhex("020000000009")
REST = bytes.fromhex("deadbeef")
S, N, M = 0x12345678, 0x0102030405060708, 0x090A0B0C0D0E0F10
SHARED = bytes(range(16))


def host(ethertype: int, *fields, **named) -> Host:
    return Host(ADDRESSES, ethertype, REST, *fields, **named)


def compact(kind: str, number: int, **named) -> authors.Compact:
    control = named.get("rest") is None
    return authors.Compact(wire.GROUP + SOURCE if control else ADDRESSES, kind, number, **named)


FIRST = host(0x0800, 0x1234, ordered=True)
HELLO, FIN = wire.Hello(N, M), wire.Fin(S)
ACK = Ack(False, 0x10102)
FEEDBACK = wire.Feedback(
    S, 0x1112, 0x2122, 0x31323334, 0x4142,
    Lane(0xABCCFFF0, 0xFFF8, 0x10030, 0x10040, (Run(0xFFF9, 3), Run(0x0002, 1, True)), paused=True),
    Lane(0x0A0B0102, 0x10203, 0x10304, 0x10405, by_timeout=True))
PROBE = wire.Probe(*(0x01020304 + 0x04040404 * i for i in range(11)), 0x93,
                   0x2D2E2F30, 0x31323334, 0x35, 0x36373839, 0x3A3B3C3D, 0x3E)


def keyed(frame: wire.Frame) -> wire.Frame:
    """Adds the tag that `frame` has on a link with a key."""
    direction = key.derive(SHARED, "linkmend direction", N, M)
    if isinstance(frame, Host):
        length = len(wire.encode(frame)) + 4
        return frame._replace(tag=key.host_tag(direction, frame, length, S, 0x21234))
    hello = isinstance(frame.body, wire.Hello)
    counters = struct.pack(">QQ", 0, 1) if hello else struct.pack(">Q", 2)
    covered = wire.encode(frame)[:18] + wire.encode_body(frame.body) + counters
    by = key.derive(SHARED, "linkmend hello") if hello else direction
    return frame._replace(auth=counters + key.tag(by, covered))


# In the order of the vectors
EXPECTED = (
    FIRST,
    host(0x1234, 0x1FFFF, retransmitted=True),
    FIRST._replace(ethertype=0x86DD, ack=ACK),
    host(0x0806, ack=ACK),
    host(0x88B5, escaped=True),
    HELLO,
    wire.Init(S, 1),
    wire.InitEcho(S, 0x9ABCDEF1, 32768, 0),
    wire.Start(S, 0x9ABCDEF1),
    FEEDBACK,
    wire.Dummy(S, 0x0A0B, 0x01020304, 0x090A0B0C, 0x05060708, 0x0D0E0F10),
    FIN,
    wire.FinEcho(S),
    PROBE,
    compact("data", 0x11234, ordered=True, rest=REST),
    compact("ack", 0x1234, rest=REST),
    compact("ack", 0x1234),
    compact("notification", 0x1234, hole=5, first_lost=0x1235),
    compact("dummy", 0x1235, ordered=True),
    authors.Pause(SOURCE, 0xFFFF),
    keyed(Control(SOURCE, HELLO)),
    keyed(Control(SOURCE, FIN)),
    keyed(FIRST),
)


def published(page: str) -> list[tuple[str, bytes]]:
    """Title and bytes of each vector of the page."""
    block = re.search(r"<!-- vectors:begin -->\n```text\n(.*?)```", page, re.S)
    vectors = re.findall(r"^(\S.*)\n((?:  [0-9a-f]+\n)+)", block[1], re.M)
    return [(title, bytes.fromhex(digits)) for title, digits in vectors]


def main() -> None:
    page = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[2] / "docs/design/wire.md"
    vectors, wrong = published(page.read_text()), 0
    if len(vectors) != len(EXPECTED):
        sys.exit(f"{page} has {len(vectors)} vectors, but this program knows {len(EXPECTED)}")
    for (title, frame), expected in zip(vectors, EXPECTED):
        if not isinstance(expected, (Host, Control, authors.Compact, authors.Pause)):
            expected = Control(SOURCE, expected)
        theirs = isinstance(expected, (authors.Compact, authors.Pause))
        decoded = authors.decode(frame) if theirs else wire.decode(frame, keyed=title.startswith("with the key"))
        encoded = authors.encode(expected) if theirs else wire.encode(expected)
        if decoded != expected or encoded != frame:
            wrong += 1
            print(f"{title}\n  published {frame.hex()}\n  encoded   {encoded.hex()}\n  expected {expected}\n  decoded  {decoded}")
    if wrong:
        sys.exit(f"{wrong} of {len(vectors)} vectors differ")
    print(f"{len(vectors)} vectors agree")


if __name__ == "__main__":
    main()
