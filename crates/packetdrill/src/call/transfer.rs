//! Calls that write and read.

use super::control::{compare_unread, field, read_error_queue};
use super::{Attempt, Blocks, Failed, Progress, Returned, is_broken, names};
use crate::error::Lacking;
use crate::host::Host;
use crate::script::{Call, Expression};
use crate::settings::single;
use crate::socket::{Descriptor, Descriptors, Role, error_of};
use linkmend_transport::tcp::{State, Write};

/// Buffers of the application that one packet holds without copying (Linux: `MAX_SKB_FRAGS`). More of them are divided into
/// packets as the simulated host does not.
const PACKET_BUFFERS: usize = 17;
/// What Linux puts into the error queue once it needs the buffers of a write no longer.
pub const ZERO_COPY_NOTICE: &str = "the notice that a write with MSG_ZEROCOPY is over";

/// The number of bytes that a call is to transfer.
fn size(call: &Call) -> Result<u64, Lacking> {
    let number = match call.name.as_str() {
        "writev" | "readv" => call.arguments.get(1).and_then(vector_size),
        "sendmsg" | "recvmsg" => message_vector(call).and_then(vector_size),
        "sendfile" => call.arguments.get(3).and_then(single),
        _ => call.arguments.get(2).and_then(single),
    };
    let number = number.and_then(|number| u64::try_from(number).ok());
    number.ok_or_else(|| format!("`{}` without a size", call.name))
}

/// The buffers of `sendmsg` or `recvmsg`.
fn message_vector(call: &Call) -> Option<&Expression> {
    call.arguments.get(1).and_then(|message| field(message, "msg_iov"))
}

/// How many buffers with something in them a call writes.
fn buffers(call: &Call) -> usize {
    match message_vector(call) {
        Some(Expression::Array(list)) => list.iter().filter(|part| buffer_size(part) != Some(0)).count(),
        _ => 1,
    }
}

/// Whether a call that transfers bytes is given no address for them.
pub fn has_no_buffer(call: &Call) -> bool {
    matches!(call.name.as_str(), "write" | "send" | "sendto" | "read" | "recv" | "recvfrom")
        && names(call.arguments.get(1)) == ["NULL"]
}

/// The bytes of `[{..., 1000}, {..., 500}]`.
fn vector_size(vector: &Expression) -> Option<i64> {
    let Expression::Array(list) = vector else { return None };
    list.iter().try_fold(0_i64, |sum, part| sum.checked_add(buffer_size(part)?))
}

fn buffer_size(buffer: &Expression) -> Option<i64> {
    let Expression::Structure(fields) = buffer else { return None };
    fields.last().and_then(|(_, size)| single(size))
}

/// The flags of a call; `lacking` are those that the simulated host does not have.
fn flags(call: &Call) -> Vec<&str> {
    let place = match call.name.as_str() {
        "send" | "sendto" | "recv" | "recvfrom" => 3,
        "sendmsg" | "recvmsg" => 2,
        _ => return Vec::new(),
    };
    names(call.arguments.get(place))
}

fn no_others(flags: &[&str], known: &[&str]) -> Result<(), Lacking> {
    match flags.iter().find(|flag| !known.contains(flag)) {
        Some(flag) => Err(format!("the flag {flag}")),
        None => Ok(()),
    }
}

/// Writes; a blocking call goes on until everything has its place in the send buffer.
pub fn write(
    call: &Call,
    attempt: &mut Attempt,
    descriptor: &Descriptor,
    host: &mut Host,
) -> Result<Progress, Lacking> {
    let flags = flags(call);
    no_others(&flags, &["MSG_DONTWAIT", "MSG_NOSIGNAL", "MSG_MORE", "MSG_EOR", "MSG_ZEROCOPY"])?;
    let size = size(call)?;
    if flags.contains(&"MSG_ZEROCOPY") && size > 0 {
        let buffers = buffers(call);
        if buffers > PACKET_BUFFERS {
            return Err(format!("the flag MSG_ZEROCOPY with {buffers} buffers (more than {PACKET_BUFFERS})"));
        }
        host.owes_zero_copy_notice = true;
    }
    write_bytes(size, &flags, attempt, descriptor, host)
}

