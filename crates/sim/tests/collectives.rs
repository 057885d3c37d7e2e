//! Training jobs: without loss they take as long as closed forms say, and with loss they end.

use linkmend_collective::{Action, Program};
use linkmend_sim::flows::{self, Demand, FlowsReport, Job, RankOrder, Training, TrainingReport};
use linkmend_sim::parameters::RunParameters;
use linkmend_sim::time::Time;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What a frame waits for at each link beside its own length: egress and ingress of a switch or host.
const HOP_NS: f64 = 260.0 + 850.0;
/// Mean latency of a card. The last frames of a long message wait for less: the card handles them with those before.
const CARD_NS: f64 = 1_000.0 + 230.0 * 1.133;
/// Headers of a packet of RDMA with its frame check sequence, preamble and gap: Ethernet, IPv4, UDP, BTH, ICRC.
const HEADERS_BYTES: f64 = 14.0 + 20.0 + 8.0 + 12.0 + 4.0 + 4.0 + 20.0;
const MTU_BYTES: f64 = 4_096.0;

fn parameters(set: &[(&str, &str)]) -> RunParameters {
    let mut parameters = RunParameters::default();
    let usual = [("transport", "rdma"), ("rdma-mtu", "4096"), ("scheme", "none"), ("loss", "0")];
    for (key, text) in usual.iter().chain(set) {
        parameters.set(key, text).unwrap_or_else(|error| panic!("{key} = {text}: {error}"));
    }
    parameters
}

fn run(set: &[(&str, &str)]) -> FlowsReport {
    let config = parameters(set).flows(Path::new("")).unwrap_or_else(|error| panic!("{error}"));
    flows::run(&config, 1, &AtomicBool::new(false), &|| ()).expect("valid").expect("nothing stops it")
}

fn trained(set: &[(&str, &str)]) -> (FlowsReport, TrainingReport) {
    let report = run(set);
    let training = report.flows.training.clone().expect("it is a training job");
    (report, training)
}

/// From the first byte of a message until its receiver has it, over so many links of this rate, with the latency of its card,
/// in ns.
fn message_ns(bytes: f64, links: f64, gbps: f64, card_ns: f64) -> f64 {
    let packets = (bytes / MTU_BYTES).ceil();
    let wire = (bytes + packets * HEADERS_BYTES) * 8.0 / gbps;
    let last = bytes - (packets - 1.0) * MTU_BYTES;
    // Switches store frames, and the last one has to pass the other links as well.
    let others = (links - 1.0) * (last + HEADERS_BYTES) * 8.0 / gbps;
    wire + others + links * HOP_NS + card_ns
}

/// A ring all-reduce sends 2 (n - 1) messages one after the other, each a part of 1 / n.
#[test]
fn without_loss_a_ring_takes_as_long_as_its_messages_one_after_the_other() {
    for (ranks, size, speed) in [
        (2_u32, "1MB", "100G"),
        (3, "3MB", "400G"),
        (4, "10MB", "100G"),
        (8, "1MB", "400G"),
        (8, "40MB", "400G"),
        (16, "10MB", "800G"),
        (32, "2MB", "100G"),
    ] {
        let topology = format!("star:hosts={ranks},speed={speed}");
        let set = [
            ("topology", topology.as_str()),
            ("speed", speed),
            ("collective", "all-reduce-ring"),
            ("size", size),
            ("steps", "3"),
        ];
        let (report, training) = trained(&set);
        let gbps: f64 = speed.trim_end_matches('G').parse().expect("a rate");
        let bytes: f64 = size.trim_end_matches("MB").parse::<f64>().expect("a size") * 1e6;
        let messages = 2.0 * f64::from(ranks - 1);
        let part = (bytes / f64::from(ranks)).ceil();
        let [least, mean] = [0.0, CARD_NS].map(|card| messages * message_ns(part, 2.0, gbps, card) / 1e3);
        let steps = training.step_us.expect("all steps ended");
        assert_eq!((steps.count, training.unfinished_steps, training.unfinished_operations), (3, 0, 0));
        // Cards are at random, and a step waits for the slowest of n chains of messages.
        let slack = 0.01 * mean + 0.5 * libm::sqrt(messages);
        assert!(
            steps.min > least && steps.max < mean + slack,
            "{ranks} ranks, {size} at {speed}: {:.2} to {:.2} us, expected {least:.2} to {mean:.2} + {slack:.2}",
            steps.min,
            steps.max
        );
        // The closed form without any latency: 2 (n - 1) / n x S / R with headers.
        let packets = (part / MTU_BYTES).ceil();
        let ideal = messages * (part + packets * HEADERS_BYTES) * 8.0 / gbps / 1e3;
        assert!((training.ideal_step_us / ideal - 1.0).abs() < 0.01, "{ideal} {}", training.ideal_step_us);
        let bus = messages * bytes / f64::from(ranks) * 8.0 / 1e3 / steps.mean;
        let measured = training.bus_gbps.expect("it sends");
        assert!((measured / bus - 1.0).abs() < 1e-9, "{measured} is not {bus}");
        assert_eq!(
            (report.flows.retransmissions, report.flows.timeouts, report.network.frames_dropped),
            (0, 0, 0)
        );
    }
}

