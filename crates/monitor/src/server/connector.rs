//! How a server is reached: itself, by its Sentinels, or as the node of a cluster that has what is looked for.

use super::ServerUrl;
use ::redis::{
    Client, Cmd, Connection, ConnectionAddr, ConnectionInfo, ErrorKind, FromRedisValue, RedisConnectionInfo,
    RedisError, TlsCertificates, Value, cmd,
};
use std::path::PathBuf;
use std::time::Duration;

/// How long a server may take to accept a connection, and for each answer.
pub const TIMEOUT: Duration = Duration::from_secs(2);
/// The largest file of certificates. Those of all authorities that browsers know take a quarter of it.
const CA_BYTES_MOST: u64 = 1 << 20;
/// Ranges of slots that a cluster may have, more than one for each slot.
const SLOT_RANGES_MOST: usize = 16_384;

/// What addresses name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Topology {
    /// The server itself.
    Single,
    /// Sentinels that know the address of this master.
    Sentinel(String),
    /// Nodes of a cluster, of which the one with this key is wanted. All other keys in use must be in the same slot.
    Cluster(String),
}

/// Why a server cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub struct ReachError {
    /// What was tried, and what came of it. It names no passwords.
    pub what: String,
    /// What a person can do about it.
    pub hint: Option<String>,
}

/// Opens connections.
///
/// The parts of the library for Sentinel and Cluster are not used: they wait for a silent server forever (the first when
/// it connects, the second when it writes), and for keys of a single slot one connection is enough.
#[derive(Debug, Clone)]
pub struct Connector {
    servers: Vec<Server>,
    topology: Topology,
    ca: Option<PathBuf>,
    /// Which server is tried first the next time, so that one that is silent does not keep us from the others.
    next: usize,
}

#[derive(Debug, Clone)]
struct Server {
    url: ServerUrl,
    info: ConnectionInfo,
}

impl Connector {
    /// Reaches servers at these addresses. Those with TLS must have a certificate from the authorities in the file `ca`,
    /// or from those that this machine trusts if there is none.
    ///
    /// # Errors
    /// The first address that is none, and why.
    pub fn new(
        urls: &[ServerUrl],
        topology: Topology,
        ca: Option<PathBuf>,
    ) -> Result<Connector, (ServerUrl, String)> {
        let server = |url: &ServerUrl| match url.parse() {
            Ok(info) => Ok(Server { url: url.clone(), info }),
            Err(why) => Err((url.clone(), why)),
        };
        let servers = urls.iter().map(server).collect::<Result<_, _>>()?;
        Ok(Connector { servers, topology, ca, next: 0 })
    }

    /// What is reached, without passwords.
    pub fn describe(&self) -> String {
        let urls: Vec<String> = self.servers.iter().map(|server| server.url.to_string()).collect();
        let urls = urls.join(", ");
        match &self.topology {
            Topology::Single => format!("Redis at {urls}"),
            Topology::Sentinel(master) => format!("Redis, master {master} of the Sentinels at {urls}"),
            Topology::Cluster(_) => format!("Redis Cluster at {urls}"),
        }
    }

    /// Opens a connection on which every answer comes within [`TIMEOUT`] or is an error. Of several servers, one is tried
    /// with each call.
    ///
    /// # Errors
    /// Whatever keeps the server from being used.
    pub fn connect(&mut self) -> Result<Connection, ReachError> {
        let index = self.next % self.servers.len().max(1);
        let Some(server) = self.servers.get(index) else {
            return Err(ReachError { what: "no server is named".to_owned(), hint: None });
        };
        let connection = match &self.topology {
            Topology::Single => self.open(server, server.info.clone()),
            Topology::Sentinel(master) => self.open_master(server, master),
            Topology::Cluster(key) => self.open_owner(server, key),
        };
        self.next = if connection.is_ok() { index } else { index + 1 };
        connection
    }

    /// What an error on a connection means, and what a person can do about it.
    pub fn explain(&self, error: &RedisError) -> ReachError {
        match self.servers.get(self.next % self.servers.len().max(1)) {
            Some(server) => self.failure(server, &server.info.addr().to_string(), error),
            None => ReachError { what: error.to_string(), hint: None },
        }
    }

    fn open(&self, server: &Server, info: ConnectionInfo) -> Result<Connection, ReachError> {
        let at = info.addr().to_string();
        let failed = |error: &RedisError| self.failure(server, &at, error);
        let client = match &self.ca {
            Some(path) if matches!(info.addr(), ConnectionAddr::TcpTls { .. }) => {
                let certificates = TlsCertificates { client_tls: None, root_cert: Some(read_ca(path)?) };
                Client::build_with_tls(info, certificates)
            }
            _ => Client::open(info),
        };
        let connection = client.and_then(|client| client.get_connection_with_timeout(TIMEOUT));
        let connection = connection.map_err(|error| failed(&error))?;
        let bounded = connection
            .set_read_timeout(Some(TIMEOUT))
            .and_then(|()| connection.set_write_timeout(Some(TIMEOUT)));
        bounded.map_err(|error| failed(&error))?;
        Ok(connection)
    }

