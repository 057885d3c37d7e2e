//! The in-kernel bypass: an XDP program on all ports of a link end.
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
mod census;
mod diversion;
mod drops;
mod handover;
mod hook;
mod load;
mod program;
mod queue;
mod steering;
mod target;
pub(crate) mod words;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::port::{Interface, PortError};
use crate::sys::bpf::{LiveMap, Program, SharedWords};
pub use attach::carries_bypass;
pub(crate) use diversion::Diversion;
pub use drops::DropsReader;
pub use hook::Hook;
use linkmend_control::Side;
use linkmend_control::report::Steering;
use linkmend_diagnose::Diagnose as _;
use linkmend_linux::ethtool;
use linkmend_linux::route::XdpMode;
use linkmend_linux::xdp_features::xdp_features;
use linkmend_protocol::paths::Path;
use load::{Inputs, find_devices, load};
pub use queue::KernelDrops;
use target::{CarrierReader, Target};

/// The names by which our programs are recognised on an interface.
const PROGRAM_NAME: &str = "linkmend_bypass";
const QUEUE_PROGRAM_NAME: &str = "linkmend_queue";
/// The array that both programs share with the daemon.
const CONFIG_NAME: &str = "linkmend_config";

/// The number of receive queues that the socket map has room for.
const QUEUES: u32 = 64;
const _: () = assert!(crate::port::QUEUES_MAX <= QUEUES);

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
    /// CLOCK_MONOTONIC until which the other end of the link is known to speak Linkmend, nanoseconds; 0 if it is not.
    pub known_until_ns: u64,
    /// Bytes of the tag behind the headers of protected frames, on a link with a key; otherwise 0.
    pub tag_bytes: u8,
    /// The inner port carries a host's large segments, so the program there runs in traffic control (Linux 6.6).
    pub offloads: bool,
}

