//! Pipeline parallelism: stages of a model on different ranks, which pass on micro-batches.

use crate::collective::{Algorithm, Collective};
use crate::error::GenerateError;
use crate::frontier::Frontier;
use crate::program::{Action, Program, ProgramBuilder};
use linkmend_diagnose::ParameterError;

/// In which order a stage computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schedule {
    /// All forward passes, then all backward passes (GPipe, 2019).
    AllForward,
    /// As soon as the pipeline is full, a forward and a backward pass in turns, which needs less memory (PipeDream,
    /// 2019; Megatron-LM, 2021).
    OneForwardOneBackward,
}

/// Steps of a training in which micro-batches pass through stages, forward and backward.
///
/// Stage s of replica r is rank s × replicas + r. A stage computes one pass at a time. It sends the activations of each
/// forward pass to the next stage, and the gradients of each backward pass to the previous one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pipeline {
    /// How many parts the model has.
    pub stages: u32,
    /// How many pipelines there are side by side.
    pub replicas: u32,
    /// How many parts the batch of a step has.
    pub micro_batches: u32,
    /// In which order a stage computes.
    pub schedule: Schedule,
    /// What a stage computes for a micro-batch on the way forward.
    pub forward_nanos: u64,
    /// What a stage computes for a micro-batch on the way back.
    pub backward_nanos: u64,
    /// What a stage sends to the next one, and gets back from it, for each micro-batch.
    pub activation_bytes: u64,
    /// What the replicas of a stage all-reduce by ring at the end of a step; 0 for nothing.
    pub gradient_bytes: u64,
    /// How many times.
    pub steps: u32,
}

impl Pipeline {
    /// What the ranks send and compute.
    ///
    /// # Errors
    /// If the parameters do not fit together, or if the program would be too large.
    pub fn program(&self) -> Result<Program, GenerateError> {
        let (stages, replicas) = (u64::from(self.stages), u64::from(self.replicas));
        let ranks = u32::try_from(stages * replicas).unwrap_or(u32::MAX);
        let at_least = |name, value, least: u32| {
            let error = || ParameterError::new(name, value, format!("must be at least {least}"));
            if value < least { Err(error()) } else { Ok(()) }
        };
        at_least("stages", self.stages, 2)?;
        at_least("replicas", self.replicas, if self.gradient_bytes > 0 { 2 } else { 1 })?;
        at_least("micro-batches", self.micro_batches, 1)?;
        at_least("steps", self.steps, 1)?;
        let mut builder = Program::builder(ranks)?;
        let mut frontier = Frontier::new(ranks);
        for step in 0..self.steps {
            if step > 0 {
                builder.next_step()?;
            }
            for replica in 0..self.replicas {
                Step::new(self, replica).append(&mut builder, &mut frontier)?;
            }
            self.reduce_gradients(&mut builder, &mut frontier)?;
        }
        Ok(builder.finish())
    }

    /// How many sends and computations there are, without the all-reduces.
    pub fn operations(&self) -> u64 {
        let (stages, batches) = (u64::from(self.stages), u64::from(self.micro_batches));
        u64::from(self.steps) * u64::from(self.replicas) * batches * (4 * stages - 2)
    }

    /// Least time of a step if the network takes no time: (micro-batches + stages - 1) (forward + backward). Both
    /// schedules reach it.
    pub fn least_step_nanos(&self) -> u64 {
        let slots = u64::from(self.micro_batches) + u64::from(self.stages) - 1;
        slots.saturating_mul(self.forward_nanos.saturating_add(self.backward_nanos))
    }

    fn reduce_gradients(
        &self,
        builder: &mut ProgramBuilder,
        frontier: &mut Frontier,
    ) -> Result<(), GenerateError> {
        if self.gradient_bytes == 0 {
            return Ok(());
        }
        for stage in 0..self.stages {
            let rank = |replica| stage * self.replicas + replica;
            let ring = Collective::AllReduce(Algorithm::Ring);
            ring.append_to(builder, frontier, self.replicas, rank, (self.gradient_bytes, 1))?;
        }
        Ok(())
    }
}

/// One pass of a micro-batch through a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pass {
    batch: u32,
    backward: bool,
}

