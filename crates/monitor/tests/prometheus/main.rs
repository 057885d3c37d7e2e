//! Counters out of a real Prometheus that scrapes real exporters, and out of servers that answer badly. The tests start all of
//! them themselves; without the programs they say loudly that they are skipped.

mod alerts;
mod answers;
mod exporters;
mod pages;
mod programs;
mod series;
