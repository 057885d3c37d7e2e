//! Programs from files of other simulators.

use linkmend_collective::ideal::{IdealLink, completion_nanos, total_nanos};
use linkmend_collective::read::{
    GoalOptions, InputError, WorkloadOptions, parse_connection_matrix, parse_goal, parse_workload,
};
use linkmend_collective::{Action, Algorithm, Program};
use linkmend_diagnose::Diagnose;

/// A byte in a nanosecond.
const LINK: IdealLink = IdealLink { bits_per_second: 8_000_000_000, latency_nanos: 1_000 };

const MATRIX: &str = include_str!("data/allreduce.cm");
const GOAL: &str = include_str!("data/exchange.goal");
const LAYERS: &str = include_str!("data/two_layers.txt");
const MICRO: &str = include_str!("data/micro.txt");

fn matrix(text: &str) -> Result<Program, InputError> {
    parse_connection_matrix(text.as_bytes()).map(|input| input.program)
}

fn goal(text: &str) -> Result<Program, InputError> {
    parse_goal(text.as_bytes(), &GoalOptions::default()).map(|input| input.program)
}

fn workload(text: &str) -> Result<Program, InputError> {
    parse_workload(text.as_bytes(), &WorkloadOptions::default()).map(|input| input.program)
}

fn described(program: &Program) -> Vec<String> {
    let describe = |index| {
        let action = match program.action(index) {
            Action::Send { from, to, bytes } => format!("{from}->{to} {bytes}B"),
            Action::Compute { rank, nanos } => format!("{rank} {nanos}ns"),
        };
        format!("{index}: {action} after {:?}", program.after(index))
    };
    (0..program.len()).map(describe).collect()
}

/// Errors of a parser, each for a file in which one text is replaced by another.
fn refused(parse: fn(&str) -> Result<Program, InputError>, file: &str, cases: &[(&str, &str, &str)]) {
    for (old, new, message) in cases {
        assert!(file.contains(old), "{old}");
        let error = parse(&file.replacen(old, new, 1)).expect_err(message);
        assert_eq!(error.to_string(), *message);
        assert_eq!(error.fault().exit_code(), 2);
    }
}

#[test]
fn connections_start_at_their_time_or_when_triggers_fire() {
    let input = parse_connection_matrix(MATRIX.as_bytes()).expect("the example is good");
    assert_eq!(
        described(&input.program),
        [
            "0: 0->1 1000000B after []",
            "1: 1->2 1000000B after [0]",
            "2: 2 2500ns after []",
            "3: 2->3 1000000B after [2]",
            "4: 3->0 500000B after [1, 3]",
            "5: 2 500ns after []",
            "6: 2->0 500000B after [5]",
            "7: 1->0 8B after [4]",
        ]
    );
    assert_eq!(input.left_out, ["priorities of connections (`prio`)"]);
    assert_eq!(total_nanos(&input.program, &LINK), 2_504_008);
}

