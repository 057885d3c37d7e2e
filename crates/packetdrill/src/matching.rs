//! Whether a packet is the one that was expected.

use crate::notation::letters;
use crate::script::{EcnNotation, Options, Packet, TcpOption};

/// The first field in which `actual` differs from what `expected` says, as a message. Timestamps are compared by who has
/// them, and by the echo; their values are those of another clock.
pub fn difference(expected: &Packet, actual: &Packet) -> Option<String> {
    if expected.flags != actual.flags {
        let (expected, actual) = (letters(expected.flags), letters(actual.flags));
        return Some(format!("flags {actual} instead of {expected}"));
    }
    if expected.sequence != actual.sequence {
        return Some(format!("sequence number {} instead of {}", actual.sequence, expected.sequence));
    }
    if expected.length != actual.length {
        return Some(format!("{} bytes of payload instead of {}", actual.length, expected.length));
    }
    if expected.acknowledgement.is_some() && expected.acknowledgement != actual.acknowledgement {
        return Some(of_numbers("acknowledgement", expected.acknowledgement, actual.acknowledgement));
    }
    if expected.window.is_some() && expected.window != actual.window {
        return Some(of_numbers("window", expected.window, actual.window));
    }
    if let Some(wanted) = expected.ecn {
        let found = actual.ecn.unwrap_or(EcnNotation::NoEcn);
        let is_either =
            wanted == EcnNotation::Ect01 && matches!(found, EcnNotation::Ect0 | EcnNotation::Ect1);
        if wanted != found && !is_either {
            return Some(format!("ECN codepoint {found} instead of {wanted}"));
        }
    }
    of_options(&expected.options, &actual.options)
}

fn of_numbers(name: &str, expected: Option<u32>, actual: Option<u32>) -> String {
    let text = |number: Option<u32>| number.map_or_else(|| "none".to_owned(), |number| number.to_string());
    format!("{name} {} instead of {}", text(actual), text(expected))
}

/// The options that say something.
fn meaning(options: &Options) -> Option<Vec<&TcpOption>> {
    let Options::These(options) = options else { return None };
    let is_padding = |option: &TcpOption| matches!(option, TcpOption::NoOperation | TcpOption::EndOfList);
    Some(options.iter().filter(|option| !is_padding(option)).collect())
}

/// The timestamps of a packet: value and echo.
pub fn timestamps(options: &Options) -> Option<(u32, u32)> {
    let Options::These(options) = options else { return None };
    options.iter().find_map(|option| match option {
        TcpOption::Timestamps { value, echo } => Some((*value, *echo)),
        _ => None,
    })
}

fn of_options(expected: &Options, actual: &Options) -> Option<String> {
    let expected = meaning(expected)?;
    let actual = meaning(actual).unwrap_or_default();
    let is_same = |wanted: &TcpOption, found: &TcpOption| match (wanted, found) {
        (TcpOption::Timestamps { echo: wanted, .. }, TcpOption::Timestamps { echo: found, .. }) => {
            wanted == found
        }
        _ => wanted == found,
    };
    let holds = |list: &[&TcpOption], option: &TcpOption| list.iter().any(|other| is_same(other, option));
    if let Some(missing) = expected.iter().find(|option| !holds(&actual, option)) {
        return Some(format!("the option `{missing}` is missing"));
    }
    let more = actual.iter().find(|option| !holds(&expected, option));
    more.map(|more| format!("the option `{more}` is not expected"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::Action;

    fn packet(text: &str) -> Packet {
        let mut script = crate::parse(&format!("0 {text}")).expect(text);
        let Action::Packet(packet) = script.events.remove(0).action else { panic!("{text}") };
        packet
    }

    #[test]
    fn what_is_not_named_is_not_compared_and_what_is_named_is() {
        let actual = packet("> [ect0] P. 1:1001(1000) ack 1 win 257 <nop,nop,TS val 9 ecr 7,sack 1:2>");
        for text in [
            "> P. 1:1001(1000) <...>",
            "> [ect01] P. 1:1001(1000) ack 1 <sack 1:2,TS val 1 ecr 7>",
            "> [ect0] P. 1:1001(1000) ack 1 win 257 <nop,nop,TS val 100 ecr 7,nop,nop,sack 1:2>",
        ] {
            assert_eq!(difference(&packet(text), &actual), None, "{text}");
        }
        for (text, wanted) in [
            ("> . 1:1001(1000) <...>", "flags P. instead of ."),
            ("> P. 2:1002(1000) <...>", "sequence number 1 instead of 2"),
            ("> P. 1:1002(1001) <...>", "1000 bytes of payload instead of 1001"),
            ("> P. 1:1001(1000) ack 2 <...>", "acknowledgement 1 instead of 2"),
            ("> P. 1:1001(1000) ack 1 win 3 <...>", "window 257 instead of 3"),
            ("> [noecn] P. 1:1001(1000) ack 1 <...>", "ECN codepoint ect0 instead of noecn"),
            ("> P. 1:1001(1000) ack 1", "the option `TS val 9 ecr 7` is not expected"),
            ("> P. 1:1001(1000) ack 1 <TS val 9 ecr 8,sack 1:2>", "the option `TS val 9 ecr 8` is missing"),
            ("> P. 1:1001(1000) ack 1 <TS val 9 ecr 7,sack 1:3>", "the option `sack 1:3` is missing"),
        ] {
            assert_eq!(difference(&packet(text), &actual).as_deref(), Some(wanted), "{text}");
        }
    }
}
