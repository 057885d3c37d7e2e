"""The tags of a link with a key (docs/design/wire.md, "Links with a key")."""

from __future__ import annotations

import struct

from wire import Host

MASK = (1 << 64) - 1


def siphash(key: bytes, data: bytes, size: int = 8) -> bytes:
    """SipHash-2-4 with a result of 8 or 16 bytes, in the byte order of the reference implementation."""
    k0, k1 = struct.unpack("<QQ", key)
    v0, v1 = k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D ^ (0xEE if size == 16 else 0)
    v2, v3 = k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573

    def rotate(word: int, bits: int) -> int:
        return (word << bits | word >> 64 - bits) & MASK

    def mix(rounds: int) -> None:
        nonlocal v0, v1, v2, v3
        for _ in range(rounds):
            v0, v2 = v0 + v1 & MASK, v2 + v3 & MASK
            v1, v3 = rotate(v1, 13) ^ v0, rotate(v3, 16) ^ v2
            v0, v2 = rotate(v0, 32) + v3 & MASK, v2 + v1 & MASK
            v1, v3 = rotate(v1, 17) ^ v2, rotate(v3, 21) ^ v0
            v2 = rotate(v2, 32)

    whole = len(data) // 8 * 8
    last = data[whole:].ljust(7, b"\0") + bytes([len(data) & 0xFF])
    for (word,) in struct.iter_unpack("<Q", data[:whole] + last):
        v3 ^= word
        mix(2)
        v0 ^= word
    v2 ^= 0xEE if size == 16 else 0xFF
    mix(4)
    out = struct.pack("<Q", v0 ^ v1 ^ v2 ^ v3)
    if size == 16:
        v1 ^= 0xDD
        mix(4)
        out += struct.pack("<Q", v0 ^ v1 ^ v2 ^ v3)
    return out


def derive(shared: bytes, purpose: str, sender: int = 0, receiver: int = 0) -> bytes:
    """The key for hellos or for a direction, from the key that both ends share."""
    return siphash(shared, purpose.encode() + struct.pack(">QQ", sender, receiver), 16)


def tag(key: bytes, data: bytes) -> bytes:
    return siphash(key, data)[::-1]


def host_tag(key: bytes, frame: Host, length: int, session: int, number: int) -> bytes:
    """The tag of a protected frame or of an ACK on an unprotected one; `number` is the absolute one."""
    kind = 0x20 if frame.number is None else 0x10 | frame.ordered
    ack, low = 0, 0
    if frame.ack:
        ack, low = 0x80 | frame.ack.ordered << 1 | frame.ack.number >> 16, frame.ack.number & 0xFFFF
    covered = frame.addresses + struct.pack(">HIIQBBHHI", frame.ethertype, max(length, 60), session, number, kind, ack, low, 0, 0)
    return tag(key, covered)[:4]
