//! Whether a port may be taken down or brought up, as a function of what its switch has in its databases.

use crate::actuator::sonic_database::Fields;
use crate::sonic::{INTERNAL_ROLES, is_internal};

pub(super) const ADMIN_STATUS: &str = "admin_status";
pub(super) const DOWN: &str = "down";
pub(super) const UP: &str = "up";
/// How the names of all ports in front begin.
const FRONT_PANEL: &str = "Ethernet";
/// What a port channel needs that says nothing of it: as `config portchannel add` writes it.
const MIN_LINKS_DEFAULT: usize = 1;

/// A port channel of which the port is a member.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Channel {
    pub name: String,
    /// `min_links`, as it is written.
    pub min_links: Option<String>,
    /// Its other members ...
    pub others: usize,
    /// ... and those of them that carry traffic.
    pub others_up: usize,
}

/// A port as its switch has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// `PORT` in CONFIG_DB; empty if there is no such port.
    pub port: Fields,
    /// Whether CONFIG_DB has it as a management port.
    pub is_management: bool,
    pub channels: Vec<Channel>,
    /// Whether the switch remembers that it was taken down here.
    pub is_ours: bool,
    /// Whether the switch has forgotten everything since a port was taken down here, or none ever was.
    pub has_forgotten: bool,
    /// How many other ports are down because of corruptd.
    pub others_down: usize,
}

impl Found {
    fn is_down(&self) -> bool {
        self.port.get(ADMIN_STATUS).is_none_or(|status| status == DOWN)
    }
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// It is down because of corruptd.
    IsDown,
    /// Somebody else has taken it down.
    WasDown,
    TakeDown,
    BringUp,
    /// It is up, and the switch remembers that it was taken down here: somebody has brought it up since.
    Forget,
    IsUp,
}

/// What takes a port down, if at most `ports_most` ports of its switch may be down because of corruptd.
///
/// # Errors
/// Why it must stay up, for people.
pub(super) fn take_down(name: &str, found: &Found, ports_most: usize) -> Result<Step, String> {
    if found.is_management || !name.starts_with(FRONT_PANEL) {
        return Err("it is a management port, or another one that is no end of a cable".to_owned());
    }
    if found.port.is_empty() {
        return Err(format!("CONFIG_DB has no PORT|{name}"));
    }
    let role = found.port.get("role").filter(|role| INTERNAL_ROLES.contains(&role.as_str()));
    if is_internal(name) || role.is_some() {
        return Err("it is a port inside of the switch".to_owned());
    }
    if found.is_down() {
        return Ok(if found.is_ours { Step::IsDown } else { Step::WasDown });
    }
    if found.others_down >= ports_most {
        return Err(format!(
            "corruptd has taken down {} ports of this switch, and may take down {ports_most} (disables-per-switch)",
            found.others_down
        ));
    }
    for channel in &found.channels {
        check(channel)?;
    }
    Ok(Step::TakeDown)
}

/// A channel that has fewer links than it needs goes down as a whole, with links of which the plan knows nothing. One that has only
/// this link is this link.
fn check(channel: &Channel) -> Result<(), String> {
    let Channel { name, min_links, others, others_up } = channel;
    let needs = match min_links {
        None => MIN_LINKS_DEFAULT,
        Some(text) => text.parse().map_err(|_| format!("{name} has min_links {text}, which is no number"))?,
    };
    if *others > 0 && *others_up < needs.max(1) {
        return Err(format!(
            "{name} would have {others_up} links that are up, and needs {needs} (min_links)"
        ));
    }
    Ok(())
}