    /// Asks a Sentinel for its master.
    fn open_master(&self, sentinel: &Server, master: &str) -> Result<Connection, ReachError> {
        let mut question = cmd("SENTINEL");
        question.arg("GET-MASTER-ADDR-BY-NAME").arg(master);
        // The user and password are those of the master. A Sentinel has none, or the same.
        let anonymous = sentinel.info.clone().set_redis_settings(RedisConnectionInfo::default());
        let mut connection = self.open(sentinel, anonymous.clone())?;
        let mut answer = ask::<Option<(String, u16)>>(&mut connection, &question);
        if answer.as_ref().is_err_and(|error| error.code() == Some("NOAUTH")) {
            let known = sentinel.info.redis_settings().clone().set_db(0);
            connection = self.open(sentinel, anonymous.set_redis_settings(known))?;
            answer = ask(&mut connection, &question);
        }
        let at = sentinel.info.addr().to_string();
        let answer = answer.map_err(|error| self.failure(sentinel, &at, &error))?;
        let Some((host, port)) = answer else {
            return Err(ReachError {
                what: format!("the Sentinel {at} does not know a master {master}"),
                hint: Some("choose one of those that `redis-cli -p 26379 SENTINEL MASTERS` lists".to_owned()),
            });
        };
        let info = sentinel.info.clone().set_addr(elsewhere(sentinel.info.addr(), host, port));
        let at = info.addr().to_string();
        let mut connection = self.open(sentinel, info)?;
        let role: Result<Vec<Value>, _> = ask(&mut connection, &cmd("ROLE"));
        match role.map_err(|error| self.failure(sentinel, &at, &error))?.first() {
            Some(role) if String::from_redis_value_ref(role).is_ok_and(|role| role == "master") => {
                Ok(connection)
            }
            _ => Err(ReachError {
                what: format!("{at} is not a master, although the Sentinels say so"),
                hint: Some("the Sentinels may be electing another one; corruptd keeps trying".to_owned()),
            }),
        }
    }

    /// Asks a node of a cluster which one has the key.
    fn open_owner(&self, node: &Server, key: &str) -> Result<Connection, ReachError> {
        let at = node.info.addr().to_string();
        let failed = |error: RedisError| self.failure(node, &at, &error);
        let mut connection = self.open(node, node.info.clone())?;
        let mut question = cmd("CLUSTER");
        question.arg("KEYSLOT").arg(key);
        let slot: u16 = ask(&mut connection, &question).map_err(failed)?;
        let ranges: Vec<Vec<Value>> = ask(&mut connection, cmd("CLUSTER").arg("SLOTS")).map_err(failed)?;
        let owner = ranges.iter().take(SLOT_RANGES_MOST).find_map(|range| owner(range, slot));
        let Some((host, port)) = owner else {
            return Err(ReachError {
                what: format!("no node of the cluster at {at} serves slot {slot}, which holds all keys"),
                hint: Some("wait until `redis-cli --cluster check` reports no errors".to_owned()),
            });
        };
        let (here, own_port) = match node.info.addr() {
            ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. } => (host, *port),
            _ => return Ok(connection),
        };
        // A node that does not know its own address leaves it out.
        let host = if host.is_empty() { here.clone() } else { host };
        if (&host, port) == (here, own_port) {
            return Ok(connection);
        }
        self.open(node, node.info.clone().set_addr(elsewhere(node.info.addr(), host, port)))
    }

    fn failure(&self, server: &Server, at: &str, error: &RedisError) -> ReachError {
        let user = server.info.redis_settings().username().unwrap_or("default");
        if error.kind() == ErrorKind::AuthenticationFailed || error.code() == Some("NOAUTH") {
            return ReachError {
                what: format!("{at} refuses user {user}: {error}"),
                hint: Some(
                    "check the user and the password in the address, redis://USER:PASSWORD@HOST:PORT"
                        .to_owned(),
                ),
            };
        }
        if error.is_timeout() {
            return ReachError {
                what: format!("{at} has not answered for {} s", TIMEOUT.as_secs()),
                hint: Some(
                    "check that it is not stopped, and that nothing in between blocks its answers".to_owned(),
                ),
            };
        }
        let hint = if server.url.is_tls() {
            "check that it is running there with TLS, and that --redis-ca has the authority that signed its \
             certificate"
        } else {
            "check that it is running there, and that no firewall blocks the connection"
        };
        ReachError { what: format!("{at} cannot be used: {error}"), hint: Some(hint.to_owned()) }
    }
}

fn ask<T: FromRedisValue>(connection: &mut Connection, question: &Cmd) -> Result<T, RedisError> {
    question.query(connection)
}

/// The same kind of address at another host.
fn elsewhere(like: &ConnectionAddr, host: String, port: u16) -> ConnectionAddr {
    match like {
        ConnectionAddr::TcpTls { insecure, .. } => {
            ConnectionAddr::TcpTls { host, port, insecure: *insecure, tls_params: None }
        }
        _ => ConnectionAddr::Tcp(host, port),
    }
}

/// The master of a range of slots (first, last, master, replicas), if it has this slot.
fn owner(range: &[Value], slot: u16) -> Option<(String, u16)> {
    let number = |at: usize| range.get(at).and_then(|value| u16::from_redis_value_ref(value).ok());
    if !(number(0)?..=number(1)?).contains(&slot) {
        return None;
    }
    let Value::Array(master) = range.get(2)? else { return None };
    let host = master.first().and_then(|host| Option::<String>::from_redis_value_ref(host).ok())?;
    let port = master.get(1).and_then(|port| u16::from_redis_value_ref(port).ok())?;
    Some((host.unwrap_or_default(), port))
}

fn read_ca(path: &PathBuf) -> Result<Vec<u8>, ReachError> {
    let failed = |why: String| ReachError {
        what: format!("cannot use the certificates in {}: {why}", path.display()),
        hint: Some("name a file in PEM format with --redis-ca".to_owned()),
    };
    let bytes = std::fs::metadata(path).map_err(|error| failed(error.to_string()))?.len();
    if bytes > CA_BYTES_MOST {
        return Err(failed(format!("it has {bytes} bytes, and at most {CA_BYTES_MOST} are read")));
    }
    std::fs::read(path).map_err(|error| failed(error.to_string()))
}
