//! Transceivers of interfaces, read on a thread of their own: their memory is slow.

mod memory;

use crate::optics::OpticsReading;
use linkmend_linux::module_eeprom::{HalfPage, ModuleEepromSocket};
use std::collections::BTreeSet;
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

/// How often each transceiver is read.
const INTERVAL: Duration = Duration::from_mins(1);
/// Readings that may wait to be taken.
const WAITING_MOST: usize = 10_000;

type Read = (String, Option<OpticsReading>);

/// See the module's documentation. The thread ends with it, after at most one more read.
pub(super) struct Modules {
    names: Sender<Vec<String>>,
    /// Which were sent last.
    sent: Vec<String>,
    read: Receiver<Read>,
}

impl Modules {
    /// Starts the thread in the network namespace of the calling one.
    ///
    /// # Errors
    /// Those of the system.
    pub fn start() -> io::Result<Modules> {
        let socket = ModuleEepromSocket::open()?;
        let (names, wanted) = channel();
        let (readings, read) = sync_channel(WAITING_MOST);
        let run = move || run(&socket, &wanted, &readings);
        std::thread::Builder::new().name("transceivers".to_owned()).spawn(run)?;
        Ok(Modules { names, sent: Vec::new(), read })
    }

    /// Reads these interfaces from now on.
    pub fn follow(&mut self, names: Vec<String>) {
        if names != self.sent {
            self.sent.clone_from(&names);
            // Without its thread nothing is read, and that is all.
            let _ = self.names.send(names);
        }
    }

    /// What was read since the last call.
    pub fn take(&self) -> Vec<Read> {
        self.read.try_iter().collect()
    }
}

fn run(socket: &ModuleEepromSocket, wanted: &Receiver<Vec<String>>, readings: &SyncSender<Read>) {
    let Ok(mut names) = wanted.recv() else { return };
    let mut unable: BTreeSet<String> = BTreeSet::new();
    let mut told = false;
    loop {
        let next = Instant::now() + INTERVAL;
        names.retain(|name| !unable.contains(name));
        for name in &names {
            match read(socket, name) {
                Ok(reading) => {
                    if readings.send((name.clone(), reading)).is_err() {
                        return;
                    }
                }
                Err(error) => {
                    if error.kind() == io::ErrorKind::PermissionDenied && !std::mem::replace(&mut told, true)
                    {
                        tracing::warn!(
                            "transceivers cannot be read, such as that of {name}: {error}; this needs CAP_NET_ADMIN"
                        );
                    }
                    unable.insert(name.clone());
                }
            }
        }
        // Until the next round, only the latest names count.
        loop {
            match wanted.recv_timeout(next.saturating_duration_since(Instant::now())) {
                Ok(latest) => {
                    // One that is new may be another interface of the same name.
                    unable.retain(|name| latest.contains(name) && names.contains(name));
                    names = latest;
                }
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }
}

/// What a transceiver measures; `None` if there is none.
///
/// # Errors
/// If it can never be read.
fn read(socket: &ModuleEepromSocket, interface: &str) -> io::Result<Option<OpticsReading>> {
    let mut refused = None;
    let reading = memory::read(|place: HalfPage| match socket.half_page(interface, place) {
        Ok(half_page) => half_page.try_into().ok(),
        Err(error) => {
            let is_for_good =
                matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied)
                    || error.raw_os_error() == Some(nix::errno::Errno::EOPNOTSUPP as i32);
            refused = refused.take().or_else(|| is_for_good.then_some(error));
            None
        }
    });
    match (reading, refused) {
        (None, Some(refused)) => Err(refused),
        (reading, _) => Ok(reading),
    }
}
