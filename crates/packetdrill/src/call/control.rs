//! Control messages (`msg_control`) of calls that receive.

use super::{Differs, Failed, Progress, Returned, names};
use crate::host::Host;
use crate::script::{Call, Expression};
use crate::settings::single;
use linkmend_transport::Nanos;

/// The field of a structure.
pub fn field<'a>(structure: &'a Expression, wanted: &str) -> Option<&'a Expression> {
    let Expression::Structure(fields) = structure else { return None };
    fields.iter().find(|(name, _)| name.as_deref() == Some(wanted)).map(|(_, value)| value)
}

/// The data of the control message of this kind that the script expects.
fn expected<'a>(call: &'a Call, kinds: &[&str]) -> Option<&'a Expression> {
    let Some(Expression::Array(messages)) = field(call.arguments.get(1)?, "msg_control") else { return None };
    let is_wanted =
        |message: &&Expression| names(field(message, "cmsg_type")).iter().any(|name| kinds.contains(name));
    field(messages.iter().find(is_wanted)?, "cmsg_data")
}

/// Compares what is left to read with what the script says of it (`TCP_CM_INQ`). The end of the stream counts as a byte.
pub fn compare_unread(call: &Call, host: &Host) -> Option<Progress> {
    let expected = expected(call, &["TCP_CM_INQ"]).and_then(single)?;
    let unread = host.connection.as_ref().map_or(0, |connection| connection.unread());
    let actual = if unread == 0 && host.is_peer_closed { 1 } else { unread as i64 };
    (actual != expected).then(|| Differs(format!("TCP_CM_INQ is {actual} instead of {expected}")))
}

/// Takes a timestamp from the error queue, and compares it with what the script says of it.
pub fn read_error_queue(call: &Call, host: &mut Host) -> Progress {
    let Some(timestamp) = host.timestamping.as_mut().and_then(|timestamping| timestamping.take()) else {
        return Failed("EAGAIN");
    };
    let number =
        |data: Option<&Expression>, name: &str| data.and_then(|data| field(data, name)).and_then(single);
    let time = expected(call, &["SCM_TIMESTAMPING"]);
    if let (Some(seconds), Some(nanos)) = (number(time, "scm_sec"), number(time, "scm_nsec")) {
        let expected = Nanos::from_secs(seconds.unsigned_abs()).0 + nanos.unsigned_abs();
        if expected.abs_diff(timestamp.at.0) > host.settings.tolerance.0 {
            let (actual, expected) = (timestamp.at.as_secs_f64(), Nanos(expected).as_secs_f64());
            return Differs(format!("the timestamp is {actual:.6} instead of {expected:.6}"));
        }
    }
    let error = expected(call, &["CMSG_TYPE_RECVERR", "IP_RECVERR", "IPV6_RECVERR"]);
    let moment = names(error.and_then(|error| field(error, "ee_info"))).first().copied();
    if let Some(wanted) = moment.filter(|wanted| *wanted != timestamp.moment.name()) {
        return Differs(format!("the timestamp is {} instead of {wanted}", timestamp.moment.name()));
    }
    match number(error, "ee_data") {
        Some(key) if key.unsigned_abs() != timestamp.key => {
            Differs(format!("the timestamp is of byte {} instead of {key}", timestamp.key))
        }
        _ => Returned(0),
    }
}
