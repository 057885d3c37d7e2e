//! One side of a protected link: a sending and a receiving side, each with both lanes and a session, and what they
//! share.
//!
//! A call of the driver goes to the side that it concerns, together with the shared part; the few calls that concern
//! both sides are assembled here. The sides do not know each other.

mod acquaintance;
mod clock;
mod fast_forward;
mod formats;
mod frame_calls;
mod hellos;
mod interface;
mod leaving;
mod receiving;
mod sending;
mod sessionless;
mod shared;
mod timers;
mod two_paths;

pub use fast_forward::{SteadyState, Undisturbed};
pub use interface::{Admission, Control, Priority, Protection, Reception, Status, Transmit};
pub use sending::RoundTrips;

use crate::config::Config;
use crate::config_error::ConfigError;
use crate::event::CloseReason;
use crate::frame::PiggybackAck;
use crate::mode::{Mode, PerMode};
use crate::session::ReceiveState;
use crate::stats::Stats;
use crate::time::Instant;
use receiving::ReceivingSide;
use sending::SendingSide;
use shared::Shared;

/// One side of a protected link. The crate documentation gives the order of calls.
///
/// # One frame inside
///
/// **Sending.** [`admission`](SendingSide::admission) asks the lane for room in the Tx buffer
/// ([`has_room`](crate::sender::Sender::has_room)). [`send`](SendingSide::send) numbers the frame, and the
/// [`Sender`](crate::sender::Sender::send) of the lane keeps its handle.
///
/// **Receiving.** [`handle_data`](ReceivingSide::handle_data) takes the number ([`take_data`](ReceivingSide::take_data)). If it is
/// the next one of its lane, only [`accept_next`](crate::receiver::Receiver::accept_next) is called. Otherwise
/// [`handle_out_of_order`](ReceivingSide::handle_out_of_order) buffers the frame, and
/// [`loss_found`](ReceivingSide::loss_found) makes a report urgent.
///
/// **Reporting.** [`poll_urgent_feedback`](ReceivingSide::poll_urgent_feedback) writes the report
/// ([`compose_new_losses`](ReceivingSide::compose_new_losses)). Without a loss, an ACK is piggybacked on a frame
/// ([`take_piggyback`](ReceivingSide::take_piggyback)) or sent alone ([`poll_ack`](ReceivingSide::poll_ack)).
///
/// **Retransmitting.** [`SendingSide::handle_feedback`] passes the report to the lane
/// ([`handle_feedback`](crate::sender::Sender::handle_feedback)), whose
/// [`poll_retransmission`](crate::sender::Sender::poll_retransmission) emits the copies.
#[derive(Debug)]
pub struct LinkEnd {
    shared: Shared,
    sending: SendingSide,
    receiving: ReceivingSide,
}

impl LinkEnd {
    /// A dormant link end. `seed` makes its session numbers; a daemon passes something random, a simulator its seed.
    ///
    /// # Errors
    /// The first parameter that is out of its bounds.
    pub fn new(config: Config, seed: u64) -> Result<LinkEnd, ConfigError> {
        config.validate()?;
        Ok(LinkEnd {
            sending: SendingSide::new(&config),
            receiving: ReceivingSide::new(&config),
            shared: Shared::new(config, seed),
        })
    }

    /// Asks for protection of the sending direction, or changes its copies. The link stays dormant until the peer
    /// answers.
    pub fn protect(&mut self, now: Instant, protection: Protection) {
        let now = self.advance(now);
        self.sending.protect(&mut self.shared, now, protection);
    }

    /// Ends protection of the sending direction, without losing, duplicating or reordering a frame.
    pub fn unprotect(&mut self, now: Instant) {
        let now = self.advance(now);
        self.sending.unprotect(&self.shared, now);
    }

    /// Replaces the parameters that may change while running: all but the format and `window_frames`, which keep their
    /// values. The fallback continues from its level, or from [`Level::Full`](crate::Level::Full) if it is switched
    /// off; the loss window continues from what it has counted.
    ///
    /// # Errors
    /// The first parameter that is out of its bounds; nothing is changed then.
    pub fn reconfigure(&mut self, config: Config) -> Result<(), ConfigError> {
        let Config { format, window_frames, .. } = self.shared.config;
        let config = Config { format, window_frames, ..config };
        config.validate()?;
        self.shared.config = config;
        self.receiving.reconfigure(&config);
        self.sending.reconfigure(&mut self.shared);
        Ok(())
    }

    /// The parameters in force.
    pub const fn config(&self) -> &Config {
        &self.shared.config
    }

    /// Reports that this end did not run for a while and the kernel delivered frames in its place. Frames that the
    /// receiver believes missing may have been delivered, so its session ends; the sender will notice and begin a new
    /// one.
    pub fn handle_stall(&mut self, now: Instant) {
        self.advance(now);
        self.receiving.leave_to_kernel(&mut self.shared, CloseReason::Stalled);
    }

    /// Ends the receiving session because the driver stops, and the kernel delivers what the peer still sends. Everything
    /// buffered is to be delivered first.
    pub fn handle_stop(&mut self, now: Instant) {
        self.advance(now);
        self.receiving.leave_to_kernel(&mut self.shared, CloseReason::Stopped);
    }

    /// Switches to another path ([`crate::paths`]): retransmits all frames that are not known to have arrived, in order
    /// and once each, and immediately tells the peer what has arrived here. Returns the number of frames. This works
    /// only in the transparent format, because the authors' receiver accepts no copies that it has not requested.
    pub fn change_path(&mut self, now: Instant) -> u64 {
        let now = self.advance(now);
        self.receiving.report_at_once();
        self.sending.change_path(&mut self.shared, now)
    }

