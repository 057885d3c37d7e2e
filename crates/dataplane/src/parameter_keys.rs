//! What users call the fields of the protocol's configuration: the keys of the configuration file.

/// Pairs of the protocol's field and our key.
pub(crate) const KEYS: [(&str, &str); 13] = [
    ("window_frames", "parameters.window"),
    ("window_bytes", "parameters.tx-buffer"),
    ("rx_buffer_bytes", "parameters.rx-buffer"),
    ("pause_bytes", "parameters.pause"),
    ("resume_bytes", "parameters.resume"),
    ("recovery_timeout", "parameters.recovery-timeout"),
    ("dummy_copies", "parameters.dummy-copies"),
    ("peer_timeout", "parameters.peer-timeout"),
    ("ack_interval", "parameters.ack-interval"),
    ("loss_window_frames", "parameters.loss-window"),
    ("fallback.ordered_loss_max", "fallback.ordered-loss-max"),
    ("fallback.non_blocking_loss_max", "fallback.non-blocking-loss-max"),
    ("fallback.return_factor", "fallback.return-factor"),
];

/// The key for a field of the protocol's configuration.
pub(crate) fn parameter_key(field: &str) -> &'static str {
    KEYS.iter().find(|(name, _)| *name == field).map_or("parameters", |(_, key)| key)
}
