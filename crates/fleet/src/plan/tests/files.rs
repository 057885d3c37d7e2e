//! Files of links, valid and invalid.

use super::{active, down, four_links, small_fabric};
use crate::plan::{LinkFinder, read_links};
use linkmend_topology::{LinkId, Names, Topology, TopologyBuilder};

fn refusal(topology: &Topology, text: &str) -> String {
    read_links(text.as_bytes(), "corrupting.csv", topology).expect_err(text).to_string()
}

#[test]
fn links_go_by_number_or_by_their_ends() {
    let topology = small_fabric();
    let text = "\u{feff}# from the monitoring\n\nlink,loss_rate,state\n3,1e-3,active\n\
                pod0-tor0--pod0-fabric0,0.1%\n\"pod1-fabric1--pod1-tor1\" , ,disabled\n spine1-1--pod1-fabric1,,disabled\n";
    let read = read_links(text.as_bytes(), "f", &topology).expect("links");
    assert_eq!(read, [active(3, 1e-3), active(0, 1e-3), down(7), down(15)]);
}

#[test]
fn columns_may_stand_in_any_order() {
    let topology = four_links();
    let read = read_links("state,loss_rate,link\nactive,1e-3,2\n".as_bytes(), "f", &topology).expect("links");
    assert_eq!(read, [active(2, 1e-3)]);
    assert_eq!(read_links("link,loss_rate\n".as_bytes(), "f", &topology).expect("no links"), []);
}

#[test]
fn bad_files_are_refused_with_line_and_reason() {
    let topology = small_fabric();
    let header = "`link,loss_rate`, `link,loss_rate,state` or `link,loss_rate,receiver,state`";
    let cases = [
        ("", format!("1: the header is missing; the first line must be {header}")),
        ("3,1e-3\n", format!("1: the header is missing; the first line must be {header}")),
        ("link,state\n", format!("1: the column `loss_rate` is missing; the header is {header}")),
        ("link,loss_rate,speed\n", format!("1: there is no column `speed`; the header is {header}")),
        ("link,link,loss_rate\n", "1: the column `link` occurs twice".to_owned()),
        (
            "link,loss_rate\n16,1e-3\n",
            "2: there is no link `16`; links are numbered 0 to 15, or written like pod0-tor0--pod0-fabric0"
                .to_owned(),
        ),
        (
            "link,loss_rate\npod0-tor0--pod1-fabric0,1e-3\n",
            "2: there is no link between pod0-tor0 and pod1-fabric0, though both switches exist".to_owned(),
        ),
        (
            "link,loss_rate\n# fine\n1,1.5\n",
            "3: loss rate `1.5` is not a number from 0 to 1 or a percentage, like 1e-3 or 0.1%".to_owned(),
        ),
        (
            "link,loss_rate\n1,NaN\n",
            "2: loss rate `NaN` is not a number from 0 to 1 or a percentage, like 1e-3 or 0.1%".to_owned(),
        ),
        (
            "link,loss_rate\n1,\n",
            "2: the loss rate is missing; it is optional only for disabled links".to_owned(),
        ),
        (
            "link,loss_rate\n1,1e-3\npod0-tor0--pod0-fabric1,1e-4\n",
            "3: link pod0-tor0--pod0-fabric1 is already on line 2; list each link only once".to_owned(),
        ),
        (
            "link,loss_rate,state\n1,0.1,down\n",
            "2: state `down` is neither `active` nor `disabled`".to_owned(),
        ),
        ("link,loss_rate\n1\n", "2: 1 fields, but the header has 2".to_owned()),
        ("link,loss_rate\n\"1,2\n", "2: a quote is not closed".to_owned()),
        ("link,loss_rate\n\"1\"2,3\n", "2: text follows the closing quote of a field".to_owned()),
    ];
    for (text, reason) in cases {
        assert_eq!(refusal(&topology, text), format!("corrupting.csv:{reason}"), "{text:?}");
    }
}

