//! Parameters of the Facebook fabric.

use linkmend_quantity::BitRate;
use std::fmt;

/// The Facebook fabric of section 4.8 and its relatives: pods of ToRs and four fabric switches, each fabric switch with
/// links to all spine switches of its plane.
///
/// Links are numbered as in the authors' trace files: first pod by pod, ToR by ToR, fabric switch by fabric switch; then
/// plane by plane, spine by spine, pod by pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct FabricParameters {
    /// Number of pods; 1 to 65,536.
    pub pods: u32,
    /// ToRs in a pod; 1 to 4,096.
    pub tors_per_pod: u32,
    /// Fabric switches in a pod, and spine planes; 1 to 64.
    pub fabric_switches_per_pod: u32,
    /// Spine switches in a plane; 1 to 4,096.
    pub spines_per_plane: u32,
    /// Speed of every link, in bit/s.
    pub bits_per_second: u64,
}

impl FabricParameters {
    /// 261 pods of 48 ToRs and 4 fabric switches, 4 planes of 48 spines, 100G: 100,224 links (section 4.8).
    pub const PAPER: FabricParameters = FabricParameters {
        pods: 261,
        tors_per_pod: 48,
        fabric_switches_per_pod: 4,
        spines_per_plane: 48,
        bits_per_second: 100_000_000_000,
    };

    /// Links between ToRs and fabric switches of one pod.
    pub fn lower_links_per_pod(&self) -> u32 {
        self.tors_per_pod * self.fabric_switches_per_pod
    }

    /// Number of links.
    pub fn links(&self) -> u64 {
        let uplinks = u64::from(self.fabric_switches_per_pod) * u64::from(self.spines_per_plane);
        u64::from(self.pods) * (u64::from(self.lower_links_per_pod()) + uplinks)
    }

    /// The name of a switch by its number.
    pub(crate) fn switch_name(&self, switch: u32) -> String {
        let per_pod = self.tors_per_pod + self.fabric_switches_per_pod;
        let (pod, place) = (switch / per_pod, switch % per_pod);
        if pod >= self.pods {
            let spine = switch - self.pods * per_pod;
            return format!("spine{}-{}", spine / self.spines_per_plane, spine % self.spines_per_plane);
        }
        if place < self.tors_per_pod {
            format!("pod{pod}-tor{place}")
        } else {
            format!("pod{pod}-fabric{}", place - self.tors_per_pod)
        }
    }
}

impl fmt::Display for FabricParameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FabricParameters { pods, tors_per_pod, fabric_switches_per_pod, spines_per_plane, .. } = self;
        let speed = BitRate(self.bits_per_second);
        write!(f, "facebook-fabric:pods={pods},tors={tors_per_pod},")?;
        write!(f, "fabric-switches={fabric_switches_per_pod},spines={spines_per_plane},speed={speed}")
    }
}
