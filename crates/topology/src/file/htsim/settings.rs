//! The numbers of a `.topo` file.

use crate::file::{MAX_SPEED, TopologyFault, TopologyFileError};
use linkmend_diagnose::excerpt;
use linkmend_quantity::BitRate;

/// Most hosts. A file of a few lines can describe any number of them, so this bounds the size of the graph.
const MAX_HOSTS: u64 = 1 << 17;
/// Most links between switches.
const MAX_SWITCH_LINKS: u64 = 1 << 20;
/// Highest latency of a link: once around the earth.
const MAX_LATENCY_NANOS: u64 = 200_000_000;
const GIGABIT: u64 = 1_000_000_000;

/// Whether a text is of this format, by its first setting.
pub(in crate::file) fn is_htsim(text: &str) -> bool {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty() && !line.starts_with('#'));
    let words: Vec<&str> = first.unwrap_or_default().split_ascii_whitespace().take(3).collect();
    let [key, value] = words.as_slice() else { return false };
    let known = ["nodes", "tiers", "podsize"].iter().any(|known| key.eq_ignore_ascii_case(known));
    known && value.bytes().all(|byte| byte.is_ascii_digit())
}

/// What a file says.
#[derive(Debug, Default)]
pub(super) struct Settings {
    nodes: u64,
    pod_size: u64,
    pub tiers: Vec<Tier>,
}

/// What a file says about one tier.
#[derive(Debug, Default, Clone)]
pub(super) struct Tier {
    pub speed: Option<BitRate>,
    pub latency_nanos: Option<u64>,
    pub radix_up: u64,
    pub radix_down: u64,
    pub bundle: u64,
    oversubscribed: Option<u64>,
    /// Whether its switches have a latency, and its queues a length.
    switch_latency: bool,
    queues: bool,
    /// The line `Tier`.
    pub line: u32,
}

/// How many switches there are.
#[derive(Debug)]
pub(super) struct Shape {
    /// In each tier.
    pub switches: [u64; 3],
    pub tors_of_pod: u64,
    pub aggregations_of_pod: u64,
}

pub(super) fn read(text: &str, file: &str) -> Result<Settings, TopologyFileError> {
    let mut reader = Reader::default();
    for (line, content) in (1..).zip(text.lines().map(str::trim)) {
        if !content.is_empty() && !content.starts_with('#') {
            let refuse = |reason| TopologyFault::form(reason).at(file, Some(line));
            reader.line(line, content).map_err(refuse)?;
        }
    }
    reader.finish().map_err(|reason| TopologyFault::form(reason).at(file, None))
}

#[derive(Default)]
struct Reader {
    nodes: Option<u64>,
    pod_size: Option<u64>,
    tier_count: Option<u64>,
    tiers: [Option<Tier>; 3],
    current: Option<usize>,
    seen: Vec<(Option<usize>, String)>,
}

impl Reader {
    fn line(&mut self, line: u32, content: &str) -> Result<(), String> {
        let mut words = content.split_ascii_whitespace();
        let (key, value) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let shown = excerpt(key, 40);
        if let Some(more) = words.next() {
            return Err(format!("`{shown}` has one value, but `{}` follows it", excerpt(more, 40)));
        }
        let lower = key.to_ascii_lowercase();
        let value = value.parse::<u64>();
        let value = value.map_err(|_| format!("`{shown}` must be followed by a whole number"))?;
        let within = |least, most| {
            let right = (least..=most).contains(&value);
            if right {
                Ok(value)
            } else {
                Err(format!("`{shown}` is {value}; it must be from {least} to {most}"))
            }
        };
        if lower == "tier" {
            let tier = within(0, 2)? as usize;
            if self.tiers[tier].is_some() {
                return Err(format!("tier {tier} is given a second time"));
            }
            self.tiers[tier] = Some(Tier { bundle: 1, line, ..Tier::default() });
            self.current = Some(tier);
            return Ok(());
        }
        let setting = (self.current, lower);
        if self.seen.contains(&setting) {
            return Err(format!("`{shown}` is given a second time"));
        }
        match (setting.1.as_str(), self.current) {
            ("nodes", None) => self.nodes = Some(within(1, MAX_HOSTS)?),
            ("podsize", None) => self.pod_size = Some(within(1, MAX_HOSTS)?),
            ("tiers", None) => self.tier_count = Some(within(2, 3)?),
            (_, None) => return Err(format!("`{shown}` is not `Nodes`, `Tiers`, `Podsize` or `Tier`")),
            (name, Some(number)) => {
                if let Some(tier) = &mut self.tiers[number] {
                    tier.set(name, within).unwrap_or_else(|| {
                        Err(format!(
                            "`{shown}` is not a setting of a tier: these are `Downlink_speed_Gbps`, `Radix_Up`, \
                             `Radix_Down`, `Oversubscribed`, `Bundle`, `Downlink_Latency_ns`, `Switch_Latency_ns`, \
                             `Queue_Up` and `Queue_Down`"
                        ))
                    })?;
                }
            }
        }
        self.seen.push(setting);
        Ok(())
    }

    fn finish(self) -> Result<Settings, String> {
        let missing = |what: &str| format!("`{what}` is missing");
        let nodes = self.nodes.ok_or_else(|| missing("Nodes"))?;
        let pod_size = self.pod_size.ok_or_else(|| missing("Podsize"))?;
        let count = self.tier_count.ok_or_else(|| missing("Tiers"))? as usize;
        let mut tiers = Vec::new();
        for (number, tier) in self.tiers.into_iter().enumerate() {
            match tier {
                Some(_) if number >= count => {
                    return Err(format!("there are {count} tiers, so none is tier {number}"));
                }
                None if number < count => return Err(missing(&format!("Tier {number}"))),
                tier => tiers.extend(tier),
            }
        }
        Ok(Settings { nodes, pod_size, tiers })
    }
}

