//! Recorded or generated counters, from a file.

use crate::Cabling;
use crate::agent::{Agent, AgentStatus, Decision, Policy};
use crate::counters::{ERRORS_COUNTED, FecCode, FecReading, LANES_MOST, Lanes, Reading, RetryReading};
use linkmend_diagnose::{Diagnose, Fault, excerpt};
use serde::Deserialize;
use std::io::{self, Read};
use std::time::Duration;

/// Rows of a file, at most: a day of 1,000 ports.
const ROWS_MOST: u64 = 86_400_000;
/// The longest line: rows have some hundred bytes.
const LINE_BYTES_MOST: usize = 64 << 10;
/// Columns that must be there.
const COLUMNS: [&str; 4] = ["time_s", "port", "good_frames", "corrupted_frames"];

/// Why a file cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// It is not CSV of this form.
    #[error(transparent)]
    Form(#[from] csv::Error),
    /// The first line does not name what every row must have.
    #[error("the first line does not name column {column}")]
    NoColumn { column: &'static str },
    /// Time goes back.
    #[error("line {line}: {time_s} s comes after {before_s} s; rows must be in chronological order")]
    Order { line: u64, time_s: f64, before_s: f64 },
    /// No time of a poll.
    #[error("line {line}: {time_s} is not a time in seconds from 0 to 1e9")]
    Time { line: u64, time_s: f64 },
    /// Not counts of codewords by their errors.
    #[error("line {line}: codewords {codewords} are not up to {ERRORS_COUNTED} counts with `;` between them")]
    Codewords { line: u64, codewords: String },
    /// Not counts of lanes.
    #[error(
        "line {line}: lane_corrected_bits {lanes} are not 1 to {LANES_MOST} counts with `;` between them"
    )]
    Lanes { line: u64, lanes: String },
    /// A value that a column cannot have.
    #[error("line {line}: {column} = {value}: {why}")]
    Value { line: u64, column: String, value: String, why: String },
    /// There is a first line and nothing else.
    #[error("it has no rows")]
    Empty,
    /// More than anybody would wait for.
    #[error("more than {ROWS_MOST} rows")]
    TooLong,
}

impl Diagnose for RecordingError {
    fn fault(&self) -> Fault {
        Fault::Usage
    }

    fn hint(&self) -> Option<String> {
        let header = "time_s,port,good_frames,corrupted_frames";
        Some(format!(
            "the first line is {header} (and symbol_errors, not_corrupted, up as 0 or 1, carrier_changes, speed in bit/s, code as rs528, rs544 or other, epoch, corrected_codewords, uncorrectable_codewords, corrected_bits, lane_corrected_bits as 5;0;0;2, codewords as 990;9;1, llr_bad_frames, llr_nacks, llr_replays); each other is a poll of a port"
        ))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    time_s: f64,
    port: String,
    good_frames: u64,
    corrupted_frames: Option<u64>,
    #[serde(default)]
    carrier_changes: Option<u64>,
    #[serde(default)]
    speed: Option<u64>,
    #[serde(default)]
    code: Option<FecCode>,
    #[serde(default)]
    epoch: Option<u64>,
    #[serde(default)]
    up: Option<u8>,
    #[serde(default)]
    symbol_errors: Option<u64>,
    #[serde(default)]
    not_corrupted: Option<u64>,
    #[serde(default)]
    corrected_codewords: Option<u64>,
    #[serde(default)]
    uncorrectable_codewords: Option<u64>,
    #[serde(default)]
    corrected_bits: Option<u64>,
    #[serde(default)]
    lane_corrected_bits: Option<String>,
    #[serde(default)]
    codewords: Option<String>,
    #[serde(default)]
    llr_bad_frames: Option<u64>,
    #[serde(default)]
    llr_nacks: Option<u64>,
    #[serde(default)]
    llr_replays: Option<u64>,
}

impl Row {
    /// What Link Layer Retry has counted; `None` without these columns.
    fn retry(&self) -> Option<RetryReading> {
        let retry = RetryReading {
            bad_frames: self.llr_bad_frames,
            nacks: self.llr_nacks,
            replays: self.llr_replays,
        };
        (retry != RetryReading::default()).then_some(retry)
    }

