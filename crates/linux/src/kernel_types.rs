//! Where the running kernel keeps the members of its structures: its own type information (BTF, `linux/btf.h`).
//!
//! Only member offsets and the numbers of functions are read. The one library for this format has a licence that ours
//! cannot include.

use std::{fs, io};

/// Where the kernel offers its type information.
const KERNEL_BTF: &str = "/sys/kernel/btf/vmlinux";
/// More than any kernel has; a file beyond it is not read.
const BTF_BYTES_MAX: u64 = 64 << 20;
const MAGIC: u16 = 0xeb9f;
/// Structures within structures that are searched for a member.
const DEPTH_MAX: u32 = 8;

const KIND_INT: u32 = 1;
const KIND_ARRAY: u32 = 3;
const KIND_STRUCT: u32 = 4;
const KIND_UNION: u32 = 5;
const KIND_ENUM: u32 = 6;
const KIND_FUNC: u32 = 12;
const KIND_FUNC_PROTO: u32 = 13;
const KIND_VAR: u32 = 14;
const KIND_DATASEC: u32 = 15;
const KIND_DECL_TAG: u32 = 17;
const KIND_ENUM64: u32 = 19;
const KIND_LAST: u32 = KIND_ENUM64;

/// The types of a kernel.
#[derive(Debug)]
pub struct KernelTypes {
    types: Vec<u8>,
    strings: Vec<u8>,
    /// Where each type begins in `types`; type 1 is the first.
    begins: Vec<usize>,
}

/// One type: its words, and where what belongs to its kind begins.
#[derive(Debug, Clone, Copy)]
struct Type {
    name: usize,
    info: u32,
    rest: usize,
}

impl Type {
    fn kind(self) -> u32 {
        self.info >> 24 & 0x1f
    }

    fn members(self) -> usize {
        (self.info & 0xffff) as usize
    }

    /// Bytes behind the first three words.
    fn rest_bytes(self) -> usize {
        match self.kind() {
            KIND_INT | KIND_VAR | KIND_DECL_TAG => 4,
            KIND_ARRAY => 12,
            KIND_STRUCT | KIND_UNION | KIND_DATASEC | KIND_ENUM64 => 12 * self.members(),
            KIND_ENUM | KIND_FUNC_PROTO => 8 * self.members(),
            _ => 0,
        }
    }
}

impl KernelTypes {
    /// Reads the types of the running kernel.
    ///
    /// # Errors
    /// If the kernel offers none, or they make no sense.
    pub fn read() -> io::Result<KernelTypes> {
        let bytes = fs::metadata(KERNEL_BTF)?.len();
        if bytes > BTF_BYTES_MAX {
            return Err(io::Error::other(format!("{KERNEL_BTF} has {bytes} bytes")));
        }
        KernelTypes::parse(&fs::read(KERNEL_BTF)?).ok_or_else(|| {
            io::Error::other(format!(
                "{KERNEL_BTF} has a format that this program does not \
             understand"
            ))
        })
    }

    /// Reads types; `None` if the bytes are none.
    pub fn parse(bytes: &[u8]) -> Option<KernelTypes> {
        let half = |at: usize| Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
        if half(0)? != MAGIC {
            return None;
        }
        let header = word(bytes, 4)? as usize;
        let section = |at: usize| {
            let begin = header.checked_add(word(bytes, at)? as usize)?;
            let end = begin.checked_add(word(bytes, at + 4)? as usize)?;
            Some(bytes.get(begin..end)?.to_vec())
        };
        let (types, strings) = (section(8)?, section(16)?);
        let mut begins = Vec::new();
        let mut at = 0;
        while at < types.len() {
            let (found, next) = read_type(&types, at)?;
            if found.kind() > KIND_LAST || next > types.len() {
                return None;
            }
            begins.push(at);
            at = next;
        }
        Some(KernelTypes { types, strings, begins })
    }

    /// How many bytes behind the beginning of a structure one of its members is, also if that is part of a structure
    /// without a name. `None` if there is no such thing, or it is a bit field.
    pub fn member_offset(&self, structure: &str, member: &str) -> Option<u32> {
        let id = (1..=self.begins.len()).find(|&id| {
            self.get(id)
                .is_some_and(|found| found.kind() == KIND_STRUCT && self.is_named(found.name, structure))
        })?;
        let bits = self.member_bits(id, member, DEPTH_MAX)?;
        (bits % 8 == 0).then_some(bits / 8)
    }

    /// The number by which the kernel knows the type of one of its functions. `None` if there is no such function.
    pub fn function_id(&self, function: &str) -> Option<u32> {
        let is_it = |found: Type| found.kind() == KIND_FUNC && self.is_named(found.name, function);
        let id = (1..=self.begins.len()).find(|&id| self.get(id).is_some_and(is_it))?;
        u32::try_from(id).ok()
    }

