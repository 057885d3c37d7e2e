//! Which devices are subscribed to, and how they are reached.

use super::secrets::{Credentials, Security, Tls, tls};
use linkmend_diagnose::{ParameterError, is_printable};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// The port of gNMI (IANA).
const PORT_DEFAULT: u16 = 9339;
/// Devices that one agent subscribes to.
const DEVICES_MOST: usize = 256;
/// How often counters are sent.
const SAMPLE_DEFAULT: Duration = Duration::from_secs(10);
const SAMPLE_LEAST: Duration = Duration::from_secs(1);
const SAMPLE_MOST: Duration = Duration::from_hours(1);
/// The longest name of a device, an origin or a target.
const NAME_LENGTH_MOST: usize = 255;

/// A device, and what it is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GnmiDevice {
    /// In front of the names of its ports, if there are several devices.
    pub name: String,
    /// Whether the name was written, rather than taken from the address.
    pub is_named: bool,
    /// A name or an address; that of IPv6 without brackets.
    pub host: String,
    /// Of its gNMI server, 9339 unless written.
    pub port: u16,
}

impl FromStr for GnmiDevice {
    type Err = &'static str;

    /// Reads `[NAME=]HOST[:PORT]`.
    fn from_str(text: &str) -> Result<GnmiDevice, &'static str> {
        let rule = "must be HOST, HOST:PORT, or either after NAME=, like leaf1=10.0.0.1:9339; addresses of IPv6 need brackets";
        let (name, address) = match text.split_once('=') {
            Some((name, address)) => (Some(name), address),
            None => (None, text),
        };
        let (host, port) = match address.strip_prefix('[') {
            Some(rest) => rest.split_once(']').ok_or(rule)?,
            None => address.split_at(address.find(':').unwrap_or(address.len())),
        };
        let port = match port.strip_prefix(':') {
            Some(port) => port.parse().ok().filter(|&port| port > 0).ok_or(rule)?,
            None if port.is_empty() => PORT_DEFAULT,
            None => return Err(rule),
        };
        let fits = |text: &str| {
            (1..=NAME_LENGTH_MOST).contains(&text.len())
                && text.chars().all(|c| is_printable(c) && !c.is_whitespace() && c != '/')
        };
        if !fits(host) || !name.is_none_or(fits) {
            return Err(rule);
        }
        Ok(GnmiDevice {
            name: name.unwrap_or(host).to_owned(),
            is_named: name.is_some(),
            host: host.to_owned(),
            port,
        })
    }
}

impl GnmiDevice {
    /// `host:port`, as an address is written.
    pub fn address(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

/// See the module's documentation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GnmiSettings {
    /// `[NAME=]HOST[:PORT]` of each device.
    pub devices: Vec<String>,
    /// Authorities that may vouch for a device, in PEM format; `None` for those that this machine trusts.
    pub ca: Option<PathBuf>,
    /// The certificate that this machine shows to devices, and its key, in PEM format.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// The name in the certificates of devices, where it is not the host's.
    pub server_name: Option<String>,
    /// Whether any certificate is accepted.
    pub skip_verification: bool,
    /// Whether there is no TLS at all.
    pub plaintext: bool,
    /// A file with the user in its first line and the password in its second.
    pub credentials: Option<PathBuf>,
    /// The origin of paths. Some devices need it to be empty.
    pub origin: String,
    /// The target that is asked for; `None` for the name of the device, if it has one.
    pub target: Option<String>,
    /// How often counters are sent.
    pub sample: Duration,
    /// Ports to watch, by name; `*` stands for any characters and `?` for one. All if there are none.
    pub patterns: Vec<String>,
}

impl Default for GnmiSettings {
    fn default() -> GnmiSettings {
        GnmiSettings {
            devices: Vec::new(),
            ca: None,
            identity: None,
            server_name: None,
            skip_verification: false,
            plaintext: false,
            credentials: None,
            origin: "openconfig".to_owned(),
            target: None,
            sample: SAMPLE_DEFAULT,
            patterns: Vec::new(),
        }
    }
}

impl GnmiSettings {
    /// Whether a source can be made of them. The files that they name are read.
    ///
    /// # Errors
    /// The first value that cannot be used.
    pub fn validate(&self) -> Result<(), ParameterError> {
        let devices = self.devices()?;
        if !(SAMPLE_LEAST..=SAMPLE_MOST).contains(&self.sample) {
            let value = format!("{:?}", self.sample);
            return Err(ParameterError::new("gnmi-sample", value, "must be 1s to 1h"));
        }
        let names = [("gnmi-origin", Some(&self.origin)), ("gnmi-target", self.target.as_ref())];
        for (parameter, value) in names.into_iter().filter_map(|(name, value)| Some((name, value?))) {
            if value.len() > NAME_LENGTH_MOST || !value.chars().all(is_printable) {
                let rule = format!("must be at most {NAME_LENGTH_MOST} printable characters");
                return Err(ParameterError::new(parameter, value, rule));
            }
        }
        if self.plaintext {
            self.refuse_tls()?;
        } else {
            for device in &devices {
                self.tls(device)?;
            }
        }
        self.credentials.as_ref().map(|path| Credentials::read(path)).transpose().map(drop)
    }

