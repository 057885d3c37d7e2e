//! The in-kernel bypass: an XDP program on both ports of a link end.
//!
//! While the daemon is dormant, the program forwards between the two ports without waking it. When the daemon dies or
//! stalls, the program takes over everything. It is attached by netlink, so it stays when the process ends, and the
//! next process replaces it.
//!
//! A forwarded frame leaves through the queue of the other port, by a second program behind the first (`queue`). Only
//! where that is impossible or unnecessary does XDP redirect by itself.
//!
//! The daemon controls it through one page of memory that both share; only [`Bypass::attach`], [`Bypass::connect`] and
//! [`Bypass::detach`] enter the kernel.

pub(crate) mod assembler;
mod attach;
mod program;
mod queue;
mod steering;

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::port::{Interface, PortError, XdpPort};
use crate::sys::bpf::{LoadError, Program, ProgramKind, SharedWords, XskMap};
use linkmend_linux::ethtool;
use linkmend_linux::route::XdpMode;
use linkmend_linux::xdp_features::xdp_features;
use program::{Parameters, Side, words};
pub use queue::KernelDrops;
pub use steering::Steering;

/// The names by which our programs are recognised on an interface.
const PROGRAM_NAME: &str = "linkmend_bypass";
const QUEUE_PROGRAM_NAME: &str = "linkmend_queue";
/// The array that both programs share with the daemon.
const CONFIG_NAME: &str = "linkmend_config";

/// The number of receive queues that the socket map has room for; a port serves queue 0.
const QUEUES: u32 = 64;

/// Largest MTU whose frames every driver receives in one page.
const LARGEST_ONE_BUFFER_MTU: u32 = 3000;

/// Which frames go to the daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BypassMode {
    /// Only Linkmend's own EtherTypes; all others are forwarded in the kernel.
    Dormant,
    Active,
}

/// The options of a new bypass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BypassOptions {
    /// How the programs run; `None` chooses, see [`Bypass::attach`]. Native mode on a veth requires that we own both
    /// ends of the pair and that GRO is on at the far one.
    pub xdp_mode: Option<XdpMode>,
    /// The mode in which it starts.
    pub mode: BypassMode,
    /// Age of the heartbeat at which the daemon counts as stalled.
    pub stall_after: Duration,
    /// Whether the other end of the link is known to speak Linkmend.
    pub peer_known: bool,
}

impl Default for BypassOptions {
    fn default() -> Self {
        BypassOptions {
            xdp_mode: None,
            mode: BypassMode::Dormant,
            stall_after: Duration::from_millis(250),
            peer_known: false,
        }
    }
}

/// What the program has done with the frames of one direction since it was attached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BypassCounters {
    /// Frames forwarded to the other port, including decapsulated ones.
    pub bypassed_frames: u64,
    /// Their bytes, as forwarded.
    pub bypassed_bytes: u64,
    /// Protected originals whose header was removed; not unprotected frames (escaped, or with an ACK).
    pub decapsulated: u64,
    /// Retransmissions, dummies and control frames dropped because the daemon was gone.
    pub dropped: u64,
}

/// The programs on both ports. Dropping this leaves them attached; see [`Bypass::detach`].
pub struct Bypass {
    config: SharedWords,
    inner: Attached,
    link: Attached,
    steering: Option<Steering>,
}

struct Attached {
    sockets: XskMap,
    mode: XdpMode,
    program: Program,
    queue_program: Program,
    device: queue::Device,
}

