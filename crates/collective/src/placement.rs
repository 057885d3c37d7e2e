//! Which host each rank runs on.

use linkmend_diagnose::ParameterError;
use linkmend_random::Random;

/// How ranks are placed on hosts, at most one on each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// Rank 0 on host 0, rank 1 on host 1.
    InOrder,
    /// Consecutive ranks this many hosts apart: 0, 4, 8, ..., then 1, 5, 9, ...
    Strided(u32),
    /// A random permutation of the hosts, by this seed.
    Random(u64),
}

impl Placement {
    /// The host of each rank.
    ///
    /// # Errors
    /// If there are more ranks than hosts, or if the stride does not divide the hosts.
    pub fn hosts(self, ranks: u32, hosts: u32) -> Result<Vec<u32>, ParameterError> {
        if ranks > hosts {
            return Err(ParameterError::new("ranks", ranks, format!("must be at most the {hosts} hosts")));
        }
        Ok(match self {
            Placement::InOrder => (0..ranks).collect(),
            Placement::Strided(stride) => {
                if stride == 0 || !hosts.is_multiple_of(stride) {
                    let requirement = format!("must divide the {hosts} hosts equally");
                    return Err(ParameterError::new("placement stride", stride, requirement));
                }
                let row = hosts / stride;
                (0..ranks).map(|rank| rank % row * stride + rank / row).collect()
            }
            Placement::Random(seed) => shuffled(ranks, hosts, seed),
        })
    }
}

/// The first `ranks` entries of a random permutation (Fisher and Yates).
fn shuffled(ranks: u32, hosts: u32, seed: u64) -> Vec<u32> {
    let mut random = Random::new(seed, "placement");
    let mut all: Vec<u32> = (0..hosts).collect();
    for rank in 0..ranks as usize {
        let left = (all.len() - rank) as u64;
        // The bias of the remainder is below 2^-32 for at most 2^32 hosts.
        all.swap(rank, rank + (random.next_u64() % left) as usize);
    }
    all.truncate(ranks as usize);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_placement_uses_each_host_once() {
        let hosts = |placement: Placement| placement.hosts(8, 8).expect("room");
        assert_eq!(hosts(Placement::InOrder), [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(hosts(Placement::Strided(4)), [0, 4, 1, 5, 2, 6, 3, 7]);
        let random = hosts(Placement::Random(1));
        assert_ne!(random, hosts(Placement::Random(2)));
        let mut sorted = random.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, hosts(Placement::InOrder));
        assert_eq!(Placement::Random(1).hosts(3, 8).expect("room"), random[..3]);
    }

    #[test]
    fn too_many_ranks_and_uneven_strides_are_refused() {
        let refused = |placement: Placement, ranks| placement.hosts(ranks, 8).unwrap_err().to_string();
        assert_eq!(refused(Placement::InOrder, 9), "ranks = 9: must be at most the 8 hosts");
        assert_eq!(
            refused(Placement::Strided(3), 8),
            "placement stride = 3: must divide the 8 hosts equally"
        );
    }
}
