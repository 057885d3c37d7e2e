//! Prometheus and exporters of a test's own.

use linkmend_monitor::server::ServerUrl;
use linkmend_monitor::source::{PrometheusSettings, QuerySet};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long a program may take to be ready, and Prometheus to have scraped, which it begins 5 s after its start.
pub const START_MOST: Duration = Duration::from_secs(30);
/// How often Prometheus scrapes here.
pub const SCRAPE_INTERVAL: Duration = Duration::from_millis(500);

/// Whether there are programs to be started; says so if not.
pub fn are_installed(test: &str, programs: &[&str]) -> bool {
    let missing = programs.iter().find(|&&program| {
        let version = if program == "snmpd" { "-v" } else { "--version" };
        let run = Command::new(program).arg(version).stdout(Stdio::null()).stderr(Stdio::null()).status();
        !run.is_ok_and(|status| status.success())
    });
    if let Some(missing) = missing {
        // Written past the harness, which keeps what passing tests print to itself.
        let text = format!(
            "\n######## SKIPPED: {test} needs {missing}, which scripts/require test fetches ########\n"
        );
        std::io::stderr().write_all(text.as_bytes()).expect("stderr");
    }
    missing.is_none()
}

/// A port that was free a moment ago.
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("its address").port()
}

/// A running program, which ends with it.
pub struct Program {
    pub port: u16,
    folder: TempDir,
    child: Option<Child>,
}

impl Program {
    /// Starts a program in a folder with these files, whose arguments have `PORT` for a free port.
    pub fn start(program: &str, files: &[(&str, &str)], arguments: &[&str]) -> Program {
        let port = free_port();
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).expect("written");
        }
        let log = std::fs::File::create(folder.path().join("log")).expect("a log");
        let mut command = Command::new(program);
        command.args(arguments.iter().map(|argument| argument.replace("PORT", &port.to_string())));
        command.current_dir(folder.path()).env("SNMP_PERSISTENT_DIR", folder.path()).env("MIBS", "");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let child = Some(command.spawn().expect("it starts"));
        Program { port, folder, child }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// Waits until it answers at this path.
    pub fn wait_for(&self, path: &str) {
        let ready = || {
            let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
            let request = format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n");
            stream.write_all(request.as_bytes()).ok()?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).ok()?;
            answer.starts_with("HTTP/1.0 200").then_some(())
        };
        let begun = Instant::now();
        while ready().is_none() {
            assert!(begun.elapsed() < START_MOST, "it is not ready: {}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ends it at once, as a crash does.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().expect("it runs");
            child.wait().expect("it ends");
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A Prometheus that scrapes these targets (`host:port`, or more of a job's description in YAML), each of which is called by
/// its name.
pub fn prometheus(targets: &[(&str, String)]) -> Program {
    let prometheus = prometheus_with(targets, &[], &[]);
    prometheus.wait_for("/-/ready");
    prometheus
}

/// The same with more files and arguments. It may not be ready yet.
pub fn prometheus_with(targets: &[(&str, String)], files: &[(&str, &str)], more: &[&str]) -> Program {
    let interval = SCRAPE_INTERVAL.as_millis();
    let mut text =
        format!("global: {{scrape_interval: {interval}ms, scrape_timeout: {interval}ms}}\nscrape_configs:\n");
    for (index, (name, target)) in targets.iter().enumerate() {
        let (address, rest) = target.split_once('\n').unwrap_or((target, ""));
        text += &format!(
            "- job_name: job{index}\n  static_configs: [{{targets: ['{address}'], labels: {{instance: '{name}'}}}}]\n{rest}\n"
        );
    }
    let mut all = vec![("prometheus.yml", text.as_str())];
    all.extend(files);
    let mut arguments = vec![
        "--config.file=prometheus.yml",
        "--storage.tsdb.path=data",
        "--web.listen-address=127.0.0.1:PORT",
        "--log.level=warn",
    ];
    arguments.extend(more);
    Program::start("prometheus", &all, &arguments)
}

/// Settings for a known set of queries at this port.
pub fn settings(port: u16, set: &str, filter: &str) -> PrometheusSettings {
    PrometheusSettings {
        url: ServerUrl::from(format!("http://127.0.0.1:{port}").as_str()),
        ca: None,
        filter: filter.to_owned(),
        queries: QuerySet::known().remove(set).expect("a known set"),
    }
}
