"""Linkmend's frames, written from docs/design/wire.md. `encode` and `decode` are inverse to each other.

Sequence numbers on data frames and ACKs have 17 bits here: the 16 bits on the wire, and the era bit above them.
"""

from __future__ import annotations

import struct
from collections import namedtuple
from typing import NamedTuple, Union

TRANSPARENT, AUTHORS = 0x88B5, 0xABCD
MAGIC = b"LM1"
GROUP = bytes.fromhex("034c696e6b6d")
CODES = (None, 0x0800, 0x86DD, 0x8100, 0x88A8, 0x0806, 0x8847, 0x8864)


class Malformed(ValueError):
    """The frame carries Linkmend's EtherType and magic, but does not parse."""


class Ack(NamedTuple):
    ordered: bool
    number: int  # the first one that is not acknowledged


class Host(NamedTuple):
    """A host's frame: protected if it has a number, unprotected otherwise."""

    addresses: bytes  # destination and source
    ethertype: int
    rest: bytes
    number: int | None = None
    ordered: bool = False
    retransmitted: bool = False
    ack: Ack | None = None
    escaped: bool = False
    tag: bytes = b""  # four bytes on a link with a key


class Run(NamedTuple):
    """A run of missing frames; `first` has 16 bits."""

    first: int
    length: int
    overflowed: bool = False


class Lane(NamedTuple):
    """One lane of a feedback frame. `cumulative` has 32 bits, the other numbers have 17."""

    cumulative: int
    start: int  # called "from" in the specification
    covered: int
    seen: int
    runs: tuple[Run, ...] = ()
    by_timeout: bool = False
    paused: bool = False


# The bodies of control frames; all fields are integers, except for the lanes of a feedback frame
Init = namedtuple("Init", "session format")
InitEcho = namedtuple("InitEcho", "session nonce window format")
Start = namedtuple("Start", "session nonce")
Fin = namedtuple("Fin", "session")
FinEcho = namedtuple("FinEcho", "session")
Dummy = namedtuple("Dummy", "session stamp next held other_next other_held")
Feedback = namedtuple("Feedback", "session number stamp lost overflowed ordered non_blocking")
Probe = namedtuple("Probe", "writer challenge echo number stamp decision takes preference by needs interval flags "
                            "silent later lost backup_silent backup_later backup_lost")
Hello = namedtuple("Hello", "nonce echo")
BODIES = {1: (Init, ">IB"), 2: (InitEcho, ">IIIB"), 3: (Start, ">II"), 6: (Fin, ">I"), 7: (FinEcho, ">I"),
          9: (Dummy, ">IHIIII"), 10: (Feedback, ">IHHIH"), 12: (Probe, ">11IBIIBIIB"), 13: (Hello, ">QQ")}
TYPES = {kind: number for number, (kind, _) in BODIES.items()}


class Control(NamedTuple):
    """A control frame of the transparent format. `auth` is what a link with a key adds to the body."""

    source: bytes
    body: Union[Init, InitEcho, Start, Fin, FinEcho, Dummy, Feedback, Probe, Hello]
    auth: bytes = b""


Frame = Union[Host, Control]


def padded(frame: bytes) -> bytes:
    return frame.ljust(60, b"\0")


def encode(frame: Frame) -> bytes:
    """The frame's bytes on the link, without the check sequence."""
    match frame:
        case Host():
            return encode_host(frame)
        case Control():
            head = GROUP + frame.source + struct.pack(">HB", TRANSPARENT, 0x80 | TYPES[type(frame.body)]) + MAGIC
            return padded(head + encode_body(frame.body) + frame.auth)


def encode_host(frame: Host) -> bytes:
    plain = struct.pack(">H", frame.ethertype) + frame.rest
    if frame.escaped:
        return frame.addresses + struct.pack(">HB", TRANSPARENT, 0xC0) + MAGIC + plain
    if frame.number is None and frame.ack is None:
        return frame.addresses + plain
    code = CODES.index(frame.ethertype) if frame.ethertype in CODES else 0
    ack = frame.ack
    if frame.number is None:
        header = struct.pack(">BH", 0xE0 | ack.ordered << 4 | era(ack.number) << 3 | code, ack.number & 0xFFFF)
    else:
        bits = (ack is not None) << 6 | frame.ordered << 5 | era(frame.number) << 4 | frame.retransmitted << 3 | code
        header = struct.pack(">BH", bits, frame.number & 0xFFFF)
        if ack:
            header += struct.pack(">BH", ack.ordered << 7 | era(ack.number) << 6, ack.number & 0xFFFF)
    return frame.addresses + struct.pack(">H", TRANSPARENT) + header + frame.tag + (frame.rest if code else plain)


