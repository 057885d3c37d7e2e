//! Outcomes as bytes, for runs on another machine. What is read back equals what was written, to the last bit.
//!
//! Reports also have a form for people (JSON). It leaves out what only the program needs, so it cannot be read back.

use crate::runs::Runs;
use linkmend_statistics::Counted;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::{Mutex, PoisonError};

/// A value that can be written as bytes and read back. [`stored!`](crate::stored) implements it for structs.
pub trait Stored: Sized {
    /// Appends the value to `bytes`.
    fn store(&self, bytes: &mut Vec<u8>);

    /// Takes the value from the front of `bytes`. `None` if they do not begin with one.
    fn restore(bytes: &mut &[u8]) -> Option<Self>;
}

/// Implements [`Stored`] for a struct, field by field: `stored!(Moment; time_s, corropt, protected)`. All fields must be
/// listed. Those after `except` are not stored; they have their default when the struct is read back.
#[macro_export]
macro_rules! stored {
    ($type:ident; $($field:ident),+ $(; except $unset:ident),*) => {
        impl $crate::Stored for $type {
            fn store(&self, bytes: &mut Vec<u8>) {
                let $type { $($field,)+ $($unset: _),* } = self;
                $($crate::Stored::store($field, bytes);)+
            }

            fn restore(bytes: &mut &[u8]) -> Option<Self> {
                Some($type {
                    $($field: $crate::Stored::restore(bytes)?,)+
                    $($unset: Default::default()),*
                })
            }
        }
    };
}

/// Numbers, in the order of bytes of the most common processors.
macro_rules! stored_number {
    ($($type:ty),*) => {
        $(impl Stored for $type {
            fn store(&self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }

            fn restore(bytes: &mut &[u8]) -> Option<Self> {
                let (own, rest) = bytes.split_first_chunk()?;
                *bytes = rest;
                Some(<$type>::from_le_bytes(*own))
            }
        })*
    };
}

stored_number!(u8, u32, u64, u128, i64, f64);

impl Stored for usize {
    fn store(&self, bytes: &mut Vec<u8>) {
        (*self as u64).store(bytes);
    }

    fn restore(bytes: &mut &[u8]) -> Option<usize> {
        usize::try_from(u64::restore(bytes)?).ok()
    }
}

impl Stored for bool {
    fn store(&self, bytes: &mut Vec<u8>) {
        u8::from(*self).store(bytes);
    }

    fn restore(bytes: &mut &[u8]) -> Option<bool> {
        match u8::restore(bytes)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

impl Stored for String {
    fn store(&self, bytes: &mut Vec<u8>) {
        self.len().store(bytes);
        bytes.extend_from_slice(self.as_bytes());
    }

    fn restore(bytes: &mut &[u8]) -> Option<String> {
        let length = usize::restore(bytes)?;
        let (own, rest) = bytes.split_at_checked(length)?;
        *bytes = rest;
        String::from_utf8(own.to_vec()).ok()
    }
}

/// Names of a fixed set, such as those of metrics. A process keeps one copy of each name that it has read.
impl Stored for &'static str {
    fn store(&self, bytes: &mut Vec<u8>) {
        (*self).to_owned().store(bytes);
    }

    fn restore(bytes: &mut &[u8]) -> Option<&'static str> {
        static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
        let name = String::restore(bytes)?;
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(name) = known.get(name.as_str()) {
            return Some(name);
        }
        let name: &'static str = name.leak();
        known.insert(name);
        Some(name)
    }
}

impl<T: Stored> Stored for Option<T> {
    fn store(&self, bytes: &mut Vec<u8>) {
        self.is_some().store(bytes);
        if let Some(value) = self {
            value.store(bytes);
        }
    }

    fn restore(bytes: &mut &[u8]) -> Option<Option<T>> {
        if bool::restore(bytes)? { T::restore(bytes).map(Some) } else { Some(None) }
    }
}

impl<T: Stored> Stored for Vec<T> {
    fn store(&self, bytes: &mut Vec<u8>) {
        self.len().store(bytes);
        self.iter().for_each(|value| value.store(bytes));
    }

    fn restore(bytes: &mut &[u8]) -> Option<Vec<T>> {
        // The length may be wrong, so nothing is allocated for it in advance.
        let length = usize::restore(bytes)?;
        (0..length).map(|_| T::restore(bytes)).collect()
    }
}

impl<T: Stored, const N: usize> Stored for [T; N] {
    fn store(&self, bytes: &mut Vec<u8>) {
        self.iter().for_each(|value| value.store(bytes));
    }

