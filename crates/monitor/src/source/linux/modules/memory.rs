//! What the memory of a transceiver says.
//!
//! Three layouts are read, by the identifier in the first byte (SFF-8024): SFF-8472 (SFP), SFF-8636 (QSFP) and CMIS
//! (QSFP-DD, OSFP; OIF-CMIS-05.2). In all of them temperatures are in 1/256 °C, voltages in 100 µV, powers in 0.1 µW and
//! currents in 2 µA, big-endian, and thresholds have the order high alarm, low alarm, high warning, low warning.

use crate::optics::{Lane, Limits, Module, OpticsReading, Thresholds, dbm_of_milliwatts};
use linkmend_linux::module_eeprom::{HALF_PAGE, HalfPage};

type Half = [u8; HALF_PAGE];

/// Addresses of memories on a module's bus.
const FIRST: u8 = 0x50;
const DIAGNOSTICS: u8 = 0x51;
/// The page of upper memory that CMIS has the values of lanes in.
const LANE_PAGE: u8 = 0x11;

/// What a module measures, of which half pages can be read; `None` if there is none, or none of a kind that is known.
pub(super) fn read(mut half: impl FnMut(HalfPage) -> Option<Half>) -> Option<OpticsReading> {
    let lower = half(HalfPage { address: FIRST, page: 0, upper: false })?;
    let mut upper = |page| half(HalfPage { address: FIRST, page, upper: true });
    match lower[0] {
        0x03 => {
            let diagnostics = has_diagnostics(&lower)
                .then(|| half(HalfPage { address: DIAGNOSTICS, page: 0, upper: false }));
            Some(sfp(&lower, diagnostics.flatten().as_ref()))
        }
        0x0c | 0x0d | 0x11 => {
            let first = upper(0)?;
            // Byte 2, bit 2: there are no further pages.
            let limits = (lower[2] & 0x04 == 0).then(|| upper(3)).flatten();
            Some(qsfp(&lower, &first, limits.as_ref()))
        }
        0x18 | 0x19 | 0x1e => {
            let first = upper(0)?;
            // Byte 2, bit 7: there are no further pages.
            let pages =
                (lower[2] & 0x80 == 0).then(|| Some([upper(1)?, upper(2)?, upper(LANE_PAGE)?])).flatten();
            Some(cmis(&lower, &first, pages.as_ref()))
        }
        _ => None,
    }
}

/// Byte 92 of SFF-8472: diagnostics are there, and internally calibrated. Values of externally calibrated modules, which are
/// old, would have to be computed.
fn has_diagnostics(lower: &Half) -> bool {
    lower[92] & 0x60 == 0x60
}

/// SFF-8472: table 4-1 for names, table 9-5 for thresholds, table 9-11 for values.
fn sfp(lower: &Half, diagnostics: Option<&Half>) -> OpticsReading {
    let module = Module::new(&text(&lower[20..36]), &text(&lower[40..56]), &text(&lower[68..84]));
    let Some(memory) = diagnostics else { return OpticsReading { module, ..OpticsReading::default() } };
    let lane = Lane {
        received_dbm: Some(dbm(word(memory, 104))),
        sent_dbm: Some(dbm(word(memory, 102))),
        bias_ma: Some(milliamperes(word(memory, 100))),
    };
    OpticsReading {
        module,
        temperature_c: Some(celsius(word(memory, 96))),
        voltage_v: Some(volts(word(memory, 98))),
        lanes: vec![lane],
        thresholds: Thresholds {
            temperature: limits(memory, 0, celsius),
            voltage: limits(memory, 8, volts),
            bias: limits(memory, 16, milliamperes),
            sent: limits(memory, 24, dbm),
            received: limits(memory, 32, dbm),
        },
    }
}

