//! How old a record is that is replayed: by the database's clock, and as a part of what its endpoint retains.

use idem_tests::{Backend, Stage, in_both_styles};

use super::{Metrics, measured};
use crate::asking::{ask, marking};

in_both_styles! { the_age_of_a_record_is_measured_when_it_is_replayed }

async fn the_age_of_a_record_is_measured_when_it_is_replayed(stage: &Stage) {
    let app = measured(stage).await;
    let request = ask("/account/script", "k", &marking("k"));
    assert_eq!(app.send(&request).await.status, 201);
    // Of twenty-four.
    let earlier = match stage.backend() {
        Backend::Postgres => "recorded_at - interval '6 hours'",
        Backend::Mysql => "timestampadd(HOUR, -6, recorded_at)",
        Backend::Sqlite => "strftime('%Y-%m-%d %H:%M:%f', recorded_at, '-6 hours')",
    };
    let set_back = format!("UPDATE idempotency_keys SET recorded_at = {earlier}");
    stage.database.execute(&set_back).await;
    assert!(app.send(&request).await.is_replay());
    let metrics = Metrics::of(&app).await;
    let sum = |name: &str| {
        metrics.value(&format!(
            r#"idempotency_replay_age_{name}_sum{{endpoint="POST /account/script"}}"#
        ))
    };
    let (seconds, ratio) = (sum("seconds"), sum("ratio"));
    assert!((21_600.0..21_660.0).contains(&seconds), "{seconds}");
    assert!((0.25..0.2507).contains(&ratio), "{ratio}");
}
