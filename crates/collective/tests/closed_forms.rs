//! Closed forms, counted on the programs and timed on an ideal network.

use linkmend_collective::algorithm::tree;
use linkmend_collective::ideal::{IdealLink, completion_nanos, total_nanos};
use linkmend_collective::{
    Action, Algorithm, Collective, Groups, Pipeline, Program, ProgramError, Schedule, Training,
};

const LINK: IdealLink = IdealLink { bits_per_second: 400_000_000_000, latency_nanos: 1_500 };
/// Divisible by every number of members and channels below, and sent in whole nanoseconds: 50 bytes in each.
const BYTES: u64 = 5_040 * 16 * 50;

const ALL: [Collective; 9] = [
    Collective::AllReduce(Algorithm::Ring),
    Collective::AllReduce(Algorithm::Tree),
    Collective::AllReduce(Algorithm::RecursiveDoubling),
    Collective::AllReduce(Algorithm::HalvingDoubling),
    Collective::ReduceScatter,
    Collective::AllGather,
    Collective::AllToAll { outstanding: 0 },
    Collective::AllToAll { outstanding: 1 },
    Collective::AllToAll { outstanding: 3 },
];

fn training(collective: Collective, ranks: u32) -> Training {
    Training { ranks, groups: Groups::All, collective, bytes: BYTES, channels: 1, steps: 1, compute_nanos: 0 }
}

fn program(training: &Training) -> Program {
    training.program().unwrap_or_else(|error| panic!("{training:?}: {error}"))
}

/// What each rank sends.
fn sent_bytes(program: &Program) -> Vec<u64> {
    let mut sent = vec![0; program.ranks() as usize];
    for operation in program.operations() {
        if let Action::Send { from, bytes, .. } = operation.action {
            sent[from as usize] += bytes;
        }
    }
    sent
}

/// The longest chain of sends.
fn longest_chain(program: &Program) -> u32 {
    let mut lengths: Vec<u32> = Vec::new();
    for index in 0..program.len() {
        let before = program.after(index).iter().map(|&after| lengths[after as usize]).max().unwrap_or(0);
        let sends = matches!(program.action(index), Action::Send { .. });
        lengths.push(before + u32::from(sends));
    }
    lengths.into_iter().max().unwrap_or(0)
}

/// Every operation, and groups of 2 to 9 and of 16 members that can perform it.
fn cases() -> impl Iterator<Item = (Collective, u32)> {
    let sizes = || (2_u32..=9).chain([16]);
    ALL.into_iter().flat_map(move |collective| sizes().map(move |members| (collective, members))).filter(
        |(collective, members)| {
            let doubles = [Algorithm::RecursiveDoubling, Algorithm::HalvingDoubling];
            members.is_power_of_two() || !doubles.map(Collective::AllReduce).contains(collective)
        },
    )
}

#[test]
fn programs_send_and_last_as_the_closed_forms_say() {
    for (collective, members) in cases() {
        let program = program(&training(collective, members));
        let case = format!("{collective:?} of {members}");
        assert_eq!(sent_bytes(&program).iter().sum::<u64>(), collective.sent_bytes(members, BYTES), "{case}");
        assert_eq!(total_nanos(&program, &LINK), collective.least_nanos(members, BYTES, &LINK), "{case}");
        let chain = match collective {
            Collective::AllReduce(Algorithm::Tree) => tree::chain(members),
            Collective::AllToAll { outstanding: 0 } => 1,
            Collective::AllToAll { outstanding } => (members - 1).div_ceil(outstanding),
            _ => collective.rounds(members),
        };
        assert_eq!(longest_chain(&program), chain, "{case}");
    }
}

#[test]
fn each_member_of_a_ring_sends_two_n_minus_one_nths_of_the_data() {
    for members in 2..=9 {
        let sent = sent_bytes(&program(&training(Collective::AllReduce(Algorithm::Ring), members)));
        let n = u64::from(members);
        assert_eq!(sent, vec![2 * (n - 1) * BYTES / n; members as usize]);
    }
}

#[test]
fn data_that_cannot_be_divided_equally_are_sent_completely() {
    for (collective, members) in cases() {
        for channels in [1, 2, 5] {
            let program = program(&Training { bytes: 1_009, channels, ..training(collective, members) });
            let sent: u64 = sent_bytes(&program).iter().sum();
            let expected = collective.sent_bytes(members, 1_009);
            // Each member of an all-to-all keeps its own part, and these may differ by a byte in each channel.
            let tolerance =
                if matches!(collective, Collective::AllToAll { .. }) { channels * members } else { 0 };
            assert!(sent.abs_diff(expected) <= u64::from(tolerance), "{collective:?} of {members}: {sent}");
        }
    }
}

#[test]
fn channels_carry_the_same_bytes_and_hide_latency() {
    for (collective, members) in cases() {
        let one = program(&training(collective, members));
        let four = program(&Training { channels: 4, ..training(collective, members) });
        assert_eq!(sent_bytes(&four), sent_bytes(&one));
        assert_eq!(four.len(), 4 * one.len());
        assert!(total_nanos(&four, &LINK) <= total_nanos(&one, &LINK), "{collective:?} of {members}");
    }
}

#[test]
fn groups_work_at_the_same_time_and_on_their_own() {
    for groups in [Groups::Consecutive(4), Groups::Strided(3)] {
        for collective in ALL {
            let program = program(&Training { groups, ..training(collective, 12) });
            assert_eq!(total_nanos(&program, &LINK), collective.least_nanos(4, BYTES, &LINK));
            let group = |rank| match groups {
                Groups::Strided(stride) => rank % stride,
                _ => rank / 4,
            };
            for operation in program.operations() {
                let Action::Send { from, to, .. } = operation.action else { panic!("only sends") };
                assert_eq!(group(from), group(to));
            }
        }
    }
}

