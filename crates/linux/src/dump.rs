//! What the kernel has of something when it is asked for all of it at once.

/// All that the kernel has of something, such as the interfaces of a network namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dump<Answer> {
    /// In the kernel's order.
    pub answers: Vec<Answer>,
    /// Whether nothing came or went while the kernel went through them. Without, each answer is right for itself, but
    /// one can be missing, or there twice (`NLM_F_DUMP_INTR` in `linux/netlink.h`).
    pub consistent: bool,
}
