//! `idem prune` deletes what has expired, and nothing else.

use std::process::{Command, Stdio};

use crate::common::place::{Place, on_each};
use crate::common::{Said, app};

on_each! {
    what_has_expired_goes,
    who_interrupts_it_learns_what_was_done,
    nothing_goes_without_a_word,
    a_person_is_asked_and_sees_how_far_it_is,
}

async fn what_has_expired_goes(place: &Place) {
    for index in 0..5 {
        app::order(place, &format!("k{index}")).await;
    }
    place.database.expire_all().await;
    app::order(place, "fresh").await;
    app::unresolved(place, "pending").await;
    let args = ["prune", "--yes", "--json", "--batch", "2", "--pause", "1ms"];
    let said = place.idem(&args).done();
    assert_eq!(said.json(), serde_json::json!({ "deleted": 5 }));
    let line = said.audit();
    assert_eq!(
        (&line["command"], &line["rows"]),
        (&"prune".into(), &5.into())
    );
    assert_eq!(place.database.records().await, 2);
    assert!(
        place
            .idem(&["prune", "--yes"])
            .done()
            .out
            .contains("0 expired records deleted")
    );
}

async fn who_interrupts_it_learns_what_was_done(place: &Place) {
    const KEYS: i64 = 12;
    for index in 0..KEYS {
        app::order(place, &format!("k{index}")).await;
    }
    place.database.expire_all().await;
    let mut pruning = place.command(&["prune", "--yes", "--batch", "1", "--pause", "300ms"]);
    pruning.stdout(Stdio::piped()).stderr(Stdio::piped());
    let pruning = pruning.spawn().unwrap();
    idem_tests::until("the first one is gone", async || {
        (place.database.records().await < KEYS).then_some(())
    })
    .await;
    let pid = pruning.id().to_string();
    let mut kill = Command::new("kill");
    assert!(kill.args(["-INT", &pid]).status().unwrap().success());
    let said = Said::of(pruning.wait_with_output().unwrap()).refused("interrupted");
    let left = place.database.records().await;
    assert!(left > 0, "it went on");
    assert_eq!(said.audit()["rows"], KEYS - left);
    assert_eq!(said.audit()["outcome"], "ended early");
}

async fn nothing_goes_without_a_word(place: &Place) {
    app::order(place, "k").await;
    place.database.expire_all().await;
    place.idem(&["prune"]).refused("say --yes");
    assert_eq!(place.database.records().await, 1);
}

async fn a_person_is_asked_and_sees_how_far_it_is(place: &Place) {
    app::order(place, "k").await;
    place.database.expire_all().await;
    assert_eq!(place.typed(&["prune"], "").code, 1);
    assert_eq!(place.database.records().await, 1);
    let done = place.typed(&["prune"], "y");
    assert_eq!(done.code, 0, "{}", done.out);
    assert!(
        done.out.contains("Delete 1 expired records?"),
        "{}",
        done.out
    );
    assert!(done.out.contains("/1 records"), "no bar: {}", done.out);
    assert_eq!(place.database.records().await, 0);
}
