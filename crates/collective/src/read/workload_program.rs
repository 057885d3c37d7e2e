//! From a workload for SimAI to a program.

use super::Input;
use super::error::{InputError, InputFault};
use super::workload::{self, Communication, Kind, Layer, Members, Phase, Workload};
use crate::collective::{Algorithm, Collective};
use crate::error::{GenerateError, ProgramError};
use crate::frontier::Frontier;
use crate::program::{Program, ProgramBuilder};
use linkmend_diagnose::ParameterError;

/// What a workload leaves open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkloadOptions {
    /// How many ranks there are, if not as many as the file says. A part of a job needs a multiple of the sizes of its
    /// groups.
    pub ranks: Option<u32>,
    /// How many times the layers are trained.
    pub passes: u32,
    /// How all-reduces are performed.
    pub algorithm: Algorithm,
    /// How many independent parts each collective operation has.
    pub channels: u32,
    /// Most sends of a rank in flight in an all-to-all; 0 stands for all.
    pub outstanding: u32,
}

impl Default for WorkloadOptions {
    /// One pass with rings in one channel, and all sends of an all-to-all at the same time.
    fn default() -> WorkloadOptions {
        WorkloadOptions { ranks: None, passes: 1, algorithm: Algorithm::Ring, channels: 1, outstanding: 0 }
    }
}

/// Reads a workload that AICB writes for SimAI.
///
/// A pass goes forward through the layers, then back. Each layer computes and then communicates; the next computation
/// waits for both. Only the communication of weight gradients runs beside what follows, one operation after the other,
/// and the pass ends when it is complete. In a `MICRO` file, the operations on weights run one after the other.
///
/// Rank t + tensor × (d + data × p) has place t in its tensor group, d among its data-parallel replicas and p in the
/// pipeline. An expert group consists of consecutive replicas. A size smaller than a byte for each part is raised to it.
///
/// # Errors
/// If the file is not of this format, if the ranks do not fit its groups, or if the program would be too large; with
/// the line.
pub fn parse_workload(content: &[u8], options: &WorkloadOptions) -> Result<Input, InputError> {
    let workload = workload::parse(content)?;
    let shape = Shape::new(&workload, options).map_err(|error| InputFault::from(error).anywhere())?;
    let anywhere = |error: ProgramError| InputFault::from(error).anywhere();
    let mut building = Building {
        options,
        builder: Program::builder(shape.ranks()).map_err(anywhere)?,
        main: Frontier::new(shape.ranks()),
        beside: Frontier::new(shape.ranks()),
        shape,
    };
    for pass in 0..options.passes {
        if pass > 0 {
            building.next_pass().map_err(anywhere)?;
        }
        let in_line = |layer: &Layer, error: GenerateError| {
            let fault = match error {
                GenerateError::Program(error) => InputFault::Program(error),
                error => InputFault::Generate(error),
            };
            fault.at(layer.line)
        };
        for layer in &workload.layers {
            if workload.micro {
                building.blocking(&layer.weight_gradient, true).map_err(|error| in_line(layer, error))?;
            } else {
                building.blocking(&layer.forward, false).map_err(|error| in_line(layer, error))?;
            }
        }
        for layer in workload.layers.iter().rev().filter(|_| !workload.micro) {
            building.backward(layer).map_err(|error| in_line(layer, error))?;
        }
    }
    Ok(Input { program: building.builder.finish(), left_out: workload.left_out })
}

/// How ranks are divided.
#[derive(Debug, Clone, Copy)]
struct Shape {
    tensor: u32,
    expert: u32,
    data: u32,
    stages: u32,
}

