//! Plays a scenario: carries frames between two hosts, and does what their applications do.

use crate::namespace;
use crate::packet::Streams;
use crate::timers::{self, Ticks};
use linkmend_kernel_guest::record::{Frame, Record, Sender};
use linkmend_kernel_guest::scenario::{Scenario, TICK_NS};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use socket2::{Domain, SockRef, Socket, Type};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

const ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];
const PORT: u16 = 5_000;
const SYN: u8 = 0x02;
const ACK: u8 = 0x10;
/// Longer than any packet here.
const PACKET_BYTES: usize = 2_048;

/// Both hosts and the wire between them.
struct Wire<'a> {
    scenario: &'a Scenario,
    devices: [File; 2],
    start: u64,
    streams: Streams,
    /// Frames with data so far, and frames with SYN by their sender.
    data: u64,
    syns: [u64; 2],
    /// Packets in flight, by arrival: the delay is the same for all.
    under_way: VecDeque<(u64, usize, Vec<u8>)>,
}

/// Plays one phase of a scenario.
pub fn play(scenario: &Scenario, ticks: Ticks, phase: u64, records: &mut Vec<Record>) -> io::Result<()> {
    let ecn = if scenario.algorithm == "dctcp" { "1" } else { "2" };
    let settings = [("tcp_no_metrics_save", "1"), ("tcp_ecn", ecn)];
    let first = namespace::enter(ADDRESSES[0], &settings)?;
    let mut sender = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    sender.set_nonblocking(true)?;
    sender.set_tcp_nodelay(true)?;
    sender.set_tcp_congestion(scenario.algorithm.as_bytes())?;
    let second = namespace::enter(ADDRESSES[1], &settings)?;
    let listener = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    listener.set_nonblocking(true)?;
    // Receivers use its congestion control, too: DCTCP echoes marks in its own way.
    listener.set_tcp_congestion(scenario.algorithm.as_bytes())?;
    listener.bind(&SocketAddrV4::new(ADDRESSES[1], PORT).into())?;
    listener.listen(1)?;

    ticks.sleep_until_phase(phase * TICK_NS / scenario.phases)?;
    let start = timers::now()?;
    records.push(Record::SinceTick(ticks.since(start)));
    let mut wire = Wire {
        scenario,
        devices: [first, second],
        start,
        streams: Streams::default(),
        data: 0,
        syns: [0; 2],
        under_way: VecDeque::new(),
    };
    match sender.connect(&SocketAddrV4::new(ADDRESSES[1], PORT).into()) {
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => (),
        other => other?,
    }
    let mut writes: VecDeque<_> = scenario.writes.iter().copied().collect();
    let mut receiver = None;
    loop {
        wire.carry(&sender, records)?;
        let now = timers::now()? - start;
        if now >= scenario.duration_ns {
            return Ok(());
        }
        while let Some((_, bytes)) = writes.front_mut().filter(|(at, _)| *at <= now) {
            match sender.write(&vec![0; *bytes as usize]) {
                Ok(written) if written == *bytes as usize => _ = writes.pop_front(),
                Ok(written) => *bytes -= written as u32,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        receive(&listener, &mut receiver, scenario.reads)?;
        let next = writes.front().map_or(u64::MAX, |(at, _)| *at).max(now + 1);
        let watched = receiver.as_ref().filter(|_| scenario.reads);
        wire.wait(watched.unwrap_or(&listener), next.min(scenario.duration_ns))?;
    }
}

/// Takes the connection, and reads at once what has arrived if the application does.
fn receive(listener: &Socket, receiver: &mut Option<Socket>, reads: bool) -> io::Result<()> {
    if receiver.is_none() {
        match listener.accept() {
            Ok((socket, _)) => {
                socket.set_nonblocking(true)?;
                *receiver = Some(socket);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    if let Some(socket) = receiver.as_mut().filter(|_| reads) {
        let mut buffer = vec![0; 1 << 20];
        match socket.read(&mut buffer) {
            Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
            _ => (),
        }
    }
    Ok(())
}

impl Wire<'_> {
    /// Takes what the hosts have sent, and delivers what is due.
    fn carry(&mut self, sender: &Socket, records: &mut Vec<Record>) -> io::Result<()> {
        let mut buffer = [0; PACKET_BYTES];
        for from in 0..2 {
            loop {
                let length = match self.devices[from].read(&mut buffer) {
                    Ok(length) => length,
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) => return Err(error),
                };
                let now = timers::now()?;
                let Some(frame) = self.streams.frame(now - self.start, from as u8, &buffer[..length]) else {
                    continue;
                };
                let is_lost = self.loses(&frame);
                records.push(Record::Frame(Frame { is_lost, ..frame }));
                if !is_lost {
                    self.under_way.push_back((
                        now + self.scenario.delay_ns,
                        1 - from,
                        buffer[..length].to_vec(),
                    ));
                }
            }
        }
        while self.under_way.front().is_some_and(|(at, ..)| timers::now().is_ok_and(|now| *at <= now)) {
            let Some((_, to, packet)) = self.under_way.pop_front() else { break };
            self.devices[to].write_all(&packet)?;
            if to == 0 {
                records.push(Record::Sender(info(sender, timers::now()? - self.start)?));
            }
        }
        Ok(())
    }

    /// Counts a frame, and says whether it is one to lose.
    fn loses(&mut self, frame: &Frame) -> bool {
        let from = usize::from(frame.from);
        if frame.flags & SYN != 0 {
            self.syns[from] += 1;
            return self.syns[from] <= self.scenario.lost_syns[from];
        }
        if from == 0 && frame.bytes > 0 && frame.flags & ACK != 0 {
            self.data += 1;
            return self.scenario.lost.contains(&self.data);
        }
        false
    }

    /// Waits until something is due or happens, but no longer than until `limit` after the beginning.
    fn wait(&self, socket: &Socket, limit: u64) -> io::Result<()> {
        let next = self.under_way.front().map_or(u64::MAX, |(at, ..)| *at).min(self.start + limit);
        let left = Duration::from_nanos(next.saturating_sub(timers::now()?));
        let mut waited = [self.devices[0].as_fd(), self.devices[1].as_fd(), socket.as_fd()]
            .map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        ppoll(&mut waited, Some(TimeSpec::from_duration(left)), None)?;
        Ok(())
    }
}

fn info(socket: &Socket, at_ns: u64) -> io::Result<Sender> {
    // SAFETY: all zeros is a value of this structure of numbers.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    let fd = SockRef::from(socket).as_raw_fd();
    // SAFETY: the kernel writes at most `length` bytes.
    let result = unsafe {
        libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_INFO, (&raw mut info).cast(), &raw mut length)
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Sender {
        at_ns,
        phase: info.tcpi_ca_state,
        window: info.tcpi_snd_cwnd,
        threshold: info.tcpi_snd_ssthresh,
        rto_us: info.tcpi_rto,
        rtt_us: info.tcpi_rtt,
        deviation_us: info.tcpi_rttvar,
        retransmitted: info.tcpi_total_retrans,
    })
}
