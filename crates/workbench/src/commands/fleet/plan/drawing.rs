//! A drawing of a pod: ToRs below, fabric switches above them, and the top layer, or bundles of links to a large one.

use super::tables::what_to_do;
use linkmend_fleet::plan::{Action, Plan, PlannedLink, TorAfterPlan, ZoneAfterPlan};
use linkmend_report::{Hue, LayeredGraph, Line, Mark, Place, Stroke, quantity};
use linkmend_topology::{LinkId, SwitchId, ZoneId};
use std::collections::{BTreeMap, BTreeSet};

/// The largest number of switches that are drawn in a layer. Those with reported links come first.
const MAX_SWITCHES: usize = 96;
/// The largest number of switches of the top layer that a pod is drawn with. Links to more are drawn as bundles.
const MAX_TOP_SWITCHES: usize = 32;
/// How many switches the tooltip of a bundle names before it counts the others.
const MAX_NAMED: usize = 8;
/// The largest number of links without an action that are drawn, to show the pod's shape.
const MAX_PLAIN_LINKS: usize = 6000;

const SHORT: Mark = Mark::Framed(Hue::Vermillion);
const LACKING: Mark = Mark::Outlined(Hue::Blue);

/// How the links of each action are drawn, and their names in the legend. Dashed lines are out of operation.
const STROKES: [(&str, Stroke, &str); 6] = [
    ("disable", Stroke { hue: Hue::Blue, line: Line::Dashed }, "disable"),
    ("keep disabled", Stroke { hue: Hue::Grey, line: Line::Dotted }, "disabled before"),
    ("protect", Stroke { hue: Hue::Green, line: Line::Solid }, "protect"),
    ("leave", Stroke { hue: Hue::Vermillion, line: Line::Thick }, "leave unprotected"),
    ("watch", Stroke { hue: Hue::Amber, line: Line::Thin }, "watch"),
    ("downstream", Stroke { hue: Hue::Amber, line: Line::Dotted }, "downstream of another"),
];

fn stroke_of(action: &Action) -> Option<Stroke> {
    STROKES.iter().find(|(name, ..)| *name == action.name()).map(|(_, stroke, _)| *stroke)
}

/// Draws a pod.
pub fn pod(plan: &Plan, zone: &ZoneAfterPlan) -> LayeredGraph {
    let topology = plan.topology();
    let drawn = Drawn::new(plan, zone);
    let share = quantity::percent(zone.share());
    let paths = zone.worst.map_or_else(String::new, |tor| {
        let name = topology.names().switch(tor.tor);
        format!(" {name} is closest to its limit: {}, {} to keep.", tor.left(), tor.must_keep())
    });
    let title = pod_name(plan, zone.zone);
    let mut graph = LayeredGraph::new(format!("{title}: {share} of its capacity left"))
        .describe(format!(
            "{title} with this plan.{paths}{} Hover over a link or switch for its name and ports.",
            if drawn.has_top {
                ""
            } else {
                " Numbers at the top: links in operation, with the total if not all of them are."
            }
        ))
        .bundles_to("Links to the top");
    for (layer, switches) in drawn.layers.iter().enumerate() {
        graph = graph.layer(drawn.label(layer));
        let names: Vec<String> = switches.iter().map(|&switch| topology.names().switch(switch)).collect();
        // Below the title of a pod the rest of a name is enough, but switches of the top layer are in no pod.
        let is_top = drawn.has_top && layer + 1 == drawn.layers.len();
        let prefix = if is_top { 0 } else { common_prefix(&names) };
        for (&switch, name) in switches.iter().zip(&names) {
            let (tooltip, mark) = describe_switch(plan, switch, name);
            graph.push_node(layer, &name[prefix..], tooltip, mark);
        }
    }
    drawn.push_links(plan, &mut graph);
    // The legend explains only what the drawing contains.
    for (action, stroke, name) in STROKES {
        if drawn.reported.values().any(|planned| planned.action.name() == action) {
            graph = graph.explain_stroke(stroke, name);
        }
    }
    let of_zone = |tor: &TorAfterPlan| topology.switch(tor.tor).zone == Some(zone.zone);
    if plan.tors().filter(of_zone).any(|tor| tor.is_affected() && !tor.is_short) {
        graph = graph.explain_node(LACKING, "ToR has lost paths");
    }
    if zone.worst.is_some_and(|tor| tor.is_short) {
        graph = graph.explain_node(SHORT, "ToR is below its constraint");
    }
    graph
}

