"""One end of a link, in Python: it protects the frames of --inner on --link together with `linkmend run` at the other end.

Written from docs/design/wire.md and docs/design/protocol.md; three rules that they lacked (restarts) came from the
source. It speaks the transparent format without a key, protects what it sends in one lane, and receives both. It is a
reference for reading, not for speed. It has no fallback, no second link and no limit on what it holds back except the
window.
"""

from __future__ import annotations

import argparse
import json
import random
import select
import signal
import socket
import struct
import time
from collections import Counter, deque
from typing import Callable, Iterator

import wire
from wire import Control, Host, Lane, Run

WINDOW = 4096  # frames that may be outstanding, or held back at the receiver
QUEUE = 4096  # frames that wait while the window is full or the peer has paused the lane
ROUNDS = 32  # of copies, before the sender gives up on a frame
INIT_S, HELLO_S, PEER_TIMEOUT_S = 0.25, 1.0, 0.4
ACK_S, DUMMY_S, DUMMY_MAX_S, KEEPALIVE_S = 0.001, 0.001, 0.05, 0.1


def absolute(bits: int, width: int, near: int) -> int:
    """The number with these lower bits that is nearest to `near`."""
    half = 1 << width - 1
    return near + (bits - near + half) % (1 << width) - half


def first_number(session: int, ordered: bool) -> int:
    return 131_072 + (session if ordered else session >> 15) % 131_072


class Port:
    """A packet socket that returns frames as they were on the wire, and may lose some of them in both directions."""

    def __init__(self, name: str, loss: float = 0, seed: int = 0) -> None:
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.socket.bind((name, 3))
        self.address = self.socket.getsockname()[4]
        self.loss, self.random, self.lost = loss, random.Random(seed), 0
        self.failed = 0
        level, index = 263, socket.if_nametoindex(name)  # SOL_PACKET
        self.socket.setsockopt(level, 1, struct.pack("iHH8s", index, 1, 0, b""))  # promiscuous
        self.socket.setsockopt(level, 8, 1)  # PACKET_AUXDATA: the VLAN tag that the kernel removed
        self.socket.setsockopt(level, 23, 1)  # PACKET_IGNORE_OUTGOING
        self.socket.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)  # SO_RCVBUFFORCE: frames wait while others have the processor
        self.socket.setblocking(False)

    def corrupted(self) -> bool:
        lost = self.random.random() < self.loss
        self.lost += lost
        return lost

    def send(self, frame: bytes) -> None:
        if not self.corrupted():
            try:
                self.socket.send(frame)
            except OSError:  # too long for the port, or the port is down
                self.failed += 1

    def received(self) -> Iterator[bytes]:
        for _ in range(64):
            try:
                frame, auxiliary, _, _ = self.socket.recvmsg(65536, 64)
            except BlockingIOError:
                return
            for _, _, data in auxiliary:
                status, tci, tpid = struct.unpack("=I12xHH", data[:20])
                if status & 0x10:
                    frame = frame[:12] + struct.pack(">HH", tpid, tci) + frame[12:]
            if not self.corrupted():
                yield frame


