//! Requests to the loop, and the report that answers each of them.

use super::link_side::port_report;
use super::{Engine, log_texts};
use crate::bypass::Bypass;
use crate::capture::Tap;
use crate::command::{Command, CommandError, CommandResult};
use crate::corruption::DrawnLosses;
use crate::loss_script::LossInjector;
use crate::settings::ProtectionSettings;
use linkmend_control::report::{
    BufferReport, CountersReport, DaemonReport, HistogramReport, Mode, ParametersReport, ThirdEndReport,
};
use linkmend_control::{CorruptionModel, LinkReport, Side};
use linkmend_linux::route::InterfaceFacts;
use linkmend_protocol::paths::Path;
use linkmend_protocol::{BufferStats, Format, Histogram, Protection, Stats};
use std::sync::mpsc::SyncSender;

/// A request that the handle sends to the loop.
pub(crate) enum Request {
    Command {
        command: Command,
        reply: SyncSender<CommandResult>,
    },
    /// The state of the interface with this index; `None` when the interface is gone.
    Interface {
        index: u32,
        facts: Option<Box<InterfaceFacts>>,
    },
    Capture {
        tap: Tap,
        reply: SyncSender<bool>,
    },
    /// The start has succeeded: what was attached stays when the loop ends.
    Keep,
    Stop,
}

impl Engine {
    /// Handles requests. Returns `true` if one of them stops the loop, or if nobody can send any more.
    pub(super) fn handle_requests(&mut self, now: u64) -> bool {
        use std::sync::mpsc::TryRecvError;
        loop {
            match self.requests.try_recv() {
                Ok(Request::Command { command, reply }) => {
                    let result = self.handle_command(now, command).map(|()| Box::new(self.report(now)));
                    // Whoever asked may be gone and needs no answer then.
                    let _ = reply.try_send(result);
                }
                Ok(Request::Interface { index, facts }) => self.handle_interface(index, facts.as_deref()),
                Ok(Request::Capture { tap, reply }) => {
                    let _ = reply.try_send(self.taps.add(tap));
                    self.notify_captures();
                }
                Ok(Request::Keep) => self.bypass.iter_mut().for_each(Bypass::keep),
                Ok(Request::Stop) | Err(TryRecvError::Disconnected) => return true,
                Err(TryRecvError::Empty) => break,
            }
        }
        self.derive_parameters();
        false
    }

    fn handle_command(&mut self, now: u64, command: Command) -> Result<(), CommandError> {
        let link = || self.settings.name.clone();
        match command {
            Command::Protect(protection) => {
                let format = self.settings.format;
                if format != Format::Transparent && protection.uses_both_modes() {
                    return Err(CommandError::OneMode { link: link(), format });
                }
                if !protection.deadlines.is_empty() && self.in_time.is_none() {
                    return Err(CommandError::DeadlineWithoutUdp { link: link() });
                }
                self.protect(now, protection);
            }
            Command::Unprotect => {
                tracing::info!(link = %self.settings.name, "protection is switched off");
                self.want_protection(now, None);
            }
            Command::Corrupt(_) | Command::CorruptPath(..) | Command::CorruptByScript(_)
                if !self.settings.allow_corruption =>
            {
                return Err(CommandError::CorruptionNotAllowed { link: link() });
            }
            Command::Corrupt(model) => {
                for path in self.sides.paths() {
                    self.corrupt(path, model)?;
                }
            }
            Command::CorruptByScript(script) => {
                tracing::info!(link = %self.settings.name, originals = script.originals.len(), copies = script.copies.len(), "injected corruption by a script");
                self.sides[Path::Primary].corruption = Some(LossInjector::scripted(script));
            }
            Command::CorruptPath(..) | Command::Prefer(_) if self.failover.is_none() => {
                return Err(CommandError::NoBackup { link: link() });
            }
            Command::CorruptPath(path, model) => self.corrupt(path.into(), model)?,
            Command::Prefer(path) => self.prefer(now, path.into()),
            Command::ResetExtremes => {
                self.end.reset_buffer_extremes();
                self.queues.reset_extremes();
            }
            Command::Report => {}
        }
        self.dormant_wanted_ns = None;
        self.update_kernel_mode(now);
        Ok(())
    }

    fn protect(&mut self, now: u64, protection: ProtectionSettings) {
        tracing::info!(
            link = %self.settings.name,
            mode = Mode::from(protection.default_mode()).word(),
            copies = log_texts::copies(protection.copies),
            "protection is switched on"
        );
        self.want_protection(now, Some(Protection { copies: protection.copies }));
        self.protection = protection;
        self.offer_deadlines();
    }

    fn corrupt(&mut self, path: Path, model: Option<CorruptionModel>) -> Result<(), CommandError> {
        // Each activation draws its own losses, so that repeating a model gives another sample; the same commands after
        // the same start still draw the same losses.
        let (seed, sample) = (self.seed, self.corruptions);
        self.corruptions += 1;
        tracing::info!(link = %self.settings.name, corruption = log_texts::corruption(model), on = %path, seed, sample, "injected corruption");
        self.sides[path].corruption = match model {
            Some(model) => Some(
                DrawnLosses::new(model, seed, sample)
                    .map(LossInjector::Drawn)
                    .map_err(|error| CommandError::Corruption { link: self.settings.name.clone(), error })?,
            ),
            None => None,
        };
        Ok(())
    }

