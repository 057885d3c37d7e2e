//! Connections over a virtual link: scenarios counted by hand, random faults, hostile segments.

mod adversity;
mod closing;
mod handshake;
mod hostile;
mod pair;
mod path;
mod random_faults;
mod receiving;
mod timing;
mod transfer;
