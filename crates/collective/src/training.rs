//! Training steps: everybody computes, then the groups perform a collective operation, again and again.

use crate::collective::Collective;
use crate::error::GenerateError;
use crate::frontier::Frontier;
use crate::groups::Groups;
use crate::program::Program;
use linkmend_diagnose::ParameterError;

/// A collective operation, once or in every step of a training.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Training {
    /// How many ranks there are.
    pub ranks: u32,
    /// Who takes part together.
    pub groups: Groups,
    /// What they perform.
    pub collective: Collective,
    /// The size of each member's data, at the beginning of a reduction or at the end of a gathering.
    pub bytes: u64,
    /// How many equal parts of the data are processed independently, at the same time.
    pub channels: u32,
    /// How many times.
    pub steps: u32,
    /// What each rank computes before the collective operation of each step.
    pub compute_nanos: u64,
}

impl Training {
    /// What the ranks send and compute. A rank begins a step when it has completed the previous one. Every step but
    /// the first begins with a computation, which takes 0 ns if there is none.
    ///
    /// # Errors
    /// If the parameters do not fit together, or if the program would be too large.
    pub fn program(&self) -> Result<Program, GenerateError> {
        if self.steps == 0 {
            return Err(ParameterError::new("steps", 0, "must be at least 1").into());
        }
        let mut builder = Program::builder(self.ranks)?;
        let mut frontier = Frontier::new(self.ranks);
        for step in 0..self.steps {
            if step > 0 {
                builder.next_step()?;
            }
            if step > 0 || self.compute_nanos > 0 {
                frontier.compute_all(&mut builder, self.compute_nanos)?;
            }
            self.collective.append(&mut builder, &mut frontier, self.groups, (self.bytes, self.channels))?;
        }
        Ok(builder.finish())
    }
}