#[test]
fn steps_repeat_computation_and_communication() {
    let collective = Collective::AllReduce(Algorithm::Ring);
    let program = program(&Training { steps: 3, compute_nanos: 40_000, ..training(collective, 4) });
    assert_eq!((program.steps(), program.len()), (3, 3 * (4 + 6 * 4)));
    let step = 40_000 + collective.least_nanos(4, BYTES, &LINK);
    let completed = completion_nanos(&program, &LINK);
    for index in 0..program.len() {
        let (completed, steps) = (completed[index as usize], u64::from(program.step(index)));
        assert!(completed > steps * step && completed <= (steps + 1) * step);
    }
    assert_eq!(completed.iter().max(), Some(&(3 * step)));
}

#[test]
fn no_member_of_an_all_to_all_has_more_sends_in_flight_than_its_bound() {
    for outstanding in [1, 2, 5] {
        let program = program(&training(Collective::AllToAll { outstanding }, 8));
        let chain = 7_u32.div_ceil(outstanding);
        assert_eq!(longest_chain(&program), chain);
        let pairs: Vec<(u32, u32)> = program
            .operations()
            .iter()
            .map(|operation| match operation.action {
                Action::Send { from, to, .. } => (from, to),
                Action::Compute { .. } => panic!("only sends"),
            })
            .collect();
        let mut each = pairs.clone();
        each.sort_unstable();
        each.dedup();
        assert_eq!((pairs.len(), each.len()), (56, 56));
    }
}

#[test]
fn both_schedules_of_a_pipeline_take_the_same_time_and_differ_in_memory() {
    for (stages, micro_batches) in [(2, 1), (3, 2), (4, 8), (8, 3)] {
        for schedule in [Schedule::AllForward, Schedule::OneForwardOneBackward] {
            let pipeline = Pipeline {
                stages,
                replicas: 2,
                micro_batches,
                schedule,
                forward_nanos: 10_000_000,
                backward_nanos: 20_000_000,
                activation_bytes: 1,
                gradient_bytes: 0,
                steps: 2,
            };
            let program = pipeline.program().expect("good parameters");
            assert_eq!(u64::from(program.len()), pipeline.operations());
            let link = IdealLink { bits_per_second: 800_000_000_000, latency_nanos: 0 };
            let late = total_nanos(&program, &link) - 2 * pipeline.least_step_nanos();
            assert!(late < u64::from(program.len()), "{pipeline:?}: {late} ns late");
            let bound = match schedule {
                Schedule::AllForward => micro_batches,
                Schedule::OneForwardOneBackward => micro_batches.min(stages),
            };
            assert_eq!(most_in_memory(&program), bound, "{pipeline:?}");
        }
    }
}

/// The most micro-batches that the first stage has computed forward but not backward.
fn most_in_memory(program: &Program) -> u32 {
    let (mut now, mut most) = (0, 0_u32);
    for operation in program.operations() {
        match operation.action {
            Action::Compute { rank: 0, nanos: 10_000_000 } => now += 1,
            Action::Compute { rank: 0, .. } => now -= 1,
            _ => {}
        }
        most = most.max(now);
    }
    most
}

#[test]
fn replicas_of_a_pipeline_reduce_their_gradients_after_their_last_pass() {
    let pipeline = Pipeline {
        stages: 2,
        replicas: 4,
        micro_batches: 2,
        schedule: Schedule::OneForwardOneBackward,
        forward_nanos: 100,
        backward_nanos: 200,
        activation_bytes: 5_000,
        gradient_bytes: BYTES,
        steps: 1,
    };
    let program = pipeline.program().expect("good parameters");
    let ring = Collective::AllReduce(Algorithm::Ring);
    let without = Pipeline { gradient_bytes: 0, ..pipeline }.program().expect("good parameters");
    let sent: u64 = sent_bytes(&program).iter().sum();
    assert_eq!(sent - sent_bytes(&without).iter().sum::<u64>(), 2 * ring.sent_bytes(4, BYTES));
    // The first stage is the last to compute.
    assert_eq!(
        total_nanos(&program, &LINK),
        total_nanos(&without, &LINK) + ring.least_nanos(4, BYTES, &LINK)
    );
}

#[test]
fn a_ring_of_1024_ranks_fits_40_bytes_for_each_operation() {
    let program =
        program(&Training { bytes: 1 << 30, ..training(Collective::AllReduce(Algorithm::Ring), 1024) });
    assert_eq!(program.len(), 2_046 * 1_024);
    let bytes = size_of_val(program.operations()) as u64 + 4 * u64::from(program.dependency_count());
    assert!(bytes <= 40 * u64::from(program.len()), "{bytes}");
}

#[test]
fn parameters_that_do_not_fit_are_refused_with_their_values() {
    let good = training(Collective::AllReduce(Algorithm::HalvingDoubling), 8);
    let refused = |training: Training| training.program().unwrap_err().to_string();
    assert_eq!(
        refused(Training { ranks: 6, ..good }),
        "members = 6: must be a power of two for this algorithm; a ring and a tree take any number"
    );
    assert_eq!(refused(Training { channels: 65, ..good }), "channels = 65: must be from 1 to 64");
    assert_eq!(
        refused(Training { bytes: 15, channels: 2, ..good }),
        "bytes = 15: must be at least 16B, a byte in each part of each channel"
    );
    assert_eq!(refused(Training { steps: 0, ..good }), "steps = 0: must be at least 1");
    assert_eq!(refused(Training { ranks: 0, ..good }), ProgramError::Ranks { ranks: 0 }.to_string());
}
