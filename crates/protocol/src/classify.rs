//! To which class a frame belongs: by VLAN priority (PCP), by DSCP, or by default.

use crate::mode::Mode;
use crate::wire::{Untagged, ethertype};

/// Maps frames to modes, or whatever else `C` distinguishes. The outermost VLAN tag's priority decides first, then the DSCP, then the default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Classifier<C = Mode> {
    default: C,
    by_pcp: [Option<C>; 8],
    by_dscp: [Option<C>; 64],
    has_rules: bool,
}

impl<C: Copy + Eq> Classifier<C> {
    /// Maps every frame to `default`.
    pub const fn new(default: C) -> Classifier<C> {
        Classifier { default, by_pcp: [None; 8], by_dscp: [None; 64], has_rules: false }
    }

    /// Maps frames with VLAN priority `pcp` (0 to 7) to `class`; `false` if there is no such priority.
    pub fn set_pcp(&mut self, pcp: u8, class: C) -> bool {
        let place = self.by_pcp.get_mut(usize::from(pcp));
        self.has_rules |= place.is_some();
        place.map(|place| *place = Some(class)).is_some()
    }

    /// Maps IP packets with code point `dscp` (0 to 63) to `class`; `false` if there is no such code point.
    pub fn set_dscp(&mut self, dscp: u8, class: C) -> bool {
        let place = self.by_dscp.get_mut(usize::from(dscp));
        self.has_rules |= place.is_some();
        place.map(|place| *place = Some(class)).is_some()
    }

    /// Changes the default class.
    pub fn set_default(&mut self, class: C) {
        self.default = class;
    }

    /// The default class.
    pub const fn default_class(&self) -> C {
        self.default
    }

    /// All classes that can result, some of them more than once.
    pub fn classes(&self) -> impl Iterator<Item = C> {
        [self.default].into_iter().chain(self.by_pcp.iter().chain(&self.by_dscp).copied().flatten())
    }

    /// Whether more than one class can result.
    pub fn distinguishes(&self) -> bool {
        self.classes().any(|class| class != self.default)
    }

    /// The class of a frame, which starts at its destination address.
    #[inline]
    pub fn class(&self, frame: &[u8]) -> C {
        if self.has_rules { self.look_up(frame).unwrap_or(self.default) } else { self.default }
    }

    fn look_up(&self, frame: &[u8]) -> Option<C> {
        let untagged = Untagged::of_frame(frame)?;
        let by_priority = untagged.priority().and_then(|pcp| self.by_pcp[usize::from(pcp)]);
        by_priority.or_else(|| self.by_dscp[usize::from(dscp(&untagged)?)])
    }
}

