//! Frame handles with an owner. A freed handle is reused first, so that a stale one soon names a wrong frame.

use super::ledger::FrameId;
use linkmend_protocol::FrameHandle;

#[derive(Debug, Default)]
pub struct Slab {
    frames: Vec<Option<FrameId>>,
    free: Vec<u32>,
}

impl Slab {
    pub fn insert(&mut self, frame: FrameId) -> FrameHandle {
        let index = self.free.pop().unwrap_or_else(|| {
            self.frames.push(None);
            self.frames.len() as u32 - 1
        });
        let place = &mut self.frames[index as usize];
        assert!(place.is_none(), "free list names a handle in use");
        *place = Some(frame);
        FrameHandle(index)
    }

    pub fn frame(&self, handle: FrameHandle) -> FrameId {
        self.frames[handle.0 as usize].expect("handle used after its release")
    }

    pub fn remove(&mut self, handle: FrameHandle) -> FrameId {
        let frame = self.frames[handle.0 as usize].take().expect("handle returned twice");
        self.free.push(handle.0);
        frame
    }

    /// Handles in use.
    pub fn live(&self) -> u64 {
        (self.frames.len() - self.free.len()) as u64
    }

    /// Takes everything back, as after a crash.
    pub fn drain(&mut self) -> Vec<FrameId> {
        self.free.clear();
        self.frames.drain(..).flatten().collect()
    }
}
