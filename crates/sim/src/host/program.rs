//! The operations of a program, which wait for each other: what the hosts of a training job send and compute.

use super::steps::Steps;
use super::workload::{Start, Workload};
use crate::time::Time;
use linkmend_collective::{Action, Program};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

/// How a program is run.
#[derive(Debug, Clone)]
pub struct ProgramRun {
    pub program: Arc<Program>,
    /// By rank: the number of its host.
    pub hosts: Vec<u32>,
    /// How often it is run. It begins again when everything is complete.
    pub repetitions: u64,
    /// How long all ranks compute before each repetition.
    pub compute: Time,
}

/// The flows of a program. An operation begins when all those are complete that it waits for. Sends are flows, complete when they
/// are delivered.
#[derive(Debug)]
pub struct Operations {
    run: ProgramRun,
    /// By operation of the program: how many it waits for, and where those begin that wait for it.
    waits: Vec<u32>,
    dependents_of: Vec<u32>,
    dependents: Vec<u32>,
    /// How many it still waits for.
    waiting: Vec<u32>,
    /// Sends that begin now, and since when.
    ready: VecDeque<u32>,
    ready_at: Time,
    computing: BinaryHeap<Reverse<(Time, u32)>>,
    /// By flow of this repetition, counted from `first_flow`: its operation.
    operation_of: Vec<u32>,
    first_flow: u64,
    /// When the next repetition begins.
    begins_at: Time,
    repetitions_left: u64,
    operations_left: u64,
    /// By step of the program: its operations that are not complete.
    left_of_step: Vec<u64>,
    /// The first step that has not ended, and when the one before did.
    step: usize,
    step_began: Time,
    done: Steps,
    /// Operations that are complete and whose dependents have not been told.
    completed: Vec<u32>,
}

impl Operations {
    /// Runs a program on hosts, at least as many as it has ranks.
    pub fn new(run: ProgramRun) -> Operations {
        let program = &run.program;
        let operations = program.len() as usize;
        let waits: Vec<u32> = (0..program.len()).map(|index| program.after(index).len() as u32).collect();
        let mut dependents_of = vec![0; operations + 1];
        for index in 0..program.len() {
            program.after(index).iter().for_each(|before| dependents_of[*before as usize + 1] += 1);
        }
        for index in 0..operations {
            dependents_of[index + 1] += dependents_of[index];
        }
        let mut next = dependents_of.clone();
        let mut dependents = vec![0; dependents_of[operations] as usize];
        for index in 0..program.len() {
            for before in program.after(index) {
                let place = &mut next[*before as usize];
                dependents[*place as usize] = index;
                *place += 1;
            }
        }
        let repetitions = if operations == 0 { 0 } else { run.repetitions };
        let mut this = Operations {
            waits,
            dependents_of,
            dependents,
            waiting: Vec::new(),
            ready: VecDeque::new(),
            ready_at: Time::NEVER,
            computing: BinaryHeap::new(),
            operation_of: Vec::new(),
            first_flow: 0,
            begins_at: Time::NEVER,
            repetitions_left: repetitions,
            operations_left: 0,
            left_of_step: Vec::new(),
            step: 0,
            step_began: Time::ZERO,
            done: Steps::default(),
            completed: Vec::new(),
            run,
        };
        this.done.steps_left = repetitions * u64::from(this.run.program.steps());
        this.done.operations_left = repetitions * operations as u64;
        this.await_next(Time::ZERO);
        this
    }

    /// Sets when the next repetition begins, if there is one.
    fn await_next(&mut self, now: Time) {
        self.begins_at = if self.repetitions_left > 0 { now + self.run.compute } else { Time::NEVER };
    }

    /// Begins a repetition.
    fn begin(&mut self, now: Time) {
        self.begins_at = Time::NEVER;
        self.repetitions_left -= 1;
        self.operations_left = self.waits.len() as u64;
        self.first_flow += self.operation_of.len() as u64;
        self.operation_of.clear();
        self.waiting.clone_from(&self.waits);
        self.step = 0;
        self.left_of_step.clear();
        self.left_of_step.resize(self.run.program.steps() as usize, 0);
        for operation in self.run.program.operations() {
            self.left_of_step[operation.step as usize] += 1;
        }
        for operation in 0..self.run.program.len() {
            if self.waits[operation as usize] == 0 {
                self.make_ready(now, operation);
            }
        }
        self.tell_dependents(now);
    }

    /// The flow of an operation; `None` if it computes.
    fn flow(&self, now: Time, operation: u32) -> Option<Start> {
        let Action::Send { from, to, bytes } = self.run.program.action(operation) else { return None };
        let [source, destination] = [from, to].map(|rank| self.run.hosts[rank as usize]);
        Some(Start { at: now, source, destination, bytes })
    }

    /// Begins an operation that waits for nothing.
    fn make_ready(&mut self, now: Time, operation: u32) {
        match self.run.program.action(operation) {
            Action::Compute { nanos: 0, .. } => self.completed.push(operation),
            Action::Compute { nanos, .. } => {
                self.computing.push(Reverse((now + Time::from_nanos(nanos), operation)));
            }
            Action::Send { .. } => {
                self.ready.push_back(operation);
                self.ready_at = now;
            }
        }
    }

