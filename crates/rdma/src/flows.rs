//! How many packets flows have.

use linkmend_diagnose::ParameterError;

/// What of the distribution of flow sizes counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Flows {
    /// Mean number of packets, E(S), at least 1.
    pub packets: f64,
    /// Mean of the inverse of the number of packets, E(1/S), above 0 and at most 1.
    pub inverse_packets: f64,
    /// Mean bytes of a flow.
    pub bytes: f64,
    /// Payload of the last packet, in bytes, by the share of flows that have it.
    tails: [f64; TAILS],
    /// By number of packets: the share of flows that have more.
    longer: [f64; LONGER],
}

/// Parts into which payloads of last packets are divided.
const TAILS: usize = 16;
/// Flows are told apart by their number of packets up to here.
pub(crate) const LONGER: usize = 64;

impl Flows {
    /// Flows of one size.
    pub fn of_size(bytes: u64, mtu: u32) -> Flows {
        Flows::of_sizes(&[bytes], mtu)
    }

    /// Flows of these sizes in bytes, each as frequent as the others. An empty list is that of one flow of one byte.
    pub fn of_sizes(sizes: &[u64], mtu: u32) -> Flows {
        let sizes = if sizes.is_empty() { &[1] } else { sizes };
        let mtu = u64::from(mtu.max(1));
        let share = 1.0 / sizes.len() as f64;
        let mut flows = Flows {
            packets: 0.0,
            inverse_packets: 0.0,
            bytes: 0.0,
            tails: [0.0; TAILS],
            longer: [0.0; LONGER],
        };
        for &bytes in sizes {
            let packets = bytes.div_ceil(mtu).max(1);
            let tail = bytes.max(1) - (packets - 1) * mtu;
            flows.packets += packets as f64 * share;
            flows.inverse_packets += share / packets as f64;
            flows.bytes += bytes as f64 * share;
            // Rounded up: 1 to 1/16 of a full packet is the first part.
            flows.tails[((tail * TAILS as u64).div_ceil(mtu) - 1) as usize] += share;
            flows.longer.iter_mut().take(packets as usize).for_each(|longer| *longer += share);
        }
        flows
    }

    /// Payloads of last packets, with the share of flows that have them.
    pub(crate) fn tails(&self, mtu: u32) -> impl Iterator<Item = (f64, u32)> {
        let part = f64::from(mtu) / TAILS as f64;
        // The middle of a part stands for it, but a full packet is one.
        let payload = move |index: usize| match index + 1 {
            TAILS => mtu,
            _ => ((index as f64 + 0.5) * part) as u32,
        };
        let tails = self.tails.into_iter().enumerate();
        tails.filter(|(_, share)| *share > 0.0).map(move |(index, share)| (share, payload(index).max(1)))
    }

    /// Mean over the payloads of last packets.
    pub(crate) fn over_tails(&self, mtu: u32, value: impl Fn(u32) -> f64) -> f64 {
        self.tails(mtu).map(|(share, payload)| share * value(payload)).sum()
    }

    /// Share of flows with more than so many packets, which is less than [`LONGER`].
    pub(crate) fn longer(&self, packets: usize) -> f64 {
        self.longer[packets]
    }

    /// # Errors
    /// The first mean that no flows have.
    pub fn validate(&self) -> Result<(), ParameterError> {
        if !(self.packets >= 1.0 && self.packets.is_finite()) {
            return Err(ParameterError::new("packets", self.packets, "must be at least 1"));
        }
        if !(self.inverse_packets > 0.0 && self.inverse_packets <= 1.0) {
            let requirement = "must be above 0 and at most 1";
            return Err(ParameterError::new("inverse packets", self.inverse_packets, requirement));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 24,387 B: 23 packets of 1,024 B and one of 835 B.
    #[test]
    fn packets_and_tails_are_counted_as_by_hand() {
        let flows = Flows::of_sizes(&[24_387, 1, 1_024, 1_025], 1_024);
        assert_eq!(flows.packets, (24.0 + 1.0 + 1.0 + 2.0) / 4.0);
        assert_eq!(flows.inverse_packets, (1.0 / 24.0 + 1.0 + 1.0 + 0.5) / 4.0);
        // 835 is in the fourteenth part (832 to 896), 1 in the first, twice, and 1,024 is full.
        assert_eq!([0, 1, 2, 23, 24].map(|packets| flows.longer(packets)), [1.0, 0.5, 0.25, 0.25, 0.0]);
        assert_eq!(flows.over_tails(1_024, f64::from), (864.0 + 32.0 + 1_024.0 + 32.0) / 4.0);
    }

    #[test]
    fn no_flow_is_one_byte() {
        assert_eq!(Flows::of_sizes(&[], 1_024), Flows::of_size(1, 1_024));
        assert!(Flows::of_size(0, 0).validate().is_ok());
    }
}
