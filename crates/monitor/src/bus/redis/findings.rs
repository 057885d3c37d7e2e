//! What agents find out about their ports: a text for each agent, which the server forgets when its agent has gone.

use super::keys::Keys;
use super::trust::Trust;
use crate::PortName;
use crate::findings::Findings;
use ::redis::{Connection, RedisError, cmd, pipe};

/// The longest text: a hundred bytes for each port of the largest agent.
const TEXT_BYTES_MOST: usize = 10 << 20;
/// All texts that are taken with one look, so that nobody can fill this machine's memory: those of 10,000 switches with 64
/// ports.
const ALL_BYTES_MOST: usize = 64 << 20;
/// Agents that are read with one call, and in all.
const AGENTS_READ_MOST: usize = 100;
const AGENTS_MOST: usize = 20_000;

/// Agents and their texts, or why these cannot be used.
pub(super) type Heard = Vec<(String, Result<Findings, String>)>;

/// Says what this agent finds out.
pub(super) fn say(
    connection: &mut Connection,
    keys: &Keys,
    trust: &Trust,
    agent: &str,
    findings: &Findings,
) -> Result<(), RedisError> {
    let text = serde_json::to_string(findings).map_err(|error| std::io::Error::other(error.to_string()))?;
    let text = trust.seal_findings(&keys.findings(agent), text);
    let mut calls = pipe();
    calls.cmd("SET").arg(keys.findings(agent)).arg(text).arg("EX").arg(findings.valid_s).ignore();
    calls.cmd("SADD").arg(&keys.speakers).arg(agent).ignore();
    calls.exec(connection)
}

/// What all agents say.
pub(super) fn listen(
    connection: &mut Connection,
    keys: &Keys,
    trust: &mut Trust,
) -> Result<Heard, RedisError> {
    let (mut heard, mut bytes, mut agents, mut cursor) = (Heard::new(), 0, 0, "0".to_owned());
    loop {
        let mut scan = cmd("SSCAN");
        scan.arg(&keys.speakers).arg(&cursor).arg("COUNT").arg(AGENTS_READ_MOST);
        let (next, names): (String, Vec<Vec<u8>>) = scan.query(connection)?;
        let names: Vec<String> = names.into_iter().filter_map(|name| String::from_utf8(name).ok()).collect();
        let names: Vec<String> =
            names.into_iter().filter(|name| PortName::new(name, "port").is_ok()).collect();
        agents += names.len();
        for name in names {
            let mut read = cmd("GETRANGE");
            // A text that is as long as this has been cut off.
            read.arg(keys.findings(&name)).arg(0).arg(TEXT_BYTES_MOST - 1);
            let text: Vec<u8> = read.query(connection)?;
            bytes += text.len();
            if text.is_empty() {
                continue;
            }
            let text = String::from_utf8_lossy(&text);
            if let Some(text) = trust.open_findings(&keys.findings(&name), &name, &text) {
                let findings =
                    serde_json::from_str(text).map_err(|error| format!("it cannot be read: {error}"));
                heard.push((name, findings));
            }
        }
        if next == "0" || bytes > ALL_BYTES_MOST || agents > AGENTS_MOST {
            return Ok(heard);
        }
        cursor = next;
    }
}
