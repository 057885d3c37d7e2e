//! How a laboratory is put up, attached to and removed.

use super::cuts::{Cut, CutRecord};
use super::error::LabError;
use super::ip::ip;
use super::marker::{FolderLock, MarkedNamespace, Marker, PROCESSES_MAX, Stage};
use super::options::LabOptions;
use super::plumbing;
use super::role::Role;
use super::wires::WireInterface;
use crate::namespace::{NAMESPACE_FOLDER, Namespace};
use crate::process::{self, StillRunning, TrackedProcess, end_all};
use linkmend_protocol::paths::Path;
use std::process::{Child, Command};

/// What [`Lab::down`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DownOutcome {
    /// A laboratory, or what a crash had left of one. It is gone now.
    Removed {
        /// Programs of others that ran inside and were ended: pid and program.
        ended: Vec<(u32, String)>,
    },
    /// Nothing that this program had created.
    NothingThere,
}

/// A laboratory that is up.
#[derive(Debug)]
pub struct Lab {
    options: LabOptions,
    namespaces: [Namespace; 4],
    wires: Option<Namespace>,
}

impl Lab {
    /// Builds the laboratory. An existing one with the same options is used as it is. A half-finished or different one
    /// is taken down first, unless programs run in it.
    ///
    /// # Errors
    /// [`LabError::Foreign`] if a name is taken; [`LabError::InUse`]; others name the step that failed, and leave
    /// nothing behind.
    pub fn up(options: LabOptions) -> Result<Self, LabError> {
        options.validate()?;
        let _lock = FolderLock::take()?;
        if let Some(marker) = Marker::load(&options.prefix)? {
            if marker.stage == Stage::Up && same_build(&marker.options, &options) && is_whole(&marker) {
                return Self::open(options);
            }
            if let Some(process) = marker.processes.iter().find(|process| process.is_running()) {
                let (prefix, program) = (options.prefix, process.program.clone());
                return Err(LabError::InUse { prefix, pid: process.pid, program });
            }
            tear_down(&marker)?;
        }
        refuse_foreign(&options)?;
        let mut marker = Marker::new(&options);
        match plumbing::build(&options, &mut marker) {
            Ok(()) => Self::open(options),
            Err(error) => {
                // The first error is the one to report; what cannot be removed now stays on record for `down`.
                let _ = tear_down(&marker);
                Err(error)
            }
        }
    }

    /// Takes the laboratory with this prefix down: ends every process inside, whoever started it, except the caller and
    /// its ancestors, and removes its namespaces and its record. Also finishes what a crashed `up` or `down` left.
    ///
    /// # Errors
    /// [`LabError::Foreign`] if namespaces of these names exist that are not ours.
    pub fn down(prefix: &str) -> Result<DownOutcome, LabError> {
        let options = LabOptions { prefix: prefix.to_owned(), ..LabOptions::default() };
        options.validate()?;
        let _lock = FolderLock::take()?;
        let Some(marker) = Marker::load(prefix)? else {
            refuse_foreign(&options)?;
            return Ok(DownOutcome::NothingThere);
        };
        let ended = tear_down(&marker)?;
        Ok(DownOutcome::Removed {
            ended: ended.into_iter().map(|process| (process.pid, process.program)).collect(),
        })
    }

    /// Attaches to an existing laboratory, whoever built it.
    ///
    /// # Errors
    /// [`LabError::NotUp`] if it is not on record, whatever namespaces of these names exist.
    pub fn attach(prefix: &str) -> Result<Self, LabError> {
        LabOptions { prefix: prefix.to_owned(), ..LabOptions::default() }.validate()?;
        let marker = Marker::load(prefix)?.filter(|marker| marker.stage == Stage::Up && is_whole(marker));
        let marker = marker.ok_or_else(|| LabError::NotUp { prefix: prefix.to_owned() })?;
        Self::open(LabOptions { remove_on_drop: false, ..marker.options })
    }

    /// The options it was built with.
    pub fn options(&self) -> &LabOptions {
        &self.options
    }

    /// The namespace of `role`.
    pub fn namespace(&self, role: Role) -> &Namespace {
        &self.namespaces[role as usize]
    }

    /// The namespace of delay lines and bridges; `None` in a laboratory without impairments and with one link.
    pub fn wires(&self) -> Option<&Namespace> {
        self.wires.as_ref()
    }

    /// Starts `command` in the namespace of `role`, in a separate process group (so that a Ctrl-C at the terminal does
    /// not reach it), and records it so that [`Lab::down`] can end it. The caller waits for the child.
    ///
    /// # Errors
    /// [`LabError::Spawn`] if it cannot be started, [`LabError::Namespace`] if the namespace cannot be entered,
    /// [`LabError::NotUp`] if the laboratory is gone, [`LabError::TooManyProcesses`] if it is full.
    pub fn spawn(&self, role: Role, command: Command) -> Result<Child, LabError> {
        self.spawn_in(self.namespace(role), command)
    }

