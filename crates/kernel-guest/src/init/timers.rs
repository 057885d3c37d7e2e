//! The kernel's clock and its timers: when ticks are, and how long a timeout of so many ticks takes.

use linkmend_kernel_guest::record::Record;
use linkmend_kernel_guest::scenario::TICK_NS;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};
use std::io::{self, ErrorKind, Read};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// Lengths of timers in ticks; from 63 on, the kernel's timer wheel rounds to 8 of them.
const LENGTHS: [u32; 9] = [1, 2, 3, 5, 50, 62, 63, 75, 250];
/// Phases in which each is set.
const PHASES: u64 = 16;

/// Timeouts from which the phase of the ticks is found.
const SAMPLES: u64 = 16;

/// Nanoseconds of the monotonic clock.
pub fn now() -> io::Result<u64> {
    let time = clock_gettime(ClockId::CLOCK_MONOTONIC)?;
    Ok(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

/// When the kernel's ticks are.
#[derive(Debug, Clone, Copy)]
pub struct Ticks {
    /// One of them.
    first: u64,
}

impl Ticks {
    /// Finds the ticks by timeouts, which end a few microseconds after one. The quickest to end is taken for the tick.
    pub fn find() -> io::Result<Ticks> {
        let (mut socket, _other) = UnixStream::pair()?;
        let mut first = time_out(&mut socket, 1)?.1;
        for sample in 0..SAMPLES {
            // Behind `first` by whole ticks and a little, or ahead by a little.
            let end = time_out(&mut socket, 1 + sample as u32 % 3)?.1;
            let after = (end - first) % TICK_NS;
            if after > TICK_NS / 2 {
                first -= TICK_NS - after;
            }
        }
        Ok(Ticks { first })
    }

    /// How long after a tick `at` is.
    pub fn since(self, at: u64) -> u64 {
        (at - self.first) % TICK_NS
    }

    /// Sleeps until this long after a tick, some ticks from now.
    pub fn sleep_until_phase(self, phase_ns: u64) -> io::Result<()> {
        let now = now()?;
        let at = Duration::from_nanos(now - self.since(now) + 3 * TICK_NS + phase_ns);
        clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::TIMER_ABSTIME, &at.into())?;
        Ok(())
    }
}

/// When a timeout of so many ticks was set, and when it ended.
fn time_out(socket: &mut UnixStream, ticks: u32) -> io::Result<(u64, u64)> {
    socket.set_read_timeout(Some(Duration::from_nanos(u64::from(ticks) * TICK_NS)))?;
    let start = now()?;
    match socket.read(&mut [0]) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok((start, now()?)),
        other => Err(io::Error::other(format!("a timeout of {ticks} ticks ended with {other:?}"))),
    }
}

/// Sets timers of several lengths in several phases.
pub fn measure(ticks: Ticks, records: &mut Vec<Record>) -> io::Result<()> {
    let (mut socket, _other) = UnixStream::pair()?;
    for length in LENGTHS {
        for phase in 0..PHASES {
            ticks.sleep_until_phase(phase * TICK_NS / PHASES)?;
            let (start, end) = time_out(&mut socket, length)?;
            let since_tick_ns = ticks.since(start);
            records.push(Record::Timer { ticks: length, since_tick_ns, took_ns: end - start });
        }
    }
    Ok(())
}
