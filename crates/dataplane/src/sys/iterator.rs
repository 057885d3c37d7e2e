//! Runs a program over the kernel's objects of one kind, and reads what it writes about them (Linux 5.8).

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsRawFd;

use super::bpf::{BPF_ATTACH_TYPE_ITER, Instruction, Program, ProgramKind, bpf_fd};

const BPF_LINK_CREATE: i32 = 28;
const BPF_ITER_CREATE: i32 = 33;
/// Most bytes that are read.
const WRITTEN_BYTES_MAX: u64 = 16 << 20;

#[repr(C)]
#[derive(Default)]
struct LinkCreate {
    program_fd: u32,
    target_fd: u32,
    attach_type: u32,
    flags: u32,
    iterator_info: u64,
    iterator_info_length: u32,
    padding: u32,
}

#[repr(C)]
struct IteratorCreate {
    link_fd: u32,
    flags: u32,
}

/// Runs `code` for every object of the kind that the kernel function with this number stands for.
pub(crate) fn run(function: u32, code: &[Instruction], name: &str) -> io::Result<Vec<u8>> {
    let program = Program::load(ProgramKind::Iterator(function), code, name).map_err(|error| error.source)?;
    let mut link = LinkCreate {
        program_fd: program.as_fd().as_raw_fd() as u32,
        attach_type: BPF_ATTACH_TYPE_ITER,
        ..LinkCreate::default()
    };
    // SAFETY: LinkCreate is what BPF_LINK_CREATE expects and holds no pointers.
    let link = unsafe { bpf_fd(BPF_LINK_CREATE, &mut link)? };
    let mut iterator = IteratorCreate { link_fd: link.as_raw_fd() as u32, flags: 0 };
    // SAFETY: IteratorCreate is what BPF_ITER_CREATE expects and holds no pointers.
    let iterator = unsafe { bpf_fd(BPF_ITER_CREATE, &mut iterator)? };
    let mut written = Vec::new();
    File::from(iterator).take(WRITTEN_BYTES_MAX).read_to_end(&mut written)?;
    Ok(written)
}