/// Messages over two tiers take longer, and those around a ring add up.
#[test]
fn consecutive_ranks_at_different_switches_have_longer_ways() {
    let topology = "leaf-spine:leaves=4,spines=4,hosts=4,speed=400G,host-speed=400G";
    let time = |order| {
        let set = [
            ("topology", topology),
            ("speed", "400G"),
            ("collective", "all-reduce-ring"),
            ("size", "1600kB"),
            ("rank-order", order),
        ];
        trained(&set).1.step_us.expect("it ended").mean
    };
    let of = |links: f64| message_ns(100_000.0, links, 400.0, CARD_NS) / 1e3;
    // Of 30 messages in a row, 7 or 8 go to the next switch. The ranks before these also wait until what they sent has arrived.
    let [linear, across] = [time("linear"), time("across")];
    let [shortest, longest] = [23.0 * of(2.0) + 7.0 * of(4.0), 30.0 * of(4.0)];
    assert!(linear > shortest && linear < longest, "{linear} us, expected {shortest} to {longest}");
    // Two flows may share a link between switches.
    assert!(across > 0.99 * longest && across < 1.6 * longest, "{across} us, expected {longest}");
}

#[test]
fn computations_and_groups_take_their_time() {
    let star = [("topology", "star:hosts=8,speed=400G"), ("speed", "400G"), ("size", "4MB")];
    let with = |set: &[(&'static str, &'static str)]| {
        let all: Vec<_> = star.iter().copied().chain(set.iter().copied()).collect();
        trained(&all).1
    };
    let alone = with(&[("collective", "all-reduce-ring")]).step_us.expect("it ended").mean;
    let computing = with(&[("collective", "all-reduce-ring"), ("compute", "1ms"), ("steps", "4")]);
    let steps = computing.step_us.expect("it ended");
    assert!((steps.mean - alone - 1_000.0).abs() < 0.02 * alone, "{} and {alone} us", steps.mean);
    assert!(computing.bus_gbps.expect("it sends") > 200.0, "computing does not count");
    let groups = with(&[("collective", "all-reduce-ring"), ("groups", "4")]);
    assert_eq!((groups.ranks, groups.groups), (8, 4));
    let expected = 2.0 * message_ns(2e6, 2.0, 400.0, CARD_NS) / 1e3;
    let measured = groups.step_us.expect("it ended").mean;
    assert!((measured / expected - 1.0).abs() < 0.02, "{measured} us, expected {expected}");
}

/// Every kind reaches what it has to send and no more, and gets at least a part of what links can carry.
#[test]
fn every_collective_operation_ends() {
    for kind in flows::CollectiveKind::ALL {
        let (report, training) = trained(&[
            ("topology", "leaf-spine:leaves=2,spines=2,hosts=4,speed=400G,host-speed=400G"),
            ("speed", "400G"),
            ("collective", kind.name()),
            ("size", "8MB"),
            ("channels", "2"),
        ]);
        let name = kind.name();
        assert_eq!((training.unfinished_operations, report.flows.retransmissions), (0, 0), "{name}");
        let ratio = training.step_ratio.expect("it ended");
        assert!(ratio > 0.99 && ratio < 4.0, "{name}: {ratio}");
    }
}

#[test]
fn a_program_runs_on_the_first_hosts_and_its_steps_are_told_apart() {
    let mut builder = Program::builder(3).expect("ranks");
    let computed = builder.add(Action::Compute { rank: 0, nanos: 50_000 }, &[]).expect("good");
    let sent = builder.add(Action::Send { from: 0, to: 2, bytes: 4_096 }, &[computed]).expect("good");
    builder.next_step().expect("few");
    builder.add(Action::Send { from: 2, to: 1, bytes: 409_600 }, &[sent]).expect("good");
    let training = Training {
        job: Job::Program(Arc::new(builder.finish())),
        order: RankOrder::Linear,
        steps: 2,
        compute: Time::ZERO,
        left_out: Vec::new(),
    };
    let parameters = parameters(&[("topology", "star:hosts=4,speed=100G")]);
    let folder = Path::new("");
    let graph = parameters.graph(folder).expect("a topology");
    let config = parameters.flows_in(graph, Demand::Training(training), folder).expect("valid");
    let report =
        flows::run(&config, 1, &AtomicBool::new(false), &|| ()).expect("valid").expect("nothing stops it");
    let training = report.flows.training.expect("it is a training job");
    let steps = training.step_us.expect("it ended");
    assert_eq!((training.ranks, steps.count, training.unfinished_steps), (3, 4, 0));
    assert!((steps.max - 54.0).abs() < 2.0 && (steps.min - 37.0).abs() < 2.0, "{steps:?}");
}