    /// Does the same as [`Lab::spawn`] in any namespace of the laboratory, such as [`Lab::wires`].
    ///
    /// # Errors
    /// See [`Lab::spawn`].
    pub fn spawn_in(&self, namespace: &Namespace, mut command: Command) -> Result<Child, LabError> {
        use std::os::unix::process::CommandExt;
        let program = command.get_program().to_string_lossy().into_owned();
        let _lock = FolderLock::take()?;
        let prefix = &self.options.prefix;
        let marker = Marker::load(prefix)?;
        let mut marker = marker.ok_or_else(|| LabError::NotUp { prefix: prefix.clone() })?;
        if marker.processes.iter().filter(|process| process.is_running()).count() >= PROCESSES_MAX {
            return Err(LabError::TooManyProcesses { prefix: prefix.clone() });
        }
        let child = namespace.run(|| command.process_group(0).spawn())?.map_err(|source| {
            LabError::Spawn { program: program.clone(), namespace: namespace.name().to_owned(), source }
        })?;
        if let Some(process) = TrackedProcess::of(child.id(), &program) {
            marker.track(process);
            marker.save()?;
        }
        Ok(child)
    }

    /// Joins the two ports of each link end by a plain Linux bridge in place of the daemons: the path without Linkmend,
    /// for comparison and for tests of the tools.
    ///
    /// # Errors
    /// [`LabError::Ip`] if the kernel has no bridges.
    pub fn bridge(&self) -> Result<(), LabError> {
        [Role::End1, Role::End2].iter().try_for_each(|role| plumbing::bridge(self.namespace(*role)))
    }

    /// Runs `ip` with the words of `arguments` in the namespace of `role`.
    ///
    /// # Errors
    /// [`LabError::Ip`] with what it says.
    pub fn ip(&self, role: Role, arguments: &str) -> Result<(), LabError> {
        super::ip::ip_in(self.namespace(role), arguments)?;
        Ok(())
    }

    /// Writes a kernel setting (a path below `/proc/sys`) in the namespace of `role`, if this kernel has it.
    pub(crate) fn set(&self, role: Role, key: &str, value: &str) -> Result<(), LabError> {
        plumbing::set_if_there(self.namespace(role), key, value)
    }

    /// Joins two interfaces of a link end by a bridge, as [`Lab::bridge`] joins its two ports.
    pub(crate) fn join(&self, role: Role, interfaces: &[&str; 2]) -> Result<(), LabError> {
        plumbing::join(self.namespace(role), plumbing::BRIDGE, interfaces)
    }

    /// Removes the bridges that [`Lab::bridge`] created.
    ///
    /// # Errors
    /// [`LabError::Ip`] if there are no bridges.
    pub fn unbridge(&self) -> Result<(), LabError> {
        [Role::End1, Role::End2].iter().try_for_each(|role| plumbing::unbridge(self.namespace(*role)))
    }

    /// Cuts one of two links. A link that is cut already is cut differently from then on.
    ///
    /// # Errors
    /// [`LabError::OneLink`] in a laboratory without a second link.
    pub fn cut(&self, link: Path, cut: Cut) -> Result<(), LabError> {
        self.set_cut(link, Some(cut))
    }

    /// Makes a link whole again, however it is cut. One that had no carrier and passes a bridge carries frames within a second,
    /// when the kernel has told the bridge (`linkwatch`).
    ///
    /// # Errors
    /// As [`Lab::cut`].
    pub fn mend(&self, link: Path) -> Result<(), LabError> {
        self.set_cut(link, None)
    }

    /// How the first and the second link are cut; `None` in a laboratory without a second link.
    ///
    /// # Errors
    /// If the record of that cannot be read.
    pub fn cuts(&self) -> Result<Option<[Option<Cut>; 2]>, LabError> {
        let has_backup = self.options.backup.is_some();
        let read = || CutRecord::open(&self.options.prefix)?.read();
        Ok(has_backup.then(read).transpose()?)
    }

    fn set_cut(&self, link: Path, cut: Option<Cut>) -> Result<(), LabError> {
        let (Some(wires), true) = (&self.wires, self.options.backup.is_some()) else {
            return Err(LabError::OneLink { prefix: self.options.prefix.clone() });
        };
        let record = CutRecord::open(&self.options.prefix)?;
        let was = record.read()?[link as usize];
        // The delay lines swallow frames by the record, and the flooding of bridges is changed below.
        record.write(link, cut)?;
        let pair = WireInterface::of_link(link);
        let swallows = |cut: Option<Cut>| cut.map_or([false; 2], Cut::swallows);
        if !self.options.lines().contains(&pair) {
            let [left, right] = pair;
            let ways = [right, left].into_iter().zip(swallows(was).into_iter().zip(swallows(cut)));
            for (outlet, (_, now)) in ways.filter(|(_, (before, now))| before != now) {
                plumbing::flood(wires, outlet, !now)?;
            }
        }
        let is_up = cut != Some(Cut::Carrier);
        if is_up != (was != Some(Cut::Carrier)) {
            plumbing::set_up(wires, pair, is_up)?;
        }
        Ok(())
    }

