//! Frames over UDP as state machines: a path of the Internet becomes a link, which is a queue.
//!
//! The protocol of `linkmend-protocol` relies on one property of a link: frames arrive in the order in which they were
//! sent, or not at all. A path of datagrams also reorders and duplicates. This crate restores the property by
//! construction. Every datagram carries an *outer number*, and the receiving end hands on frames only in the order of
//! these numbers, each once. A number that has not arrived when the wait for it ends is a loss, like that of a cable, and
//! so is whatever arrives later.
//!
//! - [`wire`] is the format of the datagrams.
//! - [`Sender`] packs frames into datagrams: several small ones share one, and one that is too long takes several.
//! - [`Resequencer`] puts datagrams in order. How long it waits for a missing one is learned from the path: not at all as
//!   long as the path has not reordered.
//! - [`Receiver`] takes the frames out again. A frame whose parts have not all arrived is one loss.
//! - [`PathMtu`] finds the longest datagram that passes (RFC 8899).
//! - [`Congestion`] decides how fast datagrams leave, from the reports of the other end.
//! - [`Acquaintance`] knows who the peer is, and where: restarts, changed addresses, strangers.
//! - [`Secure`] seals and opens datagrams, where both ends share a key.
//! - [`Endpoint`] holds all but the last. A driver owns one for each socket.
//!
//! Nothing here performs I/O, reads a clock or starts a thread. Times are nanoseconds of any monotonic clock. Every
//! buffer has a bound and keeps its memory, so that a frame costs no allocation once they have grown.
//!
//! # The order of calls
//!
//! For each datagram that arrives, a driver calls [`Endpoint::handle_datagram`]. Frames are handed to a closure, because
//! they lie in the datagram. At [`Endpoint::next_timeout`], it calls [`Endpoint::handle_timeout`]. After either, it sends
//! what [`Endpoint::poll_control`] returns until `None`. It adds frames with [`Endpoint::push`] while
//! [`Endpoint::allowance`] and [`Endpoint::room`] say so (which may be again at [`Endpoint::opens_at`]), and at the end of a round calls
//! [`Endpoint::close`], sends [`Endpoint::datagrams`] to [`Endpoint::peer`], and reports with [`Endpoint::handle_sent`] how many
//! the kernel took.

mod acquaintance;
mod address;
mod congestion;
mod counters;
mod decisions;
mod endpoint;
mod path_mtu;
mod receiver;
mod replay;
mod resequencer;
mod secure;
mod sender;
pub mod wire;

pub use acquaintance::{Acquaintance, Identity, Role, SILENCE_NS};
pub use address::{Reach, is_near};
pub use congestion::{Allowance, Congestion, CongestionState};
pub use counters::Counters;
pub use endpoint::{ADDRESSES_MAX, Endpoint, EndpointConfig, Handled};
pub use path_mtu::{BASE_BYTES, PathMtu};
pub use receiver::Receiver;
pub use replay::{REPLAY_WINDOW, ReplayWindow};
pub use resequencer::{HELD_BYTES_MAX, HELD_MAX, Resequencer, WAIT_MAX_NS};
pub use secure::{KEY_BYTES, Opened, SEAL_BYTES, Secure, shared_key};
pub use sender::{NoRoom, QUEUE_DATAGRAMS, Sender};
