//! The two link ends of a laboratory, run inside this process with the same loops that `linkmend run` starts.

use std::time::{Duration, Instant};

use linkmend_control::report::TransmitState;
use linkmend_control::{CorruptionModel, LinkReport};
use linkmend_dataplane::{
    BackupSettings, Command, CommandError, LinkEndHandle, LinkSettings, LossScript, PortChoice,
    ProtectionSettings, StartError,
};
use linkmend_diagnose::Diagnose;

use crate::namespace::NamespaceError;
use crate::topology::{BACKUP_INTERFACE, LINK_INTERFACE, Lab, LabError, Role};

/// How long a change of state may take. In the worst case a peer is asked every 250 ms.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(5);
const SETTLE_POLL: Duration = Duration::from_millis(5);

/// Why the link ends did not reach the requested state.
#[derive(Debug, thiserror::Error)]
pub enum LinkEndsError {
    /// See [`NamespaceError`].
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// See [`StartError`].
    #[error(transparent)]
    Start(#[from] StartError),
    /// See [`LabError`].
    #[error(transparent)]
    Lab(#[from] LabError),
    /// See [`CommandError`].
    #[error(transparent)]
    Command(#[from] CommandError),
    /// A change did not take effect in time.
    #[error("link end {link} is still {state} after {} s, expected {expected}", SETTLE_TIMEOUT.as_secs())]
    NotSettled {
        /// Name of the link end.
        link: String,
        /// Its current state.
        state: TransmitState,
        /// The state that it should be in.
        expected: TransmitState,
    },
    /// The peer has not accepted frames with a deadline.
    #[error("the peer of link end {link} takes no frames with a deadline after {} s", SETTLE_TIMEOUT.as_secs())]
    NotInTime {
        /// Name of the link end.
        link: String,
    },
}

impl Diagnose for LinkEndsError {
    fn hint(&self) -> Option<String> {
        match self {
            LinkEndsError::Namespace(error) => error.hint(),
            LinkEndsError::Start(error) => error.hint(),
            LinkEndsError::Lab(error) => error.hint(),
            LinkEndsError::Command(error) => error.hint(),
            _ => None,
        }
    }
}

/// Addresses of the two ends of a path.
const PATH_ADDRESSES: [&str; 2] = ["10.78.0.1", "10.78.0.2"];

/// Both link ends; see the module documentation. Dropping this stops them.
#[derive(Debug)]
pub struct LinkEnds {
    /// The end in g1, which sends what h1 sends.
    pub first: LinkEndHandle,
    /// The end in g2, which receives it.
    pub second: LinkEndHandle,
}

impl LinkEnds {
    /// Starts both, dormant. Runs with the same `seed` have the same losses.
    ///
    /// # Errors
    /// [`LinkEndsError`].
    pub fn start(lab: &Lab, ports: PortChoice, seed: u64) -> Result<LinkEnds, LinkEndsError> {
        Self::start_with(lab, |settings| {
            settings.ports = ports;
            settings.seed = Some(seed ^ u64::from(settings.name.ends_with('2')));
        })
    }

    /// Starts both with given settings.
    ///
    /// # Errors
    /// [`LinkEndsError`].
    pub fn start_with(
        lab: &Lab,
        adjust: impl Fn(&mut LinkSettings) + Sync,
    ) -> Result<LinkEnds, LinkEndsError> {
        let start = |role: Role| {
            let mut settings = LinkSettings::new(role.suffix(), "inner", "link");
            settings.allow_corruption = true;
            settings.offloads = lab.options().host_offloads;
            let impairments = &lab.options().impairments;
            settings.rate_bps = impairments.rate_bps;
            settings.queue_bytes = impairments.queue_bytes().unwrap_or(settings.queue_bytes);
            settings.ecn_threshold_bytes =
                settings.ecn_threshold_bytes.map(|usual| impairments.ecn_threshold_bytes(usual));
            settings.backup = lab.options().backup.as_ref().map(|backup| BackupSettings {
                rate_bps: backup.rate_bps,
                ..BackupSettings::new(BACKUP_INTERFACE)
            });
            adjust(&mut settings);
            // The loop's thread inherits the namespace of the thread that starts it.
            lab.namespace(role).run(|| LinkEndHandle::start(settings))
        };
        Ok(LinkEnds { first: start(Role::End1)??, second: start(Role::End2)?? })
    }

    /// Starts both, dormant unless `adjust` says otherwise, over UDP: the interfaces of the link get addresses, and the first end
    /// calls the second.
    ///
    /// # Errors
    /// [`LinkEndsError`].
    pub fn start_over_udp(
        lab: &Lab,
        adjust: impl Fn(&mut LinkSettings) + Sync,
    ) -> Result<LinkEnds, LinkEndsError> {
        for (role, address) in [Role::End1, Role::End2].into_iter().zip(PATH_ADDRESSES) {
            lab.ip(role, &format!("address add {address}/24 dev {LINK_INTERFACE}"))?;
        }
        Self::start_with(lab, |settings| {
            settings.link = match settings.name == Role::End1.suffix() {
                true => format!("udp:{}", PATH_ADDRESSES[1]),
                false => "udp:listen".to_owned(),
            };
            adjust(settings);
        })
    }

    /// Protects the direction from h1 to h2 and waits until it is protected; `None` ends the protection.
    ///
    /// # Errors
    /// [`LinkEndsError`].
    pub fn protect(&self, protection: Option<ProtectionSettings>) -> Result<(), LinkEndsError> {
        protect(&self.first, protection)
    }

    /// Does the same as [`LinkEnds::protect`] for the direction from h2 to h1.
    ///
    /// # Errors
    /// [`LinkEndsError`].
    pub fn protect_reverse(&self, protection: Option<ProtectionSettings>) -> Result<(), LinkEndsError> {
        protect(&self.second, protection)
    }

    /// Waits until both directions are protected, if the link ends were started with protection.
    ///
    /// # Errors
    /// [`LinkEndsError`].
    pub fn wait_for_protection(&self) -> Result<(), LinkEndsError> {
        [&self.first, &self.second].into_iter().try_for_each(|end| wait_until(end, TransmitState::Active))
    }

    /// Waits until the peers take frames with a deadline.
    ///
    /// # Errors
    /// [`LinkEndsError`].
    pub fn wait_for_deadlines(&self) -> Result<(), LinkEndsError> {
        let is_ready = |report: &LinkReport| {
            report.in_time.iter().flat_map(|in_time| &in_time.sent).all(|class| class.is_ready)
        };
        let refused = |report: LinkReport| LinkEndsError::NotInTime { link: report.name };
        [&self.first, &self.second].into_iter().try_for_each(|end| wait_for(end, is_ready, refused))
    }

    /// Corrupts the direction from h1 to h2.
    ///
    /// # Errors
    /// [`LinkEndsError`].
    pub fn corrupt(&self, model: Option<CorruptionModel>) -> Result<(), LinkEndsError> {
        self.second.command(Command::Corrupt(model))?;
        Ok(())
    }

    /// Corrupts the direction from h1 to h2 by a script, which counts arrivals from now on.
    ///
    /// # Errors
    /// [`LinkEndsError`].
    pub fn corrupt_by_script(&self, script: LossScript) -> Result<(), LinkEndsError> {
        self.second.command(Command::CorruptByScript(script))?;
        Ok(())
    }

    /// Does the same as [`LinkEnds::corrupt`] for the direction from h2 to h1.
    ///
    /// # Errors
    /// [`LinkEndsError`].
    pub fn corrupt_reverse(&self, model: Option<CorruptionModel>) -> Result<(), LinkEndsError> {
        self.first.command(Command::Corrupt(model))?;
        Ok(())
    }

    /// State and counters of both: (g1, g2).
    ///
    /// # Errors
    /// [`LinkEndsError`].
    pub fn report(&self) -> Result<(LinkReport, LinkReport), LinkEndsError> {
        Ok((*self.first.command(Command::Report)?, *self.second.command(Command::Report)?))
    }

    /// Resets the extremes of the buffers at both.
    ///
    /// # Errors
    /// [`LinkEndsError`].
    pub fn reset_extremes(&self) -> Result<(), LinkEndsError> {
        self.first.command(Command::ResetExtremes)?;
        self.second.command(Command::ResetExtremes)?;
        Ok(())
    }
}

fn protect(sender: &LinkEndHandle, protection: Option<ProtectionSettings>) -> Result<(), LinkEndsError> {
    let (command, expected) = match protection {
        Some(protection) => (Command::Protect(protection), TransmitState::Active),
        None => (Command::Unprotect, TransmitState::Dormant),
    };
    sender.command(command)?;
    wait_until(sender, expected)
}

fn wait_until(sender: &LinkEndHandle, expected: TransmitState) -> Result<(), LinkEndsError> {
    wait_for(
        sender,
        |report| report.transmit_state == expected,
        |LinkReport { name: link, transmit_state: state, .. }| LinkEndsError::NotSettled {
            link,
            state,
            expected,
        },
    )
}

/// Waits until the report of an end is as expected.
fn wait_for(
    end: &LinkEndHandle,
    is_so: impl Fn(&LinkReport) -> bool,
    otherwise: impl FnOnce(LinkReport) -> LinkEndsError,
) -> Result<(), LinkEndsError> {
    let mut report = end.command(Command::Report)?;
    let deadline = Instant::now() + SETTLE_TIMEOUT;
    while !is_so(&report) {
        if Instant::now() > deadline {
            return Err(otherwise(*report));
        }
        std::thread::sleep(SETTLE_POLL);
        report = end.command(Command::Report)?;
    }
    Ok(())
}
