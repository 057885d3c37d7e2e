//! Which Redis is the bus, and how it is reached.

use super::keys::Keys;
use super::seal;
use crate::PortName;
use crate::server::{Connector, ServerUrl, Topology};
use linkmend_diagnose::{ParameterError, is_printable};
use std::path::PathBuf;

/// Prefix of all keys, unless configured.
pub const PREFIX_DEFAULT: &str = "linkmend";
/// The longest beginning of a key.
const PREFIX_LENGTH_MOST: usize = 64;
/// More Sentinels or nodes of a cluster need not be named: any one of them knows the others.
const URLS_MOST: usize = 64;

/// See the module's documentation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedisSettings {
    /// One server, or Sentinels, or nodes of a cluster.
    pub urls: Vec<ServerUrl>,
    /// What the Sentinels at these addresses call the master. User, password and database of an address are those of the
    /// master.
    pub sentinel_master: Option<String>,
    /// Whether the addresses are those of a cluster's nodes.
    pub cluster: bool,
    /// Prefix of all keys: agents that share it share the bus.
    pub prefix: String,
    /// Authorities that may vouch for a server with TLS, in PEM format; `None` for those that this machine trusts.
    pub ca: Option<PathBuf>,
    /// A file with keys of agents, so that nobody else is believed; `None` to believe whoever may write to the server.
    pub keys: Option<PathBuf>,
}

impl Default for RedisSettings {
    fn default() -> RedisSettings {
        RedisSettings {
            urls: Vec::new(),
            sentinel_master: None,
            cluster: false,
            prefix: PREFIX_DEFAULT.to_owned(),
            ca: None,
            keys: None,
        }
    }
}

impl RedisSettings {
    /// Whether a bus can be made of them.
    ///
    /// # Errors
    /// The first value that cannot be used.
    pub fn validate(&self) -> Result<(), ParameterError> {
        self.connector().map(drop)
    }

    /// The keys of agents, if there is a file of them.
    ///
    /// # Errors
    /// If it cannot be used, or has no key of `agent`.
    pub fn read_keys(&self, agent: &str) -> Result<Option<seal::Keys>, ParameterError> {
        self.keys.as_ref().map(|path| seal::Keys::read(path, agent)).transpose()
    }

    pub(super) fn connector(&self) -> Result<Connector, ParameterError> {
        let shown = self.urls.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let wrong = |parameter, value: &str, rule: &str| Err(ParameterError::new(parameter, value, rule));
        if self.urls.is_empty() || self.urls.len() > URLS_MOST {
            return wrong("redis", &shown, &format!("must be 1 to {URLS_MOST} addresses"));
        }
        let topology = match &self.sentinel_master {
            Some(master) if self.cluster => {
                return wrong(
                    "redis-sentinel",
                    master,
                    "a cluster has no Sentinels; remove redis-cluster or this",
                );
            }
            Some(master) if master.is_empty() => {
                return wrong("redis-sentinel", master, "must be the name of a master");
            }
            Some(master) => Topology::Sentinel(master.clone()),
            None if self.cluster => Topology::Cluster(Keys::new(&self.prefix).events),
            None if self.urls.len() > 1 => {
                let rule = "must be one address, unless they are those of Sentinels (redis-sentinel) or of a cluster \
                            (redis-cluster)";
                return wrong("redis", &shown, rule);
            }
            None => Topology::Single,
        };
        let fits = |c: char| is_printable(c) && !c.is_whitespace() && c != '{' && c != '}';
        if !(1..=PREFIX_LENGTH_MOST).contains(&self.prefix.len()) || !self.prefix.chars().all(fits) {
            let rule =
                format!("must be 1 to {PREFIX_LENGTH_MOST} printable characters, and neither {{ nor }}");
            return wrong("redis-prefix", &self.prefix, &rule);
        }
        if let Some(ca) = self.ca.as_ref().filter(|_| !self.urls.iter().any(ServerUrl::is_tls)) {
            let rule = "requires TLS; write rediss:// in redis";
            return wrong("redis-ca", &ca.display().to_string(), rule);
        }
        let connector = Connector::new(&self.urls, topology, self.ca.clone());
        connector.map_err(|(url, rule)| ParameterError::new("redis", url, rule))
    }
}

/// The name of an agent's group of consumers, which is that of the agent.
pub(super) fn group(agent: &str) -> Result<String, ParameterError> {
    match PortName::new(agent, "port") {
        Ok(_) => Ok(agent.to_owned()),
        Err(error) => {
            Err(ParameterError::new("agent", agent, format!("cannot be the name of an agent ({error})")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_is_refused_by_name_and_without_passwords() {
        let of = |urls: &[&str]| RedisSettings {
            urls: urls.iter().map(|url| ServerUrl::from(*url)).collect(),
            ..RedisSettings::default()
        };
        let one = of(&["redis://me:secret@host"]);
        assert_eq!(one.validate(), Ok(()));
        let two = of(&["redis://me:secret@a", "redis://me:secret@b"]);
        let master = Some("mymaster".to_owned());
        assert_eq!(RedisSettings { sentinel_master: master.clone(), ..two.clone() }.validate(), Ok(()));
        assert_eq!(RedisSettings { cluster: true, ..two.clone() }.validate(), Ok(()));
        for (settings, part) in [
            (of(&[]), "redis = "),
            (two.clone(), "redis = redis://me:***@a, redis://me:***@b: must be one address"),
            (of(&["http://me:secret@a"]), "redis = http://me:***@a: must be redis://"),
            (RedisSettings { cluster: true, sentinel_master: master, ..two }, "redis-sentinel = mymaster"),
            (RedisSettings { sentinel_master: Some(String::new()), ..one.clone() }, "redis-sentinel = "),
            (RedisSettings { prefix: "a{b".to_owned(), ..one.clone() }, "redis-prefix = a{b"),
            (RedisSettings { ca: Some("ca.pem".into()), ..one }, "redis-ca = ca.pem"),
        ] {
            let error = settings.validate().expect_err("refused").to_string();
            assert!(error.contains(part) && !error.contains("secret"), "{error}");
        }
    }
}
