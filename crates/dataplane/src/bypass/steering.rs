//! Receive packet steering at the ports that are veths.
//!
//! At the inner port, the frames of each flow stay on one processor.
//!
//! Frames that pass through a veth wait in the backlog of the processor on which they were sent. A generic XDP program
//! gets a copy of each frame, so the sender's TCP believes that the frame has left the machine, and far more than the
//! usual millisecond's worth is in transit: only the window limits it. When the scheduler then moves the sender, the
//! frames on the new processor overtake hundreds on the old one, and TCP retransmits what was never lost. With
//! steering, all frames of a flow go to one processor, wherever they were sent.
//!
//! Steering lasts as long as the bypass, which needs it even without a daemon. Changes are therefore noted in the words
//! that the attached programs share with the daemon. The note lasts exactly as long as the programs, and is
//! found when they are removed or replaced.
//!
//! At a link port, frames would otherwise be received by the processor of the other end's loop, within the call that
//! sends them: one soft interrupt for each frame, and all on the busier end. They are steered to the processor of this
//! end's loop. The kernel then receives many in one soft interrupt, and both ends share the work.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use linkmend_control::Side;
use linkmend_control::report::Steering;
use nix::unistd::{SysconfVar, sysconf};

use super::{Attached, Bypass, attach, census, words};
use crate::port::Interface;
use crate::sys::bpf::SharedWords;
use linkmend_linux::{sysfs, thread};

/// The largest number of processors in a mask; frames are not steered to any beyond it.
const PROCESSORS_MAX: usize = 4096;
/// A mask is written in groups of this many processors, the highest first.
const GROUP: usize = 32;
/// The number of receive queues that the note has room for.
const QUEUES_MAX: u32 = 32;
/// How often a link port follows its loop to another processor. Frames that are still on the old one are overtaken then.
const FOLLOW_EVERY_NS: u64 = 100_000_000;

/// The note: the queues of one interface, and what their steering was set to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SteeringNote {
    interface_index: u32,
    /// One bit for each queue.
    queues: u32,
    /// One bit for each of the first 64 processors, as the kernel reported them after they were set.
    to: u64,
}

impl SteeringNote {
    /// Writes the note before the queues that it names are changed. A queue that was not changed can be told by its
    /// value.
    pub(super) fn note(self, config: &SharedWords, side: Side) {
        let first = words::STEERED[side as usize];
        config.word(first + 1).store(self.to, Ordering::Relaxed);
        let place = u64::from(self.interface_index) << 32 | u64::from(self.queues);
        config.word(first).store(place, Ordering::Relaxed);
    }

    fn read([place, to]: [u64; 2]) -> SteeringNote {
        SteeringNote { interface_index: (place >> 32) as u32, queues: place as u32, to }
    }

    /// Whether this queue is one of them, and still set as the note says.
    fn holds(self, queue: &Queue) -> bool {
        self.queues & 1 << queue.number != 0 && self.to == queue.set
    }
}

/// Reads what the programs on the interface note about steering there.
pub(super) fn read_note(interface: &Interface) -> SteeringNote {
    let held =
        attach::own_program(interface).ok().flatten().and_then(|program| census::program(program.id).ok());
    let note = held.map(|held| held.note).unwrap_or_default();
    // The programs of all ports share the words.
    let mut notes = note.as_chunks().0.iter().map(|&note| SteeringNote::read(note));
    notes.find(|note| note.interface_index == interface.index).unwrap_or_default()
}

/// Takes over the note of the programs that ours are about to replace.
pub(super) fn take_note(port: &Attached, config: &SharedWords) -> SteeringNote {
    let note = read_note(&port.interface);
    note.note(config, port.side);
    note
}

