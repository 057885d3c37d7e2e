//! Repair in time on paths of 20 to 200 ms that lose 1 to 25 %, beside fixed codes. docs/design/repair-in-time.md has the results;
//! `UPDATE_EXPECT=1` writes them anew.

use linkmend_quantity::{Share, Span};
use linkmend_report::{Axis, Plot, Scatter, Series, Unit};
use linkmend_sim::link::config::{ParityCode, ParityProfile};
use linkmend_sim::link::scheme::Parity;
use linkmend_sim::parameters::RunParameters;
use linkmend_sim::stress::{self, StressReport};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const FRAMES: u64 = 100_000;
const DEADLINE_MS: u64 = 150;
/// The planner's own.
const TARGET: f64 = 1e-4;
const SPEED_BITS_PER_SECOND: f64 = 100e6;
/// With preamble and gap.
const FRAME_BITS: f64 = 1538.0 * 8.0;
const LOSSES: [&str; 4] = ["1%", "5%", "10%", "25%"];
const ROUND_TRIPS_MS: [u64; 4] = [20, 50, 100, 200];

/// The usual deadline, and this code.
fn profile(code: &str) -> ParityProfile {
    ParityProfile { code: code.parse::<ParityCode>().expect("a code"), ..ParityProfile::default() }
}

/// What a run measured.
struct Row {
    residual: f64,
    late: u64,
    overhead: f64,
    p99_ms: f64,
    longest_ms: f64,
}

fn counter(report: &StressReport, name: &str) -> [u64; 2] {
    let counter = report.counters.iter().find(|counter| counter.name == name);
    counter.map(|counter| [counter.sender, counter.receiver]).unwrap_or_else(|| panic!("no {name}"))
}

fn run(loss: &str, round_trip_ms: u64, burst: Option<&str>, profile: &ParityProfile) -> Row {
    let latency = format!("{}us", 500 * round_trip_ms);
    let frames = FRAMES.to_string();
    let mut parameters = vec![
        ("scheme", "none"),
        ("speed", "100M"),
        ("egress-latency", &latency),
        ("ingress-latency", "0s"),
        ("loss", loss),
        ("frames", &frames),
    ];
    parameters.extend(burst.map(|burst| ("mean-burst", burst)));
    let config = RunParameters::default().or(&parameters).line_rate(Path::new("")).expect("usable");
    let ends = config.links[0].parity(profile).expect("usable");
    let report = stress::run_other::<Parity>(&config, &ends, &mut |_| true).expect("usable");
    assert_eq!(report.frames_sent, FRAMES);
    assert_eq!(report.frames_reordered, 0, "in order");
    let sent = counter(&report, "parity frames sent")[0] + counter(&report, "retransmitted frames")[0];
    let [_, delivered] = counter(&report, "frames delivered");
    assert_eq!(delivered + report.frames_undelivered, FRAMES, "each once");
    let milliseconds = |name: &str| counter(&report, name)[1] as f64 / 1e3;
    Row {
        residual: report.effective_loss_rate,
        late: counter(&report, "late frames")[1],
        overhead: sent as f64 / FRAMES as f64,
        p99_ms: milliseconds("99th percentile of the delay, us"),
        longest_ms: milliseconds("longest delay, us"),
    }
}

fn shown(row: &Row) -> String {
    let Row { residual, late, overhead, p99_ms, .. } = row;
    let residual = if *residual == 0.0 { "0".to_owned() } else { format!("{residual:.1e}") };
    format!("{residual} | {late} | {:.1} % | {p99_ms:.0} ms |", 100.0 * overhead)
}

#[test]
fn the_page_shows_what_is_measured() {
    let mut table = String::from(
        "\n| loss | round trip | scheme | residual loss | late frames | overhead | 99 % of delays |\n\
         | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    let mut add = |loss: &str, round_trip: u64, scheme: &str, row: &Row| {
        assert!(row.longest_ms <= DEADLINE_MS as f64 + 1.0, "{} ms", row.longest_ms);
        writeln!(table, "| {loss} | {round_trip} ms | {scheme} | {}", shown(row)).expect("memory");
    };
    let mut curves: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
    for round_trip in ROUND_TRIPS_MS {
        curves.push((format!("planned, {round_trip} ms"), Vec::new()));
    }
    curves.extend(["20:10", "10:3"].map(|code| (format!("fixed {code}"), Vec::new())));
    let share = |loss: &str| loss.trim_end_matches('%').parse::<f64>().expect("a number") / 100.0;
    for loss in LOSSES {
        for (place, round_trip) in ROUND_TRIPS_MS.into_iter().enumerate() {
            let row = run(loss, round_trip, None, &profile("planned"));
            // Before the first report, after a round trip, the sender does not know that frames are lost.
            let unreported = SPEED_BITS_PER_SECOND / FRAME_BITS * round_trip as f64 / 1e3 / FRAMES as f64;
            let bound = TARGET + share(loss) * unreported;
            assert!(row.residual <= bound, "{} at {loss}, {round_trip} ms, above {bound}", row.residual);
            curves[place].1.push((share(loss), row.overhead));
            add(loss, round_trip, "planned", &row);
        }
        for (place, code) in ["20:10", "10:3"].into_iter().enumerate() {
            let row = run(loss, 100, None, &profile(code));
            curves[ROUND_TRIPS_MS.len() + place].1.push((share(loss), row.overhead));
            add(loss, 100, &format!("fixed {code}"), &row);
        }
    }
    for loss in ["1%", "5%"] {
        for (round_trip, code) in [(20, "planned"), (100, "planned"), (100, "20:10"), (100, "10:3")] {
            let row = run(loss, round_trip, Some("8"), &profile(code));
            let name = if code == "planned" { code.to_owned() } else { format!("fixed {code}") };
            add(&format!("{loss} in bursts of 8"), round_trip, &name, &row);
        }
    }
    table.push('\n');
    let x = Axis::new("loss rate", Unit::Share).log();
    let y = Axis::new("overhead", Unit::Share).log();
    let plot =
        curves.into_iter().fold(Scatter::new("Overhead of repair in time", x, y), |plot, (name, points)| {
            plot.series(Series::joined(name, points))
        });
    check("repair-in-time.svg", |_| Plot::from(plot).to_svg());
    check("repair-in-time.md", |page| {
        let (before, rest) = page.split_once("<!-- results -->\n").expect("the beginning of the results");
        let (_, after) = rest.split_once("<!-- end -->").expect("their end");
        format!("{before}<!-- results -->\n{table}<!-- end -->{after}")
    });
}

