//! Uploads that do not come to an end: a byte at a time, then gone.

use std::time::Duration;

use idem_tests::{App, Connection, Stage, in_both_styles};

use super::answered;
use crate::asking::{ask, assert_runs, marking};

in_both_styles! {
    slow_uploads_hold_nobody_up_and_leave_their_keys_unused,
    slow_uploads_do_not_use_up_the_operations,
}

const UPLOADS: usize = 20;
const PAUSE: Duration = Duration::from_millis(20);

/// A connection over which everything but the body has been sent.
async fn begun(app: &App, index: usize) -> Connection {
    let framing = if index.is_multiple_of(2) {
        "Content-Length: 1000"
    } else {
        "Transfer-Encoding: chunked"
    };
    let head = format!(
        "POST /account/script HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer slow:one\r\n\
         Idempotency-Key: slow-{index}\r\nContent-Type: application/json\r\n{framing}\r\n\r\n"
    );
    let mut connection = app.connect().await;
    connection.write(head.as_bytes()).await.expect("taken");
    connection
}

/// One more byte of the body.
async fn trickle(connection: &mut Connection, index: usize) {
    let piece: &[u8] = if index.is_multiple_of(2) {
        b" "
    } else {
        b"1\r\n \r\n"
    };
    connection.write(piece).await.expect("taken");
}

async fn slow_uploads_hold_nobody_up_and_leave_their_keys_unused(stage: &Stage) {
    let app = stage.start().await;
    let mut uploads = Vec::new();
    for index in 0..UPLOADS {
        uploads.push(begun(&app, index).await);
    }
    for turn in 0..20 {
        for (index, upload) in uploads.iter_mut().enumerate() {
            trickle(upload, index).await;
        }
        let request = ask(
            "/account/script",
            &format!("quick-{turn}"),
            &marking("quick"),
        );
        let answer = answered(&app, "beside slow uploads", &request).await;
        assert_eq!(answer.status, 201, "{}", answer.text());
        tokio::time::sleep(PAUSE).await;
    }
    for (index, upload) in uploads.into_iter().enumerate() {
        // Every other pair hangs up, the rest crash.
        if index % 4 < 2 {
            drop(upload);
        } else {
            upload.reset().expect("reset");
        }
    }
    for index in 0..UPLOADS {
        let request = idem_tests::Request::post("/account/script")
            .bearer("slow:one")
            .key(format!("slow-{index}"))
            .json(&marking("again"));
        let answer = app.send(&request).await;
        assert_eq!((answer.status, answer.is_replay()), (201, false));
    }
    assert_eq!(stage.database.effects("quick").await, 20);
    assert_eq!(stage.database.effects("again").await, 20);
}

/// Who has not yet sent its request holds no place among those that are worked on.
async fn slow_uploads_do_not_use_up_the_operations(stage: &Stage) {
    let app = stage
        .app()
        .argument("--max-operations")
        .argument("2")
        .start()
        .await;
    let mut uploads = Vec::new();
    for index in 0..UPLOADS {
        let mut upload = begun(&app, index).await;
        trickle(&mut upload, index).await;
        uploads.push(upload);
    }
    // Until the server has surely read what was sent.
    tokio::time::sleep(Duration::from_millis(300)).await;
    for turn in 0..5 {
        assert_runs(&app, &format!("quick-{turn}"), "quick").await;
    }
}
