"""Send numbered frames from an interface, and say as JSON which ones arrive there: `numbered.py IF COUNT TIMEOUT_S`.

Run it on both hosts of a link within a second of each other; it ends when as many frames have arrived as it sends.
"""

from __future__ import annotations

import json
import socket
import struct
import sys
import time

ETHERTYPE = 0x88B6  # IEEE 802 local experimental 2
PACKET, IGNORE_OUTGOING = 263, 23
RECEIVE_BUFFER_FORCE = 33


def main() -> None:
    name, count, timeout_s = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE))
    port.bind((name, ETHERTYPE))
    port.setsockopt(PACKET, IGNORE_OUTGOING, 1)
    port.setsockopt(socket.SOL_SOCKET, RECEIVE_BUFFER_FORCE, 8 << 20)
    port.setblocking(False)
    addresses = b"\x02\0\0\0\0\x77" + port.getsockname()[4]
    time.sleep(1)  # until the other host listens as well
    received: list[int] = []
    sent, ends = 0, time.monotonic() + timeout_s
    while time.monotonic() < ends:
        if sent < count:
            port.send(addresses + struct.pack(">HI", ETHERTYPE, sent) + bytes(100 + sent % 900))
            sent += 1
        elif len(received) >= count:
            ends = min(ends, time.monotonic() + 0.5)  # time for duplicates to arrive
        time.sleep(0.0003)
        try:
            while True:
                received.append(struct.unpack(">I", port.recv(2048)[14:18])[0])
        except BlockingIOError:
            pass
    print(json.dumps({
        "sent": sent,
        "received": len(received),
        "missing": count - len(set(received)),
        "duplicates": len(received) - len(set(received)),
        "in_order": received == sorted(received),
    }))


if __name__ == "__main__":
    main()