/// Steers the frames of each flow that arrive at `interface`, if that is a veth, to one processor. If somebody has set
/// the steering of any of its queues, all are left alone. What an earlier run had set, `before`, is taken over. This is
/// best effort: without it everything works, with more retransmissions by the hosts.
pub(super) fn keep_flows_together(
    interface: &Interface,
    config: &SharedWords,
    before: SteeringNote,
) -> Option<Steering> {
    let processors = processors();
    if interface.driver != "veth" || processors < 2 {
        return None;
    }
    let mut steered = SteeringNote { interface_index: interface.index, ..before };
    let steering = with_device(interface, |device| {
        steer(device, &mask(processors), &mut steered, |steered| steered.note(config, Side::Inner))
    });
    let interface = &interface.name;
    match &steering {
        Ok(Steering::Linkmend) => tracing::info!(
            interface,
            processors,
            "receive packet steering set, so that each flow stays on one processor: frames through a veth queue \
             on the processor of the sender, and would be reordered if it moved to another; removed together with the bypass"
        ),
        Ok(Steering::Operator) => {
            tracing::info!(interface, "receive packet steering is already set and stays unchanged");
        }
        Err(error) => tracing::info!(
            interface, %error,
            "cannot set receive packet steering: frames may be reordered on a busy dormant link, and TCP may \
             retransmit more"
        ),
    }
    steering.ok()
}

/// How many processors the machine has.
fn processors() -> usize {
    let processors = sysconf(SysconfVar::_NPROCESSORS_CONF).ok().flatten();
    processors.and_then(|number| usize::try_from(number).ok()).unwrap_or(1)
}

/// The link ports whose frames are steered to the processor of the loop.
#[derive(Default)]
pub(super) struct Followers {
    ports: Vec<Follower>,
    next_ns: u64,
}

impl Followers {
    pub(super) fn open<'a>(links: impl Iterator<Item = (&'a Attached, &'a SteeringNote)>) -> Followers {
        let open = |(link, &note): (&Attached, _)| Follower::open(&link.interface, link.side, note);
        Followers { ports: links.filter_map(open).collect(), next_ns: 0 }
    }
}

struct Follower {
    side: Side,
    queues: Vec<File>,
    steered: SteeringNote,
    processor: Option<usize>,
}

impl Follower {
    /// For a link port that is a veth, if nobody else has set the steering of any of its queues. What an earlier run had
    /// set, `before`, is undone.
    fn open(interface: &Interface, side: Side, before: SteeringNote) -> Option<Follower> {
        if interface.driver != "veth" || processors() < 2 {
            return None;
        }
        undo(interface, before);
        let opened = with_device(interface, |device| {
            let queues = queues(device)?;
            let bits = queues.iter().fold(0, |bits, queue| bits | 1 << queue.number);
            let open = |queue: &Queue| fs::OpenOptions::new().read(true).write(true).open(&queue.path);
            let files = queues.iter().map(open).collect::<io::Result<_>>()?;
            let steered = SteeringNote { interface_index: interface.index, queues: bits, to: 0 };
            Ok(Follower { side, queues: files, steered, processor: None })
        });
        let cannot = |error: &io::Error| {
            let interface = &interface.name;
            tracing::info!(interface, %error, "cannot set receive packet steering: the protected link is slower");
        };
        opened.inspect_err(cannot).ok()
    }

    /// Steers to this processor, or to none. Returns whether that is possible; it is not once somebody else does.
    fn steer(&mut self, processor: Option<usize>, config: &SharedWords) -> bool {
        if self.processor == processor {
            return true;
        }
        if !self.queues.iter().all(|queue| is_set(queue, self.steered.to)) {
            return false;
        }
        let mask = processor.map_or_else(|| "0".to_owned(), mask_of);
        self.processor = processor;
        self.steered.to = first_processors(&mask);
        self.steered.note(config, self.side);
        self.queues.iter().all(|queue| queue.write_all_at(mask.as_bytes(), 0).is_ok())
    }
}

/// Whether the steering of a queue is set to these processors.
fn is_set(queue: &File, to: u64) -> bool {
    let mut mask = [0; PROCESSORS_MAX / 4 + PROCESSORS_MAX / GROUP];
    let read = queue.read_at(&mut mask, 0).ok().and_then(|bytes| str::from_utf8(&mask[..bytes]).ok());
    read.is_some_and(|mask| first_processors(mask) == to)
}

