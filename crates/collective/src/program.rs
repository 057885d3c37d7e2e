//! Programs of sends and computations with dependencies.

use crate::error::ProgramError;
use crate::limits::{
    MAX_COMPUTE_NANOS, MAX_DEPENDENCIES, MAX_OPERATIONS, MAX_RANKS, MAX_SEND_BYTES, MAX_STEPS,
};

/// What one operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Rank `from` sends to rank `to`. It is complete when the last byte has been delivered at `to`.
    Send { from: u32, to: u32, bytes: u64 },
    /// A rank computes, or merely lets time pass. It is complete `nanos` after the last operation that it waits for:
    /// computations of one rank overlap unless one waits for the other.
    Compute { rank: u32, nanos: u64 },
}

impl Action {
    /// The rank that sends or computes.
    pub const fn rank(self) -> u32 {
        match self {
            Action::Send { from, .. } => from,
            Action::Compute { rank, .. } => rank,
        }
    }
}

/// One operation of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// What it does.
    pub action: Action,
    /// Which training step it belongs to, from 0; it never decreases from one operation to the next.
    pub step: u32,
    /// Where its dependencies end in those of the program; they begin where those of the previous operation end.
    dependencies_end: u32,
}

/// What ranks send and compute, and what each operation waits for.
///
/// An operation waits only for earlier ones, so the order of operations is one in which they can be executed, and no
/// program waits for itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    ranks: u32,
    operations: Vec<Operation>,
    dependencies: Vec<u32>,
}

impl Program {
    /// A program for this many ranks, which has no operations yet.
    ///
    /// # Errors
    /// If `ranks` is not from 1 to [`MAX_RANKS`].
    pub fn builder(ranks: u32) -> Result<ProgramBuilder, ProgramError> {
        if !(1..=MAX_RANKS).contains(&ranks) {
            return Err(ProgramError::Ranks { ranks: u64::from(ranks) });
        }
        let program = Program { ranks, operations: Vec::new(), dependencies: Vec::new() };
        Ok(ProgramBuilder { program, step: 0 })
    }

    /// How many ranks there are. They are numbered from 0.
    pub fn ranks(&self) -> u32 {
        self.ranks
    }

    /// How many operations there are.
    pub fn len(&self) -> u32 {
        self.operations.len() as u32
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    /// What an operation does.
    ///
    /// # Panics
    /// If there is no operation of this index.
    pub fn action(&self, index: u32) -> Action {
        self.operations[index as usize].action
    }

    /// Which training step an operation belongs to, from 0.
    ///
    /// # Panics
    /// If there is no operation of this index.
    pub fn step(&self, index: u32) -> u32 {
        self.operations[index as usize].step
    }

    /// The operations that must be complete before this one begins. All of them are earlier ones.
    ///
    /// # Panics
    /// If there is no operation of this index.
    pub fn after(&self, index: u32) -> &[u32] {
        let index = index as usize;
        let begin = index.checked_sub(1).map_or(0, |previous| self.operations[previous].dependencies_end);
        &self.dependencies[begin as usize..self.operations[index].dependencies_end as usize]
    }

    /// All operations, in order.
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// How many training steps the operations belong to.
    pub fn steps(&self) -> u32 {
        self.operations.last().map_or(0, |last| last.step + 1)
    }

    /// How many dependencies the operations have in total.
    pub fn dependency_count(&self) -> u32 {
        self.dependencies.len() as u32
    }
}

/// Builds a [`Program`] operation by operation.
#[derive(Debug, Clone)]
pub struct ProgramBuilder {
    program: Program,
    step: u32,
}

impl ProgramBuilder {
    /// Adds an operation that waits for these earlier ones. Returns its index.
    ///
    /// # Errors
    /// If its ranks, its size or its dependencies cannot be, or if the program is full.
    pub fn add(&mut self, action: Action, after: &[u32]) -> Result<u32, ProgramError> {
        self.check(action)?;
        let program = &mut self.program;
        let operation = program.len();
        if operation == MAX_OPERATIONS {
            return Err(ProgramError::TooManyOperations);
        }
        if after.len() > (MAX_DEPENDENCIES - program.dependency_count()) as usize {
            return Err(ProgramError::TooManyDependencies);
        }
        if let Some(&after) = after.iter().find(|&&after| after >= operation) {
            return Err(ProgramError::NotEarlier { operation, after });
        }
        program.dependencies.extend_from_slice(after);
        let dependencies_end = program.dependency_count();
        program.operations.push(Operation { action, step: self.step, dependencies_end });
        Ok(operation)
    }

