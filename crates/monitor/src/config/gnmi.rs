//! Devices that send their counters over gNMI.

use crate::source::GnmiSettings;
use linkmend_diagnose::ParameterError;
use linkmend_quantity::Span;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What `source = "gnmi"` needs: `[gnmi]`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[cfg_attr(feature = "clap", command(next_help_heading = "Counters over gNMI"))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct GnmiConfig {
    /// With --source gnmi, a device to subscribe to, like leaf1=10.0.0.1:9339; may be repeated
    #[cfg_attr(feature = "clap", arg(long, value_name = "[NAME=]HOST[:PORT]"))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gnmi: Vec<String>,
    /// Certificate authorities for TLS to the devices, in PEM format [default: the system's]
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gnmi_ca: Option<PathBuf>,
    /// Certificate that this machine shows to the devices, in PEM format; requires --gnmi-key [default: none]
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gnmi_certificate: Option<PathBuf>,
    /// The key of that certificate, in PEM format
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gnmi_key: Option<PathBuf>,
    /// Name in the certificates of the devices [default: that of the host]
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gnmi_server_name: Option<String>,
    /// Accept any certificate: anyone on the path can pretend to be the device
    #[cfg_attr(feature = "clap", arg(long))]
    pub gnmi_skip_verification: bool,
    /// Connect without TLS
    #[cfg_attr(feature = "clap", arg(long))]
    pub gnmi_plaintext: bool,
    /// File with the user on its first line and the password on its second, readable only by its owner [default: none]
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gnmi_credentials: Option<PathBuf>,
    /// Interval at which devices send counters, 1s to 1h [default: 10s]
    #[cfg_attr(feature = "clap", arg(long, value_name = "TIME"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gnmi_sample: Option<Span>,
    /// Origin of paths; some devices need an empty one [default: openconfig]
    #[cfg_attr(feature = "clap", arg(long, value_name = "TEXT"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gnmi_origin: Option<String>,
    /// Target in the prefix of paths, which some devices and gateways need [default: NAME of --gnmi, if it has one]
    #[cfg_attr(feature = "clap", arg(long, value_name = "TEXT"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gnmi_target: Option<String>,
}

impl GnmiConfig {
    /// Fills in what was left out.
    pub(super) fn settings(&self, patterns: &[String]) -> Result<GnmiSettings, ParameterError> {
        let usual = GnmiSettings::default();
        let shown = |path: &PathBuf| path.display().to_string();
        let identity = match (&self.gnmi_certificate, &self.gnmi_key) {
            (Some(certificate), Some(key)) => Some((certificate.clone(), key.clone())),
            (None, None) => None,
            (Some(certificate), None) => {
                return Err(ParameterError::new("gnmi-certificate", shown(certificate), "requires gnmi-key"));
            }
            (None, Some(key)) => {
                return Err(ParameterError::new("gnmi-key", shown(key), "requires gnmi-certificate"));
            }
        };
        let settings = GnmiSettings {
            devices: self.gnmi.clone(),
            ca: self.gnmi_ca.clone(),
            identity,
            server_name: self.gnmi_server_name.clone(),
            skip_verification: self.gnmi_skip_verification,
            plaintext: self.gnmi_plaintext,
            credentials: self.gnmi_credentials.clone(),
            origin: self.gnmi_origin.clone().unwrap_or(usual.origin),
            target: self.gnmi_target.clone(),
            sample: self.gnmi_sample.map_or(usual.sample, |sample| sample.0),
            patterns: patterns.to_vec(),
        };
        settings.validate()?;
        Ok(settings)
    }

    /// The first key that was written.
    pub(super) fn written(&self) -> Option<(&'static str, String)> {
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        let flag = |flag: bool| flag.then(|| "true".to_owned());
        let all = [
            ("gnmi", self.gnmi.first().cloned()),
            ("gnmi-ca", path(&self.gnmi_ca)),
            ("gnmi-certificate", path(&self.gnmi_certificate)),
            ("gnmi-key", path(&self.gnmi_key)),
            ("gnmi-server-name", self.gnmi_server_name.clone()),
            ("gnmi-skip-verification", flag(self.gnmi_skip_verification)),
            ("gnmi-plaintext", flag(self.gnmi_plaintext)),
            ("gnmi-credentials", path(&self.gnmi_credentials)),
            ("gnmi-sample", self.gnmi_sample.map(|sample| format!("{:?}", sample.0))),
            ("gnmi-origin", self.gnmi_origin.clone()),
            ("gnmi-target", self.gnmi_target.clone()),
        ];
        all.into_iter().find_map(|(name, value)| value.map(|value| (name, value)))
    }
}

#[cfg(test)]
mod tests {
    use crate::config::{MonitorConfig, SourceChoice};

    fn resolve(text: &str) -> Result<SourceChoice, String> {
        let config: MonitorConfig = toml::from_str(text).map_err(|error| error.to_string())?;
        config.resolve("leaf1").map(|resolved| resolved.source).map_err(|error| error.to_string())
    }

    #[test]
    fn a_device_is_enough() {
        let source = resolve(
            "source = \"gnmi\"\n[counters]\ninterface = [\"Ethernet*\"]\n[gnmi]\ngnmi = [\"10.0.0.1\"]",
        );
        let Ok(SourceChoice::Gnmi(settings)) = source else { panic!("{source:?}") };
        assert_eq!((&settings.devices[..], settings.sample.as_secs()), (&["10.0.0.1".to_owned()][..], 10));
        assert_eq!(
            (&settings.patterns[..], settings.origin.as_str()),
            (&["Ethernet*".to_owned()][..], "openconfig")
        );
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        for (text, part) in [
            ("source = \"gnmi\"", "gnmi = : must be 1 to 256 devices"),
            ("[gnmi]\ngnmi = [\"a\"]", "gnmi = a: requires source = \"gnmi\""),
            ("[gnmi]\ngnmi-plaintext = true", "gnmi-plaintext = true: requires source = \"gnmi\""),
            (
                "source = \"gnmi\"\n[gnmi]\ngnmi = [\"a\"]\ngnmi-key = \"k\"",
                "gnmi-key = k: requires gnmi-certificate",
            ),
            ("source = \"gnmi\"\n[gnmi]\ngnmi = [\"a\"]\ngnmi-certificate = \"c\"", "requires gnmi-key"),
            ("source = \"gnmi\"\n[counters]\nsonic = \"unix:/a\"\n[gnmi]\ngnmi = [\"a\"]", "sonic = unix:/a"),
        ] {
            let error = resolve(text).expect_err("refused");
            assert!(error.contains(part), "{error}");
        }
    }
}
