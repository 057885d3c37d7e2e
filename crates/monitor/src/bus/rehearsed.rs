//! A bus of which nothing is changed (dry run). What this agent would put there is kept here, beside what the others have put
//! there.

use super::{Bus, BusError, BusEvent, EmbeddedBus};
use crate::PortName;
use crate::exchange::DirectionState;

/// See the module's documentation.
pub struct RehearsedBus {
    real: Box<dyn Bus>,
    known: EmbeddedBus,
}

impl RehearsedBus {
    /// Reads this bus, and writes nothing to it.
    pub fn new(real: Box<dyn Bus>) -> RehearsedBus {
        RehearsedBus { real, known: EmbeddedBus::default() }
    }
}

impl Bus for RehearsedBus {
    fn describe(&self) -> String {
        format!("{} (read-only)", self.real.describe())
    }

    fn trouble(&self) -> Option<String> {
        self.real.trouble()
    }

    fn put(&mut self, port: &PortName, state: DirectionState) -> Result<(), BusError> {
        self.known.put(port, state)
    }

    fn poll(&mut self) -> Result<Vec<BusEvent>, BusError> {
        let (mut events, mut last) = (Vec::new(), None);
        for event in self.real.poll()? {
            match event {
                // Nothing is done about it.
                BusEvent::State(port, state) | BusEvent::Recorded(port, state) => {
                    self.known.put(&port, state)?;
                }
                BusEvent::Rereading => {
                    self.known.say_all();
                    events.push(BusEvent::Rereading);
                }
                BusEvent::Synchronised => last = Some(BusEvent::Synchronised),
                BusEvent::Findings(agent, findings) => events.push(BusEvent::Findings(agent, findings)),
            }
        }
        let known = self.known.poll()?;
        events.extend(known.into_iter().filter(|event| *event != BusEvent::Synchronised));
        events.extend(last);
        Ok(events)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::Request;

    /// Says this, and takes nothing.
    struct Said(Vec<BusEvent>);

    impl Bus for Said {
        fn describe(&self) -> String {
            "a test".to_owned()
        }

        fn put(&mut self, port: &PortName, _: DirectionState) -> Result<(), BusError> {
            panic!("{port} was written")
        }

        fn poll(&mut self) -> Result<Vec<BusEvent>, BusError> {
            Ok(std::mem::take(&mut self.0))
        }
    }

    #[test]
    fn what_would_be_put_is_known_here_and_nowhere_else() {
        let state = |reason: &str| DirectionState {
            request: Some(Request { generation: 1, reason: reason.to_owned(), ..Request::default() }),
            acknowledgement: None,
        };
        let [theirs, ours]: [PortName; 2] = ["a/1", "b/1"].map(|port| port.parse().expect("a port"));
        let said = vec![
            BusEvent::Rereading,
            BusEvent::State(theirs.clone(), state("theirs")),
            BusEvent::Synchronised,
        ];
        let mut bus = RehearsedBus::new(Box::new(Said(said.clone())));
        bus.put(&ours, state("ours")).expect("kept");
        let all = [
            BusEvent::Rereading,
            BusEvent::State(theirs, state("theirs")),
            BusEvent::State(ours, state("ours")),
            BusEvent::Synchronised,
        ];
        assert_eq!(bus.poll().expect("works"), all);
        assert_eq!(bus.poll().expect("works"), []);
        // When everything is read again, ours is not forgotten.
        bus.real = Box::new(Said(said));
        assert_eq!(bus.poll().expect("works"), all);
    }
}
