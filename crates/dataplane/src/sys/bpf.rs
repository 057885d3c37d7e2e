//! bpf(2): maps, programs, test runs.

use std::io;
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};

const BPF_MAP_CREATE: i32 = 0;
const BPF_MAP_LOOKUP_ELEM: i32 = 1;
const BPF_MAP_UPDATE_ELEM: i32 = 2;
const BPF_PROG_LOAD: i32 = 5;
const BPF_PROG_TEST_RUN: i32 = 10;
const BPF_PROG_GET_FD_BY_ID: i32 = 13;
const BPF_MAP_GET_FD_BY_ID: i32 = 14;
const BPF_OBJ_GET_INFO_BY_FD: i32 = 15;

const BPF_MAP_TYPE_ARRAY: u32 = 2;
const BPF_MAP_TYPE_DEVMAP: u32 = 14;
const BPF_MAP_TYPE_XSKMAP: u32 = 17;
const BPF_F_MMAPABLE: u32 = 1 << 10;
const BPF_PROG_TYPE_SCHED_CLS: u32 = 3;
const BPF_PROG_TYPE_XDP: u32 = 6;
const BPF_PROG_TYPE_TRACING: u32 = 26;
pub(super) const BPF_ATTACH_TYPE_ITER: u32 = 28;
const BPF_ATTACH_TYPE_XDP: u32 = 37;
const BPF_F_XDP_HAS_FRAGS: u32 = 1 << 5;
const VERIFIER_LOG_BYTES: usize = 256 * 1024;
pub(crate) const NAME_BYTES: usize = 16;
/// The largest number of maps that is read from a program; ours use two.
const PROGRAM_MAPS_MAX: usize = 8;

/// One instruction of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instruction {
    pub(crate) code: u8,
    pub(crate) destination: u8,
    pub(crate) source: u8,
    pub(crate) offset: i16,
    pub(crate) immediate: i32,
}

impl Instruction {
    /// The kernel's form: one word in the machine's byte order.
    pub(crate) fn encode(self) -> u64 {
        let registers = if cfg!(target_endian = "little") {
            self.destination | self.source << 4
        } else {
            self.destination << 4 | self.source
        };
        let [o0, o1] = self.offset.to_ne_bytes();
        let [i0, i1, i2, i3] = self.immediate.to_ne_bytes();
        u64::from_ne_bytes([self.code, registers, o0, o1, i0, i1, i2, i3])
    }
}

#[repr(C)]
#[derive(Default)]
struct MapCreate {
    map_type: u32,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
    map_flags: u32,
    inner_map_fd: u32,
    numa_node: u32,
    name: [u8; NAME_BYTES],
}

/// The attributes for looking up and for updating an entry.
#[repr(C)]
#[derive(Default)]
struct MapElement {
    map_fd: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
#[derive(Default)]
struct ProgramLoad {
    program_type: u32,
    instruction_count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log_buffer: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; NAME_BYTES],
    interface_index: u32,
    expected_attach_type: u32,
    type_information: [u32; 9],
    attach_function: u32,
}

#[repr(C)]
#[derive(Default)]
struct TestRun {
    program_fd: u32,
    return_value: u32,
    input_bytes: u32,
    output_bytes: u32,
    input: u64,
    output: u64,
    repeat: u32,
    duration: u32,
    context_input_bytes: u32,
    context_output_bytes: u32,
    context_input: u64,
    context_output: u64,
    flags: u32,
    cpu: u32,
    batch_size: u32,
    padding: u32,
}

/// `struct xdp_md`.
#[repr(C)]
#[derive(Default)]
struct XdpContext {
    data: u32,
    data_end: u32,
    data_meta: u32,
    interface: u32,
    queue: u32,
    egress_interface: u32,
}

#[repr(C)]
#[derive(Default)]
struct FdById {
    id: u32,
    next_id: u32,
    open_flags: u32,
}

#[repr(C)]
#[derive(Default)]
struct ObjectInfo {
    fd: u32,
    info_length: u32,
    info: u64,
}

/// The first fields of `struct bpf_prog_info`; the kernel fills as many bytes as we ask for.
#[repr(C)]
#[derive(Default)]
struct ProgramInfo {
    program_type: u32,
    id: u32,
    tag: [u8; 8],
    jited_length: u32,
    translated_length: u32,
    jited: u64,
    translated: u64,
    load_time: u64,
    created_by_uid: u32,
    map_id_count: u32,
    map_ids: u64,
    name: [u8; NAME_BYTES],
}