impl Bypass {
    /// Steers the frames that arrive at link ports that are veths to the processor of the calling thread, until
    /// [`Bypass::leave_loop`]. To be called again and again; `is_wanted` holds while the peer numbers its frames. If the
    /// thread has moved, frames may overtake others.
    pub fn follow_loop(&mut self, now_ns: u64, is_wanted: impl FnOnce() -> bool) {
        let Bypass { followers, config, .. } = self;
        if now_ns < followers.next_ns {
            return;
        }
        followers.next_ns = now_ns + FOLLOW_EVERY_NS;
        if let Some(processor) = thread::processor().filter(|_| is_wanted()) {
            followers.ports.retain_mut(|port| port.steer(Some(processor), config));
        }
    }

    /// Undoes [`Bypass::follow_loop`], for a link that the kernel forwards on.
    pub fn leave_loop(&mut self) {
        let Bypass { followers, config, .. } = self;
        followers.ports.retain_mut(|port| port.steer(None, config));
    }
}

/// Undoes the steering that was set for a bypass, when the bypass is removed, on queues that nobody has changed since.
pub(super) fn undo(interface: &Interface, steered: SteeringNote) {
    if steered.queues == 0 {
        return;
    }
    let undone = with_device(interface, |device| {
        for queue in queues(device)?.iter().filter(|queue| steered.holds(queue)) {
            fs::write(&queue.path, "0")?;
        }
        Ok(())
    });
    if let Err(error) = undone {
        tracing::warn!(interface = %interface.name, %error, "cannot undo receive packet steering");
    }
}

/// A receive queue, and the processors its frames are steered to.
#[derive(Debug)]
struct Queue {
    number: u32,
    path: PathBuf,
    set: u64,
}

/// The receive queues of `device`, a folder of `/sys/class/net`.
fn queues(device: &Path) -> io::Result<Vec<Queue>> {
    let mut queues = Vec::new();
    for entry in fs::read_dir(device.join("queues"))? {
        let entry = entry?;
        let number = entry.file_name().to_str().and_then(|name| name.strip_prefix("rx-")?.parse().ok());
        let Some(number) = number.filter(|number| *number < QUEUES_MAX) else { continue };
        let path = entry.path().join("rps_cpus");
        let set = first_processors(&fs::read_to_string(&path)?);
        queues.push(Queue { number, path, set });
    }
    Ok(queues)
}

/// Steers all queues, or none. `steered` says at first what an earlier run did, and then what has been done. It is
/// noted before anything is changed.
fn steer(
    device: &Path,
    mask: &str,
    steered: &mut SteeringNote,
    mut note: impl FnMut(SteeringNote),
) -> io::Result<Steering> {
    let queues = queues(device)?;
    note(*steered);
    if queues.iter().any(|queue| queue.set != 0 && !steered.holds(queue)) {
        return Ok(Steering::Operator);
    }
    let bits = queues.iter().fold(0, |bits, queue| bits | 1 << queue.number);
    *steered = SteeringNote { queues: bits, to: first_processors(mask), ..*steered };
    note(*steered);
    for queue in &queues {
        fs::write(&queue.path, mask)?;
        // The kernel leaves out processors that are set aside for other work.
        steered.to = first_processors(&fs::read_to_string(&queue.path)?);
    }
    note(*steered);
    Ok(Steering::Linkmend)
}

/// Calls `work` with the interface's folder in a sysfs that shows it.
fn with_device<R>(interface: &Interface, work: impl FnOnce(&Path) -> io::Result<R>) -> io::Result<R> {
    // First a sysfs of our own; without the privilege for that, the existing one, if it shows our interface.
    let own = sysfs::of_this_namespace();
    let root = match &own {
        Ok(root) => PathBuf::from(format!("/proc/self/fd/{}", root.as_raw_fd())),
        Err(_) => PathBuf::from("/sys"),
    };
    let device = root.join("class/net").join(&interface.name);
    let address = fs::read_to_string(device.join("address"))?;
    if address.trim() != interface.mac.map(|byte| format!("{byte:02x}")).join(":") {
        return Err(io::Error::other("/sys shows another network namespace's interface of that name"));
    }
    work(&device)
}