    /// What forward error correction has counted; `None` without these columns.
    fn fec(&self, line: u64) -> Result<Option<FecReading>, RecordingError> {
        let wrong = |codewords: &str| RecordingError::Codewords { line, codewords: codewords.to_owned() };
        let histogram = |text: &str| -> Result<[u64; ERRORS_COUNTED], RecordingError> {
            let mut codewords = [0; ERRORS_COUNTED];
            let mut bins = codewords.iter_mut();
            for count in text.split(';') {
                let bin = bins.next().ok_or_else(|| wrong(text))?;
                *bin = count.trim().parse().map_err(|_| wrong(text))?;
            }
            Ok(codewords)
        };
        let lanes = |text: &str| {
            let counts: Option<Vec<u64>> = text.split(';').map(|count| count.trim().parse().ok()).collect();
            let wrong = || RecordingError::Lanes { line, lanes: text.to_owned() };
            counts.and_then(Lanes::new).ok_or_else(wrong)
        };
        let fec = FecReading {
            corrected_codewords: self.corrected_codewords,
            uncorrectable_codewords: self.uncorrectable_codewords,
            corrected_bits: self.corrected_bits,
            lane_corrected_bits: self.lane_corrected_bits.as_deref().map(lanes).transpose()?,
            codewords: self.codewords.as_deref().map(histogram).transpose()?,
        };
        Ok((fec != FecReading::default()).then_some(fec))
    }
}

/// Refuses a line without an end: it would be kept as a whole.
struct BoundedLines<R> {
    inner: R,
    /// Bytes since the last line began.
    length: usize,
}

impl<R: Read> Read for BoundedLines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        let read = &buffer[..count];
        self.length = match read.iter().rposition(|byte| *byte == b'\n') {
            Some(end) => count - end,
            None => self.length + count,
        };
        if self.length > LINE_BYTES_MOST {
            return Err(io::Error::other(format!("a line of it is longer than {LINE_BYTES_MOST} bytes")));
        }
        Ok(count)
    }
}

/// The polls of a file, each with its time and what all its ports had counted.
pub struct Recording<R> {
    reader: csv::Reader<BoundedLines<R>>,
    header: csv::StringRecord,
    /// The first row of the next poll.
    next: Option<(Duration, String, Reading)>,
    rows_read: u64,
    before_s: f64,
}

impl<R: Read> Recording<R> {
    /// Reads rows with the columns `time_s`, `port`, `good_frames`, `corrupted_frames` and, if there are such,
    /// the other fields of [`Reading`], [`FecReading`] and [`RetryReading`] (`llr_` before their names), of which `codewords` has how many had no error, how many one, up to
    /// 15, with `;` between them, and `lane_corrected_bits` has each lane. Rows of the same time are one poll.
    ///
    /// # Errors
    /// [`RecordingError`], if the first row cannot be read.
    pub fn new(reader: R) -> Result<Recording<R>, RecordingError> {
        let mut reader = csv::ReaderBuilder::new()
            .comment(Some(b'#'))
            .trim(csv::Trim::All)
            .from_reader(BoundedLines { inner: reader, length: 0 });
        let header = reader.headers()?.clone();
        if let Some(column) = COLUMNS.into_iter().find(|column| !header.iter().any(|name| name == *column)) {
            return Err(RecordingError::NoColumn { column });
        }
        let mut recording = Recording { reader, header, next: None, rows_read: 0, before_s: 0.0 };
        recording.next = recording.row()?;
        if recording.next.is_none() {
            return Err(RecordingError::Empty);
        }
        Ok(recording)
    }

