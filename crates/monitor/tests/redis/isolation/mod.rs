//! Links that are taken out of service by the configuration of SONiC switches, and brought back.

mod killing;
mod ports;

/// What such a switch has in its Redis.
const TABLES: &str = include_str!("../../data/sonic-ports.redis");