/// The case in which other simulators end before the operation does: 128 ranks, and a loss of 1e-3 on links.
#[test]
fn with_losses_a_large_ring_completes_whatever_recovers_them() {
    let fabric = "leaf-spine:leaves=16,spines=8,hosts=8,speed=400G,host-speed=400G";
    for recovery in ["go-back-n", "selective-repeat"] {
        for scheme in ["none", "ordered", "non-blocking", "llr"] {
            let (report, training) = trained(&[
                ("topology", fabric),
                ("speed", "400G"),
                ("collective", "all-reduce-ring"),
                ("size", "6400kB"),
                ("loss", "1e-3"),
                ("corrupting-links", "128"),
                ("both-directions", "yes"),
                ("rank-order", "across"),
                ("host-recovery", recovery),
                ("scheme", scheme),
            ]);
            let case = format!("{recovery}, {scheme}");
            assert_eq!((training.unfinished_steps, training.unfinished_operations), (0, 0), "{case}");
            assert_eq!((report.flows.unfinished_flows, report.flows.failed_flows), (0, 0), "{case}");
            assert!(
                report.network.frames_corrupted > 500,
                "{case}: {} frames",
                report.network.frames_corrupted
            );
            if scheme == "none" {
                assert!(report.flows.retransmissions > 500, "{case}");
            } else if scheme != "non-blocking" {
                assert!(report.flows.retransmissions < 100, "{case}: {}", report.flows.retransmissions);
            }
        }
    }
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    let refused = |key: &str, value: &str| {
        let usual = [("topology", "star:hosts=6"), ("collective", "all-reduce-ring"), ("size", "1MB")];
        let all: Vec<_> = usual.into_iter().chain([(key, value)]).collect();
        parameters(&all).flows(Path::new("")).expect_err("it cannot be").to_string()
    };
    for (key, value, part) in [
        ("ranks", "7", "must be 2 to the 6 hosts"),
        ("groups", "4", "must divide the 6 ranks into groups of at least 2"),
        ("collective", "all-reduce-halving-doubling", "power of two"),
        ("size", "5B", "must be at least 6B"),
        ("size", "web-search", "must be one size"),
        ("steps", "0", "must be 1 to"),
        ("channels", "0", "must be from 1 to"),
        ("trials", "5", "cannot be combined with a training job"),
    ] {
        let error = refused(key, value);
        assert!(error.starts_with(key) && error.contains(part), "{error}");
    }
    let alone =
        parameters(&[("topology", "star:hosts=6"), ("trials", "5"), ("size", "1MB"), ("groups", "2")]);
    let error = alone.flows(Path::new("")).expect_err("no job").to_string();
    assert!(error.contains("needs a training job"), "{error}");
}

/// The three formats of files, told apart by their beginnings.
#[test]
fn files_say_what_ranks_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let write =
        |name: &str, content: &str| std::fs::write(folder.path().join(name), content).expect("written");
    write("ring.cm", "Nodes 2\nConnections 1\n0->1 id 1 start 0 size 1000000\n");
    write(
        "one.goal",
        "// One message.\nnum_ranks 2\nrank 0 {\nl1: send 1000b to 1 tag 7\n}\nrank 1 {\nl1: recv 1000b from 0 tag 7 cpu 1\n}\n",
    );
    write("micro.txt", "MICRO\n1\nlayer -1 1 ALLREDUCE 4096 1 NONE 0 1 NONE 0 1\n");
    write("notes.txt", "Notes\n");
    write("broken.cm", "Nodes two\n");
    let flows = |set: &[(&str, &str)]| {
        let usual = [("topology", "star:hosts=4")];
        let all: Vec<_> = usual.iter().chain(set).copied().collect();
        parameters(&all).flows(folder.path())
    };
    for (file, ranks) in [("ring.cm", 2), ("one.goal", 2), ("micro.txt", 4)] {
        let set: &[(&str, &str)] = &[("program", file), ("ranks", "4")];
        let config = flows(if file == "micro.txt" { set } else { &set[..1] })
            .unwrap_or_else(|error| panic!("{error}"));
        let report =
            flows::run(&config, 1, &AtomicBool::new(false), &|| ()).expect("valid").expect("not stopped");
        let training = report.flows.training.expect("it is a training job");
        assert_eq!((training.ranks, training.unfinished_operations), (ranks, 0), "{file}");
        assert_eq!(
            training.left_out.len(),
            usize::from(file == "one.goal"),
            "{file}: {:?}",
            training.left_out
        );
    }
    for (set, part) in [
        (&[("program", "notes.txt")][..], "must begin like a connection matrix"),
        (&[("program", "none.cm")], "cannot be read"),
        (&[("program", "broken.cm")], "line 1"),
        (&[("program", "ring.cm"), ("ranks", "2")], "needs a workload of AICB"),
        (&[("program", "ring.cm"), ("size", "1MB")], "cannot be combined with `program`"),
    ] {
        let error = flows(set).expect_err(part).to_string();
        assert!(error.contains(part), "{error}");
    }
}
