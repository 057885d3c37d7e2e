//! The text of workloads for SimAI: settings, and what each layer computes and communicates.

use super::error::{InputError, InputFault};
use super::text::{bounded, lines, number, text};
use crate::limits::{MAX_COMPUTE_NANOS, MAX_RANKS};

/// Most layers, counting each as often as the file lists it.
const MAX_LAYERS: u64 = 1 << 20;
/// Most bytes of a collective operation.
const MAX_COLLECTIVE_BYTES: u64 = 1 << 50;
/// Fields of a layer.
const FIELDS: usize = 12;

/// What a file says.
#[derive(Debug)]
pub(super) struct Workload {
    /// Whether the layers are measurements of their own instead of a model.
    pub micro: bool,
    /// Sizes of groups: tensor, expert and pipeline parallelism.
    pub tensor: u32,
    pub expert: u32,
    pub stages: u32,
    pub ranks: Option<u32>,
    pub layers: Vec<Layer>,
    /// Settings and operations that are not read.
    pub left_out: Vec<String>,
}

/// One line of a layer.
#[derive(Debug)]
pub(super) struct Layer {
    pub forward: Phase,
    pub input_gradient: Phase,
    pub weight_gradient: Phase,
    pub line: u32,
}

/// A computation and the collective operation after it.
#[derive(Debug)]
pub(super) struct Phase {
    pub nanos: u64,
    pub communication: Option<Communication>,
}

/// What is communicated, and among whom.
#[derive(Debug, Clone, Copy)]
pub(super) struct Communication {
    pub kind: Kind,
    pub members: Members,
    pub bytes: u64,
}

/// A collective operation by its name in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    AllReduce,
    AllGather,
    ReduceScatter,
    AllToAll,
}

/// Among whom an operation is performed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Members {
    /// Tensor parallelism for activations, data parallelism for weights.
    Usual,
    Expert,
    /// The replicas of an expert.
    DataOfExpert,
}

pub(super) fn parse(content: &[u8]) -> Result<Workload, InputError> {
    let missing = |what: &str| InputFault::Missing { what: what.to_owned() };
    let mut lines = lines(text(content)?);
    let (line, header) = lines.next().ok_or_else(|| missing("the line of settings").anywhere())?;
    let mut workload = settings(header).map_err(|fault| fault.at(line))?;
    let (line, count) = lines.next().ok_or_else(|| missing("the number of layers").anywhere())?;
    let said = bounded("number of layers", count, 1, MAX_LAYERS).map_err(|fault| fault.at(line))?;
    let mut broadcasts = 0;
    for (line, content) in lines {
        if workload.layers.len() as u64 == said {
            return Err(InputFault::form("the end of the file after the last layer", content).at(line));
        }
        let layer = layer(line, content, &mut broadcasts).map_err(|fault| fault.at(line))?;
        workload.layers.push(layer);
    }
    if broadcasts > 0 {
        workload.left_out.push(format!("broadcasts, of which there are {broadcasts}"));
    }
    let found = workload.layers.len() as u64;
    if found != said {
        return Err(InputFault::Count { what: "layers", said, found }.anywhere());
    }
    Ok(workload)
}