/// The name of a pod when it stands alone.
pub fn pod_name(plan: &Plan, zone: ZoneId) -> String {
    let name = plan.topology().names().zone(zone);
    if name.to_lowercase().starts_with("pod") { name } else { format!("Pod {name}") }
}

/// The text and the mark of a switch.
fn describe_switch(plan: &Plan, switch: SwitchId, name: &str) -> (String, Option<Mark>) {
    if plan.topology().switch(switch).layer > 0 {
        return (name.to_owned(), None);
    }
    let tor = plan.tor(switch);
    let text = format!("{name}: {}, {} to keep", tor.left(), tor.must_keep());
    let mark = if tor.is_short {
        Some(SHORT)
    } else if tor.is_affected() {
        Some(LACKING)
    } else {
        None
    };
    (text, mark)
}

/// The switches of a pod that are drawn.
struct Drawn {
    layers: Vec<Vec<SwitchId>>,
    /// The number of switches in each layer, drawn or not.
    installed: Vec<usize>,
    places: BTreeMap<SwitchId, Place>,
    reported: BTreeMap<LinkId, PlannedLink>,
    /// Whether the highest of the layers is the network's top layer.
    has_top: bool,
}

impl Drawn {
    fn new(plan: &Plan, zone: &ZoneAfterPlan) -> Drawn {
        let topology = plan.topology();
        let in_zone = |switch: SwitchId| topology.switch(switch).zone == Some(zone.zone);
        // Peers of its switches that are pods of their own, as the leaves of a leaf-spine network are.
        let is_drawn = |switch: SwitchId| {
            let has_peer = || topology.beside(switch).iter().any(|hop| in_zone(hop.switch));
            in_zone(switch) || topology.switch(switch).zone.is_some() && has_peer()
        };
        let reported: BTreeMap<LinkId, PlannedLink> = plan
            .links()
            .filter(|planned| is_drawn(topology.link(planned.link).lower))
            .map(|planned| (planned.link, *planned))
            .collect();
        let ends: BTreeSet<SwitchId> = reported
            .keys()
            .flat_map(|&link| [topology.link(link).lower, topology.link(link).upper])
            .collect();
        let mut by_layer: BTreeMap<u8, Vec<SwitchId>> = BTreeMap::new();
        for switch in (0..topology.switch_count() as u32).map(SwitchId) {
            if is_drawn(switch) {
                by_layer.entry(topology.switch(switch).layer).or_default().push(switch);
            }
        }
        let top = top_switches(plan, &by_layer, &ends);
        let has_top = !top.is_empty() && top.len() <= MAX_TOP_SWITCHES;
        if has_top {
            by_layer.insert(u8::MAX, top);
        }
        let installed = by_layer.values().map(Vec::len).collect();
        let mut layers: Vec<Vec<SwitchId>> = by_layer.into_values().collect();
        for switches in &mut layers {
            if switches.len() > MAX_SWITCHES {
                switches.sort_by_key(|switch| (!ends.contains(switch), *switch));
                switches.truncate(MAX_SWITCHES);
                switches.sort_unstable();
            }
        }
        let places = layers
            .iter()
            .enumerate()
            .flat_map(|(layer, switches)| {
                switches.iter().enumerate().map(move |(place, &switch)| (switch, (layer, place)))
            })
            .collect();
        Drawn { layers, installed, places, reported, has_top }
    }

    fn label(&self, layer: usize) -> String {
        let below_top = self.layers.len() - usize::from(self.has_top);
        let name = match layer {
            layer if layer == below_top => "Top layer".to_owned(),
            0 => "ToRs".to_owned(),
            1 if below_top == 2 => "Fabric switches".to_owned(),
            layer => format!("Layer {layer}"),
        };
        match self.installed[layer] - self.layers[layer].len() {
            0 => name,
            _ => format!("{name} ({} of {})", self.layers[layer].len(), self.installed[layer]),
        }
    }

