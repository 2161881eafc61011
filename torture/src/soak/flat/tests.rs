//! A leak is found and noise is not, in series as a soak of ten minutes makes them.

use fastrand::Rng;

use super::*;
use crate::soak::figure::{Kind, MIB};

const LENGTH: f64 = 600.0;
const EVERY: f64 = 3.0;
/// Of one process, in a second.
const OPERATIONS: f64 = 40.0;
/// Of the test application.
const BASE: f64 = 12.0 * MIB;

fn series(value: impl FnMut(f64) -> f64) -> Vec<Point> {
    let mut value = value;
    (0..(LENGTH / EVERY) as u32)
        .map(|number| f64::from(number) * EVERY)
        .map(|at| Point {
            at,
            value: value(at),
        })
        .collect()
}

fn is_flat(kind: Kind, value: impl FnMut(f64) -> f64) -> bool {
    course(&series(value), kind.bound()).unwrap().is_flat
}

/// From one to the other side of zero.
fn noise(rng: &mut Rng, size: f64) -> f64 {
    (rng.f64() * 2.0 - 1.0) * size
}

#[test]
fn some_hundred_bytes_per_operation_are_a_leak() {
    for seed in 0..200 {
        let mut rng = Rng::with_seed(seed);
        let leaking = |at: f64| BASE + at * OPERATIONS * 300.0 + noise(&mut rng, MIB);
        assert!(!is_flat(Kind::Memory, leaking), "seed {seed}");
    }
}

#[test]
fn noise_is_no_leak() {
    for seed in 0..1_000 {
        let mut rng = Rng::with_seed(seed);
        assert!(
            is_flat(Kind::Memory, |_| BASE + noise(&mut rng, 1.5 * MIB)),
            "seed {seed}"
        );
    }
}

#[test]
fn noise_that_wanders_within_limits_is_no_leak() {
    for seed in 0..1_000 {
        let mut rng = Rng::with_seed(seed);
        let mut away: f64 = 0.0;
        let wandering = |_| {
            away = (away + noise(&mut rng, MIB / 4.0)).clamp(-0.6 * MIB, 0.6 * MIB);
            BASE + away
        };
        assert!(is_flat(Kind::Memory, wandering), "seed {seed}");
    }
}

#[test]
fn what_a_process_takes_while_it_warms_up_is_its_own_business() {
    let warming = |at: f64| BASE * (at / (LENGTH * WARM_UP)).min(1.0);
    assert!(is_flat(Kind::Memory, warming));
}

#[test]
fn what_levels_off_is_no_leak() {
    assert!(is_flat(Kind::Memory, |at| {
        BASE + 12.0 * MIB * (1.0 - (-at / 90.0).exp())
    }));
}

#[test]
fn a_handle_in_a_thousand_operations_is_a_leak() {
    let leaking = |at: f64| 30.0 + (at * OPERATIONS / 1_000.0).floor();
    assert!(!is_flat(Kind::Few, leaking));
    let mut rng = Rng::with_seed(1);
    assert!(is_flat(Kind::Few, |_| (30.0 + noise(&mut rng, 12.0)).round()));
}

#[test]
fn a_row_in_twenty_that_stays_is_a_leak() {
    let mut rng = Rng::with_seed(1);
    let rows = |rng: &mut Rng| 300.0 + noise(rng, 150.0);
    assert!(!is_flat(Kind::Many, |at| rows(&mut rng) + at * OPERATIONS / 20.0));
    assert!(is_flat(Kind::Many, |_| rows(&mut rng)));
}

#[test]
fn a_file_may_rise_and_fall_and_must_not_only_rise() {
    let saw = |at: f64| 6.0 * MIB * (at % 60.0) / 60.0;
    assert!(is_flat(Kind::Disk, |at| 10.0 * MIB + saw(at)));
    assert!(!is_flat(Kind::Disk, |at| 10.0 * MIB
        + saw(at)
        + at * 32.0 * 1024.0));
}

#[test]
fn a_pace_may_not_break_down() {
    assert!(is_flat(Kind::Pace, |at| 80.0 - at / 20.0));
    assert!(!is_flat(Kind::Pace, |at| if at < 400.0 {
        80.0
    } else {
        9.0
    }));
}

#[test]
fn refusals_count_even_if_they_were_there_from_the_beginning() {
    assert!(is_flat(Kind::Refused, |at| if at < 100.0 {
        40.0
    } else {
        4.0
    }));
    assert!(!is_flat(Kind::Refused, |_| 40.0));
}

#[test]
fn what_is_said_to_be_found_is_found() {
    let bound = Kind::Memory.bound();
    let still = course(&series(|_| BASE), bound).unwrap();
    let unseen = still.unseen(bound, LENGTH * OPERATIONS, LENGTH).unwrap();
    let leaking = |share: f64| move |at: f64| BASE + at * OPERATIONS * unseen * share;
    assert!(is_flat(Kind::Memory, leaking(0.9)), "{unseen}");
    assert!(!is_flat(Kind::Memory, leaking(1.1)), "{unseen}");
    assert!(unseen < 150.0, "{unseen}");
}

#[test]
fn never_is_from_the_beginning() {
    assert!(is_flat(Kind::Never, |_| 0.0));
    assert!(!is_flat(Kind::Never, |at| f64::from(at == 3.0)));
}

#[test]
fn what_is_only_shown_may_do_anything() {
    assert!(is_flat(Kind::Shown, |at| at * MIB));
}

#[test]
fn one_sample_says_nothing() {
    let point = Point {
        at: 0.0,
        value: 1.0,
    };
    assert!(course(&[], Kind::Few.bound()).is_none());
    // All quarters are the same moment.
    assert!(course(&[point], Kind::Few.bound()).is_some_and(|course| course.is_flat));
}

#[test]
fn the_slope_is_that_of_the_line() {
    let found = course(&series(|at| 5.0 + at * 2.0), Bound::None).unwrap();
    assert!((found.per_day - 2.0 * DAY).abs() < 1e-3, "{found:?}");
}
