//! Experiments in shards: together they give what one command gives, and nothing else is merged.

#[path = "../../linkmend/tests/program/mod.rs"]
mod program;

use program::{PROGRAM, run};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Runs at line rate, over several links and with hosts are files of one kind; the files of fleets are of another.
const STUDIES: [(&str, &str); 5] = [
    (
        "line-rate",
        "[base]\nframes = 20000\nruns = 3\n[[sweep]]\nloss = [1e-3, 1e-2]\nscheme = [\"ordered\", \"non-blocking\", \"llr\"]\n\
         [[plot]]\nkind = \"points\"\nx = \"loss\"\ny = \"effective_speed_pct\"\nseries = [\"scheme\"]\n\
         [[published]]\nat = { loss = 1e-2, scheme = \"ordered\" }\nmetric = \"effective_speed_pct\"\nvalue = 2\ntolerance = { relative = 0.01 }\ntolerance-reason = \"it is far off\"\nverdict = \"reproduced\"\n",
    ),
    (
        "attenuated",
        "[base]\nscheme = \"none\"\nframes = 20000\nruns = 2\n[[sweep]]\ntransceiver = \"50GBASE-SR-FEC\"\nattenuation = [\"10dB\", \"11dB\"]\n",
    ),
    (
        "links",
        "[base]\nsecond-link = true\nfailure-every = \"2ms\"\ndown-for = \"500us\"\nsilence = \"200us\"\nreturn-after = \"200us\"\n\
         load = \"20%\"\nloss = 0\ncuts = 3\nruns = 2\n[[sweep]]\ndetection = [\"squelch\", \"f10\"]\n",
    ),
    (
        "flows",
        "[base]\nloss = 1e-2\ntrials = 40\nsize = \"20kB\"\nruns = 2\n[[sweep]]\ntransport = [\"cubic\", \"rdma\"]\nscheme = [\"none\", \"ordered\"]\n\
         [[plot]]\nkind = \"tail\"\n",
    ),
    (
        "years",
        "kind = \"fleet\"\nfigure = \"differences\"\n[base]\npods = 4\ndays = 20\nruns = 3\n[[sweep]]\nconstraint = [\"50%\", \"75%\"]\n",
    ),
];

struct Study {
    folder: TempDir,
}

impl Study {
    /// One file for each kind of runs.
    fn new() -> Study {
        let study = Study { folder: tempfile::tempdir().expect("a folder") };
        for (id, rest) in STUDIES {
            let text = format!("id = \"{id}\"\ntitle = \"{id}\"\nsource = \"our own\"\n{rest}");
            // Top-level keys come first.
            fs::create_dir_all(study.path("files")).expect("a folder");
            fs::write(study.path("files").join(format!("{id}.toml")), text).expect("a file");
        }
        study
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn linkmend(&self, line: &str) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(line.split(' ')).current_dir(self.folder.path());
        command.env_remove("RUST_LOG").env("NO_COLOR", "1").env("COLUMNS", "100");
        command
    }

    /// Exit code and standard error of a command.
    fn run(&self, line: &str) -> (i32, String) {
        let output = self.linkmend(line).output().expect("it starts");
        (output.status.code().unwrap_or(-1), String::from_utf8(output.stderr).expect("UTF-8"))
    }

    fn succeeds(&self, line: &str) {
        assert_eq!(self.run(line), (0, String::new()), "{line}");
    }

    fn files(&self, name: &str) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        files(&self.path(name), Path::new(""), &mut found);
        found
    }
}

fn files(folder: &Path, below: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder.join(below)).expect("a folder") {
        let entry = entry.expect("an entry");
        let name = below.join(entry.file_name());
        if entry.path().is_dir() {
            files(folder, &name, found);
        } else {
            found.insert(name, fs::read(entry.path()).expect("a file"));
        }
    }
}

#[test]
fn shards_of_every_kind_of_experiments_give_the_same_files_as_one_command() {
    let study = Study::new();
    let all = "reproduce all --experiments files --seed 5";
    let (code, _) = study.run(&format!("{all} --out whole"));
    assert_eq!(code, 1, "a published value is far off");
    let whole = study.files("whole");
    assert!(whole.len() > 20, "{:?}", whole.keys());
    for of in [1, 2, 5, 12] {
        let names: Vec<String> = (1..=of).map(|number| format!("{of}-{number}")).collect();
        for (number, name) in (1..).zip(&names) {
            study.succeeds(&format!("{all} --shard {number}/{of} --jobs {} --out {name}", 1 + number % 3));
        }
        let merge = format!("merge {} --out merged-{of}", names.join(" "));
        let (code, error) = study.run(&merge);
        assert!(code == 1 && error.contains("1 verdicts differ from the recorded ones"), "{code}: {error}");
        let merged = study.files(&format!("merged-{of}"));
        assert_eq!(merged.keys().collect::<Vec<_>>(), whole.keys().collect::<Vec<_>>());
        for (name, content) in &whole {
            assert!(merged[name] == *content, "{} differs with {of} shards", name.display());
        }
    }
}