/// SFF-8636: tables 6-7 and 6-8 for values, table 6-14 for names, table 6-29 for thresholds.
fn qsfp(lower: &Half, first: &Half, thresholds: Option<&Half>) -> OpticsReading {
    let module = Module::new(&text(&first[20..36]), &text(&first[40..56]), &text(&first[68..84]));
    // Upper half of byte 147: cables of copper have 10 and more.
    if first[19] >> 4 >= 0x0a {
        return OpticsReading { module, ..OpticsReading::default() };
    }
    // Byte 220, bit 2: transmitted power is measured.
    let measures_sent = first[92] & 0x04 != 0;
    let lanes = (0..4).map(|lane| Lane {
        received_dbm: Some(dbm(word(lower, 34 + 2 * lane))),
        sent_dbm: measures_sent.then(|| dbm(word(lower, 50 + 2 * lane))),
        bias_ma: Some(milliamperes(word(lower, 42 + 2 * lane))),
    });
    let thresholds = thresholds.map(|page| Thresholds {
        temperature: limits(page, 0, celsius),
        voltage: limits(page, 16, volts),
        received: limits(page, 48, dbm),
        bias: limits(page, 56, milliamperes),
        sent: limits(page, 64, dbm),
    });
    OpticsReading {
        module,
        temperature_c: Some(celsius(word(lower, 22))),
        voltage_v: Some(volts(word(lower, 26))),
        lanes: lanes.collect(),
        thresholds: thresholds.unwrap_or_default(),
    }
}

/// CMIS: tables 8-9 and 8-18 for values of the module, table 8-28 for names, 8-46 for what is measured, 8-51 for thresholds,
/// 8-77 for lanes.
fn cmis(lower: &Half, first: &Half, pages: Option<&[Half; 3]>) -> OpticsReading {
    let module = Module::new(&text(&first[1..17]), &text(&first[20..36]), &text(&first[38..54]));
    // Byte 85: fibre of many modes, or of one.
    let is_optical = matches!(lower[85], 1 | 2);
    let Some([advertised, limit, lane_page]) = pages.filter(|_| is_optical) else {
        return OpticsReading { module, ..OpticsReading::default() };
    };
    // Byte 160 of page 1: what is measured of lanes, and by what currents are multiplied.
    let measured = advertised[32];
    let factor = match measured >> 3 & 0x03 {
        1 => 2.0,
        2 => 4.0,
        _ => 1.0,
    };
    let current = |raw| factor * milliamperes(raw);
    let lanes = (0..8).map(|lane| Lane {
        received_dbm: (measured & 0x04 != 0).then(|| dbm(word(lane_page, 58 + 2 * lane))),
        sent_dbm: (measured & 0x02 != 0).then(|| dbm(word(lane_page, 26 + 2 * lane))),
        bias_ma: (measured & 0x01 != 0).then(|| current(word(lane_page, 42 + 2 * lane))),
    });
    OpticsReading {
        module,
        temperature_c: Some(celsius(word(lower, 14))),
        voltage_v: Some(volts(word(lower, 16))),
        lanes: lanes.collect(),
        thresholds: Thresholds {
            temperature: limits(limit, 0, celsius),
            voltage: limits(limit, 8, volts),
            sent: limits(limit, 48, dbm),
            bias: limits(limit, 56, current),
            received: limits(limit, 64, dbm),
        },
    }
}

fn limits(memory: &Half, place: usize, value: impl Fn(u16) -> f32) -> Limits {
    let [high_alarm, low_alarm, high_warning, low_warning] =
        [0, 2, 4, 6].map(|more| Some(value(word(memory, place + more))));
    Limits { low_alarm, low_warning, high_warning, high_alarm }.plausible()
}

