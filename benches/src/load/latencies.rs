//! How long the answers took. Sorted only when asked.

use std::time::Duration;

#[derive(Default)]
pub(crate) struct Latencies(Vec<u32>);

impl Latencies {
    /// In microseconds; more than an hour is an hour.
    pub(crate) fn push(&mut self, latency: Duration) {
        self.0
            .push(u32::try_from(latency.as_micros()).unwrap_or(u32::MAX));
    }

    pub(crate) fn append(&mut self, mut others: Self) {
        self.0.append(&mut others.0);
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// In seconds; nothing is smaller than the quantile at 0, nothing larger than that at 1.
    pub(crate) fn quantile(&self, share: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let last = sorted.len().saturating_sub(1);
        let index = (share * last as f64).round() as usize;
        sorted
            .get(index)
            .map_or(f64::NAN, |micros| f64::from(*micros) / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles() {
        let mut latencies = Latencies::default();
        for millis in [5, 1, 4, 2, 3] {
            latencies.push(Duration::from_millis(millis));
        }
        let quantile = |share| (latencies.quantile(share) * 1000.0).round();
        assert_eq!(
            (quantile(0.0), quantile(0.5), quantile(1.0)),
            (1.0, 3.0, 5.0)
        );
        assert!(Latencies::default().quantile(0.5).is_nan());
    }
}
