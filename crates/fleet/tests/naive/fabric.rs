//! A fabric numbered as the authors do, with metrics computed from every link.

use linkmend_fleet::network::Metrics;
use linkmend_topology::FabricParameters;
use std::collections::BTreeMap;

/// The location of a link, from its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Between a ToR and a fabric switch.
    Lower { pod: u32, tor: u32, fabric: u32 },
    /// Between a fabric switch, which its plane names, and a spine.
    Upper { pod: u32, plane: u32, spine: u32 },
}

/// The current state of a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkState {
    pub active: bool,
    pub corrupting: bool,
    pub protected: bool,
    pub loss_rate: f64,
    pub effective_loss_rate: f64,
    pub gbps: f64,
}

/// A switch, by layer, pod or plane, and place in it, together with one of its pipes.
pub type Pipe = ((u8, u32, u32), u32);

/// All links of a fabric.
#[derive(Debug, Clone)]
pub struct Fabric {
    pub shape: FabricParameters,
    pub links: Vec<LinkState>,
    pub clean: LinkState,
}

impl Fabric {
    pub fn new(shape: FabricParameters, clean_loss_rate: f64) -> Fabric {
        let clean = LinkState {
            active: true,
            corrupting: false,
            protected: false,
            loss_rate: clean_loss_rate,
            effective_loss_rate: clean_loss_rate,
            gbps: shape.bits_per_second as f64 / 1e9,
        };
        let pods = shape.pods as usize;
        let lower = pods * (shape.tors_per_pod * shape.fabric_switches_per_pod) as usize;
        let upper = pods * (shape.fabric_switches_per_pod * shape.spines_per_plane) as usize;
        Fabric { shape, links: vec![clean; lower + upper], clean }
    }

    pub fn place(&self, link: u32) -> Place {
        let FabricParameters {
            pods,
            tors_per_pod,
            fabric_switches_per_pod: fabrics,
            spines_per_plane: spines,
            ..
        } = self.shape;
        let per_pod = tors_per_pod * fabrics;
        if link < pods * per_pod {
            let within = link % per_pod;
            return Place::Lower { pod: link / per_pod, tor: within / fabrics, fabric: within % fabrics };
        }
        let upper = link - pods * per_pod;
        Place::Upper { plane: upper / (spines * pods), spine: upper / pods % spines, pod: upper % pods }
    }

    pub fn number(&self, place: Place) -> u32 {
        let FabricParameters {
            pods,
            tors_per_pod,
            fabric_switches_per_pod: fabrics,
            spines_per_plane: spines,
            ..
        } = self.shape;
        let per_pod = tors_per_pod * fabrics;
        match place {
            Place::Lower { pod, tor, fabric } => pod * per_pod + tor * fabrics + fabric,
            Place::Upper { pod, plane, spine } => {
                pods * per_pod + plane * (spines * pods) + spine * pods + pod
            }
        }
    }

    pub fn pod(&self, link: u32) -> u32 {
        match self.place(link) {
            Place::Lower { pod, .. } | Place::Upper { pod, .. } => pod,
        }
    }

    /// Walks every path of a ToR, link by link.
    pub fn paths(&self, pod: u32, tor: u32) -> u64 {
        let active = |place| self.links[self.number(place) as usize].active;
        let mut paths = 0;
        for plane in 0..self.shape.fabric_switches_per_pod {
            for spine in 0..self.shape.spines_per_plane {
                let up = active(Place::Lower { pod, tor, fabric: plane });
                paths += u64::from(up && active(Place::Upper { pod, plane, spine }));
            }
        }
        paths
    }

    pub fn pod_keeps(&self, pod: u32, least: u64) -> bool {
        (0..self.shape.tors_per_pod).all(|tor| self.paths(pod, tor) >= least)
    }

    /// Whether every ToR keeps this many paths without a link.
    pub fn may_disable(&mut self, link: u32, least: u64) -> bool {
        self.links[link as usize].active = false;
        let keeps = self.pod_keeps(self.pod(link), least);
        self.links[link as usize].active = true;
        keeps
    }

    /// The pipes that a link's ports belong to: (switch, pipe).
    pub fn pipes(&self, link: u32) -> [Pipe; 2] {
        match self.place(link) {
            Place::Lower { pod, tor, fabric } => [((0, pod, tor), fabric % 2), ((1, pod, fabric), tor % 6)],
            Place::Upper { pod, plane, spine } => {
                let spine_pipes = self.shape.pods.div_ceil(16);
                let fabric_port = self.shape.tors_per_pod + spine;
                [((1, pod, plane), fabric_port % 6), ((2, plane, spine), pod % spine_pipes)]
            }
        }
    }

    /// The number of protected links with a port for which `is_such` holds.
    pub fn protected_at(&self, is_such: impl Fn(Pipe) -> bool) -> u64 {
        let protected = (0..self.links.len() as u32).filter(|&link| self.links[link as usize].protected);
        protected.filter(|&link| self.pipes(link).into_iter().any(&is_such)).count() as u64
    }

    /// The capacity of each pod: that of its narrower layer.
    fn pods_gbps(&self) -> Vec<f64> {
        let mut layers = vec![[0.0, 0.0]; self.shape.pods as usize];
        for (link, now) in (0..).zip(&self.links).filter(|(_, now)| now.active) {
            match self.place(link) {
                Place::Lower { pod, .. } => layers[pod as usize][0] += now.gbps,
                Place::Upper { pod, .. } => layers[pod as usize][1] += now.gbps,
            }
        }
        layers.iter().map(|[lower, upper]| lower.min(*upper)).collect()
    }

    fn most_protected_on_a_pipe(&self) -> u64 {
        let mut pipes = BTreeMap::new();
        for link in (0..self.links.len() as u32).filter(|&link| self.links[link as usize].protected) {
            self.pipes(link).iter().for_each(|pipe| *pipes.entry(*pipe).or_insert(0) += 1);
        }
        pipes.into_values().max().unwrap_or(0)
    }

    /// All metrics, computed from the links alone.
    pub fn metrics(&self) -> Metrics {
        let active = || self.links.iter().filter(|link| link.active);
        let FabricParameters { pods, tors_per_pod, .. } = self.shape;
        let tors = (0..pods).flat_map(|pod| (0..tors_per_pod).map(move |tor| (pod, tor)));
        let paths: Vec<u64> = tors.map(|(pod, tor)| self.paths(pod, tor)).collect();
        let gbps = self.pods_gbps();
        Metrics {
            total_penalty: active().map(|link| link.loss_rate).sum(),
            total_effective_penalty: active().map(|link| link.effective_loss_rate).sum(),
            avg_paths_per_tor: paths.iter().sum::<u64>() as f64 / paths.len() as f64,
            min_paths_per_tor: *paths.iter().min().expect("a fabric has ToRs"),
            avg_pod_capacity_gbps: gbps.iter().sum::<f64>() / f64::from(pods),
            min_pod_capacity_gbps: gbps.iter().copied().fold(f64::INFINITY, f64::min),
            max_loss_rate: active().map(|link| link.loss_rate).fold(self.clean.loss_rate, f64::max),
            disabled_links: self.links.len() as u64 - active().count() as u64,
            corrupting_links: active().filter(|link| link.corrupting).count() as u64,
            max_protected_links_per_pipe: self.most_protected_on_a_pipe(),
        }
    }
}
