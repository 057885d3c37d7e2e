//! Whole files: their meaning, and the message for every mistake.

use super::*;
use crate::settings::LinkSettings;
use linkmend_control::ProtectConfig;
use linkmend_diagnose::Diagnose;
use linkmend_protocol::{Copies, Mode};
use std::path::Path;

const MINIMAL: &str = "[[link]]\ninner = \"eth1\"\nlink = \"eth2\"\n";

fn parse(text: &str) -> Result<DaemonConfig, String> {
    DaemonConfig::parse(Path::new("lm.toml"), text).map_err(|error| error.to_string())
}

#[test]
fn a_minimal_file_means_the_defaults() {
    let config = parse(MINIMAL).expect("valid");
    let expected = LinkConfig::new("eth1".to_owned().into(), "eth2");
    assert_eq!(config, DaemonConfig { links: vec![expected], ..DaemonConfig::default() });
    assert_eq!(config.links[0].name(), "eth2");
}

#[test]
fn the_example_is_valid_and_shows_the_defaults() {
    let text = include_str!("../../../../dist/linkmend.toml");
    let config = parse(text).expect("the example is valid");
    let link = &config.links[0];
    let engine = LinkSettings::new("uplink", "eth1", "eth2");
    let protection = Some(crate::settings::ProtectionSettings::new(Mode::Ordered));
    assert_eq!(link.settings(), LinkSettings { protection, ..engine });
}

/// Keys that are commented out must exist, and their example values must be valid.
#[test]
fn what_the_example_leaves_out_is_valid_too() {
    let text = include_str!("../../../../dist/linkmend.toml");
    let commented: Vec<&str> =
        text.lines().filter(|line| line.starts_with("# ") && line.contains(" = ")).collect();
    assert!(commented.len() > 12, "{commented:?}");
    for line in commented {
        let mut with = text.replace(line, &line[2..]);
        if line.starts_with("# copies") {
            with = with.replace("target = 1e-8", "").replace("loss = 1e-3", "");
        }
        if ["# use", "# detection", "# return-after", "# backup-rate"].iter().any(|key| line.starts_with(key))
        {
            // Alone, they have no meaning.
            with = with.replace("# backup = ", "backup = ");
        }
        assert_eq!(parse(&with).err(), None, "{line}");
    }
}

#[test]
fn a_full_file_reaches_the_engine() {
    let config = parse(
        r#"
        metrics = "127.0.0.1:9464"
        [[link]]
        name = "up"
        inner = "create:host0"
        link = "eth2"
        ports = "packet"
        rate = "2.5G"
        ecn = "off"
        seed = 7
        [link.protect]
        mode = "non-blocking"
        copies = 3
        classes = [{ pcp = 5, mode = "ordered" }]
        [link.parameters]
        recovery-timeout = "7us"
        rx-buffer = "200KiB"
        [[link]]
        inner = "eth3"
        link = "eth4"
        protect.mode = "off"
        "#,
    )
    .expect("valid");
    let [first, second] = &config.links[..] else { panic!("two links") };
    let settings = first.settings();
    assert_eq!((settings.name.as_str(), settings.inner.as_str()), ("up", "lm-host0"));
    assert_eq!((settings.rate_bps, settings.ecn_threshold_bytes), (Some(2_500_000_000), None));
    assert_eq!(settings.overrides.recovery_timeout, Some(std::time::Duration::from_micros(7)));
    assert_eq!(settings.overrides.rx_buffer_bytes, Some(200 << 10));
    let protection = settings.protection.expect("on");
    assert_eq!((protection.default_mode(), protection.copies), (Mode::NonBlocking, Copies::Fixed(3)));
    assert_eq!((second.name(), second.settings().protection), ("eth4", None));
}