    pub(super) fn report(&mut self, now: u64) -> LinkReport {
        let status = self.end.status();
        let stats = self.end.stats();
        let [ordered, non_blocking] = stats.tx_buffer.0.map(buffer);
        let bypass = self.bypass.as_ref();
        let mut links = self.sides.iter_mut().map(|side| side.report(bypass));
        let (link, backup) = (links.next().unwrap_or_default(), links.next().unwrap_or_default());
        LinkReport {
            name: self.settings.name.clone(),
            pid: std::process::id(),
            gone: None,
            uptime_s: (now - self.started_ns) as f64 / 1e9,
            inner: port_report(Side::Inner, &mut self.inner, self.inner_interface, bypass),
            link,
            failover: self.failover_report(now, backup),
            in_time: self.in_time_report(now),
            transmit_state: status.transmit.into(),
            receive_state: status.receive.into(),
            protection_requested: status.protection_requested || self.is_suspended,
            third_end: self.third_end().map(|(third, peer)| ThirdEndReport {
                address: third.to_string(),
                peer_address: peer.map(|peer| peer.to_string()),
            }),
            is_suspended: self.is_suspended,
            set_at_run_time: false,
            restart_forgets: false,
            mode: self.protection.default_mode().into(),
            fallback_level: status.level.into(),
            copies: status.copies,
            measured_loss: status.measured_loss,
            peer_known: self.end.peer_known(),
            has_key: self.seal.is_some(),
            key_trouble: self.key_trouble,
            mismatched_format: status.mismatched_format.map(Into::into),
            paused: status.paused,
            corruption: self.sides[Path::Primary].corruption_model(),
            parameters: self.parameters(),
            counters: self.counters_report(&stats),
            // The extremes of the lanes need not coincide, so their sum only bounds the true extreme.
            tx_buffer: BufferReport {
                now: ordered.now + non_blocking.now,
                min: ordered.min + non_blocking.min,
                max: ordered.max + non_blocking.max,
            },
            rx_buffer: buffer(stats.rx_buffer),
            queue: buffer(*self.queues.buffer()),
            recovery_latency_ns: histogram(&stats.recovery_latency),
            hole_length_frames: histogram(&stats.hole_length),
            // Whoever holds the daemon's links knows this, and whether protection was set at run time.
            daemon: DaemonReport::default(),
        }
    }

    fn parameters(&self) -> ParametersReport {
        let config = self.end.config();
        let round_trips = self.end.round_trips();
        ParametersReport {
            format: config.format.into(),
            link_rtt_ns: (round_trips.samples > 0).then_some(round_trips.min.0),
            recovery_timeout_ns: if config.gives_up_by_clock() { config.recovery_timeout.0 } else { 0 },
            pause_bytes: config.pause_bytes,
            resume_bytes: config.resume_bytes,
            rx_buffer_bytes: config.rx_buffer_bytes,
            tx_buffer_bytes: config.window_bytes,
            window_frames: config.window_frames,
        }
    }

    fn counters_report(&self, stats: &Stats) -> CountersReport {
        CountersReport {
            protected_frames: stats.protected_frames,
            protected_bytes: stats.protected_bytes,
            unprotected_frames: self.counters.unprotected_frames,
            oversize_unprotected_frames: self.counters.oversize_unprotected_frames,
            oversize_dropped_frames: self.counters.oversize_dropped_frames,
            ambiguous_frames: self.counters.ambiguous_frames,
            strange_frames: self.counters.strange_frames,
            forged_frames: self.counters.forged_frames,
            retransmitted_copies: stats.retransmitted_copies,
            abandoned_frames: stats.abandoned_frames,
            dummies_sent: stats.dummies_sent,
            acks_sent: stats.acks_sent,
            piggybacked_acks_sent: stats.piggybacked_acks_sent,
            notifications_sent: stats.notifications_sent,
            received_frames: stats.received_frames,
            delivered_frames: stats.delivered_frames,
            delivered_bytes: stats.delivered_bytes,
            lost_frames: stats.lost_frames,
            recovered_frames: stats.recovered_frames,
            recovery_timeouts: stats.recovery_timeouts,
            withdrawn_frames: stats.withdrawn_frames,
            unrecovered_frames: stats.unrecovered_frames,
            exhausted_frames: stats.exhausted_frames,
            duplicates_dropped: stats.duplicates_dropped,
            rx_buffer_overflows: stats.rx_buffer_overflows,
            out_of_window_frames: stats.out_of_window_frames,
            orphan_frames: stats.orphan_frames,
            orphan_copies_dropped: stats.orphan_copies_dropped,
            control_rejected: stats.control_rejected,
            malformed_frames: self.counters.malformed_frames,
            pauses_sent: stats.pauses_sent,
            pauses_received: stats.pauses_received,
            paused_ns: stats.paused_ticks,
            sessions_opened: stats.sessions_opened,
            sessions_accepted: stats.sessions_accepted,
            peers_lost: stats.peers_lost,
            fallback_changes: stats.fallback_changes,
            queue_drops: self.counters.queue_drops,
            ecn_marked_frames: self.counters.ecn_marked_frames,
            inner_port_drops: self.counters.inner_port_drops,
            corrupted_frames: self.sides.iter().map(|side| side.corrupted_frames).sum(),
            stalls: self.counters.stalls,
            pool_exhausted: self.counters.pool_exhausted,
        }
    }
}

fn buffer(stats: BufferStats) -> BufferReport {
    BufferReport { now: stats.now, min: stats.min, max: stats.max }
}

fn histogram(histogram: &Histogram) -> HistogramReport {
    HistogramReport {
        count: histogram.count(),
        sum: histogram.sum(),
        max: histogram.max(),
        p50: histogram.quantile(0.5),
        p99: histogram.quantile(0.99),
        buckets: histogram.buckets().filter(|&(_, count)| count > 0).collect(),
    }
}
