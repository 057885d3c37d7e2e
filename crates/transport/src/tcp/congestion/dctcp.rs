//! DCTCP: RFC 8257.

use super::reno::{Reno, half};
use super::{AckSample, Congestion, CongestionControl, Context, SSTHRESH_MIN, Window};

/// Fractional bits of alpha. With g = 1/16 its smallest step is below a millionth of a window.
const ALPHA_BITS: u32 = 20;
/// The estimation gain g = 1/16 as a shift (RFC 8257, section 4.2).
const GAIN_SHIFT: u32 = 4;

/// Reduces the window in proportion to the share of segments that met congestion.
#[derive(Debug, Clone)]
pub struct Dctcp {
    reno: Reno,
    /// The estimate of that share, in units of 2^-[`ALPHA_BITS`].
    alpha: u64,
    /// The window of observation ends when this byte is acknowledged (RFC 8257, section 3.3: WindowEnd).
    window_end: u64,
    /// Segments delivered in this window, and how many of them were marked.
    delivered: u64,
    marked: u64,
    /// The window before the latest reduction.
    cwnd_before: u32,
}

impl Dctcp {
    /// For a new connection, with alpha = 1 as in Linux: the first mark halves the window. There are no random choices.
    pub fn new(_seed: u64) -> Dctcp {
        let alpha = 1 << ALPHA_BITS;
        Dctcp { reno: Reno::default(), alpha, window_end: 0, delivered: 0, marked: 0, cwnd_before: 0 }
    }

    /// The estimated share of segments that are marked, 0 to 1.
    #[cfg(test)]
    pub fn alpha(&self) -> f64 {
        self.alpha as f64 / f64::from(1 << ALPHA_BITS)
    }

    /// RFC 8257, section 3.3, step 6: alpha = alpha * (1 - g) + g * M. The decay is rounded up, so that alpha reaches 0.
    fn estimate(&mut self) {
        let decay = self.alpha.div_ceil(1 << GAIN_SHIFT);
        let share = (self.marked << (ALPHA_BITS - GAIN_SHIFT)) / self.delivered.max(1);
        self.alpha = (self.alpha - decay + share).min(1 << ALPHA_BITS);
    }
}

impl CongestionControl for Dctcp {
    /// RFC 8257, section 3.4: cwnd * (1 - alpha / 2) for a mark; section 3.5: as a conventional TCP for a loss.
    fn ssthresh(&mut self, context: &Context, congestion: Congestion) -> u32 {
        self.reno.forget();
        self.cwnd_before = context.window.cwnd;
        match congestion {
            Congestion::Mark => {
                let reduction = (u64::from(context.window.cwnd) * self.alpha) >> (ALPHA_BITS + 1);
                (context.window.cwnd - reduction as u32).max(SSTHRESH_MIN)
            }
            Congestion::Loss | Congestion::Timeout => half(context),
        }
    }

    fn grow(&mut self, context: &Context, window: &mut Window, acknowledged: u32) {
        self.reno.grow(context, window, acknowledged);
    }

    /// A spurious reduction may have followed one because of marks, which was not spurious, so only the latest is
    /// undone.
    fn undo(&mut self, context: &Context, _: Window) -> u32 {
        context.window.cwnd.max(self.cwnd_before)
    }

