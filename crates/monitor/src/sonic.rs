//! What every SONiC switch calls its databases and ports.

/// Numbers of databases, which are the same on all switches (`database_config.json`).
pub(crate) const APPL_DB: u8 = 0;
pub(crate) const COUNTERS_DB: u8 = 2;
pub(crate) const CONFIG_DB: u8 = 4;
pub(crate) const STATE_DB: u8 = 6;
/// What chips between the switching chip and the cables have counted.
pub(crate) const GB_COUNTERS_DB: u8 = 10;

/// How the names of ports begin that are no end of a cable: those between the chips of a switch, those by which its line cards
/// reach each other's processors, and those that send back into the chip.
const INTERNAL: [&str; 3] = ["Ethernet-BP", "Ethernet-IB", "Ethernet-Rec"];

/// What ports say that are no end of a cable, whatever their names are (`role` in PORT_TABLE): between chips, to line cards'
/// processors, back into the chip, and to data processing units. Others are external (`Ext`).
pub(crate) const INTERNAL_ROLES: [&str; 4] = ["Int", "Inb", "Rec", "Dpc"];

/// Whether a port of this name is no end of a cable.
pub(crate) fn is_internal(port: &str) -> bool {
    INTERNAL.iter().any(|beginning| port.starts_with(beginning))
}

/// What the switch says of LLR as a whole.
pub(crate) const CAPABILITY: &str = "SWITCH_CAPABILITY|switch";
pub(crate) const LLR_CAPABLE: &str = "LLR_CAPABLE";
/// The ports at which the switch has LLR on, by the names of the ports.
pub(crate) fn llr_port_in_force(port: &str) -> String {
    format!("LLR_PORT_TABLE:{port}")
}
