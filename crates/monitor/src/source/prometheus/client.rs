//! Questions to Prometheus over HTTP, each of which is answered in time or not at all.

use crate::server::{HttpServer, ServerUrl, TIMEOUT};
use crate::source::SourceError;
use linkmend_diagnose::excerpt;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The longest answer. A series takes about 200 bytes, so that this is enough for the most ports that an agent watches.
const ANSWER_BYTES_MOST: u64 = 32 << 20;
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
    server: HttpServer,
}

impl Client {
    pub fn new(url: ServerUrl, ca: Option<PathBuf>) -> Client {
        Client { server: HttpServer::new(&url, "--prometheus-ca", ca, TIMEOUT), url }
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
        let address = format!("{}/api/v1/query", self.server.address().trim_end_matches('/'));
        let agent = self.server.agent().map_err(|what| SourceError { what, hint: None })?;
        let mut request = agent.get(address).query("query", query);
        if let Some(time) = time {
            request = request.query("time", time.to_string());
        }
        if let Some(authorization) = self.server.authorization() {
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

    fn unreachable(&self, error: &ureq::Error) -> SourceError {
        let hint = match error {
            ureq::Error::BodyExceedsLimit(_) => "select fewer ports with the filter".to_owned(),
            _ => self.server.hint(),
        };
        SourceError { what: format!("cannot query {}: {error}", self.url), hint: Some(hint) }
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
