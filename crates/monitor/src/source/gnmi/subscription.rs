//! What is subscribed to, and how often it is sent.
//!
//! A device refuses a whole subscription if it does not know one of its paths, so each group of paths has its own. A group that
//! is refused is tried in its other mode, and then given up until the next session, which is said.

use super::message::{Encoding, Path, SubscribeRequest, Subscription, SubscriptionList, SubscriptionMode};
use super::path::{Step, wanted};
use std::time::Duration;

/// Paths that are subscribed to together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Group {
    /// Frames and errors. Without these there is nothing to be judged.
    Counters,
    /// Whether ports are up.
    Status,
    /// Frames by length, codewords, speed and code.
    Ethernet,
    /// What NVIDIA's switches count of codewords and lanes.
    Phy,
    /// Types of interfaces, and their transceivers.
    Interfaces,
    /// What transceivers count of codewords.
    Transceivers,
    /// When the device was started.
    Boot,
}

impl Group {
    pub const ALL: [Group; 7] = [
        Group::Counters,
        Group::Status,
        Group::Ethernet,
        Group::Phy,
        Group::Interfaces,
        Group::Transceivers,
        Group::Boot,
    ];

    fn paths(self) -> &'static [&'static str] {
        match self {
            Group::Counters => &["interfaces/interface/state/counters"],
            Group::Status => &["interfaces/interface/state/oper-status"],
            Group::Ethernet => &["interfaces/interface/ethernet/state"],
            Group::Phy => &["interfaces/interface/phy"],
            Group::Interfaces => {
                &["interfaces/interface/state/type", "interfaces/interface/state/transceiver"]
            }
            Group::Transceivers => &["components/component/transceiver/state"],
            Group::Boot => &["system/state/boot-time"],
        }
    }

    /// Whether a path is one of its own, or beneath one.
    pub fn covers(self, path: &[Step]) -> bool {
        self.paths().iter().any(|own| {
            let mut steps = path.iter();
            own.split('/').all(|name| steps.next().is_some_and(|step| step.name == name))
        })
    }

    /// Its paths, for people.
    pub fn path_text(self) -> String {
        self.paths().iter().map(|path| format!("/{path}")).collect::<Vec<_>>().join(" and ")
    }

    /// What is missing without it.
    pub fn consequence(self) -> &'static str {
        match self {
            Group::Counters => "no link can be judged",
            Group::Status => "flaps are seen only where they are counted",
            Group::Ethernet => {
                "frames of a wrong length count as corrupted, and speeds and codes are unknown"
            }
            Group::Phy => "codewords are counted only where OpenConfig's own paths have them",
            Group::Interfaces => "LAGs are ports like others, and counters of transceivers belong to none",
            Group::Transceivers => "codewords that only transceivers count are not seen",
            Group::Boot => "a restart shows only where counters have shrunk",
        }
    }

    /// Whether a session makes no sense without it.
    pub fn is_essential(self) -> bool {
        self == Group::Counters
    }

    /// Whether it is usual to have no such path, and so not worth a warning.
    pub fn is_rare(self) -> bool {
        self == Group::Phy
    }

    /// How it is asked for, in this order until the device agrees.
    pub fn modes(self) -> &'static [SubscriptionMode] {
        match self {
            Group::Counters | Group::Ethernet | Group::Phy | Group::Transceivers => {
                &[SubscriptionMode::Sample]
            }
            Group::Status | Group::Interfaces | Group::Boot => {
                &[SubscriptionMode::OnChange, SubscriptionMode::Sample]
            }
        }
    }

    /// The message that subscribes to it. `origin` and `name` go into the prefix, which some devices need.
    pub fn request(
        self,
        mode: SubscriptionMode,
        sample: Duration,
        encoding: Encoding,
        origin: &str,
        name: &str,
    ) -> SubscribeRequest {
        let interval = u64::try_from(sample.as_nanos()).unwrap_or(u64::MAX);
        let subscription = self.paths().iter().map(|path| Subscription {
            path: Some(wanted(path)),
            mode: mode as i32,
            sample_interval: if mode == SubscriptionMode::Sample { interval } else { 0 },
        });
        let prefix = Path { origin: origin.to_owned(), target: name.to_owned(), ..Path::default() };
        SubscribeRequest {
            subscribe: Some(SubscriptionList {
                prefix: Some(prefix),
                subscription: subscription.collect(),
                encoding: encoding as i32,
            }),
        }
    }
}
