//! The demo in its smallest form measures what it claims to, and says so when it cannot.

mod common;

use std::time::Duration;

use linkmend_lab::StopFlag;
use linkmend_lab::demo::{Condition, DemoOptions, DemoResult, Observer, Part, Step, run};

/// Counts slots, and checks that none is beyond their number.
#[derive(Default)]
struct Slots(std::sync::atomic::AtomicUsize);

impl Observer for Slots {
    fn step(&self, step: &Step<'_>) {
        assert!(step.index < step.total, "{step:?}");
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
}

fn smallest(name: &str) -> DemoOptions {
    DemoOptions {
        prefix: common::options(name).prefix,
        rounds: 1,
        goodput_losses: vec![1e-2],
        stress_time: Duration::from_millis(150),
        flows: 20,
        goodput_time: Duration::from_millis(400),
        goodput_warm_up: Duration::from_millis(200),
        phase_time: Duration::from_millis(200),
        ..DemoOptions::standard(Part::Link)
    }
}

fn demo(options: &DemoOptions) -> (DemoResult, usize) {
    let slots = Slots::default();
    let result = run(options, &StopFlag::new(), &slots).expect("it runs to its end");
    (result, slots.0.into_inner())
}

#[test]
fn a_demo_shows_a_link_that_suffers_and_one_that_does_not() {
    if !common::privileged("a_demo_shows_a_link_that_suffers_and_one_that_does_not") {
        return;
    }
    // One slot tells little where others use the machine, too, so medians of three are compared.
    const ROUNDS: usize = 3;
    let (result, slots) = demo(&DemoOptions { rounds: ROUNDS, ..smallest("demo") });
    let goodput = |condition, loss| {
        result.goodput_of("cubic", loss, condition).and_then(|row| row.goodput_bps).expect("measured")
    };
    let ordered = goodput(Condition::Ordered, 1e-2);
    // The real ratio is 13; even a machine that barely runs shows a difference.
    assert!(ordered > 2.0 * goodput(Condition::Unprotected, 1e-2), "{:#?}", result.goodput);
    assert!(goodput(Condition::Healthy, 0.0) < 300e6, "{:#?}", result.goodput);
    let flows = |condition| result.fct_of(condition).map(|column| column.samples_ns.len());
    assert!(
        Condition::ALL.iter().all(|condition| flows(*condition) == Some(20 * ROUNDS)),
        "{:#?}",
        result.fct
    );
    for column in &result.fct {
        let of = |summary: &Option<linkmend_lab::Summary>| summary.as_ref().map(|one| (one.count, one.min));
        let (with, without) = (of(&column.completion_ns), of(&column.established_ns));
        let (Some((flows, with_ns)), Some((same, without_ns))) = (with, without) else {
            panic!("{column:#?}")
        };
        // A handshake takes a round trip of 4 ms.
        assert!(flows == same && without_ns + 3_900_000 < with_ns, "{column:#?}");
    }
    let stress = result.stress_of(Condition::Ordered).expect("measured");
    assert!(stress.frames_sent > 100 && stress.actual_loss > 0.0, "{stress:#?}");
    let all = result.noise.all();
    assert_eq!((all.slots, all.slots + all.repeated), (ROUNDS * (4 + 4 + 4) + 1, slots));
}

#[test]
fn a_demo_on_a_machine_too_disturbed_to_tell_says_so() {
    if !common::privileged("a_demo_on_a_machine_too_disturbed_to_tell_says_so") {
        return;
    }
    // No wake-up is this punctual, so every slot counts as disturbed.
    let mut options = smallest("noisy");
    options.tolerance.worst_wakeup_ns = 0;
    let (result, slots) = demo(&options);
    let all = result.noise.all();
    assert!(all.too_disturbed && result.noise.goodput.too_disturbed, "{all:?}");
    // Half as many repeats as slots in each of three experiments, and two of the timeline.
    assert_eq!((all.disturbed, all.repeated, slots), (13, 2 + 2 + 2 + 2, 21));
}
