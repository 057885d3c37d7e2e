//! Tests spellings and mistakes, and that whatever is written can be read back.

use super::*;
use std::time::Duration;

#[test]
fn spellings_and_their_values() {
    for (text, bytes) in
        [("0B", 0), ("1500B", 1500), ("100kB", 100_000), ("200 KiB", 204_800), ("1.5MiB", 1_572_864)]
    {
        assert_eq!(text.parse(), Ok(ByteSize(bytes)), "{text}");
    }
    for (text, rate) in [("25G", 25_000_000_000), ("2.5Gbit/s", 2_500_000_000), ("100_000k", 100_000_000)] {
        assert_eq!(text.parse(), Ok(BitRate(rate)), "{text}");
    }
    for (text, ns) in [("7us", 7_000), ("7µs", 7_000), ("0.5ms", 500_000), ("2min", 120_000_000_000)] {
        assert_eq!(text.parse(), Ok(Span(Duration::from_nanos(ns))), "{text}");
    }
    for (text, rate) in [("1e-3", 0.001), ("0.1%", 0.001), ("1", 1.0), ("0", 0.0)] {
        assert_eq!(text.parse(), Ok(LossRate(rate)), "{text}");
    }
}

#[test]
fn every_mistake_has_its_message() {
    let size = |text: &str| text.parse::<ByteSize>().expect_err(text).to_string();
    let cases = [
        (
            size("1000"),
            "`1000` has no unit; a size is written like `1000B`, with one of B, kB, KiB, MB, MiB, GB, GiB",
        ),
        (size("3Kib"), "`3Kib`: there is no unit `Kib` for a size; use one of B, kB, KiB, MB, MiB, GB, GiB"),
        (size("much"), "`much` is not a size; write a number and its unit, like `200KiB`"),
        (size("-1B"), "`-1B` is not a size; write a number and its unit, like `200KiB`"),
        (size(""), "`` is not a size; write a number and its unit, like `200KiB`"),
        (size("0.1B"), "`0.1B` is out of range for a size"),
        (size("99999999999999GiB"), "`99999999999999GiB` is out of range for a size"),
        (
            "25".parse::<BitRate>().expect_err("bare").to_string(),
            "`25` has no unit; a rate is written like `25G`, with one of k, M, G, T, bit/s, Gbit/s",
        ),
        (
            "20".parse::<Span>().expect_err("bare").to_string(),
            "`20` has no unit; a time is written like `20us`, with one of ns, us, ms, s, min, h",
        ),
        (
            "120%".parse::<LossRate>().expect_err("too much").to_string(),
            "`120%` is not a loss rate; write a number from 0 to 1 or a percentage, like `1e-3` or `0.1%`",
        ),
    ];
    for (message, expected) in cases {
        assert_eq!(message, expected);
    }
}

#[test]
fn what_is_written_reads_back() {
    for bytes in [0, 1, 1000, 1024, 1536, 100_000, 1 << 20, 3 << 29, u64::MAX] {
        assert_eq!(ByteSize(bytes).to_string().parse(), Ok(ByteSize(bytes)));
    }
    assert_eq!(ByteSize(1 << 20).to_string(), "1MiB");
    assert_eq!(ByteSize(100_000).to_string(), "100kB");
    assert_eq!(BitRate(25_000_000_000).to_string(), "25G");
    assert_eq!(BitRate(1_500).to_string(), "1500bit/s");
    assert_eq!(Span(Duration::from_micros(1500)).to_string(), "1500us");
    for rate in [0.0, 1e-8, 1e-3, 0.05, 1.0] {
        assert_eq!(LossRate(rate).to_string().parse(), Ok(LossRate(rate)));
    }
}

