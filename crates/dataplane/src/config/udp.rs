//! What a link over UDP may be combined with, and what differs from a cable unless it is configured.

use super::error::Problem;
use super::failover::FailoverConfig;
use super::fallback::FallbackLimits;
use super::link::{CongestionControl, EcnThreshold, LinkConfig, PortKind};
use crate::settings::LinkSettings;
use crate::udp_link::UdpLink;
use linkmend_control::ClassService;
use linkmend_protocol::{Copies, Format};
use std::time::Duration;

/// The loss that the copies of one round are to leave. What is left takes another round trip; nothing is given up. The
/// target of a cable would take 13 copies at a loss of 25 %, which a path that others share has no room for.
const TARGET_LOSS: f64 = 1e-2;
/// The longest wait of an ACK, which is a datagram of its own.
const ACK_INTERVAL: Duration = Duration::from_millis(5);
/// The silence after which the peer is considered dead: routers need seconds to find another way.
const PEER_TIMEOUT: Duration = Duration::from_secs(3);
/// The frames over which the loss is measured: the rate of a path changes within seconds.
const LOSS_WINDOW_FRAMES: u32 = 1_000;
/// Rounds of copies after which a frame is given up. With a round trip of 20 ms, they take as long as it takes to notice that
/// the path no longer passes datagrams of the length in use.
const ROUNDS_MAX: u8 = 255;
/// The longest detection time that the failover allows: paths of the Internet delay single frames by tens of milliseconds.
const DETECTION: Duration = Duration::from_millis(150);

/// The longest time that frames wait at the rate of a path, and the one above which those that know ECN are marked. Without
/// bounds in time, the queue of a slow path would delay everything for seconds.
const QUEUE_TIME: Duration = Duration::from_millis(100);
const MARK_TIME: Duration = Duration::from_millis(20);
/// A few frames, however slow the path is.
const QUEUE_BYTES_LEAST: u64 = 64 << 10;
const MARK_BYTES_LEAST: u64 = 15_000;

impl LinkConfig {
    /// Translates the configuration into the link end's settings. Call [`super::DaemonConfig::validate`] first.
    pub fn settings(&self) -> LinkSettings {
        let settings = self.settings_of_a_cable();
        if self.has_udp() { suited(settings, self) } else { settings }
    }
}

/// Changes what is not configured to what suits a link over UDP. Beside a cable, the cable's own parameters stay.
fn suited(settings: LinkSettings, config: &LinkConfig) -> LinkSettings {
    let mut settings = settings;
    // A path that loses a quarter of its frames must stay as transparent as any other.
    settings.fallback.enabled &= config.fallback != FallbackLimits::default();
    let overrides = &mut settings.overrides;
    overrides.peer_timeout = overrides.peer_timeout.or(Some(PEER_TIMEOUT));
    overrides.max_rounds = overrides.max_rounds.or(Some(ROUNDS_MAX));
    if config.links().any(|link| !UdpLink::is_meant(link)) {
        return with_detection(settings, config);
    }
    overrides.ack_interval = overrides.ack_interval.or(Some(ACK_INTERVAL));
    overrides.loss_window_frames = overrides.loss_window_frames.or(Some(LOSS_WINDOW_FRAMES));
    if let Some(protection) = &mut settings.protection
        && let Copies::Target { target_loss, .. } = &mut protection.copies
        && config.protect.target.is_none()
    {
        *target_loss = TARGET_LOSS;
    }
    if settings.is_controlled && config.ecn == EcnThreshold::default() {
        // The time that frames wait decides (`engine::delays`), whatever the rate is.
        settings.ecn_threshold_bytes = Some(u64::MAX);
    }
    bound_queue(&mut settings, config);
    with_detection(settings, config)
}

/// Bounds the queue in time, where the rate is known.
fn bound_queue(settings: &mut LinkSettings, config: &LinkConfig) {
    let Some(rate_bps) = settings.rate_bps else { return };
    let bytes_in =
        |time: Duration| (u128::from(rate_bps) * time.as_nanos() / 8_000_000_000).min(u64::MAX.into()) as u64;
    if config.queue == LinkConfig::QUEUE_DEFAULT {
        settings.queue_bytes = bytes_in(QUEUE_TIME).clamp(QUEUE_BYTES_LEAST, LinkConfig::QUEUE_DEFAULT.0);
    }
    if let (EcnThreshold::Above(configured), true) = (config.ecn, config.ecn == EcnThreshold::default()) {
        settings.ecn_threshold_bytes = Some(bytes_in(MARK_TIME).clamp(MARK_BYTES_LEAST, configured.0));
    }
}

