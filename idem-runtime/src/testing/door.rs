//! The one door that a proof has into a run of a handler: behind the handler, in front of its record. It stands in the
//! request's extensions, where no client can put anything.
//!
//! No assertions: what should become of such a run is for the rules to say.

use std::cell::Cell;
use std::rc::Rc;

use actix_web::{HttpMessage, HttpRequest};
use tokio::sync::Notify;

use crate::lease::Switch;
use crate::policy::IdempotencyPolicy;

/// What becomes of a run that comes to the door.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// Nothing; it is only seen.
    None,
    /// It panics.
    Panic,
    /// It waits until it is let go on.
    Hold,
    /// The same, and nobody renews its lease meanwhile.
    Outlive,
}

/// The door of one request.
#[derive(Clone)]
pub(crate) struct Door(Rc<Frame>);

struct Frame {
    fault: Fault,
    policy: Cell<Option<&'static IdempotencyPolicy>>,
    reached: Notify,
    opened: Notify,
}

impl Door {
    pub(super) fn new(fault: Fault) -> Self {
        Self(Rc::new(Frame {
            fault,
            policy: Cell::new(None),
            reached: Notify::new(),
            opened: Notify::new(),
        }))
    }

    /// A handler of this policy has answered, and nothing of it is recorded yet.
    pub(crate) async fn pass(request: &HttpRequest, policy: &'static IdempotencyPolicy) {
        let door = request.extensions().get::<Self>().cloned();
        if let Some(door) = door {
            door.meet(request, policy).await;
        }
    }

    async fn meet(&self, request: &HttpRequest, policy: &'static IdempotencyPolicy) {
        self.0.policy.set(Some(policy));
        self.0.reached.notify_one();
        match self.0.fault {
            Fault::None => {}
            // Past the panic hook: a proof that succeeds prints nothing.
            Fault::Panic => std::panic::resume_unwind(Box::new("the fault of a proof")),
            Fault::Hold => self.wait().await,
            Fault::Outlive => {
                if let Some(switch) = request.extensions().get::<Switch>() {
                    switch.off();
                }
                self.wait().await;
            }
        }
    }

    async fn wait(&self) {
        self.0.opened.notified().await;
        // For a run that is made again.
        self.0.opened.notify_one();
    }

    /// Returns once a run is at the door.
    pub(super) async fn reached(&self) {
        self.0.reached.notified().await;
    }

    /// Lets the run go on.
    pub(super) fn open(&self) {
        self.0.opened.notify_one();
    }

    /// What the handler's endpoint declared, if a run has come here: only a protected one does.
    pub(super) fn policy(&self) -> Option<&'static IdempotencyPolicy> {
        self.0.policy.get()
    }
}
