//! LinkGuardian (SIGCOMM 2023): the protocol's link end, and its buffers in the switch.
//!
//! The state machine is that of [`linkmend_protocol`]. This is the only place where the simulator's driver differs from
//! the others: with recirculating buffers, a copy or a buffered frame is available only when it comes back from its
//! loop.

mod buffers;
mod control;
mod steady;

use super::context::OUT_OF_REACH;
use super::{Account, Buffer, ControlFrames, FastForward, Loops, PortSeed, Reception, Scheme, SchemeContext};
use crate::link::frame::{COMPACT_HEADER_BYTES, Frame};
use crate::link::slots::Slots;
use crate::random::Random;
use crate::time::Time;
use buffers::TxFrame;
use linkmend_protocol::wire::HEADER_GROWTH_MAX;
use linkmend_protocol::{
    Admission, Config, ConfigError, Control, Copies, DataHeader, Format, FrameHandle, Instant, LinkEnd, Mode,
    Protection, SEQUENCE_SPACE, SequenceNumber, Transmit,
};

/// Configuration of a link end.
#[derive(Debug, Clone)]
pub struct LinkGuardianConfig {
    /// The link end's parameters, in picoseconds instead of nanoseconds.
    pub protocol: Config,
    /// Whether it protects the frames that it sends, and with how many copies.
    pub protect: Option<Copies>,
    /// Whether it protects nothing until [`LinkGuardian::protect`] is called.
    pub begins_dormant: bool,
    /// The recirculation port that holds its buffered frames; `None` for direct buffering.
    pub recirculation: Option<usize>,
    /// Time between the timer packets that carry timeouts, pause and resume (section 3.5); zero for none.
    pub timer_interval: Time,
}

/// A link end and its buffers.
#[derive(Debug)]
pub struct LinkGuardian {
    end: LinkEnd,
    /// Number of copies, once it protects.
    protect: Option<Copies>,
    recirculation: Option<usize>,
    timer_interval: Time,
    /// How often the link end must be served while its port is busy. An idle port serves it anyway.
    housekeeping: Option<Time>,
    /// Bytes that a data header adds to a frame.
    header_bytes: u32,
    /// As sender: the pause state. As receiver: the pause state that it last requested.
    paused: bool,
    told_paused: bool,
    /// Whether the frame that has returned is being retransmitted.
    copied: bool,
    tx: Slots<TxFrame>,
    rx: Slots<Frame>,
    tx_bytes: u64,
    /// The maximum level of the Tx buffer, if its frames recirculate: a frame keeps its place until it returns, even if
    /// it has been acknowledged in the meantime.
    tx_bytes_max: u64,
    rx_bytes: u64,
}

impl LinkGuardian {
    /// The state machine.
    pub fn link_end(&self) -> &LinkEnd {
        &self.end
    }

    /// Starts protection if the end started dormant. The link stays dormant until the peer has answered.
    pub fn protect(&mut self, now: Time) {
        if let Some(copies) = self.protect {
            self.end.protect(Instant(now.0), Protection { copies });
        }
    }

    /// How often an end must be served while it sends. A port that is never idle would send no ACKs, repeat no
    /// handshakes, and never retry after a fallback. An end that may have to do any of these is therefore served as
    /// often as its ACKs are due.
    fn housekeeping(config: &LinkGuardianConfig, peer: &LinkGuardianConfig) -> Option<Time> {
        let fallback = config.protect.is_some() && config.protocol.fallback.enabled;
        let needed = fallback || config.begins_dormant || peer.protect.is_some();
        let interval = config.protocol.ack_interval;
        (needed && interval.0 < OUT_OF_REACH).then_some(Time(interval.0))
    }

    /// Schedules service for an end that sends without a break, if necessary.
    #[inline(always)]
    fn schedule_housekeeping<C: SchemeContext>(&self, context: &mut C) {
        if let Some(interval) = self.housekeeping {
            context.wake_at(context.now() + interval);
        }
    }

