//! `idem prune` deletes what has expired, and nothing else.

use crate::common::app;
use crate::common::place::{Place, on_each};

on_each! {
    what_has_expired_goes,
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