#[test]
fn bad_connection_matrices_are_refused_with_line_and_reason() {
    refused(
        matrix,
        MATRIX,
        &[
            (
                "Nodes 4",
                "Nodes 4000000000",
                "line 2: the number after it = 4000000000: must be from 0 to 65536",
            ),
            ("Nodes 4\n", "", "a line `Nodes N` is missing"),
            ("Nodes 4", "Nodes 3", "line 7: rank 3 does not exist: ranks are numbered from 0 to 2"),
            ("Nodes 4", "Nodes 0", "a program has from 1 to 65536 ranks, not 0"),
            ("Nodes 4", "Nodes 4\nNodes 4", "line 3: `Nodes` is given a second time"),
            (
                "Nodes 4",
                "Hosts 4",
                "line 2: expected `Nodes`, `Connections`, `Triggers`, `trigger` or a connection `0->1`, not `Hosts`",
            ),
            ("Connections 6", "Connections 7", "the file says that it has 7 connections, but it has 6"),
            ("Triggers 3", "Triggers 2", "the file says that it has 2 triggers, but it has 3"),
            ("Triggers 3", "Triggers 3\nFailures 1", "line 5: the failure of a link cannot be simulated"),
            ("0->1", "1->1", "line 5: rank 1 sends to itself"),
            ("0->1", "0->x", "line 5: expected node, a whole number, not `x`"),
            ("start 0 ", "", "line 5: the connection never starts: it has neither `start` nor `trigger`"),
            ("start 0 ", "start 0 trigger 1 ", "line 5: the start of the connection is given a second time"),
            ("start 0 ", "start -5 ", "line 5: expected a start in picoseconds, not `-5`"),
            ("start 0 ", "start NaN ", "line 5: expected a start in picoseconds, not `NaN`"),
            (
                "start 0 ",
                "start 1e30 ",
                "line 5: a computation takes at most 86400000000000 ns, not 18446744073709551615 ns",
            ),
            ("size 8", "size 0", "line 10: a connection without an end (`size` 0) cannot be simulated"),
            (" size 8", "", "line 10: the size of the connection is missing"),
            (
                "size 8",
                "size 8 addon",
                "line 10: `addon`, by which connections are parts of one, cannot be simulated",
            ),
            (
                "size 8",
                "size 8 colour 1",
                "line 10: expected `id`, `start`, `size`, `trigger`, `send_done_trigger`, `recv_done_trigger` or `prio`, not `colour`",
            ),
            ("count 2", "count 3", "line 12: trigger 2 waits for 3 connections, but 2 signal it"),
            ("barrier count 2", "barrier", "line 12: the count of the barrier is missing"),
            ("id 1 oneshot", "id 4 oneshot", "line 5: trigger 1 is missing"),
            ("id 1 oneshot", "id 2 oneshot", "line 12: trigger 2 is given a second time"),
            (
                "barrier count 2",
                "oneshot",
                "line 12: 2 connections signal trigger 2, but a oneshot trigger fires at exactly one",
            ),
            (
                "start 0 ",
                "trigger 3 ",
                "line 5: the connection never starts: it waits for itself, through others",
            ),
        ],
    );
    let error = parse_connection_matrix(b"Nodes 1\n\xff\n").expect_err("no text");
    assert_eq!(error.to_string(), "line 2: expected text in UTF-8, not `a byte that is none`");
}

#[test]
fn messages_of_goal_are_matched_and_small_sends_are_buffered() {
    let input = parse_goal(GOAL.as_bytes(), &GoalOptions::default()).expect("the example is good");
    assert_eq!(
        described(&input.program),
        [
            "0: 0 100ns after []",
            "1: 0->1 1000000B after [0]",
            "2: 1->2 10B after [1]",
            "3: 1 30ns after [1]",
            "4: 1 40ns after [1]",
            "5: 2->0 20B after []",
            "6: 0 50ns after [1, 5]",
        ]
    );
    assert_eq!(input.left_out, ["the processors (`cpu`) and NICs (`nic`) of operations"]);
    let unbuffered =
        parse_goal(GOAL.as_bytes(), &GoalOptions { eager_bytes: 9 }).expect("the example is good");
    assert_eq!(unbuffered.program.after(3), [2]);
    // The receive of rank 0 requires a computation, so something marks its end.
    let program = goal(&GOAL.replace("l4 requires l3", "l4 requires l3\nl3 requires l1")).expect("good");
    assert_eq!(described(&program)[6..], ["6: 0 0ns after [0, 5]", "7: 0 50ns after [1, 6]"]);
}

#[test]
fn operations_begin_with_others_or_with_what_these_wait_for() {
    let program = goal(
        "num_ranks 2\nrank 0 {\na: calc 5\nb: recv 1b from 1\nb requires a\nc: calc 7\nc irequires b\n}\n\
         rank 1 {\nsend 0b to 0 tag 0 cpu 0 nic 0\n}\n",
    )
    .expect("good");
    assert_eq!(
        described(&program),
        ["0: 0 5ns after []", "1: 1->0 1B after []", "2: 0 0ns after [0, 1]", "3: 0 7ns after [0]"]
    );
}