impl Shape {
    fn new(workload: &Workload, options: &WorkloadOptions) -> Result<Shape, ParameterError> {
        let Some(ranks) = options.ranks.or(workload.ranks) else {
            return Err(ParameterError::new("ranks", "none", "must be given: the file has no `all_gpus`"));
        };
        let &Workload { tensor, expert, stages, .. } = workload;
        let model = u64::from(tensor) * u64::from(stages);
        let replica = model * u64::from(expert);
        if ranks == 0 || !u64::from(ranks).is_multiple_of(replica) {
            let requirement = format!(
                "must be a multiple of {replica}: model_parallel_NPU_group {tensor} × pp {stages} × ep {expert}"
            );
            return Err(ParameterError::new("ranks", ranks, requirement));
        }
        if options.passes == 0 {
            return Err(ParameterError::new("passes", 0, "must be at least 1"));
        }
        Ok(Shape { tensor, expert, data: (u64::from(ranks) / model) as u32, stages })
    }

    fn ranks(&self) -> u32 {
        self.tensor * self.data * self.stages
    }

    /// The groups of an operation: the first rank of each, how many members each has, and how far apart they are.
    fn groups(&self, members: Members, weights: bool) -> (Vec<u32>, u32, u32) {
        let (count, stride) = match (members, weights) {
            (Members::Usual, false) => (self.tensor, 1),
            (Members::Usual, true) => (self.data, self.tensor),
            (Members::Expert, _) => (self.expert, self.tensor),
            (Members::DataOfExpert, _) => (self.data / self.expert, self.tensor * self.expert),
        };
        let first = |rank: &u32| (rank / stride).is_multiple_of(count);
        ((0..self.ranks()).filter(first).collect(), count, stride)
    }
}

struct Building<'a> {
    options: &'a WorkloadOptions,
    shape: Shape,
    builder: ProgramBuilder,
    /// What the next computation waits for.
    main: Frontier,
    /// What the next communication of weight gradients waits for besides.
    beside: Frontier,
}

impl Building<'_> {
    /// A new pass begins when everything of the last one is complete.
    fn next_pass(&mut self) -> Result<(), ProgramError> {
        self.builder.next_step()?;
        self.main.merge(&self.beside);
        self.main.compute_all(&mut self.builder, 0)?;
        self.beside = Frontier::new(self.shape.ranks());
        Ok(())
    }

    fn backward(&mut self, layer: &Layer) -> Result<(), GenerateError> {
        self.blocking(&layer.input_gradient, false)?;
        let Phase { nanos, communication } = layer.weight_gradient;
        if nanos > 0 {
            self.main.compute_all(&mut self.builder, nanos)?;
        }
        if let Some(communication) = communication {
            self.beside.merge(&self.main);
            self.beside.compute_all(&mut self.builder, 0)?;
            let mut beside = std::mem::replace(&mut self.beside, Frontier::new(0));
            self.communicate(communication, true, &mut beside)?;
            self.beside = beside;
        }
        Ok(())
    }

    /// A computation and a communication for which the next computation waits.
    fn blocking(&mut self, phase: &Phase, weights: bool) -> Result<(), GenerateError> {
        if phase.nanos > 0 || phase.communication.is_some() {
            self.main.compute_all(&mut self.builder, phase.nanos)?;
        }
        if let Some(communication) = phase.communication {
            let mut main = std::mem::replace(&mut self.main, Frontier::new(0));
            self.communicate(communication, weights, &mut main)?;
            self.main = main;
        }
        Ok(())
    }

    fn communicate(
        &mut self,
        communication: Communication,
        weights: bool,
        frontier: &mut Frontier,
    ) -> Result<(), GenerateError> {
        let collective = match communication.kind {
            Kind::AllReduce => Collective::AllReduce(self.options.algorithm),
            Kind::AllGather => Collective::AllGather,
            Kind::ReduceScatter => Collective::ReduceScatter,
            Kind::AllToAll => Collective::AllToAll { outstanding: self.options.outstanding },
        };
        let (firsts, members, stride) = self.shape.groups(communication.members, weights);
        if members < 2 {
            return Ok(());
        }
        let least = u64::from(members) * u64::from(self.options.channels);
        let data = (communication.bytes.max(least), self.options.channels);
        for first in firsts {
            let rank = |member| first + member * stride;
            collective.append_to(&mut self.builder, frontier, members, rank, data)?;
        }
        Ok(())
    }
}
