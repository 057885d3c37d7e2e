//! Which switch is read, and how it is reached.

use crate::server::{Connector, ServerUrl, Topology};
use linkmend_diagnose::ParameterError;
use std::path::PathBuf;

/// Where SONiC's Redis is on the switch itself.
const URL_DEFAULT: &str = "unix:/var/run/redis/redis.sock";

/// See the module's documentation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SonicSettings {
    /// Its Redis. The number of a database in it is not used: those that are read have fixed numbers.
    pub url: ServerUrl,
    /// Authorities that may vouch for a server with TLS, in PEM format; `None` for those that this machine trusts.
    pub ca: Option<PathBuf>,
    /// Ports to watch, by name; `*` stands for any characters and `?` for one. All if there are none.
    pub patterns: Vec<String>,
}

impl Default for SonicSettings {
    fn default() -> SonicSettings {
        SonicSettings { url: ServerUrl::from(URL_DEFAULT), ca: None, patterns: Vec::new() }
    }
}

impl SonicSettings {
    /// Whether a source can be made of them.
    ///
    /// # Errors
    /// The first value that cannot be used.
    pub fn validate(&self) -> Result<(), ParameterError> {
        self.connector().map(drop)
    }

    pub(crate) fn connector(&self) -> Result<Connector, ParameterError> {
        let urls = std::slice::from_ref(&self.url);
        let connector = Connector::new(urls, Topology::Single, self.ca.clone());
        connector.map_err(|(url, rule)| ParameterError::new("sonic", url, rule))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_is_none_is_refused_without_its_password() {
        assert_eq!(SonicSettings::default().validate(), Ok(()));
        let wrong = SonicSettings { url: ServerUrl::from("http://me:secret@a"), ..SonicSettings::default() };
        let error = wrong.validate().expect_err("refused").to_string();
        assert!(error.contains("sonic = http://me:***@a") && !error.contains("secret"), "{error}");
    }
}
