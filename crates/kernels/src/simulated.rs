//! The scenarios on simulated hosts: the same state machines and settings as those of `linkmend sim kernel`, with their ticks.

use crate::log::{Run, Timer};
use linkmend_kernel_guest::record::{Frame, Sender};
use linkmend_kernel_guest::scenario::{Scenario, TICK_NS};
use linkmend_transport::tcp::congestion::Phase;
use linkmend_transport::tcp::{Algorithm, Config, Connection, Ecn, Event, Flags, Segment};
use linkmend_transport::{Instant, Nanos, timer_wheel};
use std::collections::VecDeque;
use std::io;

/// The tick from which a scenario counts its phase: late enough for every timestamp to be above 0.
const START_TICKS: u64 = 1_000;
/// More events than any scenario has.
const STEPS_MAX: u32 = 1_000_000;

/// A host with its timer.
struct Host {
    connection: Connection,
    /// What the connection asked for, and the tick that this became when it did.
    asked: Option<Instant>,
    expiry: Option<Instant>,
}

/// Both hosts and the wire between them.
struct Wire<'a> {
    scenario: &'a Scenario,
    hosts: [Host; 2],
    mss: u32,
    start: Instant,
    now: Instant,
    data: u64,
    syns: [u64; 2],
    under_way: VecDeque<(Instant, usize, Segment)>,
    run: Run,
}

/// Plays all scenarios.
///
/// # Errors
/// If the simulator does not know a congestion control.
pub fn play(scenarios: &[Scenario]) -> io::Result<(Vec<Run>, Vec<Timer>)> {
    let mut runs = Vec::new();
    for scenario in scenarios {
        for phase in 0..scenario.phases {
            let since_tick_ns = phase * TICK_NS / scenario.phases;
            runs.push(Wire::new(scenario, since_tick_ns)?.play());
        }
    }
    Ok((runs, timers()))
}

/// Timers of the lengths that the guest sets, each eight times and three ticks after the one before it, as there.
fn timers() -> Vec<Timer> {
    let lengths = [1, 2, 3, 5, 50, 62, 63, 75, 250];
    let mut end = Instant(0);
    let mut timers = Vec::new();
    for ticks in lengths.iter().flat_map(|length| [*length; 8]) {
        let since_tick_ns = 1_000;
        let start = end + Nanos(3 * TICK_NS + since_tick_ns);
        end = tick_after(start, start + Nanos(u64::from(ticks) * TICK_NS));
        timers.push(Timer { ticks, since_tick_ns, took_ns: end.since(start).0 });
    }
    timers
}

/// The settings of the simulator's Linux hosts: those of `TransferConfig::linux` in `crates/sim`.
fn config(algorithm: &str) -> io::Result<Config> {
    let algorithm = Algorithm::named(algorithm)
        .ok_or_else(|| io::Error::other(format!("the simulator does not implement {algorithm}")))?;
    let ecn = if algorithm == Algorithm::Dctcp { Ecn::Dctcp } else { Ecn::Off };
    Ok(Config { algorithm, ecn, seed: 1, timer_slack: Config::LINUX_TIMER_SLACK, ..Config::default() })
}

/// When a timer ends that is set at `now` for `at`.
fn tick_after(now: Instant, at: Instant) -> Instant {
    Instant(timer_wheel::expiry(now.0, at.0, TICK_NS))
}

