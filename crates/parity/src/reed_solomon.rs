//! Reed-Solomon over bytes, by `reed-solomon-simd`.

use crate::code::{Code, GROUP_MAX, PARITY_MAX};

/// Jumbo frames with their headers fit.
pub const FRAME_BYTES_MAX: usize = 10_240;
/// In front of a frame in the code: its length and its stamp.
const PREFIX_BYTES: usize = 4;

/// The code on frames of bytes. Frames of a group may have different lengths: the code pads them to the longest, and
/// protects their lengths as well. A parity frame is as long as the longest frame and 4 or 5 bytes.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReedSolomon;

impl Code for ReedSolomon {
    type Frame = Vec<u8>;
    type Parity = Vec<u8>;

    fn encode(&mut self, frames: &[(u16, Vec<u8>)], parity: u8) -> Vec<Vec<u8>> {
        let longest = frames.iter().map(|(_, frame)| frame.len()).max().unwrap_or(0);
        let fits = (1..=GROUP_MAX).contains(&frames.len()) && longest <= FRAME_BYTES_MAX;
        if parity == 0 || usize::from(parity) > PARITY_MAX || !fits {
            return Vec::new();
        }
        let bytes = shard_bytes(longest);
        let shards = frames.iter().map(|(stamp, frame)| shard(*stamp, frame, bytes));
        reed_solomon_simd::encode(frames.len(), usize::from(parity), shards).unwrap_or_default()
    }

    fn decode(
        &mut self,
        frames: &[Option<(u16, Vec<u8>)>],
        parity: &[(u8, Vec<u8>)],
        parity_count: u8,
    ) -> Vec<(usize, u16, Vec<u8>)> {
        let Some(bytes) = parity.first().map(|(_, parity)| parity.len()) else { return Vec::new() };
        let longest = frames.iter().flatten().map(|(_, frame)| frame.len()).max().unwrap_or(0);
        let fits = frames.len() <= GROUP_MAX && usize::from(parity_count) <= PARITY_MAX;
        if !fits || bytes < shard_bytes(longest) || bytes > shard_bytes(FRAME_BYTES_MAX) {
            return Vec::new();
        }
        let present = frames.iter().enumerate();
        let present = present.filter_map(|(place, frame)| {
            let (stamp, frame) = frame.as_ref()?;
            Some((place, shard(*stamp, frame, bytes)))
        });
        let parity = parity.iter().map(|(index, parity)| (usize::from(*index), parity));
        let restored = reed_solomon_simd::decode(frames.len(), usize::from(parity_count), present, parity);
        let Ok(restored) = restored else { return Vec::new() };
        let mut restored: Vec<_> = restored
            .into_iter()
            .filter_map(|(place, shard)| {
                let (stamp, frame) = unpack(&shard)?;
                Some((place, stamp, frame.to_vec()))
            })
            .collect();
        restored.sort_by_key(|(place, ..)| *place);
        restored
    }
}

/// Shards have an even length.
fn shard_bytes(frame_bytes: usize) -> usize {
    (PREFIX_BYTES + frame_bytes).next_multiple_of(2)
}

fn shard(stamp: u16, frame: &[u8], bytes: usize) -> Vec<u8> {
    let mut shard = Vec::with_capacity(bytes);
    shard.extend((frame.len() as u16).to_be_bytes());
    shard.extend(stamp.to_be_bytes());
    shard.extend(frame);
    shard.resize(bytes, 0);
    shard
}

fn unpack(shard: &[u8]) -> Option<(u16, &[u8])> {
    let (length, rest) = shard.split_first_chunk::<2>()?;
    let (stamp, rest) = rest.split_first_chunk::<2>()?;
    let frame = rest.get(..usize::from(u16::from_be_bytes(*length)))?;
    Some((u16::from_be_bytes(*stamp), frame))
}