/// The first fields of `struct bpf_map_info`.
#[repr(C)]
#[derive(Default)]
struct MapInfo {
    map_type: u32,
    id: u32,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
    map_flags: u32,
    name: [u8; NAME_BYTES],
}

/// SAFETY: `T` must be the structure `command` expects, its pointers valid for the call.
pub(super) unsafe fn bpf<T>(command: i32, attributes: &mut T) -> io::Result<i32> {
    // SAFETY: promised by the caller; the size tells the kernel how much of the union is given.
    let result =
        unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_mut(attributes), size_of::<T>()) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(result as i32)
}

/// SAFETY: as [`bpf`]; `command` must be one that returns a new file descriptor.
pub(super) unsafe fn bpf_fd<T>(command: i32, attributes: &mut T) -> io::Result<OwnedFd> {
    // SAFETY: promised by the caller. The kernel opens bpf descriptors close-on-exec.
    unsafe { Ok(OwnedFd::from_raw_fd(bpf(command, attributes)?)) }
}

fn name_bytes(name: &str) -> [u8; NAME_BYTES] {
    let mut bytes = [0; NAME_BYTES];
    let length = name.len().min(NAME_BYTES - 1);
    bytes[..length].copy_from_slice(&name.as_bytes()[..length]);
    bytes
}

/// A map from which the kernel removes an entry when what it names is gone.
pub(crate) struct LiveMap(OwnedFd);

impl LiveMap {
    /// A map whose entries are AF_XDP sockets, indexed by receive queue.
    pub(crate) fn of_sockets(entries: u32, name: &str) -> io::Result<Self> {
        Self::new(BPF_MAP_TYPE_XSKMAP, entries, name)
    }

    /// A map with one entry, the number of an interface.
    pub(crate) fn of_interface(name: &str) -> io::Result<Self> {
        Self::new(BPF_MAP_TYPE_DEVMAP, 1, name)
    }

    fn new(map_type: u32, max_entries: u32, name: &str) -> io::Result<Self> {
        let mut attributes = MapCreate {
            map_type,
            key_size: 4,
            value_size: 4,
            max_entries,
            name: name_bytes(name),
            ..MapCreate::default()
        };
        // SAFETY: MapCreate is what BPF_MAP_CREATE expects and holds no pointers.
        Ok(LiveMap(unsafe { bpf_fd(BPF_MAP_CREATE, &mut attributes)? }))
    }

