//! The calls of the socket interface.

mod control;
mod transfer;

use crate::error::Lacking;
use crate::host::Host;
use crate::script::{Call, Expression};
use crate::settings::{Settings, single};
use crate::socket::{Descriptor, Descriptors, POLL_BITS, Role, error_of, poll_events};
use crate::timestamping::Timestamping;
use linkmend_transport::tcp::State;

/// `O_RDWR` and `O_NONBLOCK`, as `fcntl` returns them.
const READ_WRITE: i64 = 0x2;
const NONBLOCKING: i64 = 0x800;

/// The calls whose first argument is a descriptor.
const ON_DESCRIPTORS: [&str; 22] = [
    "accept",
    "accept4",
    "bind",
    "close",
    "connect",
    "fcntl",
    "getsockopt",
    "ioctl",
    "listen",
    "read",
    "readv",
    "recv",
    "recvfrom",
    "recvmsg",
    "send",
    "sendfile",
    "sendmsg",
    "sendto",
    "setsockopt",
    "shutdown",
    "write",
    "writev",
];

/// What has come of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress {
    Returned(i64),
    /// It returned -1 and this error.
    Failed(&'static str),
    /// It returned something that the script says otherwise.
    Differs(String),
    Blocks,
}

use Progress::{Blocks, Differs, Failed, Returned};

/// A call under way: what it has done so far.
#[derive(Debug, Clone, Default)]
pub struct Attempt {
    pub has_begun: bool,
    /// Bytes that a call which writes has written.
    pub bytes: u64,
}

/// Tries to finish a call.
///
/// # Errors
/// If the simulated host does not have it.
pub fn attempt(
    call: &Call,
    attempt: &mut Attempt,
    descriptors: &mut Descriptors,
    host: &mut Host,
) -> Result<Progress, Lacking> {
    if call.name == "socket" {
        return socket(call, descriptors, host);
    }
    if call.name == "poll" {
        return poll(call, descriptors, host);
    }
    if call.name == "open" {
        return Ok(open(call, descriptors, host));
    }
    let fd = call.arguments.first().and_then(single).filter(|_| ON_DESCRIPTORS.contains(&call.name.as_str()));
    let Some(fd) = fd else { return Err(format!("the call `{}`", call.name)) };
    let Some(descriptor) = descriptors.open.get(&fd).cloned() else { return Ok(Failed("EBADF")) };
    let progress = match call.name.as_str() {
        _ if transfer::has_no_buffer(call) => Failed("EFAULT"),
        "bind" => Returned(0),
        "listen" => {
            change(descriptors, fd, |descriptor| descriptor.role = Role::Listening);
            Returned(0)
        }
        "accept" | "accept4" => accept(call, &descriptor, descriptors, host),
        "connect" => connect(fd, attempt, &descriptor, descriptors, host)?,
        "write" | "writev" | "send" | "sendto" | "sendmsg" => {
            transfer::write(call, attempt, &descriptor, host)?
        }
        "sendfile" => transfer::send_file(call, attempt, &descriptor, descriptors, host)?,
        "read" | "readv" | "recv" | "recvfrom" | "recvmsg" => transfer::read(call, &descriptor, host)?,
        "close" => close(fd, &descriptor, descriptors, host),
        "shutdown" => shutdown(call, fd, &descriptor, descriptors, host),
        "fcntl" => fcntl(call, fd, &descriptor, descriptors)?,
        "ioctl" => ioctl(call, host)?,
        "setsockopt" => set_option(call, fd, descriptors, host)?,
        "getsockopt" => option(call, &descriptor, host)?,
        other => return Err(format!("the call `{other}`")),
    };
    Ok(match progress {
        Blocks if descriptor.is_nonblocking => Failed("EAGAIN"),
        progress => progress,
    })
}

fn change(descriptors: &mut Descriptors, fd: i64, change: impl FnOnce(&mut Descriptor)) {
    if let Some(descriptor) = descriptors.open.get_mut(&fd) {
        change(descriptor);
    }
}

/// The words of a value that are names of bits, or one word.
fn names(value: Option<&Expression>) -> Vec<&str> {
    match value {
        Some(Expression::Word(word)) => vec![word.as_str()],
        Some(Expression::Or(list)) => list.iter().flat_map(|part| names(Some(part))).collect(),
        _ => Vec::new(),
    }
}

