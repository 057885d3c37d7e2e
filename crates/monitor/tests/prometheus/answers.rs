//! Servers that are no Prometheus, or a broken one.

use super::pages::Pages;
use super::programs::settings;
use linkmend_monitor::counters::Reading;
use linkmend_monitor::source::{PrometheusSource, Source, SourceError};
use std::time::{Duration, Instant};

fn poll(pages: &Pages) -> Result<Vec<(String, Reading)>, SourceError> {
    PrometheusSource::new(&settings(pages.port, "linkmend", "")).expect("usable").poll()
}

/// The error of a poll, with its hint.
fn refusal(pages: &Pages) -> String {
    let error = poll(pages).expect_err("refused");
    format!("{error}; {}", error.hint.clone().expect("a hint"))
}

fn samples(samples: &str) -> String {
    format!(r#"{{"status":"success","data":{{"resultType":"vector","result":[{samples}]}}}}"#)
}

#[test]
fn what_is_no_answer_is_an_error_with_a_hint() {
    let pages = Pages::new();
    let right = samples(r#"{"metric":{"link":"uplink"},"value":[1764000000.123,"7"]}"#);
    for (status, text, part) in [
        (500, "", "HTTP status 500; check the address"),
        (404, "404 page not found", "HTTP status 404; check the address"),
        (302, "", "HTTP status 302"),
        (503, r#"{"status":"error","error":"too\nbusy"}"#, "HTTP status 503: too\\nbusy"),
        (200, "", "something other than samples"),
        (200, "<html>", "something other than samples"),
        (200, &right[..right.len() - 9], "something other than samples"),
        (200, r#"{"status":"success"}"#, "HTTP status 200"),
        (200, r#"{"status":"success","data":{"resultType":"scalar","result":[1,"2"]}}"#, "something other"),
        (200, &samples(r#"{"metric":{"link":7},"value":[1,"2"]}"#), "something other than samples"),
        (200, &samples(r#"{"metric":{},"value":[1,2]}"#), "something other than samples"),
        (200, &samples(""), "returns no series"),
        (
            200,
            &samples(r#"{"metric":{"device":"eth0"},"value":[1,"2"]}"#),
            "frames cannot be read for any port",
        ),
        (200, &samples(r#"{"metric":{"link":"a b"},"value":[1,"2"]}"#), "frames cannot be read for any port"),
    ] {
        pages.show(status, text);
        let error = refusal(&pages);
        assert!(error.contains(part), "{status} {text}: {error}");
    }
    let long = format!(r#"{{"status":"error","error":"{}"}}"#, "a".repeat(10_000));
    pages.show(400, &long);
    assert!(refusal(&pages).len() < 1_000);
    pages.show(200, &right);
    let readings = poll(&pages).expect("it is right");
    assert_eq!((readings[0].0.as_str(), readings[0].1.good_frames), ("uplink", 7));
    // What comes later is evaluated at the moment of what came first.
    let requests = pages.requests();
    let (last, before) = requests.split_last().expect("some");
    assert!(last.contains("time=1764000000.123"), "{last}");
    assert!(before.last().is_some_and(|first| !first.contains("time=")), "{before:?}");
}

#[test]
fn an_answer_that_breaks_off_or_does_not_end_is_an_error() {
    let pages = Pages::new();
    pages.answer_with(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{\"status\"".to_vec());
    assert!(refusal(&pages).contains("cannot query"));
    pages.answer_with(b"\x00\xff\r\n\r\n".to_vec());
    assert!(refusal(&pages).contains("cannot query"));
    let mut long = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n".to_vec();
    long.resize(100 << 20, b' ');
    pages.answer_with(long);
    assert!(refusal(&pages).contains("select fewer ports with the filter"));
    let mut headers = b"HTTP/1.1 200 OK\r\nX: ".to_vec();
    headers.resize(10 << 20, b'x');
    pages.answer_with(headers);
    assert!(refusal(&pages).contains("cannot query"));
}

#[test]
fn a_server_that_says_nothing_is_not_waited_for() {
    let pages = Pages::new();
    let begun = Instant::now();
    assert!(refusal(&pages).contains("timeout"));
    let waited = begun.elapsed();
    assert!(waited > Duration::from_millis(1_900) && waited < Duration::from_secs(4), "{waited:?}");
}
