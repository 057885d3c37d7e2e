//! What a script consists of.

use crate::Position;
use linkmend_transport::Nanos;
use linkmend_transport::tcp::Flags;

/// A script as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// `--name=value` before everything else.
    pub options: Vec<(Position, String, String)>,
    /// Commands before the first event.
    pub preparation: Vec<(Position, String)>,
    pub events: Vec<Event>,
}

/// Something that happens, or is expected to happen, at a time.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub at: Position,
    pub time: EventTime,
    pub action: Action,
}

/// When an event takes place. Relative times count from the event before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventTime {
    Absolute(Nanos),
    Relative(Nanos),
    AbsoluteRange(Nanos, Nanos),
    RelativeRange(Nanos, Nanos),
    /// Whenever it comes.
    Any,
}

/// What an event is.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    Packet(Packet),
    Call(Call),
    Command(String),
    Code(String),
    /// Something of the language that the simulated host does not have.
    Lacking(String),
}

/// Which way a packet goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// `<`: to the host under test.
    Inbound,
    /// `>`: expected from it.
    Outbound,
}

/// A TCP packet in the numbers of the script: those of each side begin with its SYN's.
#[derive(Debug, Clone, PartialEq)]
pub struct Packet {
    pub direction: Direction,
    pub ecn: Option<EcnNotation>,
    pub flags: Flags,
    pub sequence: u32,
    pub length: u32,
    pub acknowledgement: Option<u32>,
    /// As on the wire: not scaled.
    pub window: Option<u32>,
    pub options: Options,
}

/// The codepoint of the IP header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EcnNotation {
    NoEcn,
    Ect0,
    Ect1,
    /// Either of the two.
    Ect01,
    Ce,
}

/// The options of a TCP header.
#[derive(Debug, Clone, PartialEq)]
pub enum Options {
    /// `<...>`
    Whatever,
    These(Vec<TcpOption>),
}

/// One TCP option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TcpOption {
    NoOperation,
    EndOfList,
    Mss(u16),
    WindowScale(u8),
    SackPermitted,
    /// Blocks from a first byte to behind the last.
    Sack(Vec<(u32, u32)>),
    Timestamps {
        value: u32,
        echo: u32,
    },
    /// A Fast Open cookie, in hexadecimal digits; in the experimental option of RFC 6994 if so.
    FastOpen {
        cookie: String,
        experimental: bool,
    },
}

/// A system call and its result.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub name: String,
    pub arguments: Vec<Expression>,
    /// When a call that blocks returns; relative if the time at which it begins is.
    pub end: Option<Nanos>,
    pub result: Expression,
    /// `EAGAIN` and its like, if the call fails.
    pub error: Option<String>,
}

/// An argument or result of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    /// `...`
    Whatever,
    Number(i64),
    Word(String),
    Text(String),
    /// Alternatives of bits, such as `POLLIN | POLLOUT`.
    Or(Vec<Expression>),
    Array(Vec<Expression>),
    /// `{name = value, ...}`; a field without a name is only a value.
    Structure(Vec<(Option<String>, Expression)>),
    /// `htons(8080)`
    Function(String, Vec<Expression>),
}
