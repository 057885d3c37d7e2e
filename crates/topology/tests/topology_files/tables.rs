//! Cables in tables of any usual dialect.

use super::*;

/// Four dialects of one network.
#[test]
fn tables_of_any_dialect_are_read() {
    let expected = ["leaf1:e1--spine1:e1 100G", "leaf2:e1--spine1:e2 40G"];
    for text in [
        "a,a_port,b,b_port,speed\nleaf1,e1,spine1,e1,100G\nleaf2,e1,spine1,e2,40G\n",
        "\u{feff}Device A;Interface A;Device B;Interface B;Speed\r\nleaf1;e1;spine1;e1;100 Gbps\r\nleaf2;e1;spine1;e2;40GbE\r\n",
        "sep=;\nSource;Target;Speed (Gbps)\nleaf1:e1;spine1:e1;100\nleaf2:e1;spine1:e2;40\n",
        "Local Switch\tLocal Port\tRemote Switch\tRemote Port\tNotes\tBandwidth\n\"leaf1\"\te1\tspine1\te1\t\"in, rack\"\t100G\n\nleaf2\te1\tspine1\te2\t\t40G\n",
        "# from the cabling team\ndevice,port,neighbor,neighbor_port,rate\nleaf1,e1,spine1,e1,100G\nleaf2,e1,spine1,e2,40G\n",
        "StartDevice,StartPort,EndDevice,EndPort,BandWidth,VlanID,VlanMode\nleaf1,e1,spine1,e1,100000,1681,Access\nleaf2,e1,spine1,e2,40000,,\n",
        "Termination A Device,Termination A Name,Termination B Device,Termination B Name,Speed\nleaf1,e1,spine1,e1,100G\nleaf2,e1,spine1,e2,40G\n",
        "side_a_device,side_a_type,side_a_name,side_b_device,side_b_type,side_b_name,label,speed\nleaf1,dcim.interface,e1,spine1,dcim.interface,e1,x,100G\nleaf2,dcim.interface,e1,spine1,dcim.interface,e2,y,40G\nleaf2,dcim.consoleport,con,ts1,dcim.consoleserverport,9,z,\n",
    ] {
        let loaded = read_text("cables.csv", text.as_bytes(), &NO_OPTIONS)
            .unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(links(&loaded.topology), expected, "{text}");
        assert_eq!(loaded.cables.len(), 2);
    }
}

#[test]
fn columns_say_the_roles_where_names_do_not() {
    let text = "a,a_role,b,b_role\nx1,leaf,y1,spine\nx2,leaf,y1,spine\nx1,leaf,h1,server\n";
    let loaded = read_text("cables.csv", text.as_bytes(), &AT_100G).unwrap();
    assert_eq!(links(&loaded.topology), ["x1--y1 100G", "x2--y1 100G"]);
    assert_eq!(loaded.host_links.len(), 1);
    assert_eq!(loaded.understood.assumed_speeds, 2);
}

#[test]
fn a_cable_that_is_listed_from_both_ends_is_one() {
    let text = "a,a_port,b,b_port\nleaf1,1,spine1,1\nspine1,1,leaf1,1\nleaf1,2,spine1,2\n";
    let loaded = read_text("cables.csv", text.as_bytes(), &AT_100G).unwrap();
    assert_eq!(links(&loaded.topology), ["leaf1:1--spine1:1 100G", "leaf1:2--spine1:2 100G"]);
    assert_eq!(loaded.warnings, ["1 cable is listed from both ends or twice, and merged"]);
    let both = "a,b\nleaf1,spine1\nspine1,leaf1\nleaf2,spine1\nspine1,leaf2\n";
    let loaded = read_text("cables.csv", both.as_bytes(), &AT_100G).unwrap();
    assert_eq!(links(&loaded.topology), ["leaf1--spine1 100G", "leaf2--spine1 100G"]);
    assert_eq!(
        loaded.understood.doubts[0].text,
        "every link is listed in both directions, so the two are merged"
    );
    let parallel = "a,b\nleaf1,spine1\nleaf1,spine1\nleaf2,spine1\n";
    let loaded = read_text("cables.csv", parallel.as_bytes(), &AT_100G).unwrap();
    assert_eq!(
        links(&loaded.topology),
        ["leaf1--spine1#1 100G", "leaf1--spine1#2 100G", "leaf2--spine1 100G"]
    );
}

#[test]
fn what_a_table_lacks_or_says_twice_is_refused_with_its_line() {
    for (text, expected) in [
        (
            "device,port\nleaf1,1\n",
            "cables.csv:1: the columns `device`, `port` do not name a device at each end; known are",
        ),
        (
            "Device A,Host A,Device B\nx,y,z\n",
            "cables.csv:1: the columns `Device A` and `Host A` have the same meaning; rename or remove one",
        ),
        (
            "a,b,speed\nleaf1,spine1,fast\n",
            "cables.csv:2: speed `fast` is not a number with a unit, like 100G",
        ),
        ("a,b,speed\nleaf1,spine1,100\n", "cables.csv:2: speed `100` is not a number with a unit, like 100G"),
        ("a,b\nleaf1,\n", "cables.csv:2: this row names no device at its end b"),
        (
            "a,a_port,b,b_port\nleaf1,1,spine1,1\nleaf1,1,spine2,1\n",
            "cables.csv:3: leaf1:1 is connected to spine2:1, but at cables.csv:2 to spine1:1",
        ),
        ("a,b\nx,y\n", "cables.csv: cannot determine the layers: no label, group or name identifies ToRs"),
        (
            "leaf1,spine1\nleaf2,spine1\n",
            "cables.csv:1: the columns `leaf1`, `spine1` do not name a device at each end",
        ),
    ] {
        let message = refused("cables.csv", text);
        assert!(message.starts_with(expected), "{message}");
    }
}

#[test]
fn planned_cables_are_no_links_and_control_characters_are_escaped() {
    let text = "a,b,status\nleaf1,spine1,Connected\nleaf1,spine2,Planned\nleaf2\u{1b},spine1,\nspine2,leaf3,\nspine1,leaf3,\n";
    let loaded = read_text("cables.csv", text.as_bytes(), &AT_100G).unwrap();
    assert_eq!(loaded.understood.doubts[0].text, "leaf1--spine2 is left out: its status is Planned");
    assert_eq!(loaded.understood.doubts[0].place.line, Some(3));
    assert!(
        links(&loaded.topology).contains(&"leaf2\\u001b--spine1 100G".to_owned()),
        "{:?}",
        links(&loaded.topology)
    );
}
