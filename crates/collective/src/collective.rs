//! Collective operations, and what they add to a program.

use crate::algorithm::{Transfer, all_to_all, halving_doubling, part_begin, recursive_doubling, ring, tree};
use crate::error::GenerateError;
use crate::frontier::{Data, Frontier};
use crate::groups::Groups;
use crate::ideal::IdealLink;
use crate::program::{Action, ProgramBuilder};
use linkmend_diagnose::ParameterError;

/// Most independent parts that a collective operation is split into.
pub const MAX_CHANNELS: u32 = 64;

/// How an all-reduce is performed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// [`ring`].
    Ring,
    /// [`tree`]: a binomial tree.
    Tree,
    /// [`recursive_doubling`], for a power of two of members.
    RecursiveDoubling,
    /// [`halving_doubling`], for a power of two of members.
    HalvingDoubling,
}

/// An operation that all members of a group perform together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Collective {
    /// At the end, every member has the sum of the data of all.
    AllReduce(Algorithm),
    /// At the end, member i has part i of the sum. By ring.
    ReduceScatter,
    /// At the beginning, member i has part i; at the end, everybody has all parts. By ring.
    AllGather,
    /// At the beginning, every member has a part for each; at the end, each has its parts from all. Pairwise.
    AllToAll {
        /// Most sends of a member in flight; 0 stands for all.
        outstanding: u32,
    },
}

impl Collective {
    /// How many rounds it takes; for an all-to-all, how often each member sends.
    pub fn rounds(self, members: u32) -> u32 {
        match self {
            Collective::AllReduce(Algorithm::Ring) => 2 * ring::rounds(members),
            Collective::AllReduce(Algorithm::Tree) => tree::rounds(members),
            Collective::AllReduce(Algorithm::RecursiveDoubling) => recursive_doubling::rounds(members),
            Collective::AllReduce(Algorithm::HalvingDoubling) => halving_doubling::rounds(members),
            Collective::ReduceScatter | Collective::AllGather => ring::rounds(members),
            Collective::AllToAll { .. } => all_to_all::rounds(members),
        }
    }

    /// How many bytes all members of a group send together, with any number of channels.
    pub fn sent_bytes(self, members: u32, bytes: u64) -> u64 {
        match self {
            Collective::AllReduce(Algorithm::Ring) => 2 * ring::sent_bytes(members, bytes),
            Collective::AllReduce(Algorithm::Tree) => tree::sent_bytes(members, bytes),
            Collective::AllReduce(Algorithm::RecursiveDoubling) => {
                recursive_doubling::sent_bytes(members, bytes)
            }
            Collective::AllReduce(Algorithm::HalvingDoubling) => halving_doubling::sent_bytes(members, bytes),
            Collective::ReduceScatter | Collective::AllGather => ring::sent_bytes(members, bytes),
            Collective::AllToAll { .. } => all_to_all::sent_bytes(members, bytes),
        }
    }

    /// Its least time on a network without limits, in one channel.
    pub fn least_nanos(self, members: u32, bytes: u64, link: &IdealLink) -> u64 {
        match self {
            Collective::AllReduce(Algorithm::Ring) => {
                ring::least_nanos(members, bytes, link).saturating_mul(2)
            }
            Collective::AllReduce(Algorithm::Tree) => tree::least_nanos(members, bytes, link),
            Collective::AllReduce(Algorithm::RecursiveDoubling) => {
                recursive_doubling::least_nanos(members, bytes, link)
            }
            Collective::AllReduce(Algorithm::HalvingDoubling) => {
                halving_doubling::least_nanos(members, bytes, link)
            }
            Collective::ReduceScatter | Collective::AllGather => ring::least_nanos(members, bytes, link),
            Collective::AllToAll { outstanding } => {
                all_to_all::least_nanos(members, bytes, window(outstanding), link)
            }
        }
    }

    /// How many parts the data of a channel have.
    pub(crate) fn parts(self, members: u32) -> u32 {
        match self {
            Collective::AllReduce(Algorithm::Tree | Algorithm::RecursiveDoubling) => 1,
            _ => members,
        }
    }

    /// The messages of one round. Those of an all-to-all, which has no rounds that wait for each other, are not here.
    pub(crate) fn transfers(self, members: u32, round: u32, transfers: &mut Vec<Transfer>) {
        let half = ring::rounds(members);
        match self {
            Collective::ReduceScatter => ring::reduce_scatter(members, round, transfers),
            Collective::AllReduce(Algorithm::Ring) if round < half => {
                ring::reduce_scatter(members, round, transfers);
            }
            Collective::AllReduce(Algorithm::Ring) => ring::all_gather(members, round - half, transfers),
            Collective::AllGather => ring::all_gather(members, round, transfers),
            Collective::AllReduce(Algorithm::Tree) => tree::all_reduce(members, round, transfers),
            Collective::AllReduce(Algorithm::RecursiveDoubling) => {
                recursive_doubling::all_reduce(members, round, transfers);
            }
            Collective::AllReduce(Algorithm::HalvingDoubling) => {
                halving_doubling::all_reduce(members, round, transfers);
            }
            Collective::AllToAll { .. } => {}
        }
    }

