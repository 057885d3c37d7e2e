//! When what was written left and was acknowledged (`SO_TIMESTAMPING` of what is sent, in the kernel's documentation).

use linkmend_transport::Nanos;
use std::collections::VecDeque;

/// What a timestamp is of; the names of `ee_info`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// It was handed to the queue of the network card.
    Scheduled,
    /// It was handed to the card. The simulated host's takes everything at once.
    Sent,
    Acknowledged,
}

impl Moment {
    /// Its name in a script.
    pub fn name(self) -> &'static str {
        match self {
            Moment::Scheduled => "SCM_TSTAMP_SCHED",
            Moment::Sent => "SCM_TSTAMP_SND",
            Moment::Acknowledged => "SCM_TSTAMP_ACK",
        }
    }
}

/// A timestamp in the error queue of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timestamp {
    pub moment: Moment,
    pub at: Nanos,
    /// The number of the byte, counted from when timestamps were asked for; 0 unless numbers were asked for, too.
    pub key: u64,
}

/// The timestamps of one socket.
#[derive(Debug, Default)]
pub struct Timestamping {
    moments: Vec<Moment>,
    has_keys: bool,
    /// Bytes acknowledged when they were asked for.
    base: u64,
    /// The last byte of each call that wrote, and whether it has left.
    written: VecDeque<(u64, bool)>,
    queue: VecDeque<Timestamp>,
}

impl Timestamping {
    /// Timestamps as the flags of the option ask for them, from now on.
    pub fn new(flags: &[&str], acknowledged: u64) -> Timestamping {
        let asked = [
            ("SOF_TIMESTAMPING_TX_SCHED", Moment::Scheduled),
            ("SOF_TIMESTAMPING_TX_SOFTWARE", Moment::Sent),
            ("SOF_TIMESTAMPING_TX_ACK", Moment::Acknowledged),
        ];
        let moments = asked.iter().filter(|(flag, _)| flags.contains(flag)).map(|(_, moment)| *moment);
        let has_keys = flags.contains(&"SOF_TIMESTAMPING_OPT_ID");
        Timestamping { moments: moments.collect(), has_keys, base: acknowledged, ..Timestamping::default() }
    }

    /// A call has written everything before the byte `end`, counted from 0.
    pub fn handle_written(&mut self, end: u64) {
        self.written.push_back((end, false));
    }

    /// So much has been sent and acknowledged by now.
    pub fn handle_progress(&mut self, now: Nanos, sent: u64, acknowledged: u64) {
        let Timestamping { moments, has_keys, base, written, queue } = self;
        let mut report = |moment: Moment, end: u64| {
            if moments.contains(&moment) {
                let key = if *has_keys { (end - 1).saturating_sub(*base) } else { 0 };
                queue.push_back(Timestamp { moment, at: now, key });
            }
        };
        for (end, has_left) in written.iter_mut().filter(|(end, has_left)| !has_left && *end <= sent) {
            *has_left = true;
            report(Moment::Scheduled, *end);
            report(Moment::Sent, *end);
        }
        while let Some((end, _)) = written.pop_front_if(|(end, _)| *end <= acknowledged) {
            report(Moment::Acknowledged, end);
        }
    }

    /// The oldest one in the error queue.
    pub fn take(&mut self) -> Option<Timestamp> {
        self.queue.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_byte_of_each_call_is_timed_as_asked() {
        let flags = ["SOF_TIMESTAMPING_TX_SCHED", "SOF_TIMESTAMPING_TX_ACK", "SOF_TIMESTAMPING_OPT_ID"];
        let mut timestamping = Timestamping::new(&flags, 100);
        timestamping.handle_written(300);
        timestamping.handle_written(400);
        timestamping.handle_progress(Nanos(1), 399, 100);
        timestamping.handle_progress(Nanos(2), 400, 350);
        let found: Vec<_> = std::iter::from_fn(|| timestamping.take()).collect();
        let timestamp = |moment, at, key| Timestamp { moment, at: Nanos(at), key };
        let wanted = [
            timestamp(Moment::Scheduled, 1, 199),
            timestamp(Moment::Scheduled, 2, 299),
            timestamp(Moment::Acknowledged, 2, 199),
        ];
        assert_eq!(found, wanted);
    }
}