    /// Puts a socket's descriptor or an interface's number into a slot.
    pub(crate) fn insert(&self, slot: u32, value: u32) -> io::Result<()> {
        let mut attributes = MapElement {
            map_fd: self.0.as_raw_fd() as u32,
            key: (&raw const slot) as u64,
            value: (&raw const value) as u64,
            ..MapElement::default()
        };
        // SAFETY: key and value are four bytes each, as the map was created, and outlive the call.
        unsafe { bpf(BPF_MAP_UPDATE_ELEM, &mut attributes)? };
        Ok(())
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// An array map with one entry of `words` 64-bit words, mapped into this process. Both sides read and write it without
/// system calls.
pub(crate) struct SharedWords {
    map: OwnedFd,
    base: NonNull<AtomicU64>,
    words: usize,
    mapped_bytes: usize,
}

// SAFETY: the mapping is owned by this value and only reached through atomics.
unsafe impl Send for SharedWords {}
// SAFETY: as above.
unsafe impl Sync for SharedWords {}

impl SharedWords {
    pub(crate) fn new(words: usize, name: &str) -> io::Result<Self> {
        let bytes = words * 8;
        let mut attributes = MapCreate {
            map_type: BPF_MAP_TYPE_ARRAY,
            key_size: 4,
            value_size: bytes as u32,
            max_entries: 1,
            map_flags: BPF_F_MMAPABLE,
            name: name_bytes(name),
            ..MapCreate::default()
        };
        // SAFETY: MapCreate is what BPF_MAP_CREATE expects and holds no pointers.
        let map = unsafe { bpf_fd(BPF_MAP_CREATE, &mut attributes)? };
        let mapped_bytes = bytes.next_multiple_of(4096);
        let length = NonZeroUsize::new(mapped_bytes).ok_or(io::ErrorKind::InvalidInput)?;
        // SAFETY: a new mapping of a kernel object, aliased by nothing of ours.
        let base = unsafe {
            mmap(None, length, ProtFlags::PROT_READ | ProtFlags::PROT_WRITE, MapFlags::MAP_SHARED, &map, 0)?
        };
        Ok(SharedWords { map, base: base.cast(), words, mapped_bytes })
    }

    /// Returns word `index`. Panics if there is no such word.
    #[inline]
    pub(crate) fn word(&self, index: usize) -> &AtomicU64 {
        assert!(index < self.words);
        // SAFETY: inside the mapping, aligned, and only ever accessed atomically.
        unsafe { self.base.add(index).as_ref() }
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.map.as_fd()
    }
}

impl Drop for SharedWords {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`; no reference outlives `self`.
        let _ = unsafe { munmap(self.base.cast(), self.mapped_bytes) };
    }
}

/// A refused program, with what the verifier said.
#[derive(Debug)]
pub(crate) struct LoadError {
    pub(crate) source: io::Error,
    pub(crate) verifier_log: String,
}

/// Where a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProgramKind {
    /// On frames as they are received. Whether the program accepts frames of several buffers, for which Linux 5.18 is
    /// required.
    Xdp { several_buffers: bool },
    /// Where traffic control sees received frames, behind XDP.
    TrafficControl,
    /// For each of the kernel's objects of one kind, when asked: the function with this number stands for the kind.
    Iterator(u32),
}

/// A loaded program.
pub(crate) struct Program(OwnedFd);

impl Program {
    /// Loads `instructions`.
    pub(crate) fn load(
        kind: ProgramKind,
        instructions: &[Instruction],
        name: &str,
    ) -> Result<Self, LoadError> {
        let code: Vec<u64> = instructions.iter().map(|i| i.encode()).collect();
        match Self::try_load(kind, &code, name, None) {
            Ok(program) => Ok(program),
            Err(source) => {
                let mut log = vec![0; VERIFIER_LOG_BYTES];
                // The program is loaded again just for the log, because asking for one always would slow every start.
                let _ = Self::try_load(kind, &code, name, Some(&mut log));
                let end = log.iter().position(|&byte| byte == 0).unwrap_or(log.len());
                let verifier_log = String::from_utf8_lossy(&log[..end]).into_owned();
                Err(LoadError { source, verifier_log })
            }
        }
    }

    fn try_load(kind: ProgramKind, code: &[u64], name: &str, log: Option<&mut Vec<u8>>) -> io::Result<Self> {
        let (program_type, flags, expected_attach_type, attach_function) = match kind {
            ProgramKind::Xdp { several_buffers } => {
                let flags = if several_buffers { BPF_F_XDP_HAS_FRAGS } else { 0 };
                (BPF_PROG_TYPE_XDP, flags, BPF_ATTACH_TYPE_XDP, 0)
            }
            ProgramKind::TrafficControl => (BPF_PROG_TYPE_SCHED_CLS, 0, 0, 0),
            ProgramKind::Iterator(function) => (BPF_PROG_TYPE_TRACING, 0, BPF_ATTACH_TYPE_ITER, function),
        };
        let mut attributes = ProgramLoad {
            program_type,
            instruction_count: code.len() as u32,
            instructions: code.as_ptr() as u64,
            license: c"Dual MIT/GPL".as_ptr() as u64,
            flags,
            name: name_bytes(name),
            expected_attach_type,
            attach_function,
            ..ProgramLoad::default()
        };
        if let Some(log) = log {
            attributes.log_level = 1;
            attributes.log_size = log.len() as u32;
            attributes.log_buffer = log.as_mut_ptr() as u64;
        }
        // SAFETY: all pointers refer to live buffers of the stated sizes.
        Ok(Program(unsafe { bpf_fd(BPF_PROG_LOAD, &mut attributes)? }))
    }

    /// Runs the program once on `frame`. Returns its verdict and the resulting frame.
    pub(crate) fn test_run(&self, frame: &[u8]) -> io::Result<(u32, Vec<u8>)> {
        self.run_once(frame, None)
    }

    /// The same, as if the frame had arrived at an interface of the calling thread's network namespace.
    pub(crate) fn test_run_on(&self, interface: u32, frame: &[u8]) -> io::Result<(u32, Vec<u8>)> {
        let context = XdpContext { data_end: frame.len() as u32, interface, ..XdpContext::default() };
        self.run_once(frame, Some(&context))
    }

    fn run_once(&self, frame: &[u8], context: Option<&XdpContext>) -> io::Result<(u32, Vec<u8>)> {
        let mut output = vec![0; frame.len() + 256];
        let mut attributes = TestRun {
            program_fd: self.0.as_raw_fd() as u32,
            input_bytes: frame.len() as u32,
            output_bytes: output.len() as u32,
            input: frame.as_ptr() as u64,
            output: output.as_mut_ptr() as u64,
            repeat: 1,
            context_input_bytes: context.map_or(0, |_| size_of::<XdpContext>() as u32),
            context_input: context.map_or(0, |context| std::ptr::from_ref(context) as u64),
            ..TestRun::default()
        };
        // SAFETY: input, output and the context, if there is one, are live buffers of the stated sizes.
        unsafe { bpf(BPF_PROG_TEST_RUN, &mut attributes)? };
        output.truncate(attributes.output_bytes as usize);
        Ok((attributes.return_value, output))
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The loaded program with this id. Needs CAP_SYS_ADMIN.
fn program_by_id(id: u32) -> io::Result<OwnedFd> {
    let mut by_id = FdById { id, ..FdById::default() };
    // SAFETY: FdById is what BPF_PROG_GET_FD_BY_ID expects and holds no pointers.
    unsafe { bpf_fd(BPF_PROG_GET_FD_BY_ID, &mut by_id) }
}

/// The number by which the kernel knows a program.
#[cfg(test)]
pub(crate) fn program_id(program: &Program) -> io::Result<u32> {
    let mut info = ProgramInfo::default();
    object_info(&program.0, &mut info)?;
    Ok(info.id)
}

/// The name of the program. Needs CAP_SYS_ADMIN.
pub(crate) fn program_name(id: u32) -> io::Result<String> {
    let mut info = ProgramInfo::default();
    object_info(&program_by_id(id)?, &mut info)?;
    Ok(text(&info.name))
}

/// The words that the program with this id shares with the process that loaded it: those of the array of this name that
/// it uses ([`SharedWords`]), as they are now; `None` without such an array. Needs CAP_SYS_ADMIN.
pub(crate) fn words_of_program(id: u32, array_name: &str) -> io::Result<Option<Vec<u64>>> {
    let mut map_ids = [0_u32; PROGRAM_MAPS_MAX];
    let mut info = ProgramInfo {
        map_id_count: PROGRAM_MAPS_MAX as u32,
        map_ids: map_ids.as_mut_ptr() as u64,
        ..ProgramInfo::default()
    };
    object_info(&program_by_id(id)?, &mut info)?;
    for &map_id in map_ids.iter().take(info.map_id_count as usize) {
        let mut by_id = FdById { id: map_id, ..FdById::default() };
        // SAFETY: FdById is what BPF_MAP_GET_FD_BY_ID expects and holds no pointers.
        let map = unsafe { bpf_fd(BPF_MAP_GET_FD_BY_ID, &mut by_id)? };
        let mut map_info = MapInfo::default();
        object_info(&map, &mut map_info)?;
        if map_info.map_type != BPF_MAP_TYPE_ARRAY || text(&map_info.name) != array_name {
            continue;
        }
        let key = 0_u32;
        let mut words = vec![0_u64; (map_info.value_size as usize).div_ceil(8)];
        let mut attributes = MapElement {
            map_fd: map.as_raw_fd() as u32,
            key: (&raw const key) as u64,
            value: words.as_mut_ptr() as u64,
            ..MapElement::default()
        };
        // SAFETY: the key has the four bytes of an array's, and the kernel writes `value_size` bytes, for which
        // there is room; both outlive the call.
        unsafe { bpf(BPF_MAP_LOOKUP_ELEM, &mut attributes)? };
        return Ok(Some(words));
    }
    Ok(None)
}

/// Fills in what the kernel says about a program or a map; `T` holds the first fields of the kernel's structure.
fn object_info<T>(object: &OwnedFd, info: &mut T) -> io::Result<()> {
    let mut attributes = ObjectInfo {
        fd: object.as_raw_fd() as u32,
        info_length: size_of::<T>() as u32,
        info: std::ptr::from_mut(info) as u64,
    };
    // SAFETY: the kernel writes at most `info_length` bytes to `info`, and to the buffer of map ids, if one is named
    // there, at most as many as are said to fit.
    unsafe { bpf(BPF_OBJ_GET_INFO_BY_FD, &mut attributes)? };
    Ok(())
}

/// The text of a name as the kernel keeps it.
pub(crate) fn text(name: &[u8; NAME_BYTES]) -> String {
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(NAME_BYTES);
    String::from_utf8_lossy(&name[..end]).into_owned()
}