#[test]
fn parallel_links_without_ports_go_by_number_or_place() {
    let mut builder = TopologyBuilder::default();
    let (leaf, spine) = (builder.switch(0, None), builder.switch(1, None));
    builder.link(leaf, spine, 1);
    builder.link(spine, leaf, 1);
    let topology = builder.build(linkmend_topology::Names::Numbers("two".to_owned())).expect("a network");
    let finder = LinkFinder::new(&topology);
    assert_eq!(finder.find("1"), Ok(LinkId(1)));
    let several = finder.find("switch1--switch0").expect_err("two links").to_string();
    assert_eq!(
        several,
        "`switch1--switch0` may be any of 2 links: switch0--switch1#1, switch0--switch1#2; use one of these"
    );
    assert_eq!(finder.find("switch0--switch1#2"), Ok(LinkId(1)));
}

#[test]
fn names_go_in_either_order_and_switches_by_full_names_and_in_any_case() {
    let mut builder = TopologyBuilder::default();
    let [tor, agg] = [0, 1].map(|layer| builder.switch(layer, None));
    builder.link(tor, agg, 1);
    builder.link(tor, agg, 1);
    let names = Names::Given {
        switches: vec!["tor1".to_owned(), "agg1.dc1.example.com".to_owned()],
        links: vec!["tor1:e1--agg1:e7".to_owned(), "tor1:e2--agg1:e8".to_owned()],
        zones: Vec::new(),
    };
    let topology = builder.build(names).expect("a network");
    let finder = LinkFinder::new(&topology);
    assert_eq!(finder.find("agg1:e8--tor1:e2"), Ok(LinkId(1)));
    for ends in ["tor1--agg1", "AGG1--Tor1.dc1", "agg1.dc1.example.com--tor1"] {
        let several = finder.find(ends).expect_err("two links").to_string();
        assert!(several.contains("tor1:e1--agg1:e7 (tor1--agg1.dc1.example.com#1), "), "{ends}: {several}");
    }
    assert!(
        finder.find("tor1--agg1.dc2").expect_err("another domain").to_string().contains("there is no link")
    );
}

#[test]
fn the_operators_names_come_before_numbers() {
    let mut builder = TopologyBuilder::default();
    let (leaf, one, other) = (builder.switch(0, None), builder.switch(1, None), builder.switch(1, None));
    builder.link(leaf, one, 1);
    builder.link(leaf, other, 1);
    let names = linkmend_topology::Names::Given {
        switches: vec!["a--b".to_owned(), "c".to_owned(), "d".to_owned()],
        links: vec!["1".to_owned(), "up".to_owned()],
        zones: vec![],
    };
    let topology = builder.build(names).expect("a network");
    let finder = LinkFinder::new(&topology);
    assert_eq!(finder.find("1"), Ok(LinkId(0)));
    assert_eq!(finder.find("0"), Ok(LinkId(0)));
    assert_eq!(finder.find("up"), Ok(LinkId(1)));
    assert_eq!(finder.find("d--a--b"), Ok(LinkId(1)));
    assert!(finder.find("--").is_err() && finder.find("").is_err());
}

/// Messages name the line.
#[test]
fn bytes_that_are_no_text_are_refused_with_their_line() {
    let error = read_links(&b"link,loss_rate\n\xff,1\n"[..], "f", &four_links()).expect_err("no text");
    assert_eq!(error.to_string(), "f:2: not UTF-8 text");
}

#[test]
fn nothing_that_is_written_panics() {
    let topology = small_fabric();
    let pieces =
        ["link", ",", "loss_rate", "\n", "\"", "--", "1", "é", "state", "#", "e", "-", "disabled", "0.5"];
    let mut random = linkmend_random::Random::new(1, "plan/files");
    for _ in 0..20_000 {
        let text: String =
            (0..12).map(|_| pieces[(random.uniform() * pieces.len() as f64) as usize]).collect();
        let _ = read_links(text.as_bytes(), "f", &topology);
    }
}