    fn open(options: LabOptions) -> Result<Self, LabError> {
        let open = |role| Namespace::open(&options.namespace_name(role));
        let [h1, g1, g2, h2] = Role::ALL;
        let namespaces = [open(h1)?, open(g1)?, open(g2)?, open(h2)?];
        let wires = options.wires_name().map(|name| Namespace::open(&name)).transpose()?;
        Ok(Self { options, namespaces, wires })
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if self.options.remove_on_drop {
            // A destructor cannot fail; what is left stays on record for `down`.
            let _ = Self::down(&self.options.prefix);
        }
    }
}

fn same_build(one: &LabOptions, other: &LabOptions) -> bool {
    LabOptions { remove_on_drop: false, ..one.clone() }
        == LabOptions { remove_on_drop: false, ..other.clone() }
}

fn exists(name: &str) -> bool {
    std::path::Path::new(NAMESPACE_FOLDER).join(name).exists()
}

fn refuse_foreign(options: &LabOptions) -> Result<(), LabError> {
    let taken = options.namespace_names().into_iter().find(|name| exists(name));
    taken.map_or(Ok(()), |name| Err(LabError::Foreign { name }))
}

fn is_whole(marker: &Marker) -> bool {
    let alive = |name: &str| Namespace::open(name).and_then(|namespace| namespace.inode()).ok();
    marker.namespaces.len() == marker.options.namespace_names().len()
        && marker
            .namespaces
            .iter()
            .all(|marked| marked.inode.is_some() && alive(&marked.name) == marked.inode)
}

/// How often to look for processes that were started while others were being ended; a program that forks faster is
/// left.
const SEARCHES_MAX: usize = 5;

/// Removes everything that the record names, then the record. Returns the other processes that ran inside: a namespace
/// continues to exist without a name, with the traffic of a forgotten generator, as long as anything runs in it.
fn tear_down(marker: &Marker) -> Result<Vec<TrackedProcess>, LabError> {
    let end = |processes: &[TrackedProcess]| {
        end_all(processes).map_err(|StillRunning { process, source }| LabError::StillRunning {
            prefix: marker.options.prefix.clone(),
            pid: process.pid,
            program: process.program,
            reason: source.map(|error| format!(": {error}")).unwrap_or_default(),
        })
    };
    end(&marker.processes)?;
    let ours = |marked: &MarkedNamespace| {
        let inode = Namespace::open(&marked.name).and_then(|namespace| namespace.inode()).ok();
        inode.filter(|inode| Some(*inode) == marked.inode)
    };
    let inodes: Vec<u64> = marker.namespaces.iter().filter_map(ours).collect();
    let mut ended = Vec::new();
    for _ in 0..SEARCHES_MAX {
        let found = process::inside(&inodes);
        if found.is_empty() {
            break;
        }
        end(&found)?;
        ended.extend(found);
    }
    let mut foreign = None;
    for marked in marker.namespaces.iter().filter(|marked| exists(&marked.name)) {
        let name = &marked.name;
        // A namespace that cannot be opened is a name without a namespace, left by a crash in `ip netns add`.
        if let Ok(namespace) = Namespace::open(name) {
            if marked.inode.is_some() && namespace.inode().ok() != marked.inode && is_mounted(&namespace) {
                foreign = Some(LabError::Foreign { name: name.clone() });
                continue;
            }
            plumbing::remove_links(&namespace);
        }
        ip(&format!("netns del {name}"))?;
    }
    CutRecord::remove(&marker.options.prefix)?;
    Marker::remove(&marker.options.prefix)?;
    foreign.map_or(Ok(ended), Err)
}

/// Whether the name still leads to a namespace, and not to the empty file on which it was mounted.
fn is_mounted(namespace: &Namespace) -> bool {
    namespace.run(|| ()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::BadOption;

    #[test]
    fn odd_prefixes_and_sizes_are_refused_before_anything_is_touched() {
        for prefix in ["", "-x", "a/b", "..", "Upper", "with space", "a-very-very-long-prefix-here"] {
            let options = LabOptions { prefix: prefix.to_owned(), ..LabOptions::default() };
            assert!(matches!(Lab::up(options), Err(LabError::Option(BadOption::Prefix { .. }))), "{prefix}");
            assert!(matches!(Lab::down(prefix), Err(LabError::Option(BadOption::Prefix { .. }))), "{prefix}");
        }
        for host_mtu in [0, 1279, 9001] {
            let options = LabOptions { host_mtu, ..LabOptions::default() };
            assert!(matches!(Lab::up(options), Err(LabError::Option(BadOption::Mtu { .. }))), "{host_mtu}");
        }
    }
}
