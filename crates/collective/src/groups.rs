//! Which ranks take part in a collective operation together.

use linkmend_diagnose::ParameterError;

/// How ranks are divided into groups, each of which performs the operation on its own at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Groups {
    /// All ranks in one group.
    All,
    /// Groups of this many consecutive ranks, as for tensor parallelism.
    Consecutive(u32),
    /// This many groups: a rank and every rank this far from it, as for data parallelism beside tensor parallelism.
    Strided(u32),
}

impl Groups {
    /// How many groups there are, and how many members each has.
    ///
    /// # Errors
    /// If the ranks cannot be divided equally into groups of at least two.
    pub fn shape(self, ranks: u32) -> Result<(u32, u32), ParameterError> {
        let refuse = |parameter, value, requirement| Err(ParameterError::new(parameter, value, requirement));
        let (count, members) = match self {
            Groups::All => (1, ranks),
            Groups::Consecutive(size) | Groups::Strided(size) if size == 0 || !ranks.is_multiple_of(size) => {
                return refuse("groups", size, format!("must divide the {ranks} ranks equally"));
            }
            Groups::Consecutive(size) => (ranks / size, size),
            Groups::Strided(stride) => (stride, ranks / stride),
        };
        if members < 2 {
            return refuse("groups", count, "must leave at least 2 ranks in each group".to_owned());
        }
        Ok((count, members))
    }

    /// The rank that is this member of this group; both are numbered from 0.
    pub const fn rank(self, group: u32, member: u32) -> u32 {
        match self {
            Groups::All => member,
            Groups::Consecutive(size) => group * size + member,
            Groups::Strided(stride) => group + member * stride,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(groups: Groups, ranks: u32) -> Vec<Vec<u32>> {
        let (count, members) = groups.shape(ranks).expect("equal groups");
        (0..count).map(|group| (0..members).map(|member| groups.rank(group, member)).collect()).collect()
    }

    #[test]
    fn groups_are_consecutive_or_strided() {
        assert_eq!(members(Groups::All, 3), [[0, 1, 2]]);
        assert_eq!(members(Groups::Consecutive(2), 6), [[0, 1], [2, 3], [4, 5]]);
        assert_eq!(members(Groups::Strided(2), 6), [[0, 2, 4], [1, 3, 5]]);
    }

    #[test]
    fn unequal_and_lonely_groups_are_refused() {
        let refused = |groups: Groups| groups.shape(6).unwrap_err().to_string();
        assert_eq!(refused(Groups::Consecutive(4)), "groups = 4: must divide the 6 ranks equally");
        assert_eq!(refused(Groups::Strided(0)), "groups = 0: must divide the 6 ranks equally");
        assert_eq!(refused(Groups::Strided(6)), "groups = 6: must leave at least 2 ranks in each group");
    }
}