    /// Records whether another path would carry frames without much loss ([`crate::paths::Paths::has_clean_other`]).
    /// Then the fallback gives up neither order nor protection, and frames are resent more often before they are given
    /// up, because that path is going to be used. Returns whether that is new.
    pub fn set_clean_other(&mut self, is_clean: bool) -> bool {
        self.sending.set_clean_other(is_clean)
    }

    /// The loss rate of the path in use before recovery, as far as it was measured; 1 if a frame was lost in all its
    /// rounds, which means that it cannot pass.
    #[inline]
    pub fn path_loss(&self) -> Option<f64> {
        self.sending.path_loss()
    }

    /// Counters, with the buffers' current levels.
    pub fn stats(&self) -> Stats {
        let LinkEnd { shared, sending, receiving } = self;
        let mut stats = shared.stats;
        stats.tx_buffer = PerMode(Mode::ALL.map(|mode| *sending.senders[mode].buffer()));
        stats.rx_buffer = *receiving.receivers[Mode::Ordered].buffer();
        stats.missing_frames = receiving.missing();
        if let Some(since) = sending.paused_since {
            stats.paused_ticks += shared.now.since(since).0;
        }
        stats
    }

    /// Resets the extremes of the buffers.
    pub fn reset_buffer_extremes(&mut self) {
        for mode in Mode::ALL {
            self.sending.senders[mode].buffer_mut().reset_extremes();
            self.receiving.receivers[mode].buffer_mut().reset_extremes();
        }
    }

    /// State for displays.
    pub fn status(&self) -> Status {
        let LinkEnd { shared, sending, receiving } = self;
        Status {
            transmit: sending.transmit.state,
            receive: if receiving.receive.active.is_some() {
                ReceiveState::Active
            } else {
                ReceiveState::Listening
            },
            protection_requested: sending.protection.is_some(),
            level: sending.fallback.level(),
            copies: sending.copies,
            measured_loss: sending.loss.estimate(),
            mismatched_format: shared.mismatched_format,
            paused: sending.is_paused(),
            outstanding_frames: sending.outstanding(),
        }
    }

    /// Handles a control frame from the link. `false` if it did not fit (stale or forged); it was counted.
    pub fn handle_control(&mut self, now: Instant, control: &Control) -> bool {
        let now = self.advance(now);
        let LinkEnd { shared, sending, receiving } = self;
        let accepted = match *control {
            Control::Hello { nonce, echo } => {
                shared.handle_hello(now, nonce, echo);
                return true;
            }
            Control::OldHello => {
                shared.handle_old_hello(now);
                return true;
            }
            Control::Probe(_) => true,
            Control::Init { session, format } => receiving.handle_init(shared, session, format),
            // The authors' protocol has none of these.
            _ if control.has_magic() && shared.is_sessionless() => false,
            Control::InitEcho { session, nonce, window_frames, format } => {
                sending.handle_init_echo(shared, now, session, nonce, window_frames, format)
            }
            Control::Start { session, nonce } => receiving.handle_start(shared, now, session, nonce),
            Control::Feedback(ref feedback) => sending.handle_feedback(shared, now, feedback),
            Control::Dummy { session, stamp, next, held_from } => {
                receiving.handle_dummy(shared, now, session, stamp, next, held_from)
            }
            Control::Fin { session } => {
                sending.handle_request(shared, now, session) || receiving.handle_fin(shared, session)
            }
            Control::FinEcho { session } => {
                receiving.handle_unknown(shared, session) || sending.handle_fin_echo(shared, now, session)
            }
            // It is counted there, and has no magic, so nothing more is to be done for it.
            Control::CompactAck { next } => {
                return sending.acknowledged(shared, now, PiggybackAck { mode: Mode::Ordered, next });
            }
            Control::CompactNotification { next, hole } => {
                sending.handle_notification(shared, now, next, hole)
            }
            Control::CompactDummy { mode, next } => receiving.handle_compact_dummy(shared, now, mode, next),
            Control::PriorityPause { paused } => sending.handle_priority_pause(shared, now, paused),
        };
        shared.stats.control_rejected += u64::from(!accepted);
        if accepted && control.is_proof() {
            shared.note_proof(now);
        }
        accepted
    }

    /// Control frames and copies to put on the link, by priority; see the crate documentation for the order.
    pub fn poll_transmit(&mut self, now: Instant, priority: Priority) -> Option<Transmit> {
        match priority {
            Priority::High => {
                self.poll_urgent(now).map(Transmit::Control).or_else(|| self.poll_retransmission())
            }
            Priority::Low => {
                let now = self.advance(now);
                let LinkEnd { shared, sending, receiving } = self;
                let control = sending.poll_dummy(shared, now).or_else(|| receiving.poll_ack(shared, now))?;
                shared.postpone_hello(now, &control);
                Some(Transmit::Control(control))
            }
        }
    }

    /// The control frames of [`Priority::High`] alone, for drivers that cannot retransmit at every moment.
    pub fn poll_urgent(&mut self, now: Instant) -> Option<Control> {
        let now = self.advance(now);
        let LinkEnd { shared, sending, receiving } = self;
        let control = receiving
            .poll_handshake(shared, now)
            .or_else(|| sending.poll_handshake(shared, now))
            .or_else(|| receiving.poll_urgent_feedback(shared, now))
            .or_else(|| sending.poll_withdrawal(shared, now))
            .or_else(|| sending.poll_overdue_dummy(shared, now))
            .or_else(|| shared.poll_hello(now))?;
        shared.postpone_hello(now, &control);
        Some(control)
    }
}
