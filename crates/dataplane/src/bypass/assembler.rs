//! A small typed assembler for eBPF: registers, jumps to labels, nothing else.
//!
//! The bypass program has some hundred instructions. Written in this way it is part of the ordinary build, which needs
//! neither a C compiler nor an object file.

use crate::sys::bpf::Instruction;
use std::os::fd::{AsRawFd, BorrowedFd};

/// A register of the eBPF machine. `R0` returns a value, `R1`..`R5` pass arguments and are lost in calls, `R6`..`R9`
/// survive calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Register {
    R0,
    R1,
    R2,
    R3,
    R4,
    R5,
    R6,
    R7,
    R8,
    R9,
    /// End of the stack frame; reached with negative offsets.
    R10,
}

/// Width of a memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    Byte,
    Half,
    Word,
    Double,
}

impl Width {
    fn code(self) -> u8 {
        match self {
            Width::Word => 0x00,
            Width::Half => 0x08,
            Width::Byte => 0x10,
            Width::Double => 0x18,
        }
    }
}

/// Unsigned comparison of a conditional jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    Equal,
    NotEqual,
    Greater,
    /// Some bit of the operand is set.
    AnyBit,
}

impl Condition {
    fn code(self) -> u8 {
        match self {
            Condition::Equal => 0x10,
            Condition::Greater => 0x20,
            Condition::AnyBit => 0x40,
            Condition::NotEqual => 0x50,
        }
    }
}

/// Arithmetic on 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Add,
    Sub,
    And,
    ShiftRight,
    Move,
}

impl Operation {
    fn code(self) -> u8 {
        match self {
            Operation::Add => 0x00,
            Operation::Sub => 0x10,
            Operation::And => 0x50,
            Operation::ShiftRight => 0x70,
            Operation::Move => 0xb0,
        }
    }
}

const CLASS_LD_IMM64: u8 = 0x18;
const CLASS_LDX_MEM: u8 = 0x61;
const CLASS_STX_MEM: u8 = 0x63;
const CLASS_STX_ATOMIC: u8 = 0xc3;
const CLASS_ALU64: u8 = 0x07;
const CLASS_JMP: u8 = 0x05;
const SOURCE_REGISTER: u8 = 0x08;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
const PSEUDO_MAP_FD: u8 = 1;
const PSEUDO_MAP_VALUE: u8 = 2;

/// A place in the program, bound once, to which any instruction may jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label(usize);

/// A mistake in the program that is being assembled, and so in our own source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AssembleError {
    #[error("instruction {at} jumps to a label that was never bound")]
    UnboundLabel { at: usize },
    #[error("instruction {at} jumps farther than 32767 instructions")]
    JumpTooFar { at: usize },
}

/// Collects instructions; [`Assembler::finish`] resolves the jumps.
#[derive(Default)]
pub(crate) struct Assembler {
    instructions: Vec<Instruction>,
    labels: Vec<Option<usize>>,
    jumps: Vec<(usize, Label)>,
}

impl Assembler {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// A label to be bound later.
    pub(crate) fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Binds `label` to the next instruction.
    pub(crate) fn bind(&mut self, label: Label) {
        assert!(self.labels[label.0].is_none(), "label bound twice");
        self.labels[label.0] = Some(self.instructions.len());
    }

    /// `destination = destination <operation> value`
    pub(crate) fn immediate(&mut self, operation: Operation, destination: Register, value: i32) {
        let code = CLASS_ALU64 | operation.code();
        self.push(code, destination as u8, 0, 0, value);
    }

    /// `destination = destination <operation> source`
    pub(crate) fn register(&mut self, operation: Operation, destination: Register, source: Register) {
        let code = CLASS_ALU64 | operation.code() | SOURCE_REGISTER;
        self.push(code, destination as u8, source as u8, 0, 0);
    }

    /// `destination = *(base + offset)`, zero-extended.
    pub(crate) fn load(&mut self, width: Width, destination: Register, base: Register, offset: i16) {
        let code = CLASS_LDX_MEM | width.code();
        self.push(code, destination as u8, base as u8, offset, 0);
    }

    /// `*(base + offset) = source`
    pub(crate) fn store(&mut self, width: Width, base: Register, offset: i16, source: Register) {
        let code = CLASS_STX_MEM | width.code();
        self.push(code, base as u8, source as u8, offset, 0);
    }

    /// `*(base + offset) += source`, atomically, 64 bits.
    pub(crate) fn atomic_add(&mut self, base: Register, offset: i16, source: Register) {
        let code = CLASS_STX_ATOMIC | Width::Double.code();
        self.push(code, base as u8, source as u8, offset, 0);
    }

    /// `destination = the map`, for helpers that take one.
    pub(crate) fn load_map(&mut self, destination: Register, map: BorrowedFd<'_>) {
        self.load_pseudo(PSEUDO_MAP_FD, destination, map);
    }

