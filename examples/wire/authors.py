"""The frames of the authors' P4 program: the compact and linkguardian formats of docs/design/wire.md."""

from __future__ import annotations

import struct
from typing import NamedTuple

from wire import AUTHORS, Malformed, era, padded

FLOW_CONTROL, CLASS_1 = 0x8808, bytes.fromhex("01010002")
PAUSE_GROUP = bytes.fromhex("0180c2000001")


class Compact(NamedTuple):
    """The authors' header: on a host's IPv4 frame, or alone on a control frame (`rest` is None)."""

    addresses: bytes
    kind: str  # "data", "dummy", "ack" or "notification"
    number: int  # of the frame, or the leading ACK
    rest: bytes | None = None
    ordered: bool = False
    retransmitted: bool = False
    hole: int = 0  # frames in the hole of a notification
    first_lost: int = 0  # 16 bits


class Pause(NamedTuple):
    """Priority flow control of class 1 (linkguardian format)."""

    source: bytes
    quanta: int


def encode(frame: Compact | Pause) -> bytes:
    if isinstance(frame, Pause):
        return padded(PAUSE_GROUP + frame.source + struct.pack(">H4sHH", FLOW_CONTROL, CLASS_1, 0, frame.quanta))
    head, number = frame.addresses + struct.pack(">H", AUTHORS), struct.pack(">H", frame.number & 0xFFFF)
    bits = era(frame.number) << 4
    match frame.kind:
        case "data" | "dummy":
            bits |= frame.retransmitted << 3 | (frame.kind == "dummy") << 2 | frame.ordered << 1
        case "ack":
            bits |= 0x40 | (frame.rest is not None) << 5
        case "notification":
            bits |= 0x80
            number += struct.pack(">BH", frame.hole & 0xFF, frame.first_lost)
    whole = head + bytes([bits]) + number
    return padded(whole) if frame.rest is None else whole + frame.rest


def decode(frame: bytes) -> Compact | Pause | None:
    """A frame with the authors' header or a pause of class 1; None for all others."""
    addresses, (ethertype,) = frame[:12], struct.unpack(">H", frame[12:14])
    if ethertype == FLOW_CONTROL and frame[14:18] == CLASS_1:
        return Pause(addresses[6:], struct.unpack(">H", frame[20:22])[0])
    if ethertype != AUTHORS:
        return None
    first, (number,) = frame[14], struct.unpack(">H", frame[15:17])
    number |= (first >> 4 & 1) << 16
    match first >> 6:
        case 0 if first & 4:
            return Compact(addresses, "dummy", number, ordered=bool(first & 2))
        case 0:
            return Compact(addresses, "data", number, frame[17:], bool(first & 2), bool(first & 8))
        case 1:
            return Compact(addresses, "ack", number, frame[17:] if first & 0x20 else None)
        case 2:
            hole, first_lost = struct.unpack(">BH", frame[17:20])
            return Compact(addresses, "notification", number, hole=hole or 256, first_lost=first_lost)
    raise Malformed("kind 3 of the authors' header")
