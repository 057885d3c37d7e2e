//! What commands set, and what of them is lacking.

use super::*;

fn after(commands: &[&str]) -> Result<Settings, Lacking> {
    let mut settings = Settings::default();
    for command in commands {
        settings.command(command)?;
    }
    Ok(settings)
}

#[test]
fn settings_of_the_kernel_are_applied() {
    let settings = after(&[
        "../common/defaults.sh\nsysctl -q net.ipv4.tcp_congestion_control=reno net.ipv4.tcp_sack=0",
        "sysctl -w net.ipv4.tcp_rmem=\"4096 540000 $1\" || true; ../common/set_sysctls.py /proc/sys/net/ipv4/tcp_frto=0",
    ]);
    assert_eq!(settings.map(|_| ()), Err("the shell's `$1`".to_owned()));
    let settings = after(&[
        "../common/defaults.sh\nsysctl -q net.ipv4.tcp_congestion_control=reno net.ipv4.tcp_sack=0",
        "set_sysctls.py /proc/sys/net/ipv4/tcp_frto=0 && ip route change 1.2.3.0/24 via 1.2.3.4 initcwnd 4",
        "sysctl net.ipv4.tcp_rmem='4096 87380 100000'; tc qdisc replace dev tun0 root fq",
    ]);
    let config = settings.and_then(|settings| settings.connection(true)).expect("settings");
    assert_eq!((config.algorithm, config.sack, config.f_rto), (Algorithm::Reno, false, false));
    assert_eq!((config.initial_window, config.receive_buffer, config.pacing), (4, 100_000, true));
    assert_eq!((config.mss, config.ecn, config.restart_after_idle), (1_448, Ecn::Off, false));
}

#[test]
fn a_route_offers_what_its_mtu_has_room_for() {
    let mss = |route: &str| {
        let settings = after(&["sysctl -q net.ipv4.tcp_timestamps=0", route])?;
        settings.connection(true).map(|config| config.mss)
    };
    assert_eq!(mss("ip route change 192.0.2.1 dev tun0 mtu lock 640 advmss 600"), Ok(600));
    let wanted = "a route whose advmss of 500 is not what its MTU has room for (600)";
    assert_eq!(mss("ip route change 192.0.2.1 dev tun0 mtu 640 advmss 500"), Err(wanted.to_owned()));
    assert_eq!(mss("sysctl net.ipv4.tcp_mtu_probing=3"), Err("net.ipv4.tcp_mtu_probing=3".to_owned()));
}

#[test]
fn options_of_accurate_ecn_are_no_hindrance_while_it_is_off() {
    let ecn = |value| {
        let settings = after(&[&format!("sysctl -q net.ipv4.tcp_ecn={value} net.ipv4.tcp_ecn_option=2")]);
        settings.and_then(|settings| settings.connection(true)).map(|config| config.ecn)
    };
    assert_eq!((ecn(0), ecn(3)), (Ok(Ecn::Off), Err("net.ipv4.tcp_ecn=3".to_owned())));
}

#[test]
fn a_shell_script_is_read_for_what_it_sets_and_never_run() {
    let scripts = ShellScripts::from([
        (
            "../common/defaults.sh".to_owned(),
            "#!/bin/bash\n# Buffers.\nsysctl -q net.ipv4.tcp_rmem=\"4096 540000 $((15*1024*1024))\"\n\
             ip tcp_metrics flush all > /dev/null 2>&1\nsource ./more.sh\n"
                .to_owned(),
        ),
        ("./more.sh".to_owned(), "sysctl -q net.ipv4.tcp_congestion_control=reno".to_owned()),
        ("./endless.sh".to_owned(), "./endless.sh".to_owned()),
    ]);
    let mut settings = Settings::new(scripts);
    assert_eq!(settings.command("../common/defaults.sh"), Ok(()));
    assert_eq!(settings.config.algorithm, Algorithm::Reno);
    assert_eq!(settings.config.receive_buffer, 15 << 20);
    let endless = settings.command("./endless.sh");
    assert_eq!(endless, Err("shell scripts that call each other 4 deep (`./endless.sh`)".to_owned()));
}

#[test]
fn what_is_lacking_is_named() {
    for (command, wanted) in [
        ("sysctl -q net.ipv4.tcp_congestion_control=vegas", "the congestion control vegas"),
        ("sysctl net.ipv4.tcp_reordering=10", "net.ipv4.tcp_reordering=10"),
        ("nstat -n; nstat", "`nstat` of something other than TcpExtBeyondWindow"),
        (
            "echo 2 > /sys/module/tcp_cubic/parameters/hystart_detect",
            "2 in /sys/module/tcp_cubic/parameters/hystart_detect",
        ),
        ("dd if=/etc/passwd of=/tmp/x", "`dd` of something other than zeroes with `bs` and `count`"),
        ("ip route change 1.1.1.1 features ecn", "the route's features ecn"),
    ] {
        assert_eq!(after(&[command]).map(|_| ()), Err(wanted.to_owned()));
    }
    let ecn = after(&["sysctl net.ipv4.tcp_ecn=3"]).expect("known").connection(true);
    assert_eq!(ecn.map(|_| ()), Err("net.ipv4.tcp_ecn=3".to_owned()));
}

#[test]
fn ecn_is_offered_or_only_accepted() {
    for (ecn, client, server) in
        [(0, Ecn::Off, Ecn::Off), (1, Ecn::Classic, Ecn::Classic), (2, Ecn::Off, Ecn::Classic)]
    {
        let settings = after(&[&format!("sysctl net.ipv4.tcp_ecn={ecn}")]).expect("known");
        let of = |is_server| settings.connection(is_server).expect("settings").ecn;
        assert_eq!((of(false), of(true)), (client, server));
    }
}
