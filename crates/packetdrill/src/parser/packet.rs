//! Packets: `< [ce] P. 1:1001(1000) ack 1 win 257 <nop,nop,TS val 100 ecr 1>`.

use super::Parser;
use crate::ParseError;
use crate::lexer::TokenKind;
use crate::script::{Action, Direction, EcnNotation, Options, Packet, TcpOption};
use linkmend_transport::tcp::Flags;

/// The flags by their letters; `.` is that of an acknowledgement.
pub const FLAG_LETTERS: [(char, Flags); 8] = [
    ('S', Flags::SYN),
    ('F', Flags::FIN),
    ('R', Flags::RST),
    ('P', Flags::PSH),
    ('E', Flags::ECE),
    ('W', Flags::CWR),
    ('U', Flags::URG),
    ('.', Flags::ACK),
];

impl Parser {
    pub(super) fn packet(&mut self) -> Result<Action, ParseError> {
        let direction = if self.accept('<') {
            Direction::Inbound
        } else {
            self.sign('>')?;
            Direction::Outbound
        };
        let mut ecn = None;
        if self.accept('[') {
            if matches!(self.peek(), TokenKind::Integer(_)) {
                self.skip_to_bracket();
                return Ok(self.lacking("ICMP"));
            }
            match self.ip_information()? {
                Ok(found) => ecn = Some(found),
                Err(feature) => return Ok(self.lacking(&feature)),
            }
        }
        for (word, feature) in [("icmp", "ICMP"), ("udp", "UDP"), ("ipv4", "tunnels"), ("ipv6", "tunnels")] {
            if matches!(self.peek(), TokenKind::Word(next) if next == word) {
                return Ok(self.lacking(feature));
            }
        }
        let flags = self.flags()?;
        let (sequence, length) = self.sequence()?;
        let acknowledgement =
            if self.accept_word("ack") { Some(self.number("an acknowledgement")?) } else { None };
        let window = if self.accept_word("win") { Some(self.number("a window")?) } else { None };
        if matches!(self.peek(), TokenKind::Word(word) if word == "urg") {
            return Ok(self.lacking("urgent data"));
        }
        let options = self.options()?;
        Ok(Action::Packet(Packet {
            direction,
            ecn,
            flags,
            sequence,
            length,
            acknowledgement,
            window,
            options,
        }))
    }

    /// Passes over what belongs to a packet or call that is lacking: up to the next line.
    pub(super) fn lacking(&mut self, feature: &str) -> Action {
        let line = self.position().line;
        while *self.peek() != TokenKind::End && self.position().line == line {
            self.advance();
        }
        Action::Lacking(feature.to_owned())
    }

    fn skip_to_bracket(&mut self) {
        while !self.accept(']') && *self.peek() != TokenKind::End {
            self.advance();
        }
    }

    /// What stands between `[` and `]`: the ECN codepoint; the inner error names another field.
    fn ip_information(&mut self) -> Result<Result<EcnNotation, String>, ParseError> {
        loop {
            let word = self.word("an ECN codepoint (noecn, ect0, ect1, ect01 or ce)")?;
            let ecn = match word.as_str() {
                "noecn" => EcnNotation::NoEcn,
                "ect0" => EcnNotation::Ect0,
                "ect1" => EcnNotation::Ect1,
                "ect01" => EcnNotation::Ect01,
                "ce" => EcnNotation::Ce,
                _ => {
                    self.skip_to_bracket();
                    return Ok(Err(format!("the field `{word}` of the IP header")));
                }
            };
            if !self.accept(',') {
                self.sign(']')?;
                return Ok(Ok(ecn));
            }
        }
    }

    fn flags(&mut self) -> Result<Flags, ParseError> {
        let at = self.position();
        if self.accept('-') {
            return Ok(Flags::default());
        }
        let mut flags = Flags::default();
        if let TokenKind::Word(letters) = self.peek().clone() {
            for letter in letters.chars() {
                let Some((_, flag)) = FLAG_LETTERS.iter().find(|(known, _)| *known == letter) else {
                    let message =
                        format!("`{letters}` are not TCP flags; valid flags are S, F, R, P, E, W, U and `.`");
                    return Err(ParseError::new(at, message));
                };
                flags.insert(*flag);
            }
            self.advance();
        } else if *self.peek() != TokenKind::Sign('.') {
            return self.expected("TCP flags");
        }
        if self.accept('.') {
            flags.insert(Flags::ACK);
        }
        Ok(flags)
    }

    /// `1:1001(1000)`: the first byte and how many there are.
    fn sequence(&mut self) -> Result<(u32, u32), ParseError> {
        let at = self.position();
        let first: u32 = self.number("a sequence number")?;
        self.sign(':')?;
        let end: u32 = self.number("a sequence number")?;
        self.sign('(')?;
        let length: u32 = self.number("a length in bytes")?;
        self.sign(')')?;
        let difference = end.wrapping_sub(first);
        if difference != length {
            let message = format!(
                "{first}:{end}({length}): the sequence numbers span {difference} bytes, not {length}"
            );
            return Err(ParseError::new(at, message));
        }
        Ok((first, length))
    }