def encode_body(body: tuple) -> bytes:
    layout = BODIES[TYPES[type(body)]][1]
    if not isinstance(body, Feedback):
        return struct.pack(layout, *body)
    out = struct.pack(layout, *body[:5])
    for lane in body[5:]:
        flags = (lane.by_timeout | era(lane.covered) << 1 | lane.paused << 2 | era(lane.start) << 3 | era(lane.seen) << 4)
        numbers = (n & 0xFFFF for n in (lane.start, lane.covered, lane.seen))
        out += struct.pack(">BIHHHB", flags, lane.cumulative, *numbers, len(lane.runs))
        out += b"".join(struct.pack(">HH", r.first, r.overflowed << 15 | r.length) for r in lane.runs)
    return out


def era(number: int) -> int:
    return number >> 16 & 1


def decode(frame: bytes, keyed: bool = False) -> Frame:
    """Any frame without its check sequence. A frame that is not Linkmend's is a `Host` without a number."""
    addresses, (ethertype,) = frame[:12], struct.unpack(">H", frame[12:14])
    try:
        if ethertype == TRANSPARENT:
            return decode_transparent(addresses, frame, keyed)
    except (struct.error, IndexError) as error:
        raise Malformed(str(error)) from error
    return Host(addresses, ethertype, frame[14:])


def decode_transparent(addresses: bytes, frame: bytes, keyed: bool) -> Frame:
    first, (number,), magic = frame[14], struct.unpack(">H", frame[15:17]), frame[15:18] == MAGIC
    kind, at, ack, bit = first >> 6, 17, None, lambda i: first >> i & 1
    if kind == 2 and magic:
        return Control(addresses[6:], *decode_control(first & 0x3F, frame[18:], keyed))
    if kind == 3 and first == 0xC0 and magic:
        return Host(addresses, struct.unpack(">H", frame[18:20])[0], frame[20:], escaped=True)
    if kind == 2 or kind == 3 and not bit(5):
        return Host(addresses, TRANSPARENT, frame[14:])
    if kind == 3:
        number, ack = None, Ack(bool(bit(4)), bit(3) << 16 | number)
        flags = {}
    else:
        number |= bit(4) << 16
        flags = {"ordered": bool(bit(5)), "retransmitted": bool(bit(3))}
        if kind == 1:
            bits, low = struct.unpack(">BH", frame[17:20])
            if bits & 0x3F:
                raise Malformed(f"reserved bits {bits:#04x} beside an ACK")
            at, ack = 20, Ack(bool(bits >> 7), (bits >> 6 & 1) << 16 | low)
    tag, at = (frame[at : at + 4], at + 4) if keyed else (b"", at)
    ethertype = CODES[first & 7]
    if ethertype is None:
        (ethertype,), at = struct.unpack(">H", frame[at : at + 2]), at + 2
    return Host(addresses, ethertype, frame[at:], number, ack=ack, tag=tag, **flags)


def decode_control(number: int, payload: bytes, keyed: bool) -> tuple[tuple, bytes]:
    if number not in BODIES:
        raise Malformed(f"control type {number}")
    kind, layout = BODIES[number]
    fields, at = list(struct.unpack_from(layout, payload)), struct.calcsize(layout)
    if kind is Feedback:
        for _ in range(2):
            flags, cumulative, start, covered, seen, runs = struct.unpack_from(">BIHHHB", payload, at)
            listed = [struct.unpack_from(">HH", payload, at + 12 + 4 * i) for i in range(runs)]
            if flags & 0xE0 or runs > 32 or any(not r[1] & 0x7FFF for r in listed):
                raise Malformed("feedback frame")
            at += 12 + 4 * runs
            runs = tuple(Run(first, bits & 0x7FFF, bool(bits >> 15)) for first, bits in listed)
            covered, start, seen = (n | (flags >> i & 1) << 16 for n, i in ((covered, 1), (start, 3), (seen, 4)))
            fields.append(Lane(cumulative, start, covered, seen, runs, bool(flags & 1), bool(flags & 4)))
    return kind(*fields), payload[at : at + (24 if kind is Hello else 16)] if keyed else b""
