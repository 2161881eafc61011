//! `idem keys`: what an application has left is listed, shown, released and settled, on every backend.

use std::fs;

use crate::common::app::{self, PARCEL, ask};
use crate::common::place::{Place, on_each};

on_each! {
    what_is_recorded_is_listed_and_shown,
    pages_follow_one_another,
    a_body_is_shown_where_it_is_asked_for,
    what_is_sealed_is_said_to_be,
    what_is_released_is_run_again,
    what_is_settled_is_the_answer,
    only_what_is_unresolved_gets_a_verdict,
    nothing_is_changed_without_a_word,
    a_person_is_asked,
    a_person_sees_the_answer_that_is_to_be_recorded,
    a_list_tells_nothing_of_steps_that_it_does_not_show,
    whoever_is_slower_changes_nothing,
    what_cannot_be_written_down_is_not_done,
}

const SCOPE: &str = "account:alice";

async fn what_is_recorded_is_listed_and_shown(place: &Place) {
    app::order(place, "k1").await;
    app::unresolved(place, "k2").await;
    ask(place, "bob", "/orders", "k1", "tea").await;

    let all = place.idem(&["keys", "list", "--json"]).done().json();
    assert_eq!(all["operations"].as_array().unwrap().len(), 3);
    assert!(all["next"].is_null());
    let one = |options: &[&str]| {
        let listed = place
            .idem(&[&["keys", "list", "--json"], options].concat())
            .done()
            .json();
        let listed = listed["operations"].as_array().unwrap();
        assert_eq!(listed.len(), 1, "{options:?}");
        listed[0].clone()
    };
    let order = one(&["--scope", SCOPE, "--state", "recorded"]);
    assert_eq!(order["scope"], SCOPE);
    assert_eq!(order["key"], "k1");
    assert_eq!(order["endpoint"], "POST /orders");
    assert_eq!(order["status"], 201);
    assert_eq!(order["body_bytes"], 12);
    assert!(
        (86_399_000..=86_401_000).contains(&order["retain_ms"].as_u64().unwrap()),
        "{order}"
    );
    assert!(order.get("response").is_none());
    let parcel = one(&["--endpoint", "POST /parcels"]);
    assert_eq!(parcel["state"], "unresolved");
    assert_eq!(parcel["rule"], "hold");
    assert_eq!(parcel["steps"][0], "weigh");
    assert_eq!(one(&["--state", "unresolved"])["id"], parcel["id"]);
    assert_eq!(one(&["--scope", "account:bob"])["key"], "k1");

    let table = place.idem(&["keys", "list"]).done().out;
    for cell in [
        "STATE",
        "recorded",
        "unresolved",
        "POST /orders",
        SCOPE,
        "k2",
        "3 operations",
    ] {
        assert!(table.contains(cell), "{table}");
    }
    let shown = place.idem(&["keys", "show", SCOPE, "k2"]).done().out;
    for cell in ["unresolved", "weigh", "POST /parcels", "lease ended"] {
        assert!(shown.contains(cell), "{shown}");
    }
    place
        .idem(&["keys", "show", SCOPE, "k3"])
        .refused("there is no operation");
    place
        .idem(&["keys", "show", "account:bob", "k2"])
        .refused("there is no operation");

    place.database.expire_all().await;
    assert_eq!(
        one(&["--state", "expired", "--scope", SCOPE])["expires_in_ms"],
        0
    );
    place
        .database
        .execute("UPDATE idempotency_keys SET owner = NULL WHERE status IS NULL")
        .await;
    assert_eq!(one(&["--state", "stuck"])["key"], "k2");
}

async fn pages_follow_one_another(place: &Place) {
    let mut expected = Vec::new();
    for index in 0..5 {
        let key = format!("k{index}");
        app::order(place, &key).await;
        expected.push(key);
    }
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let mut args = vec!["keys", "list", "--json", "--limit", "2"];
        args.extend(after.iter().flat_map(|after: &String| ["--after", after]));
        let page = place.idem(&args).done().json();
        let keys = page["operations"].as_array().unwrap().iter();
        found.extend(keys.map(|one| one["key"].as_str().unwrap().to_owned()));
        match page["next"].as_str() {
            Some(next) => after = Some(next.to_owned()),
            None => break,
        }
    }
    found.sort();
    assert_eq!(found, expected);
}

