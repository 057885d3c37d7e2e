//! A link end with two links and no daemon: the kernel alone follows the carriers.

#![allow(clippy::unwrap_used, reason = "a test fails where something is missing")]

mod support;

use linkmend_control::Side;
use linkmend_dataplane::{BypassMode, BypassOptions, PortChoice, PortPairOptions};
use linkmend_protocol::paths::Path;
use std::time::Duration;
use support::{Host, Lab, test_frame, wait_for};

fn ordinary(seed: u8) -> Vec<u8> {
    test_frame(&[0x08, 0x00], 200, seed)
}

/// Sends a frame from the host; returns whether it arrived on the first link, and on the second.
fn sent(seed: u8, from: &mut Host, links: [&mut Host; 2]) -> [bool; 2] {
    from.send(&ordinary(seed));
    let ([first, second], mut arrived) = (links, [vec![], vec![]]);
    let mut receive = || {
        let frames = [first.received(), second.received()];
        arrived.iter_mut().zip(&frames).for_each(|(all, new)| all.extend_from_slice(new));
        frames.concat()
    };
    wait_for(1, &mut receive);
    // It must not arrive on the other one, too.
    std::thread::sleep(Duration::from_millis(30));
    receive();
    arrived.map(|frames| frames == [ordinary(seed)])
}

fn options(mode: BypassMode) -> PortPairOptions {
    let bypass = BypassOptions { mode, stall_after: Duration::ZERO, ..BypassOptions::default() };
    PortPairOptions { choice: PortChoice::Xdp, bypass, ..PortPairOptions::default() }
}

#[test]
fn without_a_daemon_frames_go_to_the_link_that_has_a_carrier() {
    let Some(lab) = Lab::new("bypass, two links", 1500) else { return };
    lab.add_backup(1500);
    for mode in [BypassMode::Dormant, BypassMode::Active] {
        let pair = lab.open_with_backup(&options(mode)).unwrap();
        let bypass = pair.bypass.as_ref().unwrap();
        assert!(bypass.follows_carriers(), "this kernel lets a program look");
        // Sockets of their own, because those before have seen their interfaces go down.
        let ((mut host1, mut first), mut second) = (lab.hosts(None).unwrap(), lab.backup_host());
        // Frames of both links reach the host, whichever the other end uses.
        for (seed, link) in [(6, &mut first), (7, &mut second)] {
            link.send(&ordinary(seed));
            assert_eq!(host1.wait_for(1), [ordinary(seed)]);
        }
        let mut arrived = |seed| sent(seed, &mut host1, [&mut first, &mut second]);
        assert_eq!(arrived(1), [true, false]);
        assert_eq!(bypass.carriers(), Some([true, true]));
        lab.set_host2("eth0", "down");
        assert_eq!(bypass.carriers(), Some([false, true]));
        assert_eq!(arrived(2), [false, true], "the first has no carrier");
        lab.set_host2("eth0", "up");
        assert_eq!(arrived(3), [true, false], "it is back");
        bypass.set_path(Path::Backup);
        assert_eq!(arrived(4), [false, true], "as the daemon said last");
        lab.set_host2("eth1", "down");
        assert_eq!(arrived(5), [true, false]);
        lab.set_host2("eth1", "up");
        bypass.set_path(Path::Primary);
        assert!(bypass.counters(Side::Backup).bypassed_frames > 0);
        // Nobody holds the programs any more, and they are still there.
        drop(pair);
        lab.set_host2("eth0", "down");
        assert_eq!(sent(8, &mut host1, [&mut first, &mut second]), [false, true]);
        lab.set_host2("eth0", "up");
        assert_eq!(sent(9, &mut host1, [&mut first, &mut second]), [true, false]);
    }
}

#[test]
fn a_link_that_is_gone_is_not_mistaken_for_one_with_a_carrier() {
    let Some(lab) = Lab::new("bypass, a link that is gone", 1500) else { return };
    lab.add_backup(1500);
    let (mut host1, mut first) = lab.hosts(None).unwrap();
    let pair = lab.open_with_backup(&options(BypassMode::Dormant)).unwrap();
    pair.bypass.as_ref().unwrap().set_path(Path::Backup);
    drop(pair);
    lab.remove_backup();
    host1.send(&ordinary(1));
    assert_eq!(first.wait_for(1), [ordinary(1)]);
}
