//! BBR version 1: draft-cardwell-iccrg-bbr-congestion-control-00, whose sections are cited.
//!
//! In addition to the draft, it has what Linux adds for every path: a margin below the estimated rate, and room in the
//! window for aggregated acknowledgements ([`aggregation`]). Linux's long-term bandwidth sampling, which is meant for
//! policers, is left out.

mod aggregation;
mod model;
#[cfg(test)]
mod tests;

use super::{AckSample, Congestion, CongestionControl, Context, Phase, SSTHRESH_MIN, Window};
use crate::time::{Instant, Nanos};
use aggregation::Aggregation;
use model::{Gain, Model};

/// 2 / ln 2: the minimum gain with which the rate can double each round (section 4.3.1.1).
const HIGH_GAIN: Gain = Gain(2_885);
/// Its inverse drains in one round what startup has queued (section 4.3.2).
const DRAIN_GAIN: Gain = Gain(347);
/// It sends a hundredth slower than the bottleneck, so that what was queued can drain (Linux: `bbr_pacing_margin_percent`).
const PACING_MARGIN: Gain = Gain(990);
/// Twice the bandwidth-delay product, for delayed and stretched acknowledgements (section 4.2.3.2).
const CWND_GAIN: Gain = Gain(2_000);
/// The pacing gains of the phases of a cycle (section 4.3.3.1). Their mean is 1.
const CYCLE: [Gain; 8] =
    [Gain(1_250), Gain(750), Gain::ONE, Gain::ONE, Gain::ONE, Gain::ONE, Gain::ONE, Gain::ONE];
/// Startup ends when the bandwidth has not grown by a quarter in this many rounds (section 4.3.1.2).
const FULL_ROUNDS: u8 = 3;
/// The minimum window, in segments (section 4.2.3.2: BBRMinPipeCwnd).
const CWND_MIN: u32 = 4;
/// The time for which that window is kept to measure the round-trip time (section 4.3.4: ProbeRTTDuration).
const PROBE_RTT_DURATION: Nanos = Nanos::from_millis(200);
/// The round-trip time that paces the first window if the handshake has measured none (section 4.2.1).
const RTT_UNKNOWN: Nanos = Nanos::from_millis(1);

/// Its current state (section 3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    /// In the phase of [`CYCLE`] with this index, since this instant.
    ProbeBandwidth {
        phase: usize,
        since: Instant,
    },
    ProbeRtt(ProbeRtt),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct ProbeRtt {
    /// When it may end; set once the window has become small.
    until: Option<Instant>,
    /// Whether a round has passed since then.
    has_round_passed: bool,
}

/// Paces at the estimated bandwidth of the bottleneck and keeps about one bandwidth-delay product in flight.
#[derive(Debug, Clone)]
pub struct Bbr {
    model: Model,
    aggregation: Aggregation,
    state: State,
    pacing_gain: Gain,
    cwnd_gain: Gain,
    /// Bytes per second; 0 before the connection was opened.
    pacing_rate: u64,
    initial_window: u32,
    /// The bandwidth when it last grew by a quarter, the rounds since, and whether startup has filled the pipe.
    full_bandwidth: u64,
    full_rounds: u8,
    is_pipe_full: bool,
    /// Sending has restarted after an idle time, and nothing has been acknowledged yet.
    is_idle_restart: bool,
    /// The window before recovery or before the probe of the round-trip time.
    prior_cwnd: u32,
    phase_before: Phase,
    /// In the first round of recovery, as much is sent as is delivered (section 4.2.3.4).
    conserves_packets: bool,
    /// State of the generator of the cycle's first phase.
    random: u64,
}

impl Bbr {
    /// For a new connection; `seed` decides the phase in which the cycle of gains begins (section 4.3.3.2).
    pub fn new(seed: u64) -> Bbr {
        Bbr {
            model: Model::default(),
            aggregation: Aggregation::default(),
            state: State::Startup,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            pacing_rate: 0,
            initial_window: 0,
            full_bandwidth: 0,
            full_rounds: 0,
            is_pipe_full: false,
            is_idle_restart: false,
            prior_cwnd: 0,
            phase_before: Phase::Open,
            conserves_packets: false,
            random: seed,
        }
    }

