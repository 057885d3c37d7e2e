//! The capabilities of a set of schemes: each method delegates to the actual scheme.

/// The second half of [`schemes!`](crate::schemes), which delegates optional capabilities.
#[doc(hidden)]
#[macro_export]
macro_rules! scheme_capabilities {
    ($name:ident, $header:ident, $ack:ident { $($scheme:ident),+ }) => {
        const _: () = {
            use $crate::link::Frame;
            use $crate::link::scheme::{
                Account, Buffer, Cycles, FastForward, Insertion, LinkRetry, Loops, Round, Scheme, SchemeContext,
            };
            use $crate::time::Time;

            #[cold]
            #[inline(never)]
            fn mixed() -> ! {
                panic!("the two ends of a link have the same scheme")
            }

            impl<X: Scheme> Loops<$header<X::Header>> for $name<X> {
                #[inline(always)]
                fn poll_retransmission_of(&mut self, slot: u32) -> Option<($header<X::Header>, Frame)> {
                    match self {
                        $($name::$scheme(scheme) => {
                            let (header, frame) = scheme.loops()?.poll_retransmission_of(slot)?;
                            Some(($header::$scheme(header), frame))
                        })+
                    }
                }

                #[inline(always)]
                fn handle_round<C: SchemeContext>(&mut self, context: &mut C, buffer: Buffer, slot: u32) -> Round {
                    match self {
                        $($name::$scheme(scheme) => match scheme.loops() {
                            Some(loops) => loops.handle_round(context, buffer, slot),
                            None => Round::Leaves { made_room: false },
                        }),+
                    }
                }

                fn keeps_circulating(&mut self, now: Time, buffer: Buffer, slot: u32) -> bool {
                    match self {
                        $($name::$scheme(scheme) => {
                            scheme.loops().is_some_and(|loops| loops.keeps_circulating(now, buffer, slot))
                        })+
                    }
                }
            }

            impl<X: Scheme> LinkRetry<$header<X::Header>> for $name<X> {
                fn poll_retry(&mut self, now: Time) -> Option<($header<X::Header>, Frame)> {
                    match self {
                        $($name::$scheme(scheme) => {
                            let (header, frame) = scheme.link_retry()?.poll_retry(now)?;
                            Some(($header::$scheme(header), frame))
                        })+
                    }
                }

                fn next_service(&mut self) -> Option<Time> {
                    match self { $($name::$scheme(scheme) => scheme.link_retry()?.next_service()),+ }
                }

                fn discards(&mut self, now: Time, frame: &Frame) -> bool {
                    match self {
                        $($name::$scheme(scheme) => {
                            scheme.link_retry().is_some_and(|retry| retry.discards(now, frame))
                        }),+
                    }
                }

                fn handle_plain(&mut self) {
                    match self {
                        $($name::$scheme(scheme) => if let Some(retry) = scheme.link_retry() {
                            retry.handle_plain();
                        }),+
                    }
                }

                fn insertion(&mut self) -> Option<Insertion> {
                    match self { $($name::$scheme(scheme) => scheme.link_retry()?.insertion()),+ }
                }

                fn ordered_set_due(&mut self) -> Option<Time> {
                    match self { $($name::$scheme(scheme) => scheme.link_retry()?.ordered_set_due()),+ }
                }

                fn handle_damaged<C: SchemeContext>(&mut self, context: &mut C, header: &$header<X::Header>) {
                    match (self, header) {
                        $(($name::$scheme(scheme), $header::$scheme(header)) => {
                            if let Some(scheme) = scheme.link_retry() {
                                scheme.handle_damaged(context, header);
                            }
                        })+
                        _ => mixed(),
                    }
                }
            }

            impl<X: Scheme> FastForward<$header<X::Header>, $ack<X::Ack>> for $name<X> {
                fn timer_matters(&mut self) -> bool {
                    match self {
                        $($name::$scheme(scheme) => {
                            scheme.fast_forward().is_none_or(|steady| steady.timer_matters())
                        })+
                    }
                }

                fn steady_state(&mut self, now: Time, state: &mut Vec<u64>) -> Option<()> {
                    match self { $($name::$scheme(scheme) => scheme.fast_forward()?.steady_state(now, state)),+ }
                }

                fn header_state(&mut self, header: &$header<X::Header>, frame: &Frame, state: &mut Vec<u64>) {
                    match (self, header) {
                        $(($name::$scheme(scheme), $header::$scheme(header)) => {
                            if let Some(steady) = scheme.fast_forward() {
                                steady.header_state(header, frame, state);
                            }
                        })+
                        _ => mixed(),
                    }
                }

                fn ack_state(&mut self, ack: &$ack<X::Ack>, arriving: u64) -> u64 {
                    match (self, ack) {
                        $(($name::$scheme(scheme), $ack::$scheme(ack)) => {
                            scheme.fast_forward().map_or(0, |steady| steady.ack_state(ack, arriving))
                        })+
                        _ => mixed(),
                    }
                }

                fn circling_state(&mut self, buffer: Buffer, slot: u32, produced: u64, arriving: u64) -> u64 {
                    match self {
                        $($name::$scheme(scheme) => scheme.fast_forward().map_or(0, |steady| {
                            steady.circling_state(buffer, slot, produced, arriving)
                        })),+
                    }
                }

                fn skip(&mut self, cycles: &Cycles) {
                    match self {
                        $($name::$scheme(scheme) => if let Some(steady) = scheme.fast_forward() {
                            steady.skip(cycles);
                        }),+
                    }
                }

                fn skip_header(&mut self, header: &mut $header<X::Header>, frames: u64) {
                    match (self, header) {
                        $(($name::$scheme(scheme), $header::$scheme(header)) => {
                            if let Some(steady) = scheme.fast_forward() {
                                steady.skip_header(header, frames);
                            }
                        })+
                        _ => mixed(),
                    }
                }

                fn skip_ack(&mut self, ack: &mut $ack<X::Ack>, frames: u64) {
                    match (self, ack) {
                        $(($name::$scheme(scheme), $ack::$scheme(ack)) => {
                            if let Some(steady) = scheme.fast_forward() {
                                steady.skip_ack(ack, frames);
                            }
                        })+
                        _ => mixed(),
                    }
                }
            }

            impl<X: Scheme> Account<$header<X::Header>> for $name<X> {
                fn copies(&self) -> Option<u8> {
                    match self { $($name::$scheme(scheme) => scheme.account().map_or(Some(1), Account::copies)),+ }
                }

                fn copies_sent(&self) -> u64 {
                    match self { $($name::$scheme(scheme) => scheme.account().map_or(0, Account::copies_sent)),+ }
                }

                fn counters(&self) -> Vec<(&'static str, u64)> {
                    match self {
                        $($name::$scheme(scheme) => scheme.account().map(Account::counters).unwrap_or_default()),+
                    }
                }

                fn has_moved_past(&self, header: &$header<X::Header>) -> bool {
                    match (self, header) {
                        $(($name::$scheme(scheme), $header::$scheme(header)) => {
                            scheme.account().is_some_and(|account| account.has_moved_past(header))
                        })+
                        _ => mixed(),
                    }
                }

                fn overflows(&self) -> u64 {
                    match self { $($name::$scheme(scheme) => scheme.account().map_or(0, Account::overflows)),+ }
                }

                fn given_up(&self) -> u64 {
                    match self { $($name::$scheme(scheme) => scheme.account().map_or(0, Account::given_up)),+ }
                }

                fn discarded(&self) -> u64 {
                    match self { $($name::$scheme(scheme) => scheme.account().map_or(0, Account::discarded)),+ }
                }
            }
        };
    };
}
