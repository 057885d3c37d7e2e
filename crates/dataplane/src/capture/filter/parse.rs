//! Parses words into a filter.

use super::super::layers::{ICMP, ICMPV6, TCP, UDP};
use super::{Expression, Side, Test};
use linkmend_diagnose::{Diagnose, Fault};
use linkmend_protocol::wire::ethertype::{ARP, IPV4, IPV6};
use std::net::IpAddr;

/// Deeper nesting is refused.
const DEPTH_MAX: usize = 64;
const PRIMITIVES: &str = "host, net, port, portrange (with src or dst before them, tcp or udp before ports), ether \
                          proto, ether host, vlan, ip, ip6, arp, tcp, udp, icmp, icmp6, not and parentheses";

/// Why an expression cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("filter `{filter}`: {problem}, expected {expected}")]
pub struct FilterError {
    /// The whole expression.
    pub filter: String,
    /// Which word is wrong, and how.
    pub problem: String,
    /// What would be understood there.
    pub expected: &'static str,
}

impl Diagnose for FilterError {
    fn fault(&self) -> Fault {
        Fault::Usage
    }
}

pub(super) fn parse(text: &str) -> Result<Option<Expression>, FilterError> {
    let mut parser = Parser { text, tokens: tokens(text), at: 0, depth: 0 };
    if parser.tokens.is_empty() {
        return Ok(None);
    }
    let expression = parser.expression()?;
    match parser.peek() {
        None => Ok(Some(expression)),
        Some(_) => Err(parser.error("`and`, `or` or the end")),
    }
}

