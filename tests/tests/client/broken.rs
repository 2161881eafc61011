//! A connection breaks: between client and server while the handler runs, and between server and database around the commit.

use idem_client::{Outcome, Why};
use idem_tests::{Cut, Proxy, Stage, Switch, in_both_styles_on_servers, on_all};

use crate::{ask, assert_done, client, code, gated, giving_up_after, marking};

on_all! { the_connection_breaks_while_the_handler_runs }

in_both_styles_on_servers! {
    the_answer_of_the_commit_is_lost,
    the_commit_is_lost,
    the_database_is_away_for_a_while,
}

async fn the_connection_breaks_while_the_handler_runs(stage: &Stage) {
    let app = stage.start().await;
    let switch = Switch::to(app.address()).await;
    let client = giving_up_after(2);
    let request = ask(&client, switch.address(), "/account/script", &gated("cut"));
    let mut operation = request.prepare().unwrap();
    let (outcome, ()) = tokio::join!(client.run(&mut operation), async {
        app.reached("cut", 1).await;
        switch.lead_to(app.address()).await;
    });
    // The second attempt has found the first one running.
    let outcome = outcome.unwrap();
    assert_eq!(code(&outcome), "idempotency-in-flight");
    let Outcome::Unknown(unknown) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!((unknown.why(), unknown.may_be_done()), (Why::Budget, true));
    assert_eq!(unknown.attempts(), 2);

    app.open_gate("cut").await;
    let outcome = crate::client().run(&mut operation).await.unwrap();
    assert_done(&outcome);
    assert!(outcome.replayed());
    assert_eq!(app.effects("cut").await.entered, 1);
    assert_eq!(stage.database.effects("cut").await, 1);
}

async fn the_answer_of_the_commit_is_lost(stage: &Stage) {
    around_the_commit(stage, Cut::After("COMMIT".into()), true).await;
}

async fn the_commit_is_lost(stage: &Stage) {
    around_the_commit(stage, Cut::Before("COMMIT".into()), false).await;
}

/// The server says 503, and does not know either.
async fn around_the_commit(stage: &Stage, cut: Cut, is_committed: bool) {
    let (app, proxy) = stage.start_behind_proxy().await;
    proxy.cut(cut);
    let request = ask(
        &client(),
        app.address(),
        "/account/script",
        &marking("commit"),
    );
    let outcome = request.send().await.unwrap();
    assert_done(&outcome);
    assert!(outcome.attempts() > 1 && !proxy.is_cut_pending());
    assert_eq!(outcome.replayed(), is_committed);
    assert_eq!(stage.database.effects("commit").await, 1);
}

async fn the_database_is_away_for_a_while(stage: &Stage) {
    let proxy = Proxy::to(&stage.database).await;
    let launch = stage.app().pool(1).database_url(proxy.url());
    let launch = launch.argument("--pool-timeout-ms").argument("200");
    let app = launch.start().await;
    proxy.take_down().await;
    let client = giving_up_after(1);
    let request = ask(&client, app.address(), "/account/script", &marking("away"));
    let mut operation = request.prepare().unwrap();
    let outcome = client.run(&mut operation).await.unwrap();
    assert_eq!(code(&outcome), "idempotency-store-unavailable");
    let Outcome::Unknown(unknown) = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!((unknown.why(), unknown.may_be_done()), (Why::Budget, true));
    assert!(unknown.retry_after().is_some());

    proxy.bring_up();
    let outcome = crate::client().run(&mut operation).await.unwrap();
    assert_done(&outcome);
    assert!(!outcome.replayed());
    assert_eq!(stage.database.effects("away").await, 1);
}