/// Frames of each of the runs that are shown beside the programs.
const MESSAGES: u64 = 10_000;
const SEEDS: [u64; 3] = [1, 2, 3];
const MESSAGE_BYTES: f64 = 1000.0;
const HEADER_BYTES: f64 = 8.0;

/// What is not delivered in time, the overhead in bytes, and the 99th percentile of the delay: the median of the runs.
fn beside_programs(loss: &str, round_trip_ms: u64) -> String {
    let latency = format!("{}us", 500 * round_trip_ms);
    let run = |seed: u64| {
        let (frames, seed) = (MESSAGES.to_string(), seed.to_string());
        let parameters = [
            ("scheme", "parity"),
            ("speed", "20M"),
            ("frame-size", "1000B"),
            ("egress-latency", &latency),
            ("ingress-latency", "0s"),
            ("loss", loss),
            ("frames", &frames),
            ("seed", &seed),
        ];
        let config = RunParameters::default().or(&parameters).line_rate(Path::new("")).expect("usable");
        stress::run(&config, &mut |_| true).expect("usable")
    };
    let reports = SEEDS.map(run);
    let mean = |of: &dyn Fn(&StressReport) -> f64| reports.iter().map(of).sum::<f64>() / SEEDS.len() as f64;
    let missing = mean(&|report| report.frames_undelivered as f64 / MESSAGES as f64);
    let sent = |report: &StressReport, name| counter(report, name)[0] as f64 / MESSAGES as f64;
    let more = mean(&|report| sent(report, "parity frames sent") + sent(report, "retransmitted frames"));
    let overhead = (1.0 + more) * (1.0 + HEADER_BYTES / MESSAGE_BYTES) - 1.0;
    let mut delays = reports.map(|report| counter(&report, "99th percentile of the delay, us")[1]);
    delays.sort_unstable();
    let missing = if missing == 0.0 { "0".to_owned() } else { format!("{:.2} %", 100.0 * missing) };
    format!("{missing}, {:.0} %, {:.0} ms", 100.0 * overhead, delays[1] as f64 / 1e3)
}

/// The other programs were run by hand; their cells stay.
#[test]
fn the_page_shows_repair_in_time_beside_programs() {
    check("repair-in-time.md", |page| {
        let (before, rest) = page.split_once("<!-- programs -->\n").expect("the beginning of the programs");
        let (table, after) = rest.split_once("<!-- end of programs -->").expect("their end");
        let row = |line: &str| match line.split('|').map(str::trim).collect::<Vec<_>>()[..] {
            ["", loss, round_trip, speeder, kcp, _, ""] if loss.ends_with('%') => {
                let round_trip_ms = round_trip.trim_end_matches(" ms").parse().expect("a round trip");
                let ours = beside_programs(loss, round_trip_ms);
                format!("| {loss} | {round_trip} | {speeder} | {kcp} | {ours} |\n")
            }
            _ => format!("{line}\n"),
        };
        let table: String = table.lines().map(row).collect();
        format!("{before}<!-- programs -->\n{table}<!-- end of programs -->{after}")
    });
}

#[test]
fn a_deadline_that_cannot_be_met_is_refused_by_name() {
    let parameters = [("scheme", "none"), ("egress-latency", "50ms")];
    let config = RunParameters::default().or(&parameters).line_rate(Path::new("")).expect("usable");
    for (deadline_ms, expected) in [(10, "must be above the delay of the link, 50"), (2_000, "at most 1s")] {
        let deadline = Span(Duration::from_millis(deadline_ms));
        let error = config.links[0].parity(&ParityProfile { deadline, ..ParityProfile::default() });
        let error = error.expect_err("not usable").to_string();
        assert!(error.contains("deadline") && error.contains(expected), "{error}");
    }
    for text in ["20", "0:3", "200:3", "3:200", "a:b"] {
        let error = text.parse::<ParityCode>().expect_err(text).to_string();
        assert!(error.contains("20:10"), "{error}");
    }
}

#[test]
fn a_ceiling_limits_the_overhead() {
    let row = run("25%", 200, None, &ParityProfile { overhead_max: Share(0.3), ..ParityProfile::default() });
    assert!(row.overhead <= 0.31 && row.residual > 1e-4 && row.residual < 0.25, "{}", row.residual);
}

/// Compares a document with what `content` makes of it.
#[expect(clippy::disallowed_methods, reason = "it asks for the page to be written anew")]
fn check(name: &str, content: impl FnOnce(&str) -> String) {
    // Two tests write parts of one page.
    static WRITING: Mutex<()> = Mutex::new(());
    let _writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/design").join(name);
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    let expected = content(&written);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &expected).expect("it can be written");
        return;
    }
    let how = "UPDATE_EXPECT=1 cargo test -p linkmend-sim --test repair_in_time writes it anew";
    assert!(written == expected, "{}: {how}", path.display());
}
