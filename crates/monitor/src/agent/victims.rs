//! Links that only pass on what others corrupt.

use super::*;

const SECOND: Duration = Duration::from_secs(1);

/// An agent at both ends of its cable, so that it carries out what it asks for.
struct Bench {
    agent: Agent,
    now: Duration,
    reading: Reading,
    /// What was to be protected, or not any more, in this order.
    carried_out: Vec<bool>,
}

impl Bench {
    fn new() -> Bench {
        let cable = ["s/in", "s/out"].map(|port| port.parse().expect("a port"));
        let cabling = Cabling::new([cable]).expect("no contradiction");
        let mut agent = Agent::new("s", Policy::default(), cabling);
        agent.handle_synchronised(Duration::ZERO);
        let reading = Reading { corrupted_frames: Some(0), ..Reading::default() };
        Bench { agent, now: Duration::ZERO, reading, carried_out: Vec::new() }
    }

    /// A second in which one of a thousand frames arrives corrupted.
    fn poll(&mut self) {
        self.now += SECOND;
        self.reading.good_frames += 999_000;
        self.reading.corrupted_frames = self.reading.corrupted_frames.map(|count| count + 1_000);
        self.agent.handle_readings(self.now, [("in".to_owned(), self.reading)]);
        self.settle();
    }

    fn settle(&mut self) {
        while let Some(action) = self.agent.poll_action() {
            if let Action::Actuate { port, request, .. } = action {
                let effect = if request.protection.is_some() { Effect::Active } else { Effect::Dormant };
                self.carried_out.push(request.protection.is_some());
                self.agent.handle_effect(self.now, &port, request.generation, effect, None);
            }
        }
    }

    fn downstream_of(&mut self, link: Option<&str>) {
        let port: PortName = "s/in".parse().expect("a port");
        let upstream = link.map(|link| (port, link.to_owned())).into_iter().collect();
        self.agent.handle_upstream(self.now, upstream);
        self.settle();
    }

    fn request(&self) -> Request {
        self.agent.directions.values().next().and_then(|state| state.request.clone()).expect("asked for")
    }
}

#[test]
fn nothing_is_protected_while_another_link_is_to_blame() {
    let mut bench = Bench::new();
    (0..5).for_each(|_| bench.poll());
    assert_eq!(bench.carried_out, [true]);
    bench.downstream_of(Some("tor1--agg1"));
    let request = bench.request();
    assert_eq!((request.downstream_of.as_deref(), request.disable), (Some("tor1--agg1"), false));
    assert!(request.protection.is_some(), "the planner needs what was counted");
    assert_eq!(bench.carried_out, [true, false]);
    // Nothing changes, so that nothing is done or tried again.
    (0..90).for_each(|_| bench.poll());
    assert_eq!((bench.carried_out.clone(), bench.agent.next_timeout()), (vec![true, false], None));
    bench.downstream_of(None);
    assert_eq!((bench.request().downstream_of, bench.carried_out.clone()), (None, vec![true, false, true]));
    let told: Vec<String> =
        std::iter::from_fn(|| bench.agent.poll_decision()).map(|decision| decision.to_string()).collect();
    let victim = "s/in: needs no protection, because it is downstream of tor1--agg1";
    assert!(told.iter().any(|line| line.starts_with(victim)), "{told:#?}");
}
