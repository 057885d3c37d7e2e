//! Programs at an interface's traffic control ingress hook ("tcx", Linux 6.6). They belong to the interface, not to the
//! process that put them there.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::bpf::bpf;

const BPF_PROG_ATTACH: i32 = 8;
const BPF_PROG_DETACH: i32 = 9;
const BPF_PROG_QUERY: i32 = 16;
const BPF_TCX_INGRESS: u32 = 46;
const BPF_F_REPLACE: u32 = 1 << 2;
/// The kernel's own limit (`BPF_MPROG_MAX`).
const PROGRAMS_MAX: usize = 64;

#[repr(C)]
#[derive(Default)]
struct Attach {
    interface_index: u32,
    program: u32,
    attach_type: u32,
    flags: u32,
    replaced_program: u32,
    relative: u32,
    expected_revision: u64,
}

#[repr(C)]
#[derive(Default)]
struct Query {
    interface_index: u32,
    attach_type: u32,
    query_flags: u32,
    attach_flags: u32,
    program_ids: u64,
    count: u32,
    padding: u32,
    program_attach_flags: u64,
    link_ids: u64,
    link_attach_flags: u64,
    revision: u64,
}

/// Ids of the programs there, in the order in which they run.
pub(crate) fn programs(interface_index: u32) -> io::Result<Vec<u32>> {
    let mut ids = vec![0u32; PROGRAMS_MAX];
    let mut query = Query {
        interface_index,
        attach_type: BPF_TCX_INGRESS,
        program_ids: ids.as_mut_ptr() as u64,
        count: ids.len() as u32,
        ..Query::default()
    };
    // SAFETY: Query is what BPF_PROG_QUERY expects; its only pointer is to `count` ids, which outlive the call.
    unsafe { bpf(BPF_PROG_QUERY, &mut query)? };
    ids.truncate(query.count as usize);
    Ok(ids)
}

/// Adds `program` behind those that are there, or atomically puts it in the place of `replaced`.
pub(crate) fn attach(
    interface_index: u32,
    program: BorrowedFd<'_>,
    replaced: Option<BorrowedFd<'_>>,
) -> io::Result<()> {
    let mut attach = Attach {
        interface_index,
        program: program.as_raw_fd() as u32,
        attach_type: BPF_TCX_INGRESS,
        ..Attach::default()
    };
    if let Some(replaced) = replaced {
        attach.flags = BPF_F_REPLACE;
        attach.replaced_program = replaced.as_raw_fd() as u32;
    }
    // SAFETY: Attach is what BPF_PROG_ATTACH expects and holds no pointers.
    unsafe { bpf(BPF_PROG_ATTACH, &mut attach) }.map(drop)
}

/// Detaches `program`.
pub(crate) fn detach(interface_index: u32, program: BorrowedFd<'_>) -> io::Result<()> {
    let mut detach = Attach {
        interface_index,
        program: program.as_raw_fd() as u32,
        attach_type: BPF_TCX_INGRESS,
        ..Attach::default()
    };
    // SAFETY: Attach is what BPF_PROG_DETACH expects and holds no pointers.
    unsafe { bpf(BPF_PROG_DETACH, &mut detach) }.map(drop)
}
