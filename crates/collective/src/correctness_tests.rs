//! Whether the data are right at the end: contributions are followed through the dependencies of the programs.
//!
//! What an operation carries is computed only from messages that it waits for, directly or through others. A missing
//! dependency is therefore a missing contribution, and a message in the wrong round a duplicate.

use crate::algorithm::Transfer;
use crate::{Action, Algorithm, Collective, Groups, Program, Training};

/// For each part, how often it contains the contribution of each member.
type Parts = Vec<Vec<u32>>;

struct Run {
    collective: Collective,
    members: u32,
    channels: u32,
    program: Program,
    /// What the operations of the first step carry.
    transfers: Vec<Transfer>,
}

impl Run {
    fn new(collective: Collective, members: u32, channels: u32) -> Run {
        let training = Training {
            ranks: members,
            groups: Groups::All,
            collective,
            bytes: 1_000,
            channels,
            steps: 2,
            compute_nanos: 0,
        };
        let program = training.program().expect("good parameters");
        let mut transfers = Vec::new();
        for _ in 0..channels {
            for round in 0..collective.rounds(members) {
                collective.transfers(members, round, &mut transfers);
            }
        }
        for (index, transfer) in (0..).zip(&transfers) {
            let Action::Send { from, to, .. } = program.action(index) else { panic!("a send at {index}") };
            assert_eq!((from, to, program.step(index)), (transfer.from, transfer.to, 0));
        }
        assert_eq!(program.step(transfers.len() as u32), 1);
        Run { collective, members, channels, program, transfers }
    }

    /// Everything that an operation of the first step, or the first of the second step, waits for.
    fn waits(&self) -> Vec<Vec<bool>> {
        let first_step = self.transfers.len();
        let mut all: Vec<Vec<bool>> = Vec::new();
        for index in 0..first_step as u32 + self.members {
            let mut waits = vec![false; first_step];
            for &after in self.program.after(index) {
                waits[after as usize] = true;
                waits.iter_mut().zip(&all[after as usize]).for_each(|(waits, too)| *waits |= too);
            }
            all.push(waits);
        }
        all
    }

    /// What a member has at the beginning.
    fn initial(&self, member: u32) -> Parts {
        let parts = self.collective.parts(self.members);
        let has = |part, contributor| {
            contributor == member && (self.collective != Collective::AllGather || part == member)
        };
        let one = |part| (0..self.members).map(|contributor| u32::from(has(part, contributor))).collect();
        (0..parts).map(one).collect()
    }

    /// What each member has at the end, in one of the channels.
    fn results(&self, channel: u32) -> Vec<Parts> {
        let waits = self.waits();
        let each = self.transfers.len() / self.channels as usize;
        let operations = channel as usize * each..(channel as usize + 1) * each;
        let mut carried: Vec<Parts> = Vec::new();
        let state = |member: u32, waits: &[bool], carried: &[Parts]| {
            let mut state = self.initial(member);
            for (parts, index) in carried.iter().zip(operations.clone()) {
                let transfer = &self.transfers[index];
                if !waits[index] || transfer.to != member {
                    continue;
                }
                for part in transfer.parts.clone().map(|part| part as usize) {
                    if transfer.reduces {
                        state[part].iter_mut().zip(&parts[part]).for_each(|(mine, other)| *mine += other);
                    } else {
                        state[part].clone_from(&parts[part]);
                    }
                }
            }
            state
        };
        for index in operations.clone() {
            let sent = state(self.transfers[index].from, &waits[index], &carried);
            carried.push(sent);
        }
        let end = self.transfers.len();
        (0..self.members).map(|member| state(member, &waits[end + member as usize], &carried)).collect()
    }
}

#[test]
fn after_an_all_reduce_every_member_has_every_contribution_once() {
    for algorithm in
        [Algorithm::Ring, Algorithm::Tree, Algorithm::RecursiveDoubling, Algorithm::HalvingDoubling]
    {
        let doubles = matches!(algorithm, Algorithm::RecursiveDoubling | Algorithm::HalvingDoubling);
        for members in (2_u32..=9).chain([16]).filter(|members| !doubles || members.is_power_of_two()) {
            for channels in [1, 3] {
                let run = Run::new(Collective::AllReduce(algorithm), members, channels);
                for channel in 0..channels {
                    let complete = |count: &u32| *count == 1;
                    let results = run.results(channel);
                    assert!(
                        results.iter().flatten().flatten().all(complete),
                        "{algorithm:?} of {members}: {results:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn after_a_reduce_scatter_each_member_has_the_sum_of_its_part() {
    for members in 2..=9 {
        let results = Run::new(Collective::ReduceScatter, members, 1).results(0);
        let complete = |(part, parts): (usize, &Parts)| parts[part].iter().all(|&count| count == 1);
        assert!(results.iter().enumerate().all(complete), "{members}: {results:?}");
    }
}

#[test]
fn after_an_all_gather_every_member_has_all_parts() {
    for members in 2..=9 {
        let results = Run::new(Collective::AllGather, members, 1).results(0);
        let complete = |(part, counts): (usize, &Vec<u32>)| {
            counts.iter().enumerate().all(|(member, &count)| count == u32::from(member == part))
        };
        assert!(results.iter().all(|parts| parts.iter().enumerate().all(complete)), "{members}: {results:?}");
    }
}