#[test]
fn bad_schedules_are_refused_with_line_and_reason() {
    refused(
        goal,
        GOAL,
        &[
            (
                "num_ranks 3",
                "num_ranks 4294967295",
                "line 1: num_ranks = 4294967295: must be from 1 to 65536",
            ),
            ("num_ranks 3", "", "line 3: `num_ranks` before the first rank is missing"),
            ("num_ranks 3", "num_ranks 2", "line 7: rank = 2: must be from 0 to 1"),
            ("rank 2 {", "rank 1 {", "line 25: rank 1 is given a second time"),
            ("rank 2 {", "rank 2", "line 25: expected `{`, not ``"),
            ("to 1 tag 7", "to 1 tag 8", "line 16: this receive from rank 0 to 1 with tag 7 has no send"),
            ("send 20b to 0", "send 20b to 2", "line 27: rank 2 sends to itself"),
            ("send 20b to 0", "send 20 to 0", "line 27: expected `b`, not `to`"),
            ("send 20b to 0", "send 20b to 0 now", "line 27: expected the end of the line, not `now`"),
            ("send 20b to 0", "send 20b from 0", "line 27: expected `to`, not `from`"),
            ("from 2 tag 0", "from -1 tag 0", "line 7: a receive from any source cannot be simulated"),
            ("from 2 tag 0", "from 2 tag -1", "line 7: a message with any tag cannot be simulated"),
            (
                "calc 50",
                "calc 1000000000000000",
                "line 8: calc = 1000000000000000: must be from 0 to 86400000000000",
            ),
            ("calc 50", "sleep 50", "line 8: expected `send`, `recv` or `calc`, not `sleep`"),
            (
                "l4 requires l3",
                "l4 requires l9",
                "line 10: expected a label of an earlier operation of this rank, not `l9`",
            ),
            (
                "l4 requires l3",
                "l4 needs l3",
                "line 10: expected `:`, `requires` or `irequires`, not `needs`",
            ),
            ("l4: calc 50", "l3: calc 50", "line 8: the label `l3` is given a second time"),
            (
                "l4 requires l3",
                "l1 requires l4",
                "line 8: the operation never begins: it waits for itself, through others",
            ),
            ("send 20b to 0\n}", "send 20b to 0\n/*}", "line 28: the `}` that ends rank 2 is missing"),
        ],
    );
    assert_eq!(goal("").unwrap_err().to_string(), "`num_ranks` is missing");
}

#[test]
fn layers_compute_and_communicate_in_their_groups() {
    let input = parse_workload(LAYERS.as_bytes(), &WorkloadOptions::default()).expect("the example is good");
    let program = input.program;
    assert_eq!(program.ranks(), 8);
    assert!(input.left_out.is_empty());
    let mut sent = std::collections::BTreeMap::new();
    for operation in program.operations() {
        if let Action::Send { from, to, bytes } = operation.action {
            *sent.entry((from, to)).or_insert(0) += bytes;
        }
    }
    // Rank 0 all-reduces with 1 (tensor), exchanges with 2 (expert), reduces gradients in a ring of 0, 2, 4 and 6
    // (data), and those of its expert with 4.
    assert_eq!(sent[&(0, 1)], 2 * 4_096);
    assert_eq!(sent[&(0, 2)], 2 * 4_096 + 65_536 / 4 * 3);
    assert_eq!(sent[&(0, 4)], 65_536);
    assert_eq!(sent.keys().filter(|(from, _)| *from == 0).count(), 3);
    // Forward: 1,000 ns, two rounds of 2,048 B; 2,000 ns, one of 4,096 B. Back: 1,900 ns, one of 4,096 B; 1,800 ns.
    let round = |bytes: u64| 1_000 + bytes;
    let until_gradients = 1_000 + 2 * round(2_048) + 2_000 + round(4_096) + 1_900 + round(4_096) + 1_800;
    let completed = completion_nanos(&program, &LINK);
    let of_expert = |index: &u32| program.action(*index) == Action::Send { from: 0, to: 4, bytes: 32_768 };
    let index = (0..program.len()).find(of_expert).expect("the replicas of experts communicate") as usize;
    assert_eq!(completed[index], until_gradients + round(32_768));
    // The computation of the layer below does not wait for it.
    let below = Action::Compute { rank: 0, nanos: 900 };
    let index = (0..program.len()).find(|&index| program.action(index) == below).expect("computes") as usize;
    assert_eq!(completed[index], until_gradients + 900);
}