    fn restore(bytes: &mut &[u8]) -> Option<[T; N]> {
        let values: Option<Vec<T>> = (0..N).map(|_| T::restore(bytes)).collect();
        values?.try_into().ok()
    }
}

impl<A: Stored, B: Stored> Stored for (A, B) {
    fn store(&self, bytes: &mut Vec<u8>) {
        self.0.store(bytes);
        self.1.store(bytes);
    }

    fn restore(bytes: &mut &[u8]) -> Option<(A, B)> {
        Some((A::restore(bytes)?, B::restore(bytes)?))
    }
}

impl<A: Stored, B: Stored, C: Stored> Stored for (A, B, C) {
    fn store(&self, bytes: &mut Vec<u8>) {
        self.0.store(bytes);
        self.1.store(bytes);
        self.2.store(bytes);
    }

    fn restore(bytes: &mut &[u8]) -> Option<(A, B, C)> {
        Some((A::restore(bytes)?, B::restore(bytes)?, C::restore(bytes)?))
    }
}

impl<K: Stored + Ord, V: Stored> Stored for BTreeMap<K, V> {
    fn store(&self, bytes: &mut Vec<u8>) {
        self.len().store(bytes);
        self.iter().for_each(|(key, value)| {
            key.store(bytes);
            value.store(bytes);
        });
    }

    fn restore(bytes: &mut &[u8]) -> Option<BTreeMap<K, V>> {
        Vec::<(K, V)>::restore(bytes).map(|pairs| pairs.into_iter().collect())
    }
}

impl<T: Stored + Debug + Send + Sync> Stored for Runs<T> {
    fn store(&self, bytes: &mut Vec<u8>) {
        self.count().store(bytes);
        self.iter().for_each(|run| run.store(bytes));
    }

    fn restore(bytes: &mut &[u8]) -> Option<Runs<T>> {
        Vec::restore(bytes).map(Runs::new)
    }
}

impl Stored for Counted {
    fn store(&self, bytes: &mut Vec<u8>) {
        self.sums().store(bytes);
    }

    fn restore(bytes: &mut &[u8]) -> Option<Counted> {
        Stored::restore(bytes).map(Counted::from_sums)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::pooled;

    #[derive(Debug, PartialEq)]
    struct Report {
        name: &'static str,
        shares: Vec<(u64, f64)>,
        delays: BTreeMap<i64, u64>,
        copies: Option<u8>,
        text: String,
        wall_s: f64,
    }

    stored!(Report; name, shares, delays, copies, text; except wall_s);

    fn report() -> Report {
        Report {
            name: "tail",
            shares: vec![(1, 0.1), (u64::MAX, -f64::MIN_POSITIVE)],
            delays: BTreeMap::from([(-3, 7)]),
            copies: Some(2),
            text: "12 us".to_owned(),
            wall_s: 0.0,
        }
    }

    #[test]
    fn what_is_read_back_equals_what_was_written_except_for_what_is_not_stored() {
        let mut bytes = Vec::new();
        Report { wall_s: 3.5, ..report() }.store(&mut bytes);
        f64::NAN.store(&mut bytes);
        f64::INFINITY.store(&mut bytes);
        let runs = pooled([1_u64, 2, 3].map(Runs::one)).expect("three runs");
        runs.store(&mut bytes);
        let mut counted = Counted::single(3, 0.5);
        counted.add(8.0);
        counted.store(&mut bytes);
        let mut rest = bytes.as_slice();
        assert_eq!(Report::restore(&mut rest), Some(report()));
        assert!(f64::restore(&mut rest).is_some_and(f64::is_nan));
        assert_eq!(f64::restore(&mut rest), Some(f64::INFINITY));
        assert_eq!(Runs::restore(&mut rest), Some(runs));
        assert_eq!(Counted::restore(&mut rest), Some(counted));
        assert!(rest.is_empty());
    }

    #[test]
    fn bytes_that_end_early_or_claim_a_huge_length_are_no_value() {
        let mut bytes = Vec::new();
        report().store(&mut bytes);
        for length in 0..bytes.len() {
            assert_eq!(Report::restore(&mut &bytes[..length]), None, "{length} bytes");
        }
        assert_eq!(Vec::<u64>::restore(&mut [0xff; 40].as_slice()), None);
        assert_eq!(String::restore(&mut [0xff; 40].as_slice()), None);
        assert_eq!(bool::restore(&mut [2].as_slice()), None);
    }
}
