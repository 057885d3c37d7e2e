//! Agents over a real Redis: one that restarts, forgets, cannot be reached, asks for passwords and certificates, or is one of
//! many; and counters out of one that has them as a SONiC switch does. The tests start `redis-server` themselves; without it
//! they say loudly that they are skipped.

mod access;
mod bus;
mod hostile;
mod isolation;
mod llr;
mod optics;
mod pod;
mod proxy;
mod replays;
mod reports;
mod server;
mod sonic;
mod switch;
mod trouble;
mod trust;
mod world;
