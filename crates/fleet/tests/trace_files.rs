//! Trace files: what is read from them, and which of them are refused, with file, line and reason.
#![allow(clippy::unwrap_used, reason = "a file that cannot be written fails the test")]

use linkmend_diagnose::Diagnose;
use linkmend_fleet::FileError;
use linkmend_fleet::trace::{
    AuthorsTrace, LossEvent, MAX_TIME_S, Trace, TraceFile, TraceFormat, TraceParameters, read_authors,
    read_csv, write_csv,
};
use linkmend_topology::{FabricParameters, LinkId, Topology, leaf_spine};
use std::path::{Path, PathBuf};

/// A file in the authors' format, for three pods of eight ToRs: 96 + 96 links. Events begin on line 8.
const SAMPLE: &str = r#"{
  "topo_type": 3,
  "topo_params": {
    "num_pods": 3, "oversubscription": 1,
    "link_capacity": 100,
    "tors_per_pod": 8 },
  "failure_events_list": [
    [17.0, 5, 1.5e-05],
    [18, 191, 0.01], [18, 0, 1],
    [
      99, 6,
      1e-8]
  ]
}
"#;

fn file(name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).expect("the test's directory can be written");
    path
}

fn event(time_s: u64, link: u32, loss_rate: f64) -> LossEvent {
    LossEvent { time_s, link: LinkId(link), loss_rate }
}

#[test]
fn the_authors_form_is_read() {
    let AuthorsTrace { fabric, trace } =
        read_authors(&file("sample.json", SAMPLE)).expect("it is of that form");
    let expected = FabricParameters {
        pods: 3,
        tors_per_pod: 8,
        fabric_switches_per_pod: 4,
        spines_per_plane: 8,
        bits_per_second: 100_000_000_000,
    };
    assert_eq!(fabric, expected);
    assert_eq!(fabric.links(), 192);
    let events = [event(17, 5, 1.5e-5), event(18, 191, 0.01), event(19, 0, 1.0), event(99, 6, 1e-8)];
    assert_eq!(trace.events(), events);
}

#[test]
fn oversubscription_leaves_fewer_spines() {
    let text = SAMPLE.replace("\"oversubscription\": 1", "\"oversubscription\": 2.0").replace("191", "143");
    let read = read_authors(&file("oversubscribed.json", text)).expect("it is of that form");
    assert_eq!(read.fabric.spines_per_plane, 4);
    assert_eq!(read.fabric.links(), 96 + 48);
}

fn assert_refused(error: &FileError, file: &str, line: usize, reason: &str) {
    let message = error.to_string();
    assert!(message.starts_with(&format!("{file}:{line}: ")), "{message}\nis not about {file}:{line}");
    assert!(message.contains(reason), "{message}\ndoes not say: {reason}");
}

