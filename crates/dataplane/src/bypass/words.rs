//! Words of the configuration that the programs share with the daemon, of 64 bits each, and their positions.

/// Not 0 if the daemon wants every frame.
pub(crate) const ACTIVE: usize = 0;
/// CLOCK_MONOTONIC of the daemon's last sign of life, nanoseconds.
pub(crate) const HEARTBEAT: usize = 1;
/// Age of the heartbeat, nanoseconds, at which the daemon counts as stalled.
pub(crate) const STALL_AFTER: usize = 2;
/// CLOCK_MONOTONIC until which the other end of the link is known to speak Linkmend, nanoseconds; 0 if it is not.
pub(crate) const KNOWN_UNTIL: usize = 3;
/// Not 0 if frames from a port, of which the inner one is the first, leave through the other port's queue.
pub(crate) const QUEUED: [usize; 3] = [4, 5, 32];
/// State that the next start, or `detach`, needs to remove or replace the programs.
pub(crate) const NOTE: usize = 40;
pub(crate) const NOTE_WORDS: usize = 6;
/// Receive queues of each port whose steering the daemon has set: a bit for each of the first 32, and in the upper half
/// the interface that they belong to. The programs do not read it; it is a note for their removal. The next word
/// is the value to which the steering was set: a bit for each of the first 64 processors.
pub(crate) const STEERED: [usize; 3] = [NOTE, NOTE + 2, NOTE + 4];
/// Counters of frames from each of the ports, in that order, each on its own cache line, because the two directions
/// usually run on different processors.
pub(crate) const COUNTERS: [usize; 3] = [8, 16, 24];
/// Position within a direction's counters.
pub(crate) const BYPASSED_FRAMES: usize = 0;
pub(crate) const BYPASSED_BYTES: usize = 1;
/// Only the protected originals among the frames that lost their header.
pub(crate) const DECAPSULATED: usize = 2;
pub(crate) const DROPPED: usize = 3;
pub(crate) const FAILED_REDIRECTS: usize = 4;
/// All frames, counted before the program looks who wants them.
pub(crate) const SEEN: usize = 5;
/// The one of two links to which frames go while both have a carrier: 0 for the first.
pub(crate) const PATH: usize = 33;
/// Where the kernel describes the devices of two links.
pub(crate) const DEVICES: [usize; 2] = [34, 35];
/// Whether the devices of two links are up and have a carrier, as of the last look.
pub(crate) const CARRIERS: [usize; 2] = [36, 37];
pub(crate) const COUNT: usize = 48;

const _: () = assert!(NOTE_WORDS == 2 * STEERED.len() && NOTE + NOTE_WORDS <= COUNT);
