//! What a handler may do with its steps: right, and wrong.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use actix_web::body::BoxBody;
use actix_web::http::StatusCode;
use actix_web::{HttpResponse, ResponseError, web};
use idem_runtime::{StepError, Steps};
use serde::{Deserialize, Serialize};

use super::{Kind, Told};

/// An application's own error around that of a step.
#[derive(Debug)]
pub(super) enum Failure {
    Step(StepError),
    Own,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}

impl From<StepError> for Failure {
    fn from(error: StepError) -> Self {
        Self::Step(error)
    }
}

impl ResponseError for Failure {
    fn status_code(&self) -> StatusCode {
        match self {
            Self::Step(error) => error.status_code(),
            Self::Own => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    fn error_response(&self) -> HttpResponse<BoxBody> {
        match self {
            Self::Step(error) => error.error_response(),
            Self::Own => HttpResponse::InternalServerError().body("own"),
        }
    }
}

/// JSON has no objects with such names.
type Unwritable = HashMap<(u8, u8), u8>;

fn unwritable() -> Unwritable {
    HashMap::from([((1, 2), 3)])
}

/// Plays one of them; the error is told.
pub(super) async fn play<C: Kind>(
    name: &str,
    steps: &Steps<C>,
    told: &web::Data<Told>,
) -> Result<(), Failure> {
    let played = match name {
        "repeated" => repeated(steps, told).await,
        "overlapping" => overlapping(steps).await,
        "unwritable-call" => steps
            .call("a", async |_| Ok::<_, Failure>(unwritable()))
            .await
            .map(drop),
        "unwritable-transaction" => unwritable_transaction(steps).await,
        "spoilt" => spoilt(steps, told).await,
        "deferred" => deferred(steps).await,
        "own" => own(steps).await,
        "types" => return types(steps, told).await,
        "dropped" => dropped(steps).await,
        "endless" => endless(steps, told).await,
        "late" => {
            late(steps.clone(), told.clone());
            Ok(())
        }
        _ => small(steps).await,
    };
    played.inspect_err(|error| told.say(format!("{error:?}")))
}

/// One of each kind, and one more.
async fn small<C: Kind>(steps: &Steps<C>) -> Result<(), Failure> {
    let key: String = steps
        .call("first", async |key| Ok::<_, Failure>(key))
        .await?;
    assert_eq!(key.len(), 64);
    transact(steps, "second", "small").await?;
    steps.call("third", async |_| Ok(())).await
}

pub(super) async fn transact<C: Kind>(
    steps: &Steps<C>,
    name: &str,
    label: &str,
) -> Result<(), Failure> {
    let work = async |connection: &mut C| {
        mark(connection, label).await;
        Ok(())
    };
    steps.transaction(name, work).await
}

pub(super) async fn mark<C: Kind>(connection: &mut C, label: &str) {
    let insert = format!("INSERT INTO marks VALUES ('{label}')");
    connection.batch_execute(&insert).await.unwrap();
}

async fn repeated<C: Kind>(steps: &Steps<C>, told: &Told) -> Result<(), Failure> {
    for _ in 0..2 {
        let work = async |_| {
            told.say("called");
            Ok::<_, Failure>(())
        };
        steps.call("a", work).await?;
    }
    Ok(())
}

async fn overlapping<C: Kind>(steps: &Steps<C>) -> Result<(), Failure> {
    let slow = async |_| {
        tokio::time::sleep(Duration::from_millis(50)).await;
        Ok::<_, Failure>(())
    };
    let (slow, beside) = futures_util::join!(
        steps.call("slow", slow),
        steps.call("beside", async |_| Ok::<_, Failure>(()))
    );
    slow.and(beside)
}

async fn unwritable_transaction<C: Kind>(steps: &Steps<C>) -> Result<(), Failure> {
    let work = async |connection: &mut C| {
        mark(connection, "unwritable").await;
        Ok::<_, Failure>(unwritable())
    };
    steps.transaction("a", work).await.map(drop)
}

/// The work does not look at what the database says.
async fn spoilt<C: Kind>(steps: &Steps<C>, told: &Told) -> Result<(), Failure> {
    let work = async |connection: &mut C| {
        mark(connection, "spoilt").await;
        if connection.batch_execute(C::SPOILING).await.is_err() {
            told.say("swallowed");
        }
        Ok(())
    };
    steps.transaction("a", work).await
}

/// What is wrong with the work is found out at its COMMIT.
async fn deferred<C: Kind>(steps: &Steps<C>) -> Result<(), Failure> {
    let work = async |connection: &mut C| {
        mark(connection, "deferred").await;
        let orphan = "INSERT INTO children VALUES (7)";
        connection.batch_execute(orphan).await.unwrap();
        Ok(())
    };
    steps.transaction("a", work).await
}

/// A step's own error, and the same step again in the same run.
async fn own<C: Kind>(steps: &Steps<C>) -> Result<(), Failure> {
    for fails in [true, false] {
        let called = steps.call("call", async |_| work(fails)).await;
        assert_eq!(called.is_err(), fails);
        let work = async |connection: &mut C| {
            mark(connection, "own").await;
            work(fails)
        };
        let worked = steps.transaction("transaction", work).await;
        assert_eq!(worked.is_err(), fails);
    }
    Ok(())
}

/// Starts a statement and drops it.
async fn dropped<C: Kind>(steps: &Steps<C>) -> Result<(), Failure> {
    let work = async |connection: &mut C| {
        {
            let mut started = std::pin::pin!(mark(connection, "dropped"));
            let _ = futures_util::poll!(&mut started);
        }
        work(true)
    };
    steps.transaction("a", work).await.map(drop)
}

/// Does not end in time, at first.
async fn endless<C: Kind>(steps: &Steps<C>, told: &Told) -> Result<(), Failure> {
    let run = told.run();
    let work = async |connection: &mut C| {
        mark(connection, "endless").await;
        if run == 1 {
            connection.batch_execute(C::ENDLESS).await.unwrap();
        }
        Ok(())
    };
    steps.transaction("a", work).await
}

fn work(fails: bool) -> Result<u32, Failure> {
    match fails {
        true => Err(Failure::Own),
        false => Ok(1),
    }
}

#[derive(Debug, Serialize, Deserialize)]
enum Receipt {
    None,
    Paid { cents: i64, to: (String, Vec<u8>) },
}

/// Every result is told; in the first run the handler then fails.
async fn types<C: Kind>(steps: &Steps<C>, told: &Told) -> Result<(), Failure> {
    let run = told.run();
    macro_rules! same {
        ($($name:literal $type:ty = $value:expr;)*) => {$(
            let result: $type = steps
                .call($name, async |_| {
                    assert_eq!(run, 1, "it is remembered");
                    Ok::<_, Failure>($value)
                })
                .await?;
            told.say(format!("{}: {result:?}", $name));
        )*};
    }
    same! {
        "" () = ();
        "a text\n\"'\\{}" String = "line\nnext\0 \u{e9}\u{1f980} '\"\\".to_owned();
        "option" Option<i64> = None;
        "number" Option<i64> = Some(i64::MIN);
        "float" f64 = 0.1 + 0.2;
        "map" BTreeMap<String, Vec<u64>> = [("a".to_owned(), vec![u64::MAX])].into();
        "none" Receipt = Receipt::None;
        "paid" Receipt = Receipt::Paid { cents: -1, to: ("me".to_owned(), vec![0, 255]) };
        "large" String = "x".repeat(100_000);
        "json" serde_json::Value = serde_json::json!({ "step": "large", "result": [null] });
    }
    match run {
        1 => Err(Failure::Own),
        _ => Ok(()),
    }
}

/// Asks for a step when the handler is over.
fn late<C: Kind>(steps: Steps<C>, told: web::Data<Told>) {
    actix_web::rt::spawn(async move {
        told.after.notified().await;
        for name in ["call", "transaction"] {
            let asked: Result<(), StepError> = match name {
                "call" => steps.call("late", async |_| Ok(())).await,
                _ => steps.transaction("late", async |_: &mut C| Ok(())).await,
            };
            told.say(format!("{asked:?}"));
        }
    });
}