    /// Whether groups of this size can perform it on this many bytes in this many channels.
    pub(crate) fn check(self, members: u32, bytes: u64, channels: u32) -> Result<(), ParameterError> {
        if !(1..=MAX_CHANNELS).contains(&channels) {
            return Err(ParameterError::new(
                "channels",
                channels,
                format!("must be from 1 to {MAX_CHANNELS}"),
            ));
        }
        let doubles =
            matches!(self, Collective::AllReduce(Algorithm::RecursiveDoubling | Algorithm::HalvingDoubling));
        if doubles && !members.is_power_of_two() {
            let requirement = "must be a power of two for this algorithm; a ring and a tree take any number";
            return Err(ParameterError::new("members", members, requirement));
        }
        let least = u64::from(self.parts(members)) * u64::from(channels);
        if bytes < least {
            let requirement = format!("must be at least {least}B, a byte in each part of each channel");
            return Err(ParameterError::new("bytes", bytes, requirement));
        }
        Ok(())
    }

    /// Adds it to a program, for all groups at the same time.
    pub(crate) fn append(
        self,
        builder: &mut ProgramBuilder,
        frontier: &mut Frontier,
        groups: Groups,
        (bytes, channels): (u64, u32),
    ) -> Result<(), GenerateError> {
        let (count, members) = groups.shape(builder.ranks())?;
        for group in 0..count {
            self.append_to(
                builder,
                frontier,
                members,
                |member| groups.rank(group, member),
                (bytes, channels),
            )?;
        }
        Ok(())
    }

    /// Adds it to a program, for the group of these ranks.
    pub(crate) fn append_to(
        self,
        builder: &mut ProgramBuilder,
        frontier: &mut Frontier,
        members: u32,
        rank: impl Fn(u32) -> u32,
        (bytes, channels): (u64, u32),
    ) -> Result<(), GenerateError> {
        self.check(members, bytes, channels)?;
        let parts = self.parts(members);
        let before: Vec<Vec<u32>> = (0..members).map(|member| frontier.of(rank(member)).to_vec()).collect();
        let mut after: Vec<Vec<u32>> = vec![Vec::new(); members as usize];
        let mut transfers = Vec::new();
        for channel in 0..channels {
            let begin = |channel| part_begin(bytes, channels, channel);
            let data = Data { bytes: begin(channel + 1) - begin(channel), parts };
            frontier.restore((0..members).map(&rank).zip(&before));
            if let Collective::AllToAll { outstanding } = self {
                exchange(builder, frontier, members, &rank, (data, window(outstanding)))?;
            } else {
                for round in 0..self.rounds(members) {
                    transfers.clear();
                    self.transfers(members, round, &mut transfers);
                    frontier.round(builder, &transfers, data, &rank)?;
                }
            }
            for (member, after) in (0..members).zip(&mut after) {
                after.extend_from_slice(frontier.of(rank(member)));
            }
        }
        frontier.restore((0..members).map(&rank).zip(&after));
        Ok(())
    }
}

fn window(outstanding: u32) -> u32 {
    if outstanding == 0 { u32::MAX } else { outstanding }
}

/// Adds a pairwise all-to-all.
fn exchange(
    builder: &mut ProgramBuilder,
    frontier: &mut Frontier,
    members: u32,
    rank: &impl Fn(u32) -> u32,
    (data, outstanding): (Data, u32),
) -> Result<(), GenerateError> {
    let first = builder.len();
    for distance in 1..members {
        for from in 0..members {
            let to = (from + distance) % members;
            let action = Action::Send { from: rank(from), to: rank(to), bytes: data.size(&(to..to + 1)) };
            // Members send in turns, so the operations of one are as far apart as there are members.
            match (distance - 1).checked_sub(outstanding) {
                Some(oldest) => builder.add(action, &[first + oldest * members + from])?,
                None => builder.add(action, frontier.of(rank(from)))?,
            };
        }
    }
    for from in 0..members {
        frontier.clear(rank(from));
        for distance in 1..members {
            let received = (from + members - distance) % members;
            frontier.add(rank(from), first + (distance - 1) * members + received);
        }
        for distance in members.saturating_sub(outstanding).max(1)..members {
            frontier.add(rank(from), first + (distance - 1) * members + from);
        }
    }
    Ok(())
}