fn socket(call: &Call, descriptors: &mut Descriptors, host: &Host) -> Result<Progress, Lacking> {
    let kinds = names(call.arguments.get(1));
    if !kinds.contains(&"SOCK_STREAM") {
        return Err("sockets other than SOCK_STREAM".to_owned());
    }
    if let Some(protocol) = names(call.arguments.get(2)).into_iter().find(|name| *name != "IPPROTO_TCP") {
        return Err(format!("the protocol {protocol}"));
    }
    let fd = new_number(call, descriptors);
    let mut descriptor = Descriptor::new(host.settings.clone());
    descriptor.is_nonblocking = kinds.contains(&"SOCK_NONBLOCK");
    descriptors.open.insert(fd, descriptor);
    Ok(Returned(fd))
}

fn open(call: &Call, descriptors: &mut Descriptors, host: &Host) -> Progress {
    let Some(Expression::Text(name)) = call.arguments.first() else { return Failed("EFAULT") };
    let Some(&bytes) = host.settings.files.get(name) else { return Failed("ENOENT") };
    let fd = new_number(call, descriptors);
    let file = Descriptor { role: Role::File(bytes), ..Descriptor::new(host.settings.clone()) };
    descriptors.open.insert(fd, file);
    Returned(fd)
}

/// The script says which number it means; the kernel's would be the least one.
fn new_number(call: &Call, descriptors: &Descriptors) -> i64 {
    let free = (3..).find(|number| !descriptors.open.contains_key(number)).unwrap_or(3);
    match single(&call.result) {
        Some(number) if number >= 0 && !descriptors.open.contains_key(&number) => number,
        _ => free,
    }
}

fn accept(call: &Call, descriptor: &Descriptor, descriptors: &mut Descriptors, host: &Host) -> Progress {
    if descriptor.role != Role::Listening {
        return Failed("EINVAL");
    }
    if !descriptors.is_acceptable(host) {
        return Blocks;
    }
    let fd = new_number(call, descriptors);
    let mut accepted = Descriptor { role: Role::Connected, ..descriptor.clone() };
    accepted.is_nonblocking = names(call.arguments.get(3)).contains(&"SOCK_NONBLOCK");
    descriptors.open.insert(fd, accepted);
    descriptors.is_accepted = true;
    Returned(fd)
}

fn connect(
    fd: i64,
    attempt: &mut Attempt,
    descriptor: &Descriptor,
    descriptors: &mut Descriptors,
    host: &mut Host,
) -> Result<Progress, Lacking> {
    if descriptor.role == Role::Fresh && !attempt.has_begun {
        if host.is_busy() {
            return Err("several connections at once".to_owned());
        }
        host.connect(&descriptor.settings, false)?;
        change(descriptors, fd, |descriptor| descriptor.role = Role::Connected);
        attempt.has_begun = true;
        return Ok(if descriptor.is_nonblocking { Failed("EINPROGRESS") } else { Blocks });
    }
    if let Some(abort) = host.abort.take() {
        return Ok(Failed(error_of(abort)));
    }
    Ok(match (host.is_established, attempt.has_begun) {
        (true, true) => Returned(0),
        (true, false) => Failed("EISCONN"),
        (false, true) => Blocks,
        (false, false) => Failed("EALREADY"),
    })
}

fn close(fd: i64, descriptor: &Descriptor, descriptors: &mut Descriptors, host: &mut Host) -> Progress {
    descriptors.open.remove(&fd);
    if descriptor.role == Role::Connected {
        host.with(|connection, now| {
            // Data that nobody will read is an error that the peer should hear of (RFC 2525, section 2.17).
            if descriptor.resets_on_close || connection.unread() > 0 {
                connection.abort();
            } else {
                connection.close_for_good(now);
            }
        });
        host.abort = None;
    }
    Returned(0)
}

fn shutdown(
    call: &Call,
    fd: i64,
    descriptor: &Descriptor,
    descriptors: &mut Descriptors,
    host: &mut Host,
) -> Progress {
    if descriptor.role != Role::Connected || !host.is_established {
        return Failed("ENOTCONN");
    }
    let how = names(call.arguments.get(1)).first().copied().unwrap_or_default();
    if matches!(how, "SHUT_WR" | "SHUT_RDWR") {
        host.with(|connection, now| connection.close(now));
        change(descriptors, fd, |descriptor| descriptor.is_writing_over = true);
    }
    if matches!(how, "SHUT_RD" | "SHUT_RDWR") {
        change(descriptors, fd, |descriptor| descriptor.is_reading_over = true);
    }
    Returned(0)
}