    fn member_bits(&self, id: usize, member: &str, depth: u32) -> Option<u32> {
        let found = self.get(id)?;
        if !matches!(found.kind(), KIND_STRUCT | KIND_UNION) || depth == 0 {
            return None;
        }
        (0..found.members()).find_map(|index| {
            let at = found.rest + 12 * index;
            let (name, of) = (word(&self.types, at)? as usize, word(&self.types, at + 4)? as usize);
            let mut bits = word(&self.types, at + 8)?;
            if found.info >> 31 == 1 {
                // The upper byte is the width of a bit field.
                bits = if bits >> 24 == 0 || name == 0 { bits & 0xff_ffff } else { return None };
            }
            if self.is_named(name, member) {
                return Some(bits);
            }
            let is_anonymous = self.is_named(name, "");
            if is_anonymous { bits.checked_add(self.member_bits(of, member, depth - 1)?) } else { None }
        })
    }

    fn get(&self, id: usize) -> Option<Type> {
        let at = *self.begins.get(id.checked_sub(1)?)?;
        read_type(&self.types, at).map(|(found, _)| found)
    }

    fn is_named(&self, at: usize, name: &str) -> bool {
        self.strings
            .get(at..)
            .is_some_and(|rest| rest.starts_with(name.as_bytes()) && rest.get(name.len()) == Some(&0))
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

/// The type at `at`, and where the next one begins.
fn read_type(types: &[u8], at: usize) -> Option<(Type, usize)> {
    let found = Type { name: word(types, at)? as usize, info: word(types, at + 4)?, rest: at + 12 };
    Some((found, found.rest + found.rest_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `struct outer { int a; struct { int b; union { int c; int d:3; }; }; }`, and `int`.
    fn example() -> Vec<u8> {
        let strings = b"\0outer\0a\0b\0c\0d\0int\0";
        let name = |text: &str| {
            let mut wanted = text.as_bytes().to_vec();
            wanted.push(0);
            let at = strings.windows(wanted.len()).position(|window| window == wanted);
            u32::try_from(at.expect("a name of the example")).expect("short")
        };
        let structure = |kind: u32, flag: u32, members: u32| flag << 31 | kind << 24 | members;
        let types = [
            // 1: int
            vec![name("int"), KIND_INT << 24, 4, 32],
            // 2: outer
            vec![name("outer"), structure(KIND_STRUCT, 0, 2), 16, name("a"), 1, 0, 0, 3, 64],
            // 3: the structure without a name
            vec![0, structure(KIND_STRUCT, 0, 2), 8, name("b"), 1, 0, 0, 4, 32],
            // 4: the union without a name, with a bit field
            vec![0, structure(KIND_UNION, 1, 2), 4, name("c"), 1, 0, name("d"), 1, 3 << 24],
        ]
        .concat();
        let bytes = |words: &[u32]| words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>();
        let length = 4 * types.len() as u32;
        let mut file = MAGIC.to_ne_bytes().to_vec();
        file.extend([1, 0]);
        file.extend(bytes(&[24, 0, length, length, strings.len() as u32]));
        file.extend(bytes(&types));
        file.extend(strings);
        file
    }

    #[test]
    fn members_are_found_within_structures_without_a_name() {
        let types = KernelTypes::parse(&example()).expect("the example");
        let offset = |member| types.member_offset("outer", member);
        assert_eq!((offset("a"), offset("b"), offset("c")), (Some(0), Some(8), Some(12)));
        assert_eq!((offset("d"), offset("e"), types.member_offset("inner", "a")), (None, None, None));
    }

    #[test]
    fn whatever_is_cut_off_or_changed_is_refused_or_read_without_harm() {
        let whole = example();
        for length in 0..whole.len() {
            let _ = KernelTypes::parse(&whole[..length]).map(|types| types.member_offset("outer", "c"));
        }
        for at in 0..whole.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut changed = whole.clone();
                changed[at] = value;
                let _ = KernelTypes::parse(&changed).map(|types| types.member_offset("outer", "c"));
            }
        }
    }

    #[test]
    fn this_kernel_has_devices() {
        let Ok(types) = KernelTypes::read() else {
            eprintln!("\n######## SKIPPED: this_kernel_has_devices needs a kernel with BTF ########\n");
            return;
        };
        assert!(types.member_offset("net_device", "ifindex").is_some_and(|offset| offset > 0));
        assert!(types.member_offset("net_device", "state").is_some());
        assert!(types.function_id("bpf_iter_bpf_prog").is_some_and(|id| id > 0));
        assert_eq!(types.function_id("net_device"), None, "a structure is no function");
    }
}
