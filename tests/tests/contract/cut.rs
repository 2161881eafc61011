//! The connection to the server dies at every statement, or what the server says does not come: what the client is told is
//! true, and its retry finds out.

use std::time::Duration;

use idem_tests::outbox::{OUTBOX, message, queueing};
use idem_tests::{App, Cut, Proxy, Request, Response, Stage, in_both_styles_on_servers};
use serde_json::{Value, json};

use crate::asking::{ask, assert_replay, assert_runs, gated, marking, nothing_open, settled};
use crate::words::{COMMIT, words};

in_both_styles_on_servers! {
    cut_at_every_statement,
    cut_at_every_statement_of_a_remembered_error,
    cut_at_every_statement_of_a_replay,
    cut_at_every_statement_of_an_operation_that_queues,
    cut_at_the_commit_is_an_unknown_outcome,
    cut_behind_the_commit_is_committed,
    idle_connections_that_died_are_not_noticed,
    a_statement_that_is_not_answered_in_time_leaves_no_answer_behind,
}

/// Longer than a handler of `/brief` may take.
const LONG: Duration = Duration::from_secs(3);

async fn cut_at_every_statement(stage: &Stage) {
    cut_everywhere(stage, 4, marking, async |label, _| {
        assert_eq!(stage.database.effects(label).await, 1, "{label}");
    })
    .await;
}

async fn cut_at_every_statement_of_a_remembered_error(stage: &Stage) {
    let refusing = |label: &str| json!({ "label": label, "status": 404, "body": "no" });
    cut_everywhere(stage, 4, refusing, async |label, retry| {
        assert_eq!(retry.text(), "no", "{label}");
        assert_eq!(stage.database.effects(label).await, 0, "{label}");
    })
    .await;
}

async fn cut_at_every_statement_of_an_operation_that_queues(stage: &Stage) {
    let queues = |label: &str| queueing(label, &[message("t", json!(label))]);
    cut_everywhere(stage, 5, queues, async |label, _| {
        let messages = format!("SELECT count(*) FROM idempotency_outbox WHERE \"key\" = '{label}'");
        let both = (
            stage.database.effects(label).await,
            stage.database.number(&messages).await,
        );
        assert_eq!(both, (1, 1), "{label}");
    })
    .await;
}

/// In front of and behind each statement of a first attempt that runs this script; then what a retry gets and leaves.
async fn cut_everywhere(
    stage: &Stage,
    at_least: usize,
    script: impl Fn(&str) -> Value,
    look: impl AsyncFn(&str, &Response),
) {
    let (app, proxy) = stage.start_behind_proxy().await;
    let run = |label: &str| ask(OUTBOX, label, &script(label));
    let original = app.send(&run("warm")).await;
    proxy.clear();
    assert_eq!(app.send(&run("warm2")).await.status, original.status);
    let cuts = cuts(&proxy);
    let (all, mut met) = (cuts.len(), 0);
    assert!(all >= 2 * at_least, "{cuts:?}");
    for (label, cut) in cuts {
        let request = run(&label);
        let retry = through(&app, &proxy, &cut, &request, original.status).await;
        met += usize::from(!proxy.is_cut_pending());
        assert_eq!(retry.status, original.status, "{cut:?}: {}", retry.text());
        look(&label, &retry).await;
        assert_eq!(app.send(&request).await.comparable(), retry.comparable());
    }
    assert_most(met, all);
}

async fn cut_at_every_statement_of_a_replay(stage: &Stage) {
    let (app, proxy) = stage.start_behind_proxy().await;
    let request = ask("/account/script", "k", &marking("replayed"));
    let first = app.send(&request).await;
    assert_replay(&first, &app.send(&request).await);
    proxy.clear();
    assert_replay(&first, &app.send(&request).await);
    for (_, cut) in cuts(&proxy) {
        let retry = through(&app, &proxy, &cut, &request, first.status).await;
        assert!(!proxy.is_cut_pending(), "{cut:?} did not come");
        assert_replay(&first, &retry);
    }
    assert_eq!(stage.database.effects("replayed").await, 1);
}