fn fcntl(
    call: &Call,
    fd: i64,
    descriptor: &Descriptor,
    descriptors: &mut Descriptors,
) -> Result<Progress, Lacking> {
    let command = names(call.arguments.get(1)).first().copied().unwrap_or_default().to_owned();
    match command.as_str() {
        "F_GETFL" => Ok(Returned(READ_WRITE | if descriptor.is_nonblocking { NONBLOCKING } else { 0 })),
        "F_SETFL" => {
            let value = call.arguments.get(2);
            let bits = value.and_then(single).unwrap_or(0);
            let is_nonblocking = bits & NONBLOCKING != 0 || names(value).contains(&"O_NONBLOCK");
            change(descriptors, fd, |descriptor| descriptor.is_nonblocking = is_nonblocking);
            Ok(Returned(0))
        }
        _ => Err(format!("fcntl {command}")),
    }
}

/// What a call returned through an argument, compared with what the script says of it.
fn compared(name: &str, expected: Option<&Expression>, actual: i64) -> Progress {
    match expected.and_then(single) {
        Some(expected) if expected != actual => Differs(format!("{name} is {actual} instead of {expected}")),
        _ => Returned(0),
    }
}

fn ioctl(call: &Call, host: &Host) -> Result<Progress, Lacking> {
    let command = names(call.arguments.get(1)).first().copied().unwrap_or_default();
    let Some(connection) = &host.connection else { return Ok(Failed("EINVAL")) };
    let actual = match command {
        "SIOCINQ" | "FIONREAD" => connection.unread(),
        "SIOCOUTQ" => host.written.saturating_sub(connection.info(host.instant()).bytes_acked),
        "SIOCOUTQNSD" => connection.info(host.instant()).notsent_bytes,
        _ => return Err(format!("ioctl {command}")),
    };
    Ok(compared(command, call.arguments.get(2), actual as i64))
}

fn set_option(
    call: &Call,
    fd: i64,
    descriptors: &mut Descriptors,
    host: &mut Host,
) -> Result<Progress, Lacking> {
    let name = names(call.arguments.get(2)).first().copied().unwrap_or_default().to_owned();
    let Some(value) = call.arguments.get(3) else { return Ok(Failed("EINVAL")) };
    let Some(descriptor) = descriptors.open.get_mut(&fd) else { return Ok(Failed("EBADF")) };
    if name == "SO_LINGER" {
        let Expression::Structure(fields) = value else {
            return Err("SO_LINGER without a structure".to_owned());
        };
        let field = |wanted: &str| {
            fields
                .iter()
                .find(|(name, _)| name.as_deref() == Some(wanted))
                .and_then(|(_, value)| single(value))
        };
        descriptor.resets_on_close = field("onoff") == Some(1) && field("linger") == Some(0);
        return Ok(Returned(0));
    }
    if name == "SO_TIMESTAMPING" {
        let flags = match value {
            Expression::Array(list) => names(list.first()),
            other => names(Some(other)),
        };
        let acknowledged =
            host.connection.as_ref().map_or(0, |connection| connection.info(host.instant()).bytes_acked);
        host.timestamping = Some(Timestamping::new(&flags, acknowledged));
        return Ok(Returned(0));
    }
    descriptor.settings.socket_option(&name, value)?;
    if descriptor.role != Role::Connected || name == "SO_KEEPALIVE" {
        return Ok(Returned(0));
    }
    let settings = &descriptor.settings;
    match name.as_str() {
        "TCP_NODELAY" => host.with(|connection, _| connection.set_nagle(settings.has_nagle)),
        "TCP_CORK" => host.with(|connection, _| connection.set_cork(settings.is_corked)),
        "TCP_NOTSENT_LOWAT" => {
            host.with(|connection, _| connection.set_unsent_limit(settings.unsent_limit()))
        }
        "SO_SNDBUF" | "SO_SNDBUFFORCE" => {
            host.with(|connection, _| connection.set_send_buffer(settings.config.send_buffer))
        }
        "TCP_USER_TIMEOUT" => host.with(|connection, _| connection.set_user_timeout(settings.user_timeout)),
        "SO_RCVBUF" | "SO_RCVBUFFORCE" => {
            let memory = settings.config.receive_memory.unwrap_or(u32::MAX);
            host.with(|connection, _| connection.set_receive_memory(memory))
        }
        "TCP_INQ" | "SO_ZEROCOPY" => Some(()),
        name if Settings::is_without_effect(name) => Some(()),
        _ => return Err(format!("the socket option {name} of a connection that is open")),
    };
    Ok(Returned(0))
}

