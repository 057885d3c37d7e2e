//! One link end for benchmarks: the daemon's loop over ports in memory. It runs a round when it is told to, at the time
//! that it is told, so that a run depends on no clock and can be counted in instructions.

use super::{Engine, Request, StartError};
use crate::clock;
use crate::frame_pool::FramePool;
use crate::port::MemoryPort;
use crate::port_pair::PortPair;
use crate::settings::LinkSettings;
use linkmend_control::LinkReport;
pub use linkmend_control::Side;
use linkmend_protocol::paths::Path;
use linkmend_protocol::{ReceiveState, TransmitState};
use nix::sys::eventfd::EventFd;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

/// A link end that is driven from outside; see the module documentation.
pub struct BenchedEnd {
    engine: Engine,
    _requests: Sender<Request>,
}

impl BenchedEnd {
    /// Opens a link end at the time `now_ns`. Its ports have room for frames of `mtu`.
    ///
    /// # Errors
    /// [`StartError`].
    pub fn open(settings: LinkSettings, mtu: u32, now_ns: u64) -> Result<BenchedEnd, StartError> {
        clock::set(now_ns);
        let link = settings.name.clone();
        let wake = EventFd::new().map_err(|errno| StartError::System {
            link,
            step: "creating an eventfd",
            source: errno.into(),
        })?;
        let (requests, received) = channel();
        let engine = Engine::over(settings, received, Arc::new(wake), |settings| {
            PortPair::in_memory(&settings.inner, &settings.link, mtu, settings.pool_chunks)
        })?;
        Ok(BenchedEnd { engine, _requests: requests })
    }

    /// Runs one round at the time `now_ns`: this is what is measured.
    #[inline(never)]
    pub fn round(&mut self, now_ns: u64) {
        clock::set(now_ns);
        let now = clock::now_ns();
        self.engine.beat(now);
        self.engine.handle_requests(now);
        let (busy, now) = self.engine.round(now);
        if busy {
            self.engine.busy_ns = now;
        }
    }

    /// A frame arrives at a port. Returns `false` if the port has no room for it.
    pub fn arrive(&mut self, side: Side, bytes: &[u8]) -> bool {
        let (port, pool) = self.port(side);
        port.arrive(pool, bytes)
    }

    /// Replaces the content of `bytes` with the next frame that leaves a port. Returns `false` if there is none.
    pub fn depart(&mut self, side: Side, bytes: &mut Vec<u8>) -> bool {
        let (port, pool) = self.port(side);
        port.depart(pool, bytes)
    }

    fn port(&mut self, side: Side) -> (&mut MemoryPort, &mut FramePool) {
        let Engine { inner, sides, pool, .. } = &mut self.engine;
        let port = match side {
            Side::Inner => inner,
            Side::Link | Side::Backup => &mut sides[Path::Primary].port,
        };
        (port.in_memory(), pool)
    }

    /// What the end has counted.
    pub fn report(&mut self) -> LinkReport {
        self.engine.report(clock::now_ns())
    }

    /// Whether the sessions that this end takes part in are open: as a sender, if it protects, and as a receiver, if
    /// its peer does.
    pub fn is_open(&self, protects: bool, peer_protects: bool) -> bool {
        let status = self.engine.end.status();
        (status.transmit == TransmitState::Active) == protects
            && (status.receive == ReceiveState::Active) == peer_protects
    }
}