class Receiver:
    """One lane of the receiving half. `expected` is the first number that is neither received nor given up."""

    def __init__(self, session: int, ordered: bool, deliver: Callable[[Host], None]) -> None:
        self.ordered, self.deliver = ordered, deliver
        self.expected = self.seen = first_number(session, ordered)
        self.held: dict[int, Host] = {}

    def data(self, frame: Host) -> bool:
        """Whether the frame reveals a hole."""
        number = absolute(frame.number, 17, self.expected)
        if number < self.expected or number in self.held or number >= self.expected + WINDOW:
            return False
        hole = number > self.seen
        self.seen = max(self.seen, number + 1)
        self.held[number] = frame
        if not self.ordered:
            self.deliver(frame)
        self.advance(self.expected)
        return hole

    def dummy(self, next_bits: int, held_bits: int) -> None:
        self.seen = max(self.seen, absolute(next_bits, 32, self.expected))
        self.advance(min(absolute(held_bits, 32, self.expected), self.seen))

    def advance(self, withdrawn: int) -> None:
        """Delivers what is next in order, and stops waiting for numbers below `withdrawn`."""
        while self.expected in self.held or self.expected < withdrawn:
            frame = self.held.pop(self.expected, None)
            if frame and self.ordered:
                self.deliver(frame)
            self.expected += 1

    def report(self) -> Lane:
        runs, covered = [], self.seen
        for number in range(self.expected, self.seen):
            if number in self.held:
                continue
            if runs and sum(runs[-1]) == number:
                runs[-1][1] += 1
            elif len(runs) == 32:
                covered = number
                break
            else:
                runs.append([number, 1])
        listed = tuple(Run(first & 0xFFFF, length) for first, length in runs)
        return Lane(self.expected & 0xFFFFFFFF, self.expected, covered, self.seen, listed)


class Sender:
    """The protected lane of the sending half."""

    def __init__(self, ordered: bool) -> None:
        self.ordered = ordered
        self.queue: deque[Host] = deque()
        self.restart()

    def restart(self) -> None:
        self.session = random.SystemRandom().getrandbits(32)
        self.next = first_number(self.session, self.ordered)
        self.other = first_number(self.session, not self.ordered)
        self.held: dict[int, Host] = {}
        self.copies: dict[int, tuple[int, int, int]] = {}  # rounds, and what had been sent by the latest one
        self.nonce: int | None = None
        self.window, self.stamp, self.active, self.paused = WINDOW, 0, False, False

    def room(self) -> bool:
        return self.active and not self.paused and self.next - self.first_held() < min(self.window, WINDOW)

    def first_held(self) -> int:
        return min(self.held, default=self.next)

    def protect(self, frame: Host) -> Host:
        frame = frame._replace(number=self.next & 0x1FFFF, ordered=self.ordered)
        self.held[self.next] = frame
        self.next += 1
        return frame

    def dummy(self) -> wire.Dummy:
        self.stamp = self.stamp + 1 & 0xFFFF
        used, unused = (self.next, self.first_held()), (self.other, self.other)
        lanes = used + unused if self.ordered else unused + used
        return wire.Dummy(self.session, self.stamp, *(n & 0xFFFFFFFF for n in lanes))

    def acknowledge(self, until: int) -> None:
        for number in [n for n in self.held if n < until <= self.next]:
            del self.held[number]
            self.copies.pop(number, None)

    def feedback(self, report: Lane, stamp: int) -> Iterator[Host]:
        """Frees what arrived, and yields the copies to send: of frames that are missing for the first time, or whose
        latest copy must be lost, because the receiver has seen something that was sent after it."""
        self.active, self.paused = True, report.paused
        cumulative = absolute(report.cumulative, 32, self.next)
        self.acknowledge(cumulative)
        start, covered, seen = (absolute(n, 17, cumulative) for n in (report.start, report.covered, report.seen))
        missing = set()
        for run in report.runs:
            first = cumulative + (run.first - cumulative & 0xFFFF)
            missing.update(range(first, first + run.length))
        for number in [n for n in self.held if start <= n < covered]:
            rounds, sent, stamped = self.copies.get(number, (0, number, stamp))
            if number not in missing:
                del self.held[number]
            elif rounds == 0 or seen > sent or absolute(stamp, 16, stamped) > stamped:
                if rounds < ROUNDS:
                    self.copies[number] = rounds + 1, self.next, self.stamp
                    yield self.held[number]._replace(retransmitted=True)
                else:
                    del self.held[number]


