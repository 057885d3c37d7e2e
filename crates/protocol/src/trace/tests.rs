//! A run over a lossy pair is recorded, repeated and described.

use super::*;
use crate::{
    Admission, Config, Control, Copies, DataHeader, FrameHandle, Instant, LinkEnd, Mode, Priority,
    Protection, Reception, Tick, Transmit,
};
use std::boxed::Box;
use std::vec::Vec;

/// Steps of one end, in memory.
type Steps = Vec<Record>;

enum Item {
    Data(DataHeader, u32),
    Control(Box<Control>),
}

fn end(seed: u64) -> TracedLinkEnd<Steps> {
    let end = LinkEnd::new(Config::new(Tick::Nanosecond), seed).expect("valid");
    TracedLinkEnd::new(end, Some(Vec::new()))
}

/// Everything that `end` has to say; frame `n` has handle `n`.
fn speak(end: &mut TracedLinkEnd<Steps>, now: Instant, offered: &mut Vec<u32>) -> Vec<Item> {
    let mut out = Vec::new();
    end.handle_timeout(now);
    while end.poll_deliver().is_some() {}
    for priority in [Priority::High, Priority::Low] {
        while let Some(transmit) = end.poll_transmit(now, priority) {
            out.push(match transmit {
                Transmit::Retransmission { header, frame } => Item::Data(header, frame.0),
                Transmit::Control(control) => Item::Control(Box::new(control)),
            });
        }
        while priority == Priority::High && end.admission(Mode::Ordered, 100) == Admission::Protected {
            let Some(frame) = offered.pop() else { break };
            let header = end.send(now, Mode::Ordered, FrameHandle(frame), 100).expect("admitted");
            out.push(Item::Data(header, frame));
        }
    }
    while end.poll_release().is_some() {}
    while end.poll_event().is_some() {}
    out
}

/// One frame per 100 us from the first end to the second; the originals of frames 3 and 4 and the first copy are lost.
pub(super) fn lossy_run() -> [Steps; 2] {
    let (mut first, mut second) = (end(1), end(2));
    first.protect(Instant(0), Protection { copies: Copies::Fixed(2) });
    let mut copies = 0;
    for tick in 0..200 {
        let now = Instant(Tick::Nanosecond.micros(10).0 * tick);
        let mut offered =
            if tick >= 50 && tick % 10 == 0 { std::vec![tick as u32 / 10 - 5] } else { Vec::new() };
        for item in speak(&mut first, now, &mut offered) {
            match item {
                Item::Data(header, frame) => {
                    copies += u32::from(header.retransmitted);
                    let lost = if header.retransmitted { copies == 1 } else { frame == 3 || frame == 4 };
                    if lost {
                        let frame = CorruptedFrame::Data(header);
                        second.note(now, || Step::Corrupted { frame });
                    } else if second.handle_data(now, &header, FrameHandle(frame), 100) == Reception::Deliver
                    {
                        while second.poll_deliver().is_some() {}
                    }
                }
                Item::Control(control) => _ = second.handle_control(now, &control),
            }
        }
        for item in speak(&mut second, now, &mut Vec::new()) {
            if let Item::Control(control) = item {
                first.handle_control(now, &control);
            }
        }
    }
    [first, second].map(|mut end| core::mem::take(end.sink_mut().expect("there is one")))
}

#[test]
fn a_record_repeats_exactly_on_a_fresh_link_end() {
    for (seed, steps) in (1..).zip(lossy_run()) {
        let mut fresh = LinkEnd::new(Config::new(Tick::Nanosecond), seed).expect("valid");
        for Record { at, step } in &steps {
            assert_eq!(step.repeat(&mut fresh, *at).as_ref(), Some(step));
        }
        let mut other = LinkEnd::new(Config::new(Tick::Nanosecond), seed + 9).expect("valid");
        let differs =
            |record: &Record| record.step.repeat(&mut other, record.at).as_ref() != Some(&record.step);
        assert!(steps.iter().any(differs), "another seed gives another session");
    }
}

/// The events of the kinds that losses cause, without their order in time beyond one end's.
fn reported(steps: &Steps, keep: fn(&TraceEvent) -> bool) -> Vec<std::string::String> {
    let mut tracer = Tracer::new();
    let mut reported = Vec::new();
    for record in steps {
        tracer.trace(&record.step, &mut |event| {
            if keep(&event) {
                reported.push(std::format!("{event}"));
            }
        });
    }
    reported
}

#[test]
fn a_record_is_described_in_protocol_terms() {
    let [first, second] = lossy_run();
    let Some(Step::Send { header: Some(header), .. }) =
        first.iter().map(|record| &record.step).find(|step| matches!(step, Step::Send { .. }))
    else {
        panic!("nothing was sent")
    };
    let zero = header.sequence;
    let at = |n: u64| zero.plus(n);
    let sender = reported(&first, |event| {
        matches!(event, TraceEvent::CopySent { .. } | TraceEvent::Notification { .. })
    });
    let hole = std::format!("received notification of ordered {}", at(3));
    assert!(sender[0].starts_with(&hole), "{sender:?}");
    let copies: Vec<_> = sender.iter().filter(|text| text.starts_with("sent copy")).cloned().collect();
    assert_eq!(copies, [3, 3, 4, 4].map(|n| std::format!("sent copy of ordered {}", at(n))));
    let delivered = reported(&second, |event| matches!(event, TraceEvent::Delivered { .. }));
    let expected: Vec<_> = (0..15).map(|n| std::format!("delivered ordered {}", at(n))).collect();
    assert_eq!(delivered, expected);
    let corrupted = reported(&second, |event| matches!(event, TraceEvent::Corrupted { .. }));
    assert_eq!(corrupted.len(), 3);
    let released = reported(&first, |event| matches!(event, TraceEvent::Released { .. }));
    assert_eq!(released.len(), 15);
    let discarded = reported(&second, |event| matches!(event, TraceEvent::Discarded { .. }));
    assert_eq!(discarded, [std::format!("discarded ordered {}", at(4))]);
}

#[test]
fn without_a_sink_no_step_is_built() {
    let end = LinkEnd::new(Config::new(Tick::Nanosecond), 1).expect("valid");
    let mut end = TracedLinkEnd::<Steps>::new(end, None);
    end.note(Instant(0), || unreachable!("made without need"));
    assert!(end.sink_mut().is_none());
}