    /// SplitMix64 (Steele, Lea and Flood, 2014): uniform below `bound`.
    fn draw(&mut self, bound: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.random ^ (self.random >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (((mixed ^ (mixed >> 31)) >> 32) * bound) >> 32
    }

    /// Section 4.2.3.3: the window for `gain` bandwidth-delay products and what offload keeps in the hosts.
    fn inflight(&self, mss: u32, gain: Gain) -> u32 {
        self.model.inflight(mss, gain, self.pacing_rate).unwrap_or(self.initial_window)
    }

    /// Section 4.2.1: before the pipe is full, the rate is never lowered.
    fn set_pacing_rate(&mut self, gain: Gain) {
        let rate = PACING_MARGIN.of(gain.of(self.model.bandwidth()));
        if rate > 0 && (self.is_pipe_full || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    /// Section 4.3.1.2: BBRCheckFullPipe.
    fn check_full_pipe(&mut self, sample: &AckSample) {
        let is_app_limited = sample.rate.is_none_or(|rate| rate.is_app_limited);
        if self.is_pipe_full || !self.model.is_round_start || is_app_limited {
            return;
        }
        if self.model.bandwidth() >= Gain(1_250).of(self.full_bandwidth) {
            self.full_bandwidth = self.model.bandwidth();
            self.full_rounds = 0;
            return;
        }
        self.full_rounds += 1;
        self.is_pipe_full = self.full_rounds >= FULL_ROUNDS;
    }

    fn enter_startup(&mut self) {
        self.state = State::Startup;
        (self.pacing_gain, self.cwnd_gain) = (HIGH_GAIN, HIGH_GAIN);
    }

    /// Section 4.3.2: BBRCheckDrain.
    fn check_drain(&mut self, context: &Context) {
        if self.state == State::Startup && self.is_pipe_full {
            self.state = State::Drain;
            (self.pacing_gain, self.cwnd_gain) = (DRAIN_GAIN, HIGH_GAIN);
        }
        if self.state == State::Drain && context.in_flight <= self.inflight(context.mss, Gain::ONE) {
            self.enter_probe_bandwidth(context.now);
        }
    }

    /// Section 4.3.3.2: the cycle begins in any phase but the one that drains.
    fn enter_probe_bandwidth(&mut self, now: Instant) {
        self.cwnd_gain = CWND_GAIN;
        let drawn = self.draw(CYCLE.len() as u64 - 1) as usize;
        let phase = if drawn == 0 { 0 } else { drawn + 1 };
        self.begin_phase(phase, now);
    }

    fn begin_phase(&mut self, phase: usize, now: Instant) {
        let phase = phase % CYCLE.len();
        self.pacing_gain = CYCLE[phase];
        self.state = State::ProbeBandwidth { phase, since: now };
    }

    /// Section 4.3.3.2: BBRCheckCyclePhase. A phase lasts for a round-trip time. One that probes goes on until it has
    /// filled the pipe or lost a segment, one that drains ends as soon as it has drained.
    fn check_cycle(&mut self, context: &Context, sample: &AckSample) {
        let State::ProbeBandwidth { phase, since } = self.state else { return };
        let has_lasted = self.model.min_rtt.is_some_and(|rtt| context.now.since(since) > rtt);
        let before = sample.in_flight_before;
        let is_over = if self.pacing_gain > Gain::ONE {
            has_lasted && (sample.lost > 0 || before >= self.inflight(context.mss, self.pacing_gain))
        } else if self.pacing_gain < Gain::ONE {
            has_lasted || before <= self.inflight(context.mss, Gain::ONE)
        } else {
            has_lasted
        };
        if is_over {
            self.begin_phase(phase + 1, context.now);
        }
    }

    /// Section 4.3.4: BBRCheckProbeRTT.
    fn check_probe_rtt(&mut self, context: &Context, sample: &AckSample, has_expired: bool) {
        if has_expired && !self.is_idle_restart && !matches!(self.state, State::ProbeRtt(_)) {
            self.save_cwnd(context);
            self.state = State::ProbeRtt(ProbeRtt::default());
            (self.pacing_gain, self.cwnd_gain) = (Gain::ONE, Gain::ONE);
        }
        if let State::ProbeRtt(probe) = self.state {
            self.handle_probe_rtt(context, probe);
        }
        if sample.delivered > 0 {
            self.is_idle_restart = false;
        }
    }

    fn handle_probe_rtt(&mut self, context: &Context, mut probe: ProbeRtt) {
        // Packets sent with this small window say little about the bandwidth.
        self.model.ignore_rate_of_what_is_sent_now(context.in_flight);
        match probe.until {
            None if context.in_flight <= CWND_MIN => {
                probe.until = Some(context.now + PROBE_RTT_DURATION);
                self.model.begin_round();
            }
            None => (),
            Some(_) if self.model.is_round_start => probe.has_round_passed = true,
            Some(_) => (),
        }
        self.state = State::ProbeRtt(probe);
        if probe.has_round_passed && probe.until.is_some_and(|until| context.now > until) {
            self.model.min_rtt_at = context.now;
            if self.is_pipe_full {
                self.enter_probe_bandwidth(context.now);
            } else {
                self.enter_startup();
            }
        }
    }

    /// Section 4.2.3.4: the last good window, to which recovery and the probe of the round-trip time return.
    fn save_cwnd(&mut self, context: &Context) {
        let in_recovery = matches!(self.phase_before, Phase::Recovery | Phase::Loss);
        let keeps = in_recovery || matches!(self.state, State::ProbeRtt(_));
        let cwnd = context.window.cwnd;
        self.prior_cwnd = if keeps { self.prior_cwnd.max(cwnd) } else { cwnd };
    }

    /// Section 4.2.3.4: BBRModulateCwndForRecovery. Returns whether the first round of recovery decides the window.
    fn recover(&mut self, context: &Context, sample: &AckSample, window: &mut Window) -> bool {
        if sample.lost > 0 {
            window.cwnd = window.cwnd.saturating_sub(sample.lost).max(1);
        }
        let was_recovering = matches!(self.phase_before, Phase::Recovery | Phase::Loss);
        let is_recovering = matches!(context.phase, Phase::Recovery | Phase::Loss);
        if context.phase == Phase::Recovery && self.phase_before != Phase::Recovery {
            self.conserves_packets = true;
            self.model.begin_round();
            window.cwnd = context.in_flight.saturating_add(sample.delivered.max(1));
        } else if was_recovering && !is_recovering {
            window.cwnd = window.cwnd.max(self.prior_cwnd);
            self.conserves_packets = false;
        } else if self.model.is_round_start {
            self.conserves_packets = false;
        }
        self.phase_before = context.phase;
        if self.conserves_packets {
            window.cwnd = window.cwnd.max(context.in_flight.saturating_add(sample.delivered));
        }
        self.conserves_packets
    }

    /// Section 4.2.3: BBRSetCwnd.
    fn set_cwnd(&mut self, context: &Context, sample: &AckSample, window: &mut Window) {
        if sample.delivered > 0 && !self.recover(context, sample, window) {
            let extra = if self.is_pipe_full {
                self.aggregation.extra(context.mss, self.model.bandwidth())
            } else {
                0
            };
            let target = self.inflight(context.mss, self.cwnd_gain).saturating_add(extra);
            let grown = window.cwnd.saturating_add(sample.delivered);
            if self.is_pipe_full {
                window.cwnd = grown.min(target);
            } else if window.cwnd < target || self.model.delivered < u64::from(self.initial_window) {
                window.cwnd = grown;
            }
            window.cwnd = window.cwnd.max(CWND_MIN);
        }
        if matches!(self.state, State::ProbeRtt(_)) {
            window.cwnd = window.cwnd.min(CWND_MIN);
        }
    }
}

impl CongestionControl for Bbr {
    /// BBR does not use the threshold; on congestion, it saves the window.
    fn ssthresh(&mut self, context: &Context, _: Congestion) -> u32 {
        self.save_cwnd(context);
        context.window.ssthresh.max(SSTHRESH_MIN)
    }

    /// Unused, because [`control`](CongestionControl::control) sets the window.
    fn grow(&mut self, _: &Context, _: &mut Window, _: u32) {}

    /// The reduction was spurious, and the detected end of bandwidth growth may be spurious as well.
    fn undo(&mut self, context: &Context, _: Window) -> u32 {
        self.full_bandwidth = 0;
        self.full_rounds = 0;
        context.window.cwnd
    }

    /// Section 4.2.1: the initial window within the round-trip time of the handshake, if it was measured.
    fn opened(&mut self, context: &Context) {
        self.initial_window = context.window.cwnd;
        self.model.min_rtt = context.min_rtt;
        self.model.min_rtt_at = context.now;
        let rtt = context.smoothed_rtt.unwrap_or(RTT_UNKNOWN);
        let bytes = u64::from(context.window.cwnd) * u64::from(context.mss);
        self.pacing_rate = PACING_MARGIN.of(HIGH_GAIN.of(model::rate(bytes, rtt)));
    }

    /// Section 3.5.1: BBRUpdateOnACK.
    fn control(&mut self, context: &Context, sample: &AckSample, window: &mut Window) -> bool {
        self.model.update_bandwidth(context.mss, sample);
        self.aggregation.update(context, sample, self.model.bandwidth(), self.model.is_round_start);
        self.check_cycle(context, sample);
        self.check_full_pipe(sample);
        self.check_drain(context);
        let has_expired = self.model.update_min_rtt(context.now, sample.rtt);
        let was_probing = matches!(self.state, State::ProbeRtt(_));
        self.check_probe_rtt(context, sample, has_expired);
        if was_probing && !matches!(self.state, State::ProbeRtt(_)) {
            window.cwnd = window.cwnd.max(self.prior_cwnd);
        }
        self.set_pacing_rate(self.pacing_gain);
        self.set_cwnd(context, sample, window);
        true
    }

    /// After a timeout the path may have changed: the bandwidth is compared anew, and a round begins.
    fn phase_changed(&mut self, context: &Context) {
        if context.phase == Phase::Loss {
            self.phase_before = Phase::Loss;
            self.full_bandwidth = 0;
            self.model.begin_round();
        }
    }

    /// Section 4.3.4.4: sending begins again at the estimated bandwidth, without a burst.
    fn idle_ended(&mut self, _: &Context, _: Nanos) {
        self.is_idle_restart = true;
        if matches!(self.state, State::ProbeBandwidth { .. }) {
            self.set_pacing_rate(Gain::ONE);
        }
    }

    fn pacing_rate(&self) -> Option<u64> {
        (self.pacing_rate > 0).then_some(self.pacing_rate)
    }
}
