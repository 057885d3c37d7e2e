//! Questions to Prometheus over HTTP, each of which is answered in time or not at all.

use crate::server::{ServerUrl, TIMEOUT};
use crate::source::SourceError;
use base64::Engine;
use base64::prelude::BASE64_STANDARD as STANDARD;
use linkmend_diagnose::excerpt;
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use ureq::Agent;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig};

/// The longest answer. A series takes about 200 bytes, so that this is enough for the most ports that an agent watches.
const ANSWER_BYTES_MOST: u64 = 32 << 20;
/// The largest file of certificates. Those of all authorities that browsers know take a quarter of it.
const CA_BYTES_MOST: u64 = 1 << 20;
/// Characters of what Prometheus says of an error that are shown.
const EXPLANATION_MOST: usize = 300;

/// One number, and the labels that say whose it is.
#[derive(Debug, Deserialize)]
pub(super) struct Sample {
    pub metric: BTreeMap<String, String>,
    /// When it was evaluated, in seconds since 1970, and the value, which may be `NaN` or `+Inf`.
    pub value: (serde_json::Number, String),
}

/// What the HTTP API answers.
#[derive(Debug, Deserialize)]
struct Answer {
    data: Option<Data>,
    error: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Data {
    result: Vec<Sample>,
}

/// See the module's documentation.
pub(super) struct Client {
    url: ServerUrl,
    /// The same without user and password, which errors may show.
    address: String,
    /// User and password, as the header has them.
    authorization: Option<String>,
    ca: Option<PathBuf>,
    /// It keeps connections from one question to the next.
    agent: Option<Agent>,
}

impl Client {
    pub fn new(url: ServerUrl, ca: Option<PathBuf>) -> Client {
        let (address, authorization) = split(url.exposed());
        Client { url, address, authorization, ca, agent: None }
    }

    /// What is asked, without passwords.
    pub fn describe(&self) -> String {
        format!("Prometheus at {}", self.url)
    }

    /// The samples of a query at a time, or now.
    ///
    /// # Errors
    /// Whatever keeps it from being answered.
    pub fn ask(
        &mut self,
        query: &str,
        time: Option<&serde_json::Number>,
    ) -> Result<Vec<Sample>, SourceError> {
        let address = format!("{}/api/v1/query", self.address.trim_end_matches('/'));
        let mut request = self.agent()?.get(address).query("query", query);
        if let Some(time) = time {
            request = request.query("time", time.to_string());
        }
        if let Some(authorization) = &self.authorization {
            request = request.header("Authorization", authorization);
        }
        let mut response = request.call().map_err(|error| self.unreachable(&error))?;
        let status = response.status().as_u16();
        let body = response.body_mut().with_config().limit(ANSWER_BYTES_MOST).read_to_vec();
        let body = body.map_err(|error| self.unreachable(&error))?;
        self.samples(status, query, &body)
    }

    fn samples(&self, status: u16, query: &str, body: &[u8]) -> Result<Vec<Sample>, SourceError> {
        let answer: Result<Answer, _> = serde_json::from_slice(body);
        if status != 200 {
            let why = answer.ok().and_then(|answer| answer.error).unwrap_or_default();
            return Err(self.refused(status, query, &why));
        }
        match answer {
            Ok(Answer { data: Some(data), .. }) => Ok(data.result),
            Ok(Answer { error, .. }) => Err(self.refused(status, query, &error.unwrap_or_default())),
            Err(error) => Err(SourceError {
                what: format!("{} answers `{query}` with something other than samples: {error}", self.url),
                hint: Some(
                    "check that Prometheus is running there, and that the query returns one current value per \
                     port: not a rate, a range or a scalar"
                        .to_owned(),
                ),
            }),
        }
    }

    fn agent(&mut self) -> Result<Agent, SourceError> {
        if let Some(agent) = &self.agent {
            return Ok(agent.clone());
        }
        let mut config = Agent::config_builder()
            .timeout_global(Some(TIMEOUT))
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

    fn authorities(&self) -> Result<Vec<Certificate<'static>>, SourceError> {
        let Some(path) = &self.ca else {
            let trusted = rustls_native_certs::load_native_certs().certs;
            return Ok(trusted
                .iter()
                .map(|certificate| Certificate::from_der(certificate).to_owned())
                .collect());
        };
        read_ca(path).map_err(|why| SourceError {
            what: format!("cannot use the certificates in {}: {why}", path.display()),
            hint: Some("name a file in PEM format with --prometheus-ca".to_owned()),
        })
    }

    fn unreachable(&self, error: &ureq::Error) -> SourceError {
        let hint = match error {
            ureq::Error::BodyExceedsLimit(_) => "select fewer ports with the filter",
            _ if self.address.starts_with("https://") => {
                "check that it is running there with TLS, and that --prometheus-ca has the authority that \
                 signed its certificate"
            }
            _ => "check that it is running there, and that no firewall blocks the connection",
        };
        SourceError { what: format!("cannot query {}: {error}", self.url), hint: Some(hint.to_owned()) }
    }

    fn refused(&self, status: u16, query: &str, why: &str) -> SourceError {
        let hint = match status {
            401 | 403 => "check the user and the password in the address, http://USER:PASSWORD@HOST:PORT",
            400 | 422 => "check the query and the filter in the expression browser of Prometheus",
            _ => {
                "check the address, which must include the path prefix of Prometheus if it has one, and the log of Prometheus"
            }
        };
        let why = excerpt(why, EXPLANATION_MOST);
        let why = if why.is_empty() { why } else { format!(": {why}") };
        let what = format!("{} answers `{query}` with HTTP status {status}{why}", self.url);
        SourceError { what, hint: Some(hint.to_owned()) }
    }
}

/// Takes user and password out of an address: what remains, and how they are sent (RFC 7617).
fn split(url: &str) -> (String, Option<String>) {
    let parts = url.split_once("://").and_then(|(scheme, rest)| {
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (who, host) = authority.rsplit_once('@')?;
        Some((who, format!("{scheme}://{host}{path}")))
    });
    let Some((who, address)) = parts else { return (url.to_owned(), None) };
    let who: Vec<u8> = percent_decode_str(who).collect();
    (address, Some(format!("Basic {}", STANDARD.encode(who))))
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
        for (url, address, who) in [
            ("http://host:9090/prefix", "http://host:9090/prefix", None),
            ("http://me:a%40b%2fc@host/a", "http://host/a", Some("me:a@b/c")),
            ("https://me@host", "https://host", Some("me")),
        ] {
            let header = who.map(|who| format!("Basic {}", STANDARD.encode(who)));
            assert_eq!(split(url), (address.to_owned(), header));
        }
    }
}
