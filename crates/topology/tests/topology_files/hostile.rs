//! Files written in bad faith.

use super::*;
use proptest::prelude::*;

#[test]
fn deep_nesting_huge_numbers_and_alias_bombs_are_refused() {
    let deep = |open: &str| open.repeat(200_000);
    let bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n".to_owned()
        + &(b'b'..=b'k')
            .map(|c| {
                let (this, below) = (c as char, (c - 1) as char);
                format!("{this}: &{this} [{}]\n", vec![format!("*{below}"); 10].join(", "))
            })
            .collect::<String>()
        + "switches: *k\n";
    for text in [
        format!("switches: {}", deep("[")),
        format!("topology: {{defaults: {{env: {}", deep("{a: ")),
        format!("x: {}", deep("[")),
        format!("{{\"lldp\": {{\"interface\": {}", deep("[{\"a\":")),
        format!("switches:\n{}", (0..5000).map(|depth| " ".repeat(depth) + "-\n").collect::<String>()),
        format!("switches: [{{name: t, layer: {}}}]", "9".repeat(100_000)),
        format!("switches: [{{name: t, layer: 1e{}}}]", "9".repeat(1000)),
        format!("{TWO}links: [{{from: t, to: s, speed: {}G}}]", "9".repeat(100_000)),
        bomb,
    ] {
        for name in ["n.yaml", "n.json", "n.clab.yml"] {
            let error = read_text(name, text.as_bytes(), &AT_100G).expect_err("is no network").to_string();
            assert!(error.contains(name), "{error}");
        }
    }
}

/// Text that resembles the formats for long enough to get deep into them.
fn nearly_a_topology() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "switches:",
        "links:",
        "topology:",
        "nodes:",
        "lldp",
        "interface",
        "\n",
        "\n  ",
        "\n- ",
        "\n  - ",
        "{",
        "}",
        "[",
        "]",
        ",",
        ": ",
        "name: t",
        "name: s",
        "layer: 0",
        "layer: 1",
        "from: t",
        "to: s",
        "speed: 1G",
        "endpoints: [leaf1:1, spine1:1]",
        "leaf1: ",
        "spine1: ",
        "labels: ",
        "linkmend.layer: 1",
        "&a ",
        "*a",
        "<<: *a",
        "? ",
        "!!int ",
        "| ",
        "\"",
        "'",
        "#",
        "---\n",
        "\t",
        "é",
        "\u{0}",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// Text that resembles lists of cables and graphs.
fn nearly_cables() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "graph [",
        "node [ id 0 label \"leaf\" ]",
        "node [ id 1 label \"spine\" ]",
        "edge [ source 0 target 1 ",
        "]",
        "\n",
        "graph {",
        "\"leaf1\":\"swp1\"",
        " -- ",
        "->",
        "\"spine1\":\"swp1\"",
        "subgraph",
        "}",
        "[speed=",
        "\"100G\"",
        "/*",
        "*/",
        "#",
        "//",
        "a,a_port,b,b_port,speed\n",
        "leaf1,1,spine1,1,10G\n",
        ";",
        "\t",
        ",",
        "\"",
        "<graphml>",
        "<graph edgedefault=\"directed\">",
        "<node id=\"leaf1\"/>",
        "<node id=\"spine1\"/>",
        "<edge source=\"leaf1\" target=\"spine1\"/>",
        "</graph>",
        "</graphml>",
        "<!--",
        "<DeviceMiniGraph>",
        "<PngDec>",
        "<DeviceInterfaceLinks>",
        "</PngDec>",
        "&#xfffff;",
        "&#1114112;",
        "nodes: [leaf1, spine1]\n",
        "links:\n",
        "- leaf1-spine1\n",
        "- {leaf1: , spine1: {ifname: 1}}\n",
        "groups: {leaf: [leaf1]}\n",
        "é",
        "\u{0}",
        "\r",
        "'",
        "\\",
        "{\"results\": [",
        "{\"a_terminations\": [",
        "\"DEVICE_NEIGHBOR\": {",
        "\"Ethernet0\": {\"name\": \"x\"}",
        "<",
        ">",
        "=",
        ":",
    ]);
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_cables_make_a_reader_panic(text in nearly_cables()) {
        for name in ["n", "n.csv"] {
            if let Err(error) = read_text(name, text.as_bytes(), &AT_100G) {
                prop_assert!(error.to_string().contains('n'));
            }
        }
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read_text("n.yaml", &bytes, &AT_100G);
    }

    #[test]
    fn no_text_makes_a_reader_panic(head in prop::sample::select(vec!["", TWO, "topology:\n", "{\"lldp\": {"]),
                                    text in nearly_a_topology()) {
        let _ = read_text("n.yaml", format!("{head}{text}").as_bytes(), &AT_100G);
    }
}