/// A mask of the first `processors`, in the kernel's notation: `3` for two, `f,ffffffff` for 36.
fn mask(processors: usize) -> String {
    let processors = processors.min(PROCESSORS_MAX);
    let groups: Vec<String> = (0..processors.div_ceil(GROUP))
        .rev()
        .map(|group| match (processors - group * GROUP).min(GROUP) {
            GROUP => format!("{:x}", u32::MAX),
            some => format!("{:x}", (1_u32 << some) - 1),
        })
        .collect();
    groups.join(",")
}

/// A mask of one processor, in the same notation.
fn mask_of(processor: usize) -> String {
    let group = 1_u32 << (processor % GROUP);
    format!("{group:x}{}", ",00000000".repeat(processor / GROUP))
}

/// The first 64 processors of a mask in the kernel's notation, one bit for each. A mask of only higher processors sets
/// the highest bit, so that it differs from an empty one.
fn first_processors(mask: &str) -> u64 {
    let digits: String = mask.trim().split(',').collect();
    let (others, first) = digits.split_at(digits.len().saturating_sub(16));
    let first = u64::from_str_radix(first, 16).unwrap_or(0);
    match first {
        0 if others.contains(|digit| digit != '0') => 1 << 63,
        _ => first,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails where something is missing")]

    use super::*;

    #[test]
    fn masks_are_written_as_the_kernel_reads_them() {
        assert_eq!(
            [1, 2, 31, 32, 33, 64].map(mask),
            ["1", "3", "7fffffff", "ffffffff", "1,ffffffff", "ffffffff,ffffffff"]
        );
        assert_eq!(
            [0, 5, 31, 32, 70].map(mask_of),
            ["1", "20", "80000000", "1,00000000", "40,00000000,00000000"]
        );
        for (mask, processors) in [
            ("00000000,00000000\n", 0),
            ("3\n", 3),
            ("1,ffffffff", 0x1_ffff_ffff),
            ("f,00000000,00000000", 1 << 63),
            ("", 0),
        ] {
            assert_eq!(first_processors(mask), processors, "{mask}");
        }
    }

    #[test]
    fn either_all_queues_are_steered_or_those_that_somebody_has_set_are_left_with_the_others() {
        let folder = std::env::temp_dir().join(format!("linkmend-steering-{}", std::process::id()));
        let file = |queue: &str| folder.join("queues").join(queue).join("rps_cpus");
        for queue in ["rx-0", "rx-1"] {
            fs::create_dir_all(folder.join("queues").join(queue)).unwrap();
            fs::write(file(queue), "00000000,00000000\n").unwrap();
        }
        fs::create_dir_all(folder.join("queues/tx-0")).unwrap();
        let read =
            || ["rx-0", "rx-1"].map(|queue| fs::read_to_string(file(queue)).unwrap().trim().to_owned());
        let ours = |steered: &mut SteeringNote| {
            let mut notes = Vec::new();
            (steer(&folder, "3", steered, |note| notes.push(note)).unwrap(), notes)
        };
        let mut steered = SteeringNote { interface_index: 7, ..SteeringNote::default() };
        let (steering, notes) = ours(&mut steered);
        assert_eq!((steering, read()), (Steering::Linkmend, ["3".to_owned(), "3".to_owned()]));
        assert_eq!(notes.last(), Some(&SteeringNote { interface_index: 7, queues: 0b11, to: 3 }));
        // The next run takes over what this one leaves behind.
        assert_eq!(ours(&mut steered.clone()).0, Steering::Linkmend);
        // A run that does not know of it takes it for somebody else's.
        assert_eq!(ours(&mut SteeringNote::default()).0, Steering::Operator);
        fs::write(file("rx-1"), "00000000,00000002\n").unwrap();
        let (steering, notes) = ours(&mut steered);
        assert_eq!((steering, notes), (Steering::Operator, vec![steered]), "what is ours stays noted");
        assert_eq!(read(), ["3", "00000000,00000002"]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_note_survives_the_words_it_is_written_in() {
        let steered = SteeringNote { interface_index: u32::MAX, queues: 1 << 31, to: u64::MAX };
        assert_eq!(SteeringNote::read([u64::MAX << 32 | 1 << 31, u64::MAX]), steered);
        assert_eq!(SteeringNote::read([0; 2]), SteeringNote::default());
    }
}
