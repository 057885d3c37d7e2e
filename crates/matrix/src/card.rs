//! The emulated network cards.

/// A network card of the emulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Card {
    /// The name of its driver, which is also what `--card` selects.
    pub name: &'static str,
    /// What the emulator calls it, with its options.
    device: &'static str,
    /// The largest MTU that is tried.
    pub mtu_max: u32,
}

/// Every card. One processor, and so one queue pair each: a port uses all of them.
pub const CARDS: [Card; 5] = [
    Card { name: "virtio_net", device: "virtio-net-pci,disable-legacy=on", mtu_max: 9_000 },
    // With the platform's view of memory, the driver can map frames for the device, as zero-copy requires.
    Card {
        name: "virtio_net-dma",
        device: "virtio-net-pci,disable-legacy=on,iommu_platform=on",
        mtu_max: 9_000,
    },
    Card { name: "vmxnet3", device: "vmxnet3", mtu_max: 9_000 },
    Card { name: "e1000e", device: "e1000e", mtu_max: 9_000 },
    Card { name: "igb", device: "igb", mtu_max: 9_000 },
];

impl Card {
    /// The card of this name.
    pub fn find(name: &str) -> Option<Card> {
        CARDS.into_iter().find(|card| card.name == name)
    }

    /// The name of its driver, as ethtool reports it.
    pub fn driver(&self) -> &'static str {
        self.name.split('-').next().unwrap_or_default()
    }

    /// The emulator's type of device.
    pub fn kind(&self) -> &'static str {
        self.device.split(',').next().unwrap_or_default()
    }

    /// The emulator's arguments for one card at one end of a cable, on a bus of its own: an igb reserves places for its
    /// virtual functions. Nothing boots from it.
    pub fn arguments(&self, cable: usize, mac: &str) -> [String; 4] {
        let device = self.device;
        [
            "-device".to_owned(),
            format!("pcie-root-port,id=port{cable},chassis={}", cable + 1),
            "-device".to_owned(),
            format!("{device},bus=port{cable},netdev=cable{cable},mac={mac},romfile="),
        ]
    }
}
