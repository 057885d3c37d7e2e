//! Audit files of a corruptd that is stopped, killed and rotated are intact, and damage to them is named.

use super::corruptd_source::Counting;
use super::program::run;
use super::programs::{Place, Program, corruptd, wait};
use std::process::Command;

/// What Python makes of the chain: how many lines it has.
fn python(place: &Place, file: &str, key: Option<&str>) -> usize {
    let script = format!("{}/tests/corruptd_out/chain.py", env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new("python3");
    command.args(["-B", &script, &place.text(file)]).args(key.map(|key| place.text(key)));
    let output = command.output().expect("python3");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number")
}

fn wait_for_lines(place: &Place, count: usize) {
    wait("decisions", || (place.lines("audit").len() >= count).then_some(()));
}

fn hangup(program: &Program) {
    let asked = Command::new("kill").args(["-HUP", &program.0.id().to_string()]).status().expect("kill");
    assert!(asked.success());
}

#[test]
fn an_audit_log_is_intact_after_kills_and_rotations_and_damage_is_named() {
    for key in [None, Some("key")] {
        let place = Place::new();
        let counting = Counting::start(&[("eth1", 0.0), ("eth2", 1e-2)]);
        let option = key.map(|key| ["--audit-key".to_owned(), place.text(key)]);
        let options: Vec<&str> = option.iter().flatten().map(String::as_str).collect();
        let start = || corruptd(&place, &counting, &options);
        let mut lines = 0;
        for _ in 0..3 {
            let daemon = start();
            wait_for_lines(&place, lines + 2);
            drop(daemon);
            lines = place.lines("audit").len();
        }
        assert_eq!(python(&place, "audit", key), lines);
        // Another one may not write there meanwhile.
        let daemon = start();
        let audit = place.text("audit");
        let (elsewhere, state) = (place.text("elsewhere"), place.text("other.json"));
        let (code, _, log) =
            run(&["corruptd", "--audit", &audit, "--control", &elsewhere, "--state", &state]);
        assert!(code == 1 && log.contains("another process writes to"), "{code}: {log}");
        // Rotated, as logrotate does it.
        let before = place.text("audit.1");
        std::fs::rename(&audit, &before).expect("moved");
        hangup(&daemon);
        wait("a new file", || place.path("audit").exists().then_some(()));
        counting.corrupt("eth3", 1e-2);
        wait_for_lines(&place, 2);
        drop(daemon);
        let verify = |files: &[&str]| {
            let key = key.map(|key| ["--key".to_owned(), place.text(key)]);
            let options: Vec<&str> = key.iter().flatten().map(String::as_str).collect();
            run(&[&["corruptd", "verify"], files, &options].concat())
        };
        let all = place.lines("audit.1").len() + place.lines("audit").len();
        let (code, said, log) = verify(&[&before, &audit]);
        assert!(
            code == 0 && said.starts_with(&format!("intact: {all} lines; the last is number {all}, ")),
            "{said}{log}"
        );
        assert_eq!(said.contains("whoever could write these files"), key.is_none(), "{said}");
        let (code, said, _) = verify(&[&audit]);
        assert!(code == 0 && said.contains("those before it are in older files"), "{said}");
        // One changed digit, one missing line, one missing file.
        let text = std::fs::read_to_string(&before).expect("readable");
        let told: Vec<&str> = text.split_inclusive('\n').collect();
        for (damaged, part) in [
            (text.replacen("\"to\":\"healthy\"", "\"to\":\"suspect\"", 1), "line 1 was changed"),
            (
                [told[..2].concat(), told[3..].concat()].concat(),
                "line 3 follows a line that was removed, number 3",
            ),
            (text[..text.len() - 9].to_owned(), " was cut"),
        ] {
            std::fs::write(place.path("damaged"), damaged).expect("written");
            let (code, said, log) = verify(&[&place.text("damaged"), &audit]);
            assert!(code == 1 && said.is_empty() && log.contains(part), "{part}: {said}{log}");
        }
        let (code, report, _) = run(&["corruptd", "report", &before, &audit, "--json"]);
        assert!(code == 0 && report.contains(&format!("\"decisions\": {all}")), "{report}");
    }
}

#[test]
fn files_without_seals_are_read_and_not_called_intact() {
    let place = Place::new();
    let old = r#"{"time_s":100,"uptime_s":1,"port":"leaf/a","kind":"state","from":"unknown","to":"healthy","text":"x"}"#;
    std::fs::write(place.path("audit"), format!("{old}\n")).expect("written");
    let audit = place.text("audit");
    let (code, said, log) = run(&["corruptd", "verify", &audit]);
    assert!(code == 1 && said.is_empty() && log.contains("no line in these files has a seal"), "{log}");
    let counting = Counting::start(&[("eth2", 1e-2)]);
    let daemon = corruptd(&place, &counting, &[]);
    wait_for_lines(&place, 3);
    drop(daemon);
    let (code, said, _) = run(&["corruptd", "verify", &audit]);
    assert!(code == 0 && said.contains("1 lines at the beginning have no seal"), "{said}");
    let (code, report, _) = run(&["corruptd", "report", &audit, "--json"]);
    assert!(code == 0 && report.contains("\"unreadable_lines\": 0"), "{report}");
}