/// Splits the text into words, and into signs that need no space around them.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    for word in text.split_whitespace() {
        let mut rest = word;
        while let Some(at) = rest.find(['(', ')', '!', '&', '|']) {
            if at > 0 {
                tokens.push(&rest[..at]);
            }
            let doubled = rest[at..].starts_with("&&") || rest[at..].starts_with("||");
            let end = at + if doubled { 2 } else { 1 };
            tokens.push(&rest[at..end]);
            rest = &rest[end..];
        }
        if !rest.is_empty() {
            tokens.push(rest);
        }
    }
    tokens
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<&'a str>,
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.tokens.get(self.at).copied()
    }

    fn accept(&mut self, words: &[&str]) -> Option<&'a str> {
        let word = self.peek().filter(|word| words.contains(word))?;
        self.at += 1;
        Some(word)
    }

    /// The error that the current word is wrong.
    fn error(&self, expected: &'static str) -> FilterError {
        let problem = match self.peek() {
            Some(word) => format!("`{word}` (word {}) is not understood", self.at + 1),
            None => "it ends too early".to_owned(),
        };
        FilterError { filter: self.text.to_owned(), problem, expected }
    }

    /// The next word, as parsed by `read`.
    fn value<T>(
        &mut self,
        expected: &'static str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<T, FilterError> {
        let value = self.peek().and_then(read).ok_or_else(|| self.error(expected))?;
        self.at += 1;
        Ok(value)
    }

    fn expression(&mut self) -> Result<Expression, FilterError> {
        let mut left = self.term()?;
        while self.accept(&["or", "||"]).is_some() {
            left = Expression::Or(Box::new(left), Box::new(self.term()?));
        }
        Ok(left)
    }

    fn term(&mut self) -> Result<Expression, FilterError> {
        let mut left = self.factor()?;
        while self.accept(&["and", "&&"]).is_some() {
            left = Expression::And(Box::new(left), Box::new(self.factor()?));
        }
        Ok(left)
    }

    fn factor(&mut self) -> Result<Expression, FilterError> {
        if self.depth >= DEPTH_MAX {
            return Err(self.error("at most 64 `not` and parentheses inside each other"));
        }
        self.depth += 1;
        let factor = self.nested_factor();
        self.depth -= 1;
        factor
    }

    fn nested_factor(&mut self) -> Result<Expression, FilterError> {
        if self.accept(&["not", "!"]).is_some() {
            return Ok(Expression::Not(Box::new(self.factor()?)));
        }
        if self.accept(&["("]).is_some() {
            let inner = self.expression()?;
            return match self.accept(&[")"]) {
                Some(_) => Ok(inner),
                None => Err(self.error("`and`, `or` or `)`")),
            };
        }
        self.primitive().map(Expression::Test)
    }

    fn primitive(&mut self) -> Result<Test, FilterError> {
        if self.accept(&["ether"]).is_some() {
            return self.ether();
        }
        if self.accept(&["vlan"]).is_some() {
            let id = self.peek().and_then(number).filter(|&id| id <= 0x0fff);
            self.at += usize::from(id.is_some());
            return Ok(Test::Vlan(id));
        }
        for (word, test) in [
            ("ip", Test::Ethertype(IPV4)),
            ("ip6", Test::Ethertype(IPV6)),
            ("arp", Test::Ethertype(ARP)),
            ("icmp", Test::Protocol(ICMP)),
            ("icmp6", Test::Protocol(ICMPV6)),
        ] {
            if self.accept(&[word]).is_some() {
                return Ok(test);
            }
        }
        let protocol = match self.accept(&["tcp", "udp"]) {
            Some("tcp") => Some(TCP),
            Some(_) => Some(UDP),
            None => None,
        };
        if let Some(protocol) = protocol
            && !matches!(self.peek(), Some("src" | "dst" | "port" | "portrange"))
        {
            return Ok(Test::Protocol(protocol));
        }
        let side = self.side();
        match (self.accept(&["host", "net", "port", "portrange"]), protocol) {
            (Some("host"), None) => {
                let address = self.value("an IPv4 or IPv6 address", |word| word.parse::<IpAddr>().ok())?;
                Ok(Test::Network { side, address, bits: if address.is_ipv4() { 32 } else { 128 } })
            }
            (Some("net"), None) => {
                let (address, bits) = self.value("a network such as 10.0.0.0/8", network)?;
                Ok(Test::Network { side, address, bits })
            }
            (Some("port"), _) => {
                let port = self.value("a port number", number)?;
                Ok(Test::Port { side, protocol, low: port, high: port })
            }
            (Some("portrange"), _) => {
                let (low, high) = self.value("two port numbers such as 5000-5100", |word| {
                    let (low, high) = word.split_once('-')?;
                    Some((number(low)?, number(high)?)).filter(|(low, high)| low <= high)
                })?;
                Ok(Test::Port { side, protocol, low, high })
            }
            // This is `host` or `net` after a protocol.
            (Some(_), _) => {
                self.at -= 1;
                Err(self.error("port or portrange"))
            }
            (None, None) if side == Side::Either => Err(self.error(PRIMITIVES)),
            (None, _) => Err(self.error("host, net, port or portrange")),
        }
    }

    fn ether(&mut self) -> Result<Test, FilterError> {
        if self.accept(&["proto"]).is_some() {
            let ethertype =
                self.value("an EtherType such as 0x88b5, or ip, ip6, arp", |word| match word {
                    "ip" => Some(IPV4),
                    "ip6" => Some(IPV6),
                    "arp" => Some(ARP),
                    _ => number(word),
                })?;
            return Ok(Test::EtherProtocol(ethertype));
        }
        let side = self.side();
        if self.accept(&["host"]).is_none() && side == Side::Either {
            return Err(self.error("proto, host, src or dst"));
        }
        let address = self.value("a MAC address such as 02:00:00:00:00:01", mac)?;
        Ok(Test::EtherHost { side, address })
    }

    fn side(&mut self) -> Side {
        match self.accept(&["src", "dst"]) {
            Some("src") => Side::Source,
            Some(_) => Side::Destination,
            None => Side::Either,
        }
    }
}

fn number(word: &str) -> Option<u16> {
    match word.strip_prefix("0x") {
        Some(digits) if !digits.starts_with('+') => u16::from_str_radix(digits, 16).ok(),
        _ if word.starts_with('+') => None,
        _ => word.parse().ok(),
    }
}

fn network(word: &str) -> Option<(IpAddr, u8)> {
    let (address, bits) = word.split_once('/').map_or((word, None), |(address, bits)| (address, Some(bits)));
    let address: IpAddr = address.parse().ok()?;
    let longest = if address.is_ipv4() { 32 } else { 128 };
    let bits = match bits {
        None => longest,
        Some(bits) => bits.parse().ok().filter(|&bits| bits <= longest)?,
    };
    Some((address, bits))
}

fn mac(word: &str) -> Option<[u8; 6]> {
    let mut bytes = [0; 6];
    let mut parts = word.split(':');
    for byte in &mut bytes {
        let part = parts.next().filter(|part| (1..=2).contains(&part.len()))?;
        *byte = u8::from_str_radix(part, 16).ok()?;
    }
    parts.next().is_none().then_some(bytes)
}
