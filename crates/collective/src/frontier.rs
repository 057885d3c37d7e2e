//! What each rank waits for before its next operation, while a program is built.

use crate::algorithm::{Transfer, parts_bytes};
use crate::error::ProgramError;
use crate::program::{Action, ProgramBuilder};
use std::ops::Range;

/// The operations that each rank waits for before its next one.
#[derive(Debug, Clone)]
pub(crate) struct Frontier {
    waits: Vec<Vec<u32>>,
}

impl Frontier {
    /// Nobody waits for anything.
    pub fn new(ranks: u32) -> Frontier {
        Frontier { waits: vec![Vec::new(); ranks as usize] }
    }

    /// What a rank waits for.
    pub fn of(&self, rank: u32) -> &[u32] {
        &self.waits[rank as usize]
    }

    /// What a rank waits for now, instead of everything before.
    pub fn set(&mut self, rank: u32, operation: u32) {
        let waits = &mut self.waits[rank as usize];
        waits.clear();
        waits.push(operation);
    }

    /// A rank waits for nothing.
    pub fn clear(&mut self, rank: u32) {
        self.waits[rank as usize].clear();
    }

    /// Lets each of these ranks wait for these operations, instead of everything before.
    pub fn restore<'a>(&mut self, ranks: impl Iterator<Item = (u32, &'a Vec<u32>)>) {
        for (rank, operations) in ranks {
            self.waits[rank as usize].clone_from(operations);
        }
    }

    /// Lets a rank wait for one more operation.
    pub fn add(&mut self, rank: u32, operation: u32) {
        self.waits[rank as usize].push(operation);
    }

    /// A rank computes after everything that it waits for, and then waits for the computation alone.
    pub fn compute(
        &mut self,
        builder: &mut ProgramBuilder,
        rank: u32,
        nanos: u64,
    ) -> Result<(), ProgramError> {
        let operation = builder.add(Action::Compute { rank, nanos }, self.of(rank))?;
        self.set(rank, operation);
        Ok(())
    }

    /// Every rank computes, as in [`Frontier::compute`].
    pub fn compute_all(&mut self, builder: &mut ProgramBuilder, nanos: u64) -> Result<(), ProgramError> {
        (0..self.waits.len() as u32).try_for_each(|rank| self.compute(builder, rank, nanos))
    }

    /// Every rank also waits for what it waits for in the other one.
    pub fn merge(&mut self, other: &Frontier) {
        for (waits, other) in self.waits.iter_mut().zip(&other.waits) {
            waits.extend_from_slice(other);
        }
    }

    /// Adds the messages of one round, in which each rank sends at most once. A send waits for everything that its
    /// sender waited for before the round; after it, the sender and the receiver wait for the send.
    pub fn round(
        &mut self,
        builder: &mut ProgramBuilder,
        transfers: &[Transfer],
        data: Data,
        rank: impl Fn(u32) -> u32,
    ) -> Result<(), ProgramError> {
        let first = builder.len();
        for transfer in transfers {
            let (from, to) = (rank(transfer.from), rank(transfer.to));
            let action = Action::Send { from, to, bytes: data.size(&transfer.parts) };
            let operation = builder.add(action, self.of(from))?;
            self.set(from, operation);
        }
        for (operation, transfer) in (first..).zip(transfers) {
            self.add(rank(transfer.to), operation);
        }
        Ok(())
    }
}

/// How large the data of a collective operation are, and how many parts they have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Data {
    pub bytes: u64,
    pub parts: u32,
}

impl Data {
    /// The size of a range of parts.
    pub fn size(&self, parts: &Range<u32>) -> u64 {
        parts_bytes(self.bytes, self.parts, parts)
    }
}
