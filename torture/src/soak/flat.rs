//! When a series is flat. The first fifth is a warm-up and counts for nothing. A level rises where the median of the
//! last quarter is clear of the median of the second one, by a share and by a number; medians, because single samples
//! lie. For memory, the line through all that follows the warm-up must also be steep enough to matter in a day: what
//! levels off is no leak. No I/O, no clock.

const WARM_UP: f64 = 0.2;
const DAY: f64 = 24.0 * 60.0 * 60.0;

/// A value, so many seconds after the beginning.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Point {
    pub(crate) at: f64,
    pub(crate) value: f64,
}

/// What a series may do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bound {
    /// Rise by a share and a number together; more is growth only if it is more than so much in a day.
    Rise {
        share: f64,
        slack: f64,
        per_day: Option<f64>,
    },
    /// Fall to no less than this share.
    Share(f64),
    /// Be no more than this in the last quarter, however it began.
    Most(f64),
    /// Be nothing but zero, from the beginning.
    Zero,
    /// Anything.
    None,
}

/// What a series has done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Course {
    pub(crate) start: f64,
    /// The medians of the second, third and last quarter.
    pub(crate) second: f64,
    pub(crate) third: f64,
    pub(crate) last: f64,
    /// By the line through what follows the warm-up.
    pub(crate) per_day: f64,
    pub(crate) is_flat: bool,
}

impl Bound {
    pub(crate) fn rise(share: f64, slack: f64) -> Self {
        Self::Rise {
            share,
            slack,
            per_day: None,
        }
    }

    pub(crate) fn and_per_day(self, most: f64) -> Self {
        match self {
            Self::Rise { share, slack, .. } => Self::Rise {
                share,
                slack,
                per_day: Some(most),
            },
            other => other,
        }
    }

    /// What the last quarter's median may be.
    pub(crate) fn limit(self, second: f64) -> Option<f64> {
        match self {
            Self::Rise { share, slack, .. } => Some(second * (1.0 + share) + slack),
            Self::Share(share) => Some(second * share),
            Self::Most(most) => Some(most),
            Self::Zero => Some(0.0),
            Self::None => None,
        }
    }
}

impl Course {
    /// What a process may lose at each operation without being found out, where it performs so many in a run of so many
    /// seconds. The medians stand for the middles of their quarters.
    pub(crate) fn unseen(&self, bound: Bound, operations: f64, seconds: f64) -> Option<f64> {
        let Bound::Rise { per_day, .. } = bound else {
            return None;
        };
        let by_level = (bound.limit(self.second)? - self.second) / (operations / 2.0);
        let by_slope = per_day.unwrap_or_default() / (operations / seconds * DAY);
        Some(by_level.max(by_slope))
    }
}

/// Nothing where there are too few points to say something: each quarter needs some.
pub(crate) fn course(points: &[Point], bound: Bound) -> Option<Course> {
    let (first, end) = (points.first()?, points.last()?);
    let length = end.at - first.at;
    let between = |from: f64, to: f64| {
        let (from, to) = (first.at + length * from, first.at + length * to);
        let inside = points
            .iter()
            .filter(move |point| point.at >= from && point.at <= to);
        inside.copied().collect::<Vec<_>>()
    };
    let second = median(&between(0.25, 0.5))?;
    let third = median(&between(0.5, 0.75))?;
    let last = median(&between(0.75, 1.0))?;
    let per_day = slope(&between(WARM_UP, 1.0)) * DAY;
    let is_flat = match (bound, bound.limit(second)) {
        (Bound::Rise { per_day: most, .. }, Some(limit)) => {
            last <= limit || most.is_some_and(|most| per_day <= most)
        }
        (Bound::Most(_), Some(limit)) => last <= limit,
        (Bound::Share(_), Some(limit)) => last >= limit,
        (Bound::Zero, _) => points.iter().all(|point| point.value == 0.0),
        (Bound::None, _) | (_, None) => true,
    };
    Some(Course {
        start: first.value,
        second,
        third,
        last,
        per_day,
        is_flat,
    })
}

fn median(points: &[Point]) -> Option<f64> {
    let mut values: Vec<_> = points.iter().map(|point| point.value).collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = values.get(middle)?;
    Some(match values.len() % 2 {
        0 => (values.get(middle - 1)? + upper) / 2.0,
        _ => *upper,
    })
}

/// Of the line with the least squares, per second.
fn slope(points: &[Point]) -> f64 {
    let count = points.len() as f64;
    let (at, value) = points.iter().fold((0.0, 0.0), |(at, value), point| {
        (at + point.at / count, value + point.value / count)
    });
    let (above, below) = points.iter().fold((0.0, 0.0), |(above, below), point| {
        let away = point.at - at;
        (above + away * (point.value - value), below + away * away)
    });
    if below > 0.0 { above / below } else { 0.0 }
}

#[cfg(test)]
#[path = "flat/tests.rs"]
mod tests;
