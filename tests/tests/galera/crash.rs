//! An application dies at one node, and its client asks another one.

use std::os::unix::process::ExitStatusExt;

use serde_json::json;

use crate::asking::{ONCE, ask, assert_once, marking, settled, stage, with};

const SIGKILL: i32 = 9;
const FAR_TOO_MANY: u32 = 100;

/// At every event that diesel reports of a request; the retry does not wait for anything.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "`cargo xtask galera` provides the nodes"]
async fn killed_at_every_boundary_and_asked_again_elsewhere() {
    let (stage, apps) = stage().await;
    for at in 1..FAR_TOO_MANY {
        let label = format!("kill{at}");
        let request = ask(
            ONCE,
            &label,
            &with(&marking(&label), &json!({ "effects": 1 })),
        );
        let victim = stage.start_at(0).await;
        victim.arm(at).await;
        let answer = victim.try_send(&request).await;
        if answer.is_ok() {
            assert!(at > 8, "only {at} boundaries");
            stage.discard().await;
            return;
        }
        assert_eq!(victim.ended().await.signal(), Some(SIGKILL));
        let retry = settled(&apps[1], &request).await;
        assert_eq!(retry.status, 201, "{retry:?}");
        assert_once(&stage, &apps, &request, &label, &retry).await;
    }
    panic!("never got through");
}
