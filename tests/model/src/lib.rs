//! The protocol as a model, checked exhaustively within small bounds.
//!
//! `cargo test -p idem-model -- --nocapture` visits every state that the attempts of a few clients, the
//! clock, crashes and broken connections can lead to, and says how many there are. In each of them each
//! property must hold. For every [defect](defects::Defect), one line of the protocol left out or turned
//! round, the checker must find the property that it breaks: a property that nothing can break says nothing.
//!
//! The model is written from ARCHITECTURE.md and does not depend on `idem-runtime`. What ties the two is
//! that each action which is not the world's carries the name of the function that it stands for, in
//! `CODE` of [`transaction::Act`], [`lease::Act`] and [`outbox::Act`]; `tests/names.rs` looks for each in its file.
//!
//! # What is modelled
//!
//! | | [transaction mode](transaction) | [lease mode](lease) |
//! |---|---|---|
//! | attempts | two to four, of one or two bodies, keys and tenants; a retry is one more attempt | two to four, of one or two bodies |
//! | claim | BEGIN, both tries of the lock statement and the look, one action each | `claim` in one action (the other model has it in parts), then `pend`, or `state` and `take_over` |
//! | handler | one effect in the transaction; success, a refusal that is recorded, a failure | a call outside and a transaction, as steps; it refuses or fails at any place |
//! | end | record and COMMIT; ROLLBACK and the record of a refusal by itself | record, forget, give back, end, lost |
//! | isolation | READ COMMITTED, REPEATABLE READ | READ COMMITTED |
//! | time | the database's clock; records expire | as well; leases run out although their owner lives, because a paused process is one that has no turn |
//! | faults | process, connection and database die at any place; what is on the wire may still be executed, late | the same for process and connection |
//! | others | the pruner | the pruner, the heartbeat, an honest reconciler |
//!
//! The [outbox] is a model of its own, which takes from these two that an operation commits with its record or
//! does not, and one run of it at a time:
//!
//! | | [the outbox](outbox) |
//! |---|---|
//! | operations | one or two, of one to three messages, in one order, in two, or in none; delayed ones. They commit, fail, or die behind their COMMIT, and run again; in lease mode each message is of a step, and finished steps are skipped. A key may be used again |
//! | queueing | the lock of the order, the position and the id in one action, COMMIT in another |
//! | relays | two or three: look, take, publish message by message, and one action for each statement that writes down what became of them. Publishing goes on meanwhile |
//! | take | on PostgreSQL its snapshot, then its locks and what it writes; on SQLite one action |
//! | broker | it takes a message, also so that the relay does not learn it; it is away; it refuses |
//! | time | there is no clock: a claim runs out at any time, also while its relay publishes, and what is put off is due at any time |
//! | faults | a relay dies and is started anew; its connection breaks; it stops; it cannot write down what it knows. A statement on the wire may still be executed, late |
//! | others | the pruner; somebody who requeues dead messages |
//!
//! # What is not
//!
//! * One process's table of operations (`inflight.rs`). It only keeps attempts from the database, and hands
//!   on what the first of them was told. Correctness must not depend on it, and here it does not.
//! * SERIALIZABLE, which only refuses more; SQLite, where lock and claim are the only writer's turn.
//! * A clock of the database that is set back; two leases that end in the same microsecond.
//! * A process's own idea of its lease (`is_fresh`, the heartbeat's word). It makes a handler stop earlier
//!   and is always late in a process that was paused, so nothing may depend on it: here nobody ever stops.
//! * The kept request and the completion worker: it is a client that retries.
//! * Steps of changed code (`leave`), the limits of sizes and times, the HTTP around it.
//! * Of the outbox: waking, which only saves time; how far one look goes, and the bounds over several orders, which cut
//!   each of them at a position; a transaction that queues in two orders (it may meet a deadlock, and be rolled back); a
//!   message that reaches the broker after its relay has given up waiting for it (it comes like one whose answer was
//!   lost, only later). A statement that takes for a relay that has died is one behind which the relay dies.
//!
//! # "No key blocked for ever", "no message waits for ever"
//!
//! It is a promise about what happens at last, and stateright's `eventually` does not see through paths that
//! join, so that it could miss a violation. But every path of these models ends: attempts go forward only,
//! and claim again a bounded number of times; clock and faults are bounded. So the promise is checked as
//! two that are about single states. Whoever has begun can go on, or the server can end its session:
//! nobody waits for what nobody will do. And where nobody is working, one more attempt comes to a
//! recorded answer, or to the word that the key is used; in lease mode, once every lease has run out, or
//! else the operation is offered to the reconciler, whose verdict ends it. In the outbox attempts are bounded, and a relay
//! looks only where something is due: where nothing can happen any more, nothing may be left that is neither sent nor dead.
//!
//! # What the checker has found
//!
//! Two [flaws](lease::Flaws) of lease mode, both with *two bodies under one key*, and [one](outbox::Flaws) of the outbox. A
//! test of its own shows what each of them did. The code is mended of all three.
//!
//! **The claim of another body is taken over.** `claim` compared the fingerprint of the pending row that it
//! found. The look behind it (`state`) was a statement of its own and did not, and the take-over proves the
//! owner that *this* look has seen. In between, the row could have become another one:
//!
//! ```text
//! first A    pend                 refuses · forget
//! retry A           claim: A's row                                                    state · take_over …  record
//! B                                                pend · call · finish_step · (gone)
//! B again                                                                                                         A's answer
//! ```
//!
//! The retry ran A's handler behind the steps of B, and its answer was recorded under B's fingerprint. Now
//! fingerprint and owner are of one look.
//!
//! **A release frees the key for another body while a late owner may still call.** The first owner is paused
//! before its call, its lease runs out, and the reconciler truthfully says that nothing was done:
//!
//! ```text
//! A             pend                                              call (derived key, body A)
//! reconciler          due · reconcile · release
//! B                                              pend · call (the same derived key, body B)
//! ```
//!
//! The other side takes the second call for a repetition of the first. (It is what keeps `forget` to claims
//! under which nobody has called.) Now a release keeps its row, for the same body only.
//!
//! **A taken order has a gap.** On PostgreSQL the statement that takes chooses a head and its followers by its snapshot,
//! and writes those of them that are still due. A late relay, whose token nobody has replaced yet, may put one of the
//! followers off in between. That one is left out, and what is behind it is taken:
//!
//! ```text
//! late  take 1 2 3 · publish 1 · (database away, claim runs out) · publish 2: fails            put_off 2
//! other                                                             look · take: snapshot 1 2 3           takes 1 3 · publish 1, 3
//! ```
//!
//! Message 3 arrives before message 2. It takes an outage of the database that outlasts the claim, so that the mark of 1
//! is lost while that of 2 is not. In this model a taken run ends in front of what is not due any more.

mod acts;
pub mod defects;
pub mod lease;
pub mod outbox;
pub mod transaction;