#[test]
fn what_is_wrong_with_an_authors_file_is_said_with_its_line() {
    let refusals = [
        ("\"topo_type\": 3", "\"topo_type\": 1", 2, "topo_type 1 is not 3"),
        ("\"topo_type\": 3", "\"topo_type\": \"fat\"", 2, "expected u64"),
        ("  \"topo_type\": 3,\n", "", 13, "missing field `topo_type`"),
        ("\"num_pods\": 3", "\"num_pods\": 0", 4, "num_pods 0"),
        ("\"num_pods\": 3", "\"num_pods\": -3", 4, "integer `-3`"),
        ("\"num_pods\": 3", "\"num_pods\": 65537", 4, "num_pods 65537"),
        ("\"oversubscription\": 1", "\"oversubscription\": 0.5", 4, "oversubscription 0.5"),
        ("\"oversubscription\": 1", "\"oversubscription\": 9", 4, "oversubscription 9"),
        ("\"link_capacity\": 100", "\"link_capacity\": 0", 5, "link_capacity 0"),
        ("\"tors_per_pod\": 8", "\"tors_per_pod\": 5000", 6, "tors_per_pod 5000"),
        ("[17.0, 5", "[17.5, 5", 8, "time_s 17.5 is not a whole number"),
        ("[17.0, 5", "[-1, 5", 8, "time_s -1 is not a whole number"),
        ("[17.0, 5", "[1e300, 5", 8, "is not a whole number"),
        ("[17.0, 5", "[1e15, 5", 8, "beyond 200 years"),
        ("[17.0, 5", "[17.0, 192", 8, "link 192 does not exist; the topology has 192 links"),
        ("[17.0, 5", "[17.0, 4294967301", 8, "link 4294967301 does not exist"),
        ("[17.0, 5", "[17.0, -1", 8, "not [time_s, link_id, loss_rate]"),
        ("[17.0, 5", "[17.0, 5, 5", 8, "not [time_s, link_id, loss_rate]"),
        ("[17.0, 5", "[5", 8, "not [time_s, link_id, loss_rate]"),
        ("[18, 0, 1]", "[18, 0, 1.001]", 9, "loss rate 1.001 is not above 0 and at most 1"),
        ("[18, 0, 1]", "[18, 0, 0]", 9, "loss rate 0 is not above 0"),
        ("[18, 0, 1]", "[18, 0, -0.1]", 9, "loss rate -0.1 is not above 0"),
        ("[18, 0, 1]", "[16, 0, 1]", 9, "time_s 16 comes after 18"),
        ("[18, 0, 1]", "{}", 9, "not [time_s, link_id, loss_rate]"),
        ("      99, 6", "      9, 6", 10, "time_s 9 comes after 18"),
        ("1e-8]", "1e-8", 14, "expected `,` or `]`"),
        (SAMPLE, "", 1, "EOF"),
        (SAMPLE, "time_s,link,loss_rate\n", 1, "expected"),
    ];
    for (number, (from, to, line, reason)) in refusals.into_iter().enumerate() {
        assert!(SAMPLE.contains(from));
        let path = file(&format!("refused{number}.json"), SAMPLE.replacen(from, to, 1));
        let error = read_authors(&path).expect_err(reason);
        assert_refused(&error, &path.display().to_string(), line, reason);
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = read_authors(Path::new("no/such/trace.json")).expect_err("it is not there");
    assert!(matches!(error, FileError::Io { .. }));
    assert!(error.to_string().starts_with("no/such/trace.json: "), "{error}");
}

#[test]
fn csv_is_read_as_it_was_written() {
    let topology = FabricParameters { pods: 5, ..FabricParameters::PAPER }.build().expect("in range");
    let mut trace = TraceParameters { mttf_hours: 1000.0, ..TraceParameters::paper(1) }.generate(&topology);
    let mut events = trace.events().to_vec();
    events.insert(0, event(0, 0, f64::MIN_POSITIVE));
    events.push(event(40_000_000, 1919, 1.0));
    trace = Trace::new(events);
    let mut bytes = Vec::new();
    write_csv(&trace, &topology, &mut bytes).expect("memory can be written");
    let read = read_csv(bytes.as_slice(), "trace.csv", &topology).expect("it is of that form");
    assert_eq!(read, trace);
    let text = String::from_utf8(bytes).expect("it is text");
    let (network, lines) = text.split_once('\n').expect("the network is on a line of its own");
    let spaced = lines.replace(',', " , ").replace('\n', "\r\n\r\n").replacen(" , ", ",", 2);
    assert_eq!(read_csv(spaced.as_bytes(), "trace.csv", &topology).expect("spaces are fine"), trace);
    assert_eq!(network, format!("# network: {topology}"));
}

#[test]
fn a_csv_for_another_network_is_refused() {
    let text = format!("# network: {}\ntime_s,link,loss_rate\n5,0,1e-3\n", two_links());
    assert!(read_csv(text.as_bytes(), "trace.csv", &two_links()).is_ok());
    let other = leaf_spine(2, 2, 1).expect("in range");
    let error = read_csv(text.as_bytes(), "trace.csv", &other).expect_err("another network");
    assert_refused(&error, "trace.csv", 1, "made for another network: leaf-spine:leaves=1,spines=2");
}

/// Whatever its name: the first bytes say what it is.
#[test]
fn parquet_is_refused_with_how_to_convert_it() {
    for name in ["year.parquet", "year.csv"] {
        let path = file(name, b"PAR1\x15\x04PAR1");
        let error = TraceFile::open(&path).unwrap().for_network(&two_links()).expect_err("it is Parquet");
        assert_eq!(error.to_string(), format!("{} is Parquet, but traces are read as CSV", path.display()));
        let hint = error.hint().unwrap_or_default();
        assert!(
            hint.contains(&format!("duckdb -c \"COPY (FROM '{}') TO 'trace.csv'\"", path.display())),
            "{hint}"
        );
    }
}

fn two_links() -> Topology {
    leaf_spine(1, 2, 100_000_000_000).expect("in range")
}

#[test]
fn events_of_a_csv_that_share_a_second_move_on() {
    let text = "time_s,link,loss_rate\n5,0,1e-3\n5,1,0.5\n6,1,1\n";
    let trace = read_csv(text.as_bytes(), "trace.csv", &two_links()).expect("it is of that form");
    assert_eq!(trace.events(), [event(5, 0, 1e-3), event(6, 1, 0.5), event(7, 1, 1.0)]);
}

#[test]
fn what_is_wrong_with_a_csv_is_said_with_its_line() {
    let refusals = [
        ("", 1, "the first line is not time_s,link,loss_rate"),
        ("1,1,0.5\n", 1, "the first line is not time_s,link,loss_rate"),
        ("time_s,link,loss_rate\n1,1\n", 2, "2 fields"),
        ("time_s,link,loss_rate\n\n1,1,0.5,7\n", 3, "4 fields"),
        ("time_s,link,loss_rate\n1,0,0.5\n1.5,1,0.5\n", 3, "time_s 1.5 is not a whole number"),
        ("time_s,link,loss_rate\n-1,1,0.5\n", 2, "time_s -1 is not a whole number"),
        ("time_s,link,loss_rate\n99999999999,1,0.5\n", 2, "beyond 200 years"),
        ("time_s,link,loss_rate\n1,x,0.5\n", 2, "link x is not a link number"),
        ("time_s,link,loss_rate\n1,2,0.5\n", 2, "link 2 does not exist; the topology has 2 links"),
        ("time_s,link,loss_rate\n1,1,much\n", 2, "loss rate much is not a number"),
        ("time_s,link,loss_rate\n1,1,0\n", 2, "loss rate 0 is not above 0"),
        ("time_s,link,loss_rate\n1,1,NaN\n", 2, "loss rate NaN is not above 0"),
        ("time_s,link,loss_rate\n1,1,inf\n", 2, "loss rate inf is not above 0"),
        ("time_s,link,loss_rate\n1,1,1.1\n", 2, "loss rate 1.1 is not above 0"),
        ("time_s,link,loss_rate\n5,1,0.1\n4,1,0.1\n", 3, "time_s 4 comes after 5"),
    ];
    for (text, line, reason) in refusals {
        let error = read_csv(text.as_bytes(), "dir/trace.csv", &two_links()).expect_err(reason);
        assert_refused(&error, "dir/trace.csv", line, reason);
    }
}

#[test]
fn bytes_that_are_no_text_are_refused_with_their_line() {
    let error = read_csv(&b"time_s,link,loss_rate\n1,1,0.5\n\xff\n"[..], "trace.csv", &two_links())
        .expect_err("no text");
    assert_refused(&error, "trace.csv", 3, "UTF-8");
    let path = file("bytes.json", b"{\n\"topo_type\": 3,\n\xff}");
    let error = read_authors(&path).expect_err("no text");
    assert_refused(&error, &path.display().to_string(), 3, "UTF-8");
}

/// The reason must not contain a second position, which would count from the start of the event.
#[test]
fn a_refused_event_has_one_position() {
    let path = file("position.json", SAMPLE.replace("[17.0, 5", "[17.0, -1"));
    let message = read_authors(&path).expect_err("links begin at 0").to_string();
    assert!(!message.contains("line 1"), "{message}");
    let message = read_authors(&file("empty.json", "")).expect_err("it is empty").to_string();
    assert!(message.ends_with(":1: EOF while parsing a value"), "{message}");
}

/// Events that share the last second of 200 years must not move beyond it, because the written file would be refused.
#[test]
fn events_that_would_move_beyond_200_years_are_refused() {
    let text = |events: &str| format!("time_s,link,loss_rate\n{events}");
    let last = format!("{MAX_TIME_S},0,0.5\n");
    assert!(read_csv(text(&last).as_bytes(), "trace.csv", &two_links()).is_ok());
    let twice = text(&[&last[..], &last[..]].concat());
    let error = read_csv(twice.as_bytes(), "trace.csv", &two_links()).expect_err("no second is free");
    assert_refused(&error, "trace.csv", 3, "is taken");
}

/// Links without capacity are refused, because shares of capacity are divided by it.
#[test]
fn an_authors_file_of_links_without_capacity_is_refused() {
    let path = file("slow.json", SAMPLE.replace("\"link_capacity\": 100", "\"link_capacity\": 1e-10"));
    let error = read_authors(&path).expect_err("it rounds to nothing");
    assert_refused(&error, &path.display().to_string(), 5, "link_capacity 0.0000000001");
}

/// Two hundred bytes must not describe a network that takes 100 GB.
#[test]
fn an_authors_file_of_a_network_beyond_the_limit_is_refused() {
    let larger = SAMPLE.replace("\"num_pods\": 3", "\"num_pods\": 65536");
    let path = file("large.json", larger.replace("\"tors_per_pod\": 8", "\"tors_per_pod\": 4096"));
    let error = read_authors(&path).expect_err("2^31 links");
    assert_refused(&error, &path.display().to_string(), 4, "2147483648 links; at most 10000000");
}

#[test]
fn the_end_of_a_file_s_name_says_its_format() {
    for (name, format) in
        [("year.json", TraceFormat::Authors), ("year.csv", TraceFormat::Csv), ("year", TraceFormat::Csv)]
    {
        assert_eq!(TraceFormat::from_path(Path::new(name)), format, "{name}");
    }
}

#[test]
fn a_trace_that_is_written_is_opened_again_as_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let topology = leaf_spine(4, 4, 100_000_000_000).unwrap();
    let trace = TraceParameters { mttf_hours: 500.0, ..TraceParameters::paper(1) }.generate(&topology);
    assert!(!trace.events().is_empty());
    let path = directory.path().join("a.csv");
    write_csv(&trace, &topology, &mut std::fs::File::create(&path).unwrap()).unwrap();
    let file = TraceFile::open(&path).unwrap();
    assert_eq!(file.fabric(), None);
    assert_eq!(file.for_network(&topology).unwrap(), trace);
    let missing = TraceFile::open(&directory.path().join("none.csv")).unwrap().for_network(&topology);
    assert!(matches!(missing, Err(FileError::Io { .. })), "{missing:?}");
}

#[test]
fn a_trace_that_brings_its_network_is_for_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("authors.json");
    let text = r#"{"topo_type": 3, "topo_params": {"num_pods": 2, "oversubscription": 1.0, "link_capacity": 100,
        "tors_per_pod": 4}, "failure_events_list": [[5, 1, 0.001]]}"#;
    std::fs::write(&path, text).unwrap();
    let file = || TraceFile::open(&path).unwrap();
    let own = file().fabric().unwrap();
    assert_eq!(file().for_network(&own.build().unwrap()).unwrap().events().len(), 1);
    let other = file().for_network(&FabricParameters { pods: 3, ..own }.build().unwrap()).unwrap_err();
    assert!(other.to_string().contains("was made for another network: facebook-fabric:pods=2"), "{other}");
    assert_eq!(other.hint().as_deref(), Some("omit --topology to use the trace's own network"));
}