    /// `destination = address of the value of entry 0` of an array map.
    pub(crate) fn load_map_value(&mut self, destination: Register, map: BorrowedFd<'_>) {
        self.load_pseudo(PSEUDO_MAP_VALUE, destination, map);
    }

    fn load_pseudo(&mut self, kind: u8, destination: Register, map: BorrowedFd<'_>) {
        let register = destination as u8;
        self.push(CLASS_LD_IMM64, register, kind, 0, map.as_raw_fd());
        self.push(0, 0, 0, 0, 0);
    }

    /// Continues at `label`.
    pub(crate) fn jump(&mut self, label: Label) {
        self.jumps.push((self.instructions.len(), label));
        self.push(CLASS_JMP, 0, 0, 0, 0);
    }

    /// Continues at `label` if `left <condition> right`.
    pub(crate) fn jump_if(&mut self, left: Register, condition: Condition, right: i32, label: Label) {
        self.jumps.push((self.instructions.len(), label));
        let code = CLASS_JMP | condition.code();
        self.push(code, left as u8, 0, 0, right);
    }

    /// Like [`Assembler::jump_if`], but compares two registers.
    pub(crate) fn jump_if_register(
        &mut self,
        left: Register,
        condition: Condition,
        right: Register,
        label: Label,
    ) {
        self.jumps.push((self.instructions.len(), label));
        let code = CLASS_JMP | condition.code() | SOURCE_REGISTER;
        self.push(code, left as u8, right as u8, 0, 0);
    }

    /// Calls a kernel helper by its number.
    pub(crate) fn call(&mut self, helper: i32) {
        self.push(CALL, 0, 0, 0, helper);
    }

    /// Ends the program with the verdict in `R0`.
    pub(crate) fn exit(&mut self) {
        self.push(EXIT, 0, 0, 0, 0);
    }

    /// The finished program.
    pub(crate) fn finish(mut self) -> Result<Vec<Instruction>, AssembleError> {
        for (at, label) in self.jumps {
            let target = self.labels[label.0].ok_or(AssembleError::UnboundLabel { at })?;
            // Jumps count from the instruction after them.
            let distance = target as i64 - at as i64 - 1;
            self.instructions[at].offset =
                i16::try_from(distance).map_err(|_| AssembleError::JumpTooFar { at })?;
        }
        Ok(self.instructions)
    }

    fn push(&mut self, code: u8, destination: u8, source: u8, offset: i16, immediate: i32) {
        self.instructions.push(Instruction { code, destination, source, offset, immediate });
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails where something is missing")]

    use super::Register::{R0, R1, R2, R3};
    use super::*;

    fn bytes(instruction: Instruction) -> [u8; 8] {
        instruction.encode().to_ne_bytes()
    }

    /// Encodings as printed by other assemblers (RFC 9669, instruction set).
    #[test]
    #[cfg(target_endian = "little")]
    fn instructions_are_encoded_as_in_the_standard() {
        let mut code = Assembler::new();
        code.immediate(Operation::Move, R0, 2);
        code.register(Operation::Add, R1, R2);
        code.load(Width::Half, R3, R1, 12);
        code.store(Width::Double, R1, -8, R2);
        code.atomic_add(R1, 16, R2);
        code.call(51);
        code.exit();
        let code: Vec<_> = code.finish().unwrap().into_iter().map(bytes).collect();
        assert_eq!(code[0], [0xb7, 0, 0, 0, 2, 0, 0, 0]);
        assert_eq!(code[1], [0x0f, 0x21, 0, 0, 0, 0, 0, 0]);
        assert_eq!(code[2], [0x69, 0x13, 12, 0, 0, 0, 0, 0]);
        assert_eq!(code[3], [0x7b, 0x21, 0xf8, 0xff, 0, 0, 0, 0]);
        assert_eq!(code[4], [0xdb, 0x21, 16, 0, 0, 0, 0, 0]);
        assert_eq!(code[5], [0x85, 0, 0, 0, 51, 0, 0, 0]);
        assert_eq!(code[6], [0x95, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn jumps_reach_labels_before_and_behind_them() {
        let mut code = Assembler::new();
        let (start, end) = (code.label(), code.label());
        code.bind(start);
        code.jump_if(R1, Condition::Equal, 5, end);
        code.jump_if_register(R1, Condition::Greater, R2, start);
        code.jump(start);
        code.bind(end);
        code.exit();
        let code = code.finish().unwrap();
        assert_eq!((code[0].offset, code[0].code), (2, 0x15));
        assert_eq!((code[1].offset, code[1].code), (-2, 0x2d));
        assert_eq!((code[2].offset, code[2].code), (-3, 0x05));
    }

    #[test]
    fn jump_to_nowhere_is_an_error() {
        let mut code = Assembler::new();
        let nowhere = code.label();
        code.exit();
        code.jump(nowhere);
        let error = code.finish().unwrap_err();
        assert_eq!(error, AssembleError::UnboundLabel { at: 1 });
    }
}
