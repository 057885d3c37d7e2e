//! Better prices: follows the slope of the bound that they give.

use super::prices::{Prices, Relaxation, Way, heaviest_set};

/// Steps without a better bound after which the pace becomes slower, and how much slower.
const PATIENCE: u32 = 6;
const SLOWER: f64 = 0.7;
/// Shares change so much slower than prices.
const PACE_OF_SHARES: f64 = 0.3;

/// What is computed for each place, and for each measure.
#[derive(Default)]
struct Values {
    /// What is left for the links below, on the way up from here.
    left: Vec<[f64; 2]>,
    /// What a path from here upwards costs all ToRs below together.
    price: Vec<[f64; 2]>,
    /// What the candidates that are worth their price bear of a path from here.
    lost: Vec<[f64; 2]>,
    /// How the bound changes with what is left.
    bend: Vec<[f64; 2]>,
    /// Whether a candidate above the ToRs is worth its price, by number.
    is_taken: Vec<bool>,
    /// Which of its links a ToR takes.
    own: Vec<u64>,
    slope: Slope,
}

#[derive(Default)]
struct Slope {
    of: Vec<[f64; 2]>,
    share: Vec<f64>,
}

/// Follows the slope of the bound for so many steps towards `target`, with the candidates that are still `open`, and leaves the prices of
/// the least bound.
pub(super) fn follow(relaxation: &Relaxation, prices: &mut Prices, open: &[bool], target: i128, steps: u32) {
    let target = target as f64 / relaxation.unit;
    let mut at = prices.clone();
    let mut values = Values::default();
    let (mut least, mut pace, mut since) = (f64::INFINITY, 1.0, 0);
    for _ in 0..steps {
        let value = values.compute(relaxation, &at, open);
        if value < least {
            least = value;
            prices.clone_from(&at);
            since = 0;
        } else {
            since += 1;
            if since >= PATIENCE {
                since = 0;
                pace *= SLOWER;
                at.clone_from(prices);
                continue;
            }
        }
        let above = value - target;
        if above <= 0.0 {
            return;
        }
        step(at.of.as_flattened_mut(), values.slope.of.as_flattened(), pace * above, f64::INFINITY);
        step(&mut at.share, &values.slope.share, PACE_OF_SHARES * pace * above, 1.0);
    }
}

/// Goes down the slope so far that a straight one would fall by `by`.
fn step(at: &mut [f64], slope: &[f64], by: f64, most: f64) {
    let square: f64 = slope.iter().map(|slope| slope * slope).sum();
    if square > 0.0 {
        let step = by / square;
        at.iter_mut().zip(slope).for_each(|(at, slope)| *at = (*at - step * slope).clamp(0.0, most));
    }
}

impl Values {
    /// The bound in units of the greatest weight; leaves its slope.
    fn compute(&mut self, relaxation: &Relaxation, prices: &Prices, open: &[bool]) -> f64 {
        let places = relaxation.ways.len();
        for list in [&mut self.left, &mut self.price, &mut self.lost, &mut self.bend, &mut self.slope.of] {
            list.clear();
            list.resize(places, [0.0; 2]);
        }
        self.own.clear();
        self.own.resize(places, 0);
        self.is_taken.clear();
        self.is_taken.resize(prices.share.len(), false);
        self.slope.share.clear();
        self.slope.share.resize(prices.share.len(), 0.0);
        let open = Open { relaxation, prices, open };
        self.look_up(&open);
        let value = self.look_down(&open);
        self.add_up_losses(&open);
        self.bend_down(&open);
        value
    }

    fn look_up(&mut self, open: &Open) {
        let relaxation = open.relaxation;
        for place in (0..relaxation.ways.len()).filter(|place| !relaxation.is_tor[*place]) {
            for (_, way, _) in relaxation.up(place) {
                for of in 0..relaxation.measures {
                    self.left[place][of] += (1.0 - open.share(way)) * self.reaches(relaxation, way, of);
                }
            }
        }
    }

    /// What is left at a way's upper end, for its lower one.
    fn reaches(&self, relaxation: &Relaxation, way: &Way, of: usize) -> f64 {
        match way.upper {
            Some(upper) => way.times[of] as f64 * self.left[upper][of],
            None => way.times[of] as f64 / relaxation.units[of],
        }
    }

