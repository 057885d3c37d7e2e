//! The body of a probe, which is a control frame about two paths.

use super::reader::Reader;
use super::writer::Writer;
use crate::paths::{Decision, Path, PathReport, Preference, Probe};

// Set means the backup link, or true.
const PROBE_PATH: u8 = 1 << 0;
const PROBE_ACTIVE: u8 = 1 << 1;
const PROBE_PREFERRED: u8 = 1 << 2;
const PROBE_FULL: u8 = 1 << 3;
// By path.
const PROBE_FAILS: [u8; 2] = [1 << 4, 1 << 5];
const PROBE_LOSES_FULL: [u8; 2] = [1 << 6, 1 << 7];

pub(super) fn emit(probe: &Probe, writer: &mut Writer) {
    let Probe { decision, preference, reports, .. } = *probe;
    let numbers = [
        probe.writer,
        probe.challenge,
        probe.echo,
        probe.number,
        probe.stamp_us,
        decision.number,
        probe.takes,
        preference.number,
        preference.by,
        probe.needs_ns,
        probe.interval_ns,
    ];
    for number in numbers {
        writer.put(&number.to_be_bytes());
    }
    let flag = |set: bool, bit: u8| if set { bit } else { 0 };
    let backup = |path: Path, bit: u8| flag(path == Path::Backup, bit);
    let mut flags = backup(probe.path, PROBE_PATH)
        | backup(decision.active, PROBE_ACTIVE)
        | backup(preference.path, PROBE_PREFERRED)
        | flag(probe.is_full, PROBE_FULL);
    for (path, report) in reports.iter().enumerate() {
        flags |= flag(report.fails, PROBE_FAILS[path]) | flag(report.loses_full, PROBE_LOSES_FULL[path]);
    }
    writer.put(&[flags]);
    for report in reports {
        writer.put(&report.silent_us.to_be_bytes());
        writer.put(&report.later_us.to_be_bytes());
        writer.put(&[report.lost]);
    }
}

pub(super) fn parse(reader: &mut Reader) -> Option<Probe> {
    let mut numbers = [0; 11];
    for number in &mut numbers {
        *number = reader.u32()?;
    }
    let [writer, challenge, echo, number, stamp_us, decided, takes, preferred, by, needs_ns, interval_ns] =
        numbers;
    let flags = reader.u8()?;
    let is = |bit: u8| flags & bit != 0;
    let path = |bit: u8| if is(bit) { Path::Backup } else { Path::Primary };
    let mut reports = [PathReport::default(); 2];
    for (path, report) in reports.iter_mut().enumerate() {
        *report = PathReport {
            fails: is(PROBE_FAILS[path]),
            loses_full: is(PROBE_LOSES_FULL[path]),
            silent_us: reader.u32()?,
            later_us: reader.u32()?,
            lost: reader.u8()?,
        };
    }
    Some(Probe {
        writer,
        challenge,
        echo,
        path: path(PROBE_PATH),
        is_full: is(PROBE_FULL),
        number,
        stamp_us,
        decision: Decision { number: decided, active: path(PROBE_ACTIVE) },
        takes,
        preference: Preference { number: preferred, by, path: path(PROBE_PREFERRED) },
        needs_ns,
        interval_ns,
        reports,
    })
}