impl Wire<'_> {
    fn new(scenario: &Scenario, since_tick_ns: u64) -> io::Result<Wire<'_>> {
        let config = config(scenario.algorithm)?;
        let bad = |error| io::Error::other(format!("{error:?}"));
        let mut client = Connection::new_client(config).map_err(bad)?;
        client.open();
        let mut server = Connection::new_server(config).map_err(bad)?;
        server.set_reads_at_once(scenario.reads);
        let host = |connection| Host { connection, asked: None, expiry: None };
        let start = Instant(START_TICKS * TICK_NS + since_tick_ns);
        Ok(Wire {
            scenario,
            hosts: [host(client), host(server)],
            mss: config.mss,
            start,
            now: start,
            data: 0,
            syns: [0; 2],
            under_way: VecDeque::new(),
            run: Run { name: scenario.name.clone(), since_tick_ns, ..Run::default() },
        })
    }

    fn play(mut self) -> Run {
        let end = self.start + Nanos(self.scenario.duration_ns);
        let mut writes: VecDeque<_> = self.scenario.writes.iter().copied().collect();
        for _ in 0..STEPS_MAX {
            self.let_both_send();
            let write = writes.front().map(|(at, _)| self.start + Nanos(*at));
            let arrival = self.under_way.front().map(|(at, ..)| *at);
            let timers = self.hosts.iter().filter_map(|host| host.expiry);
            let pacing = self.hosts.iter().filter_map(|host| host.connection.paced_until());
            let Some(next) =
                timers.chain(pacing).chain(write).chain(arrival).min().filter(|next| *next < end)
            else {
                return self.run;
            };
            self.now = next.max(self.now);
            if write.is_some_and(|at| at <= self.now) {
                let bytes = writes.pop_front().map_or(0, |(_, bytes)| bytes);
                self.hosts[0].connection.write(u64::from(bytes));
            } else if arrival.is_some_and(|at| at <= self.now) {
                self.deliver();
            } else {
                for host in &mut self.hosts {
                    if host.expiry.is_some_and(|at| at <= self.now) {
                        (host.asked, host.expiry) = (None, None);
                    }
                    host.connection.handle_timeout(self.now);
                }
            }
        }
        self.run.failure = Some("it does not come to an end".to_owned());
        self.run
    }

    fn deliver(&mut self) {
        let Some((_, to, segment)) = self.under_way.pop_front() else { return };
        self.hosts[to].connection.handle_segment(self.now, &segment);
        self.let_both_send();
        if to == 0 {
            let at_ns = self.now.since(self.start).0;
            self.run.senders.push(sender(at_ns, &self.hosts[0].connection, self.now));
        }
    }

    fn let_both_send(&mut self) {
        for from in 0..2 {
            while let Some(segment) = self.hosts[from].connection.poll_transmit(self.now) {
                for piece in segment.split(self.mss) {
                    self.send(from, piece);
                }
            }
            let host = &mut self.hosts[from];
            while let Some(event) = host.connection.poll_event() {
                if let Event::Aborted(why) = event {
                    self.run.failure = Some(format!("{why:?}"));
                }
            }
            let asked = host.connection.next_timeout();
            if host.asked != asked {
                (host.asked, host.expiry) = (asked, asked.map(|at| tick_after(self.now, at)));
            }
        }
    }

    fn send(&mut self, from: usize, segment: Segment) {
        let is_lost = self.loses(from, &segment);
        self.run.frames.push(Frame {
            at_ns: self.now.since(self.start).0,
            from: from as u8,
            is_lost,
            flags: segment.flags.0,
            sequence: segment.sequence as u32,
            acknowledgement: segment.acknowledgement as u32,
            bytes: segment.length,
            sacks: segment.sack.iter().count() as u8,
        });
        if !is_lost {
            self.under_way.push_back((self.now + Nanos(self.scenario.delay_ns), 1 - from, segment));
        }
    }

    fn loses(&mut self, from: usize, segment: &Segment) -> bool {
        if segment.flags.contains(Flags::SYN) {
            self.syns[from] += 1;
            return self.syns[from] <= self.scenario.lost_syns[from];
        }
        if from == 0 && segment.length > 0 {
            self.data += 1;
            return self.scenario.lost.contains(&self.data);
        }
        false
    }
}

fn sender(at_ns: u64, connection: &Connection, now: Instant) -> Sender {
    let info = connection.info(now);
    let micros = |span: Nanos| u32::try_from(span.as_micros()).unwrap_or(u32::MAX);
    Sender {
        at_ns,
        phase: match info.phase {
            Phase::Open => 0,
            Phase::Disorder => 1,
            Phase::Reduced => 2,
            Phase::Recovery => 3,
            Phase::Loss => 4,
        },
        window: info.snd_cwnd,
        // Linux says so before the first congestion.
        threshold: info.snd_ssthresh.min(0x7fff_ffff),
        rto_us: micros(info.rto),
        rtt_us: info.rtt.map_or(0, micros),
        deviation_us: micros(info.rtt_deviation),
        retransmitted: info.total_retrans as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_ends_with_the_tick_after_its_last_one() {
        let at = |now: u64, length: u64| tick_after(Instant(now), Instant(now + length)).0;
        assert_eq!(at(1, TICK_NS), 2 * TICK_NS);
        assert_eq!(at(TICK_NS - 1, TICK_NS), 2 * TICK_NS);
        assert_eq!(at(1, TICK_NS + 1), 3 * TICK_NS);
    }

    #[test]
    fn a_run_goes_on_after_a_timer_that_sets_no_other() {
        let scenarios = linkmend_kernel_guest::scenario::all();
        let delayed = scenarios.iter().find(|scenario| !scenario.reads).expect("one does not read");
        let run = Wire::new(delayed, 0).expect("a known congestion control").play();
        assert_eq!(run.failure, None);
        let data = run.frames.iter().filter(|frame| frame.bytes > 0).count();
        assert_eq!(data, delayed.writes.len());
    }

    #[test]
    fn a_lost_frame_is_sent_again_and_its_data_arrives() {
        let scenario = linkmend_kernel_guest::scenario::all().remove(1);
        let run = Wire::new(&scenario, 0).expect("a known congestion control").play();
        assert_eq!(run.failure, None);
        let lost = run.frames.iter().filter(|frame| frame.is_lost).count();
        assert_eq!(lost, 1);
        let end = 1 + 10 * run.frames.iter().map(|frame| frame.bytes).max().unwrap_or(0);
        assert!(run.frames.iter().any(|frame| frame.from == 1 && frame.acknowledgement == end));
    }
}
