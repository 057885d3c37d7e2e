//! A switch's databases, as tests look at them.

use crate::server::Server;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

pub type Fields = BTreeMap<String, String>;

pub fn hash(server: &Server, database: u8, key: &str) -> Fields {
    let mut connection = server.connect();
    redis::cmd("SELECT").arg(database).exec(&mut connection).expect("selected");
    redis::cmd("HGETALL").arg(key).query(&mut connection).expect("a hash")
}

/// All keys of a database with their contents.
pub fn contents(server: &Server, database: u8) -> BTreeMap<String, Fields> {
    let mut connection = server.connect();
    redis::cmd("SELECT").arg(database).exec(&mut connection).expect("selected");
    let keys: Vec<String> = redis::cmd("KEYS").arg("*").query(&mut connection).expect("keys");
    keys.into_iter().map(|key| (key.clone(), hash(server, database, &key))).collect()
}

/// What a server is asked, from now on.
pub struct Monitor(BufReader<TcpStream>);

impl Monitor {
    pub fn start(server: &Server) -> Monitor {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port)).expect("it listens");
        stream.write_all(b"MONITOR\r\n").expect("asked");
        let mut reader = BufReader::new(stream);
        let mut answer = String::new();
        reader.read_line(&mut answer).expect("an answer");
        assert_eq!(answer, "+OK\r\n");
        Monitor(reader)
    }

    /// The names of the commands until a key of this name is asked for.
    pub fn until(mut self, server: &Server, last: &str) -> Vec<String> {
        let _: Option<String> = redis::cmd("GET").arg(last).query(&mut server.connect()).expect("nothing");
        let mut names = Vec::new();
        loop {
            let mut line = String::new();
            self.0.read_line(&mut line).expect("a line");
            if line.contains(last) {
                return names;
            }
            names.extend(line.split('"').nth(1).map(str::to_uppercase));
        }
    }
}
