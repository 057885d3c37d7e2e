//! How large programs may be.

/// Most ranks of a program.
pub const MAX_RANKS: u32 = 1 << 16;
/// Most operations of a program: four ring all-reduces of 1,024 ranks.
pub const MAX_OPERATIONS: u32 = 1 << 23;
/// Most dependencies of all operations together.
pub const MAX_DEPENDENCIES: u32 = 1 << 25;
/// Most bytes of a send. The sum over all operations fits 64 bits.
pub const MAX_SEND_BYTES: u64 = 1 << 40;
/// Longest computation: a day. The sum over all operations fits 64 bits.
pub const MAX_COMPUTE_NANOS: u64 = 86_400_000_000_000;
/// Most steps of a program.
pub const MAX_STEPS: u32 = 1 << 20;

const _: () = assert!(MAX_SEND_BYTES <= u64::MAX / MAX_OPERATIONS as u64);
