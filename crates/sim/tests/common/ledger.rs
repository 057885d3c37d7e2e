//! An observer that keeps account of every frame.

use linkmend_sim::link::scheme::AnyAck;
use linkmend_sim::link::scheme::Header;
use linkmend_sim::network::{Frame, LinkId, Observer, OnWire, PortId, Received, Sent, Side};
use linkmend_sim::time::Time;

/// The port that sends the traffic, and the one that receives it.
pub const SENDER: PortId = PortId::new(LinkId(0), Side::A);
pub const RECEIVER: PortId = SENDER.peer();

/// What became of one frame.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fate {
    /// How often its original was sent, and whether that was corrupted.
    pub originals: u32,
    pub original_corrupted: bool,
    pub sent_at: Time,
    pub copies: u32,
    pub copies_corrupted: u32,
    /// When it first arrived in any form.
    pub arrived_at: Option<Time>,
    pub deliveries: u32,
    pub delivered_at: Time,
}

/// Every frame of a run, by its number.
#[derive(Debug, Default)]
pub struct Ledger {
    pub fates: Vec<Fate>,
    /// Frames delivered after one that was sent later.
    pub reordered: u64,
    next_delivery: u64,
    /// When the sender learned what from ACKs without anything missing: `(at, everything before this has arrived)`.
    pub acks: Vec<(Time, u16)>,
}

impl Ledger {
    pub fn count(&self, of: impl Fn(&Fate) -> bool) -> u64 {
        self.fates.iter().filter(|fate| of(fate)).count() as u64
    }

    fn fate(&mut self, frame: &Frame) -> &mut Fate {
        let index = frame.id as usize;
        if index >= self.fates.len() {
            self.fates.resize(index + 1, Fate::default());
        }
        &mut self.fates[index]
    }
}

impl Observer for Ledger {
    fn sent(&mut self, port: PortId, at: Time, sent: &Sent<'_>) {
        let (frame, copy) = match sent.frame {
            OnWire::Protected { header, frame } => (frame, header.is_copy()),
            OnWire::Plain { frame } | OnWire::WithAck { frame, .. } => (frame, false),
            OnWire::Damaged { .. } | OnWire::Ack { .. } | OnWire::Pause { .. } | OnWire::Control { .. } => {
                return;
            }
        };
        assert_eq!(port, SENDER, "only the sender has traffic");
        let fate = self.fate(frame);
        if copy {
            fate.copies += 1;
            fate.copies_corrupted += u32::from(sent.corrupted);
        } else {
            fate.originals += 1;
            fate.original_corrupted = sent.corrupted;
            fate.sent_at = at;
        }
    }

    fn received(&mut self, port: PortId, at: Time, received: &Received<'_>) {
        match received.frame {
            OnWire::Protected { frame, .. } | OnWire::WithAck { frame, .. } | OnWire::Plain { frame } => {
                assert_eq!(port, RECEIVER, "only the sender has traffic");
                let fate = self.fate(frame);
                fate.arrived_at = fate.arrived_at.or(Some(at));
            }
            OnWire::Ack { ack: AnyAck::LinkGuardian(next) } => self.acks.push((at, next.number())),
            _ => {}
        }
    }

    fn delivered(&mut self, port: PortId, at: Time, frame: &Frame) {
        assert_eq!(port, RECEIVER, "only the sender has traffic");
        self.reordered += u64::from(frame.id < self.next_delivery);
        self.next_delivery = self.next_delivery.max(frame.id + 1);
        let fate = self.fate(frame);
        fate.deliveries += 1;
        fate.delivered_at = at;
        assert_eq!(fate.deliveries, 1, "frame {} is delivered twice", frame.id);
        assert!(fate.arrived_at.is_some(), "frame {} is delivered before it arrives", frame.id);
    }
}
