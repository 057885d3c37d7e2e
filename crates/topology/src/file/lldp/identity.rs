//! Which names and chassis are one switch.
//!
//! A dump is called after its file or its system name, and neighbours announce the latter: with a domain or without, in
//! the case that somebody typed. The chassis identifier tells what the names leave open; one that several systems
//! announce, as peers in MLAG may, tells nothing.

use super::super::rules::first_label;
use std::collections::BTreeMap;

/// A system, by its number.
pub(super) type SystemId = usize;

/// The systems that are known so far.
#[derive(Default)]
pub(super) struct Systems {
    names: Vec<String>,
    by_name: BTreeMap<String, SystemId>,
    /// By name in lower case; by its first label as well, with every system that has it.
    by_folded: BTreeMap<String, Vec<SystemId>>,
    /// `None` if several systems have it.
    by_chassis: BTreeMap<String, Option<SystemId>>,
}

impl Systems {
    /// Adds a system, whose name is new.
    pub fn add(&mut self, name: &str, chassis: Option<&str>) -> SystemId {
        let system = self.names.len();
        self.names.push(name.to_owned());
        self.by_name.insert(name.to_owned(), system);
        let folded = name.to_lowercase();
        let mut forms = vec![folded.clone(), first_label(&folded).to_owned()];
        forms.dedup();
        forms.into_iter().for_each(|form| self.by_folded.entry(form).or_default().push(system));
        self.learn(chassis, system);
        system
    }

    /// The name under which a system was added.
    pub fn name(&self, system: SystemId) -> &str {
        &self.names[system]
    }

    /// The system of a neighbour, if it is known; the candidates if it may be one of several.
    pub fn find(
        &mut self,
        name: Option<&str>,
        chassis: Option<&str>,
    ) -> Result<Option<SystemId>, Vec<SystemId>> {
        let by_chassis = chassis.and_then(|chassis| *self.by_chassis.get(chassis)?);
        let found = match name {
            None => by_chassis,
            Some(name) => match self.by_name.get(name) {
                Some(system) => Some(*system),
                None => match &self.by_form(name)[..] {
                    [] => None,
                    [one] => Some(*one),
                    several => Some(
                        by_chassis
                            .filter(|system| several.contains(system))
                            .ok_or_else(|| several.to_vec())?,
                    ),
                },
            },
        };
        if let Some(system) = found {
            self.learn(chassis, system);
        }
        Ok(found)
    }

    /// Systems whose names differ in case, or have a domain that the other form leaves out.
    fn by_form(&self, name: &str) -> Vec<SystemId> {
        let folded = name.to_lowercase();
        let label = first_label(&folded);
        let same = |system: &&SystemId| {
            let known = self.names[**system].to_lowercase();
            known == folded || (first_label(&known) == label && (known == label || folded == label))
        };
        self.by_folded.get(label).into_iter().flatten().filter(same).copied().collect()
    }

    fn learn(&mut self, chassis: Option<&str>, system: SystemId) {
        if let Some(chassis) = chassis {
            let known = self.by_chassis.entry(chassis.to_owned()).or_insert(Some(system));
            *known = known.filter(|known| *known == system);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_another_case_or_the_same_chassis_do_not_make_another_switch() {
        let mut systems = Systems::default();
        let agg = systems.add("agg1", None);
        let east = systems.add("tor1.east.example.com", Some("52:01"));
        let west = systems.add("tor1.west.example.com", None);
        for name in ["agg1", "AGG1", "agg1.dc1.example.com"] {
            assert_eq!(systems.find(Some(name), None), Ok(Some(agg)), "{name}");
        }
        assert_eq!(systems.find(Some("tor1"), Some("52:01")), Ok(Some(east)));
        assert_eq!(systems.find(Some("Tor1.West.example.com"), None), Ok(Some(west)));
        assert_eq!(systems.find(Some("tor1"), None), Err(vec![east, west]));
        assert_eq!(systems.find(Some("tor1.north.example.com"), None), Ok(None));
        // Whoever was recognised by name is known by chassis from then on.
        assert_eq!(systems.find(Some("agg1.dc1"), Some("52:09")), Ok(Some(agg)));
        assert_eq!(systems.find(None, Some("52:09")), Ok(Some(agg)));
        assert_eq!(systems.find(Some("tor1.west.example.com"), Some("52:09")), Ok(Some(west)));
        assert_eq!(systems.find(None, Some("52:09")), Ok(None), "two systems have it");
        assert_eq!(systems.find(Some("10.0.0.1"), None), Ok(None));
    }
}