fn with_detection(mut settings: LinkSettings, config: &LinkConfig) -> LinkSettings {
    if let Some(backup) = &mut settings.backup
        && config.failover.detection == FailoverConfig::default().detection
    {
        backup.detection = DETECTION;
    }
    settings
}

/// Checks a link that is written like one over UDP.
///
/// # Errors
/// What is wrong with it, under `key`.
pub(super) fn validate_link(
    config: &LinkConfig,
    key: &'static str,
    text: &str,
) -> Result<(), (&'static str, Problem)> {
    let problem = |requirement: String| Err(Problem::value(key, text, requirement));
    let link = match UdpLink::parse(text) {
        Ok(link) => link,
        Err(error) => return problem(error.to_string()),
    };
    if let Some(address) = link.public_address().filter(|_| !config.insecure && config.key.is_none()) {
        return problem(format!(
            "{address} is a public address, and without a key the datagrams are neither encrypted nor authenticated: give both \
             ends the same --key, or run the link inside a WireGuard tunnel and give the peer's address there, or allow it \
             with --insecure (`insecure = true`)"
        ));
    }
    Ok(())
}

/// Checks what a link end with a link over UDP may be combined with.
///
/// # Errors
/// The first key that does not fit, and why.
pub(super) fn validate(config: &LinkConfig) -> Result<(), (&'static str, Problem)> {
    if !config.has_udp() {
        let of_paths = |key, value: &str| {
            Err(Problem::value(key, value, "concerns links over UDP, and this link has none"))
        };
        if config.protect.classes.iter().any(|rule| matches!(rule.service, ClassService::Deadline(_))) {
            return of_paths("protect.classes", "a deadline");
        }
        return match (config.insecure, config.congestion) {
            (true, _) => of_paths("insecure", "true"),
            (_, CongestionControl::Always) => of_paths("congestion", "always"),
            (false, CongestionControl::Auto | CongestionControl::None) => Ok(()),
        };
    }
    let format = Format::from(config.format);
    if config.ports == PortKind::Xdp {
        return Err(Problem::value(
            "ports",
            "xdp",
            "cannot be used with a link over UDP, whose frames the kernel cannot forward",
        ));
    }
    if format != Format::Transparent {
        return Err(Problem::value(
            "format",
            format,
            "cannot be used with a link over UDP, which needs the transparent format",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{DaemonConfig, HeaderFormat};
    use linkmend_control::ProtectConfig;
    use linkmend_quantity::{BitRate, ByteSize, LossRate};

    fn verdict(change: impl FnOnce(&mut LinkConfig)) -> Result<(), String> {
        let mut link = LinkConfig::new("eth1".to_owned().into(), "udp:gate.example");
        change(&mut link);
        DaemonConfig::default().with_link(link).map(|_| ()).map_err(|error| error.to_string())
    }

    #[test]
    fn what_cannot_be_combined_with_a_path_is_named() {
        type Case = (fn(&mut LinkConfig), &'static str);
        let cases: [Case; 8] = [
            (|link| link.link = "udp:a:b:c".to_owned(), "--link udp:a:b:c: must be `udp:HOST`"),
            (|link| link.link = "udp:8.8.8.8".to_owned(), "--link udp:8.8.8.8: 8.8.8.8 is a public address"),
            (
                |link| link.backup = Some("udp:[2001:db8::1]".to_owned()),
                "--backup udp:[2001:db8::1]: 2001:db8::1 is",
            ),
            (|link| link.ports = PortKind::Xdp, "--ports xdp: cannot be used with a link over UDP"),
            (|link| link.format = HeaderFormat::Compact, "--format compact: cannot be used"),
            (
                |link| (link.link, link.insecure) = ("eth2".to_owned(), true),
                "--insecure true: concerns links over UDP",
            ),
            (
                |link| (link.link, link.congestion) = ("eth2".to_owned(), CongestionControl::Always),
                "--congestion always: concerns links over UDP",
            ),
            (
                |link| {
                    (link.link, link.backup) = ("udp:listen".to_owned(), Some("udp:listen:34997".to_owned()))
                },
                "--backup `udp:listen:34997` is also another port of this link",
            ),
        ];
        for (change, expected) in cases {
            let error = verdict(change).expect_err(expected);
            assert!(error.starts_with(expected), "{error}");
        }
        verdict(|_| ()).expect("a name");
        verdict(|link| (link.link, link.insecure) = ("udp:8.8.8.8".to_owned(), true)).expect("allowed");
        verdict(|link| (link.link, link.key) = ("udp:8.8.8.8".to_owned(), Some("/key".into())))
            .expect("a key");
        verdict(|link| {
            (link.link, link.backup) = ("udp:10.0.0.1".to_owned(), Some("udp:10.0.0.1:9".to_owned()))
        })
        .expect("two paths");
    }

    #[test]
    fn two_links_cannot_wait_at_one_port_and_need_names() {
        let waits = |name: &str, link: &str, inner: &str| {
            let config = LinkConfig::new(inner.to_owned().into(), link);
            LinkConfig { name: Some(name.to_owned()), ..config }
        };
        let both = |second: &str| {
            let links = vec![waits("a", "udp:listen", "eth1"), waits("b", second, "eth2")];
            DaemonConfig { links, ..DaemonConfig::default() }
                .validate()
                .map_err(|(_, problem)| problem.to_string())
        };
        assert_eq!(
            both("udp:listen:34997"),
            Err("`udp:listen:34997` is already a port of link a".to_owned())
        );
        assert_eq!(both("udp:listen:34998"), Ok(()));
    }

    #[test]
    fn a_path_has_its_own_defaults_and_what_is_configured_stays() {
        let path = LinkConfig::new("eth1".to_owned().into(), "udp:listen");
        let settings = path.settings();
        assert!(!settings.fallback.enabled && settings.name == "udp");
        let target = |settings: LinkSettings| settings.protection.map(|protection| protection.copies);
        let wanted = |target_loss| Some(Copies::Target { target_loss, initial_loss: 1e-3 });
        assert_eq!(target(settings), wanted(TARGET_LOSS));
        let protect = ProtectConfig { target: Some(LossRate(1e-8)), ..ProtectConfig::default() };
        assert_eq!(target(LinkConfig { protect, ..path.clone() }.settings()), wanted(1e-8));
        let limits = FallbackLimits { return_factor: 0.4, ..FallbackLimits::default() };
        assert!(LinkConfig { fallback: limits, ..path.clone() }.settings().fallback.enabled);
        // The cable is protected as if it were alone.
        let beside = LinkConfig { link: "eth2".to_owned(), backup: Some("udp:listen".to_owned()), ..path };
        assert_eq!(beside.settings().backup.map(|backup| backup.detection), Some(DETECTION));
        assert_eq!(target(beside.settings()), wanted(1e-8));
    }

    #[test]
    fn a_path_is_shared_unless_it_has_a_rate_or_that_is_refused() {
        let shares = |congestion, rate: Option<u64>| {
            let config = LinkConfig::new("eth1".to_owned().into(), "udp:listen");
            let settings = LinkConfig { congestion, rate: rate.map(BitRate), ..config }.settings();
            (settings.is_controlled, settings.ecn_threshold_bytes)
        };
        let by_time = Some(u64::MAX);
        assert_eq!(shares(CongestionControl::Auto, None), (true, by_time));
        assert_eq!(shares(CongestionControl::Auto, Some(20_000_000)), (false, Some(50_000)));
        assert!(shares(CongestionControl::Always, Some(20_000_000)).0);
        assert_eq!(shares(CongestionControl::None, None), (false, Some(100_000)));
        assert!(LinkConfig::new("eth1".to_owned().into(), "udp:listen").settings().is_controlled);
        assert!(!LinkConfig::new("eth1".to_owned().into(), "eth2").settings().is_controlled);
    }

    #[test]
    fn the_queue_of_a_path_is_bounded_in_time() {
        let bounds = |rate: u64, link: &str| {
            let config = LinkConfig::new("eth1".to_owned().into(), link);
            let settings = LinkConfig { rate: Some(BitRate(rate)), ..config }.settings();
            (settings.queue_bytes, settings.ecn_threshold_bytes)
        };
        assert_eq!(bounds(20_000_000, "udp:listen"), (250_000, Some(50_000)));
        assert_eq!(bounds(1_000_000, "udp:listen"), (65_536, Some(15_000)));
        assert_eq!(bounds(1_000_000_000, "udp:listen"), (1 << 20, Some(100_000)));
        assert_eq!(bounds(20_000_000, "eth2"), (1 << 20, Some(100_000)));
        let own = LinkConfig {
            rate: Some(BitRate(1_000_000)),
            queue: ByteSize(512 << 10),
            ecn: EcnThreshold::Off,
            ..LinkConfig::new("eth1".to_owned().into(), "udp:listen")
        };
        assert_eq!((own.settings().queue_bytes, own.settings().ecn_threshold_bytes), (512 << 10, None));
    }
}
