//! Where a server is, and with which password, which nobody gets to see.

use ::redis::{ConnectionInfo, IntoConnectionInfo, ProtocolVersion};
use serde::{Deserialize, Serialize};
use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

/// What stands for a password.
const HIDDEN: &str = "***";
/// The longest address. Nobody writes one of more than a few hundred bytes.
const LENGTH_MOST: usize = 4096;

/// Address of a server: `redis://USER:PASSWORD@HOST:PORT/DATABASE`, `rediss://` for TLS, `unix:PATH?db=DATABASE`; that of
/// another kind of server begins with `http://` or `https://`. It is shown, and written to files, without its password.
#[derive(Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(from = "String", into = "String")]
pub struct ServerUrl(String);

impl ServerUrl {
    /// Takes the address apart.
    ///
    /// # Errors
    /// What is wrong with it, without its password.
    pub(crate) fn parse(&self) -> Result<ConnectionInfo, String> {
        if self.0.len() > LENGTH_MOST {
            return Err(format!("must have at most {LENGTH_MOST} bytes"));
        }
        let info = self.0.as_str().into_connection_info().map_err(|error| {
            // The reason may quote a part of the address.
            let detail = error.detail().filter(|detail| !self.0.contains(*detail));
            let detail = detail.map_or(String::new(), |detail| format!(" ({detail})"));
            format!(
                "must be redis://USER:PASSWORD@HOST:PORT/DATABASE, rediss:// for TLS, or unix:PATH?db=DATABASE{detail}"
            )
        })?;
        if self.0.contains('#') {
            return Err(
                "must not contain #: certificates are always verified; write %23 in a password".to_owned()
            );
        }
        // Answers of the newer protocol have more forms, and nothing here needs them.
        let settings = info.redis_settings().clone().set_protocol(ProtocolVersion::RESP2);
        Ok(info.set_redis_settings(settings))
    }

    /// The address with its password, which is for the server and for nobody's eyes.
    pub(crate) fn exposed(&self) -> &str {
        &self.0
    }

    /// Whether the connection is encrypted.
    pub fn is_tls(&self) -> bool {
        self.0.starts_with("rediss:") || self.0.starts_with("valkeys:")
    }
}

impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A password may have an unescaped `?`: the query is behind the last `@`.
        let host = self.0.rfind('@').map_or(0, |at| at + 1);
        let query = self.0[host..].find('?').map(|at| host + at);
        let (address, query) = query.map_or((&self.0[..], ""), |at| (&self.0[..at], &self.0[at + 1..]));
        // A password with an unescaped `@` or `/` is hidden, too: everything before the last `@` is.
        match (address.split_once("://"), address.rsplit_once('@')) {
            (Some((scheme, rest)), Some((_, host))) => {
                let user = rest.split([':', '@']).next().unwrap_or_default();
                let password =
                    if rest.starts_with(&format!("{user}:")) { format!(":{HIDDEN}") } else { String::new() };
                write!(f, "{scheme}://{user}{password}@{host}")?;
            }
            (_, Some((_, host))) => write!(f, "{HIDDEN}@{host}")?,
            // Without a host, what follows a `:` is a port, or a password whose host was forgotten.
            _ => match address.rsplit_once(':') {
                Some((before, port))
                    if !port.starts_with("//")
                        && port.parse::<u16>().is_err()
                        && !port.contains(['/', ']']) =>
                {
                    write!(f, "{before}:{HIDDEN}")?;
                }
                _ => f.write_str(address)?,
            },
        }
        for (index, pair) in query.split('&').filter(|pair| !pair.is_empty()).enumerate() {
            let separator = if index == 0 { '?' } else { '&' };
            match pair.split_once('=') {
                Some(("db", value)) => write!(f, "{separator}db={value}")?,
                Some((name, _)) if !name.contains('@') => write!(f, "{separator}{name}={HIDDEN}")?,
                _ => write!(f, "{separator}{HIDDEN}")?,
            }
        }
        Ok(())
    }
}

impl fmt::Debug for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerUrl({self})")
    }
}

impl FromStr for ServerUrl {
    type Err = Infallible;

    /// Takes everything: who refuses an address here would have it shown with its password.
    fn from_str(text: &str) -> Result<ServerUrl, Infallible> {
        Ok(ServerUrl(text.to_owned()))
    }
}

impl From<String> for ServerUrl {
    fn from(text: String) -> ServerUrl {
        ServerUrl(text)
    }
}

impl From<&str> for ServerUrl {
    fn from(text: &str) -> ServerUrl {
        ServerUrl(text.to_owned())
    }
}

impl From<ServerUrl> for String {
    fn from(url: ServerUrl) -> String {
        url.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_hidden_wherever_they_stand() {
        for (text, shown) in [
            ("redis://10.0.0.1:6379/2", "redis://10.0.0.1:6379/2"),
            ("redis://me:secret@host:1", "redis://me:***@host:1"),
            ("redis://:secret@host", "redis://:***@host"),
            ("rediss://me:sec@ret/x@host", "rediss://me:***@host"),
            ("unix:/run/redis.sock?db=2", "unix:/run/redis.sock?db=2"),
            (
                "redis+unix:///run/redis.sock?user=me&pass=secret&db=2",
                "redis+unix:///run/redis.sock?user=***&pass=***&db=2",
            ),
            ("me:secret@host", "***@host"),
        ] {
            let url = ServerUrl::from(text);
            assert_eq!(url.to_string(), shown);
            assert!(!format!("{url:?} {}", serde_json::to_string(&url).expect("a text")).contains("secret"));
        }
    }

    #[test]
    fn what_is_no_address_is_refused_without_its_password() {
        for text in [
            "",
            "host",
            "http://me:secret@host",
            "redis://me:secret@/",
            "redis://me:secret@h/secret",
            "rediss://me:secret@host/#insecure",
        ] {
            let error = ServerUrl::from(text).parse().expect_err("refused");
            assert!(!error.contains("secret"), "{text}: {error}");
        }
        for text in [
            "redis://me:secret@host:1/3",
            "rediss://host",
            "unix:/run/a.sock?db=2",
            "redis+unix:///run/a.sock",
        ] {
            assert!(ServerUrl::from(text).parse().is_ok(), "{text}");
        }
    }
}
