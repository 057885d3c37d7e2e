//! Requests of this agent that its own ports have to follow as well: protection that needs both ends of a link.

use crate::PortName;
use crate::exchange::{Effect, Request};
use std::collections::BTreeMap;
use std::time::Duration;

/// The wait after a failure, which doubles with each, up to the longest.
const RETRY_FIRST: Duration = Duration::from_secs(1);
const RETRY_LONGEST: Duration = Duration::from_mins(1);

/// The latest request for a port, and how far its own end has come.
#[derive(Debug)]
struct OwnEnd {
    request: Request,
    /// When to switch this end; `None` while it is switched, and afterwards.
    due: Option<Duration>,
    failures: u32,
    trouble: Option<String>,
}

/// Call [`handle_request`](Self::handle_request) with every request that is made or heard again, and
/// [`handle_effect`](Self::handle_effect) with the result of each one that [`poll`](Self::poll) returned.
#[derive(Debug, Default)]
pub(super) struct OwnEnds {
    ends: BTreeMap<PortName, OwnEnd>,
}

impl OwnEnds {
    /// Takes what this agent asks for at the port that receives. Only where it knows the port that sends can both ends have it.
    pub fn handle_request(&mut self, now: Duration, port: &PortName, request: &Request) {
        let is_known = self.ends.get(port).is_some_and(|end| end.request.generation >= request.generation);
        if request.generation == 0 || is_known {
            return;
        }
        let mut request = request.clone().to_carry_out();
        request.protection = request.protection.filter(|_| request.sender.is_some());
        let end = OwnEnd { request, due: Some(now), failures: 0, trouble: None };
        self.ends.insert(port.clone(), end);
    }

    /// Takes what became of a request of this generation. What failed, or was ended by somebody else, is tried again.
    pub fn handle_effect(
        &mut self,
        now: Duration,
        port: &PortName,
        generation: u64,
        effect: Effect,
        error: Option<String>,
    ) {
        let Some(end) = self.ends.get_mut(port).filter(|end| end.request.generation == generation) else {
            return;
        };
        let wanted = end.request.protection.is_some();
        let ended = wanted && effect == Effect::Dormant;
        if effect == Effect::Failed || ended {
            let wait = RETRY_FIRST.saturating_mul(1 << end.failures.min(6)).min(RETRY_LONGEST);
            end.failures = end.failures.saturating_add(1);
            end.due = Some(now + wait);
        } else if effect != Effect::Starting {
            end.failures = 0;
        }
        if error != end.trouble {
            match &error {
                Some(error) => tracing::error!("{port}: this end is not protected: {error}"),
                None => tracing::info!("{port}: this end is {}", effect.name()),
            }
            end.trouble = error;
        }
    }

    /// The next request that is due, with its port.
    pub fn poll(&mut self, now: Duration) -> Option<(PortName, Request)> {
        let mut due = self.ends.iter_mut().filter(|(_, end)| end.due.is_some_and(|at| at <= now));
        let (port, end) = due.next()?;
        end.due = None;
        Some((port.clone(), end.request.clone()))
    }

    /// What does not work, for people.
    pub fn troubles(&self) -> impl Iterator<Item = String> {
        self.ends.iter().filter_map(|(port, end)| {
            let trouble = end.trouble.as_ref()?;
            Some(format!("{port}: this end is not protected: {trouble}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::Protection;
    use linkmend_control::ProtectMode;

    const SECOND: Duration = Duration::from_secs(1);

    fn port() -> PortName {
        PortName::new("leaf1", "Ethernet0").expect("a name")
    }

    fn request(generation: u64, protects: bool) -> Request {
        let protection = Protection { mode: ProtectMode::Ordered, loss_rate: 1e-3, target: 1e-8, copies: 2 };
        Request {
            generation,
            protection: protects.then_some(protection),
            sender: PortName::new("spine1", "Ethernet0").ok(),
            ..Request::default()
        }
    }

    fn polled(ends: &mut OwnEnds, now: Duration) -> Option<(u64, bool)> {
        ends.poll(now).map(|(_, request)| (request.generation, request.protection.is_some()))
    }

    #[test]
    fn a_request_is_followed_once_and_a_newer_one_replaces_it() {
        let mut ends = OwnEnds::default();
        ends.handle_request(SECOND, &port(), &request(0, false));
        assert_eq!(polled(&mut ends, SECOND), None, "it asks for nothing");
        for generation in [2, 2, 1] {
            ends.handle_request(SECOND, &port(), &request(generation, true));
        }
        assert_eq!(polled(&mut ends, SECOND), Some((2, true)));
        assert_eq!(polled(&mut ends, SECOND), None);
        ends.handle_request(SECOND, &port(), &request(3, false));
        assert_eq!(polled(&mut ends, SECOND), Some((3, false)));
        // Without a cable, and downstream of another link, this end has nothing to do.
        for lacking in [
            Request { sender: None, ..request(4, true) },
            Request { downstream_of: Some("a--b".to_owned()), ..request(5, true) },
        ] {
            ends.handle_request(SECOND, &port(), &lacking);
            assert_eq!(polled(&mut ends, SECOND), Some((lacking.generation, false)));
        }
    }

    #[test]
    fn what_fails_is_shown_and_tried_again() {
        let mut ends = OwnEnds::default();
        ends.handle_request(SECOND, &port(), &request(1, true));
        assert_eq!(polled(&mut ends, SECOND), Some((1, true)));
        ends.handle_effect(SECOND, &port(), 1, Effect::Failed, Some("no LLR".to_owned()));
        assert_eq!(
            ends.troubles().collect::<Vec<_>>(),
            ["leaf1/Ethernet0: this end is not protected: no LLR"]
        );
        assert_eq!(polled(&mut ends, SECOND), None);
        assert_eq!(polled(&mut ends, 2 * SECOND), Some((1, true)));
        ends.handle_effect(2 * SECOND, &port(), 1, Effect::Starting, None);
        assert_eq!((ends.troubles().count(), polled(&mut ends, 99 * SECOND)), (0, None));
        // Somebody else has ended it.
        ends.handle_effect(100 * SECOND, &port(), 1, Effect::Dormant, None);
        assert_eq!(polled(&mut ends, 102 * SECOND), Some((1, true)));
        ends.handle_effect(102 * SECOND, &port(), 9, Effect::Failed, Some("of another request".to_owned()));
        assert_eq!(ends.troubles().count(), 0);
    }
}