#[test]
fn passes_follow_each_other_and_a_part_of_the_job_can_be_simulated() {
    let options = WorkloadOptions { ranks: Some(4), passes: 3, ..WorkloadOptions::default() };
    let one = parse_workload(LAYERS.as_bytes(), &WorkloadOptions { passes: 1, ..options }).expect("good");
    let three = parse_workload(LAYERS.as_bytes(), &options).expect("good");
    assert_eq!((three.program.ranks(), three.program.steps()), (4, 3));
    assert_eq!(total_nanos(&three.program, &LINK), 3 * total_nanos(&one.program, &LINK));
}

#[test]
fn measurements_run_one_after_the_other_among_all_ranks() {
    let options = WorkloadOptions { ranks: Some(4), outstanding: 1, ..WorkloadOptions::default() };
    let program = parse_workload(MICRO.as_bytes(), &options).expect("the example is good").program;
    assert_eq!(total_nanos(&program, &LINK), 1 + 3 * (1_000 + 1_024) + 1 + 3 * (1_000 + 2_048));
}

#[test]
fn bad_workloads_are_refused_with_line_and_reason() {
    refused(
        workload,
        LAYERS,
        &[
            (
                "HYBRID_TRANSFORMER_FWD_IN_BCKWD",
                "HYBRID_DLRM",
                "line 1: expected `MICRO`, `HYBRID_TRANSFORMER` or `HYBRID_TRANSFORMER_FWD_IN_BCKWD`, not `HYBRID_DLRM`",
            ),
            ("all_gpus: 8", "all_gpus: 4294967296", "line 1: all_gpus = 4294967296: must be from 1 to 65536"),
            (
                "all_gpus: 8",
                "all_gpus: 6",
                "ranks = 6: must be a multiple of 4: model_parallel_NPU_group 2 × pp 1 × ep 2",
            ),
            ("all_gpus: 8 ", "", "ranks = none: must be given: the file has no `all_gpus`"),
            (
                "checkpoints: 0",
                "checkpoints: 1 7",
                "line 1: recomputing activations from checkpoints cannot be simulated",
            ),
            (
                "pp_comm: 0",
                "speed: 9",
                "line 1: expected `model_parallel_NPU_group`, `ep`, `pp`, `vpp`, `ga`, `all_gpus`, `checkpoints`, `checkpoint_initiates` or `pp_comm`, not `speed:`",
            ),
            ("\n2\n", "\n4000000000\n", "line 2: number of layers = 4000000000: must be from 1 to 1048576"),
            ("\n2\n", "\n3\n", "the file says that it has 3 layers, but it has 2"),
            (
                "\n2\n",
                "\n1\n",
                "line 4: expected the end of the file after the last layer, not `moe_layer\\t-1\\t2000\\tALLTOALL_EP\\t8192\\t1900\\t`",
            ),
            (
                "ALLREDUCE\t4096",
                "ALLREDUCE",
                "line 3: expected a layer of 12 fields, not `attention_layer\\t-1\\t1000\\tALLREDUCE\\t900\\tAL`",
            ),
            (
                "ALLREDUCE\t4096",
                "GATHER\t4096",
                "line 3: expected `NONE`, `ALLREDUCE`, `ALLGATHER`, `REDUCESCATTER` or `ALLTOALL`, each with `_EP`, `_DP_EP` or nothing, not `GATHER`",
            ),
            (
                "ALLREDUCE\t4096",
                "ALLREDUCE\t9000000000000000000",
                "line 3: size = 9000000000000000000: must be from 0 to 1125899906842624",
            ),
            (
                "ALLREDUCE\t4096",
                "ALLREDUCE\t4294967296000",
                "line 3: a send carries from 1 to 1099511627776 bytes, not 2147483648000",
            ),
            ("-1\t1000", "-1\t-5", "line 3: expected computation time, a whole number, not `-5`"),
            ("-1\t1000", "x\t1000", "line 3: expected a number after the layer's name, not `x`"),
        ],
    );
    let options = WorkloadOptions { algorithm: Algorithm::HalvingDoubling, ..WorkloadOptions::default() };
    let uneven = LAYERS.replace("NPU_group: 2", "NPU_group: 3").replace("gpus: 8", "gpus: 6");
    assert_eq!(
        parse_workload(uneven.as_bytes(), &options).unwrap_err().to_string(),
        "line 3: members = 3: must be a power of two for this algorithm; a ring and a tree take any number"
    );
    for text in ["", "MICRO", "MICRO\n"] {
        assert!(workload(text).is_err());
    }
}
