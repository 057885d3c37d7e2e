//! Which Prometheus is asked, for which ports.

use super::queries::QuerySet;
use crate::server::{ServerUrl, http};
use linkmend_diagnose::{ParameterError, is_printable, printable};
use std::path::PathBuf;

/// The longest filter.
const FILTER_LENGTH_MOST: usize = 1024;

/// See the module's documentation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrometheusSettings {
    /// `http://USER:PASSWORD@HOST:PORT/PREFIX`, or `https://`; special characters of a password like `%40`.
    pub url: ServerUrl,
    /// Authorities that may vouch for a server with TLS, in PEM format; `None` for those that this machine trusts.
    pub ca: Option<PathBuf>,
    /// Label matchers that select the machine, like `instance="leaf1:9100"`; empty for all that Prometheus knows, whose
    /// ports must have different names then.
    pub filter: String,
    /// What is asked for.
    pub queries: QuerySet,
}

impl PrometheusSettings {
    /// Whether a source can be made of them.
    ///
    /// # Errors
    /// The first value that cannot be used.
    pub fn validate(&self) -> Result<(), ParameterError> {
        if !http::is_address(&self.url) || self.url.exposed().contains('?') {
            let rule = "must be http://USER:PASSWORD@HOST:PORT/PREFIX, or https:// for TLS; in a password write %40 for @ and \
                        %2F for /";
            return Err(ParameterError::new("prometheus", &self.url, rule));
        }
        if let Some(ca) = self.ca.as_ref().filter(|_| !http::is_tls(&self.url)) {
            let rule = "requires TLS; write https:// in prometheus";
            return Err(ParameterError::new("prometheus-ca", ca.display(), rule));
        }
        if self.filter.len() > FILTER_LENGTH_MOST || !self.filter.chars().all(is_printable) {
            let rule = format!("must be at most {FILTER_LENGTH_MOST} printable characters");
            return Err(ParameterError::new("prometheus-filter", printable(&self.filter), rule));
        }
        match self.queries.fault() {
            Some(rule) => Err(ParameterError::new("prometheus.queries", &self.queries.port, rule)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_refused_by_name_and_without_passwords() {
        let queries = QuerySet::known().remove("node").expect("known");
        let of = |url: &str| PrometheusSettings {
            url: ServerUrl::from(url),
            ca: None,
            filter: String::new(),
            queries: queries.clone(),
        };
        for right in ["http://localhost:9090", "https://me:secret@host/prefix/", "http://[::1]:9090"] {
            assert_eq!(of(right).validate(), Ok(()), "{right}");
        }
        let broken = QuerySet { port: "device".to_owned(), ..queries.clone() };
        let plain = of("http://me:secret@host");
        for (settings, part) in [
            (of(""), "prometheus = : must be http://"),
            (of("localhost:9090"), "prometheus = localhost:9090"),
            (of("redis://me:secret@host"), "prometheus = redis://me:***@host"),
            (of("http://me:secret@"), "prometheus = http://me:***@"),
            (of("http://me:secret@host/?a=b"), "prometheus = http://me:***@host/"),
            (of("http://me:80/sec@host"), "prometheus = http://me:***@host"),
            (of("http://me:sec ret@host"), "prometheus = http://me:***@host"),
            (PrometheusSettings { ca: Some("ca.pem".into()), ..plain.clone() }, "prometheus-ca = ca.pem"),
            (PrometheusSettings { filter: "a\nb".to_owned(), ..plain.clone() }, "prometheus-filter = a\\nb"),
            (PrometheusSettings { queries: broken, ..plain }, "prometheus.queries = device: needs a label"),
        ] {
            let error = settings.validate().expect_err("refused").to_string();
            assert!(error.contains(part) && !error.contains("sec"), "{error}");
        }
    }
}