#[test]
fn a_configuration_reads_back_as_written() {
    let classes = "pcp=5:non-blocking".parse().map(|rule| vec![rule]).expect("a class");
    let mut link = LinkConfig::new("create:host0".to_owned().into(), "eth2");
    link.rate = Some(BitRate(25_000_000_000));
    link.ecn = EcnThreshold::Off;
    link.protect = ProtectConfig { target: Some(LossRate(1e-9)), classes, ..ProtectConfig::default() };
    link.parameters.pause = Some(ByteSize(3 << 19));
    link.fallback.enabled = false;
    let second = LinkConfig::new("eth3".to_owned().into(), "eth4");
    for config in [
        DaemonConfig { links: vec![link, second], ..DaemonConfig::default() }.resolved(true),
        parse(MINIMAL).expect("valid").resolved(false),
    ] {
        let text = config.to_toml();
        assert_eq!(parse(&text).as_ref(), Ok(&config), "{text}");
    }
}

#[test]
fn every_mistake_is_named_with_its_line() {
    let cases = [
        ("", "lm.toml: link: no link is configured; add a [[link]] table with `inner` and `link`"),
        ("[[link]\n", "lm.toml:1: unclosed array table, expected `]`"),
        ("[[link]]\ninner = \"a\"\n", "lm.toml:1: missing field `link`"),
        (
            "control = \"run/x.sock\"\n[[link]]\ninner = \"a\"\nlink = \"b\"",
            "lm.toml:1: control: run/x.sock: must be an absolute path of at most 100 bytes",
        ),
        (
            "metrics = \"9464\"\n",
            "lm.toml:1: `9464` is not an IP address with a port; write `127.0.0.1:9464` for this machine only, or `[::]:9464` for all",
        ),
        (
            "[[link]]\ninner = \"a\"\nlink = \"a\"\n",
            "lm.toml:3: link a: link: `a` is also the inner port of this link; the two ports must differ",
        ),
        (
            "[[link]]\ninner = \"create:veryveryverylong\"\nlink = \"a\"\n",
            "lm.toml:2: link a: inner: `veryveryverylong` is not an interface name: 1 to 12 characters, \
             no `/`, `:`, white space or control characters",
        ),
        (
            "[[link]]\nname = \"../x\"\ninner = \"a\"\nlink = \"b\"\n",
            "lm.toml:2: link ../x: name: `../x` is not a name for a link: 1 to 32 letters, digits, `-`, `_` and `.`, \
             not starting with `.` or `-`",
        ),
        (
            "[[link]]\ninner = \"a\"\nlink = \"b\"\n[[link]]\ninner = \"a\"\nlink = \"c\"\n",
            "lm.toml:5: link c: inner: `a` is already a port of link b",
        ),
        (
            "[[link]]\ninner = \"a\"\nlink = \"b\"\n[[link]]\nname = \"b\"\ninner = \"c\"\nlink = \"d\"\n",
            "lm.toml:5: link b: name: another link already has this name",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(parse(text), Err(message.to_owned()), "{text}");
    }
}

/// Demands that each value, appended to a good file, is refused with this message and the right line number.
fn demand_named(cases: &[(&str, String)]) {
    for (line, message) in cases {
        // The wrong line is the last one.
        let number = 3 + line.lines().count();
        let expected = format!("lm.toml:{number}: {message}");
        assert_eq!(parse(&format!("{MINIMAL}{line}\n")), Err(expected), "{line}");
    }
}

#[test]
fn every_bad_value_of_a_link_is_named_with_its_line() {
    let size = "with one of B, kB, KiB, MB, MiB, GB, GiB";
    let cases = [
        ("queue = 1000", format!("`1000` has no unit; a size is written like `1000B`, {size}")),
        ("queue = \"1000\"", format!("`1000` has no unit; a size is written like `1000B`, {size}")),
        ("queue = \"1kB\"", "link eth2: queue: 1kB: must be from 64KiB to 1GiB".to_owned()),
        (
            "rate = 25",
            "`25` has no unit; a rate is written like `25G`, with one of k, M, G, T, bit/s, Gbit/s".to_owned(),
        ),
        ("rate = \"9bit/s\"", "link eth2: rate: 9bit/s: must be from 100k to 1T".to_owned()),
        (
            "ecn = \"2MiB\"",
            "link eth2: ecn: 2MiB: must be above 0 and below `queue`, or it marks nothing; or `off`".to_owned(),
        ),
        ("ecn = 1000", "`off` or a size with its unit, in quotes, like \"100kB\"".to_owned()),
        ("pool = 7", "link eth2: pool: 7: must be from 4096 to 1048576".to_owned()),
        (
            "format = \"compact\"\nkey = \"k\"",
            "link eth2: key: k: needs the transparent format, because the authors' headers have no room for a tag".to_owned(),
        ),
        (
            "seed = 1\nkey = \"k\"",
            "link eth2: key: k: cannot be used with `seed`, because recorded frames would be accepted in the next run"
                .to_owned(),
        ),
        (
            "ports = \"packet\"\noffloads = true",
            "link eth2: offloads: true: requires AF_XDP at the link, so it cannot be used with `ports = \"packet\"`".to_owned(),
        ),
        ("ports = \"dpdk\"", "unknown variant `dpdk`, expected one of `auto`, `xdp`, `packet`".to_owned()),
        ("speed = \"25G\"", "unknown field `speed`, expected one of `name`, `inner`, `link`, `backup`, `use`, `insecure`, `ports`, `offloads`, `format`, \
          `key`, `rate`, `congestion`, `queue`, `ecn`, `pool`, `busy-poll`, `allow-oversize`, `use-port-in-use`, `allow-corruption`, `detach-on-stop`, \
          `seed`, `protocol-log`, `protect`, `failover`, `parameters`, `fallback`".to_owned()),
    ];
    demand_named(&cases);
}

#[test]
fn every_bad_value_of_its_protection_is_named_with_its_line() {
    let cases = [
        (
            "protect.mode = \"on\"",
            "unknown variant `on`, expected one of `ordered`, `non-blocking`, `off`".to_owned(),
        ),
        ("protect.copies = 17", "link eth2: protect.copies: 17: the number of copies is 1 to 16".to_owned()),
        (
            "protect = { copies = 2, loss = 1e-3 }",
            "link eth2: protect.loss: cannot be used with `copies`, which fixes the number of copies; remove \
             one of them".to_owned(),
        ),
        (
            "protect.target = 0",
            "link eth2: protect.target: 0: must be above 0 and below 1, or no number of copies reaches it".to_owned(),
        ),
        (
            "protect.loss = 2",
            "`2` is not a loss rate; write a number from 0 to 1 or a percentage, like `1e-3` or `0.1%`".to_owned(),
        ),
        (
            "protect.classes = [{ pcp = 9, mode = \"ordered\" }]",
            "pcp 9: a VLAN priority is 0 to 7".to_owned(),
        ),
        (
            "protect.classes = [{ pcp = 1, dscp = 1, mode = \"ordered\" }]",
            "a class needs exactly one of `pcp` and `dscp`".to_owned(),
        ),
        (
            "protect.classes = [{ pcp = 1, mode = \"ordered\" }, { pcp = 1, mode = \"non-blocking\" }]",
            "link eth2: protect.classes: pcp 1 already has a mode".to_owned(),
        ),
        (
            "format = \"compact\"\nprotect.classes = [{ pcp = 1, mode = \"non-blocking\" }]",
            "link eth2: protect.classes: needs two modes, and the compact format carries one at a time"
                .to_owned(),
        ),
        (
            "parameters.recovery-timeout = 20",
            "`20` has no unit; a time is written like `20us`, with one of ns, us, ms, s, min, h".to_owned(),
        ),
        (
            "parameters = { pause = \"1MiB\", resume = \"2MiB\" }",
            "link eth2: parameters.resume: 2MiB: must be below pause".to_owned(),
        ),
        (
            "fallback.return-factor = 1.0",
            "link eth2: fallback.return-factor: 1: must lie strictly between 0 and 1, or the level oscillates".to_owned(),
        ),
        (
            "fallback.non-blocking-loss-max = 0.01",
            "link eth2: fallback.non-blocking-loss-max: 0.01: must lie in 0..=1 and be at least ordered-loss-max"
                .to_owned(),
        ),
    ];
    demand_named(&cases);
}

#[test]
fn every_bad_value_of_a_second_link_is_named_with_its_line() {
    let cases = [
        (
            "backup = \"eth2\"",
            "link eth2: backup: `eth2` is also another port of this link; the three ports must differ".to_owned(),
        ),
        (
            "backup = \"eth1\"",
            "link eth2: backup: `eth1` is also another port of this link; the three ports must differ".to_owned(),
        ),
        (
            "backup = \"a/b\"",
            "link eth2: backup: `a/b` is not an interface name: 1 to 15 characters, no `/`, `:`, white space or \
             control characters"
                .to_owned(),
        ),
        (
            "format = \"compact\"\nbackup = \"eth3\"",
            "link eth2: backup: a second link requires the transparent format, but this link uses the \
             compact format"
                .to_owned(),
        ),
        (
            "use = \"duplicate\"",
            "link eth2: use: requires `backup`, the interface of a second link; add it, or remove this".to_owned(),
        ),
        (
            "backup = \"eth3\"\nuse = \"both\"",
            "unknown variant `both`, expected one of `active`, `duplicate`, `share`".to_owned(),
        ),
        (
            "failover.return-after = \"2s\"",
            "link eth2: failover.return-after: requires `backup`, the interface of a second link; add it, or \
             remove this"
                .to_owned(),
        ),
        (
            "backup = \"eth3\"\nfailover.detection = \"999us\"",
            "link eth2: failover.detection: 999us: must be from 1ms to 150ms: shorter times cost too many \
             probes, and with longer ones sessions end before a failure is noticed"
                .to_owned(),
        ),
        (
            "backup = \"eth3\"\nfailover.return-after = \"9ms\"",
            "link eth2: failover.return-after: 9ms: must be at least the detection time, and at most 24h".to_owned(),
        ),
        (
            "backup = \"eth3\"\nfailover.backup-rate = \"1k\"",
            "link eth2: failover.backup-rate: 1k: must be from 100k to 1T".to_owned(),
        ),
        (
            "backup = \"eth3\"\n[[link]]\ninner = \"a\"\nlink = \"eth3\"",
            "link eth3: link: `eth3` is already a port of link eth2".to_owned(),
        ),
    ];
    demand_named(&cases);
}

#[test]
fn on_the_command_line_the_option_is_named() {
    let mut link = LinkConfig::new("eth1".to_owned().into(), "eth2");
    link.fallback.return_factor = 2.0;
    let error = DaemonConfig::default().with_link(link.clone()).expect_err("impossible").to_string();
    assert_eq!(
        error,
        "--fallback-return-factor 2: must lie strictly between 0 and 1, or the level oscillates"
    );
    link.link = "eth1".to_owned();
    let mut backed = LinkConfig::new("eth1".to_owned().into(), "eth2");
    backed.backup = Some("eth3".to_owned());
    backed.failover.detection = Span(std::time::Duration::from_secs(1));
    let error = DaemonConfig::default().with_link(backed).expect_err("impossible").to_string();
    assert!(error.starts_with("--failure-detection 1s: must be from 1ms"), "{error}");
    let error = DaemonConfig::default().with_link(link).expect_err("impossible").to_string();
    assert_eq!(error, "--link `eth1` is also the inner port of this link; the two ports must differ");
}

#[test]
fn a_missing_file_says_so() {
    let error = DaemonConfig::read(Path::new("/nonexistent/lm.toml")).expect_err("missing");
    assert_eq!(error.to_string(), "cannot read /nonexistent/lm.toml");
    assert!(error.hint().is_some());
}

#[test]
fn missing_interfaces_are_named() {
    let mut link = LinkConfig::new("lo".to_owned().into(), "nonesuch0");
    link.use_port_in_use = true;
    let error = check_devices(&link).expect_err("there is no such interface").to_string();
    assert_eq!(error, "link nonesuch0: there is no interface `nonesuch0` in this network namespace");
}