    /// Sets the timer for the next timeout.
    fn set_timer<C: SchemeContext>(&self, context: &mut C) {
        if let Some(at) = self.next_timeout() {
            context.wake_at(at.max(context.now()));
        }
    }

    /// Sends overdue dummies. If other traffic keeps the port busy, there is no idle slot for the dummies of a lane
    /// that has nothing to send.
    #[inline(never)]
    fn arm_dummy<C: SchemeContext>(&self, context: &mut C) {
        if self.end.outstanding() == 0 {
            return;
        }
        let Some(at) = self.end.dummy_overdue_at() else { return };
        if at.0 <= context.now().0 {
            context.request_service();
        } else {
            context.wake_at(Time(at.0));
        }
    }
}

impl Scheme for LinkGuardian {
    type Config = LinkGuardianConfig;
    type Header = DataHeader;
    type Ack = SequenceNumber;
    type Control = Control;

    fn new(
        config: &LinkGuardianConfig,
        peer: &LinkGuardianConfig,
        port_seed: PortSeed,
    ) -> Result<Self, ConfigError> {
        let session = Random::new(port_seed.seed, &format!("end {} session", port_seed.port)).next_u64();
        let mut end = LinkEnd::new(config.protocol, session)?;
        if let Some(copies) = config.protect
            && !config.begins_dormant
        {
            end.protect(Instant(0), Protection { copies });
        }
        Ok(LinkGuardian {
            end,
            protect: config.protect,
            recirculation: config.recirculation,
            timer_interval: config.timer_interval,
            housekeeping: LinkGuardian::housekeeping(config, peer),
            header_bytes: match config.protocol.format {
                Format::Compact | Format::Linkguardian => COMPACT_HEADER_BYTES,
                Format::Transparent => HEADER_GROWTH_MAX as u32,
            },
            paused: false,
            told_paused: false,
            copied: false,
            tx: Slots::new(),
            rx: Slots::new(),
            tx_bytes: 0,
            tx_bytes_max: config.recirculation.map_or(u64::MAX, |_| config.protocol.window_bytes),
            rx_bytes: 0,
        })
    }

    #[inline(always)]
    fn header_bytes(&self) -> u32 {
        self.header_bytes
    }

    #[inline(always)]
    fn admission(&self, mode: Mode, bytes: u32) -> Admission {
        if self.tx_bytes + u64::from(bytes) > self.tx_bytes_max {
            return Admission::Held;
        }
        self.end.admission(mode, bytes)
    }

    fn waits_for_lane(&self, mode: Mode) -> bool {
        self.end.waits_for_lane(mode)
    }

    #[inline(always)]
    fn send<C: SchemeContext>(&mut self, context: &mut C, frame: Frame) -> DataHeader {
        self.schedule_housekeeping(context);
        let circling = self.recirculation.is_some();
        let slot = self.tx.put(TxFrame { frame, released: false, circling });
        let bytes = u32::from(frame.bytes);
        let header = self.end.send_admitted(Instant(context.now().0), frame.mode, FrameHandle(slot), bytes);
        let other_lane_waits = self.end.outstanding() > self.end.outstanding_in(header.mode);
        self.tx_bytes += u64::from(bytes);
        if let Some(at) = self.recirculation {
            context.circulate(at, Buffer::Tx, slot, &frame, self.header_bytes);
        }
        context.tx_level(self.tx_bytes);
        if other_lane_waits {
            self.arm_dummy(&mut context.reborrow());
        }
        header
    }

    #[inline(always)]
    fn handle_data<C: SchemeContext>(
        &mut self,
        context: &mut C,
        header: &DataHeader,
        frame: Frame,
    ) -> Reception {
        // Reserves a slot in the Rx buffer, in case the link end keeps the frame.
        let slot = self.rx.next();
        let bytes = u32::from(frame.bytes);
        let reception = self.end.handle_data(Instant(context.now().0), header, FrameHandle(slot), bytes);
        if self.end.is_urgent() {
            context.request_service();
        }
        if header.ack.is_some() {
            self.release(context);
        }
        let reception = match reception {
            linkmend_protocol::Reception::Deliver if self.rx_bytes > 0 => Reception::DeliverMore,
            linkmend_protocol::Reception::Deliver => Reception::Deliver,
            linkmend_protocol::Reception::Drop => Reception::Dropped,
            linkmend_protocol::Reception::Buffered => {
                self.hold(&mut context.reborrow(), slot, frame);
                // A circulating frame is passed on when it comes back.
                if self.recirculation.is_some() { Reception::Buffered } else { Reception::BufferedMore }
            }
        };
        if self.end.missing() > 0 {
            self.set_timer(&mut context.reborrow());
        }
        reception
    }

