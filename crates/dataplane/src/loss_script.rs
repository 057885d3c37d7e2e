//! Scripted losses, for runs that are to be compared: a list says which frames a link end drops.

use crate::corruption::DrawnLosses;
use linkmend_protocol::wire::LinkFrame;

/// Which protected frames are dropped on arrival, by their position among the arrivals since the script began. Dropped
/// frames count as arrivals. Everything else passes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LossScript {
    /// Positions among frames that are sent for the first time, from 0.
    pub originals: Vec<u64>,
    /// Positions among retransmitted copies, from 0.
    pub copies: Vec<u64>,
}

/// Applies a [`LossScript`].
#[derive(Debug)]
pub(crate) struct ScriptedLosses {
    script: LossScript,
    originals: u64,
    copies: u64,
}

impl ScriptedLosses {
    fn corrupts(&mut self, frame: &LinkFrame) -> bool {
        let LinkFrame::Data { header, .. } = frame else { return false };
        let (places, count) = if header.retransmitted {
            (&self.script.copies, &mut self.copies)
        } else {
            (&self.script.originals, &mut self.originals)
        };
        let place = *count;
        *count += 1;
        places.binary_search(&place).is_ok()
    }
}

/// Drops arriving frames, by chance or by a script.
#[derive(Debug)]
pub(crate) enum LossInjector {
    Drawn(DrawnLosses),
    Scripted(ScriptedLosses),
}

impl LossInjector {
    pub(crate) fn scripted(mut script: LossScript) -> LossInjector {
        script.originals.sort_unstable();
        script.copies.sort_unstable();
        LossInjector::Scripted(ScriptedLosses { script, originals: 0, copies: 0 })
    }

    /// Whether the arriving frame is lost. It has `bytes` with its check sequence; a script needs to know what it is.
    #[inline]
    pub(crate) fn corrupts(&mut self, bytes: u32, frame: impl FnOnce() -> LinkFrame) -> bool {
        match self {
            LossInjector::Drawn(losses) => losses.corrupts(bytes),
            LossInjector::Scripted(losses) => losses.corrupts(&frame()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linkmend_protocol::wire::Decapsulation;
    use linkmend_protocol::{DataHeader, Mode, SequenceNumber};

    fn data(number: u16, retransmitted: bool) -> LinkFrame {
        let sequence = SequenceNumber::new(number, false);
        LinkFrame::Data {
            header: DataHeader { sequence, mode: Mode::Ordered, retransmitted, ack: None },
            decapsulation: Decapsulation { removes: 3, ethertype: None },
        }
    }

    #[test]
    fn originals_and_copies_are_counted_apart() {
        let mut losses = LossInjector::scripted(LossScript { originals: vec![2, 1], copies: vec![0] });
        let arrivals = [
            data(0, false),
            LinkFrame::Foreign,
            data(1, false),
            data(2, false),
            data(1, true),
            data(2, true),
        ];
        let lost = arrivals.map(|frame| losses.corrupts(64, || frame));
        assert_eq!(lost, [false, false, true, true, true, false]);
    }
}