impl Bypass {
    /// Loads the program for both ports and attaches it, replacing those of an earlier run.
    ///
    /// Unless the mode is given, it is native where both drivers say that redirecting between them works, and generic
    /// elsewhere, veth included.
    ///
    /// Forwarded frames leave through the queues of the ports, as behind a bridge, where that is needed
    /// (`needs_queue`). On kernels before 6.6 they cannot, which the log says.
    ///
    /// Until [`Bypass::connect`] and the first [`Bypass::heartbeat`], everything is bypassed.
    ///
    /// # Errors
    /// [`PortError::ForeignProgram`], [`PortError::ProgramRefused`], [`PortError::System`].
    pub fn attach(inner: &Interface, link: &Interface, options: &BypassOptions) -> Result<Self, PortError> {
        let config = SharedWords::new(words::COUNT, CONFIG_NAME)
            .map_err(PortError::system(&inner.name, "creating the bypass configuration"))?;
        let loaded_inner = load(Side::Inner, inner, link.index, &config)?;
        let loaded_link = load(Side::Link, link, inner.index, &config)?;
        // The state must be complete before the program sees its first frame.
        let starting = Bypass { config, inner: loaded_inner, link: loaded_link, steering: None };
        starting.set_stall_after(options.stall_after);
        starting.set_mode(options.mode);
        starting.set_peer_known(options.peer_known);
        let steered = steering::read_note(inner);
        // The queues' programs are in place before the XDP programs pass anything to them.
        starting.attach_queues(inner, link);
        let mut bypass = starting;
        let mode = match options.xdp_mode {
            Some(mode) => bypass.attach_both(inner, link, mode).map(|()| mode)?,
            None => bypass.attach_best(inner, link)?,
        };
        bypass.inner.mode = mode;
        bypass.link.mode = mode;
        bypass.leave_queues(inner, link, mode)?;
        // Steering comes last: changes are noted in programs that are attached, so that they can be undone after a
        // crash.
        bypass.steering = steering::keep_flows_together(inner, &bypass.config, steered);
        Ok(bypass)
    }

    /// Makes forwarded frames leave through the queues, in both directions.
    fn attach_queues(&self, inner: &Interface, link: &Interface) {
        for (side, interface, attached) in [(Side::Inner, inner, &self.inner), (Side::Link, link, &self.link)]
        {
            match queue::attach(interface, &attached.queue_program) {
                Ok(()) => self.set(words::QUEUED[side as usize], 1),
                Err(error) => tracing::warn!(
                    interface = %interface.name, %error,
                    "frames bypassed from here do not go through the other port's queue (that needs Linux 6.6); \
                     bursts may be lost"
                ),
            }
        }
    }

    /// Detaches the queues' programs in the directions that do not need them.
    fn leave_queues(&self, inner: &Interface, link: &Interface, mode: XdpMode) -> Result<(), PortError> {
        let speeds = [inner, link].map(|interface| ethtool::speed(&interface.name));
        for (side, from, to) in [(Side::Inner, inner, link), (Side::Link, link, inner)] {
            if !needs_queue(side, mode, &to.driver, speeds) {
                self.set(words::QUEUED[side as usize], 0);
                queue::detach(from)?;
            }
        }
        Ok(())
    }

    fn attach_both(&self, inner: &Interface, link: &Interface, mode: XdpMode) -> Result<(), PortError> {
        attach::attach(inner, &self.inner.program, mode)?;
        attach::attach(link, &self.link.program, mode).inspect_err(|_| {
            let _ = attach::detach(inner);
        })
    }