    /// What something costs that bears this share of what reaches a way.
    fn charge(&self, relaxation: &Relaxation, way: &Way, price: [f64; 2], share: f64) -> f64 {
        (0..relaxation.measures).map(|of| price[of] * share * self.reaches(relaxation, way, of)).sum()
    }

    fn look_down(&mut self, open: &Open) -> f64 {
        let relaxation = open.relaxation;
        let mut value = 0.0;
        // ToRs come last, so that every switch has its price before the switches above it get theirs.
        for place in (0..relaxation.ways.len()).rev() {
            if relaxation.is_tor[place] {
                self.price[place] = open.prices.of[place];
                value += (0..relaxation.measures)
                    .map(|of| self.price[place][of] * open.slack(place, of))
                    .sum::<f64>();
                let mut items = Vec::new();
                for (index, way, cost) in relaxation.up(place) {
                    let beyond = way.relative - self.charge(relaxation, way, self.price[place], 1.0);
                    if way.relative > 0.0 && beyond > 0.0 {
                        items.push((index, beyond, cost));
                    }
                }
                let (sum, set) = heaviest_set(&items, relaxation.slack[place]);
                value += sum;
                self.own[place] = set;
            }
            for (_, way, _) in relaxation.up(place) {
                if let Some(number) = open.number(way) {
                    let charged = self.charge(relaxation, way, self.price[place], open.share(way));
                    let beyond = way.relative - charged;
                    self.is_taken[number] = beyond > 0.0;
                    value += beyond.max(0.0);
                }
                if let Some(upper) = way.upper {
                    for of in 0..relaxation.measures {
                        self.price[upper][of] += way.times[of] as f64 * self.price[place][of];
                    }
                }
            }
        }
        value
    }

    /// How much ToRs lose by what is worth its price: the slope in their prices.
    fn add_up_losses(&mut self, open: &Open) {
        let relaxation = open.relaxation;
        for place in 0..relaxation.ways.len() {
            let is_tor = relaxation.is_tor[place];
            for of in 0..relaxation.measures {
                let mut lost = 0.0;
                for (index, way, _) in relaxation.up(place) {
                    let share = match is_tor {
                        true if self.own[place] >> index.min(63) & 1 == 1 => 1.0,
                        true => 0.0,
                        false if open.number(way).is_some_and(|number| self.is_taken[number]) => {
                            open.share(way)
                        }
                        false => 0.0,
                    };
                    lost += share * self.reaches(relaxation, way, of);
                    lost += way.upper.map_or(0.0, |upper| way.times[of] as f64 * self.lost[upper][of]);
                }
                self.lost[place][of] = lost;
                if is_tor {
                    self.slope.of[place][of] = open.slack(place, of) - lost;
                }
            }
        }
    }

    /// How the bound changes with each share.
    fn bend_down(&mut self, open: &Open) {
        let relaxation = open.relaxation;
        for place in (0..relaxation.ways.len()).rev() {
            for (index, way, _) in relaxation.up(place) {
                let number = open.number(way);
                let is_taken = number.is_some_and(|number| self.is_taken[number]);
                for of in 0..relaxation.measures {
                    let price = self.price[place][of];
                    if let Some(number) = number {
                        let more = if is_taken { price } else { 0.0 } + self.bend[place][of];
                        self.slope.share[number] -= self.reaches(relaxation, way, of) * more;
                    }
                    let Some(upper) = way.upper else { continue };
                    let times = way.times[of] as f64;
                    let bend = match relaxation.is_tor[place] {
                        true if self.own[place] >> index.min(63) & 1 == 1 => -price,
                        true => 0.0,
                        false => {
                            let share = open.share(way);
                            (1.0 - share) * self.bend[place][of] - if is_taken { share * price } else { 0.0 }
                        }
                    };
                    self.bend[upper][of] += times * bend;
                }
            }
        }
    }
}

/// What a bound is computed for.
struct Open<'a> {
    relaxation: &'a Relaxation,
    prices: &'a Prices,
    open: &'a [bool],
}

impl Open<'_> {
    /// The number of a candidate above the ToRs that is open.
    fn number(&self, way: &Way) -> Option<usize> {
        way.open.filter(|number| self.open[*number])
    }

    fn share(&self, way: &Way) -> f64 {
        self.number(way).map_or(0.0, |number| self.prices.share[number])
    }

    fn slack(&self, place: usize, of: usize) -> f64 {
        self.relaxation.slack[place][of] as f64 / self.relaxation.units[of]
    }
}
