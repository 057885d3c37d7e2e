//! What the host asks of a machine, and what the machine answers: each is one line of JSON.

use serde::{Deserialize, Serialize};

/// One request; the machine answers each before it reads the next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// List the interfaces.
    Interfaces,
    /// Set the MTU of an interface and bring it up.
    Up { interface: String, mtu: u32 },
    /// Start a daemon with these arguments.
    Start(Vec<String>),
    /// End the daemon by SIGKILL.
    Kill,
    /// End the daemon by SIGTERM and wait for it.
    Stop,
    /// Run `linkmend` with these arguments and wait for it.
    Run(Vec<String>),
    /// Begin to send numbered frames.
    Send(Traffic),
    /// Begin to receive them.
    Receive(Traffic),
    /// Say what has been sent and received since then.
    Progress,
    /// Say for how long the processor has been busy.
    Busy,
    /// Return the end of the daemon's log.
    Log,
}

/// A machine's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// It has booted; the release of its kernel, and what went wrong meanwhile.
    Ready {
        release: String,
        problems: Vec<String>,
    },
    /// It is done.
    Done,
    Interfaces(Vec<Interface>),
    /// What a program has printed, if it succeeded.
    Output(String),
    Progress(Progress),
    /// Nanoseconds since the machine was started.
    Busy(u64),
    /// It was not possible, for this reason.
    Failed(String),
}

/// An interface of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interface {
    pub name: String,
    /// As ethtool reports it; empty without.
    pub driver: String,
    pub mac: [u8; 6],
    pub mtu: u32,
    /// Receive queues in use.
    pub queues: u32,
}

/// Numbered frames from one machine to the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Interface on which they are sent or received.
    pub interface: String,
    /// MAC address of the other machine's interface.
    pub peer: [u8; 6],
    /// Tells the frames of this run from those of others.
    pub run: u32,
    pub count: u64,
    /// Length of the longest frame in bytes, with its Ethernet header and without VLAN tag; lengths vary.
    pub bytes_max: usize,
    /// The tag control information of their VLAN tag.
    pub vlan: Option<u16>,
}

/// Counts of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    pub sent: u64,
    /// How often the sender continued although a whole window was missing.
    pub stalls: u64,
    /// Different frames that have arrived unchanged.
    pub received: u64,
    /// Frames that had arrived before.
    pub duplicated: u64,
    /// Frames that arrived after one with a higher number.
    pub reordered: u64,
    /// Frames of this run that have changed.
    pub changed: u64,
    /// Whether the thread of the run has ended, because all was sent or has arrived.
    pub is_done: bool,
}
