//! A change and the line behind it: neither without the other.

use std::fs;
use std::process::{Command, Stdio};

use crate::common::Said;
use crate::common::app::{self, PARCEL, ask};
use crate::common::holder::Holder;
use crate::common::place::{Place, on_each};
use idem_tests::until;
use serde_json::Value;

on_each! {
    what_is_done_and_cannot_be_written_down_is_told_as_done,
    what_is_not_done_and_cannot_be_written_down_is_told_as_not_done,
    a_signal_parts_no_change_from_its_line,
}

const SCOPE: &str = "account:alice";

/// It can be opened, and nothing can be written into it.
const FULL: &str = "/dev/full";

async fn what_is_done_and_cannot_be_written_down_is_told_as_done(place: &Place) {
    app::unresolved(place, "k").await;
    app::order(place, "old").await;
    place.database.expire_all().await;
    let id = app::dead_message(place, "m").await;
    let other = app::dead_message(place, "n").await;
    let settle = ["--status", "201", "--retain", "1h"];
    let cases = [
        (&["prune"][..], &[][..], "deleted"),
        (&["outbox", "drop", &id], &[], "dropped"),
        (&["outbox", "retry", &other], &[], "queued"),
        (&["keys", "settle", SCOPE, "k"], &settle, "settled"),
    ];
    for (command, options, outcome) in cases {
        let how = ["--yes", "--json", "--audit", FULL];
        let said = place.idem(&[command, options, &how].concat());
        assert_eq!(said.code, 3, "{command:?}: {}{}", said.out, said.err);
        let told = said.json();
        let is_told = told["outcome"] == outcome || told[outcome] == 1;
        assert!(is_told, "{command:?}: {told}");
        assert_eq!(said.audit()["outcome"], outcome);
        let complaint = said.err.lines().last().unwrap();
        let begun = "idem: done, but not written down in /dev/full: ";
        assert!(complaint.starts_with(begun), "{complaint}");
        let (_, line) = complaint.split_once(": {").unwrap();
        let line: Value = serde_json::from_str(&format!("{{{line}")).unwrap();
        assert_eq!(line, said.audit());
    }
    assert!(ask(place, "alice", "/parcels", "k", PARCEL).await.is_replay);
}

async fn what_is_not_done_and_cannot_be_written_down_is_told_as_not_done(place: &Place) {
    let id = app::dead_message(place, "m").await;
    let drop = ["outbox", "drop", &id, "--yes", "--audit", FULL];
    assert_eq!(place.idem(&drop).code, 3);
    let said = place.idem(&drop).refused("there is no dead message");
    assert!(
        said.err.contains("idem: not written down in /dev/full"),
        "{}",
        said.err
    );
}

async fn a_signal_parts_no_change_from_its_line(place: &Place) {
    for signal in ["-INT", "-TERM", "-HUP"] {
        app::unresolved(place, signal).await;
        let rows = "UPDATE idempotency_keys SET endpoint = endpoint";
        let holder = Holder::of(place, rows).await;
        let file = place.path().join(signal);
        let audit = format!("./{signal}");
        let args = [
            "keys", "release", "--yes", "--audit", &audit, "--", SCOPE, signal,
        ];
        let mut command = Command::new(env!("CARGO_BIN_EXE_idem"));
        command
            .args(&args[..2])
            .args(["--database-url", place.database.url()]);
        command.args(&args[2..]).current_dir(place.path());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let changing = command.spawn().unwrap();
        until("it is about to change the row", async || {
            file.exists().then_some(())
        })
        .await;
        let mut kill = Command::new("kill");
        let pid = changing.id().to_string();
        assert!(kill.args([signal, &pid]).status().unwrap().success());
        holder.end().await;
        Said::of(changing.wait_with_output().unwrap()).done();
        let line = fs::read_to_string(&file).unwrap();
        let line: Value = serde_json::from_str(line.trim()).unwrap();
        assert_eq!(line["outcome"], "released", "{signal}");
        assert_eq!(
            ask(place, "alice", "/parcels", signal, PARCEL).await.status,
            201
        );
    }
}