    fn acknowledged(&mut self, context: &Context, sample: &AckSample, _: &mut Window) {
        self.delivered += u64::from(sample.delivered);
        if sample.marked {
            self.marked += u64::from(sample.delivered);
        }
        if context.unacknowledged < self.window_end {
            return;
        }
        if self.delivered > 0 {
            self.estimate();
        }
        self.window_end = context.next;
        (self.delivered, self.marked) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::context;
    use super::*;

    const START: Window = Window { cwnd: 100, ssthresh: 50 };

    /// Acknowledges windows of 100 segments, of which `marked` carry marks.
    fn windows(dctcp: &mut Dctcp, count: u32, marked: u32) {
        let mut at = context(START);
        for _ in 0..count {
            at.unacknowledged = dctcp.window_end;
            at.next = at.unacknowledged + 100 * u64::from(at.mss);
            dctcp.acknowledged(&at, &AckSample::default(), &mut START.clone());
            for segment in 1..=100_u64 {
                at.unacknowledged += u64::from(at.mss);
                at.next += u64::from(at.mss);
                let sample =
                    AckSample { delivered: 1, marked: segment <= u64::from(marked), ..AckSample::default() };
                dctcp.acknowledged(&at, &sample, &mut START.clone());
            }
        }
    }

    /// RFC 8257, section 3.3. Alpha is updated once for each window: with the share F constant,
    /// alpha(n) = F + (1 - F) (1 - g)^n, and its fixed point is F.
    #[test]
    fn alpha_follows_its_recursion_and_ends_at_the_share_of_marks() {
        for marked in [0, 1, 10, 50, 100] {
            let mut dctcp = Dctcp::new(0);
            let share = f64::from(marked) / 100.0;
            let mut expected = 1.0;
            for window in 0..200 {
                let found = dctcp.alpha();
                assert!((found - expected).abs() < 2e-5, "window {window}: {found} instead of {expected}");
                windows(&mut dctcp, 1, marked);
                expected = expected * (15.0 / 16.0) + share / 16.0;
            }
            assert!((dctcp.alpha() - share).abs() < 3e-5, "{} instead of {share}", dctcp.alpha());
        }
    }

    #[test]
    fn a_mark_costs_half_of_alpha_and_a_loss_half_of_the_window() {
        let mut dctcp = Dctcp::new(0);
        let before = context(START);
        assert_eq!(dctcp.ssthresh(&before, Congestion::Mark), 50, "alpha begins at 1");
        windows(&mut dctcp, 400, 20);
        assert_eq!(dctcp.ssthresh(&before, Congestion::Mark), 91, "the fixed point is rounded up, 90.00x");
        assert_eq!(dctcp.ssthresh(&before, Congestion::Loss), 50);
        assert_eq!(dctcp.ssthresh(&before, Congestion::Timeout), 50);
        let smallest = context(Window { cwnd: 2, ssthresh: 2 });
        assert_eq!(dctcp.ssthresh(&smallest, Congestion::Mark), SSTHRESH_MIN);
    }

    #[test]
    fn undo_returns_to_the_window_before_the_latest_reduction() {
        let mut dctcp = Dctcp::new(0);
        dctcp.ssthresh(&context(START), Congestion::Mark);
        dctcp.ssthresh(&context(Window { cwnd: 60, ssthresh: 50 }), Congestion::Loss);
        let reduced = context(Window { cwnd: 30, ssthresh: 30 });
        assert_eq!(dctcp.undo(&reduced, START), 60);
    }

    /// How many rounds the sawtooth lasts when the window passes `critical` for one round in each: the reduction takes
    /// half of alpha as it is before that round's marks count, so n = (W* + 2) / 2 * g (1 - g)^(n - 1) / (1 - (1 - g)^n).
    fn rounds_of_the_sawtooth(critical: f64) -> f64 {
        let excess = |n: f64| {
            let decayed = libm::pow(15.0 / 16.0, n);
            n - (critical + 2.0) / 2.0 / 16.0 * decayed / (15.0 / 16.0) / (1.0 - decayed)
        };
        let (mut low, mut high) = (1.0, 1_000.0);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if excess(middle) < 0.0 { low = middle } else { high = middle }
        }
        low
    }

    /// The model of the DCTCP paper (SIGCOMM 2010, section 3.3): a sender whose window passes W* = C * RTT + K is marked
    /// for one round trip, and alpha is about sqrt(2 / W*) if g is below 1.386 / sqrt(2 W*) (equation 15); g = 1/16 is
    /// that up to W* = 245. The same model without the approximation for small g holds for larger windows, too.
    #[test]
    fn alpha_in_the_sawtooth_is_that_of_the_papers_model() {
        for critical in [50_u32, 100, 200, 400, 800] {
            let mut dctcp = Dctcp::new(0);
            let mut window = Window { cwnd: critical / 2, ssthresh: critical / 2 };
            let (mut unacknowledged, mut total, mut rounds) = (0_u64, 0.0, 0_u32);
            for round in 0..20_000 {
                // All segments of a round are marked if the window is above the critical one; the reduction follows at
                // its end, as in the model, where the window grows until then.
                let marked = window.cwnd > critical;
                let mut at = context(window);
                for _ in 0..window.cwnd {
                    unacknowledged += u64::from(at.mss);
                    (at.unacknowledged, at.window) = (unacknowledged, window);
                    at.next = unacknowledged + u64::from(window.cwnd) * u64::from(at.mss);
                    let sample = AckSample { delivered: 1, marked, ..AckSample::default() };
                    dctcp.acknowledged(&at, &sample, &mut window);
                    dctcp.grow(&at, &mut window, 1);
                }
                if marked {
                    at.window = window;
                    window.ssthresh = dctcp.ssthresh(&at, Congestion::Mark);
                    window.cwnd = window.ssthresh;
                }
                if round >= 5_000 {
                    total += dctcp.alpha();
                    rounds += 1;
                }
            }
            let (found, model) = (total / f64::from(rounds), libm::sqrt(2.0 / f64::from(critical)));
            let exact = 1.0 / rounds_of_the_sawtooth(f64::from(critical));
            println!("W* = {critical}: alpha {found:.4}, exact {exact:.4}, sqrt(2 / W*) {model:.4}");
            assert!((found / exact - 1.0).abs() < 0.06, "W* = {critical}: alpha {found} instead of {exact}");
            assert!(critical > 245 || (found / model - 1.0).abs() < 0.2, "W* = {critical}: {found}, {model}");
        }
    }
}
