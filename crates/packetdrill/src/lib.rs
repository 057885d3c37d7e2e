//! Runs packetdrill scripts against the simulated TCP, in virtual time.
//!
//! packetdrill (Cardwell et al., "packetdrill: Scriptable Network Stack Testing, from Sockets to Packets", USENIX ATC
//! 2013) is a language for tests of TCP implementations: a script lists socket calls, incoming packets, and expected
//! outgoing packets, each with its time. With this crate, scripts that were written for Linux test the simulated TCP.
//!
//! - [`parse`] reads a script into a [`Script`].
//! - [`run`] executes one; its [`Outcome`] is a pass, the first difference, or the unsupported feature.
//!
//! # What is supported
//! - Times: absolute, relative, ranges, and `*`. Packets and blocking calls may be off by `--tolerance_usecs` (4,000).
//! - Calls: `socket`, `bind`, `listen`, `accept`, `connect`, `write`, `writev`, `send`, `sendto`, `sendmsg`, `read`,
//!   `readv`, `recv`, `recvfrom`, `recvmsg`, `sendfile`, `close`, `shutdown`, `fcntl`, `ioctl`, `poll`, `setsockopt`, `getsockopt`.
//! - Packets: TCP with all flags, ECN codepoints, and options. An expected packet with more than a segment of payload is
//!   compared with as many consecutive ones, as segmentation offload would have joined them, without regard to PSH (not with
//!   `--strict_segments`). Options
//!   are compared by kind and value, and not by order and padding, which the simulated packets do not have. Timestamps of
//!   the host in the script stand for the actual ones; with `--tcp_ts_tick_usecs` their differences are compared.
//! - Commands: `sysctl` of what the simulated host has, also in the shell scripts that a suite keeps beside its own
//!   (`../common/defaults.sh`), which are read as text. Commands that only set up a network or remove it are skipped.
//! - Code: `assert`, `print`, assignments and `if`, with the fields of `tcp_info` that the simulated host keeps.
//!
//! # What is not supported (the outcome says so)
//! UDP, ICMP, tunnels, urgent data, Fast Open, AccECN, MPTCP, `epoll`, notices of zero-copy sends, keep-alives,
//! several simultaneous connections.
#![forbid(unsafe_code)]

mod call;
mod error;
mod host;
mod info;
mod lexer;
mod matching;
mod notation;
mod parser;
mod python;
mod runner;
mod script;
mod settings;
mod shell;
mod socket;
mod timestamping;

pub use error::{ParseError, Position};
pub use parser::parse;
pub use runner::{Difference, Outcome, run, run_text};
pub use script::{
    Action, Call, Direction, EcnNotation, Event, EventTime, Expression, Options, Packet, Script, TcpOption,
};
