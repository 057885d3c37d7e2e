//! What `status` says of two links that are both in use.

use linkmend_control::report::{DuplicateReport, FailoverReport, Path, ShareReport};
use linkmend_report::quantity::{count, percent};

/// Whether either end uses both links, and what comes of it; nothing if neither does.
pub(super) fn lines(failover: &FailoverReport) -> Vec<String> {
    if let Some(duplicate) = &failover.duplicate {
        return duplicating(failover, duplicate);
    }
    if let Some(share) = &failover.share {
        return sharing(failover, share);
    }
    let text = "the peer uses BOTH links, this end does NOT (--use)";
    failover.peer_duplicates.then(|| text.to_owned()).into_iter().collect()
}

fn sharing(failover: &FailoverReport, share: &ShareReport) -> Vec<String> {
    let peer = match failover.peer_duplicates {
        true => "the peer takes frames from both",
        false if failover.peer_watches => "the peer does NOT (--use), so one carries all",
        false => "the peer has not answered",
    };
    let mut lines = vec![format!("the links share the frames; {peer}")];
    for (what, frames) in [("sent", share.sent_frames), ("received", share.received_frames)] {
        let all = frames.iter().sum::<u64>();
        if all > 0 {
            let [primary, backup] = frames.map(|frames| percent(frames as f64 / all as f64));
            lines.push(format!("{what}: {primary} on the primary, {backup} on the backup"));
        }
    }
    let late = |path: &&Path| share.joined[path.index()] && share.behind[path.index()];
    lines.extend(Path::ALL.iter().filter(late).map(behind));
    lines
}

fn behind(path: &Path) -> String {
    format!("the {path} is BEHIND: this end does not wait for its frames")
}

fn duplicating(failover: &FailoverReport, duplicate: &DuplicateReport) -> Vec<String> {
    let peer = match failover.peer_duplicates {
        true => "so does the peer",
        false if failover.peer_watches => "the peer does NOT (--use)",
        false => "the peer has not answered",
    };
    let mut lines = vec![format!("every frame is sent on both links; {peer}")];
    if duplicate.copies_skipped > 0 {
        let skipped = count(duplicate.copies_skipped as f64);
        lines.push(format!("the other link had no room for {skipped} of the copies"));
    }
    let first = duplicate.first_copies.iter().sum::<u64>();
    if first > 0 {
        let share = |path: Path| percent(duplicate.first_copies[path.index()] as f64 / first as f64);
        let [primary, backup] = [Path::Primary, Path::Backup].map(share);
        lines.push(format!("first copies: {primary} by the primary, {backup} by the backup"));
    }
    lines.extend(Path::ALL.iter().filter_map(|path| late(duplicate, *path)));
    lines
}

/// Whether a link is too late to make up for the other one.
fn late(duplicate: &DuplicateReport, path: Path) -> Option<String> {
    let index = path.index();
    (duplicate.joined[index] && duplicate.behind[index]).then(|| behind(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_that_differ_are_named_at_both() {
        let mut failover = FailoverReport { peer_watches: true, ..FailoverReport::default() };
        assert!(lines(&failover).is_empty());
        failover.peer_duplicates = true;
        assert!(lines(&failover)[0].contains("the peer uses BOTH links"), "{failover:?}");
        failover.duplicate = Some(DuplicateReport::default());
        assert_eq!(lines(&failover), ["every frame is sent on both links; so does the peer"]);
        failover.peer_duplicates = false;
        assert!(lines(&failover)[0].ends_with("the peer does NOT (--use)"), "{failover:?}");
    }

    #[test]
    fn what_the_links_bring_fits_a_line_each() {
        let duplicate = DuplicateReport {
            copies_skipped: 12_345,
            first_copies: [3_000_000, 1_000_000],
            joined: [true; 2],
            behind: [false, true],
            ..DuplicateReport::default()
        };
        let failover =
            FailoverReport { peer_duplicates: true, duplicate: Some(duplicate), ..FailoverReport::default() };
        let lines = lines(&failover);
        let expected = [
            "every frame is sent on both links; so does the peer",
            "the other link had no room for 12,345 of the copies",
            "first copies: 75.00 % by the primary, 25.00 % by the backup",
            "the backup is BEHIND: this end does not wait for its frames",
        ];
        assert_eq!(lines, expected);
        assert!(lines.iter().all(|line| line.len() + 15 <= 80), "{lines:?}");
    }

    #[test]
    fn links_that_share_say_how_they_do() {
        let share = ShareReport {
            sent_frames: [3_000_000, 1_000_000],
            received_frames: [0, 500],
            joined: [true; 2],
            behind: [true, false],
            ..ShareReport::default()
        };
        let mut failover =
            FailoverReport { peer_watches: true, share: Some(share), ..FailoverReport::default() };
        assert!(
            lines(&failover)[0].ends_with("the peer does NOT (--use), so one carries all"),
            "{failover:?}"
        );
        failover.peer_duplicates = true;
        let expected = [
            "the links share the frames; the peer takes frames from both",
            "sent: 75.00 % on the primary, 25.00 % on the backup",
            "received: 0 % on the primary, 100.00 % on the backup",
            "the primary is BEHIND: this end does not wait for its frames",
        ];
        assert_eq!(lines(&failover), expected);
        assert!(expected.iter().all(|line| line.len() + 15 <= 80), "{expected:?}");
    }
}
