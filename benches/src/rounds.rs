//! Measuring in turn, A B A B …, and what the rounds say together. Knows nothing of what is measured.

use crate::Outcome;
use crate::figure::Spread;

/// Measures every side once in each round; the results by side, then by round. Who goes first changes from round to
/// round: what drifts, and what one side leaves for the next, falls on all of them.
pub(crate) async fn interleaved<T>(
    rounds: usize,
    sides: usize,
    mut measure: impl AsyncFnMut(usize) -> Outcome<T>,
) -> Outcome<Vec<Vec<T>>> {
    let mut results: Vec<Vec<T>> = (0..sides).map(|_| Vec::with_capacity(rounds)).collect();
    for round in 0..rounds {
        for side in order(round, sides) {
            results[side].push(measure(side).await?);
        }
    }
    Ok(results)
}

/// Who goes when: the one that was first is last in the next round.
fn order(round: usize, sides: usize) -> impl Iterator<Item = usize> {
    (0..sides).map(move |turn| (round + turn) % sides)
}

/// Round by round the one over the other, `of` telling what counts of a result.
pub(crate) fn ratio<T>(over: &[T], under: &[T], of: impl Fn(&T) -> f64) -> Spread {
    let ratios = over.iter().zip(under);
    Spread::of(ratios.map(|(over, under)| of(over) / of(under)).collect())
}

impl Spread {
    pub(crate) fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let middle = values.len() / 2;
        let at = |index: usize| values.get(index).copied().unwrap_or(f64::NAN);
        let median = if values.len().is_multiple_of(2) {
            f64::midpoint(at(middle.wrapping_sub(1)), at(middle))
        } else {
            at(middle)
        };
        Self {
            median,
            low: at(0),
            high: at(values.len().wrapping_sub(1)),
            rounds: values.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_odd_and_even_counts() {
        let odd = Spread::of(vec![3.0, 1.0, 2.0]);
        assert_eq!((odd.low, odd.median, odd.high), (1.0, 2.0, 3.0));
        let even = Spread::of(vec![4.0, 1.0, 2.0, 3.0]);
        assert_eq!((even.median, even.rounds), (2.5, 4));
        assert_eq!(Spread::of(vec![0.7]).median, 0.7);
        assert!(Spread::of(Vec::new()).median.is_nan());
    }

    #[test]
    fn a_ratio_is_taken_within_its_round() {
        // Everything became twice as slow in the second round: the ratio did not.
        let spread = ratio(&[80, 40], &[100, 50], |rate| f64::from(*rate));
        assert_eq!((spread.low, spread.median, spread.high), (0.8, 0.8, 0.8));
    }

    #[tokio::test]
    async fn sides_take_turns_and_each_goes_first() {
        let mut seen = Vec::new();
        let results = interleaved(3, 2, async |side| {
            seen.push(side);
            Ok(seen.len())
        })
        .await
        .unwrap();
        assert_eq!(results, [[1, 4, 5], [2, 3, 6]]);
        assert_eq!(seen, [0, 1, 1, 0, 0, 1]);
    }

    #[tokio::test]
    async fn a_failure_ends_the_rounds() {
        let outcome = interleaved(3, 2, async |side| match side {
            0 => Ok(()),
            _ => Err("no".into()),
        });
        assert!(outcome.await.is_err());
    }
}