    /// Lets everything begin that waited for what is complete.
    fn tell_dependents(&mut self, now: Time) {
        while let Some(operation) = self.completed.pop() {
            let [begin, end] = [0, 1].map(|next| self.dependents_of[operation as usize + next] as usize);
            for place in begin..end {
                let dependent = self.dependents[place];
                let waiting = &mut self.waiting[dependent as usize];
                *waiting -= 1;
                if *waiting == 0 {
                    self.make_ready(now, dependent);
                }
            }
            self.operations_left -= 1;
            self.done.operations_left -= 1;
            self.left_of_step[self.run.program.step(operation) as usize] -= 1;
        }
        while self.left_of_step.get(self.step) == Some(&0) {
            self.done.lasted.push(now - self.step_began);
            self.done.steps_left -= 1;
            (self.step, self.step_began) = (self.step + 1, now);
        }
        if self.operations_left == 0 {
            self.await_next(now);
        }
    }
}

impl Workload for Operations {
    fn next_at(&self) -> Time {
        let ready_at = if self.ready.is_empty() { Time::NEVER } else { self.ready_at };
        let computed = self.computing.peek().map_or(Time::NEVER, |Reverse((at, _))| *at);
        self.begins_at.min(ready_at).min(computed)
    }

    fn start(&mut self, now: Time) -> Option<Start> {
        loop {
            if self.begins_at <= now {
                self.begin(now);
            } else if let Some(Reverse((at, operation))) = self.computing.peek().copied()
                && at <= now
            {
                self.computing.pop();
                self.completed.push(operation);
                self.tell_dependents(now);
            } else {
                let operation = self.ready.pop_front()?;
                self.operation_of.push(operation);
                return self.flow(now, operation);
            }
        }
    }

    fn delivered(&mut self, now: Time, flow: u64) {
        let place = flow.checked_sub(self.first_flow).and_then(|place| usize::try_from(place).ok());
        if let Some(operation) = place.and_then(|place| self.operation_of.get(place)) {
            self.completed.push(*operation);
            self.tell_dependents(now);
        }
    }

    fn begin_at(&mut self, now: Time) {
        self.step_began = now;
        self.await_next(now);
    }

    fn is_finished(&self) -> bool {
        self.done.operations_left == 0
    }

    fn steps(&self) -> Option<&Steps> {
        Some(&self.done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(program: Program, hosts: Vec<u32>, repetitions: u64, compute: Time) -> Operations {
        Operations::new(ProgramRun { program: Arc::new(program), hosts, repetitions, compute })
    }

    /// Rank 0 computes for 5 ns and sends to 1, which computes for no time and sends on to 2.
    fn chain() -> Program {
        let mut builder = Program::builder(3).expect("three ranks");
        let mut add = |action, after: &[u32]| builder.add(action, after).expect("a good operation");
        let computed = add(Action::Compute { rank: 0, nanos: 5 }, &[]);
        let sent = add(Action::Send { from: 0, to: 1, bytes: 10 }, &[computed]);
        let taken = add(Action::Compute { rank: 1, nanos: 0 }, &[sent]);
        add(Action::Send { from: 1, to: 2, bytes: 20 }, &[sent, taken]);
        builder.finish()
    }

    #[test]
    fn operations_begin_when_all_they_wait_for_are_complete() {
        let ns = Time::from_nanos;
        let mut operations = run(chain(), vec![4, 5, 6], 2, ns(100));
        for (round, at) in [(0, 0), (1, 105 + 80)] {
            assert_eq!(operations.next_at(), ns(at + 100), "the ranks compute first");
            assert_eq!(operations.start(ns(at + 100)), None);
            assert_eq!(operations.next_at(), ns(at + 105));
            let first = operations.start(ns(at + 105)).expect("a send");
            assert_eq!((first.source, first.destination, first.bytes), (4, 5, 10));
            assert_eq!((operations.start(ns(at + 105)), operations.next_at()), (None, Time::NEVER));
            operations.delivered(ns(at + 125), 2 * round);
            assert_eq!(operations.next_at(), ns(at + 125));
            let second = operations.start(ns(at + 125)).expect("another");
            assert_eq!((second.source, second.destination, second.bytes), (5, 6, 20));
            assert!(!operations.is_finished());
            operations.delivered(ns(at + 185), 2 * round + 1);
        }
        assert!(operations.is_finished());
        let steps = operations.steps().expect("it has steps");
        assert_eq!(steps.lasted, [ns(185), ns(185)]);
        assert_eq!((steps.operations_left, steps.steps_left), (0, 0));
    }

    #[test]
    fn what_never_arrives_is_left_and_so_is_what_waits_for_it() {
        let mut operations = run(chain(), vec![0, 1, 2], 3, Time::ZERO);
        assert_eq!(operations.start(Time::ZERO), None);
        let at = Time::from_nanos(5);
        assert!(operations.start(at).is_some() && operations.next_at() == Time::NEVER);
        let steps = operations.steps().expect("it has steps");
        assert_eq!((steps.operations_left, steps.steps_left, steps.lasted.len()), (3 + 2 * 4, 3, 0));
    }
}
