//! Handlers that are another in each run: what one leaves behind, and how the next goes on from there.

use std::future::poll_fn;
use std::task::Poll;
use std::thread;
use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use idem_runtime::Steps;

use super::plays::{Failure, mark, transact};
use super::{Kind, Told};

/// What [`secret`] remembers.
pub(crate) const SECRET: &str = "4111 1111";

type Answer = Result<HttpResponse, Failure>;

fn answer(status: u16) -> Answer {
    let status = StatusCode::from_u16(status).unwrap();
    Ok(HttpResponse::build(status).finish())
}

/// Plays one of them for this key, and says each run of it.
pub(super) async fn play<C: Kind>(
    name: &str,
    key: &str,
    steps: &Steps<C>,
    told: &web::Data<Told>,
) -> Answer {
    let run = format!("{name} of {key}");
    told.say(&run);
    let run = told.times(&run);
    let played = match name {
        "released" => released(run, steps).await,
        "refused" => refused(run, steps).await,
        "early" => early(run, steps).await,
        "lived-with" => lived_with(run, steps).await,
        "result" => result(run, steps, told).await,
        "sum" => sum(steps).await,
        "call" => call(run, steps, told).await,
        "before" => before(run, steps).await,
        "changed" => changed(run, steps).await,
        "gated" => gated(run, steps, told, true).await,
        "gated-last" => gated(run, steps, told, false).await,
        "slow" => slow(steps).await,
        "impatient" => impatient(run, key, steps, told).await,
        "small" => small(key, steps).await,
        "secret" => secret(run, steps, told).await,
        _ => panic!("{name}"),
    };
    played.inspect_err(|error| told.say(format!("{error:?}")))
}

async fn first<C: Kind>(steps: &Steps<C>) -> Result<u32, Failure> {
    steps.call("first", async |_| Ok(1)).await
}

async fn small<C: Kind>(key: &str, steps: &Steps<C>) -> Answer {
    transact(steps, "order", key).await?;
    answer(201)
}

/// Fails behind a step whose result nobody should read, at first.
async fn secret<C: Kind>(run: u32, steps: &Steps<C>, told: &Told) -> Answer {
    let card = async |_| {
        told.say("the step was done");
        Ok::<_, Failure>(SECRET.to_owned())
    };
    let card: String = steps.call("card", card).await?;
    assert_eq!(card, SECRET);
    answer(if run == 1 { 502 } else { 201 })
}

/// Lets itself be run again, and then fails.
async fn released<C: Kind>(run: u32, steps: &Steps<C>) -> Answer {
    first(steps).await?;
    answer(if run == 1 { 429 } else { 502 })
}

/// Refuses what it has begun.
async fn refused<C: Kind>(run: u32, steps: &Steps<C>) -> Answer {
    first(steps).await?;
    answer(if run == 1 { 403 } else { 201 })
}

/// Fails behind its step, or before it has asked for it.
async fn early<C: Kind>(run: u32, steps: &Steps<C>) -> Answer {
    match run {
        2 => return answer(503),
        3 => return answer(429),
        _ => first(steps).await?,
    };
    answer(502)
}

/// Goes on from a step's own error.
async fn lived_with<C: Kind>(run: u32, steps: &Steps<C>) -> Answer {
    let score = async |_| match run {
        1 => Err(Failure::Own),
        _ => Ok(1),
    };
    let _score: u32 = steps.call("score", score).await.unwrap_or(0);
    first(steps).await?;
    answer(201)
}

/// The same as it should be: the failure is a result.
async fn result<C: Kind>(run: u32, steps: &Steps<C>, told: &Told) -> Answer {
    let score = async |_| {
        Ok::<_, Failure>(match run {
            1 => Err("away".to_owned()),
            _ => Ok(1),
        })
    };
    let score: Result<u32, String> = steps.call("score", score).await?;
    told.say(format!("score {score:?}"));
    first(steps).await?;
    answer(if run == 1 { 502 } else { 201 })
}

/// Two results, of which each is short enough.
async fn sum<C: Kind>(steps: &Steps<C>) -> Answer {
    for name in ["a", "b"] {
        let long = async |_| Ok::<_, Failure>("x".repeat(600));
        let _long: String = steps.call(name, long).await?;
    }
    answer(201)
}

/// A call that fails.
async fn call<C: Kind>(run: u32, steps: &Steps<C>, told: &Told) -> Answer {
    let charge = async |key| {
        told.say(format!("charge {key}"));
        match run {
            1 => Err(Failure::Own),
            _ => Ok(()),
        }
    };
    steps.call("charge", charge).await?;
    answer(201)
}

/// Fails before its steps.
async fn before<C: Kind>(run: u32, steps: &Steps<C>) -> Answer {
    if run == 1 {
        return answer(500);
    }
    first(steps).await?;
    answer(201)
}

/// Has other steps in its second run.
async fn changed<C: Kind>(run: u32, steps: &Steps<C>) -> Answer {
    let name = if run == 2 { "new" } else { "old" };
    steps.call(name, async |_| Ok::<_, Failure>(())).await?;
    answer(if run == 1 { 500 } else { 201 })
}

/// Waits in its first run behind a step, and before another one if there is one.
async fn gated<C: Kind>(run: u32, steps: &Steps<C>, told: &Told, goes_on: bool) -> Answer {
    first(steps).await?;
    if run == 1 {
        told.say("at the gate");
        told.after.notified().await;
    }
    if goes_on {
        transact(steps, "second", "second").await?;
    }
    answer(201)
}

/// A transaction that takes its time.
async fn slow<C: Kind>(steps: &Steps<C>) -> Answer {
    let work = async |connection: &mut C| {
        mark(connection, "slow").await;
        tokio::time::sleep(Duration::from_millis(1500)).await;
        Ok::<_, Failure>(())
    };
    steps.transaction("a", work).await?;
    answer(201)
}

/// Drops a step the n-th time that it has to wait, as a time-out of the handler's own does, and asks for it again. The
/// key says which time that is.
async fn impatient<C: Kind>(run: u32, key: &str, steps: &Steps<C>, told: &Told) -> Answer {
    if run == 1 {
        let mut waits: u32 = key.parse().unwrap();
        let mut step = Box::pin(transact(steps, "order", key));
        let done = poll_fn(|context| match step.as_mut().poll(context) {
            Poll::Ready(done) => Poll::Ready(Some(done)),
            Poll::Pending if waits == 1 => Poll::Ready(None),
            Poll::Pending => {
                waits -= 1;
                Poll::Pending
            }
        });
        if let Some(done) = done.await {
            done?;
            told.say("through");
            return answer(201);
        }
        // In this time the server does what it was sent, and nobody here takes note of it.
        thread::sleep(Duration::from_millis(50));
    }
    transact(steps, "order", key).await?;
    answer(201)
}
