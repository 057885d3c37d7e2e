//! Reliable connections over a virtual link: losses counted by hand, rules of the specification, congestion, random
//! faults, hostile packets.

mod congestion;
mod hostile;
mod losses;
mod pair;
mod random_faults;
mod reads;
mod rules;
mod selective_repeat;
