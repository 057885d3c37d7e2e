//! No text makes the reader or the runner panic.

use linkmend_packetdrill::{parse, run_text};
use proptest::prelude::*;
use std::path::Path;

fn scripts() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let entries = std::fs::read_dir(&folder).expect("the folder of scripts");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read_to_string(path).expect("a script")).collect()
}

/// Words that mean something, in any order.
const WORDS: [&str; 60] = [
    "0 ",
    "+0 ",
    "+.1 ",
    "* ",
    "1~2 ",
    "< ",
    "> ",
    "S ",
    ". ",
    "P. ",
    "FR",
    "[ect0] ",
    "[ce] ",
    "1:1001(1000) ",
    "0:0(0) ",
    "ack 1 ",
    "ack 4294967295 ",
    "win 0 ",
    "win 65535 ",
    "<mss 1,sackOK,wscale 255>",
    "<...>",
    "<sack 1:2 3:4>",
    "<TS val 1 ecr 2>",
    "socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n",
    "listen(3, 1) = 0\n",
    "accept(3, ..., ...) = 4\n",
    "write(4, ..., 1000) = 1000\n",
    "read(4, ..., 9) = 9\n",
    "close(4) = 0\n",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "|",
    "...",
    "%{ assert ",
    "tcpi_snd_cwnd ",
    "== 10 ",
    "}%",
    "`sysctl ",
    "net.ipv4.tcp_sack=0",
    "`",
    "\"",
    "\n",
    "// ",
    "/* ",
    "*/",
    "#",
    "--mtu=",
    "9999999999999999999",
    "-1 ",
    "0x ",
    "connect(3, ..., ...) = 0\n",
    "é",
    "<",
    ">",
    ",",
    "poll([{fd=3, events=POLLIN}], 1, 0) = 0\n",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,200}") {
        let _ = run_text(&text);
    }

    #[test]
    fn any_words_are_read_or_refused(words in prop::collection::vec(prop::sample::select(&WORDS[..]), 0..60)) {
        let _ = run_text(&words.concat());
    }

    /// A script in which a piece is missing, doubled or replaced by another's.
    #[test]
    fn any_damaged_script_is_run_or_refused(
        which in any::<prop::sample::Index>(),
        other in any::<prop::sample::Index>(),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..40_usize), 1..4),
    ) {
        let scripts = scripts();
        let mut text: Vec<char> = which.get(&scripts).chars().collect();
        let donor: Vec<char> = other.get(&scripts).chars().collect();
        for (at, from, length) in cuts {
            let at = at.index(text.len().max(1));
            let end = (at + length).min(text.len());
            let from = from.index(donor.len());
            let piece = donor[from..(from + length / 2).min(donor.len())].to_vec();
            text.splice(at.min(end)..end, piece);
        }
        let text: String = text.into_iter().collect();
        let _ = parse(&text);
        let _ = run_text(&text);
    }
}

#[test]
fn the_same_script_has_the_same_outcome() {
    for text in scripts() {
        let damaged = text.replace("1000", "999");
        assert_eq!(run_text(&damaged), run_text(&damaged));
    }
}