/// `sendfile`: writes what is in a file from the offset on.
pub fn send_file(
    call: &Call,
    attempt: &mut Attempt,
    descriptor: &Descriptor,
    descriptors: &Descriptors,
    host: &mut Host,
) -> Result<Progress, Lacking> {
    let source = call.arguments.get(1).and_then(single).and_then(|fd| descriptors.open.get(&fd));
    let Some(Role::File(bytes)) = source.map(|source| &source.role) else { return Ok(Failed("EBADF")) };
    let offset = call.arguments.get(2).and_then(single).and_then(|offset| u64::try_from(offset).ok());
    let size = size(call)?.min(bytes.saturating_sub(offset.unwrap_or(0)));
    write_bytes(size, &[], attempt, descriptor, host)
}

fn write_bytes(
    size: u64,
    flags: &[&str],
    attempt: &mut Attempt,
    descriptor: &Descriptor,
    host: &mut Host,
) -> Result<Progress, Lacking> {
    if descriptor.role != Role::Connected {
        return Ok(Failed("EPIPE"));
    }
    if let Some(abort) = host.abort.take() {
        return Ok(Failed(error_of(abort)));
    }
    let state = host.connection.as_ref().map_or(State::Closed, |connection| connection.state());
    if descriptor.is_writing_over || is_broken(state) {
        return Ok(Failed("EPIPE"));
    }
    if matches!(state, State::SynSent | State::SynReceived) {
        return Ok(Blocks);
    }
    // One that waits is not woken for every byte that has room.
    let is_woken = || host.connection.as_ref().is_some_and(|connection| connection.is_writable());
    if std::mem::replace(&mut attempt.has_begun, true) && !is_woken() {
        return Ok(Blocks);
    }
    let kind = Write { more_follows: flags.contains(&"MSG_MORE"), ends_record: flags.contains(&"MSG_EOR") };
    while attempt.bytes < size {
        let left = size - attempt.bytes;
        match host.with(|connection, _| connection.write_as(left, kind)) {
            None | Some(0) => break,
            Some(written) => {
                attempt.bytes += written;
                host.written += written;
            }
        }
    }
    let waits_for_more = attempt.bytes < size && !descriptor.is_nonblocking;
    if attempt.bytes > 0 && !waits_for_more {
        host.note_written();
    }
    let waits = !descriptor.is_nonblocking && !flags.contains(&"MSG_DONTWAIT");
    Ok(match attempt.bytes {
        bytes if bytes == size => Returned(size as i64),
        bytes if bytes > 0 && !waits => Returned(bytes as i64),
        _ if waits => Blocks,
        _ => Failed("EAGAIN"),
    })
}

/// Reads what there is, at least a byte unless the peer has closed.
pub fn read(call: &Call, descriptor: &Descriptor, host: &mut Host) -> Result<Progress, Lacking> {
    let flags = flags(call);
    no_others(&flags, &["MSG_DONTWAIT", "MSG_NOSIGNAL", "MSG_ERRQUEUE"])?;
    if flags.contains(&"MSG_ERRQUEUE") {
        if host.owes_zero_copy_notice {
            return Err(ZERO_COPY_NOTICE.to_owned());
        }
        if host.timestamping.is_none() {
            return Err("the flag MSG_ERRQUEUE without timestamps".to_owned());
        }
        return Ok(read_error_queue(call, host));
    }
    let size = size(call)?;
    let Some(connection) = host.connection.as_ref().filter(|_| descriptor.role == Role::Connected) else {
        return Ok(Failed("ENOTCONN"));
    };
    let state = connection.state();
    if connection.unread() > 0 && size > 0 {
        let read = host.with(|connection, _| connection.read(size)).unwrap_or(0);
        let difference = if descriptor.settings.tells_unread { compare_unread(call, host) } else { None };
        return Ok(difference.unwrap_or(Returned(read as i64)));
    }
    if let Some(abort) = host.abort.take() {
        return Ok(Failed(error_of(abort)));
    }
    let is_over = host.is_peer_closed || descriptor.is_reading_over || state == State::Closed;
    Ok(match is_over || size == 0 {
        true => Returned(0),
        false if flags.contains(&"MSG_DONTWAIT") => Failed("EAGAIN"),
        false => Blocks,
    })
}