fn settings(header: &str) -> Result<Workload, InputFault> {
    let mut words = header.split_ascii_whitespace();
    let policy = words.next().unwrap_or_default();
    let micro = match policy {
        "MICRO" => true,
        "HYBRID_TRANSFORMER" | "HYBRID_TRANSFORMER_FWD_IN_BCKWD" => false,
        _ => {
            let expected = "`MICRO`, `HYBRID_TRANSFORMER` or `HYBRID_TRANSFORMER_FWD_IN_BCKWD`";
            return Err(InputFault::form(expected, policy));
        }
    };
    let (layers, left_out) = (Vec::new(), Vec::new());
    let mut workload = Workload { micro, tensor: 1, expert: 1, stages: 1, ranks: None, layers, left_out };
    while let Some(word) = words.next() {
        let value = words.next().unwrap_or_default();
        let ranks = |what| bounded(what, value, 1, u64::from(MAX_RANKS)).map(|number| number as u32);
        match word.trim_end_matches(':') {
            "model_parallel_NPU_group" => workload.tensor = ranks("model_parallel_NPU_group")?,
            "ep" => workload.expert = ranks("ep")?,
            "pp" => workload.stages = ranks("pp")?,
            "all_gpus" => workload.ranks = Some(ranks("all_gpus")?),
            "vpp" | "ga" => drop(ranks("vpp and ga")?),
            "checkpoints" | "checkpoint_initiates" if number(word, value)? > 0 => {
                return Err(InputFault::Unsupported {
                    what: "recomputing activations from checkpoints".to_owned(),
                    instead: "write the workload without checkpoints, and add the time to the backward passes",
                });
            }
            "checkpoints" | "checkpoint_initiates" => {}
            "pp_comm" if value.trim_end_matches(".0") == "0" => {}
            "pp_comm" => {
                number(word, value.trim_end_matches(".0"))?;
                workload
                    .left_out
                    .push(format!("messages between stages of the pipeline (`pp_comm` {value})"));
            }
            _ => {
                let expected = "`model_parallel_NPU_group`, `ep`, `pp`, `vpp`, `ga`, `all_gpus`, `checkpoints`, `checkpoint_initiates` or `pp_comm`";
                return Err(InputFault::form(expected, word));
            }
        }
    }
    Ok(workload)
}

fn layer(line: u32, content: &str, broadcasts: &mut u64) -> Result<Layer, InputFault> {
    let fields: Vec<&str> = content.split_ascii_whitespace().take(FIELDS + 1).collect();
    let &[_, dependency, ref phases @ .., update] = fields.as_slice() else {
        return Err(InputFault::form(format!("a layer of {FIELDS} fields"), content));
    };
    if fields.len() != FIELDS {
        return Err(InputFault::form(format!("a layer of {FIELDS} fields"), content));
    }
    dependency.parse::<i64>().map_err(|_| InputFault::form("a number after the layer's name", dependency))?;
    number("the time of the update", update)?;
    let mut phase = |place: usize| {
        let [nanos, kind, bytes] = [0, 1, 2].map(|field| phases[3 * place + field]);
        let bytes = bounded("size", bytes, 0, MAX_COLLECTIVE_BYTES)?;
        let communication = communication(kind, bytes)?;
        *broadcasts += u64::from(kind == "BROADCAST" && bytes > 0);
        let nanos = bounded("computation time", nanos, 0, MAX_COMPUTE_NANOS)?;
        Ok::<Phase, InputFault>(Phase { nanos, communication })
    };
    Ok(Layer { forward: phase(0)?, input_gradient: phase(1)?, weight_gradient: phase(2)?, line })
}

fn communication(name: &str, bytes: u64) -> Result<Option<Communication>, InputFault> {
    let (name, members) = match name {
        _ if name.ends_with("_DP_EP") => (name.trim_end_matches("_DP_EP"), Members::DataOfExpert),
        _ if name.ends_with("_EP") => (name.trim_end_matches("_EP"), Members::Expert),
        _ => (name, Members::Usual),
    };
    let kind = match name {
        // SimAI skips broadcasts, too.
        "NONE" | "BROADCAST" => return Ok(None),
        "ALLREDUCE" => Kind::AllReduce,
        "ALLGATHER" => Kind::AllGather,
        "REDUCESCATTER" => Kind::ReduceScatter,
        "ALLTOALL" => Kind::AllToAll,
        _ => {
            let expected = "`NONE`, `ALLREDUCE`, `ALLGATHER`, `REDUCESCATTER` or `ALLTOALL`, each with `_EP`, `_DP_EP` or nothing";
            return Err(InputFault::form(expected, name));
        }
    };
    Ok((bytes > 0).then_some(Communication { kind, members, bytes }))
}