async fn a_body_is_shown_where_it_is_asked_for(place: &Place) {
    app::order(place, "k1").await;
    for args in [
        &["keys", "show", SCOPE, "k1"][..],
        &["keys", "show", SCOPE, "k1", "--json"],
        &["keys", "list"],
    ] {
        let said = place.idem(args).done();
        assert!(
            !said.out.contains("tea") && !said.out.contains("x-order"),
            "{}",
            said.out
        );
    }
    let shown = place
        .idem(&["keys", "show", SCOPE, "k1", "--body"])
        .done()
        .out;
    assert!(
        shown.contains("ordered: tea") && shown.contains("x-order: 7"),
        "{shown}"
    );
    let shown = place
        .idem(&["keys", "show", SCOPE, "k1", "--body", "--json"])
        .done()
        .json();
    assert_eq!(shown["response"]["body"], "ordered: tea");
    assert_eq!(shown["response"]["status"], 201);
    let headers = shown["response"]["headers"].as_array().unwrap();
    assert!(
        headers.contains(&serde_json::json!(["x-order", "7"])),
        "{shown}"
    );
}

/// The operation is shown all the same.
async fn what_is_sealed_is_said_to_be(place: &Place) {
    app::order(place, "k1").await;
    let seal = "UPDATE idempotency_keys SET headers = '@sealed 1 7\n'";
    place.database.execute(seal).await;
    assert!(
        place
            .idem(&["keys", "show", SCOPE, "k1"])
            .done()
            .out
            .contains("201")
    );
    let show = ["keys", "show", SCOPE, "k1", "--body"];
    let said = place.idem(&show);
    assert_eq!(said.code, 1, "{}", said.err);
    assert!(said.out.contains("POST /orders"), "{}", said.out);
    assert!(said.err.contains("sealed under key 7"), "{}", said.err);
    let said = place.idem(&[&show[..], &["--json"]].concat());
    assert_eq!(said.code, 1, "{}", said.err);
    let shown = said.json();
    assert!(shown.get("response").is_none());
    let why = shown["unreadable"].as_str().unwrap();
    assert!(why.contains("sealed under key 7"), "{why}");
}

async fn what_is_released_is_run_again(place: &Place) {
    app::unresolved(place, "k").await;
    assert_eq!(
        ask(place, "alice", "/parcels", "k", PARCEL).await.status,
        409
    );
    let file = place.path().join("audit.log");
    let audit = file.to_str().unwrap();
    let id = place
        .idem(&["keys", "show", SCOPE, "k", "--json"])
        .done()
        .json()["id"]
        .clone();

    let args = [
        "keys", "release", SCOPE, "k", "--yes", "--json", "--audit", audit,
    ];
    let said = place.idem(&args).done();
    assert_eq!(
        said.json(),
        serde_json::json!({ "id": id, "outcome": "released" })
    );
    let line = said.audit();
    assert_eq!(line["command"], "keys release");
    assert_eq!(line["outcome"], "released");
    assert_eq!(line["row"], id);
    assert!(
        line["user"].is_string() && line["at"].as_str().unwrap().ends_with('Z'),
        "{line}"
    );
    let written: serde_json::Value =
        serde_json::from_str(fs::read_to_string(&file).unwrap().trim()).unwrap();
    assert_eq!(written, line);

    let again = ask(place, "alice", "/parcels", "k", PARCEL).await;
    assert_eq!((again.status, again.is_replay), (201, false));
}

async fn what_is_settled_is_the_answer(place: &Place) {
    app::unresolved(place, "k").await;
    fs::write(place.path().join("body"), "booked by telephone").unwrap();
    let args = [
        "keys",
        "settle",
        SCOPE,
        "k",
        "--status",
        "201",
        "--header",
        "x-courier: ours",
        "--body-file",
        "body",
        "--retain",
        "2h",
        "--yes",
    ];
    let said = place.idem(&args).done();
    assert_eq!(said.audit()["command"], "keys settle");
    assert!(
        !said.err.contains("telephone") && !said.err.contains("alice"),
        "{}",
        said.err
    );
    let replay = ask(place, "alice", "/parcels", "k", PARCEL).await;
    assert_eq!((replay.status, replay.is_replay), (201, true));
    assert_eq!(replay.body, "booked by telephone");
    assert_eq!(replay.courier.as_deref(), Some("ours"));
    let shown = place
        .idem(&["keys", "show", SCOPE, "k", "--json"])
        .done()
        .json();
    assert!(
        shown["expires_in_ms"].as_u64().unwrap() <= 7_200_000,
        "{shown}"
    );
}