#[test]
fn shards_of_built_in_experiments_can_be_merged_into_a_folder_that_goes_on() {
    let study = Study::new();
    let command = "reproduce fig20 fig15 --quick";
    study.succeeds(&format!("{command} --shard 1/1 --out shard"));
    study.succeeds("merge shard --out merged");
    let merged = study.files("merged");
    let output = study.linkmend(&format!("{command} --out merged")).output().expect("it runs");
    assert!(String::from_utf8_lossy(&output.stdout).contains("fig15, from before"), "nothing is run again");
    assert!(study.files("merged") == merged);
}

#[test]
fn an_interrupted_shard_continues_and_every_attempt_gives_the_same_bytes() {
    let study = Study::new();
    let text = "id = \"long\"\ntitle = \"long\"\nsource = \"our own\"\n[base]\nfull = true\nframes = 100000\nruns = 60\nloss = 1e-3\n";
    fs::write(study.path("long.toml"), text).expect("a file");
    let line = "sim run long.toml --jobs 2 --shard 1/2 --out shard";
    let outcomes = study.path("shard/outcomes");
    let size = || fs::metadata(&outcomes).map_or(0, |file| file.len());
    let mut sizes = Vec::new();
    for signal in ["-INT", "-KILL"] {
        let before = size();
        let mut child =
            study.linkmend(line).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
        let began = Instant::now();
        while size() == before && began.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let pid = child.id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().expect("kill").success());
        let code = child.wait().expect("it ends").code();
        assert_eq!(code, if signal == "-INT" { Some(130) } else { None });
        sizes.push(size());
    }
    assert!(0 < sizes[0] && sizes[0] < sizes[1], "the second attempt adds to the first: {sizes:?}");
    let (code, error) = study.run("merge shard --out merged");
    assert!(code == 2 && error.starts_with("error: shard 2/2 is missing\nhint: "), "{code}: {error}");
    study.succeeds("sim run long.toml --shard 2/2 --out other");
    let (code, error) = study.run("merge shard other --out merged");
    assert!(
        code == 2 && error.starts_with("error: some shards lack runs: 1/2 in shard ("),
        "{code}: {error}"
    );
    assert!(!study.path("merged").exists(), "nothing is written");
    // As if the machine had failed while a record was written.
    let bytes = fs::read(&outcomes).expect("a file");
    fs::write(&outcomes, &bytes[..bytes.len() - 3]).expect("it is written");
    study.succeeds(line);
    let finished = study.files("shard");
    study.succeeds(line);
    assert!(study.files("shard") == finished, "the second time, there is nothing to do");
    study.succeeds("sim run long.toml --jobs 1 --shard 1/2 --out again");
    assert!(study.files("again") == finished);
    study.succeeds("merge other shard --out merged");
    study.succeeds("sim run long.toml --out whole");
    assert!(study.files("merged") == study.files("whole"));
}

