//! Where what was asked for and done is kept.

use super::STATE_DEFAULT;
use crate::bus::{PREFIX_DEFAULT, RedisSettings};
use crate::server::ServerUrl;
use linkmend_diagnose::ParameterError;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Where agents find each other: `[bus]`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[cfg_attr(feature = "clap", command(next_help_heading = "Bus to other machines"))]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct BusConfig {
    /// Address of the Redis that all machines share, like rediss://USER:PASSWORD@HOST:6379/0 or unix:/run/redis.sock;
    /// several for Sentinels or the nodes of a cluster. A password on the command line is visible to all users of this
    /// machine; one in --config is not [default: none; only this machine]
    #[cfg_attr(feature = "clap", arg(long, value_name = "URL"))]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redis: Vec<ServerUrl>,
    /// Name of the master; the addresses in --redis are those of its Sentinels
    #[cfg_attr(feature = "clap", arg(long, value_name = "NAME"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redis_sentinel: Option<String>,
    /// The addresses in --redis are nodes of a Redis cluster
    #[cfg_attr(feature = "clap", arg(long))]
    pub redis_cluster: bool,
    /// Prefix of all keys [default: linkmend]
    #[cfg_attr(feature = "clap", arg(long, value_name = "TEXT"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redis_prefix: Option<String>,
    /// Certificate authorities for TLS, in PEM format [default: the system's]
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redis_ca: Option<PathBuf>,
    /// File with the keys of agents, one per line, `NAME KEY` or `* KEY`; records without a valid seal are then ignored
    /// [default: none; every record is trusted]
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redis_keys: Option<PathBuf>,
}

/// What is kept where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BusChoice {
    /// In this file, for an agent that is alone.
    Embedded(PathBuf),
    /// In a Redis.
    Redis(RedisSettings),
}

impl BusConfig {
    /// Fills in what was left out. `state` is the file of an agent that is alone.
    pub(super) fn choose(&self, state: Option<&PathBuf>) -> Result<BusChoice, ParameterError> {
        if self.redis.is_empty() {
            return match self.without_a_server() {
                Some((name, value)) => {
                    Err(ParameterError::new(name, value, "requires redis, the address of a server"))
                }
                None => Ok(BusChoice::Embedded(state.cloned().unwrap_or_else(|| STATE_DEFAULT.into()))),
            };
        }
        if let Some(state) = state {
            let rule = "cannot be used with redis, which stores this state; remove one of them";
            return Err(ParameterError::new("state", state.display(), rule));
        }
        let settings = RedisSettings {
            urls: self.redis.clone(),
            sentinel_master: self.redis_sentinel.clone(),
            cluster: self.redis_cluster,
            prefix: self.redis_prefix.clone().unwrap_or_else(|| PREFIX_DEFAULT.to_owned()),
            ca: self.redis_ca.clone(),
            keys: self.redis_keys.clone(),
        };
        settings.validate()?;
        Ok(BusChoice::Redis(settings))
    }

    /// What was written although no server was.
    fn without_a_server(&self) -> Option<(&'static str, String)> {
        let ca = self.redis_ca.as_ref().map(|path| path.display().to_string());
        [
            ("redis-sentinel", self.redis_sentinel.clone()),
            ("redis-cluster", self.redis_cluster.then(|| "true".to_owned())),
            ("redis-prefix", self.redis_prefix.clone()),
            ("redis-ca", ca),
            ("redis-keys", self.redis_keys.as_ref().map(|path| path.display().to_string())),
        ]
        .into_iter()
        .find_map(|(name, value)| value.map(|value| (name, value)))
    }
}