    fn row(&mut self) -> Result<Option<(Duration, String, Reading)>, RecordingError> {
        let mut record = csv::StringRecord::new();
        if !self.reader.read_record(&mut record)? {
            return Ok(None);
        }
        let row: Row =
            record.deserialize(Some(&self.header)).map_err(|error| self.explain(error, &record))?;
        self.rows_read += 1;
        let (line, time_s) = (record.position().map_or(0, csv::Position::line), row.time_s);
        if self.rows_read > ROWS_MOST {
            return Err(RecordingError::TooLong);
        }
        if !(0.0..=1e9).contains(&time_s) {
            return Err(RecordingError::Time { line, time_s });
        }
        if time_s < self.before_s {
            return Err(RecordingError::Order { line, time_s, before_s: self.before_s });
        }
        self.before_s = time_s;
        let reading = Reading {
            good_frames: row.good_frames,
            corrupted_frames: row.corrupted_frames,
            symbol_errors: row.symbol_errors,
            not_corrupted: row.not_corrupted,
            up: row.up.map(|up| up != 0),
            carrier_changes: row.carrier_changes,
            speed: row.speed,
            code: row.code,
            epoch: row.epoch,
            taken_ns: None,
            fec: row.fec(line)?,
            retry: row.retry(),
        };
        Ok(Some((Duration::from_secs_f64(time_s), row.port, reading)))
    }

    /// Names the value that a column cannot have.
    fn explain(&self, error: csv::Error, record: &csv::StringRecord) -> RecordingError {
        let csv::ErrorKind::Deserialize { pos, err } = error.kind() else { return error.into() };
        let field = err.field().and_then(|field| usize::try_from(field).ok());
        let named = field.and_then(|field| Some((self.header.get(field)?, record.get(field)?)));
        let Some((column, value)) = named else { return error.into() };
        RecordingError::Value {
            line: pos.as_ref().map_or(0, csv::Position::line),
            column: column.to_owned(),
            value: excerpt(value, 80),
            why: err.kind().to_string(),
        }
    }

    /// The next poll: its time, and the ports with what they had counted; `None` at the end.
    ///
    /// # Errors
    /// [`RecordingError`].
    #[expect(clippy::type_complexity, reason = "a time and a list need no names of their own")]
    pub fn poll(&mut self) -> Result<Option<(Duration, Vec<(String, Reading)>)>, RecordingError> {
        let Some((now, port, reading)) = self.next.take() else { return Ok(None) };
        let mut readings = vec![(port, reading)];
        while let Some((time, port, reading)) = self.row()? {
            if time != now {
                self.next = Some((time, port, reading));
                break;
            }
            readings.push((port, reading));
        }
        Ok(Some((now, readings)))
    }
}