    /// Uses native mode where it certainly forwards, and generic mode elsewhere.
    fn attach_best(&self, inner: &Interface, link: &Interface) -> Result<XdpMode, PortError> {
        if native_may_work(inner, link) {
            match self.attach_both(inner, link, XdpMode::Native) {
                // This is asked only now, because many drivers accept redirected frames only with a program attached.
                Ok(()) if native_redirect_works(inner, link) => return Ok(XdpMode::Native),
                Err(error @ PortError::ForeignProgram { .. }) => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        self.attach_both(inner, link, XdpMode::Generic).map(|()| XdpMode::Generic)
    }

    /// Lets the program hand frames to the two ports.
    ///
    /// # Errors
    /// [`PortError::System`].
    pub fn connect(&self, inner: &XdpPort, link: &XdpPort) -> Result<(), PortError> {
        for (attached, port) in [(&self.inner, inner), (&self.link, link)] {
            attached.sockets.insert(0, port.as_fd()).map_err(PortError::system(
                &port.interface().name,
                "connecting the socket to the bypass program",
            ))?;
        }
        Ok(())
    }

    /// Sets which frames go to the daemon.
    pub fn set_mode(&self, mode: BypassMode) {
        self.set(words::ACTIVE, u64::from(mode == BypassMode::Active));
    }

    /// Tells the program that the daemon is alive. `now_ns` is CLOCK_MONOTONIC. This is cheap enough for every round of
    /// the loop, and necessary at least every third of the stall time.
    pub fn heartbeat(&self, now_ns: u64) {
        self.set(words::HEARTBEAT, now_ns);
    }

    /// Sets the age of the heartbeat at which the daemon counts as stalled.
    pub fn set_stall_after(&self, stall_after: Duration) {
        let nanoseconds = u64::try_from(stall_after.as_nanos()).unwrap_or(u64::MAX);
        self.set(words::STALL_AFTER, nanoseconds);
    }

    /// Sets whether the other end speaks Linkmend, so that its headers must be removed when the daemon is gone.
    pub fn set_peer_known(&self, known: bool) {
        self.set(words::PEER_KNOWN, u64::from(known));
    }

    /// Counters of frames that came in on the inner and on the link port.
    pub fn counters(&self) -> (BypassCounters, BypassCounters) {
        let direction = |side: Side| {
            let first = words::COUNTERS[side as usize];
            let word = |index| self.config.word(first + index).load(Ordering::Relaxed);
            BypassCounters {
                bypassed_frames: word(words::BYPASSED_FRAMES),
                bypassed_bytes: word(words::BYPASSED_BYTES),
                decapsulated: word(words::DECAPSULATED),
                dropped: word(words::DROPPED),
            }
        };
        (direction(Side::Inner), direction(Side::Link))
    }

    /// What the kernel has dropped at the inner and at the link port since they were opened. Costs system calls.
    pub fn kernel_drops(&self) -> (KernelDrops, KernelDrops) {
        let port = |side: Side, attached: &Attached| {
            let word = words::COUNTERS[side as usize] + words::FAILED_REDIRECTS;
            let failed_redirects = self.config.word(word).load(Ordering::Relaxed);
            KernelDrops { failed_redirects, ..attached.device.drops() }
        };
        (port(Side::Inner, &self.inner), port(Side::Link, &self.link))
    }

    /// Waits until frames that were forwarded earlier have left the ports' queues. The daemon's own frames do not pass
    /// through these queues, and must not overtake them. Returns `false` if `patience` was too short.
    pub fn wait_for_queues(&self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let leaving = [(Side::Inner, &self.link), (Side::Link, &self.inner)];
        leaving.iter().all(|&(from, to)| !self.is_queued(from) || to.device.wait_until_empty(deadline))
    }

    fn is_queued(&self, from: Side) -> bool {
        self.config.word(words::QUEUED[from as usize]).load(Ordering::Relaxed) != 0
    }

    /// How the programs run on the inner and on the link port.
    pub fn xdp_modes(&self) -> (XdpMode, XdpMode) {
        (self.inner.mode, self.link.mode)
    }

    /// Who has set which processors receive the frames that arrive at the inner port, if anybody has.
    pub fn steering(&self) -> Option<Steering> {
        self.steering
    }

    /// Detaches the programs from both ports. From then on nothing forwards between them.
    ///
    /// # Errors
    /// [`PortError::System`].
    pub fn detach(self, inner: &Interface, link: &Interface) -> Result<(), PortError> {
        remove(inner)?;
        remove(link).map(drop)
    }

    fn set(&self, word: usize, value: u64) {
        self.config.word(word).store(value, Ordering::Relaxed);
    }
}

/// Detaches a program that an earlier run left on an interface, and undoes the steering that was set for it there.
/// Returns the mode of the program, or `None` if there was none.
///
/// # Errors
/// [`PortError::ForeignProgram`], [`PortError::System`].
pub fn remove(interface: &Interface) -> Result<Option<XdpMode>, PortError> {
    let steered = steering::read_note(interface);
    let mode = attach::detach(interface)?;
    queue::detach(interface)?;
    steering::undo(interface, steered);
    Ok(mode)
}

fn load(
    side: Side,
    interface: &Interface,
    other_interface: u32,
    config: &SharedWords,
) -> Result<Attached, PortError> {
    let device =
        queue::Device::open(interface).map_err(PortError::system(&interface.name, "reading its counters"))?;
    let loaded = load_programs(side, &interface.name, other_interface, config)?;
    Ok(Attached {
        sockets: loaded.sockets,
        mode: XdpMode::Generic,
        program: loaded.bypass,
        queue_program: loaded.queue,
        device,
    })
}

struct Loaded {
    sockets: XskMap,
    bypass: Program,
    queue: Program,
}

fn load_programs(
    side: Side,
    interface: &str,
    other_interface: u32,
    config: &SharedWords,
) -> Result<Loaded, PortError> {
    let sockets = XskMap::new(QUEUES, "linkmend_socket")
        .map_err(PortError::system(interface, "creating the bypass socket map"))?;
    let parameters = Parameters { side, other_interface, config: config.as_fd(), sockets: sockets.as_fd() };
    let refused = |source, verifier_log| PortError::ProgramRefused {
        interface: interface.to_owned(),
        verifier_log,
        source,
    };
    let load = |kind, assembled: Result<Vec<_>, assembler::AssembleError>, name| {
        let code = assembled.map_err(|error| refused(std::io::Error::other(error), String::new()))?;
        Program::load(kind, &code, name)
            .map_err(|LoadError { source, verifier_log }| refused(source, verifier_log))
    };
    let bypass = load(ProgramKind::Xdp, program::bypass(&parameters), PROGRAM_NAME)?;
    let queue = load(ProgramKind::TrafficControl, program::queue(&parameters), QUEUE_PROGRAM_NAME)?;
    Ok(Loaded { sockets, bypass, queue })
}

/// Whether frames that are forwarded from one side must go through the queue of the port they leave by. `driver` is
/// that port's; speeds are in Mb/s.
///
/// Drivers that redirect by themselves between ports of one speed need no queue. A veth on the link side cannot use
/// one: its other end is, or may be, another link end's, and the kernel does not show frames that were redirected
/// behind XDP to a generic XDP program. It does not need one either, because such a veth has no ring that could
/// overflow while receive offload is off there.
fn needs_queue(from: Side, mode: XdpMode, driver: &str, speeds: [Option<u32>; 2]) -> bool {
    match mode {
        XdpMode::Native => speeds[0].is_none() || speeds[0] != speeds[1],
        XdpMode::Generic => from == Side::Link || driver != "veth",
    }
}

/// Whether a native program reliably forwards between the two.
///
/// It does not with a veth: a redirected frame vanishes there unless the *far* end of the pair, which belongs to
/// somebody else, has GRO on or a program of its own, and frames sent with TSO on never reach the program. Either may
/// change at any time. Generic programs see and forward everything, and cost no more there: the frames of a veth are
/// socket buffers already, and native mode has to copy them into pages first.
fn native_may_work(inner: &Interface, link: &Interface) -> bool {
    inner.driver != "veth" && link.driver != "veth"
}

/// Whether the drivers say that redirecting works in both directions.
fn native_redirect_works(inner: &Interface, link: &Interface) -> bool {
    let jumbo = inner.mtu.max(link.mtu) > LARGEST_ONE_BUFFER_MTU;
    [inner, link].iter().all(|interface| {
        xdp_features(interface.index)
            .is_ok_and(|features| features.redirects_from(jumbo) && features.redirected_to(jumbo))
    })
}

#[cfg(test)]
mod tests;