    /// The devices, at least one.
    pub(super) fn devices(&self) -> Result<Vec<GnmiDevice>, ParameterError> {
        let all = self.devices.join(", ");
        if !(1..=DEVICES_MOST).contains(&self.devices.len()) {
            let rule = format!(
                "must be 1 to {DEVICES_MOST} devices, like leaf1=10.0.0.1:9339, with source = \"gnmi\""
            );
            return Err(ParameterError::new("gnmi", all, rule));
        }
        let mut devices: Vec<GnmiDevice> = Vec::new();
        for text in &self.devices {
            let device: GnmiDevice = text.parse().map_err(|rule| ParameterError::new("gnmi", text, rule))?;
            if devices.iter().any(|other| other.name == device.name) {
                let rule = "is there twice; give each device a name of its own, NAME=HOST:PORT";
                return Err(ParameterError::new("gnmi", &device.name, rule));
            }
            devices.push(device);
        }
        Ok(devices)
    }

    /// How TLS is spoken with a device.
    pub(super) fn tls(&self, device: &GnmiDevice) -> Result<Security, ParameterError> {
        tls(Tls {
            host: &device.host,
            server_name: self.server_name.as_deref(),
            ca: self.ca.as_deref(),
            identity: self.identity.as_ref().map(|(certificate, key)| (certificate.as_path(), key.as_path())),
            skip_verification: self.skip_verification,
        })
    }

    fn refuse_tls(&self) -> Result<(), ParameterError> {
        let path = |path: &PathBuf| path.display().to_string();
        let written = [
            ("gnmi-ca", self.ca.as_ref().map(path)),
            ("gnmi-certificate", self.identity.as_ref().map(|(certificate, _)| path(certificate))),
            ("gnmi-server-name", self.server_name.clone()),
            ("gnmi-skip-verification", self.skip_verification.then(|| "true".to_owned())),
        ];
        match written.into_iter().find_map(|(name, value)| value.map(|value| (name, value))) {
            Some((name, value)) => {
                Err(ParameterError::new(name, value, "requires TLS; remove gnmi-plaintext or this"))
            }
            None => Ok(()),
        }
    }

    /// What the operator should know that makes these less safe than they could be.
    pub(super) fn warnings(&self) -> Vec<&'static str> {
        let mut warnings = Vec::new();
        if self.skip_verification {
            warnings.push(
                "gnmi-skip-verification is set: anyone in the path can pretend to be the device, and reads the password; \
                 name its authority with gnmi-ca instead",
            );
        }
        if self.plaintext && self.credentials.is_some() {
            warnings.push(
                "gnmi-plaintext is set: anyone in the path can read the password; remove it to use TLS",
            );
        }
        warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_has_an_address_and_may_have_a_name() {
        let of = |text: &str| {
            let device: Result<GnmiDevice, _> = text.parse();
            device.map(|device| (device.name.clone(), device.address())).ok()
        };
        let both = |name: &str, address: &str| Some((name.to_owned(), address.to_owned()));
        assert_eq!(of("leaf1"), both("leaf1", "leaf1:9339"));
        assert_eq!(of("leaf1=10.0.0.1:6030"), both("leaf1", "10.0.0.1:6030"));
        assert_eq!(of("[2001:db8::1]"), both("2001:db8::1", "[2001:db8::1]:9339"));
        assert_eq!(of("a=[::1]:1"), both("a", "[::1]:1"));
        for wrong in [
            "",
            "=",
            "a=",
            "=b",
            "leaf1:",
            "leaf1:0",
            "leaf1:65536",
            "2001:db8::1",
            "[::1",
            "[::1]9",
            "a b",
            "http://a",
        ] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused_by_name() {
        let usual =
            || GnmiSettings { devices: vec!["leaf1".to_owned()], plaintext: true, ..GnmiSettings::default() };
        assert_eq!(usual().validate(), Ok(()));
        let many = (0..=DEVICES_MOST).map(|number| format!("leaf{number}")).collect();
        for (settings, part) in [
            (GnmiSettings { devices: vec![], ..usual() }, "gnmi = : must be 1 to 256 devices"),
            (GnmiSettings { devices: many, ..usual() }, "must be 1 to 256 devices"),
            (GnmiSettings { devices: vec!["leaf1:x".to_owned()], ..usual() }, "gnmi = leaf1:x: must be HOST"),
            (
                GnmiSettings { devices: vec!["a=x:1".to_owned(), "a=x:2".to_owned()], ..usual() },
                "gnmi = a: is there twice",
            ),
            (
                GnmiSettings { sample: Duration::from_millis(10), ..usual() },
                "gnmi-sample = 10ms: must be 1s to 1h",
            ),
            (GnmiSettings { origin: "a\nb".to_owned(), ..usual() }, "gnmi-origin = "),
            (GnmiSettings { ca: Some("ca.pem".into()), ..usual() }, "gnmi-ca = ca.pem: requires TLS"),
            (
                GnmiSettings { skip_verification: true, ..usual() },
                "gnmi-skip-verification = true: requires TLS; remove gnmi-plaintext or this",
            ),
            (GnmiSettings { credentials: Some("/nowhere".into()), ..usual() }, "gnmi-credentials = /nowhere"),
        ] {
            let error = settings.validate().expect_err("refused").to_string();
            assert!(error.contains(part), "{error}");
        }
        assert!(usual().warnings().is_empty());
    }
}
