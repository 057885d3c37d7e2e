//! Packets that arrive and packets that are expected.

use super::{Difference, Runner, Stop};
use crate::Position;
use crate::host::Sent;
use crate::matching::{difference, timestamps};
use crate::script::{Options, Packet, TcpOption};
use linkmend_transport::Nanos;
use linkmend_transport::tcp::Flags;

impl Runner {
    pub(super) fn inject(&mut self, at: Position, packet: &Packet) -> Result<(), Stop> {
        if let Options::These(options) = &packet.options
            && options.iter().any(|option| matches!(option, TcpOption::FastOpen { .. }))
        {
            return Err(Stop::Lacks(at, "Fast Open".to_owned()));
        }
        let is_syn = packet.flags.contains(Flags::SYN) && !packet.flags.contains(Flags::ACK);
        if is_syn
            && !self.host.is_busy()
            && let Some(listening) = self.descriptors.listening()
        {
            self.host.connect(&listening.settings, true).map_err(|feature| Stop::Lacks(at, feature))?;
            self.descriptors.is_accepted = false;
        }
        if self.host.connection.is_none() {
            return Err(Stop::Lacks(at, "packets without a socket".to_owned()));
        }
        self.host.inject(packet);
        Ok(())
    }

    /// Waits for the packet, and compares it. Returns when it was sent.
    pub(super) fn expect_packet(
        &mut self,
        at: Position,
        expected: &Packet,
        begin: Nanos,
        end: Nanos,
        is_any: bool,
    ) -> Result<Nanos, Stop> {
        let limit = end + self.tolerance();
        let script = |time: Nanos| Some(format!("{:.6} {expected}", time.as_secs_f64()));
        let Some(mut sent) = self.wait_for_packet(limit)? else {
            let message = match is_any {
                true => "no further packet is sent".to_owned(),
                false => format!("no packet is sent by {:.6}", limit.as_secs_f64()),
            };
            return Err(Stop::Differs(Difference { at, message, expected: script(begin), actual: None }));
        };
        let joins = !self.host.settings.has_strict_segments;
        let is_joined = joins && self.join(&mut sent, expected.length);
        let mut actual = self.as_expected(&sent.packet, expected);
        let behind = sent.packet.sequence.wrapping_add(sent.packet.length);
        let is_amid = sent.packet.length > 0 && behind != (self.host.written as u32).wrapping_add(1);
        if is_joined || is_amid {
            // Where a stream that goes on is pushed is up to a sender (RFC 9293, section 3.9.1.2), and depends on how
            // the kernel's version joins what was written.
            let pushed = Flags(expected.flags.0 & Flags::PSH.0);
            actual.flags.remove(Flags::PSH);
            actual.flags.insert(pushed);
        }
        let differs = |message| {
            let shown = Packet { ecn: expected.ecn.and(actual.ecn), ..actual.clone() };
            let actual = Some(format!("{:.6} {shown}", sent.at.as_secs_f64()));
            Stop::Differs(Difference { at, message, expected: script(begin), actual })
        };
        if let Some(message) = difference(expected, &actual) {
            return Err(differs(message));
        }
        let is_early = sent.at + self.tolerance() < begin;
        if !is_any && (is_early || sent.at > limit) {
            let by = if is_early { begin.saturating_sub(sent.at) } else { sent.at.saturating_sub(end) };
            let direction = if is_early { "early" } else { "late" };
            return Err(differs(format!("{:.6} s too {direction}", by.as_secs_f64())));
        }
        self.check_timestamps(expected, &sent.packet).map_err(differs)?;
        Ok(sent.at)
    }

    /// Lets the time pass until a packet is sent, and no farther than `limit`.
    fn wait_for_packet(&mut self, limit: Nanos) -> Result<Option<Sent>, Stop> {
        loop {
            if let Some(sent) = self.host.take_sent() {
                return Ok(Some(sent));
            }
            let Some(timer) = self.host.next_timer(limit) else { return Ok(None) };
            self.host.set_time(timer);
            self.try_call()?;
        }
    }

    /// Joins consecutive packets of data until they have as much of it as `length`, as segmentation offload would.
    /// Returns whether there were several.
    fn join(&mut self, sent: &mut Sent, length: u32) -> bool {
        let mut is_joined = false;
        while let Some(next) = self.host.peek_sent() {
            let joined = sent.packet.length.saturating_add(next.packet.length);
            let follows = next.packet.sequence == sent.packet.sequence.wrapping_add(sent.packet.length);
            let belongs = sent.packet.length > 0 && next.packet.length > 0 && follows && next.at == sent.at;
            if !belongs || joined > length || sent.packet.flags.contains(Flags::FIN) {
                break;
            }
            sent.packet.length = joined;
            sent.packet.flags.insert(next.packet.flags);
            self.host.take_sent();
            is_joined = true;
        }
        is_joined
    }

    /// The actual packet with the script's name for its timestamp, for messages.
    fn as_expected(&self, actual: &Packet, expected: &Packet) -> Packet {
        let mut shown = actual.clone();
        if let (Some((value, _)), Options::These(options)) =
            (timestamps(&expected.options), &mut shown.options)
        {
            for option in options {
                if let TcpOption::Timestamps { value: shown, .. } = option {
                    *shown = value;
                }
            }
        }
        shown
    }

    /// The script's timestamps name those of the host; their differences are compared if the script names the tick.
    fn check_timestamps(&mut self, expected: &Packet, actual: &Packet) -> Result<(), String> {
        let (Some((expected, _)), Some((actual, _))) =
            (timestamps(&expected.options), timestamps(&actual.options))
        else {
            return Ok(());
        };
        if let (Some(tick), Some((first_expected, first_actual))) =
            (self.host.settings.timestamp_tick, self.host.first_timestamp())
        {
            // The host counts milliseconds.
            let wanted = u64::from(expected.wrapping_sub(first_expected)).saturating_mul(tick.as_micros());
            let found = u64::from(actual.wrapping_sub(first_actual)).saturating_mul(1_000);
            let allowed = self.tolerance().as_micros() + tick.as_micros().max(1_000);
            if wanted.abs_diff(found) > allowed {
                return Err(format!("the timestamp is {found} us behind the first instead of {wanted} us"));
            }
        }
        self.host.name_timestamp(expected, actual);
        Ok(())
    }
}