/// The differentiated services code point of an IP packet (RFC 2474), 0 to 63.
fn dscp(untagged: &Untagged<'_>) -> Option<u8> {
    match (untagged.ethertype, untagged.payload) {
        (ethertype::IPV4, [_, services, ..]) => Some(services >> 2),
        (ethertype::IPV6, [first, second, ..]) => Some((first & 0x0f) << 2 | second >> 6),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    fn frame(tail: &[u8]) -> Vec<u8> {
        [&[0; 12][..], tail].concat()
    }

    fn classifier() -> Classifier {
        let mut classifier = Classifier::new(Mode::Ordered);
        assert!(classifier.set_pcp(5, Mode::NonBlocking) && !classifier.set_pcp(8, Mode::Ordered));
        assert!(classifier.set_dscp(46, Mode::NonBlocking) && !classifier.set_dscp(64, Mode::Ordered));
        classifier
    }

    #[test]
    fn the_priority_goes_before_the_dscp_and_that_before_the_default() {
        let classifier = classifier();
        let cases = [
            (frame(&[0x08, 0, 0x45, 46 << 2, 0, 0]), Mode::NonBlocking),
            (frame(&[0x08, 0, 0x45, 0, 0, 0]), Mode::Ordered),
            (frame(&[0x86, 0xdd, 0x6b, 0x80, 0, 0]), Mode::NonBlocking),
            (frame(&[0x81, 0, 5 << 5, 1, 0x12, 0x34]), Mode::NonBlocking),
            (frame(&[0x88, 0xa8, 0, 1, 0x81, 0, 0, 2, 0x08, 0, 0x45, 46 << 2]), Mode::NonBlocking),
            (frame(&[0x12, 0x34]), Mode::Ordered),
            (Vec::new(), Mode::Ordered),
        ];
        for (frame, mode) in cases {
            assert_eq!(classifier.class(&frame), mode, "{frame:x?}");
        }
        assert!(classifier.distinguishes() && !Classifier::new(Mode::Ordered).distinguishes());
    }

    proptest! {
        #[test]
        fn any_bytes_can_be_classified(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            classifier().class(&bytes);
        }
    }

    #[test]
    fn only_the_outermost_priority_and_two_tags_count() {
        let classifier = classifier();
        let tag = [0x81, 0, 0, 1];
        let inner_priority = [0x81, 0, 5 << 5, 1];
        let expedited = [0x08, 0, 0x45, 46 << 2];
        let tagged = |tags: &[&[u8; 4]]| {
            let tags: Vec<u8> = tags.iter().flat_map(|tag| tag.iter().copied()).collect();
            frame(&[&tags[..], &expedited].concat())
        };
        assert_eq!(classifier.class(&tagged(&[])), Mode::NonBlocking);
        assert_eq!(classifier.class(&tagged(&[&tag])), Mode::NonBlocking);
        assert_eq!(classifier.class(&tagged(&[&tag, &tag])), Mode::NonBlocking);
        assert_eq!(classifier.class(&tagged(&[&tag, &tag, &tag])), Mode::Ordered);
        let inner = frame(&[&tag[..], &inner_priority, &[0x12, 0x34]].concat());
        assert_eq!(classifier.class(&inner), Mode::Ordered);
        let outer = frame(&[&inner_priority[..], &tag, &[0x12, 0x34]].concat());
        assert_eq!(classifier.class(&outer), Mode::NonBlocking);
    }

    #[test]
    fn each_code_point_of_both_ip_versions_is_classified_by_itself() {
        for dscp in 0..64 {
            let mut classifier = Classifier::new(Mode::NonBlocking);
            assert!(classifier.set_dscp(dscp, Mode::Ordered) && classifier.distinguishes());
            for other in 0..64 {
                let expected = if other == dscp { Mode::Ordered } else { Mode::NonBlocking };
                // The two bits of explicit congestion notification do not belong to the code point.
                let version_4 = frame(&[0x08, 0, 0x45, other << 2 | 3, 0, 0]);
                let version_6 = frame(&[0x86, 0xdd, 0x60 | other >> 2, other << 6 | 0x3f, 0, 0]);
                assert_eq!([&version_4, &version_6].map(|frame| classifier.class(frame)), [expected; 2]);
            }
        }
    }

    #[test]
    fn each_priority_is_classified_by_itself() {
        for pcp in 0..8 {
            let mut classifier = Classifier::new(Mode::NonBlocking);
            assert!(classifier.set_pcp(pcp, Mode::Ordered) && classifier.distinguishes());
            for other in 0..8 {
                let expected = if other == pcp { Mode::Ordered } else { Mode::NonBlocking };
                for kind in [[0x81, 0], [0x88, 0xa8]] {
                    let tagged = frame(&[&kind[..], &[other << 5 | 0x1f, 0xff, 0x08, 0, 0x45, 0]].concat());
                    assert_eq!(classifier.class(&tagged), expected);
                }
            }
        }
    }

    #[test]
    fn the_default_can_be_changed() {
        let mut classifier = Classifier::new(Mode::Ordered);
        assert_eq!(classifier.default_class(), Mode::Ordered);
        classifier.set_default(Mode::NonBlocking);
        assert_eq!(
            (classifier.default_class(), classifier.class(&[])),
            (Mode::NonBlocking, Mode::NonBlocking)
        );
        assert!(!classifier.distinguishes());
    }
}
