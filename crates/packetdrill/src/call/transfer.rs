//! Calls that write and read.

use super::{Attempt, Blocks, Failed, Progress, Returned, is_broken, names};
use crate::error::Lacking;
use crate::host::Host;
use crate::script::{Call, Expression};
use crate::settings::single;
use crate::socket::{Descriptor, Role, error_of};
use linkmend_transport::tcp::State;

/// The number of bytes that a call is to transfer.
fn size(call: &Call) -> Result<u64, Lacking> {
    let number = match call.name.as_str() {
        "writev" | "readv" => call.arguments.get(1).and_then(vector_size),
        "sendmsg" | "recvmsg" => call.arguments.get(1).and_then(|message| match message {
            Expression::Structure(fields) => {
                let vector = fields.iter().find(|(name, _)| name.as_deref() == Some("msg_iov"));
                vector.and_then(|(_, vector)| vector_size(vector))
            }
            _ => None,
        }),
        _ => call.arguments.get(2).and_then(single),
    };
    let number = number.and_then(|number| u64::try_from(number).ok());
    number.ok_or_else(|| format!("`{}` without a size", call.name))
}

/// Whether a call that transfers bytes is given no address for them.
pub fn has_no_buffer(call: &Call) -> bool {
    matches!(call.name.as_str(), "write" | "send" | "sendto" | "read" | "recv" | "recvfrom")
        && names(call.arguments.get(1)) == ["NULL"]
}

/// The bytes of `[{..., 1000}, {..., 500}]`.
fn vector_size(vector: &Expression) -> Option<i64> {
    let Expression::Array(list) = vector else { return None };
    list.iter().try_fold(0_i64, |sum, part| {
        let Expression::Structure(fields) = part else { return None };
        let (_, size) = fields.last()?;
        sum.checked_add(single(size)?)
    })
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
    no_others(&flags, &["MSG_DONTWAIT", "MSG_NOSIGNAL"])?;
    let size = size(call)?;
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
    let left = size - attempt.bytes.min(size);
    let written = host.with(|connection, _| connection.write(left)).unwrap_or(0);
    attempt.bytes += written;
    host.written += written;
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
    no_others(&flags, &["MSG_DONTWAIT", "MSG_NOSIGNAL"])?;
    let size = size(call)?;
    let Some(connection) = host.connection.as_ref().filter(|_| descriptor.role == Role::Connected) else {
        return Ok(Failed("ENOTCONN"));
    };
    let state = connection.state();
    if connection.unread() > 0 && size > 0 {
        let read = host.with(|connection, _| connection.read(size)).unwrap_or(0);
        return Ok(Returned(read as i64));
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
