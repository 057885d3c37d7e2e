//! The job files in `examples/cluster`: they are valid, and what they run gives the results of one command.

#[path = "../../linkmend/tests/program/mod.rs"]
mod program;

use program::{PROGRAM, run};
use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Shards in the job files.
const SHARDS: u32 = 8;

fn job_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/cluster").join(name)
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A tool that `scripts/require test` builds or fetches, in the search path.
fn tool(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|tool| tool.exists())
}

fn skipped(text: &str) {
    // Written past the harness, which keeps what passing tests print to itself.
    let text = format!("\n######## SKIPPED: {text} ########\n");
    std::io::stderr().write_all(text.as_bytes()).expect("stderr");
}

/// A folder with a short study, the job files for Slurm, and `linkmend` in the search path.
struct Cluster {
    folder: TempDir,
}

impl Cluster {
    fn new() -> Cluster {
        let cluster = Cluster { folder: tempfile::tempdir().expect("a folder") };
        let study = read(&job_file("study.toml")).replace("\"1M\"", "\"20k\"");
        fs::write(cluster.path("study.toml"), study).expect("a file");
        for name in ["shards.sbatch", "merge.sbatch"] {
            fs::copy(job_file(name), cluster.path(name)).expect("a copy");
        }
        fs::create_dir(cluster.path("bin")).expect("a folder");
        symlink(PROGRAM, cluster.path("bin/linkmend")).expect("a link");
        let whole = cluster.command("linkmend sim run study.toml --out whole");
        cluster.succeeds(whole);
        cluster
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A command of a shell.
    fn command(&self, line: &str) -> Command {
        let mut command = Command::new("bash");
        let path = std::env::var("PATH").unwrap_or_default();
        command.args(["-c", line]).current_dir(self.folder.path());
        command.env("PATH", format!("{}:{path}", self.path("bin").display()));
        command
    }

    fn succeeds(&self, mut command: Command) -> String {
        let output = command.output().expect("it starts");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{command:?}: {error}");
        format!("{}{error}", String::from_utf8_lossy(&output.stdout))
    }

    /// Sees that a folder has the files of the command without shards.
    fn has_results(&self, folder: &str) {
        let difference = self.command(&format!("diff -r whole {folder}"));
        assert_eq!(self.succeeds(difference), "");
    }
}

#[test]
fn the_scripts_for_slurm_run_all_shards_and_merge_them() {
    let cluster = Cluster::new();
    let array = format!("#SBATCH --array=1-{SHARDS}\n");
    assert!(read(&cluster.path("shards.sbatch")).contains(&array));
    for task in 1..=SHARDS {
        let mut command = cluster.command("bash shards.sbatch");
        command.env("SLURM_ARRAY_TASK_ID", task.to_string()).env("SLURM_CPUS_PER_TASK", "2");
        cluster.succeeds(command);
    }
    cluster.succeeds(cluster.command("bash merge.sbatch"));
    cluster.has_results("results");
    let (code, _, error) = run(&["merge", &cluster.path("shards/1").display().to_string(), "--out", "none"]);
    assert!(
        code == 2 && error.starts_with("error: shards 2/8, 3/8, 4/8, 5/8, 6/8, 7/8, 8/8 are missing"),
        "{error}"
    );
}

/// The command of a job's only container, which is a folded text in YAML.
fn container_command(job: &str) -> String {
    let (_, behind) =
        job.split_once("- exec linkmend").or_else(|| job.split_once("exec linkmend")).expect("it has one");
    let (command, _) = behind.split_once("resources:").expect("they follow");
    format!("exec linkmend {}", command.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[test]
fn the_jobs_for_kubernetes_run_all_shards_and_merge_them() {
    let cluster = Cluster::new();
    let results = cluster.path("volume");
    let (shards, merge) = (read(&job_file("shards.yaml")), read(&job_file("merge.yaml")));
    assert!(shards.contains(&format!("\n  completions: {SHARDS} ")));
    let local = |job: &str| container_command(job).replace("/results", &results.display().to_string());
    for index in 0..SHARDS {
        let mut command = cluster.command(&local(&shards));
        command.env("JOB_COMPLETION_INDEX", index.to_string());
        cluster.succeeds(command);
    }
    cluster.succeeds(cluster.command(&local(&merge)));
    cluster.has_results("volume/merged");
}

#[test]
fn the_jobs_for_kubernetes_have_only_keys_that_its_api_knows() {
    let Some(tool) = tool("kubernetes-jobs") else {
        skipped(
            "the check of Kubernetes manifests needs kubernetes-jobs, which scripts/require test builds with Go",
        );
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let wrong = folder.path().join("wrong.yaml");
    fs::write(&wrong, read(&job_file("shards.yaml")).replace("completions:", "completion:")).expect("a file");
    let check = |path: &Path| Command::new(&tool).arg(path).output().expect("it starts");
    let refused = check(&wrong);
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("unknown field \"completion\""),
        "it checks nothing"
    );
    for name in ["shards.yaml", "merge.yaml"] {
        let output = check(&job_file(name));
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(String::from_utf8_lossy(&output.stdout).contains("batch/v1 Job linkmend-"), "{output:?}");
    }
}

/// Folders of Slurm's libraries: those of other packages, and its own with its plugins.
fn libraries(files: &Path) -> [PathBuf; 2] {
    let architectures = fs::read_dir(files.join("usr/lib")).expect("it has libraries");
    let mut folders = architectures.map(|folder| folder.expect("an entry").path());
    let folder = folders.find(|folder| folder.join("slurm-wlm").is_dir()).expect("it has plugins");
    [folder.clone(), folder.join("slurm-wlm")]
}

/// Slurm's controller and its daemon on one node, with their state in a folder of their own.
struct Slurm {
    files: PathBuf,
    folder: TempDir,
    daemons: Vec<Child>,
}

impl Slurm {
    fn start(files: PathBuf) -> Slurm {
        let mut slurm = Slurm { files, folder: tempfile::tempdir().expect("a folder"), daemons: Vec::new() };
        let text = |command: &mut Command| {
            let output = command.output().expect("it starts").stdout;
            String::from_utf8(output).expect("UTF-8").trim().to_owned()
        };
        let (host, user) = (text(Command::new("hostname").arg("-s")), text(Command::new("id").arg("-un")));
        let state = slurm.folder.path().display();
        let port = 20_000 + std::process::id() % 20_000 * 2;
        let configuration = format!(
            "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={port}\nSlurmdPort={}\nSlurmUser={user}\n\
             SlurmdUser={user}\nAuthType=auth/none\nCredType=cred/none\nPluginDir={}\nStateSaveLocation={state}/state\n\
             SlurmdSpoolDir={state}/spool\nSlurmctldPidFile={state}/slurmctld.pid\nSlurmdPidFile={state}/slurmd.pid\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSelectType=select/cons_tres\n\
             SelectTypeParameters=CR_Core\nMpiDefault=none\nReturnToService=2\nSlurmdParameters=config_overrides\n\
             NodeName={host} NodeAddr=127.0.0.1 CPUs=32 RealMemory=64000 State=UNKNOWN\n\
             PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n",
            port + 1,
            libraries(&slurm.files)[1].display()
        );
        fs::write(slurm.folder.path().join("slurm.conf"), configuration).expect("a file");
        for name in ["state", "spool"] {
            fs::create_dir(slurm.folder.path().join(name)).expect("a folder");
        }
        let stepd = slurm.files.join("usr/sbin/slurmstepd-wlm");
        let mut daemon = slurm.command("usr/sbin/slurmd-wlm");
        daemon.arg("-D").arg("-d").arg(stepd);
        let mut controller = slurm.command("usr/sbin/slurmctld-wlm");
        controller.arg("-D");
        for (mut command, log) in [(controller, "slurmctld.log"), (daemon, "slurmd.log")] {
            let log = fs::File::create(slurm.folder.path().join(log)).expect("a file");
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
            slurm.daemons.push(command.spawn().expect("it starts"));
        }
        let began = Instant::now();
        while !text(slurm.command("usr/bin/sinfo").args(["-h", "-o", "%T"])).contains("idle") {
            assert!(began.elapsed() < Duration::from_secs(60), "{}", slurm.logs());
            std::thread::sleep(Duration::from_millis(200));
        }
        slurm
    }

    fn command(&self, name: &str) -> Command {
        let libraries = libraries(&self.files).map(|folder| folder.display().to_string()).join(":");
        let mut command = Command::new(self.files.join(name));
        command.env("LD_LIBRARY_PATH", libraries).env("SLURM_CONF", self.folder.path().join("slurm.conf"));
        command
    }

    fn logs(&self) -> String {
        ["slurmctld.log", "slurmd.log"].map(|name| read(&self.folder.path().join(name))).concat()
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        for daemon in &mut self.daemons {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

#[test]
fn slurm_accepts_the_scripts_and_runs_them() {
    let Some(files) = tool("slurm/usr/sbin/slurmctld-wlm") else {
        skipped("the scripts for Slurm need a Slurm, which scripts/require test fetches");
        return;
    };
    let files = files.ancestors().nth(3).expect("it is below").to_owned();
    // Without this plugin, all commands need a daemon of another package, munged, with a key and a user of its own.
    if !libraries(&files)[1].join("auth_none.so").exists() {
        skipped("the scripts for Slurm need a Slurm with the plugin auth/none");
        return;
    }
    let cluster = Cluster::new();
    let slurm = Slurm::start(files);
    let submit = |options: &[&str]| {
        let mut command = slurm.command("usr/bin/sbatch");
        let path = std::env::var("PATH").unwrap_or_default();
        command.args(options).current_dir(cluster.folder.path());
        command.env("PATH", format!("{}:{path}", cluster.path("bin").display()));
        cluster.succeeds(command)
    };
    for name in ["shards.sbatch", "merge.sbatch"] {
        let said = submit(&["--test-only", name]);
        assert!(said.contains("to start at"), "{said}");
    }
    let study = submit(&["--parsable", "shards.sbatch"]);
    let mut merging = slurm.command("usr/bin/sbatch");
    merging.arg(format!("--dependency=afterok:{}", study.trim())).args(["--parsable", "merge.sbatch"]);
    let path = format!("{}:{}", cluster.path("bin").display(), std::env::var("PATH").unwrap_or_default());
    merging.current_dir(cluster.folder.path()).env("PATH", path);
    cluster.succeeds(merging);
    let began = Instant::now();
    while !read_if_there(&cluster.path("linkmend-merge.log")).contains("Report: results/report.html") {
        assert!(began.elapsed() < Duration::from_secs(300), "{}", slurm.logs());
        std::thread::sleep(Duration::from_millis(200));
    }
    for shard in 1..=SHARDS {
        let log = read(&cluster.path(&format!("linkmend-shards-{shard}.log")));
        assert!(log.contains(&format!("Shard {shard}/{SHARDS}: ")), "{log}");
    }
    cluster.has_results("results");
}

fn read_if_there(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}
