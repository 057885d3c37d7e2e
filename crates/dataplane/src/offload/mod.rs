//! What a network card does for a host that leaves segmentation and checksums to it, done by the daemon.
//!
//! A host behind such a port hands over TCP segments of up to 64 KiB without checksum, as to a card with these offloads.
//! [`Segmenter`] cuts them into the frames that go onto the link. In the other direction, [`coalesce`] finds frames that
//! continue each other, so that the host receives them as one segment.
//!
//! Both ends of a port describe such a frame by a [`VirtioHeader`](header::VirtioHeader). Nothing here makes system calls.

mod checksum;
mod coalesce;
mod header;
mod segment;

#[cfg(test)]
mod tests;

pub(crate) use coalesce::{Coalesced, coalesce};
pub(crate) use header::VIRTIO_HEADER_BYTES;
pub(crate) use segment::Segmenter;