/// What an agent of this name would have decided, decision by decision, and how it sees its ports at the end. Nothing is
/// carried out.
///
/// # Errors
/// [`RecordingError`].
pub fn replay(
    name: &str,
    policy: Policy,
    recording: impl Read,
    mut decided: impl FnMut(&Decision),
) -> Result<AgentStatus, RecordingError> {
    let mut recording = Recording::new(recording)?;
    let mut agent = Agent::new(name, policy, Cabling::default());
    agent.handle_synchronised(Duration::ZERO);
    let mut end = Duration::ZERO;
    while let Some((now, readings)) = recording.poll()? {
        end = now;
        agent.handle_readings(now, readings);
        while let Some(decision) = agent.poll_decision() {
            decided(&decision);
        }
        while agent.poll_action().is_some() {}
    }
    Ok(agent.status(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn polls(text: &str) -> Result<Vec<(u64, usize)>, String> {
        let mut recording = Recording::new(text.as_bytes()).map_err(|error| error.to_string())?;
        let mut polls = Vec::new();
        while let Some((now, readings)) = recording.poll().map_err(|error| error.to_string())? {
            polls.push((now.as_secs(), readings.len()));
        }
        Ok(polls)
    }

    #[test]
    fn rows_of_a_time_are_one_poll() {
        let text = "time_s,port,good_frames,corrupted_frames\n# a comment\n0,a,1,0\n0,b,1,\n1,a,2,0\n";
        assert_eq!(polls(text), Ok(vec![(0, 2), (1, 1)]));
        assert_eq!(polls("time_s,port,good_frames,corrupted_frames\n"), Err("it has no rows".to_owned()));
        assert_eq!(
            polls("port,time_s,good_frames,corrupted_frames,speed\na,0,1,0,25000000000\n"),
            Ok(vec![(0, 1)])
        );
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_line() {
        let head = "time_s,port,good_frames,corrupted_frames\n";
        for (rows, part) in [
            ("1,a,1,0\n0,a,2,0\n", "line 3: 0 s comes after 1 s"),
            ("nan,a,1,0\n", "line 2: NaN is not a time"),
            ("-1,a,1,0\n", "line 2: -1 is not a time"),
            ("0,a,-1,0\n", "line 2: good_frames = -1: invalid digit"),
            ("0,a,1,1e6\n", "line 2: corrupted_frames = 1e6: "),
            ("0,a\n", "line: 2"),
        ] {
            let error = polls(&format!("{head}{rows}")).expect_err("refused");
            assert!(error.contains(part), "{rows:?}: {error}");
        }
        for (text, column) in
            [("", "time_s"), ("time_s,port,frames\n0,a,1\n", "good_frames"), ("0,a,1,0\n", "time_s")]
        {
            let error = polls(text).expect_err("refused");
            assert_eq!(error, format!("the first line does not name column {column}"));
        }
        assert!(polls("time_s,port,good_frames,corrupted_frames,x\n0,a,1,0,0\n").is_err(), "unknown column");
        let head = "time_s,port,good_frames,corrupted_frames,codewords\n";
        for codewords in ["1;x", "1;;2", "-1", "1;2;3;4;5;6;7;8;9;10;11;12;13;14;15;16;17"] {
            let error = polls(&format!("{head}0,a,1,0,{codewords}\n")).expect_err("refused");
            assert!(error.contains(&format!("line 2: codewords {codewords} are not")), "{error}");
        }
        let head = "time_s,port,good_frames,corrupted_frames,lane_corrected_bits\n";
        assert_eq!(polls(&format!("{head}0,a,1,0,5;0;0;2\n")), Ok(vec![(0, 1)]));
        for lanes in ["1;x", ";", "1;2;3;4;5;6;7;8;9"] {
            let error = polls(&format!("{head}0,a,1,0,{lanes}\n")).expect_err("refused");
            assert!(error.contains(&format!("line 2: lane_corrected_bits {lanes} are not")), "{error}");
        }
    }

    #[test]
    fn a_line_without_an_end_is_refused() {
        let endless = io::repeat(b'x');
        let error = Recording::new(endless).err().expect("refused").to_string();
        assert!(error.contains("longer than 65536 bytes"), "{error}");
    }

    /// The states of a port at the end of a recording with these columns beyond the usual, and its loss rate.
    fn judged(columns: &str, rows: impl Fn(u64) -> String) -> (String, Option<f64>) {
        let mut text = format!("time_s,port,good_frames,corrupted_frames,{columns}\n");
        (0..40).for_each(|second| text.push_str(&format!("{second},a,{}\n", rows(second))));
        let status = replay("leaf1", Policy::default(), text.as_bytes(), |_| {}).expect("a file");
        (status.ports[0].state.expect("watched").name().to_owned(), status.ports[0].loss_rate)
    }

    /// They were read, and a link that lost one of a thousand frames by them was healthy.
    #[test]
    fn frames_of_uncorrectable_codewords_are_lost() {
        let (state, rate) =
            judged("uncorrectable_codewords", |second| format!("{},0,{}", second * 999_000, second * 1_000));
        assert_eq!(state, "corrupting");
        assert!(
            (rate.expect("frames") / 1e-3 - 1.0).abs() < 0.01,
            "one frame each, where the speed is unknown: {rate:?}"
        );
        // A part of 2e-5 of all codewords, each frame having a part in 3.4 of them, however busy the link.
        for frames in [1_000_000, 8_000_000] {
            let (state, rate) = judged("speed,uncorrectable_codewords", |second| {
                format!("{},0,100000000000,{}", second * frames, second * 390)
            });
            assert_eq!(state, "corrupting");
            assert!(
                (rate.expect("frames") / 6.8e-5 - 1.0).abs() < 0.01,
                "{frames} frames a second: {rate:?}"
            );
        }
    }

    #[test]
    fn a_loss_that_codewords_and_check_sequences_show_is_counted_once() {
        for corrupted in [0, 500, 1_000] {
            let (_, rate) = judged("uncorrectable_codewords", |second| {
                format!("{},{},{}", second * 999_000, second * corrupted, second * 1_000)
            });
            assert!((rate.expect("frames") / 1e-3 - 1.0).abs() < 0.01, "{corrupted}: {rate:?}");
        }
    }

    #[test]
    fn an_idle_link_loses_few_frames_with_its_codewords() {
        let (state, rate) = judged("speed,uncorrectable_codewords", |second| {
            format!("{},0,100000000000,{}", second * 1_000, second * 390)
        });
        assert_eq!(state, "corrupting");
        assert!(rate.expect("frames") < 1e-3, "{rate:?}");
    }

    /// Decisions about a port of 100 Gbit/s whose codewords have so many errors, the same every ten seconds.
    fn decisions(policy: Policy, codewords: [u64; ERRORS_COUNTED]) -> Vec<String> {
        let mut text = "time_s,port,good_frames,corrupted_frames,speed,codewords\n".to_owned();
        for poll in 0..20 {
            let counts: Vec<String> = codewords.iter().map(|count| (count * poll).to_string()).collect();
            let (time, frames, bins) = (poll * 10, poll * 1_000_000, counts.join(";"));
            text.push_str(&format!("{time},eth0,{frames},0,100000000000,{bins}\n"));
        }
        let mut decisions = Vec::new();
        replay("leaf1", policy, text.as_bytes(), |decision| decisions.push(decision.to_string()))
            .expect("a file");
        decisions
    }

    /// Public reports of ports of 100G over four lanes of 25G, where each further error is this much less likely, up to seven.
    #[test]
    fn four_lanes_of_25g_are_told_by_their_histogram() {
        let foretold = |ratio: f64, polls: i32| {
            let mut text = "time_s,port,good_frames,corrupted_frames,speed,codewords\n".to_owned();
            for poll in 0..polls {
                let count = |errors| {
                    (1_953_125.0
                        * f64::from(poll)
                        * (1.0 - ratio)
                        * libm::pow(ratio, f64::from(errors))
                        * 100.0) as u64
                };
                let bins: Vec<String> = (0..8).map(|errors| count(errors).to_string()).collect();
                let (time, frames) = (poll * 10, poll * 1_000_000);
                text.push_str(&format!("{time},a,{frames},0,100000000000,{}\n", bins.join(";")));
            }
            let status = replay("leaf1", Policy::default(), text.as_bytes(), |_| {}).expect("a file");
            status.ports[0].expected_loss_rate.is_some()
        };
        assert!([0.15, 0.12, 0.1].into_iter().all(|ratio| foretold(ratio, 40)));
        assert!(!foretold(0.1, 8), "too few codewords with seven errors to tell the code from them");
    }

    /// Public dumps of `ethtool -S`, as if it had been counted within 20 seconds; the frames of the second are invented.
    #[test]
    fn what_adapters_have_counted_is_corruption() {
        for (frames, corrupted, symbol_errors) in
            [(15_005_729, 386, 386), (1_000_000_000, 13_147_323, 13_115_284)]
        {
            let (state, rate) = judged("symbol_errors,speed", |second| {
                let of = |count: u64| count * second.min(20) / 20;
                format!("{},{},{},100000000000", of(frames), of(corrupted), of(symbol_errors))
            });
            let rate = rate.expect("frames") / (corrupted as f64 / (frames + corrupted) as f64);
            assert!(state == "corrupting" && (rate - 1.0).abs() < 0.02, "{corrupted}: {state} {rate}");
        }
    }

    #[test]
    fn links_are_armed_before_they_lose_frames_if_that_is_wanted() {
        // Each further error is half as likely.
        let bad = std::array::from_fn(|errors| 100_000_000 >> errors);
        let told = decisions(Policy::default(), bad);
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[1].starts_with("leaf1/eth0: is expected to lose frames: "), "{told:?}");
        let armed = decisions(Policy { arm: true, ..Policy::default() }, bad);
        assert_eq!(armed[..2], told);
        assert!(
            armed[2].contains("requests protection, ordered, copies ") && armed[2].contains("early warning"),
            "{armed:?}"
        );
        assert_eq!(armed.len(), 3, "{armed:?}");
        let good = decisions(
            Policy { arm: true, ..Policy::default() },
            std::array::from_fn(|errors| 100_000_000 >> (4 * errors)),
        );
        assert_eq!(good.len(), 1, "{good:?}");
    }
}
