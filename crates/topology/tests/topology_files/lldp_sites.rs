//! LLDP dumps as the switches of different makers and sites write them: the network is the same, whatever they call it.

use super::*;
use std::fmt::Write;

/// How a site's switches announce themselves and their ports.
#[derive(Clone, Copy)]
struct Site {
    /// The name of a switch, as its dump is called.
    file: fn(&str) -> String,
    /// The name that it announces.
    system: fn(&str) -> String,
    /// Its name of the n-th port, from 0.
    port: fn(usize) -> String,
    /// Kind and value of the identifier that it announces for the n-th port.
    id: fn(usize) -> (&'static str, String),
    /// What it describes a port as: own name, own port, neighbour's name, neighbour's port.
    description: fn([&str; 4]) -> String,
    /// Whether dumps hold what `show chassis` prints.
    with_chassis: bool,
}

const CUMULUS: Site = Site {
    file: str::to_owned,
    system: str::to_owned,
    port: |n| format!("swp{}", n + 1),
    id: |n| ("ifname", format!("swp{}", n + 1)),
    description: |[_, port, ..]| port.to_owned(),
    with_chassis: false,
};

/// SONiC numbers its ports by lanes; neighbours are told the alias, and what the port is configured to face.
const SONIC: Site = Site {
    port: |n| format!("Ethernet{}", 4 * n),
    id: |n| ("local", format!("etp{}", n + 1)),
    description: |[_, _, far, far_port]| format!("{far}:{far_port}"),
    ..CUMULUS
};

/// FRR on Linux, where lldpd announces MAC addresses.
const FRR: Site =
    Site { port: |n| format!("eth{}", n + 1), id: |n| ("mac", format!("52:54:00:00:00:{n:02x}")), ..CUMULUS };

const ARISTA: Site = Site {
    system: |name| format!("{name}.dc1.example.com"),
    port: |n| format!("Ethernet{}", n + 1),
    id: |n| ("ifname", format!("Ethernet{}", n + 1)),
    description: |[_, _, far, far_port]| format!("P2P_LINK_TO_{}_{far_port}", far.to_uppercase()),
    ..CUMULUS
};

const fn lower_file(site: Site) -> Site {
    Site {
        file: |name| name.to_lowercase(),
        system: |name| format!("{}.Example.NET", name.to_uppercase()),
        ..site
    }
}

/// Twenty sites: each maker with its usual names, with full names, in upper case, with chassis, and with mute ports.
fn sites() -> Vec<(String, Site)> {
    let makers = [("cumulus", CUMULUS), ("sonic", SONIC), ("frr", FRR), ("arista", ARISTA)];
    let full: fn(&str) -> String = |name| format!("{name}.dc1.example.com");
    let nothing: fn([&str; 4]) -> String = |_| String::new();
    let variants = |(maker, site): (&str, Site)| {
        [
            (maker.to_owned(), site),
            (format!("{maker}, full names"), Site { system: full, ..site }),
            (format!("{maker}, upper case"), lower_file(site)),
            (format!("{maker}, full names with chassis"), Site { system: full, with_chassis: true, ..site }),
            (
                format!("{maker}, described as `uplink`"),
                match maker {
                    // An lldpd that announces neither name nor description leaves only the number of links.
                    "frr" => Site { description: nothing, ..site },
                    _ => Site { description: |_| "uplink".to_owned(), ..site },
                },
            ),
        ]
    };
    makers.into_iter().flat_map(variants).collect()
}

/// Ends of the cables of two ToRs, two aggregation switches and two spines, with a double link between the first two.
fn cables() -> Vec<[(&'static str, usize); 2]> {
    vec![
        [("tor1", 0), ("agg1", 0)],
        [("tor1", 1), ("agg1", 1)],
        [("tor1", 2), ("agg2", 0)],
        [("tor2", 0), ("agg1", 2)],
        [("tor2", 1), ("agg2", 1)],
        [("agg1", 10), ("spine1", 0)],
        [("agg1", 11), ("spine2", 0)],
        [("agg2", 10), ("spine1", 1)],
        [("agg2", 11), ("spine2", 1)],
    ]
}

fn chassis(site: &Site, switch: &str, number: usize) -> String {
    format!(
        "{{\"{}\": {{\"id\": {{\"type\": \"mac\", \"value\": \"52:54:00:00:ff:{number:02x}\"}}}}}}",
        (site.system)(switch)
    )
}

fn dumps(site: &Site) -> Vec<(String, String)> {
    let cables = cables();
    let mut switches: Vec<&str> = cables.iter().flatten().map(|(switch, _)| *switch).collect();
    switches.sort_unstable();
    switches.dedup();
    let number = |switch: &str| switches.iter().position(|name| *name == switch).unwrap();
    let dump = |switch: &&str| {
        let mut interfaces = Vec::new();
        let ends = cables.iter().flat_map(|[one, other]| [(one, other), (other, one)]);
        for ((_, port), (far, far_port)) in ends.filter(|((own, _), _)| own == switch) {
            let (kind, id) = (site.id)(*far_port);
            // The description is the neighbour's own, so it is about us.
            let (near, own) = ((site.port)(*port), (site.port)(*far_port));
            let description = (site.description)([far, &own, switch, &near]);
            interfaces.push(format!(
                "{{\"{near}\": {{\"chassis\": {}, \"port\": {{\"id\": {{\"type\": \"{kind}\", \"value\": \"{id}\"}}, \
                 \"descr\": \"{description}\"}}}}}}",
                chassis(site, far, number(far))
            ));
        }
        let mut text = String::from("{");
        if site.with_chassis {
            write!(text, "\"local-chassis\": {{\"chassis\": {}}}, ", chassis(site, switch, number(switch)))
                .unwrap();
        }
        write!(text, "\"lldp\": {{\"interface\": [{}]}}}}", interfaces.join(",\n")).unwrap();
        (format!("{}.json", (site.file)(switch)), text)
    };
    switches.iter().map(dump).collect()
}

const RULES: &str = "default_speed: 100G
layers:
- {match: 'tor*', layer: 0}
- {match: 'agg*', layer: 1}
- {match: 'spine*', layer: 2}
";

fn read(files: &[(String, String)]) -> Loaded {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("layers.yaml"), RULES).unwrap();
    for (name, text) in files {
        std::fs::write(directory.path().join(name), text).unwrap();
    }
    read_topology(directory.path(), &NO_OPTIONS).unwrap_or_else(|error| panic!("{error}"))
}

/// Switches by short name with their paths, and cables with their ports, sorted.
fn understood(loaded: &Loaded) -> (Vec<String>, Vec<String>) {
    let short = |name: String| name.split('.').next().unwrap().to_lowercase();
    let paths = linkmend_topology::paths::Paths::new(&loaded.topology);
    let names = loaded.topology.names();
    let mut switches: Vec<String> = loaded
        .topology
        .switches()
        .map(|switch| format!("{} {}", short(names.switch(switch)), paths.count(switch)))
        .collect();
    let cable = |cable: &linkmend_topology::file::NamedCable| {
        let [one, other] = &cable.ends;
        format!("{}:{} {}:{}", short(names.switch(one.0)), one.1, short(names.switch(other.0)), other.1)
    };
    let mut cables: Vec<String> = loaded.cables.iter().map(cable).collect();
    switches.sort();
    cables.sort();
    (switches, cables)
}

#[test]
fn twenty_sites_with_one_network_are_read_as_one_network() {
    let sites = sites();
    assert_eq!(sites.len(), 20);
    for (name, site) in &sites {
        let loaded = read(&dumps(site));
        let (switches, found) = understood(&loaded);
        assert_eq!(switches, ["agg1 2", "agg2 2", "spine1 1", "spine2 1", "tor1 6", "tor2 4"], "{name}");
        assert_eq!(loaded.topology.link_count(), cables().len(), "{name}");
        let mut expected: Vec<String> = cables()
            .iter()
            .map(|ends| ends.map(|(switch, port)| format!("{switch}:{}", (site.port)(port))).join(" "))
            .collect();
        expected.sort();
        // Of a double link, either could be the first; aliases have an order.
        let is_mute = name == "frr, described as `uplink`";
        if is_mute {
            expected.retain(|cable| !cable.contains("tor1:eth1 ") && !cable.contains("tor1:eth2 "));
        }
        assert_eq!(loaded.warnings.len(), usize::from(is_mute || name.starts_with("sonic")), "{name}");
        assert_eq!(found, expected, "{name}");
    }
}

/// Ports whose aliases are in another order than their names are known by a CONFIG_DB beside the dumps.
#[test]
fn aliases_are_read_from_a_config_db_beside_the_dumps() {
    let site = Site { id: |n| ("local", format!("etp{}", 99 - n)), ..SONIC };
    let mut files = dumps(&site);
    let alias =
        |n: usize| format!("\"Ethernet{}\": {{\"alias\": \"etp{}\", \"lanes\": \"1\"}}", 4 * n, 99 - n);
    let ports: Vec<String> = (0..12).map(alias).collect();
    for switch in ["tor1", "agg1"] {
        files.push((
            format!("{switch}-config_db.json"),
            format!(
                "{{\"DEVICE_METADATA\": {{\"localhost\": {{\"hostname\": \"{switch}\"}}}}, \"PORT\": {{{}}}}}",
                ports.join(", ")
            ),
        ));
    }
    let (_, cables) = understood(&read(&files));
    assert!(cables.contains(&"tor1:Ethernet4 agg1:Ethernet4".to_owned()), "{cables:?}");
}
