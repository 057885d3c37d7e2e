//! The linkmend binary.
fn main() {}