    fn options(&mut self) -> Result<Options, ParseError> {
        // A `<` that begins the packet of the next event stands behind that event's time.
        if !self.accept('<') {
            return Ok(Options::These(Vec::new()));
        }
        if *self.peek() == TokenKind::Ellipsis {
            self.advance();
            self.sign('>')?;
            return Ok(Options::Whatever);
        }
        let mut options = Vec::new();
        loop {
            options.push(self.option()?);
            if !self.accept(',') {
                self.sign('>')?;
                return Ok(Options::These(options));
            }
        }
    }

    fn option(&mut self) -> Result<TcpOption, ParseError> {
        const WHAT: &str = "a TCP option";
        let TokenKind::Word(word) = self.peek().clone() else { return self.expected(WHAT) };
        let known = ["nop", "eol", "mss", "wscale", "sackOK", "sack", "TS", "FO", "FOEXP"];
        if !known.contains(&word.as_str()) {
            return self.expected(WHAT);
        }
        self.advance();
        Ok(match word.as_str() {
            "nop" => TcpOption::NoOperation,
            "eol" => TcpOption::EndOfList,
            "mss" => TcpOption::Mss(self.number("a segment size")?),
            "wscale" => TcpOption::WindowScale(self.number("a window scale")?),
            "sackOK" => TcpOption::SackPermitted,
            "sack" => TcpOption::Sack(self.sack_blocks()?),
            "TS" => {
                if !self.accept_word("val") {
                    return self.expected("`val`");
                }
                let value = self.number("a timestamp")?;
                if !self.accept_word("ecr") {
                    return self.expected("`ecr`");
                }
                TcpOption::Timestamps { value, echo: self.number("a timestamp")? }
            }
            _ => self.fast_open(word == "FOEXP"),
        })
    }

    fn sack_blocks(&mut self) -> Result<Vec<(u32, u32)>, ParseError> {
        let mut blocks = Vec::new();
        while matches!(self.peek(), TokenKind::Integer(_)) {
            let first = self.number("a sequence number")?;
            self.sign(':')?;
            blocks.push((first, self.number("a sequence number")?));
        }
        if blocks.is_empty() { self.expected("a SACK block such as 1001:2001") } else { Ok(blocks) }
    }

    fn fast_open(&mut self, experimental: bool) -> TcpOption {
        let cookie = match self.peek() {
            TokenKind::Word(text) | TokenKind::Integer(text) => text.clone(),
            _ => String::new(),
        };
        if !cookie.is_empty() {
            self.advance();
        }
        TcpOption::FastOpen { cookie, experimental }
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    fn packet(text: &str) -> Packet {
        let mut script = parse(text).expect(text);
        assert_eq!(script.events.len(), 1);
        match script.events.remove(0).action {
            Action::Packet(packet) => packet,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_packet_with_everything_is_read() {
        let found = packet(
            "+0 < [ce] PE. 1001:2001(1000) ack 501 win 257 <nop,nop,TS val 7 ecr 100,sack 1:2 4294967295:3>",
        );
        let wanted = Packet {
            direction: Direction::Inbound,
            ecn: Some(EcnNotation::Ce),
            flags: Flags::PSH.with(Flags::ECE).with(Flags::ACK),
            sequence: 1_001,
            length: 1_000,
            acknowledgement: Some(501),
            window: Some(257),
            options: Options::These(vec![
                TcpOption::NoOperation,
                TcpOption::NoOperation,
                TcpOption::Timestamps { value: 7, echo: 100 },
                TcpOption::Sack(vec![(1, 2), (u32::MAX, 3)]),
            ]),
        };
        assert_eq!(found, wanted);
    }

    #[test]
    fn the_options_of_a_syn_and_any_options_are_read() {
        let syn = packet("0 > S 0:0(0) <mss 1460,sackOK,TS val 100 ecr 0,nop,wscale 7,FO,FOEXP 6b7d>");
        let Options::These(options) = syn.options else { panic!("{syn:?}") };
        assert_eq!(options.len(), 7);
        assert_eq!(options[5], TcpOption::FastOpen { cookie: String::new(), experimental: false });
        assert_eq!(options[6], TcpOption::FastOpen { cookie: "6b7d".into(), experimental: true });
        assert_eq!(packet("0 > S. 0:0(0) ack 1 <...>").options, Options::Whatever);
        assert_eq!(packet("0 > . 1:1(0) ack 1").options, Options::These(Vec::new()));
    }

    #[test]
    fn a_packet_without_options_ends_before_the_next_event() {
        let script = parse("0 < . 1:1(0) ack 1 win 257\n+0 < F. 1:1(0) ack 1\n* > - 1:1(0)").expect("three");
        assert_eq!(script.events.len(), 3);
    }

    #[test]
    fn what_the_simulated_host_lacks_is_named_and_passed_over() {
        for (text, feature) in [
            ("0 < icmp unreachable host_unreachable\n", "ICMP"),
            ("0 < [1:1001(1000)] icmp unreachable frag_needed mtu 1500\n", "ICMP"),
            ("0 > udp (1000)\n", "UDP"),
            ("0 < [ttl 3] . 1:1(0) ack 1\n", "the field `ttl` of the IP header"),
            ("0 < P. 1:2(1) ack 1 win 5 urg 1\n", "urgent data"),
        ] {
            let script = parse(&format!("{text}+0 `a`")).expect(text);
            assert_eq!(script.events.len(), 2, "{text}");
            assert_eq!(script.events[0].action, Action::Lacking(feature.to_owned()));
        }
    }
}
