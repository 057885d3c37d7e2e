//! What the kernel says of a program that it holds, also to a daemon without CAP_SYS_ADMIN.
//!
//! Asking for a program by its number takes that capability, which the systemd unit withholds. An iterator over all
//! programs takes only CAP_BPF and CAP_PERFMON, and a kernel that describes its types. Both report the state of the
//! kernel itself, so nothing has to be remembered that could be lost or out of date.

use std::io;
use std::sync::OnceLock;

use super::assembler::Register::{R0, R1, R2, R3, R6, R7, R8, R9, R10};
use super::assembler::{AssembleError, Assembler, Condition, Operation, Width};
use super::target::HELPER_PROBE_READ_KERNEL;
use super::{CONFIG_NAME, words};
use crate::sys::bpf::{self, Instruction, NAME_BYTES};
use crate::sys::iterator;
use linkmend_linux::kernel_types::KernelTypes;

/// The kernel function that stands for an iteration over programs.
const ITERATION: &str = "bpf_iter_bpf_prog";
const HELPER_SEQ_WRITE: i32 = 127;
/// The number of maps that is read of a program; ours use two.
const MAPS: i16 = 2;

/// What the kernel says of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HeldProgram {
    pub(super) name: String,
    /// The words [`words::NOTE`] that it shares with the daemon that loaded it; zeros if it shares none.
    pub(super) note: [u64; words::NOTE_WORDS],
}

/// The program with this number.
///
/// # Errors
/// If there is none, and if the kernel does not say.
pub(super) fn program(id: u32) -> io::Result<HeldProgram> {
    match by_number(id) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => by_iteration(id),
        result => result,
    }
}

/// This way needs CAP_SYS_ADMIN.
fn by_number(id: u32) -> io::Result<HeldProgram> {
    let shared = bpf::words_of_program(id, CONFIG_NAME)?.unwrap_or_default();
    let mut note = [0; words::NOTE_WORDS];
    for (word, shared) in note.iter_mut().zip(shared.get(words::NOTE..).unwrap_or_default()) {
        *word = *shared;
    }
    Ok(HeldProgram { name: bpf::program_name(id)?, note })
}

/// Needs CAP_BPF and CAP_PERFMON.
fn by_iteration(id: u32) -> io::Result<HeldProgram> {
    let layout = Layout::of_this_kernel()?;
    let code = lister(layout).map_err(io::Error::other)?;
    let written = iterator::run(layout.iteration, &code, "linkmend_census")?;
    let mut records = written.chunks_exact(RECORD_BYTES as usize).map(Record);
    let found = records.find(|record| record.id() == id).ok_or(io::ErrorKind::NotFound)?;
    Ok(HeldProgram { name: found.name(0), note: found.note() })
}

/// Where the kernel keeps what is read, in bytes from the beginning of its structures.
#[derive(Clone, Copy, Debug)]
struct Layout {
    iteration: u32,
    /// `bpf_prog.aux`.
    aux: i32,
    /// `bpf_prog_aux.id`, `.name`, `.used_maps` and `.used_map_cnt`.
    id: i32,
    name: i32,
    maps: i32,
    map_count: i32,
    /// `bpf_map.name`, and `bpf_array.value`, of which a `bpf_map` is the beginning.
    map_name: i32,
    map_value: i32,
}

impl Layout {
    /// Reading the types takes a while, and they do not change.
    fn of_this_kernel() -> io::Result<Layout> {
        static LAYOUT: OnceLock<Layout> = OnceLock::new();
        if let Some(layout) = LAYOUT.get() {
            return Ok(*layout);
        }
        let layout = Layout::read()?;
        Ok(*LAYOUT.get_or_init(|| layout))
    }

    fn read() -> io::Result<Layout> {
        if cfg!(not(target_pointer_width = "64")) {
            return Err(io::Error::other("this is only done on 64-bit machines"));
        }
        let types = KernelTypes::read()?;
        let missing = |what: &str| io::Error::other(format!("this kernel has no {what}"));
        let offset = |structure: &str, member: &str| {
            let found = types.member_offset(structure, member).and_then(|at| i32::try_from(at).ok());
            found.ok_or_else(|| missing(&format!("{structure}.{member}")))
        };
        Ok(Layout {
            iteration: types.function_id(ITERATION).ok_or_else(|| missing(ITERATION))?,
            aux: offset("bpf_prog", "aux")?,
            id: offset("bpf_prog_aux", "id")?,
            name: offset("bpf_prog_aux", "name")?,
            maps: offset("bpf_prog_aux", "used_maps")?,
            map_count: offset("bpf_prog_aux", "used_map_cnt")?,
            map_name: offset("bpf_map", "name")?,
            map_value: offset("bpf_array", "value")?,
        })
    }
}

// A record: the number of the program (8 bytes), its name, and of each map the name and the note. It is put together
// on the stack, below 16 bytes for what is read in between.
const ID_BYTES: i16 = 8;
const NAME: i16 = NAME_BYTES as i16;
const NOTE_BYTES: i16 = 8 * words::NOTE_WORDS as i16;
const MAP_BYTES: i16 = NAME + NOTE_BYTES;
const RECORD_BYTES: i16 = ID_BYTES + NAME + MAPS * MAP_BYTES;
const SCRATCH: i16 = -16;
const RECORD: i16 = SCRATCH - RECORD_BYTES;

/// A record as it was written.
struct Record<'a>(&'a [u8]);