impl Tier {
    /// Sets one number; `None` if there is none of this name.
    fn set(
        &mut self,
        name: &str,
        within: impl Fn(u64, u64) -> Result<u64, String>,
    ) -> Option<Result<(), String>> {
        let set = match name {
            "downlink_speed_gbps" => within(1, MAX_SPEED.0 / GIGABIT)
                .map(|gigabits| self.speed = Some(BitRate(gigabits * GIGABIT))),
            "downlink_latency_ns" => {
                within(0, MAX_LATENCY_NANOS).map(|nanos| self.latency_nanos = Some(nanos))
            }
            "radix_up" => within(1, MAX_HOSTS).map(|radix| self.radix_up = radix),
            "radix_down" => within(1, MAX_HOSTS).map(|radix| self.radix_down = radix),
            "bundle" => within(1, MAX_HOSTS).map(|bundle| self.bundle = bundle),
            "oversubscribed" => within(1, MAX_HOSTS).map(|ratio| self.oversubscribed = Some(ratio)),
            "switch_latency_ns" => within(0, u64::MAX).map(|nanos| self.switch_latency = nanos > 0),
            "queue_up" | "queue_down" => within(0, u64::MAX).map(|_| self.queues = true),
            _ => return None,
        };
        Some(set)
    }
}

impl Settings {
    /// The numbers of switches that follow, if all numbers agree.
    pub fn shape(&self) -> Result<Shape, TopologyFault> {
        let divided = |what: &str, all: u64, by: u64| {
            let equally = by > 0 && all.is_multiple_of(by);
            let reason = || TopologyFault::form(format!("{what}: {all} cannot be divided by {by}"));
            if equally { Ok(all / by) } else { Err(reason()) }
        };
        let demand = |what: &str, said: u64, needed: u64| {
            let reason =
                || TopologyFault::form(format!("{what} is {said}, but the other numbers demand {needed}"));
            if said == needed { Ok(()) } else { Err(reason()) }
        };
        let pods = divided("Nodes by Podsize", self.nodes, self.pod_size)?;
        let tors_of_pod =
            divided("Podsize by Radix_Down of tier 0", self.pod_size, self.tiers[0].radix_down)?;
        let [lower, upper] = [&self.tiers[0], &self.tiers[1]];
        demand("Bundle of tier 0", lower.bundle, 1)?;
        let aggregations_of_pod =
            divided("Radix_Up of tier 0 by Bundle of tier 1", lower.radix_up, upper.bundle)?;
        demand("Radix_Down of tier 1", upper.radix_down, tors_of_pod * upper.bundle)?;
        let mut links = pods * tors_of_pod * lower.radix_up;
        let mut core = 0;
        match self.tiers.get(2) {
            None => demand("Podsize", self.pod_size, self.nodes)?,
            Some(top) => {
                let above = divided("Radix_Up of tier 1 by Bundle of tier 2", upper.radix_up, top.bundle)?;
                demand("Radix_Down of tier 2", top.radix_down, pods * top.bundle)?;
                core = aggregations_of_pod.saturating_mul(above);
                let of_core = pods.saturating_mul(aggregations_of_pod).saturating_mul(upper.radix_up);
                links = links.saturating_add(of_core);
            }
        }
        if aggregations_of_pod == 0 || (self.tiers.len() == 3 && core == 0) {
            return Err(TopologyFault::form("`Radix_Up` of a tier below another one is missing"));
        }
        if links > MAX_SWITCH_LINKS {
            return Err(TopologyFault::TooMany { what: "links", most: MAX_SWITCH_LINKS });
        }
        self.check_oversubscription()?;
        let switches = [pods * tors_of_pod, pods * aggregations_of_pod, core];
        Ok(Shape { switches, tors_of_pod, aggregations_of_pod })
    }

    /// The ratio that a tier says must be that of its ports, or of their speeds.
    fn check_oversubscription(&self) -> Result<(), TopologyFault> {
        for (number, pair) in self.tiers.windows(2).enumerate() {
            let Some(ratio) = pair[0].oversubscribed else { continue };
            let (down, up) = (pair[0].radix_down, pair[0].radix_up);
            let speed = |tier: &Tier| u128::from(tier.speed.map_or(1, |speed| speed.0));
            let ports = down == ratio * up;
            let speeds =
                u128::from(down) * speed(&pair[0]) == u128::from(ratio) * u128::from(up) * speed(&pair[1]);
            if !ports && !speeds {
                return Err(TopologyFault::form(format!(
                    "`Oversubscribed` of tier {number} is {ratio}, but {down} ports lead down and {up} up"
                )));
            }
        }
        Ok(())
    }

    /// What is not part of a network, for people.
    pub fn left_out(&self) -> Vec<String> {
        let mut left_out = Vec::new();
        if self.tiers.iter().any(|tier| tier.switch_latency) {
            left_out.push("left out the latency of switches (`Switch_Latency_ns`)".to_owned());
        }
        if self.tiers.iter().any(|tier| tier.queues) {
            left_out.push("left out the lengths of queues (`Queue_Up`, `Queue_Down`)".to_owned());
        }
        left_out
    }
}
