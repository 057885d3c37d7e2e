//! Why operations do not make a program.

use crate::limits::{
    MAX_COMPUTE_NANOS, MAX_DEPENDENCIES, MAX_OPERATIONS, MAX_RANKS, MAX_SEND_BYTES, MAX_STEPS,
};
use linkmend_diagnose::{Diagnose, Fault, ParameterError};

/// Why an operation cannot be part of a program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// No rank, or more than [`MAX_RANKS`].
    #[error("a program has from 1 to {MAX_RANKS} ranks, not {ranks}")]
    Ranks { ranks: u64 },
    /// A rank that the program does not have.
    #[error("rank {rank} does not exist: ranks are numbered from 0 to {}", ranks - 1)]
    NoSuchRank {
        rank: u64,
        /// How many there are.
        ranks: u32,
    },
    /// A send to its own sender.
    #[error("rank {rank} sends to itself")]
    SendToItself { rank: u32 },
    /// A send of nothing, or of more than [`MAX_SEND_BYTES`].
    #[error("a send carries from 1 to {MAX_SEND_BYTES} bytes, not {bytes}")]
    SendBytes { bytes: u64 },
    /// A computation longer than [`MAX_COMPUTE_NANOS`].
    #[error("a computation takes at most {MAX_COMPUTE_NANOS} ns, not {nanos} ns")]
    ComputeNanos { nanos: u64 },
    /// An operation that waits for itself or for a later one.
    #[error("operation {operation} waits for operation {after}, which is not an earlier one")]
    NotEarlier { operation: u32, after: u32 },
    /// More than [`MAX_OPERATIONS`].
    #[error("a program has at most {MAX_OPERATIONS} operations")]
    TooManyOperations,
    /// More than [`MAX_DEPENDENCIES`].
    #[error("the operations of a program wait for at most {MAX_DEPENDENCIES} others in total")]
    TooManyDependencies,
    /// More than [`MAX_STEPS`].
    #[error("a program has at most {MAX_STEPS} steps")]
    TooManySteps,
}

/// Why a program cannot be generated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GenerateError {
    /// A parameter that is out of its range.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// A program that would be too large.
    #[error(transparent)]
    Program(#[from] ProgramError),
}

impl Diagnose for GenerateError {
    fn fault(&self) -> Fault {
        Fault::Usage
    }

    fn hint(&self) -> Option<String> {
        match self {
            GenerateError::Parameter(error) => error.hint(),
            GenerateError::Program(error) => error.hint(),
        }
    }
}

impl Diagnose for ProgramError {
    fn fault(&self) -> Fault {
        Fault::Usage
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            ProgramError::TooManyOperations | ProgramError::TooManyDependencies => {
                "use fewer ranks, channels, micro-batches or training steps"
            }
            ProgramError::SendBytes { bytes: 0 } => "use fewer ranks or channels, or larger messages",
            ProgramError::SendBytes { .. } => "split the message",
            ProgramError::ComputeNanos { .. } => "check the unit: computations are given in nanoseconds",
            ProgramError::Ranks { .. } | ProgramError::TooManySteps => "simulate a part of the job",
            ProgramError::NoSuchRank { .. }
            | ProgramError::SendToItself { .. }
            | ProgramError::NotEarlier { .. } => return None,
        };
        Some(hint.to_owned())
    }
}