async fn only_what_is_unresolved_gets_a_verdict(place: &Place) {
    app::order(place, "k").await;
    place
        .idem(&["keys", "release", SCOPE, "k", "--yes"])
        .refused("it is recorded");
    let settle = [
        "keys", "settle", SCOPE, "k", "--status", "200", "--retain", "1h", "--yes",
    ];
    place.idem(&settle).refused("it is recorded");
    for (retain, because) in [("0s", "forgotten at once"), ("1M", "say days")] {
        let mut settle = settle;
        settle[7] = retain;
        let said = place.idem(&settle);
        assert_eq!(said.code, 2, "{}", said.err);
        assert!(said.err.contains(because), "{}", said.err);
    }
    place
        .idem(&["keys", "release", SCOPE, "other", "--yes"])
        .refused("there is no operation");
    let replay = ask(place, "alice", "/orders", "k", "tea").await;
    assert_eq!((replay.status, replay.is_replay), (201, true));
}

async fn nothing_is_changed_without_a_word(place: &Place) {
    app::unresolved(place, "k").await;
    let said = place
        .idem(&["keys", "release", SCOPE, "k"])
        .refused("say --yes");
    assert!(!said.err.contains("audit"), "{}", said.err);
    assert_eq!(
        ask(place, "alice", "/parcels", "k", PARCEL).await.status,
        409
    );
}

async fn a_person_is_asked(place: &Place) {
    app::unresolved(place, "k").await;
    let refused = place.typed(&["keys", "release", SCOPE, "k"], "n");
    assert_eq!(refused.code, 1, "{}", refused.out);
    assert!(
        refused.out.contains("weigh") && refused.out.contains("[y/N]"),
        "{}",
        refused.out
    );
    assert_eq!(
        ask(place, "alice", "/parcels", "k", PARCEL).await.status,
        409
    );
    let done = place.typed(&["keys", "release", SCOPE, "k"], "y");
    assert_eq!(done.code, 0, "{}", done.out);
    assert_eq!(
        ask(place, "alice", "/parcels", "k", PARCEL).await.status,
        201
    );
}

async fn a_person_sees_the_answer_that_is_to_be_recorded(place: &Place) {
    app::unresolved(place, "k").await;
    fs::write(place.path().join("body"), "booked").unwrap();
    let settle = [
        "keys", "settle", SCOPE, "k", "--status", "202", "--retain", "36h",
    ];
    let with = ["--header", "x-courier: ours", "--body-file", "body"];
    let refused = place.typed(&[&settle[..], &with].concat(), "n");
    assert_eq!(refused.code, 1, "{}", refused.out);
    let shown = "Status 202, 1 headers, a body of 6 bytes. Is this its answer from now on, for 1day 12h? [y/N]";
    assert!(refused.out.contains(shown), "{}", refused.out);
    assert!(!refused.out.contains("ours"), "{}", refused.out);
}

async fn a_list_tells_nothing_of_steps_that_it_does_not_show(place: &Place) {
    app::order(place, "k1").await;
    app::unresolved(place, "k2").await;
    place.poison_what_is_long().await;
    let table = place.idem(&["keys", "list"]).done().out;
    assert!(
        table.contains("unresolved") && table.contains("2 operations"),
        "{table}"
    );
}

async fn whoever_is_slower_changes_nothing(place: &Place) {
    app::unresolved(place, "k").await;
    let slower = place.typed_behind(&["keys", "release", SCOPE, "k"], "y", || {
        let settle = ["keys", "settle", SCOPE, "k", "--status", "202"];
        let how = ["--retain", "1h", "--yes"];
        place.idem(&[&settle[..], &how].concat()).done();
    });
    assert_eq!(slower.code, 1, "{}", slower.out);
    assert!(
        slower.out.contains("settled it, meanwhile"),
        "{}",
        slower.out
    );
    assert!(
        slower.out.contains(r#""outcome":"not done""#),
        "{}",
        slower.out
    );
    let replay = ask(place, "alice", "/parcels", "k", PARCEL).await;
    assert_eq!((replay.status, replay.is_replay), (202, true));
}

async fn what_cannot_be_written_down_is_not_done(place: &Place) {
    app::unresolved(place, "k").await;
    let args = [
        "keys",
        "release",
        SCOPE,
        "k",
        "--yes",
        "--audit",
        "no/such/directory",
    ];
    place.idem(&args).refused("no/such/directory");
    assert_eq!(
        ask(place, "alice", "/parcels", "k", PARCEL).await.status,
        409
    );
}
