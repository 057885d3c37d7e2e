//! The list of algorithms, and the algorithm of one connection.

use super::bbr::Bbr;
use super::cubic::{Cubic, Linux, Rfc9438};
use super::dctcp::Dctcp;
use super::reno::Reno;
use super::{AckSample, Congestion, CongestionControl, Context, Window};
use crate::time::Nanos;
use std::fmt;

/// Makes of a list of algorithms the enumeration of their names, and the enumeration of their states that passes each
/// call on. Each line is the documentation, the variant, the name on the command line, and the type, which has a
/// constructor `new(seed: u64)`.
macro_rules! algorithms {
    (
        $(#[$name_doc:meta])* $names:ident;
        $(#[$state_doc:meta])* $states:ident;
        $($(#[$doc:meta])* $variant:ident, $name:literal, $type:ty;)+
    ) => {
        $(#[$name_doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $names {
            $($(#[$doc])* $variant,)+
        }

        impl $names {
            /// Each of them once, in the order of the list.
            pub const ALL: &'static [$names] = &[$($names::$variant),+];

            /// Its name on the command line.
            pub const fn name(self) -> &'static str {
                match self {
                    $($names::$variant => $name,)+
                }
            }

            /// The one with this name.
            pub fn named(name: &str) -> Option<$names> {
                $names::ALL.iter().copied().find(|known| known.name() == name)
            }
        }

        impl fmt::Display for $names {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }

        $(#[$state_doc])*
        #[derive(Debug, Clone)]
        pub enum $states {
            $($variant($type),)+
        }

        impl $states {
            /// The algorithm for a new connection; `seed` is for what it draws at random.
            pub fn new(algorithm: $names, seed: u64) -> $states {
                match algorithm {
                    $($names::$variant => $states::$variant(<$type>::new(seed)),)+
                }
            }
        }

        impl CongestionControl for $states {
            fn ssthresh(&mut self, context: &Context, congestion: Congestion) -> u32 {
                match self {
                    $($states::$variant(state) => state.ssthresh(context, congestion),)+
                }
            }

            fn grow(&mut self, context: &Context, window: &mut Window, acknowledged: u32) {
                match self {
                    $($states::$variant(state) => state.grow(context, window, acknowledged),)+
                }
            }

            fn undo(&mut self, context: &Context, before: Window) -> u32 {
                match self {
                    $($states::$variant(state) => state.undo(context, before),)+
                }
            }

            fn opened(&mut self, context: &Context) {
                match self {
                    $($states::$variant(state) => state.opened(context),)+
                }
            }

            fn acknowledged(&mut self, context: &Context, sample: &AckSample, window: &mut Window) {
                match self {
                    $($states::$variant(state) => state.acknowledged(context, sample, window),)+
                }
            }

            fn control(&mut self, context: &Context, sample: &AckSample, window: &mut Window) -> bool {
                match self {
                    $($states::$variant(state) => state.control(context, sample, window),)+
                }
            }

            fn phase_changed(&mut self, context: &Context) {
                match self {
                    $($states::$variant(state) => state.phase_changed(context),)+
                }
            }

            fn idle_ended(&mut self, context: &Context, idle: Nanos) {
                match self {
                    $($states::$variant(state) => state.idle_ended(context, idle),)+
                }
            }

            fn pacing_rate(&self) -> Option<u64> {
                match self {
                    $($states::$variant(state) => state.pacing_rate(),)+
                }
            }
        }
    };
}

algorithms! {
    /// A congestion control algorithm, by its name.
    Algorithm;
    /// The algorithm of one connection and its state.
    Controller;
    /// RFC 5681.
    Reno, "reno", Reno;
    /// CUBIC as Linux has it, with HyStart.
    Cubic, "cubic", Cubic<Linux>;
    /// The same as RFC 9438 has it.
    CubicRfc9438, "cubic-rfc9438", Cubic<Rfc9438>;
    /// RFC 8257.
    Dctcp, "dctcp", Dctcp;
    /// Version 1, draft-cardwell-iccrg-bbr-congestion-control-00.
    Bbr, "bbr", Bbr;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An algorithm in one piece: the window never changes.
    #[derive(Debug, Clone)]
    pub struct Constant(u32);

    impl Constant {
        fn new(seed: u64) -> Constant {
            Constant(seed as u32)
        }
    }

    impl CongestionControl for Constant {
        fn ssthresh(&mut self, _: &Context, _: Congestion) -> u32 {
            self.0
        }

        fn grow(&mut self, _: &Context, window: &mut Window, _: u32) {
            window.cwnd = self.0;
        }
    }

    algorithms! {
        /// The usual algorithms, and one more.
        Extended;
        /// Their states as above.
        ExtendedState;
        Reno, "reno", Reno;
        Constant, "constant", Constant;
    }

    #[test]
    fn a_new_algorithm_is_its_own_code_and_one_line_of_the_list() {
        let algorithm = Extended::named("constant").expect("it is in the list");
        let mut state = ExtendedState::new(algorithm, 7);
        let mut window = Window { cwnd: 100, ssthresh: u32::MAX };
        let context = crate::tcp::congestion::tests::context(window);
        state.grow(&context, &mut window, 1);
        assert_eq!((window.cwnd, state.ssthresh(&context, Congestion::Loss)), (7, 7));
        assert!(!state.control(&context, &AckSample::default(), &mut window), "the rest is the sender's");
        assert_eq!(Extended::ALL.iter().map(ToString::to_string).collect::<Vec<_>>(), ["reno", "constant"]);
    }

    #[test]
    fn each_algorithm_has_the_name_by_which_it_is_found() {
        let names: Vec<_> = Algorithm::ALL.iter().map(|algorithm| algorithm.name()).collect();
        assert_eq!(names, ["reno", "cubic", "cubic-rfc9438", "dctcp", "bbr"]);
        for &algorithm in Algorithm::ALL {
            assert_eq!(Algorithm::named(algorithm.name()), Some(algorithm));
        }
        assert_eq!(Algorithm::named("vegas"), None);
    }
}