    /// The operations that one which has been added waits for.
    ///
    /// # Panics
    /// If there is no operation of this index.
    pub fn after(&self, index: u32) -> &[u32] {
        self.program.after(index)
    }

    /// Operations added from now on belong to the next training step.
    ///
    /// # Errors
    /// If there are [`MAX_STEPS`] already.
    pub fn next_step(&mut self) -> Result<(), ProgramError> {
        if self.step + 1 == MAX_STEPS {
            return Err(ProgramError::TooManySteps);
        }
        self.step += 1;
        Ok(())
    }

    /// How many ranks there are.
    pub fn ranks(&self) -> u32 {
        self.program.ranks
    }

    /// How many operations have been added.
    pub fn len(&self) -> u32 {
        self.program.len()
    }

    /// Whether no operation has been added.
    pub fn is_empty(&self) -> bool {
        self.program.is_empty()
    }

    /// The program of all operations that have been added.
    pub fn finish(self) -> Program {
        self.program
    }

    fn check(&self, action: Action) -> Result<(), ProgramError> {
        let exists = |rank| {
            let ranks = self.program.ranks;
            if rank < ranks { Ok(()) } else { Err(ProgramError::NoSuchRank { rank: u64::from(rank), ranks }) }
        };
        match action {
            Action::Send { from, to, bytes } => {
                exists(from)?;
                exists(to)?;
                if from == to {
                    return Err(ProgramError::SendToItself { rank: from });
                }
                if !(1..=MAX_SEND_BYTES).contains(&bytes) {
                    return Err(ProgramError::SendBytes { bytes });
                }
            }
            Action::Compute { rank, nanos } => {
                exists(rank)?;
                if nanos > MAX_COMPUTE_NANOS {
                    return Err(ProgramError::ComputeNanos { nanos });
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_wait_for_earlier_ones() {
        let mut builder = Program::builder(2).expect("two ranks");
        let compute = builder.add(Action::Compute { rank: 0, nanos: 5 }, &[]).expect("good");
        let send = builder.add(Action::Send { from: 0, to: 1, bytes: 7 }, &[compute]).expect("good");
        builder.next_step().expect("a second step");
        let last = builder.add(Action::Compute { rank: 1, nanos: 0 }, &[send, compute]).expect("good");
        let program = builder.finish();
        assert_eq!(
            (program.ranks(), program.len(), program.steps(), program.dependency_count()),
            (2, 3, 2, 3)
        );
        assert_eq!(program.action(send), Action::Send { from: 0, to: 1, bytes: 7 });
        assert_eq!([program.step(send), program.step(last)], [0, 1]);
        assert_eq!([0, 1, 2].map(|index| program.after(index).to_vec()), [vec![], vec![0], vec![1, 0]]);
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_value() {
        assert_eq!(Program::builder(0).err(), Some(ProgramError::Ranks { ranks: 0 }));
        assert!(Program::builder(MAX_RANKS).is_ok() && Program::builder(MAX_RANKS + 1).is_err());
        let mut builder = Program::builder(2).expect("two ranks");
        let mut refused = |action, after: &[u32]| builder.add(action, after).unwrap_err().to_string();
        let send = |from, to, bytes| Action::Send { from, to, bytes };
        assert_eq!(refused(send(0, 2, 1), &[]), "rank 2 does not exist: ranks are numbered from 0 to 1");
        assert_eq!(refused(send(1, 1, 1), &[]), "rank 1 sends to itself");
        assert_eq!(refused(send(0, 1, 0), &[]), "a send carries from 1 to 1099511627776 bytes, not 0");
        assert_eq!(
            refused(Action::Compute { rank: 0, nanos: u64::MAX }, &[]),
            "a computation takes at most 86400000000000 ns, not 18446744073709551615 ns"
        );
        assert_eq!(
            refused(send(0, 1, 1), &[0]),
            "operation 0 waits for operation 0, which is not an earlier one"
        );
        assert!(builder.is_empty(), "what is refused leaves no trace");
    }

    #[test]
    fn an_operation_takes_32_bytes() {
        assert_eq!(size_of::<Operation>(), 32);
    }

    #[test]
    fn no_program_is_larger_than_its_limit() {
        let mut builder = Program::builder(1).expect("one rank");
        let compute = Action::Compute { rank: 0, nanos: 0 };
        for _ in 0..MAX_OPERATIONS {
            builder.add(compute, &[]).expect("room");
        }
        assert_eq!(builder.add(compute, &[]), Err(ProgramError::TooManyOperations));
    }
}