    fn poll_retransmission(&mut self) -> Option<(DataHeader, Frame)> {
        if self.recirculation.is_some() {
            return None;
        }
        match self.end.poll_retransmission()? {
            Transmit::Retransmission { frame: FrameHandle(slot), header } => {
                Some((header, self.tx.at(slot).frame))
            }
            Transmit::Control(_) => None,
        }
    }

    /// With direct buffering, delivers all frames whose turn has come. With recirculating buffers, it only skips frames
    /// that were given up after the last buffered one, which would otherwise block the window for good.
    fn poll_deliver<C: SchemeContext>(&mut self, context: &mut C) -> Option<Frame> {
        if self.recirculation.is_some() && self.rx.used() > 0 {
            return None;
        }
        let FrameHandle(slot) = self.end.poll_deliver()?;
        let frame = self.rx.free(slot);
        self.rx_bytes -= u64::from(frame.bytes);
        context.rx_level(self.rx_bytes);
        if self.end.is_urgent() {
            context.request_service();
        }
        Some(frame)
    }

    fn handle_timeout<C: SchemeContext>(&mut self, context: &mut C) {
        self.end.handle_timeout(Instant(context.now().0));
        context.request_service();
        self.release(context);
    }

    /// The receiver gives up on missing frames with the first timer packet after `ackNoTimeout`.
    fn next_timeout(&self) -> Option<Time> {
        let at = self.end.next_recovery_timeout()?;
        Some(Time(at.0.next_multiple_of(self.timer_interval.0.max(1))))
    }

    fn is_drained(&self) -> bool {
        self.rx.used() == 0 && self.end.outstanding() == 0 && self.end.missing() == 0
    }

    #[inline(always)]
    fn control_frames(&mut self) -> Option<&mut impl ControlFrames<SequenceNumber, Control>> {
        Some(self)
    }

    #[inline(always)]
    fn loops(&mut self) -> Option<&mut impl Loops<DataHeader>> {
        Some(self)
    }

    #[inline(always)]
    fn fast_forward(&mut self) -> Option<&mut impl FastForward<DataHeader, SequenceNumber>> {
        Some(self)
    }

    fn link_end_mut(&mut self) -> Option<&mut LinkEnd> {
        Some(&mut self.end)
    }

    #[inline(always)]
    fn account(&self) -> Option<&impl Account<DataHeader>> {
        Some(self)
    }
}

impl Account<DataHeader> for LinkGuardian {
    fn copies(&self) -> Option<u8> {
        Some(self.end.status().copies)
    }

    fn copies_sent(&self) -> u64 {
        self.end.stats().retransmitted_copies
    }

    /// The number is before the one that its lane is waiting for; both are within one window.
    fn has_moved_past(&self, header: &DataHeader) -> bool {
        let next_expected = self.end.next_expected(header.mode);
        let era_space = 2 * SEQUENCE_SPACE;
        let reference =
            era_space + u64::from(next_expected.era()) * SEQUENCE_SPACE + u64::from(next_expected.number());
        header.sequence.expand(reference).is_some_and(|sequence| sequence < reference)
    }

    /// There is no room either for frames that arrive while the window is full of circulating frames.
    fn overflows(&self) -> u64 {
        let stats = self.end.stats();
        stats.rx_buffer_overflows + stats.overflowed_copies + stats.out_of_window_frames
    }

    fn given_up(&self) -> u64 {
        let stats = self.end.stats();
        stats.recovery_timeouts + stats.withdrawn_frames + stats.unrecovered_frames
    }
}
