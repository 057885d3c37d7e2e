//! What the hosts behind a link end send.

use linkmend_protocol::wire::{CONTROL_ADDRESS, MAGIC, ethertype};
use linkmend_random::Random;

/// The hosts' own MTU allows this many bytes in memory.
pub const HONEST_BYTES_MAX: u64 = 1_514;
/// A hostile host sends more than it may.
const HOSTILE_BYTES_MAX: u64 = 1_540;
/// An Ethernet header and a number.
const HOSTILE_BYTES_MIN: usize = 22;

/// One of `count` numbers.
pub fn pick(random: &mut Random, count: u64) -> u64 {
    random.next_u64() % count
}

/// An honest host's frame.
pub fn honest(random: &mut Random, end: usize, number: u64, out: &mut Vec<u8>) {
    let bytes = 22 + pick(random, HONEST_BYTES_MAX - 21);
    out.clear();
    out.extend([2, 0, 0, 0, 1, 1 - end as u8, 2, 0, 0, 0, 1, end as u8]);
    let ethertypes = [ethertype::IPV4, ethertype::IPV6, ethertype::ARP, ethertype::VLAN, 0x88cc];
    out.extend(ethertypes[pick(random, 5) as usize].to_be_bytes());
    out.extend(number.to_be_bytes());
    out.resize(bytes as usize, end as u8);
}

/// A hostile host's frame: one of the link's own as it stands or with changes, or a header of its own making behind up to three
/// tags. It hears the whole link, which is more than a host does. Each ends with its number, so that no two are the same.
pub fn hostile(random: &mut Random, number: u64, heard: Option<&[u8]>, out: &mut Vec<u8>) {
    invent(random, heard, out);
    out.resize(out.len().max(HOSTILE_BYTES_MIN), 0);
    let at = out.len() - 8;
    out[at..].copy_from_slice(&(number << 1 | 1).to_le_bytes());
}

fn invent(random: &mut Random, heard: Option<&[u8]>, out: &mut Vec<u8>) {
    out.clear();
    if let Some(heard) = heard.filter(|_| pick(random, 3) > 0) {
        out.extend(heard);
        change(random, out);
        return;
    }
    let addresses = [CONTROL_ADDRESS, [0xff; 6], [2, 0, 0, 0, 0, pick(random, 8) as u8]];
    out.extend(addresses[pick(random, 3) as usize]);
    out.extend([2, 0, 0, 0, 0, pick(random, 8) as u8]);
    for _ in 0..pick(random, 8).saturating_sub(4) {
        out.extend([[0x81, 0x00], [0x88, 0xa8]][pick(random, 2) as usize]);
        out.extend((random.next_u64() as u16).to_be_bytes());
    }
    let own = [ethertype::TRANSPARENT, ethertype::COMPACT, ethertype::MAC_CONTROL, random.next_u64() as u16];
    out.extend(own[pick(random, 4) as usize].to_be_bytes());
    out.push(random.next_u64() as u8);
    if pick(random, 2) == 0 {
        out.extend(MAGIC);
    }
    out.extend(random.next_u64().to_be_bytes());
    // Mostly about the lengths at which escapes and headers no longer fit.
    let bytes = match pick(random, 3) {
        0 => 14 + pick(random, 60),
        1 => 1_495 + pick(random, HOSTILE_BYTES_MAX - 1_494),
        _ => 14 + pick(random, HOSTILE_BYTES_MAX - 13),
    };
    out.resize(bytes as usize, random.next_u64() as u8);
}

/// Leaves a frame as it is, or changes a bit, its number, its length or its addresses.
pub fn change(random: &mut Random, frame: &mut Vec<u8>) {
    match pick(random, 6) {
        0 => {}
        1 => {
            let bit = pick(random, 8 * frame.len().min(64) as u64) as usize;
            frame[bit / 8] ^= 1 << (bit % 8);
        }
        2 => {
            for byte in frame.iter_mut().skip(15).take(2) {
                *byte = random.next_u64() as u8;
            }
        }
        3 => frame.truncate(14 + pick(random, frame.len() as u64 - 13) as usize),
        4 => frame.resize((frame.len() + 1 + pick(random, 64) as usize).min(HOSTILE_BYTES_MAX as usize), 0),
        _ => {
            let byte = 14 + pick(random, 46) as usize;
            if let Some(byte) = frame.get_mut(byte) {
                *byte = random.next_u64() as u8;
            }
        }
    }
}
