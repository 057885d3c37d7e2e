//! HTTP to a server that the configuration names, with the same rules wherever it is spoken: every request has its time, nobody is
//! redirected anywhere, and nothing goes through a proxy.

use super::ServerUrl;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use percent_encoding::percent_decode_str;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use ureq::Agent;
use ureq::http::Uri;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig};

/// The largest file of certificates. Those of all authorities that browsers know take a quarter of it.
const CA_BYTES_MOST: u64 = 1 << 20;

/// Whether it is the address of a server for HTTP. A password with a slash would be taken for the path.
pub fn is_address(url: &ServerUrl) -> bool {
    let uri = url.exposed().parse::<Uri>().ok();
    let is_http = is_tls(url) || url.exposed().starts_with("http://");
    is_http
        && uri.is_some_and(|uri| uri.host().is_some_and(|host| !host.is_empty()) && !uri.path().contains('@'))
}

/// Whether it is spoken to with TLS.
pub fn is_tls(url: &ServerUrl) -> bool {
    url.exposed().starts_with("https://")
}

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct HttpServer {
    /// Without user and password, which errors may show.
    address: String,
    /// The same without the path.
    origin: String,
    /// User and password, as the header has them.
    authorization: Option<String>,
    /// What names the file of authorities.
    ca_option: &'static str,
    ca: Option<PathBuf>,
    timeout: Duration,
    /// It keeps connections from one request to the next.
    agent: Option<Agent>,
}

impl HttpServer {
    pub fn new(
        url: &ServerUrl,
        ca_option: &'static str,
        ca: Option<PathBuf>,
        timeout: Duration,
    ) -> HttpServer {
        let (address, authorization) = split(url.exposed());
        let origin = match address.split_once("://") {
            Some((scheme, rest)) => {
                format!("{scheme}://{}", rest.split(['/', '?']).next().unwrap_or_default())
            }
            None => address.clone(),
        };
        HttpServer { address, origin, authorization, ca_option, ca, timeout, agent: None }
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    pub fn origin(&self) -> &str {
        &self.origin
    }

    pub fn authorization(&self) -> Option<&str> {
        self.authorization.as_deref()
    }

    /// What sends requests. Answers with any status are no errors.
    ///
    /// # Errors
    /// Why the certificates cannot be used.
    pub fn agent(&mut self) -> Result<Agent, String> {
        if let Some(agent) = &self.agent {
            return Ok(agent.clone());
        }
        let mut config = Agent::config_builder()
            .timeout_global(Some(self.timeout))
            .http_status_as_error(false)
            // Passwords go to whom they were given for, and to nobody else.
            .max_redirects(0)
            .proxy(None);
        if self.address.starts_with("https://") {
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let roots = RootCerts::Specific(Arc::new(self.authorities()?));
            let tls = TlsConfig::builder().unversioned_rustls_crypto_provider(provider).root_certs(roots);
            config = config.tls_config(tls.build());
        }
        Ok(self.agent.insert(config.build().into()).clone())
    }

    /// What to do if it cannot be reached.
    pub fn hint(&self) -> String {
        match self.address.starts_with("https://") {
            true => format!(
                "check that it is running there with TLS, and that {} has the authority that signed its certificate",
                self.ca_option
            ),
            false => "check that it is running there, and that no firewall blocks the connection".to_owned(),
        }
    }

    fn authorities(&self) -> Result<Vec<Certificate<'static>>, String> {
        let Some(path) = &self.ca else {
            let trusted = rustls_native_certs::load_native_certs().certs;
            return Ok(trusted
                .iter()
                .map(|certificate| Certificate::from_der(certificate).to_owned())
                .collect());
        };
        read_ca(path).map_err(|why| {
            let (path, option) = (path.display(), self.ca_option);
            format!("cannot use the certificates in {path}: {why}; name a file in PEM format with {option}")
        })
    }
}

/// Takes user and password out of an address: what remains, and how they are sent (RFC 7617).
fn split(url: &str) -> (String, Option<String>) {
    let parts = url.split_once("://").and_then(|(scheme, rest)| {
        let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let (who, host) = authority.rsplit_once('@')?;
        Some((who, format!("{scheme}://{host}{path}")))
    });
    let Some((who, address)) = parts else { return (url.to_owned(), None) };
    let who: Vec<u8> = percent_decode_str(who).collect();
    (address, Some(format!("Basic {}", BASE64_STANDARD.encode(who))))
}

fn read_ca(path: &Path) -> Result<Vec<Certificate<'static>>, String> {
    let bytes = std::fs::metadata(path).map_err(|error| error.to_string())?.len();
    if bytes > CA_BYTES_MOST {
        return Err(format!("it has {bytes} bytes, and at most {CA_BYTES_MOST} are read"));
    }
    let pem = std::fs::read(path).map_err(|error| error.to_string())?;
    let certificates = ureq::tls::parse_pem(&pem).filter_map(|item| match item {
        Ok(PemItem::Certificate(certificate)) => Some(Ok(certificate)),
        Ok(_) => None,
        Err(error) => Some(Err(error.to_string())),
    });
    match certificates.collect::<Result<Vec<_>, _>>()? {
        none if none.is_empty() => Err("it has no certificate".to_owned()),
        certificates => Ok(certificates),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_sent_as_it_is_meant_and_not_shown() {
        for (url, address, origin, who) in [
            ("http://host:9090/prefix", "http://host:9090/prefix", "http://host:9090", None),
            ("http://me:a%40b%2fc@host/a", "http://host/a", "http://host", Some("me:a@b/c")),
            ("https://me@host?a=b@c", "https://host?a=b@c", "https://host", Some("me")),
        ] {
            let server = HttpServer::new(&ServerUrl::from(url), "ca", None, Duration::from_secs(1));
            let header = who.map(|who| format!("Basic {}", BASE64_STANDARD.encode(who)));
            assert_eq!((server.address(), server.origin()), (address, origin));
            assert_eq!(server.authorization(), header.as_deref());
        }
    }
}