impl Schedule {
    /// The pass that a stage computes after `done` others.
    fn pass(self, pipeline: &Pipeline, stage: u32, done: u32) -> Pass {
        let batches = pipeline.micro_batches;
        // Forward passes before the first backward pass.
        let first = match self {
            Schedule::AllForward => batches,
            Schedule::OneForwardOneBackward => batches.min(pipeline.stages - stage),
        };
        if done < first {
            return Pass { batch: done, backward: false };
        }
        // Then a backward and a forward pass in turns, as long as there are forward passes left.
        let turn = (done - first) / 2;
        if turn >= batches - first {
            return Pass { batch: done - batches, backward: true };
        }
        match (done - first).is_multiple_of(2) {
            true => Pass { batch: turn, backward: true },
            false => Pass { batch: first + turn, backward: false },
        }
    }
}

/// One step of one replica, while it is added to a program.
struct Step<'a> {
    pipeline: &'a Pipeline,
    replica: u32,
    /// How many passes of each stage have been added.
    done: Vec<u32>,
    /// The sends that bring each stage its next micro-batches, forward and backward.
    arriving: [Vec<Vec<u32>>; 2],
}

impl Step<'_> {
    fn new(pipeline: &Pipeline, replica: u32) -> Step<'_> {
        let none = vec![Vec::new(); pipeline.stages as usize];
        Step { pipeline, replica, done: vec![0; pipeline.stages as usize], arriving: [none.clone(), none] }
    }

    /// Adds passes as soon as what they wait for has been added, until there are none left.
    fn append(mut self, builder: &mut ProgramBuilder, frontier: &mut Frontier) -> Result<(), GenerateError> {
        let mut left = u64::from(self.pipeline.stages) * 2 * u64::from(self.pipeline.micro_batches);
        while left > 0 {
            let before = left;
            for stage in 0..self.pipeline.stages {
                while self.pass(stage).is_some_and(|pass| self.has_input(stage, pass)) {
                    self.add(builder, frontier, stage)?;
                    left -= 1;
                }
            }
            assert!(left < before, "the schedule of a pipeline waits for itself");
        }
        Ok(())
    }

    /// The next pass of a stage.
    fn pass(&self, stage: u32) -> Option<Pass> {
        let done = self.done[stage as usize];
        (u64::from(done) < 2 * u64::from(self.pipeline.micro_batches))
            .then(|| self.pipeline.schedule.pass(self.pipeline, stage, done))
    }

    fn has_input(&self, stage: u32, pass: Pass) -> bool {
        self.needs_no_input(stage, pass)
            || self.arriving[usize::from(pass.backward)][stage as usize].len() > pass.batch as usize
    }

    /// The first stage reads the data, and the last one has computed the loss itself.
    fn needs_no_input(&self, stage: u32, pass: Pass) -> bool {
        stage == if pass.backward { self.pipeline.stages - 1 } else { 0 }
    }

    fn add(
        &mut self,
        builder: &mut ProgramBuilder,
        frontier: &mut Frontier,
        stage: u32,
    ) -> Result<(), GenerateError> {
        let Some(pass) = self.pass(stage) else { return Ok(()) };
        let pipeline = self.pipeline;
        let rank = |stage: u32| stage * pipeline.replicas + self.replica;
        if !self.needs_no_input(stage, pass) {
            let arriving = &self.arriving[usize::from(pass.backward)][stage as usize];
            frontier.add(rank(stage), arriving[pass.batch as usize]);
        }
        let nanos = if pass.backward { pipeline.backward_nanos } else { pipeline.forward_nanos };
        frontier.compute(builder, rank(stage), nanos)?;
        self.done[stage as usize] += 1;
        let next = if pass.backward { stage.checked_sub(1) } else { Some(stage + 1) };
        if let Some(next) = next.filter(|&next| next < pipeline.stages) {
            let action = Action::Send { from: rank(stage), to: rank(next), bytes: pipeline.activation_bytes };
            let send = builder.add(action, frontier.of(rank(stage)))?;
            self.arriving[usize::from(pass.backward)][next as usize].push(send);
        }
        Ok(())
    }
}
