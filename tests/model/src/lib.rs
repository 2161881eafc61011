//! The protocol as a model, checked exhaustively within small bounds.
//!
//! `cargo test -p idem-model -- --nocapture` visits every state that the attempts of a few clients, the
//! clock, crashes and broken connections can lead to, and says how many there are. In each of them each
//! property must hold. For every [defect](defects::Defect), one line of the protocol left out or turned
//! round, the checker must find the property that it breaks: a property that nothing can break says nothing.
//!
//! The model is written from ARCHITECTURE.md and does not depend on `idem-runtime`. What ties the two is
//! that each action which is not the world's carries the name of the function that it stands for, in
//! `CODE` of [`transaction::Act`] and [`lease::Act`]; `tests/names.rs` looks for each in its file.
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
//!
//! # "No key blocked for ever"
//!
//! It is a promise about what happens at last, and stateright's `eventually` does not see through paths that
//! join, so that it could miss a violation. But every path of these models ends: attempts go forward only,
//! and claim again a bounded number of times; clock and faults are bounded. So the promise is checked as
//! two that are about single states. Whoever has begun can go on, or the server can end its session:
//! nobody waits for what nobody will do. And where nobody is working, one more attempt comes to a
//! recorded answer, or to the word that the key is used; in lease mode, once every lease has run out, or
//! else the operation is offered to the reconciler, whose verdict ends it.
//!
//! # What the checker has found
//!
//! Two [flaws](lease::Flaws) of lease mode, both with *two bodies under one key*. The code is mended of them;
//! a test of its own shows what each of them did.
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

mod acts;
pub mod defects;
pub mod lease;
pub mod outbox;
pub mod transaction;
