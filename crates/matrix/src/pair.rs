//! Two machines, and a daemon in each.

use crate::machine::Machine;
use crate::request::{Interface, Progress, Reply, Request, Traffic};
use linkmend_control::LinkReport;
use linkmend_control::report::TransmitState;
use std::io;
use std::time::{Duration, Instant};

/// The machines' own interface, which a daemon creates.
pub const HOST: &str = "host0";
/// Name of the link.
pub const LINK: &str = "link";
/// How long daemons may take to start, and to reach a state.
const PATIENCE: Duration = Duration::from_secs(90);
/// How long nothing may arrive before the rest counts as lost.
const DRAIN: Duration = Duration::from_secs(6);
const POLL: Duration = Duration::from_millis(100);

/// The first machine sends, the second receives.
#[derive(Debug)]
pub struct Pair {
    pub machines: [Machine; 2],
    /// The cards of each machine, by cable.
    pub cards: [Vec<Interface>; 2],
    runs: u32,
}

/// Numbered frames to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Frames {
    pub count: u64,
    pub bytes_max: usize,
    /// The tag control information of their VLAN tag.
    pub vlan: Option<u16>,
}

/// What has become of numbered frames.
#[derive(Clone, Copy, Debug)]
pub struct Fate {
    pub sent: Progress,
    pub received: Progress,
}

impl Fate {
    /// Frames that never arrived.
    pub fn lost(&self) -> u64 {
        self.sent.sent.saturating_sub(self.received.received)
    }
}

impl Pair {
    /// Finds the cards of this driver.
    ///
    /// # Errors
    /// If a machine lacks one of them.
    pub fn new(mut machines: [Machine; 2], driver: &str, cables: usize) -> io::Result<Pair> {
        let mut cards = [Vec::new(), Vec::new()];
        for (machine, cards) in machines.iter_mut().zip(&mut cards) {
            let Reply::Interfaces(found) = machine.ask(&Request::Interfaces)? else {
                return Err(io::Error::other("a machine does not list its interfaces"));
            };
            *cards = found.into_iter().filter(|card| card.driver == driver).collect();
            cards.sort_by_key(|card| card.mac);
            if cards.len() != cables {
                let problems = machine.problems.join("; ");
                let count = cards.len();
                return Err(io::Error::other(format!(
                    "{count} of {cables} cards of {driver} are there: {problems}"
                )));
            }
        }
        Ok(Pair { machines, cards, runs: 0 })
    }

    /// Sets the MTU of all cards and brings them up.
    ///
    /// # Errors
    /// If a card refuses it.
    pub fn bring_up(&mut self, mtu: u32) -> io::Result<()> {
        for (machine, cards) in self.machines.iter_mut().zip(&self.cards) {
            for card in cards {
                machine.ask(&Request::Up { interface: card.name.clone(), mtu })?;
            }
        }
        Ok(())
    }

    /// Starts the daemon of one machine.
    ///
    /// # Errors
    /// If it does not answer in time; with its log.
    pub fn start(&mut self, which: usize, more: &[&str]) -> io::Result<()> {
        let card = self.cards[which][0].name.clone();
        let fixed = ["run", "--inner", "create:host0", "--link", &card, "--name", LINK, "--allow-corruption"];
        let arguments = fixed.iter().chain(more).map(|argument| (*argument).to_owned()).collect();
        self.machines[which].ask(&Request::Start(arguments))?;
        self.wait(which, |_| true).map(drop)
    }

    /// Runs `linkmend` on one machine.
    ///
    /// # Errors
    /// If it fails.
    pub fn run(&mut self, which: usize, arguments: &[&str]) -> io::Result<String> {
        let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        match self.machines[which].ask(&Request::Run(arguments))? {
            Reply::Output(text) => Ok(text),
            other => Err(io::Error::other(format!("{other:?} instead of output"))),
        }
    }

    /// What `linkmend status` says on one machine.
    ///
    /// # Errors
    /// If no daemon answers.
    pub fn status(&mut self, which: usize) -> io::Result<LinkReport> {
        let text = self.run(which, &["status", LINK, "--json"])?;
        serde_json::from_str(&text).map_err(|error| io::Error::other(format!("status is {text}: {error}")))
    }

