//! Rules that give switches their layers and pods.

use super::yaml::{self, Text, WholeNumber, WithLine};
use super::{MAX_LAYER, TopologyFault, TopologyFileError};
use linkmend_quantity::BitRate;
use serde::Deserialize;
use std::path::PathBuf;
use std::str::FromStr;
use wildmatch::WildMatch;

/// Management ports, which lead to another network.
const MANAGEMENT_PORTS: [&str; 2] = ["eth0", "mgmt*"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    layers: Vec<WithLine<LayerRule>>,
    #[serde(default)]
    pods: Vec<PodRule>,
    default_speed: Option<BitRate>,
    ignore_ports: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LayerRule {
    r#match: String,
    layer: WholeNumber,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PodRule {
    r#match: String,
    pod: String,
}

/// Rules as an option gives them: a file of rules, or patterns with layers, `leaf*=0,spine*=1`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LayersOption {
    File(PathBuf),
    /// Each pattern with its layer, in order.
    Patterns(Vec<(String, u64)>),
}

impl FromStr for LayersOption {
    type Err = String;

    fn from_str(text: &str) -> Result<LayersOption, String> {
        if !text.contains('=') {
            return Ok(LayersOption::File(text.into()));
        }
        let rule = |rule: &str| {
            let (pattern, layer) = rule.rsplit_once('=')?;
            let layer = layer.trim().parse().ok().filter(|layer| *layer <= u64::from(MAX_LAYER))?;
            Some((pattern.trim().to_owned(), layer)).filter(|(pattern, _)| !pattern.is_empty())
        };
        let patterns = text.split(',').map(|one| {
            rule(one)
                .ok_or_else(|| format!("`{one}` is not PATTERN=LAYER with a layer from 0, the ToRs, to 31"))
        });
        patterns.collect::<Result<_, _>>().map(LayersOption::Patterns)
    }
}

/// The rules; the first that matches a name counts.
pub(super) struct Rules {
    layers: Vec<(WildMatch, u64)>,
    pods: Vec<(WildMatch, String)>,
    ignored: Vec<WildMatch>,
    pub default_speed: Option<BitRate>,
}

impl Rules {
    pub fn parse(Text { file, text }: &Text) -> Result<Rules, TopologyFileError> {
        let parsed: File = yaml::parse(text, file)?;
        let mut layers = Vec::new();
        for WithLine { value: rule, line } in parsed.layers {
            if rule.layer.0 > u64::from(MAX_LAYER) {
                let requirement = "must be from 0, the ToRs, to 31";
                let fault = TopologyFault::out_of_range(rule.r#match, "layer", rule.layer.0, requirement);
                return Err(fault.at(file, line));
            }
            layers.push((WildMatch::new(&rule.r#match), rule.layer.0));
        }
        let ignored = match &parsed.ignore_ports {
            Some(ports) => ports.iter().map(|port| WildMatch::new(port)).collect(),
            None => MANAGEMENT_PORTS.iter().map(|port| WildMatch::new(port)).collect(),
        };
        let pods = parsed.pods.into_iter().map(|rule| (WildMatch::new(&rule.r#match), rule.pod)).collect();
        Ok(Rules { layers, pods, ignored, default_speed: parsed.default_speed })
    }

    /// The rules that an option names.
    pub fn of_option(option: &LayersOption) -> Result<Rules, TopologyFileError> {
        match option {
            LayersOption::File(path) => Rules::parse(&yaml::read(path)?),
            LayersOption::Patterns(patterns) => {
                let layer = |(pattern, layer): &(String, u64)| (WildMatch::new(pattern), *layer);
                let ignored = MANAGEMENT_PORTS.iter().map(|port| WildMatch::new(port)).collect();
                let layers = patterns.iter().map(layer).collect();
                Ok(Rules { layers, pods: Vec::new(), ignored, default_speed: None })
            }
        }
    }

    /// These rules, or the usual ones, with every node a switch: for cables, for which layers do not matter.
    pub fn of_every_node(rules: Option<Rules>) -> Rules {
        let ignored = MANAGEMENT_PORTS.iter().map(|port| WildMatch::new(port)).collect();
        let usual = Rules { layers: Vec::new(), pods: Vec::new(), ignored, default_speed: None };
        Rules { layers: vec![(WildMatch::new("*"), 0)], ..rules.unwrap_or(usual) }
    }

    pub fn layer(&self, switch: &str) -> Option<u64> {
        first_match(&self.layers, switch).copied()
    }

    pub fn pod(&self, switch: &str) -> Option<String> {
        first_match(&self.pods, switch).cloned()
    }

    pub fn ignores(&self, port: &str) -> bool {
        self.ignored.iter().any(|pattern| pattern.matches(port))
    }
}

/// The value of the first pattern that matches a name as it is written, or else in lower case without its domain.
fn first_match<'a, T>(rules: &'a [(WildMatch, T)], name: &str) -> Option<&'a T> {
    let plain = first_label(name).to_lowercase();
    [name, &plain]
        .into_iter()
        .find_map(|name| rules.iter().find(|(pattern, _)| pattern.matches(name)))
        .map(|(_, value)| value)
}

/// `agg1` of `agg1.dc1.example.com`. An address is one label.
pub(super) fn first_label(name: &str) -> &str {
    if name.parse::<std::net::IpAddr>().is_ok() {
        return name;
    }
    name.split_once('.').map_or(name, |(label, _)| label)
}
