//! The retention horizon: a key that says when it was made, and is too old to be told from a late retry.

use std::time::{Duration, SystemTime};

use idem_tests::{Response, Stage, in_both_styles, in_both_styles_on_postgres, on_servers};
use uuid::{Builder, Uuid};

use crate::asking::{ask, assert_in_flight, assert_replay, assert_reused, gated, marking, storm};
use crate::wire::fewest;

const DATED: &str = "/dated/script";

const MINUTE: u64 = 60;
pub(crate) const DAY: u64 = 24 * 60 * MINUTE;

in_both_styles! {
    an_old_key_is_refused,
    other_keys_are_run_at_any_age,
    by_default_every_key_is_run,
    a_record_outranks_the_age,
    who_waits_is_refused_as_well,
}

in_both_styles_on_postgres! { the_clock_is_the_databases }

on_servers! { the_clock_takes_no_round_trip }

/// A key that was made so many seconds ago.
pub(crate) fn aged(seconds: u64) -> Uuid {
    made(SystemTime::now() - Duration::from_secs(seconds))
}

fn made(at: SystemTime) -> Uuid {
    let time = at.duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let random = Uuid::new_v4().into_bytes();
    let random = random[..10].try_into().unwrap();
    Builder::from_unix_timestamp_millis(time.as_millis().try_into().unwrap(), random).into_uuid()
}

#[track_caller]
pub(crate) fn assert_expired(answer: &Response) {
    answer.assert_problem(410, "idempotency-key-expired", false);
    assert!(answer.header("Retry-After").is_none());
}

#[track_caller]
pub(crate) fn assert_run(answer: &Response) {
    let found = (answer.status, answer.is_replay());
    assert_eq!(found, (201, false), "{}", answer.text());
}

/// Five minutes before its record could be forgotten, and ever after. Not before, and not in the future.
async fn an_old_key_is_refused(stage: &Stage) {
    let app = stage.start().await;
    for age in [DAY - 4 * MINUTE, DAY + MINUTE, 9_000 * DAY] {
        let key = aged(age).to_string();
        for key in [key.clone(), key.to_uppercase(), format!("\"{key}\"")] {
            let answer = app.send(&ask(DATED, &key, &marking("old"))).await;
            assert_expired(&answer);
            assert!(!answer.text().contains(&key), "{}", answer.text());
        }
    }
    assert_eq!(app.effects("old").await.entered, 0);
    assert_eq!(stage.database.records().await, 0);
    let ahead = SystemTime::now() + Duration::from_secs(400 * DAY);
    for key in [aged(0), aged(DAY - 6 * MINUTE), made(ahead)] {
        let request = ask(DATED, &key.to_string(), &marking("young"));
        let first = app.send(&request).await;
        assert_run(&first);
        assert_replay(&first, &app.send(&request).await);
    }
    assert_eq!(stage.database.effects("young").await, 3);
}

async fn other_keys_are_run_at_any_age(stage: &Stage) {
    let app = stage.start().await;
    let old = aged(2 * DAY);
    let version_4 = Builder::from_bytes(old.into_bytes())
        .with_version(uuid::Version::Random)
        .into_uuid();
    for key in [
        version_4.to_string(),
        old.simple().to_string(),
        old.braced().to_string(),
        old.urn().to_string(),
        format!("{old}-order"),
    ] {
        assert_run(&app.send(&ask(DATED, &key, &marking("other"))).await);
    }
}

async fn by_default_every_key_is_run(stage: &Stage) {
    let app = stage.start().await;
    let key = aged(2 * DAY).to_string();
    let request = ask("/account/script", &key, &marking("default"));
    assert_run(&app.send(&request).await);
}

/// What is still there is compared and replayed, however old its key.
async fn a_record_outranks_the_age(stage: &Stage) {
    let app = stage.start().await;
    let key = aged(2 * DAY).to_string();
    let elsewhere = ask("/account/script", &key, &marking("outranked"));
    let running = app.send_in_background(&ask("/account/script", &key, &gated("outranked")));
    app.reached("outranked", 1).await;
    let here = ask(DATED, &key, &marking("outranked"));
    assert_reused(&app.send(&here).await);
    app.open_gate("outranked").await;
    assert_run(&running.await.unwrap());
    assert_reused(&app.send(&here).await);
    assert_reused(&app.send(&elsewhere).await);
    stage.database.expire_all().await;
    assert_expired(&app.send(&here).await);
    assert_eq!(stage.database.records().await, 1);
    assert_run(&app.send(&elsewhere).await);
}

async fn who_waits_is_refused_as_well(stage: &Stage) {
    let app = stage.app().pool(1).start().await;
    let key = aged(2 * DAY).to_string();
    for path in [DATED, "/dated-wait/script"] {
        let request = ask(path, &key, &marking("waiting"));
        for answer in storm(&[&app], 20, &request).await {
            assert_expired(&answer);
        }
    }
    assert_eq!(app.effects("waiting").await.entered, 0);
    assert_eq!(stage.database.open_transactions().await, 0);
}

/// The database's clock is two minutes short of a day ahead of the second application's, and of the test's.
async fn the_clock_is_the_databases(stage: &Stage) {
    let app = stage.start().await;
    let request = ask(DATED, &aged(0).to_string(), &gated("clock"));
    let running = app.send_in_background(&request);
    app.reached("clock", 1).await;
    stage.database.set_clock_forward(24 * 60 - 2).await;
    let other = stage.start().await;
    // It was let in when it was young.
    assert_in_flight(&other.send(&request).await);
    app.open_gate("clock").await;
    let first = running.await.unwrap();
    assert_run(&first);
    // The record was made later than the key, and outlives it.
    assert_replay(&first, &other.send(&request).await);
    let late = ask(DATED, &aged(0).to_string(), &marking("late"));
    assert_expired(&other.send(&late).await);
    assert_run(&app.send(&late).await);
    stage.database.set_clock_forward(-3 * 24 * 60).await;
    let past = stage.start().await;
    let early = ask(DATED, &aged(0).to_string(), &marking("early"));
    assert_run(&past.send(&early).await);
    let old = ask(DATED, &aged(2 * DAY).to_string(), &marking("early"));
    assert_run(&past.send(&old).await);
}

async fn the_clock_takes_no_round_trip(stage: &Stage) {
    let (app, proxy) = stage.start_behind_proxy().await;
    proxy.hold(Duration::from_millis(60));
    let mut counts = Vec::new();
    for path in ["/account/script", DATED] {
        let run = async || {
            let request = ask(path, &aged(0).to_string(), &marking("counted"));
            assert_run(&app.send(&request).await);
        };
        run().await;
        counts.push(fewest(&proxy, async |_| run().await).await);
    }
    assert_eq!(counts[0], counts[1], "{:#?}", proxy.sent());
}
