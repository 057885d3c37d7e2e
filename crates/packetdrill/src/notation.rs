//! Packets as packetdrill writes them.

use crate::parser::FLAG_LETTERS;
use crate::script::{Direction, EcnNotation, Options, Packet, TcpOption};
use linkmend_transport::tcp::Flags;
use std::fmt;

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.direction == Direction::Inbound { "< " } else { "> " })?;
        if let Some(ecn) = self.ecn {
            write!(f, "[{ecn}] ")?;
        }
        let end = self.sequence.wrapping_add(self.length);
        write!(f, "{} {}:{}({})", letters(self.flags), self.sequence, end, self.length)?;
        if let Some(acknowledgement) = self.acknowledgement {
            write!(f, " ack {acknowledgement}")?;
        }
        if let Some(window) = self.window {
            write!(f, " win {window}")?;
        }
        match &self.options {
            Options::Whatever => f.write_str(" <...>"),
            Options::These(options) if options.is_empty() => Ok(()),
            Options::These(options) => {
                let options: Vec<_> = options.iter().map(ToString::to_string).collect();
                write!(f, " <{}>", options.join(","))
            }
        }
    }
}

/// Control bits by their letters, `-` if there are none.
pub fn letters(flags: Flags) -> String {
    let set = FLAG_LETTERS.iter().filter(|(_, flag)| flags.contains(*flag));
    let letters: String = set.map(|(letter, _)| *letter).collect();
    if letters.is_empty() { "-".to_owned() } else { letters }
}

impl fmt::Display for EcnNotation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EcnNotation::NoEcn => "noecn",
            EcnNotation::Ect0 => "ect0",
            EcnNotation::Ect1 => "ect1",
            EcnNotation::Ect01 => "ect01",
            EcnNotation::Ce => "ce",
        })
    }
}

impl fmt::Display for TcpOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TcpOption::NoOperation => f.write_str("nop"),
            TcpOption::EndOfList => f.write_str("eol"),
            TcpOption::Mss(bytes) => write!(f, "mss {bytes}"),
            TcpOption::WindowScale(shift) => write!(f, "wscale {shift}"),
            TcpOption::SackPermitted => f.write_str("sackOK"),
            TcpOption::Sack(blocks) => {
                f.write_str("sack")?;
                blocks.iter().try_for_each(|(first, end)| write!(f, " {first}:{end}"))
            }
            TcpOption::Timestamps { value, echo } => write!(f, "TS val {value} ecr {echo}"),
            TcpOption::FastOpen { cookie, experimental } => {
                f.write_str(if *experimental { "FOEXP" } else { "FO" })?;
                if cookie.is_empty() { Ok(()) } else { write!(f, " {cookie}") }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::script::Action;

    #[test]
    fn a_packet_is_written_as_it_was_read() {
        for text in [
            "< S 0:0(0) win 32792 <mss 1000,sackOK,nop,nop,nop,wscale 7>",
            "> [ect01] PE. 1:1001(1000) ack 1 <nop,nop,TS val 1 ecr 2>",
            "> . 1:1(0) ack 4294967295 <nop,nop,sack 1:2 3:4>",
            "< [ce] FRPEWU. 4294967295:1(2) ack 0 <...>",
            "< - 1:1(0) <FO,FOEXP 6b7d,eol>",
        ] {
            let script = crate::parse(&format!("0 {text}")).expect(text);
            let Action::Packet(packet) = &script.events[0].action else { panic!("{script:?}") };
            assert_eq!(packet.to_string(), text);
        }
    }
}