#[test]
fn counts_may_be_short() {
    for (text, count) in [
        ("0", 0),
        ("1", 1),
        ("100M", 100_000_000),
        ("10 G", 10_000_000_000),
        ("1e6", 1_000_000),
        ("2.5e3", 2_500),
        ("1.5M", 1_500_000),
        ("10_000", 10_000),
        ("18446744073709551615", u64::MAX),
    ] {
        assert_eq!(text.parse(), Ok(Count(count)), "{text}");
    }
    for (text, message) in [
        ("", "`` is not a count; write a number and its unit, like `100M`"),
        ("many", "`many` is not a count; write a number and its unit, like `100M`"),
        ("-5", "`-5` is not a count; write a number and its unit, like `100M`"),
        ("1.5", "`1.5` is out of range for a count"),
        ("1e30", "`1e30` is out of range for a count"),
        ("5x", "`5x`: there is no unit `x` for a count; use one of k, M, G, T"),
    ] {
        assert_eq!(text.parse::<Count>().expect_err(text).to_string(), message);
    }
    for count in [0, 999, 1_000, 1_500, 100_000_000, u64::MAX] {
        assert_eq!(Count(count).to_string().parse(), Ok(Count(count)));
    }
    assert_eq!(Count(100_000_000).to_string(), "100M");
    assert_eq!(Count(1_500).to_string(), "1500");
}

#[test]
fn distances_need_their_unit() {
    for (text, metres) in [("2m", 2), ("2km", 2_000), ("0.5km", 500)] {
        assert_eq!(text.parse(), Ok(Distance(metres)), "{text}");
    }
    assert_eq!(Distance(10_000).to_string(), "10km");
    assert_eq!(
        "2".parse::<Distance>().expect_err("bare").to_string(),
        "`2` has no unit; a distance is written like `2m`, with one of m, km"
    );
}

#[test]
fn attenuations_are_in_decibels() {
    for (text, value) in [("0dB", 0.0), ("3.5 dB", 3.5)] {
        assert_eq!(text.parse(), Ok(Decibels(value)), "{text}");
    }
    assert_eq!(Decibels(3.5).to_string(), "3.5dB");
    for text in ["3.5", "-1dB", "3db", "", "dB"] {
        text.parse::<Decibels>().expect_err(text);
    }
}

#[test]
fn files_hold_text_and_plain_numbers() {
    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct File {
        frames: Vec<Count>,
        loss: LossRate,
        length: Distance,
        shares: Vec<Share>,
    }
    let text = "frames = [100, 1e6, \"10G\"]\nloss = 1e-3\nlength = \"2km\"\nshares = [\"75%\", 0.5, 1]";
    let file: File = toml::from_str(text).expect("a file");
    let frames = vec![Count(100), Count(1_000_000), Count(10_000_000_000)];
    let shares = vec![Share(0.75), Share(0.5), Share(1.0)];
    assert_eq!(file, File { frames, loss: LossRate(1e-3), length: Distance(2_000), shares });
    let error = toml::from_str::<File>("frames = [-1]").expect_err("negative").to_string();
    assert!(error.contains("`-1` is not a count"), "{error}");
}

#[test]
fn a_share_is_a_percentage_or_a_number_up_to_one() {
    for (text, share) in [("75%", 0.75), ("0.75", 0.75), (" 5 % ", 0.05), ("0", 0.0), ("100%", 1.0)] {
        assert_eq!(text.parse(), Ok(Share(share)), "{text}");
    }
    for text in ["101%", "-1", "2", "", "%", "half", "NaN"] {
        let error = text.parse::<Share>().expect_err(text);
        assert!(error.to_string().contains("not a share from 0% to 100%"), "{text}: {error}");
    }
    for share in [0.0, 0.07, 0.29, 0.5, 1.0 / 3.0, 0.999_999, 1e-12, 1.0] {
        assert_eq!(Share(share).to_string().parse(), Ok(Share(share)));
    }
    assert_eq!([0.07, 0.29, 1.0].map(|share| Share(share).to_string()), ["7%", "29%", "100%"]);
    assert_eq!(Share(0.07).percent(), 7.0);
}