    /// Waits until a daemon reports what is wanted.
    ///
    /// # Errors
    /// If it does not in time; with its log.
    pub fn wait(&mut self, which: usize, is_wanted: impl Fn(&LinkReport) -> bool) -> io::Result<LinkReport> {
        let began = Instant::now();
        loop {
            let reason = match self.status(which) {
                Ok(report) if is_wanted(&report) => return Ok(report),
                Ok(report) => {
                    let LinkReport { link, transmit_state, .. } = &report;
                    let (kind, rx, tx) = (&link.description, link.rx_frames, link.tx_frames);
                    format!(
                        "the link is {transmit_state}; {kind} ({:?}): {rx} frames received, {tx} sent, {} {}",
                        link.xdp_mode,
                        link.state,
                        serde_json::to_string(&report).unwrap_or_default()
                    )
                }
                Err(error) => error.to_string(),
            };
            if began.elapsed() > PATIENCE {
                return Err(io::Error::other(format!("{reason}; the log: {}", self.log(which))));
            }
            std::thread::sleep(POLL);
        }
    }

    /// Waits until both directions are in this state.
    ///
    /// # Errors
    /// As [`Pair::wait`].
    pub fn wait_for(&mut self, state: TransmitState) -> io::Result<()> {
        (0..2).try_for_each(|which| self.wait(which, |report| report.transmit_state == state).map(drop))
    }

    /// The end of a daemon's log.
    pub fn log(&mut self, which: usize) -> String {
        match self.machines[which].ask(&Request::Log) {
            Ok(Reply::Output(log)) => log,
            other => format!("{other:?}"),
        }
    }

    /// Sends numbered frames between the machines' own interfaces. `at` is called while they are sent, with the number
    /// of those that have arrived.
    ///
    /// # Errors
    /// If a machine does not answer.
    pub fn send(
        &mut self,
        frames: Frames,
        at: impl FnMut(&mut Pair, u64) -> io::Result<()>,
    ) -> io::Result<Fate> {
        self.send_between([HOST, HOST].map(str::to_owned), frames, at)
    }

    /// Sends numbered frames from card to card of the first cable.
    ///
    /// # Errors
    /// As [`Pair::send`].
    pub fn send_without_daemons(&mut self, frames: Frames) -> io::Result<Fate> {
        let cards = self.cards.each_ref().map(|cards| cards[0].name.clone());
        self.send_between(cards, frames, |_, _| Ok(()))
    }

    fn send_between(
        &mut self,
        interfaces: [String; 2],
        frames: Frames,
        mut at: impl FnMut(&mut Pair, u64) -> io::Result<()>,
    ) -> io::Result<Fate> {
        self.runs += 1;
        let mut macs = [[0; 6]; 2];
        for ((machine, name), mac) in self.machines.iter_mut().zip(&interfaces).zip(&mut macs) {
            if let Reply::Interfaces(found) = machine.ask(&Request::Interfaces)? {
                *mac = found.iter().find(|found| found.name == *name).map_or([0; 6], |found| found.mac);
            }
        }
        let traffic = |which: usize, peer| Traffic {
            interface: interfaces[which].clone(),
            peer,
            run: self.runs,
            count: frames.count,
            bytes_max: frames.bytes_max,
            vlan: frames.vlan,
        };
        let (to, from) = (traffic(0, macs[1]), traffic(1, macs[0]));
        self.machines[1].ask(&Request::Receive(from))?;
        self.machines[0].ask(&Request::Send(to))?;
        let mut moved = (Instant::now(), 0);
        loop {
            let fate = Fate { sent: self.progress(0)?, received: self.progress(1)? };
            if fate.received.received != moved.1 {
                moved = (Instant::now(), fate.received.received);
            }
            if fate.received.is_done || fate.sent.is_done && moved.0.elapsed() > DRAIN {
                return Ok(fate);
            }
            at(self, fate.received.received)?;
            std::thread::sleep(POLL);
        }
    }

    fn progress(&mut self, which: usize) -> io::Result<Progress> {
        match self.machines[which].ask(&Request::Progress)? {
            Reply::Progress(progress) => Ok(progress),
            other => Err(io::Error::other(format!("{other:?} instead of counts"))),
        }
    }
}
