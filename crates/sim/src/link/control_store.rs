//! Storage for control frames, from the moment a scheme creates them until they have arrived.

/// The place of a control frame that is waiting or in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControlPlace(u32);

/// Control frames that are waiting or in flight. They are too large to be copied from queue to queue, so the scheme
/// that sends one writes it once, and it stays in its place until it has arrived.
#[derive(Debug)]
pub(crate) struct ControlStore<C> {
    controls: Vec<C>,
    free: Vec<ControlPlace>,
}

impl<C> ControlStore<C> {
    pub(crate) const fn new() -> ControlStore<C> {
        ControlStore { controls: Vec::new(), free: Vec::new() }
    }

    #[inline(always)]
    pub(crate) fn put(&mut self, control: C) -> ControlPlace {
        if let Some(place) = self.free.pop() {
            self.controls[place.0 as usize] = control;
            return place;
        }
        self.controls.push(control);
        ControlPlace((self.controls.len() - 1) as u32)
    }

    pub(crate) fn at(&self, place: ControlPlace) -> &C {
        &self.controls[place.0 as usize]
    }

    /// The same without a panic, so that the compiler can remove calls whose result is not used.
    #[inline]
    pub(crate) fn get(&self, place: ControlPlace) -> Option<&C> {
        self.controls.get(place.0 as usize)
    }

    pub(crate) fn free(&mut self, place: ControlPlace) {
        self.free.push(place);
    }
}