#[test]
fn only_all_shards_of_one_study_are_merged() {
    let study = Study::new();
    let shard = |options: &str, name: &str| {
        study.succeeds(&format!("sim run files/flows.toml {options} --out {name}"));
    };
    shard("--shard 1/3", "one");
    shard("--shard 2/3", "two");
    shard("--shard 3/3", "three");
    fs::create_dir(study.path("copy")).expect("a folder");
    for name in ["shard.json", "outcomes"] {
        fs::copy(study.path("two").join(name), study.path("copy").join(name)).expect("a copy");
    }
    shard("--shard 2/3 --seed 2", "seed");
    shard("--shard 2/3 --quick", "quick");
    shard("--shard 2/3 --trials 30", "trials");
    shard("--shard 2/4", "four");
    study.succeeds("sim run files/links.toml --shard 2/3 --out links");
    let text = fs::read_to_string(study.path("files/flows.toml")).expect("a file");
    fs::write(study.path("files/flows.toml"), text.replace("20kB", "30kB")).expect("it is written");
    shard("--shard 2/3", "text");
    fs::create_dir(study.path("empty")).expect("a folder");
    fs::create_dir(study.path("broken")).expect("a folder");
    fs::write(study.path("broken/shard.json"), "{\"shard\": 1").expect("it is written");
    let other_build = fs::read_to_string(study.path("two/shard.json")).expect("a file");
    let build = other_build.split("\"program\": \"").nth(1).expect("it names its build")[..16].to_owned();
    fs::create_dir(study.path("build")).expect("a folder");
    fs::write(study.path("build/shard.json"), other_build.replace(&build, "0123456789abcdef"))
        .expect("it is written");
    for (given, error) in [
        ("one two", "shard 3/3 is missing\nhint: run the command of the other shards with this --shard"),
        ("three", "shards 1/3, 2/3 are missing\nhint: "),
        ("one two three copy", "two and copy are the same shard, 2/3\nhint: leave one of them out"),
        ("one seed three", "one and seed are shards of different studies: seed: 1 and 2\nhint: "),
        (
            "one quick three",
            "one and quick are shards of different studies: length: neither --quick nor --trials and --quick\n",
        ),
        (
            "one trials three",
            "one and trials are shards of different studies: length: neither --quick nor --trials and --trials 30\n",
        ),
        ("one four three", "one and four are shards of different studies: number of shards: 3 and 4\n"),
        ("one links three", "one and links are shards of different studies: experiments: flows and links\n"),
        ("one text three", "one and text are shards of different studies: the text of files/flows.toml\n"),
        ("one build three", "one and build are shards of different studies: program: 0.1.0 (build "),
        ("build", "shards 1/3, 3/3 are missing\n"),
        ("one empty three", "there is no shard in empty\nhint: "),
        ("one broken", "broken/shard.json does not describe a shard: "),
        ("one nothing", "there is no shard in nothing\n"),
    ] {
        let (code, said) = study.run(&format!("merge {given} --out merged"));
        assert!(
            code == 2 && said.starts_with(&format!("error: {error}")),
            "{given}: exit code {code}: {said}"
        );
    }
    assert!(!study.path("merged").exists(), "nothing is written");
    let (code, said) = study.run("sim run files/links.toml --shard 1/3 --out one");
    assert!(
        code == 2 && said.starts_with("error: one has another shard: experiments: flows and links\n"),
        "{said}"
    );
    let (code, said) = study.run("sim run files/links.toml --shard 1/3 --out links");
    assert!(
        code == 2 && said.starts_with("error: links has another shard: it is shard 2/3\nhint: choose"),
        "{said}"
    );
}

#[test]
fn a_file_that_an_experiment_mentions_is_the_same_for_all_shards() {
    let study = Study::new();
    let goal = |bytes: u64| {
        format!(
            "num_ranks 2\nrank 0 {{\nl1: send {bytes}b to 1\n}}\nrank 1 {{\nl1: recv {bytes}b from 0\n}}\n"
        )
    };
    let text = "id = \"named\"\ntitle = \"named\"\nsource = \"our own\"\n[base]\nprogram = \"two.goal\"\ntransport = \"rdma\"\n\
                runs = 2\n[[sweep]]\nloss = [1e-3, 1e-2]\n";
    fs::write(study.path("files/named.toml"), text).expect("a file");
    fs::write(study.path("files/two.goal"), goal(100_000)).expect("a file");
    study.succeeds("sim run files/named.toml --shard 1/2 --out one");
    study.succeeds("sim run files/named.toml --shard 2/2 --out two");
    study.succeeds("merge one two --out merged");
    study.succeeds("sim run files/named.toml --out whole");
    assert!(study.files("merged") == study.files("whole"));
    fs::write(study.path("files/two.goal"), goal(200_000)).expect("a file");
    let difference = "the points of files/named.toml, or files that it mentions";
    let (code, error) = study.run("merge one two --out again");
    assert!(
        code == 2 && error.starts_with("error: the shard in one is not what this program runs: "),
        "{error}"
    );
    assert!(error.contains(difference), "{error}");
    study.succeeds("sim run files/named.toml --shard 2/2 --out other");
    let (code, error) = study.run("merge one other --out again");
    assert!(code == 2 && error.contains(&format!("shards of different studies: {difference}\n")), "{error}");
}

#[test]
fn a_shard_needs_a_folder_of_its_own_and_has_no_table() {
    let study = Study::new();
    for (line, message) in [
        (
            "sim run files/links.toml --shard 1/2",
            "error: the following required arguments were not provided:\n  --out <DIR>",
        ),
        (
            "reproduce fig1 --shard 1/2",
            "error: the following required arguments were not provided:\n  --out <DIR>",
        ),
        (
            "sim run files/links.toml --shard 1/2 --out one --json",
            "error: the argument '--shard <I/N>' cannot be used with '--json'",
        ),
        (
            "sim run files/links.toml --shard 0/2 --out one",
            "error: invalid value '0/2' for '--shard <I/N>': shards are numbered from 1 to 2",
        ),
        ("merge --out merged", "error: the following required arguments were not provided:\n  <DIR>..."),
        ("merge one", "error: the following required arguments were not provided:\n  --out <DIR>"),
    ] {
        let (code, error) = study.run(line);
        assert!(code == 2 && error.starts_with(message), "{line}: exit code {code}: {error}");
    }
    let (code, help, _) = run(&["merge", "--help"]);
    assert!(code == 0 && help.contains("byte for byte"), "{help}");
}
