//! A switch with its database, as one word.

use crate::server::ServerUrl;
use serde::{Deserialize, Serialize};
use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

/// `leaf1=unix:/run/linkmend/leaf1.sock`. It is shown without its password.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SwitchDatabase {
    /// The name of its agent.
    pub switch: String,
    pub url: ServerUrl,
}

impl FromStr for SwitchDatabase {
    type Err = String;

    fn from_str(text: &str) -> Result<SwitchDatabase, String> {
        match text.split_once('=') {
            Some((switch, url)) if !switch.is_empty() && !switch.contains([':', '/', '@']) => {
                let url = url.parse().unwrap_or_else(|error: Infallible| match error {});
                Ok(SwitchDatabase { switch: switch.to_owned(), url })
            }
            // It is not shown, because there may be a password in it.
            _ => Err(
                "a switch and its Redis are written as SWITCH=URL, like leaf1=unix:/run/linkmend/leaf1.sock"
                    .to_owned(),
            ),
        }
    }
}

impl TryFrom<String> for SwitchDatabase {
    type Error = String;

    fn try_from(text: String) -> Result<SwitchDatabase, String> {
        text.parse()
    }
}

impl From<SwitchDatabase> for String {
    fn from(database: SwitchDatabase) -> String {
        format!("{}={}", database.switch, String::from(database.url))
    }
}

impl fmt::Display for SwitchDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.switch, self.url)
    }
}