impl Default for BypassOptions {
    fn default() -> Self {
        BypassOptions {
            xdp_mode: None,
            mode: BypassMode::Dormant,
            stall_after: Duration::from_millis(250),
            known_until_ns: 0,
            tag_bytes: 0,
            offloads: false,
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
    /// Retransmissions, dummies and control frames dropped because the daemon was gone, and frames of the host that the
    /// peer could have taken for such.
    pub dropped: u64,
}

/// The programs on all ports. Dropping this takes them off the ports that had none of ours before, until
/// [`Bypass::keep`]; from then on it leaves them attached, see [`Bypass::detach`].
pub struct Bypass {
    kept: bool,
    config: SharedWords,
    /// In the order of their sides.
    ports: Vec<Attached>,
    /// How the XDP programs run.
    mode: XdpMode,
    offloads: bool,
    /// `None` if the programs do not look at carriers.
    carriers: Option<CarrierReader>,
    steering: Option<Steering>,
    followers: steering::Followers,
    drops: DropsReader,
}

struct Attached {
    side: Side,
    interface: Arc<Interface>,
    /// Whether the port carried a program of ours already, which forwarded as this one does.
    found: bool,
    receiver: LiveMap,
    program: Program,
    queue_program: Option<Program>,
    device: queue::Device,
}

impl Bypass {
    /// Loads the program for all ports, the inner one first, and attaches it, replacing those of an earlier run. With two links,
    /// frames from the inner port go to the link that [`Bypass::set_path`] names, or to the other if that has no carrier.
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
    /// [`PortError::ForeignProgram`], [`PortError::UnknownProgram`], [`PortError::ProgramRefused`],
    /// [`PortError::System`]. In that case nothing new stays attached.
    ///
    /// # Panics
    /// If there are neither two ports nor three.
    pub fn attach(ports: &[Arc<Interface>], options: &BypassOptions) -> Result<Self, PortError> {
        let inner = &ports[0];
        let config = SharedWords::new(words::COUNT, CONFIG_NAME)
            .map_err(PortError::system(&inner.name, "creating the bypass configuration"))?;
        let (to_link, carriers) = match &ports[1..] {
            [first, second] => {
                let links = [first.index, second.index];
                let (layout, carriers) = find_devices(&inner.name, links, &config).unzip();
                (Target::Links(links, layout), carriers)
            }
            links => (Target::Interface(links[0].index), None),
        };
        let to_inner = Target::Interface(inner.index);
        let BypassOptions { tag_bytes, offloads, .. } = *options;
        let load = |(interface, (side, target))| {
            load(interface, Inputs { side, target, config: &config, tag_bytes, offloads })
        };
        let sides = [(Side::Inner, to_link), (Side::Link, to_inner), (Side::Backup, to_inner)];
        let loaded = ports.iter().zip(sides).map(load).collect::<Result<Vec<_>, _>>()?;
        // The state must be complete before the program sees its first frame.
        let mode = XdpMode::Generic;
        let (steering, followers) = (None, steering::Followers::default());
        let opened = DropsReader::open(&loaded);
        let drops = opened.map_err(PortError::system(&inner.name, "reading its counters"))?;
        let mut bypass = Bypass {
            kept: false,
            config,
            ports: loaded,
            mode,
            offloads,
            carriers,
            steering,
            followers,
            drops,
        };
        bypass.set_stall_after(options.stall_after);
        bypass.set_mode(options.mode);
        bypass.set_known_until(options.known_until_ns);
        // It goes with the programs that are replaced, and this process may be killed before it has done any steering.
        let noted = bypass.ports.iter().map(|port| steering::take_note(port, &bypass.config));
        let noted: Vec<_> = noted.collect();
        // The queues' programs are in place before the XDP programs pass anything to them.
        bypass.attach_queues();
        bypass.mode = match options.xdp_mode {
            Some(mode) => bypass.attach_all(mode).map(|()| mode)?,
            None => bypass.attach_best()?,
        };
        bypass.leave_queues()?;
        // Steering comes last: changes are noted in programs that are attached, so that they can be undone after a
        // crash.
        bypass.steering = steering::keep_flows_together(inner, &bypass.config, noted[0]);
        bypass.followers = steering::Followers::open(bypass.links().iter().zip(&noted[1..]));
        if let Err(error) = attach::own_program(inner) {
            tracing::warn!(
                interface = %inner.name, %error,
                "the next start will not recognise the bypass; hint: {}", error.hint().unwrap_or_default()
            );
        }
        Ok(bypass)
    }

    /// Leaves the programs attached when this is dropped, so that the link goes on without a daemon.
    pub fn keep(&mut self) {
        self.kept = true;
        for attached in &self.ports {
            attached.interface.set_bypassed(true);
        }
    }

    /// Whether [`Bypass::keep`] was called.
    pub fn is_kept(&self) -> bool {
        self.kept
    }

    fn inner(&self) -> &Attached {
        &self.ports[0]
    }

    fn links(&self) -> &[Attached] {
        &self.ports[1..]
    }

    /// Makes forwarded frames leave through the queues, in all directions.
    fn attach_queues(&self) {
        for &Attached { side, ref interface, ref queue_program, .. } in &self.ports {
            let attached = match queue_program {
                Some(program) => queue::attach(interface, program),
                None if self.hook(side) == Hook::TrafficControl => Ok(()),
                None => Err(std::io::ErrorKind::Unsupported.into()),
            };
            match attached {
                Ok(()) => self.set(words::QUEUED[side as usize], 1),
                Err(error) => tracing::warn!(
                    interface = %interface.name, %error,
                    "frames that the bypass forwards from this port skip the other port's queue (queueing them \
                     requires Linux 6.6); bursts may be lost"
                ),
            }
        }
    }

    /// Detaches the queues' programs in the directions that do not need them.
    fn leave_queues(&self) -> Result<(), PortError> {
        let speed = |interface: &Interface| ethtool::speed(&interface.name);
        if self.offloads {
            // Large segments can only leave through a queue.
            return Ok(());
        }
        let (inner, mode) = (&self.inner().interface, self.mode);
        for &Attached { side, interface: ref from, .. } in &self.ports {
            let needed = match side {
                // One program sends to both links, so it must be right for either.
                Side::Inner => self.links().iter().all(|Attached { interface: link, .. }| {
                    needs_queue(side, mode, &link.driver, [speed(inner), speed(link)])
                }),
                Side::Link | Side::Backup => {
                    needs_queue(side, mode, &inner.driver, [speed(inner), speed(from)])
                }
            };
            if !needed {
                self.set(words::QUEUED[side as usize], 0);
                queue::detach(from)?;
            }
        }
        Ok(())
    }

    /// The ports whose programs are XDP programs.
    fn xdp_ports(&self) -> &[Attached] {
        if self.offloads { self.links() } else { &self.ports }
    }

    fn attach_all(&self, mode: XdpMode) -> Result<(), PortError> {
        if self.offloads {
            attach::attach_to_traffic_control(&self.inner().interface, &self.inner().program)?;
        }
        self.xdp_ports().iter().try_for_each(|port| attach::attach(&port.interface, &port.program, mode))
    }

    /// Uses native mode where it certainly forwards, and generic mode elsewhere.
    fn attach_best(&self) -> Result<XdpMode, PortError> {
        let ports: Vec<&Interface> = self.xdp_ports().iter().map(|attached| &*attached.interface).collect();
        if native_may_work(&ports) {
            match self.attach_all(XdpMode::Native) {
                // This is asked only now, because many drivers accept redirected frames only with a program attached.
                Ok(()) if self.offloads || native_redirect_works(&ports) => return Ok(XdpMode::Native),
                Err(error @ PortError::ForeignProgram { .. }) => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        self.attach_all(XdpMode::Generic).map(|()| XdpMode::Generic)
    }

    /// Lets the program hand frames to the ports, which are those of [`Bypass::attach`] in that order. Each is named by what
    /// its frames go to: the descriptors of the AF_XDP sockets of its queues, or the number of a TAP device.
    ///
    /// # Errors
    /// [`PortError::System`].
    pub(crate) fn connect(&self, receivers: &[Vec<u32>]) -> Result<(), PortError> {
        for (attached, receivers) in self.ports.iter().zip(receivers) {
            for (queue, &receiver) in (0..).zip(receivers) {
                attached.receiver.insert(queue, receiver).map_err(PortError::system(
                    &attached.interface.name,
                    "connecting the port to the bypass program",
                ))?;
            }
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

    /// Sets until when the other end may send Linkmend's headers, which are removed when the daemon is gone, and may take
    /// a host's frames for such. `until_ns` is CLOCK_MONOTONIC; 0 if it does not speak Linkmend.
    pub fn set_known_until(&self, until_ns: u64) {
        self.set(words::KNOWN_UNTIL, until_ns);
    }

    /// Sets which of two links frames from the inner port go to while both have a carrier.
    pub fn set_path(&self, path: Path) {
        self.set(words::PATH, path as u64);
    }

    /// Whether frames from the inner port go to the link that has a carrier, if only one of two has. `false` if there is
    /// only one link, and if the kernel does not let the program look; the log says why.
    pub fn follows_carriers(&self) -> bool {
        self.carriers.is_some()
    }

    /// Whether each of two links is up and has a carrier now. `None` as for [`Bypass::follows_carriers`]. Costs a system call.
    pub fn carriers(&self) -> Option<[bool; 2]> {
        self.carriers.as_ref()?.read(&self.config)
    }

    /// Counters of frames that came in on one of the ports.
    pub fn counters(&self, side: Side) -> BypassCounters {
        let first = words::COUNTERS[side as usize];
        let word = |index| self.config.word(first + index).load(Ordering::Relaxed);
        BypassCounters {
            bypassed_frames: word(words::BYPASSED_FRAMES),
            bypassed_bytes: word(words::BYPASSED_BYTES),
            decapsulated: word(words::DECAPSULATED),
            dropped: word(words::DROPPED),
        }
    }

    /// Waits until frames that were forwarded earlier have left the ports' queues. The daemon's own frames do not pass
    /// through these queues, and must not overtake them. Returns `false` if `patience` was too short.
    pub fn wait_for_queues(&self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let inward = self.links().iter().map(|link| (link.side, self.inner()));
        let outward = self.links().iter().map(|link| (Side::Inner, link));
        inward.chain(outward).all(|(from, to)| !self.is_queued(from) || to.device.wait_until_empty(deadline))
    }

    fn is_queued(&self, from: Side) -> bool {
        self.config.word(words::QUEUED[from as usize]).load(Ordering::Relaxed) != 0
    }

    /// How the XDP programs run; the same on all ports that have one.
    pub fn xdp_mode(&self) -> XdpMode {
        self.mode
    }

    /// Where the program of a port is attached.
    pub fn hook(&self, side: Side) -> Hook {
        if self.offloads && side == Side::Inner { Hook::TrafficControl } else { Hook::Xdp(self.mode) }
    }

    /// Who has set which processors receive the frames that arrive at the inner port, if anybody has.
    pub fn steering(&self) -> Option<Steering> {
        self.steering
    }

    /// Detaches the programs from all ports. From then on nothing forwards between them.
    ///
    /// # Errors
    /// [`PortError::System`].
    pub fn detach(mut self) -> Result<(), PortError> {
        // Once is enough, also if it fails.
        self.kept = true;
        self.ports.iter().try_for_each(|attached| remove(&attached.interface).map(drop))
    }

    fn set(&self, word: usize, value: u64) {
        self.config.word(word).store(value, Ordering::Relaxed);
    }
}

impl Drop for Bypass {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        for Attached { interface, found, .. } in &self.ports {
            interface.set_bypassed(*found);
            if !found && let Err(error) = remove(interface) {
                tracing::warn!(
                    interface = %interface.name, %error,
                    "a failed start has left its bypass in the kernel; hint: `linkmend detach {}`", interface.name
                );
            }
        }
    }
}

/// What [`remove`] has detached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Removed {
    /// Where the program was; `None` if there was none of ours.
    pub hook: Option<Hook>,
    /// Programs of ours behind it.
    pub queue_programs: usize,
}

/// Detaches programs that earlier runs left on an interface, and undoes the steering that was set for them there.
///
/// # Errors
/// [`PortError::ForeignProgram`], [`PortError::UnknownProgram`], [`PortError::System`].
pub fn remove(interface: &Interface) -> Result<Removed, PortError> {
    let steered = steering::read_note(interface);
    let hook = attach::detach(interface)?;
    let queue_programs = queue::detach(interface)?;
    steering::undo(interface, steered);
    interface.set_bypassed(false);
    Ok(Removed { hook, queue_programs })
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
        XdpMode::Generic => from != Side::Inner || driver != "veth",
    }
}

/// Whether a native program reliably forwards between them.
///
/// It does not with a veth: a redirected frame vanishes there unless the *far* end of the pair, which belongs to
/// somebody else, has GRO on or a program of its own, and frames sent with TSO on never reach the program. Either may
/// change at any time. Generic programs see and forward everything, and cost no more there: the frames of a veth are
/// socket buffers already, and native mode has to copy them into pages first.
fn native_may_work(ports: &[&Interface]) -> bool {
    ports.iter().all(|port| port.driver != "veth")
}

/// Whether the drivers say that redirecting works in all directions.
fn native_redirect_works(ports: &[&Interface]) -> bool {
    let jumbo = ports.iter().any(|port| port.mtu > LARGEST_ONE_BUFFER_MTU);
    ports.iter().all(|interface| {
        xdp_features(interface.index)
            .is_ok_and(|features| features.redirects_from(jumbo) && features.redirected_to(jumbo))
    })
}

#[cfg(test)]
mod tests;
