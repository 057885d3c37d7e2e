//! The translation of OpenWrt's configuration (`dist/openwrt`), and what the daemon says of its result.

mod program;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn feed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dist/openwrt")
}

/// The exit code, the TOML, and the complaint about this `/etc/config/linkmend`.
fn translate(config: &str) -> (i32, String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("linkmend"), config).expect("written");
    let output = Command::new("sh")
        .arg(feed().join("linkmend/files/uci-to-toml"))
        .env("LINKMEND_FUNCTIONS", feed().join("functions.sh"))
        .env("UCI_CONFIG_DIR", folder.path())
        .output()
        .expect("sh");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
}

/// The configuration of the package, with changes.
fn shipped(changes: &[(&str, &str)]) -> String {
    let mut config =
        fs::read_to_string(feed().join("linkmend/files/linkmend.config")).expect("the configuration");
    for (from, to) in changes {
        assert!(config.contains(from), "{from}");
        config = config.replace(from, to);
    }
    config
}

#[test]
fn nothing_starts_before_it_is_enabled() {
    assert_eq!(translate(&shipped(&[])), (0, String::new(), String::new()));
    assert_eq!(translate("config linkmend 'main'\n\toption enabled '1'\n").1, "", "there is no link");
}

#[test]
fn options_become_keys_and_tables_that_the_daemon_accepts() {
    let config = shipped(&[
        ("enabled '0'", "enabled '1'"),
        ("# option metrics", "option metrics"),
        ("# list", "list"),
    ]) + "config link\n\toption inner 'create:host0'\n\toption link 'eth3'\n\toption backup 'eth4'\n\toption busy_poll 'on'\n\
          \toption rate '100M'\n\toption failover_detection '20ms'\n\toption parameters_window '1024'\n\
          \toption fallback_enabled '0'\n\toption fallback_ordered_loss_max '1e-2'\n";
    let (code, toml, error) = translate(&config);
    assert_eq!((code, error.as_str()), (0, ""), "{toml}");
    let expected = "\
# Made from /etc/config/linkmend.
metrics = \"127.0.0.1:9464\"

[[link]]
name = \"uplink\"
inner = \"lan4\"
link = \"wan\"
pool = 4096

[link.protect]
mode = \"ordered\"
classes = [{ pcp = 5, mode = \"non-blocking\" }, { dscp = 46, mode = \"non-blocking\" }]

[[link]]
inner = \"create:host0\"
link = \"eth3\"
backup = \"eth4\"
rate = \"100M\"
busy-poll = true

[link.failover]
detection = \"20ms\"

[link.parameters]
window = 1024

[link.fallback]
enabled = false
ordered-loss-max = 1e-2
";
    assert_eq!(toml, expected);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("linkmend.toml");
    fs::write(&path, toml).expect("written");
    let path = path.to_str().expect("UTF-8");
    let (code, _, error) = program::run(&["run", "--config", path, "--check"]);
    assert_eq!(code, 0, "{error}");
}

#[test]
fn what_cannot_be_meant_is_an_error_that_says_why() {
    let link = "config linkmend 'main'\n\toption enabled '1'\nconfig link 'up'\n\toption inner 'lan1'\n";
    for (rest, complaint) in [
        ("", "the link 'up' needs the option link"),
        ("\toption lnk 'wan'\n", "up: there is no option lnk"),
        ("\toption link 'wan'\n\toption pool 'many'\n", "up: pool is 'many', but must be a number"),
        ("\toption link 'wan'\n\toption busy_poll 'maybe'\n", "up: busy_poll is 'maybe', but must be 0 or 1"),
        ("\toption link 'wan\"\nx = 1'\n", "up: the value of link has characters that it must not have"),
        (
            "\toption link 'wan'\n\tlist protect_class 'pcp=9 ordered'\n",
            "the class 'pcp=9 ordered' is not like",
        ),
        ("\toption link 'wan'\n\tlist classes 'x'\n", "up: there is no list classes"),
        ("\toption link 'wan'\nconfig lnik 'down'\n", "'lnik' is not a type of section"),
    ] {
        let (code, _, error) = translate(&format!("{link}{rest}"));
        assert_eq!(code, 2, "{rest}: {error}");
        assert!(error.contains(complaint), "{rest}: {error}");
    }
}