class LinkEnd:
    def __init__(self, inner: Port, link: Port, ordered: bool) -> None:
        self.inner, self.link, self.counts = inner, link, Counter()
        self.sender, self.lanes = Sender(ordered), {}
        self.nonce, self.peer_nonce, self.peer_known = random.SystemRandom().getrandbits(64) | 1, 0, False
        self.peer_session = self.offered = self.echo_nonce = self.stamp = self.reports = 0
        self.ended: int | None = None
        self.dummy_interval = DUMMY_S
        self.hello_at = self.init_at = self.dummy_at = self.heard = 0.0
        self.report_at: float | None = None

    def control(self, body: tuple) -> None:
        self.link.send(wire.encode(Control(self.link.address, body)))

    def from_host(self, raw: bytes) -> None:
        frame = Host(raw[:12], *struct.unpack(">H", raw[12:14]), raw[14:])
        if len(self.sender.queue) == QUEUE:
            self.counts["queue_drops"] += 1
        else:
            self.sender.queue.append(frame)

    def send_queue(self, now: float) -> None:
        sender = self.sender
        while sender.queue and (sender.room() or not sender.active):
            frame = sender.queue.popleft()
            if sender.active:
                frame = sender.protect(frame)
                self.counts["protected"] += 1
                self.dummy_interval, self.dummy_at = DUMMY_S, now + DUMMY_S
            elif frame.ethertype in (wire.TRANSPARENT, wire.AUTHORS):
                if not self.peer_known:
                    continue
                frame = frame._replace(escaped=True)
            self.link.send(wire.encode(frame))

    def from_link(self, now: float, raw: bytes) -> None:
        try:
            frame = wire.decode(raw)
        except wire.Malformed:
            self.counts["malformed"] += 1
            return
        if isinstance(frame, Control):
            self.heard = now
            return self.from_peer(now, frame.body)
        if frame.ack and self.sender.active and frame.ack.ordered == self.sender.ordered:
            self.sender.acknowledge(absolute(frame.ack.number, 17, self.sender.next))
        if frame.number is None:
            self.inner.send(raw if frame.escaped and not self.peer_known else wire.encode(frame._replace(escaped=False, ack=None)))
        elif self.lanes:
            self.heard = now
            self.counts["copies_received"] += frame.retransmitted
            hole = self.lanes[frame.ordered].data(frame)
            self.counts["holes"] += hole
            self.report_at = now if hole else self.report_at or now + ACK_S
        elif not frame.retransmitted:
            self.deliver(frame)

    def deliver(self, frame: Host) -> None:
        self.counts["delivered"] += 1
        self.inner.send(frame.addresses + struct.pack(">H", frame.ethertype) + frame.rest)

    def from_peer(self, now: float, body: tuple) -> None:
        sender = self.sender
        match body:
            case wire.Hello(nonce, echo):
                self.peer_nonce, self.peer_known = nonce, self.peer_known or echo == self.nonce
                if echo != self.nonce:
                    self.hello_at = min(self.hello_at, now)
            case wire.Init(session, 0) if not self.lanes or session != self.peer_session:
                if session != self.offered:
                    self.offered, self.echo_nonce = session, random.SystemRandom().getrandbits(32)
                self.control(wire.InitEcho(session, self.echo_nonce, WINDOW, 0))
            case wire.InitEcho(sender.session, nonce, window, 0):
                sender.nonce, sender.window, self.init_at = nonce, window, now
            case wire.Start(self.peer_session, _) if self.lanes:
                self.report_at = now  # the feedback frame that confirmed it was lost
            case wire.Start(self.offered, self.echo_nonce):
                self.end_receiving()
                self.peer_session, self.peer_known, self.stamp = self.offered, True, 0
                self.lanes = {o: Receiver(self.offered, o, self.deliver) for o in (True, False)}
                self.report_at = now
            case wire.Dummy(self.peer_session, stamp, following, held, other_following, other_held) if self.lanes:
                self.lanes[True].dummy(following, held)
                self.lanes[False].dummy(other_following, other_held)
                self.stamp, self.report_at = stamp, now
            case wire.Dummy(session):
                self.control(wire.FinEcho(session))  # so that the peer begins anew immediately
            case wire.Feedback(sender.session, _, stamp, _, _, ordered, non_blocking):
                self.peer_known = True
                for copy in sender.feedback(ordered if sender.ordered else non_blocking, stamp):
                    self.counts["copies_sent"] += 1
                    self.link.send(wire.encode(copy))
                    self.dummy_interval, self.dummy_at = DUMMY_S, now
            case wire.Fin(session):
                if session == self.peer_session:
                    self.end_receiving()
                self.control(wire.FinEcho(session))
            case wire.FinEcho(self.ended):
                self.ended = None
            case wire.FinEcho(sender.session) if sender.active:
                self.end_sending()  # the peer has lost the session

    def end_receiving(self) -> None:
        """Delivers what still waits in order; the rest is lost."""
        for lane in self.lanes.values():
            lane.advance(lane.seen)
        self.lanes, self.report_at = {}, None

    def end_sending(self) -> None:
        self.ended = self.sender.session
        self.counts["abandoned"] += len(self.sender.held)
        self.sender.restart()

    def tick(self, now: float) -> None:
        sender = self.sender
        if sender.active and now - self.heard > PEER_TIMEOUT_S:
            self.end_sending()
        if now >= self.hello_at:
            self.control(wire.Hello(self.nonce, self.peer_nonce))
            self.hello_at = now + HELLO_S
        if not sender.active and now >= self.init_at:
            if self.ended is not None:
                self.control(wire.Fin(self.ended))
            nonce, sender.nonce = sender.nonce, None  # the peer may have restarted since it chose the nonce
            self.control(wire.Init(sender.session, 0) if nonce is None else wire.Start(sender.session, nonce))
            self.init_at = now + INIT_S
        if sender.active and now >= self.dummy_at:
            self.control(sender.dummy())
            self.dummy_at = now + (self.dummy_interval if sender.held else KEEPALIVE_S)
            self.dummy_interval = min(2 * self.dummy_interval, DUMMY_MAX_S)
        if self.report_at is not None and now >= self.report_at:
            self.reports = self.reports + 1 & 0xFFFF
            ordered, other = self.lanes[True].report(), self.lanes[False].report()
            self.control(wire.Feedback(self.peer_session, self.reports, self.stamp, 0, 0, ordered, other))
            self.report_at = now + ACK_S if ordered.runs or other.runs else None

    def step(self) -> None:
        select.select([self.inner.socket, self.link.socket], [], [], ACK_S)
        now = time.monotonic()
        for raw in self.link.received():
            self.from_link(now, raw)
        for raw in self.inner.received():
            self.from_host(raw)
        self.send_queue(now)
        self.tick(now)

    def stop(self) -> None:
        """Waits a moment for what is outstanding, and tells the peer."""
        deadline = time.monotonic() + 0.3
        while self.sender.active and self.sender.held and time.monotonic() < deadline:
            self.step()
        if self.sender.active:
            self.control(wire.Fin(self.sender.session))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inner", required=True, metavar="IF", help="interface that faces the host")
    parser.add_argument("--link", required=True, metavar="IF", help="interface that faces the link")
    parser.add_argument("--mode", choices=("ordered", "non-blocking"), default="ordered")
    parser.add_argument("--loss", type=float, default=0, metavar="P", help="lose frames of the link, in both directions")
    parser.add_argument("--seed", type=int, default=1, help="seed of these losses")
    options = parser.parse_args()
    link = Port(options.link, options.loss, options.seed)
    end = LinkEnd(Port(options.inner), link, options.mode == "ordered")
    stopped = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.append(True))
    while not stopped:
        end.step()
    end.stop()
    print(json.dumps({**end.counts, "lost_on_purpose": link.lost, "not_sent": end.inner.failed + link.failed}))


if __name__ == "__main__":
    main()
