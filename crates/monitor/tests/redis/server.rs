//! A `redis-server` of a test's own.

use linkmend_monitor::bus::{RedisBus, RedisSettings};
use linkmend_monitor::server::ServerUrl;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PROGRAM: &str = "redis-server";
/// How long a server may take to listen. A loaded machine takes a second.
const START_MOST: Duration = Duration::from_secs(20);

/// Whether there is a server to be started; says so if not.
pub fn is_installed(test: &str) -> bool {
    let version = Command::new(PROGRAM).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let installed = version.is_ok_and(|status| status.success());
    if !installed {
        // Written past the harness, which keeps what passing tests print to itself.
        let text = format!(
            "\n######## SKIPPED: {test} needs {PROGRAM}, which scripts/require test fetches ########\n"
        );
        std::io::stderr().write_all(text.as_bytes()).expect("stderr");
    }
    installed
}

/// A port that was free a moment ago.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("its address").port()
}

/// A running server, which ends with it.
pub struct Server {
    pub port: u16,
    folder: TempDir,
    options: Vec<String>,
    child: Option<Child>,
}

impl Server {
    /// A server that keeps nothing, with these options besides.
    pub fn start(options: &[&str]) -> Server {
        Server::start_at(free_port(), options)
    }

    /// The same at this port. An option that ends in `.conf` is a configuration file, and comes first.
    pub fn start_at(port: u16, options: &[&str]) -> Server {
        let options = options.iter().map(|&option| option.to_owned()).collect();
        let folder = tempfile::tempdir().expect("a folder");
        let mut server = Server { port, folder, options, child: None };
        server.restart();
        server
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Ends it at once, as a crash does.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().expect("it runs");
            child.wait().expect("it ends");
        }
    }

    /// Forgets all that a dead server has written.
    pub fn forget(&mut self) {
        let written = self.folder.path().join("appendonlydir");
        if written.exists() {
            std::fs::remove_dir_all(written).expect("removed");
        }
    }

    /// Starts it (again) and waits until it listens.
    pub fn restart(&mut self) {
        self.kill();
        let log = std::fs::File::create(self.folder.path().join("log")).expect("a log");
        let mut command = Command::new(PROGRAM);
        if let Some(file) = self.options.iter().find(|option| option.ends_with(".conf")) {
            command.arg(file);
        } else {
            command.args(["--save", "", "--bind", "127.0.0.1"]);
            if !self.options.iter().any(|option| option == "--tls-port") {
                command.args(["--port", &self.port.to_string()]);
            }
        }
        let options = self.options.iter().filter(|option| !option.ends_with(".conf"));
        command.args(options.map(|option| option.replace("PORT", &self.port.to_string())));
        command.current_dir(self.folder.path()).stdin(Stdio::null()).stdout(log).stderr(Stdio::null());
        self.child = Some(command.spawn().expect("it starts"));
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            let log = || std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            assert!(begun.elapsed() < START_MOST, "it does not listen: {}", log());
            std::thread::sleep(Duration::from_millis(10));
        }
        self.wait_for_data();
    }

    /// A server that reads its data says so to whoever asks meanwhile.
    fn wait_for_data(&self) {
        if self.options.iter().any(|option| option.starts_with("--tls") || option.ends_with(".conf")) {
            return;
        }
        let begun = Instant::now();
        while redis::cmd("PING").exec(&mut self.connect()).is_err_and(|error| error.code() == Some("LOADING"))
        {
            assert!(begun.elapsed() < START_MOST, "it reads its data for too long");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// A connection for what agents do not do.
    pub fn connect(&self) -> redis::Connection {
        redis::Client::open(self.url()).expect("an address").get_connection().expect("it listens")
    }

    /// An agent's bus at this server.
    pub fn bus(&self, agent: &str) -> RedisBus {
        RedisBus::new(&settings(&self.url()), agent).expect("usable")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A bus at this address alone.
pub fn settings(url: &str) -> RedisSettings {
    RedisSettings { urls: vec![ServerUrl::from(url)], ..RedisSettings::default() }
}