/// In front of and behind each statement that was sent, each with a label of its own.
pub(crate) fn cuts(proxy: &Proxy) -> Vec<(String, Cut)> {
    let mut texts: Vec<String> = Vec::new();
    for sent in proxy.sent() {
        // The values differ from request to request; the first words do not.
        let text = sent.sql.chars().take(40).collect();
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    let numbered = texts.into_iter().enumerate();
    numbered
        .flat_map(|(number, text)| {
            [
                (format!("before{number}"), Cut::Before(text.clone())),
                (format!("after{number}"), Cut::After(text)),
            ]
        })
        .collect()
}

/// A heartbeat's statement is one that need not come, and so is one that wakes relays.
#[track_caller]
pub(crate) fn assert_most(met: usize, all: usize) {
    assert!(met + 2 >= all, "{met} of {all} cuts were met");
}

/// What a retry is told.
async fn through(app: &App, proxy: &Proxy, cut: &Cut, request: &Request, status: u16) -> Response {
    proxy.cut(cut.clone());
    let answer = app.send(request).await;
    // 409: the server has not noticed yet that the attempt on the cut connection is over.
    let is_honest = answer.status == status || matches!(answer.status, 409 | 500 | 503);
    assert!(is_honest, "{cut:?}: {answer:?}");
    settled(app, request).await
}

async fn cut_at_the_commit_is_an_unknown_outcome(stage: &Stage) {
    let (app, proxy) = stage.start_behind_proxy().await;
    assert_unknown(&app, &proxy, Cut::After(COMMIT.into()), "committed", true).await;
    assert_unknown(&app, &proxy, Cut::Before(COMMIT.into()), "lost", false).await;
    for label in ["committed", "lost"] {
        assert_eq!(stage.database.effects(label).await, 1);
    }
}

/// The proof of it is what does not come.
async fn cut_behind_the_commit_is_committed(stage: &Stage) {
    let Some(behind) = words(stage.backend()).behind else {
        return;
    };
    let (app, proxy) = stage.start_behind_proxy().await;
    assert_unknown(&app, &proxy, Cut::Before(behind.into()), "before", true).await;
    assert_unknown(&app, &proxy, Cut::After(behind.into()), "after", true).await;
    for label in ["before", "after"] {
        assert_eq!(stage.database.effects(label).await, 1);
    }
}

async fn assert_unknown(app: &App, proxy: &Proxy, cut: Cut, label: &str, is_committed: bool) {
    proxy.cut(cut);
    let request = ask("/account/script", label, &marking(label));
    let unknown = app.send(&request).await;
    unknown.assert_problem(503, "idempotency-store-unavailable", true);
    assert!(unknown.header("Retry-After").is_some());
    let retry = settled(app, &request).await;
    assert_eq!((retry.status, retry.is_replay()), (201, is_committed));
}

/// After a restart of the server a pool is full of connections that are dead.
async fn idle_connections_that_died_are_not_noticed(stage: &Stage) {
    let proxy = Proxy::to(&stage.database).await;
    let app = stage.app().pool(3).database_url(proxy.url()).start().await;
    let running: Vec<_> = (0..3)
        .map(|index| {
            app.send_in_background(&ask(
                "/account/script",
                &format!("warm{index}"),
                &gated("warm"),
            ))
        })
        .collect();
    app.reached("warm", 3).await;
    app.open_gate("warm").await;
    for answer in running {
        assert_eq!(answer.await.unwrap().status, 201);
    }
    proxy.take_down().await;
    proxy.bring_up();
    assert_runs(&app, "k", "after").await;
    assert_eq!(stage.database.effects("after").await, 1);
}

/// The handler is dropped between a statement and what the server says to it. Who asks next on that connection must not
/// take that for its own answer.
async fn a_statement_that_is_not_answered_in_time_leaves_no_answer_behind(stage: &Stage) {
    let (app, proxy) = stage.start_behind_proxy().await;
    assert_runs(&app, "warm", "warm").await;
    let script = json!({ "label": "late", "gate": "late", "sleep_at": "before", "status": 201 });
    let request = ask("/brief/script", "k", &script);
    let late = app.send_in_background(&request);
    app.reached("late", 1).await;
    proxy.hold(LONG);
    app.open_gate("late").await;
    let late = late.await.unwrap();
    late.assert_problem(504, "handler-failed", true);
    proxy.hold(Duration::ZERO);
    assert_runs(&app, "next", "next").await;
    nothing_open(stage).await;
    assert_eq!(stage.database.effects("late").await, 0);
    let retry = settled(&app, &request).await;
    assert_eq!((retry.status, retry.is_replay()), (201, false));
    assert_eq!(stage.database.effects("late").await, 1);
}
