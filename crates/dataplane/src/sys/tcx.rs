//! Programs at an interface's traffic control ingress hook ("tcx", Linux 6.6). They belong to the interface, not to the
//! process that put them there.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::bpf::bpf;

const BPF_PROG_ATTACH: i32 = 8;
const BPF_PROG_DETACH: i32 = 9;
const BPF_PROG_QUERY: i32 = 16;
const BPF_TCX_INGRESS: u32 = 46;
/// The place is that before or behind another program, or, without one, the first or last.
const BPF_F_BEFORE: u32 = 1 << 3;
const BPF_F_AFTER: u32 = 1 << 4;
/// The other program is named by its number, which takes no privilege, unlike a descriptor of it.
const BPF_F_ID: u32 = 1 << 5;
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

/// The numbers of the programs there, in the order in which they run.
pub(crate) fn programs(interface_index: u32) -> io::Result<Vec<u32>> {
    query(interface_index).map(|(ids, _)| ids)
}

/// The programs, and the number of changes so far, which a change may name so that nobody else's comes in between.
fn query(interface_index: u32) -> io::Result<(Vec<u32>, u64)> {
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
    Ok((ids, query.revision))
}

/// Adds `program` behind those that are there, or puts it in the place of the one with the number `replaced`. Frames
/// never miss both: for a moment the new one runs before the old one.
pub(crate) fn attach(interface_index: u32, program: BorrowedFd<'_>, replaced: Option<u32>) -> io::Result<()> {
    let mut attach = Attach {
        interface_index,
        program: program.as_raw_fd() as u32,
        attach_type: BPF_TCX_INGRESS,
        ..Attach::default()
    };
    if let Some(replaced) = replaced {
        (attach.flags, attach.relative) = (BPF_F_BEFORE | BPF_F_ID, replaced);
    }
    // SAFETY: Attach is what BPF_PROG_ATTACH expects and holds no pointers.
    unsafe { bpf(BPF_PROG_ATTACH, &mut attach)? };
    replaced.map_or(Ok(()), |replaced| detach(interface_index, replaced))
}

/// Detaches the program with this number. It is named by its place, because a descriptor of it takes CAP_SYS_ADMIN.
pub(crate) fn detach(interface_index: u32, program: u32) -> io::Result<()> {
    let (ids, expected_revision) = query(interface_index)?;
    let place = ids.iter().position(|&id| id == program).ok_or(io::ErrorKind::NotFound)?;
    let (flags, relative) = match place.checked_sub(1) {
        None => (BPF_F_BEFORE, 0),
        Some(before) => (BPF_F_AFTER | BPF_F_ID, ids[before]),
    };
    let mut detach = Attach {
        interface_index,
        attach_type: BPF_TCX_INGRESS,
        flags,
        relative,
        expected_revision,
        ..Attach::default()
    };
    // SAFETY: Attach is what BPF_PROG_DETACH expects and holds no pointers.
    unsafe { bpf(BPF_PROG_DETACH, &mut detach) }.map(drop)
}