impl Record<'_> {
    fn id(&self) -> u32 {
        self.number(0) as u32
    }

    /// The name of the program (0), or of one of its maps (1 and on).
    fn name(&self, index: i16) -> String {
        let at = match index {
            0 => ID_BYTES,
            map => ID_BYTES + NAME + (map - 1) * MAP_BYTES,
        } as usize;
        let name = self.0.get(at..at + NAME_BYTES).and_then(|name| name.try_into().ok());
        name.map(bpf::text).unwrap_or_default()
    }

    fn note(&self) -> [u64; words::NOTE_WORDS] {
        let Some(map) = (0..MAPS).find(|&map| self.name(map + 1) == CONFIG_NAME) else {
            return [0; words::NOTE_WORDS];
        };
        let begin = (ID_BYTES + NAME + map * MAP_BYTES + NAME) as usize;
        std::array::from_fn(|word| self.number(begin + 8 * word))
    }

    fn number(&self, at: usize) -> u64 {
        let bytes = self.0.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
        bytes.map(u64::from_ne_bytes).unwrap_or_default()
    }
}

/// Writes a record of the program in question. What cannot be read stays zero.
fn lister(layout: Layout) -> Result<Vec<Instruction>, AssembleError> {
    let mut code = Assembler::new();
    let (known, end) = (code.label(), code.label());
    // struct bpf_iter__bpf_prog: the iteration, and the program, which is missing at the end.
    code.register(Operation::Move, R6, R1);
    code.load(Width::Double, R7, R6, 8);
    code.jump_if(R7, Condition::NotEqual, 0, known);
    code.jump(end);
    code.bind(known);
    code.immediate(Operation::Move, R1, 0);
    for at in (RECORD..0).step_by(8) {
        code.store(Width::Double, R10, at, R1);
    }
    read(&mut code, SCRATCH, 8, |code| add(code, R3, R7, layout.aux));
    code.load(Width::Double, R8, R10, SCRATCH);
    read(&mut code, RECORD, 4, |code| add(code, R3, R8, layout.id));
    read(&mut code, RECORD + ID_BYTES, i32::from(NAME), |code| add(code, R3, R8, layout.name));
    for map in 0..MAPS {
        let missing = code.label();
        read(&mut code, SCRATCH, 4, |code| add(code, R3, R8, layout.map_count));
        code.load(Width::Word, R1, R10, SCRATCH);
        let has_it = code.label();
        code.jump_if(R1, Condition::Greater, i32::from(map), has_it);
        code.jump(missing);
        code.bind(has_it);
        read(&mut code, SCRATCH, 8, |code| add(code, R3, R8, layout.maps));
        read(&mut code, SCRATCH, 8, |code| {
            code.load(Width::Double, R3, R10, SCRATCH);
            code.immediate(Operation::Add, R3, 8 * i32::from(map));
        });
        code.load(Width::Double, R9, R10, SCRATCH);
        let at = RECORD + ID_BYTES + NAME + map * MAP_BYTES;
        read(&mut code, at, i32::from(NAME), |code| add(code, R3, R9, layout.map_name));
        let note = layout.map_value + 8 * words::NOTE as i32;
        read(&mut code, at + NAME, i32::from(NOTE_BYTES), |code| add(code, R3, R9, note));
        code.bind(missing);
    }
    code.load(Width::Double, R1, R6, 0);
    code.load(Width::Double, R1, R1, 0);
    add(&mut code, R2, R10, i32::from(RECORD));
    code.immediate(Operation::Move, R3, i32::from(RECORD_BYTES));
    code.call(HELPER_SEQ_WRITE);
    code.bind(end);
    code.immediate(Operation::Move, R0, 0);
    code.exit();
    code.finish()
}

/// Reads kernel memory, from where `base` points `R3`, to a place on the stack.
fn read(code: &mut Assembler, to: i16, bytes: i32, base: impl FnOnce(&mut Assembler)) {
    base(code);
    add(code, R1, R10, i32::from(to));
    code.immediate(Operation::Move, R2, bytes);
    code.call(HELPER_PROBE_READ_KERNEL);
}

fn add(code: &mut Assembler, to: super::assembler::Register, from: super::assembler::Register, bytes: i32) {
    code.register(Operation::Move, to, from);
    code.immediate(Operation::Add, to, bytes);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails where something is missing")]

    use super::*;
    use crate::sys::bpf::{Program, ProgramKind, SharedWords};
    use std::sync::atomic::Ordering;

    /// Only the iteration works under the systemd unit; the other way is there for kernels without it.
    #[test]
    fn both_ways_say_the_same_of_a_program_with_a_note_and_of_one_without() {
        let Ok(config) = SharedWords::new(words::COUNT, CONFIG_NAME) else {
            eprintln!("\n######## SKIPPED: programs held by the kernel need root ########\n");
            return;
        };
        for word in 0..words::COUNT {
            config.word(word).store(1_000 + word as u64, Ordering::Relaxed);
        }
        let load = |name: &str, with_map: bool| {
            let mut code = Assembler::new();
            if with_map {
                code.load_map_value(R1, config.as_fd());
            }
            code.immediate(Operation::Move, R0, 2);
            code.exit();
            Program::load(ProgramKind::Xdp { several_buffers: false }, &code.finish().unwrap(), name).unwrap()
        };
        let noted = std::array::from_fn(|word| (1_000 + words::NOTE + word) as u64);
        for (name, with_map, note) in
            [("census_with", true, noted), ("census_without", false, [0; words::NOTE_WORDS])]
        {
            let program = load(name, with_map);
            let id = bpf::program_id(&program).unwrap();
            let expected = HeldProgram { name: name.to_owned(), note };
            assert_eq!(by_iteration(id).unwrap(), expected);
            assert_eq!(by_number(id).unwrap(), expected);
            drop(program);
        }
        assert_eq!(by_iteration(u32::MAX).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