fn option(call: &Call, descriptor: &Descriptor, host: &mut Host) -> Result<Progress, Lacking> {
    let name = names(call.arguments.get(2)).first().copied().unwrap_or_default();
    let settings = &descriptor.settings;
    let number = match name {
        // That of the connection once there is one, as the peer may take less.
        "TCP_MAXSEG" => match (&host.connection, &descriptor.role) {
            (Some(connection), Role::Connected) => u64::from(connection.info(host.instant()).snd_mss),
            _ => u64::from(settings.largest_segment()),
        },
        // The kernel doubles what was set.
        "SO_SNDBUF" => settings.config.send_buffer,
        "SO_RCVBUF" => u64::from(settings.config.receive_buffer) * 2,
        "TCP_NODELAY" => u64::from(!settings.has_nagle),
        "TCP_CORK" => u64::from(settings.is_corked),
        "TCP_NOTSENT_LOWAT" => u64::from(settings.unsent_limit),
        "SO_ERROR" => return Ok(pending_error(call, host)),
        _ => return Err(format!("getsockopt {name}")),
    };
    let number = i64::try_from(number).map_err(|_| format!("getsockopt {name} of what was not set"))?;
    Ok(compared(name, call.arguments.get(3), number))
}

fn pending_error(call: &Call, host: &mut Host) -> Progress {
    let actual = host.abort.take().map_or("0", error_of);
    let expected = match call.arguments.get(3) {
        Some(Expression::Array(list)) => list.first(),
        other => other,
    };
    let expected = match expected {
        Some(Expression::Word(word)) => word.clone(),
        Some(Expression::Number(number)) => number.to_string(),
        _ => return Returned(0),
    };
    // Linux's numbers of the errors that a connection can end with.
    let number = match actual {
        "ECONNREFUSED" => "111",
        "ECONNRESET" => "104",
        "ETIMEDOUT" => "110",
        other => other,
    };
    let is_same = expected == actual || expected == number;
    if is_same { Returned(0) } else { Differs(format!("SO_ERROR is {actual} instead of {expected}")) }
}

fn poll(call: &Call, descriptors: &Descriptors, host: &Host) -> Result<Progress, Lacking> {
    if host.owes_zero_copy_notice {
        return Err(transfer::ZERO_COPY_NOTICE.to_owned());
    }
    let bits = |value: Option<&Expression>| {
        let named =
            names(value).into_iter().filter_map(|name| POLL_BITS.iter().find(|(bit, _)| *bit == name));
        named.fold(value.and_then(single).unwrap_or(0), |bits, (_, bit)| bits | bit)
    };
    let Some(Expression::Array(list)) = call.arguments.first() else {
        return Err("poll without an array".to_owned());
    };
    let (mut ready, mut different) = (0, None);
    for entry in list {
        let Expression::Structure(fields) = entry else { return Err("poll without structures".to_owned()) };
        let field = |wanted: &str| {
            fields.iter().find(|(name, _)| name.as_deref() == Some(wanted)).map(|(_, value)| value)
        };
        let descriptor = field("fd").and_then(single).and_then(|fd| descriptors.open.get(&fd));
        let Some(descriptor) = descriptor else { return Ok(Failed("EBADF")) };
        let always = 0x8 | 0x10;
        let found = poll_events(descriptors, descriptor, host) & (bits(field("events")) | always);
        ready += i64::from(found != 0);
        if let Some(expected) = field("revents").map(|value| bits(Some(value)))
            && expected != found
        {
            different = Some(Differs(format!("revents are {found:#x} instead of {expected:#x}")));
        }
    }
    let timeout = call.arguments.get(2).and_then(single).unwrap_or(0);
    Ok(match different {
        _ if ready == 0 && timeout != 0 => Blocks,
        Some(different) => different,
        None => Returned(ready),
    })
}

/// Whether the connection can no longer be written to.
fn is_broken(state: State) -> bool {
    !state.may_write() || state == State::Closed
}
