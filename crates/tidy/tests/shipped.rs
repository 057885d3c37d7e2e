//! What is shipped for operators: units that bound their memory, and hooks that take names for nothing but names.

use linkmend_tidy::workspace_root;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

#[test]
fn every_unit_bounds_its_memory() {
    let folder = std::fs::read_dir(workspace_root().join("dist")).expect("the folder");
    let paths = folder.map(|entry| entry.expect("an entry").path());
    let units: Vec<_> = paths.filter(|path| path.extension().is_some_and(|end| end == "service")).collect();
    assert_eq!(units.len(), 2, "{units:?}");
    for path in units {
        let unit = std::fs::read_to_string(&path).expect("readable");
        assert_eq!(unit.matches("\nMemoryMax=").count(), 1, "{}", path.display());
    }
}

/// The scripts in docs/corruptd.md.
fn hooks() -> Vec<String> {
    let document = std::fs::read_to_string(workspace_root().join("docs/corruptd.md")).expect("readable");
    let scripts = document.split("```sh\n").skip(1);
    scripts.filter_map(|after| Some(after.split("```").next()?.to_owned())).collect()
}

/// Names come from other machines. A name with a command in it must reach `ip` and `linkmend` as it is.
#[test]
fn hooks_in_the_documents_run_nothing_that_a_name_says() {
    const HOSTILE: &str = "$(touch${IFS}ran);touch${IFS}ran;*";
    let folder = tempfile::tempdir().expect("a folder");
    for tool in ["ip", "linkmend"] {
        let path = folder.path().join(tool);
        std::fs::write(&path, format!("#!/bin/sh\nprintf '<%s>' {tool} \"$@\" >> told\n")).expect("written");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("ours");
    }
    let hooks = hooks();
    assert_eq!(hooks.len(), 2, "one for each kind of hook");
    for hook in hooks {
        let path = format!("{}:/usr/bin:/bin", folder.path().display());
        let status = Command::new("sh")
            .args(["-c", &hook])
            .current_dir(folder.path())
            .env("PATH", path)
            .env("LINKMEND_ACTION", if hook.contains("LINKMEND_PORTS") { "disable" } else { "protect" })
            .env("LINKMEND_PORT", format!("leaf1/{HOSTILE}"))
            .env("LINKMEND_PORTS", format!("leaf1/{HOSTILE} spine1/eth0"))
            .env("LINKMEND_LINK", HOSTILE)
            .env("LINKMEND_MODE", "ordered")
            .env("LINKMEND_LOSS_RATE", "1e-3")
            .status();
        assert!(status.expect("sh").success(), "{hook}");
    }
    let told = std::fs::read_to_string(folder.path().join("told")).expect("the hooks called something");
    assert_eq!(told.matches(&format!("<{HOSTILE}>")).count(), 2, "{told}");
    assert!(!folder.path().join("ran").exists(), "{told}");
}

/// Shell scripts that packages and images contain, and what they are written for.
const SCRIPTS: [(&str, &str); 6] = [
    ("dist/container/entry", "sh"),
    ("dist/debian/linkmend.postrm", "sh"),
    ("dist/debian/linkmend.prerm", "sh"),
    ("dist/openwrt/functions.sh", "sh"),
    ("dist/openwrt/linkmend/files/linkmend.init", "dash"),
    ("dist/openwrt/linkmend/files/uci-to-toml", "sh"),
];

#[test]
fn shipped_scripts_pass_shellcheck() {
    for (script, shell) in SCRIPTS {
        // rc.common is OpenWrt's, and so are the variables that it reads and the `local` of its shell.
        let arguments = ["--severity", "warning", "--exclude", "SC2034,SC1008", "--shell", shell];
        let checked = Command::new("shellcheck").args(arguments).arg(workspace_root().join(script)).output();
        let Ok(checked) = checked else {
            eprintln!("######## SKIPPED: shipped scripts: needs shellcheck (apt-get install shellcheck)");
            return;
        };
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
    }
}

/// What each line of a `debian/*.install`, `.docs` or `.examples` takes from the repository exists.
#[test]
fn packages_name_files_that_exist() {
    let folder = workspace_root().join("dist/debian");
    for entry in std::fs::read_dir(&folder).expect("the folder") {
        let path = entry.expect("an entry").path();
        let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default().to_owned();
        if !["install", "docs", "examples"].contains(&end.as_str()) {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("readable");
        let taken = text.lines().filter_map(|line| line.split_whitespace().next());
        // The others are made when the package is built.
        for file in taken.filter(|file| file.starts_with("dist/") || *file == "docs" || *file == "README.md")
        {
            assert!(workspace_root().join(file).exists(), "{}: {file}", path.display());
        }
    }
}

/// Packages, the RPM and the feed have the version of the workspace.
#[test]
fn other_package_files_have_the_version_of_the_workspace() {
    for (file, key) in
        [("dist/linkmend.spec", "Version:"), ("dist/openwrt/linkmend/Makefile", "PKG_VERSION:=")]
    {
        let text = std::fs::read_to_string(workspace_root().join(file)).expect("readable");
        let found = text.lines().find_map(|line| line.strip_prefix(key)).expect(key).trim();
        assert_eq!(found, env!("CARGO_PKG_VERSION"), "{file}");
    }
}
