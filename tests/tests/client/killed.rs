//! A process dies: that of the server at every point, and that of the client.

use std::os::unix::process::ExitStatusExt;

use idem_client::PendingOperation;
use idem_client::reqwest::header::{AUTHORIZATION, HeaderValue};
use idem_tests::{Stage, Switch, in_both_styles};

use crate::{ask, assert_done, client, gated, marking};

const SIGKILL: i32 = 9;
const FAR_TOO_MANY: u32 = 100;

in_both_styles! {
    the_server_is_killed_at_every_boundary,
    the_client_dies_and_another_one_goes_on,
}

async fn the_server_is_killed_at_every_boundary(stage: &Stage) {
    let (mut in_front, mut behind) = (0, 0);
    for at in 1..FAR_TOO_MANY {
        let victim = stage.start().await;
        let switch = Switch::to(victim.address()).await;
        victim.arm(at).await;
        let label = format!("kill{at}");
        let request = ask(
            &client(),
            switch.address(),
            "/account/script",
            &marking(&label),
        );
        let mut call = tokio::spawn(request.send());
        let status = tokio::select! {
            status = victim.ended() => status,
            outcome = &mut call => {
                // It came through before it came to that boundary.
                let outcome = outcome.unwrap().unwrap();
                assert_done(&outcome);
                assert_eq!((outcome.attempts(), outcome.replayed()), (1, false));
                assert!(in_front > 3 && behind > 0, "{in_front} in front of the commit, {behind} behind it");
                return;
            }
        };
        assert_eq!(status.signal(), Some(SIGKILL));
        let was_committed = stage.database.effects(&label).await == 1;
        let restarted = stage.start().await;
        switch.lead_to(restarted.address()).await;
        let outcome = call.await.unwrap().unwrap();
        assert_done(&outcome);
        assert!(outcome.attempts() > 1);
        assert_eq!(outcome.replayed(), was_committed, "boundary {at}");
        assert_eq!(stage.database.effects(&label).await, 1, "boundary {at}");
        match was_committed {
            true => behind += 1,
            false => in_front += 1,
        }
    }
    panic!("never got through");
}

async fn the_client_dies_and_another_one_goes_on(stage: &Stage) {
    let app = stage.start().await;
    let saved = {
        let client = client();
        let request = ask(&client, app.address(), "/account/script", &gated("orphan"));
        let mut operation = request.prepare().unwrap();
        let saved = serde_json::to_string(&operation).unwrap();
        tokio::select! {
            outcome = client.run(&mut operation) => panic!("{outcome:?}"),
            () = app.reached("orphan", 1) => {}
        }
        saved
    };
    app.open_gate("orphan").await;
    let mut operation: PendingOperation = serde_json::from_str(&saved).unwrap();
    operation.secret_header(AUTHORIZATION, HeaderValue::from_static("Bearer acme:two"));
    let outcome = client().run(&mut operation).await.unwrap();
    assert_done(&outcome);
    assert!(outcome.replayed());
    assert_eq!(app.effects("orphan").await.entered, 1);
    assert_eq!(stage.database.effects("orphan").await, 1);
}
