//! How an end notices that its peer sends on both paths.

use super::*;

#[test]
fn a_peer_whose_control_frames_arrive_on_the_path_that_it_does_not_name_uses_both() {
    let mut ends = Ends::new();
    ends.run(50);
    ends.ends[0].note_control(Path::Primary);
    assert!(!ends.ends[0].peer_uses_both());
    for _ in 0..20 {
        ends.ends[0].note_control(Path::Backup);
        assert!(ends.ends[0].peer_uses_both());
        ends.run(100);
    }
    ends.cut = [[false, true]; 2];
    ends.run(5_000);
    assert!(ends.ends[0].peer_uses_both(), "a path that is down says nothing of the peer");
    ends.cut = [[false; 2]; 2];
    ends.run(1_000);
    assert!(!ends.ends[0].peer_uses_both(), "probes alone arrive there");
}

#[test]
fn the_next_peer_is_not_assumed_to_use_both() {
    let mut ends = Ends::new();
    ends.run(50);
    ends.ends[0].note_control(Path::Backup);
    ends.restart(1, 11);
    ends.run(2_000);
    assert!(ends.ends[0].peer_watches() && !ends.ends[0].peer_uses_both());
}

#[test]
fn a_peer_that_changes_its_path_does_not_use_both() {
    let mut ends = Ends::new();
    ends.run(50);
    for ms in 0..8_000 {
        let down = ms % 4_000 < 1_000;
        ends.cut = [[down, false]; 2];
        ends.run(1);
        for end in 0..2 {
            let path = ends.active()[end];
            ends.ends[1 - end].note_control(path);
            assert!(!ends.ends[1 - end].peer_uses_both(), "after {ms} ms");
        }
    }
    assert!(ends.changes.iter().all(|changes| changes.len() == 4), "{:?}", ends.changes);
}