/// What brings a port up that was taken down here: by what its switch remembers, or `was_ours` if that has forgotten everything.
pub(super) fn bring_up(found: &Found, was_ours: bool) -> Step {
    match (found.is_down(), found.is_ours) {
        _ if found.port.is_empty() => Step::WasDown,
        (true, true) => Step::BringUp,
        (true, false) if was_ours && found.has_forgotten => Step::BringUp,
        (true, false) => Step::WasDown,
        (false, true) => Step::Forget,
        (false, false) => Step::IsUp,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(fields: &[(&str, &str)]) -> Found {
        let port = fields.iter().map(|(field, value)| ((*field).to_owned(), (*value).to_owned())).collect();
        Found { port, ..Found::default() }
    }

    fn up() -> Found {
        port(&[(ADMIN_STATUS, UP), ("role", "Ext")])
    }

    #[test]
    fn only_a_front_panel_port_that_is_up_is_taken_down() {
        assert_eq!(take_down("Ethernet0", &up(), 2), Ok(Step::TakeDown));
        assert_eq!(take_down("Ethernet0", &port(&[(ADMIN_STATUS, UP)]), 2), Ok(Step::TakeDown), "no role");
        assert_eq!(take_down("Ethernet0", &port(&[(ADMIN_STATUS, DOWN)]), 2), Ok(Step::WasDown));
        // Without a word, a port of SONiC is down.
        assert_eq!(take_down("Ethernet0", &port(&[("mtu", "9100")]), 2), Ok(Step::WasDown));
        let ours = Found { is_ours: true, ..port(&[(ADMIN_STATUS, DOWN)]) };
        assert_eq!(take_down("Ethernet0", &ours, 0), Ok(Step::IsDown));
        let refused = |name: &str, found: &Found| take_down(name, found, 2).expect_err("refused");
        for role in INTERNAL_ROLES {
            let internal = port(&[(ADMIN_STATUS, UP), ("role", role)]);
            assert!(refused("Ethernet0", &internal).contains("inside of the switch"), "{role}");
        }
        assert!(refused("Ethernet-BP0", &up()).contains("inside of the switch"));
        assert!(refused("Ethernet4", &Found::default()).contains("no PORT|Ethernet4"));
        assert!(refused("eth0", &up()).contains("management"));
        let management = Found { is_management: true, ..up() };
        assert!(refused("Ethernet0", &management).contains("management"));
        let many = Found { others_down: 2, ..up() };
        assert!(refused("Ethernet0", &many).contains("2 ports of this switch, and may take down 2"));
    }

    #[test]
    fn a_port_channel_keeps_the_links_that_it_needs() {
        let member = |min_links: Option<&str>, others, others_up| {
            let min_links = min_links.map(str::to_owned);
            let channel = Channel { name: "PortChannel1".to_owned(), min_links, others, others_up };
            take_down("Ethernet0", &Found { channels: vec![channel], ..up() }, 2)
        };
        for (min_links, others, others_up) in
            [(Some("2"), 2, 2), (Some("1"), 1, 1), (None, 3, 1), (Some("1"), 0, 0), (None, 0, 0)]
        {
            assert_eq!(member(min_links, others, others_up), Ok(Step::TakeDown), "{min_links:?} {others}");
        }
        for (min_links, others, others_up) in
            [(Some("2"), 1, 1), (Some("2"), 2, 1), (Some("0"), 1, 0), (None, 1, 0)]
        {
            let error = member(min_links, others, others_up).expect_err("refused");
            assert!(error.contains("PortChannel1 would have"), "{error}");
        }
        assert!(member(Some("many"), 4, 4).expect_err("refused").contains("no number"));
    }

    #[test]
    fn only_what_was_taken_down_here_is_brought_up() {
        let down = |is_ours, has_forgotten| Found { is_ours, has_forgotten, ..port(&[(ADMIN_STATUS, DOWN)]) };
        assert_eq!(bring_up(&down(true, false), false), Step::BringUp);
        assert_eq!(bring_up(&down(false, false), false), Step::WasDown);
        // The switch was started with a configuration that was saved meanwhile.
        assert_eq!(bring_up(&down(false, true), true), Step::BringUp);
        // Somebody has deleted the record, so as to keep it down.
        assert_eq!(bring_up(&down(false, false), true), Step::WasDown);
        assert_eq!(bring_up(&down(false, true), false), Step::WasDown);
        assert_eq!(bring_up(&up(), true), Step::IsUp);
        assert_eq!(bring_up(&Found { is_ours: true, ..up() }, true), Step::Forget);
        assert_eq!(bring_up(&Found::default(), true), Step::WasDown, "there is no such port");
    }
}
