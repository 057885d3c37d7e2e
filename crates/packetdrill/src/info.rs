//! The names that code knows: fields of `tcp_info` and the kernel's constants.

use crate::python::Value;
use linkmend_transport::tcp::congestion::Phase;
use linkmend_transport::tcp::{Connection, State};
use linkmend_transport::{Instant, Nanos};

/// `tcpi_snd_ssthresh` before the first congestion.
const SSTHRESH_INFINITE: u32 = 0x7fff_ffff;

/// Constants of the kernel's headers.
const CONSTANTS: [(&str, i128); 18] = [
    ("TCP_CA_Open", 0),
    ("TCP_CA_Disorder", 1),
    ("TCP_CA_CWR", 2),
    ("TCP_CA_Recovery", 3),
    ("TCP_CA_Loss", 4),
    ("TCP_ESTABLISHED", 1),
    ("TCP_SYN_SENT", 2),
    ("TCP_SYN_RECV", 3),
    ("TCP_FIN_WAIT1", 4),
    ("TCP_FIN_WAIT2", 5),
    ("TCP_TIME_WAIT", 6),
    ("TCP_CLOSE", 7),
    ("TCP_CLOSE_WAIT", 8),
    ("TCP_LAST_ACK", 9),
    ("TCP_LISTEN", 10),
    ("TCP_CLOSING", 11),
    ("TCP_INFINITE_SSTHRESH", SSTHRESH_INFINITE as i128),
    ("TCPI_OPT_TIMESTAMPS", 1),
];

/// The value of a name in code; `None` if the simulated host does not keep it.
pub fn lookup(connection: Option<&Connection>, now: Instant, name: &str) -> Option<Value> {
    if let Some((_, value)) = CONSTANTS.iter().find(|(known, _)| *known == name) {
        return Some(Value::Integer(*value));
    }
    let connection = connection?;
    let field = name.strip_prefix("tcpi_")?;
    field_of(connection, now, field).map(Value::Integer)
}

fn field_of(connection: &Connection, now: Instant, field: &str) -> Option<i128> {
    let info = connection.info(now);
    let micros = |time: Nanos| i128::from(time.as_micros());
    Some(match field {
        "state" => state(connection.state()),
        "ca_state" => phase(info.phase),
        "retransmits" => info.timeouts_in_a_row.into(),
        "probes" => info.probes.into(),
        "backoff" => info.backoff.into(),
        "rto" => micros(info.rto),
        "snd_mss" => info.snd_mss.into(),
        "unacked" => info.unacked.into(),
        "sacked" => info.sacked.into(),
        "lost" => info.lost.into(),
        "retrans" => info.retrans.into(),
        "fackets" => 0,
        "rtt" => micros(info.rtt.unwrap_or_default()),
        "rttvar" => micros(info.rtt_deviation),
        "min_rtt" => info.min_rtt.map_or(i128::from(u32::MAX), micros),
        "snd_cwnd" => info.snd_cwnd.into(),
        "snd_ssthresh" => info.snd_ssthresh.min(SSTHRESH_INFINITE).into(),
        "reordering" => info.reordering.into(),
        "reord_seen" => info.reord_seen.into(),
        "total_retrans" => info.total_retrans.into(),
        "pacing_rate" => info.pacing_rate.unwrap_or(u64::MAX).into(),
        "delivery_rate" => info.delivery_rate.unwrap_or(0).into(),
        "delivery_rate_app_limited" => info.delivery_rate_app_limited.into(),
        "delivered" => info.delivered.into(),
        "delivered_ce" => info.delivered_ce.into(),
        "bytes_acked" => info.bytes_acked.into(),
        "bytes_sent" => info.bytes_sent.into(),
        "bytes_retrans" => info.bytes_retrans.into(),
        "data_segs_out" => info.segments_sent.into(),
        "notsent_bytes" => info.notsent_bytes.into(),
        "busy_time" => micros(info.busy_time),
        "rwnd_limited" => micros(info.rwnd_limited),
        "sndbuf_limited" => micros(info.sndbuf_limited),
        // In milliseconds.
        "last_data_recv" => micros(info.last_data_recv) / 1_000,
        "dsack_dups" => info.dsack_dups.into(),
        "total_rto" => info.timeouts.into(),
        "advmss" => info.advmss.into(),
        "rcv_mss" => info.rcv_mss.into(),
        "snd_wnd" => info.snd_wnd.into(),
        _ => return None,
    })
}

fn phase(phase: Phase) -> i128 {
    match phase {
        Phase::Open => 0,
        Phase::Disorder => 1,
        Phase::Reduced => 2,
        Phase::Recovery => 3,
        Phase::Loss => 4,
    }
}

fn state(state: State) -> i128 {
    match state {
        State::Established => 1,
        State::SynSent => 2,
        State::SynReceived => 3,
        State::FinWait1 => 4,
        State::FinWait2 => 5,
        State::TimeWait => 6,
        State::Closed => 7,
        State::CloseWait => 8,
        State::LastAck => 9,
        State::Listen => 10,
        State::Closing => 11,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linkmend_transport::tcp::Config;

    const NOW: Instant = Instant(0);

    #[test]
    fn constants_are_known_without_a_connection_and_fields_only_with_one() {
        assert_eq!(lookup(None, NOW, "TCP_CA_Loss"), Some(Value::Integer(4)));
        assert_eq!(lookup(None, NOW, "tcpi_snd_cwnd"), None);
        let connection = Connection::new_client(Config::default()).expect("a configuration");
        assert_eq!(lookup(Some(&connection), NOW, "tcpi_snd_ssthresh"), Some(Value::Integer(0x7fff_ffff)));
        assert_eq!(lookup(Some(&connection), NOW, "tcpi_state"), Some(Value::Integer(7)));
        assert_eq!(lookup(Some(&connection), NOW, "tcpi_rcv_ooopack"), None);
    }
}