fn word(memory: &Half, place: usize) -> u16 {
    u16::from_be_bytes([memory[place], memory[place + 1]])
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn celsius(raw: u16) -> f32 {
    f32::from(raw.cast_signed()) / 256.0
}

fn volts(raw: u16) -> f32 {
    f32::from(raw) / 10_000.0
}

fn dbm(raw: u16) -> f32 {
    dbm_of_milliwatts(f32::from(raw) / 10_000.0)
}

fn milliamperes(raw: u16) -> f32 {
    f32::from(raw) / 500.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Puts hexadecimal digits there.
    fn put(memory: &mut Half, place: usize, digits: &str) {
        let digits: Vec<u8> = digits.split_whitespace().flat_map(|word| word.bytes()).collect();
        for (byte, pair) in digits.chunks(2).enumerate() {
            let pair = std::str::from_utf8(pair).expect("digits");
            memory[place + byte] = u8::from_str_radix(pair, 16).expect("hexadecimal");
        }
    }

    fn names(memory: &mut Half, places: [usize; 3]) {
        for (place, name) in
            places.into_iter().zip(["ACME            ", "PART            ", "SERIAL          "])
        {
            memory[place..place + 16].copy_from_slice(name.as_bytes());
        }
    }

    /// A memory of these half pages.
    fn of(pages: &[(u8, u8, bool, Half)]) -> Option<OpticsReading> {
        read(|place| {
            let found = pages
                .iter()
                .find(|page| (page.0, page.1, page.2) == (place.address, place.page, place.upper));
            found.map(|page| page.3)
        })
    }

    fn near(value: Option<f32>, expected: f32) -> bool {
        value.is_some_and(|value| (value - expected).abs() < 0.05)
    }

    /// Thresholds of a real QSFP28 (serial number U3SAH67), as published in sonic-net/sonic-utilities, pull request 2379.
    #[test]
    fn thresholds_of_a_real_qsfp28_are_those_that_its_standard_asks_for() {
        let (mut lower, mut first, mut limits) = ([0; HALF_PAGE], [0; HALF_PAGE], [0; HALF_PAGE]);
        lower[0] = 0x11;
        put(&mut lower, 22, "2b80 0000 8098");
        put(&mut lower, 34, "2710 1388 0000 0001 0dac 0dac 0dac 0dac 2710 2710 2710 2710");
        names(&mut first, [20, 40, 68]);
        first[92] = 0x0c;
        put(&mut limits, 0, "4b00 fb00 4600 0000");
        put(&mut limits, 16, "8dcc 7404 875a 7918");
        put(&mut limits, 48, "5576 018e 43e2 031a 1770 05dc 157c 07d0 7b87 03e8 4df1 0631");
        let read = of(&[(0x50, 0, false, lower), (0x50, 0, true, first), (0x50, 3, true, limits)]);
        let OpticsReading { module, temperature_c, voltage_v, lanes, thresholds } = read.expect("a module");
        assert_eq!(module, Module::new("ACME", "PART", "SERIAL"));
        assert!(near(temperature_c, 43.5) && near(voltage_v, 3.29));
        let received: Vec<f32> = lanes.iter().filter_map(|lane| lane.received_dbm).collect();
        assert!(near(Some(received[1]), -3.0) && received[0] == 0.0 && received[2..] == [-40.0, -40.0]);
        assert!(near(lanes[3].bias_ma, 7.0) && near(lanes[3].sent_dbm, 0.0));
        let of =
            |limits: Limits| [limits.high_alarm, limits.low_alarm, limits.high_warning, limits.low_warning];
        for (limits, expected) in [
            (thresholds.temperature, [75.0, -5.0, 70.0, 0.0]),
            (thresholds.voltage, [3.63, 2.97, 3.465, 3.1]),
            (thresholds.received, [3.4, -14.0, 2.4, -11.0]),
            (thresholds.bias, [12.0, 3.0, 11.0, 4.0]),
            (thresholds.sent, [5.0, -10.0, 3.0, -8.0]),
        ] {
            let is_near = of(limits).into_iter().zip(expected).all(|(value, expected)| near(value, expected));
            assert!(is_near, "{limits:?}, not {expected:?}");
        }
    }

    /// Thresholds of a real SFP+, as published in sonic-net/sonic-platform-common, pull request 7.
    #[test]
    fn an_sfp_has_its_values_in_a_second_memory_if_it_has_any() {
        let (mut lower, mut memory) = ([0; HALF_PAGE], [0; HALF_PAGE]);
        lower[0] = 0x03;
        names(&mut lower, [20, 40, 68]);
        put(&mut memory, 0, "5f00 e700 5a00 ec00 9470 6d60 9088 7148");
        put(&mut memory, 96, "e700 80e8 0dac 1388 0004");
        let pages = |lower| [(0x50, 0, false, lower), (0x51, 0, false, memory)];
        assert_eq!(
            of(&pages(lower)).map(|read| (read.module.part, read.lanes)),
            Some(("PART".to_owned(), vec![]))
        );
        lower[92] = 0x68;
        let read = of(&pages(lower)).expect("a module");
        assert!(near(read.temperature_c, -25.0) && near(read.voltage_v, 3.3));
        assert!(near(read.lanes[0].received_dbm, -34.0) && near(read.lanes[0].sent_dbm, -3.0));
        let Limits { low_alarm, low_warning, high_warning, high_alarm } = read.thresholds.temperature;
        assert_eq!(
            [high_alarm, low_alarm, high_warning, low_warning].map(Option::unwrap_or_default),
            [95.0, -25.0, 90.0, -20.0]
        );
        let voltage = read.thresholds.voltage;
        assert!(near(voltage.high_alarm, 3.8) && near(voltage.low_warning, 2.9));
        assert_eq!(read.thresholds.received, Limits::default(), "zeros are none");
    }

    #[test]
    fn cmis_measures_what_it_advertises_and_copper_measures_nothing() {
        let mut pages = [[0; HALF_PAGE]; 5];
        let [lower, first, advertised, limits, lanes] = &mut pages;
        (lower[0], lower[85]) = (0x18, 2);
        put(lower, 14, "3c00 8098");
        names(first, [1, 20, 38]);
        // Powers and currents, which are multiplied by four.
        advertised[32] = 0x17;
        put(limits, 64, "5576 018e 43e2 031a");
        put(lanes, 26, "2710");
        put(lanes, 42, "3a98");
        put(lanes, 58 + 14, "1388");
        let read = |pages: &[Half; 5]| {
            let place = [(0, false), (0, true), (1, true), (2, true), (0x11, true)];
            let pages: Vec<_> =
                place.iter().zip(pages).map(|(place, half)| (0x50, place.0, place.1, *half)).collect();
            of(&pages).expect("a module")
        };
        let optical = read(&pages);
        assert_eq!((optical.module, optical.lanes.len()), (Module::new("ACME", "PART", "SERIAL"), 8));
        assert!(near(optical.temperature_c, 60.0) && near(optical.lanes[7].received_dbm, -3.0));
        assert!(near(optical.lanes[0].bias_ma, 120.0) && near(optical.lanes[0].sent_dbm, 0.0));
        assert!(near(optical.thresholds.received.low_alarm, -14.0));
        pages[2][32] = 0x04;
        let lane = read(&pages).lanes[0];
        assert!(lane.received_dbm.is_some() && lane.sent_dbm.is_none() && lane.bias_ma.is_none());
        pages[0][85] = 3;
        assert!(read(&pages).lanes.is_empty());
    }

    proptest! {
        #[test]
        fn no_memory_panics(seed in any::<[u8; 32]>(), identifier in prop::sample::select(vec![0x03, 0x0d, 0x11, 0x18, 0x19, 0xff])) {
            let read = read(|place| {
                let shift = usize::from(place.page) + usize::from(place.address);
                let mut half: Half = std::array::from_fn(|byte| seed[(byte + shift) % 32].rotate_left(byte as u32 / 32));
                if !place.upper && place.address == FIRST {
                    half[0] = identifier;
                }
                Some(half)
            });
            for lane in read.iter().flat_map(|read| &read.lanes) {
                prop_assert!(lane.received_dbm.is_none_or(|power| (-40.0..=8.2).contains(&power)));
            }
        }
    }
}