    fn push_links(&self, plan: &Plan, graph: &mut LayeredGraph) {
        let topology = plan.topology();
        let mut plain = 0;
        for (&switch, &from) in &self.places {
            let mut bundle: Vec<LinkId> = Vec::new();
            // A link between peers is seen from both of them.
            let beside = topology.beside(switch).iter().filter(|hop| topology.link(hop.link).lower == switch);
            for hop in topology.up(switch).iter().chain(beside) {
                let Some(&to) = self.places.get(&hop.switch) else {
                    if topology.switch(hop.switch).zone.is_none() && !topology.is_peer(hop.link) {
                        bundle.push(hop.link);
                    }
                    continue;
                };
                let stroke = self.stroke(hop.link);
                plain += usize::from(stroke.is_none());
                if stroke.is_some() || plain <= MAX_PLAIN_LINKS {
                    graph.push_edge(from, to, self.tooltip(plan, hop.link), stroke);
                }
            }
            if !bundle.is_empty() {
                self.push_bundle(plan, graph, from, &bundle);
            }
        }
    }

    fn push_bundle(&self, plan: &Plan, graph: &mut LayeredGraph, from: Place, links: &[LinkId]) {
        let marked: Vec<(usize, Stroke, String)> = links
            .iter()
            .enumerate()
            .filter_map(|(strand, &link)| Some((strand, self.stroke(link)?, self.tooltip(plan, link))))
            .collect();
        let is_down = |link: &&LinkId| {
            self.reported
                .get(link)
                .is_some_and(|planned| matches!(planned.action, Action::Disable | Action::KeepDisabled))
        };
        let up = links.len() - links.iter().filter(is_down).count();
        let label = if up == links.len() { up.to_string() } else { format!("{up}/{}", links.len()) };
        let topology = plan.topology();
        let to: BTreeSet<SwitchId> = links.iter().map(|&link| topology.link(link).upper).collect();
        let mut named: Vec<String> =
            to.iter().take(MAX_NAMED).map(|&switch| topology.names().switch(switch)).collect();
        if let Some(more) = to.len().checked_sub(MAX_NAMED).filter(|&more| more > 0) {
            named.push(format!("{more} more"));
        }
        let to = named.join(", ");
        let tooltip = format!("{} links to the top layer, {up} of them in operation: to {to}", links.len());
        graph.push_bundle(from, label, tooltip, links.len(), marked);
    }

    fn stroke(&self, link: LinkId) -> Option<Stroke> {
        self.reported.get(&link).and_then(|planned| stroke_of(&planned.action))
    }

    fn tooltip(&self, plan: &Plan, link: LinkId) -> String {
        let Some(planned) = self.reported.get(&link) else { return String::new() };
        let loss = planned
            .loss_rate
            .map_or_else(String::new, |loss| format!(", loses {}", quantity::loss_rate(loss)));
        format!("{}{loss}: {}", plan.topology().full_label(link), what_to_do(plan, planned))
    }
}

/// The switches of the top layer to which the links of a pod lead. Those of links between peers there are in no pod, so that
/// `ends` alone says them.
fn top_switches(
    plan: &Plan,
    by_layer: &BTreeMap<u8, Vec<SwitchId>>,
    ends: &BTreeSet<SwitchId>,
) -> Vec<SwitchId> {
    let topology = plan.topology();
    let above = by_layer.values().flatten().flat_map(|&switch| topology.up(switch)).map(|hop| hop.switch);
    let is_top = |switch: &SwitchId| topology.switch(*switch).zone.is_none();
    above.chain(ends.iter().copied()).filter(is_top).collect::<BTreeSet<SwitchId>>().into_iter().collect()
}

/// The number of leading bytes that all names share, up to a number; they need not be repeated for each.
fn common_prefix(names: &[String]) -> usize {
    let [first, rest @ ..] = names else { return 0 };
    if rest.is_empty() {
        return 0;
    }
    let mut common = first.as_str();
    for name in rest {
        let same = common.char_indices().zip(name.chars()).find(|((_, one), other)| one != other);
        let end = same.map_or(common.len().min(name.len()), |((place, _), _)| place);
        common = &common[..end];
    }
    // A number must not be split: 10 and 11 are not 0 and 1.
    common.trim_end_matches(|character: char| character.is_ascii_digit()).len()
}
