//! The properties of a dispatcher if activations fail, the store fails, or hints are lost.

use std::{pin::pin, sync::Arc, time::Duration};

use entourage_types::Owner;
use tokio::sync::broadcast::error::TryRecvError;
use tokio_util::sync::CancellationToken;

use super::{Does, Node, Recorder, Seen, Subject, agents, nothing_is_due, wake};
use crate::dispatch::Advance;

/// More commits than any store keeps hints for.
const HINTS: usize = 1_100;
/// More consecutive failures than any dispatcher would accept from an agent before it gives up.
const FULL: u32 = 80;

/// A failed or crashed activation is tried again, later.
pub async fn delivers_again_after_a_failure_or_a_crash(subject: &dyn Subject) {
    let made = agents(subject, &Owner::local(), 2).await;
    let crashing = made[0].id;
    let recorder = Recorder::new(subject, move |agent, attempt| match attempt {
        1 if agent == crashing => Does::Crash,
        1 => Does::Fail,
        _ => Does::Serve,
    });
    let node = Node::start(subject, 8, &recorder);
    wake(subject, &made, subject.clock().now()).await;
    recorder.until("both have failed", |seen| seen.attempts.len() == 2 && seen.working.is_empty()).await;
    let served = recorder.until("both are served", |seen| seen.served.len() == 2);
    Node::moving(subject, Duration::from_secs(1), served).await;
    node.stop().await;
    assert!(recorder.seen().given_up.is_empty());
}

/// The dispatcher gives up an agent whose activations always fail, once, and the others go on.
pub async fn gives_up_on_an_agent_that_always_fails(subject: &dyn Subject) {
    let made = agents(subject, &Owner::local(), 3).await;
    let poisoned = made[1].id;
    let recorder =
        Recorder::new(subject, move |agent, _| if agent == poisoned { Does::Fail } else { Does::Serve });
    let node = Node::start(subject, 8, &recorder);
    wake(subject, &made, subject.clock().now()).await;
    let given_up = |seen: &Seen| seen.given_up == [poisoned] && seen.served.len() == 3;
    Node::moving(subject, Duration::from_secs(5), recorder.until("it is given up", given_up)).await;
    node.stop().await;
    nothing_is_due(subject).await;
}

/// While the store is unusable, the dispatcher ends no run for that, however often it tries; once the store
/// is back, all agents go on by themselves.
pub async fn waits_for_a_store_that_cannot_be_used_as_long_as_it_takes(subject: &dyn Subject) {
    let made = agents(subject, &Owner::local(), 3).await;
    let recorder =
        Recorder::new(subject, |_, attempt| if attempt <= FULL { Does::Full } else { Does::Serve });
    let node = Node::start(subject, 8, &recorder);
    wake(subject, &made, subject.clock().now()).await;
    let served = recorder.until("all are served", |seen| seen.served.len() == 3);
    Node::moving(subject, Duration::from_secs(5), served).await;
    node.stop().await;
    assert_eq!(recorder.seen().given_up, []);
    assert!(recorder.seen().attempts.values().all(|attempts| *attempts > FULL));
    nothing_is_due(subject).await;
}

/// Wake-ups whose hints were lost, because there were more than the store keeps for a busy subscriber, are
/// read from the store.
pub async fn misses_nothing_where_hints_are_lost(subject: &dyn Subject) {
    let made = agents(subject, &Owner::local(), HINTS + 1).await;
    // Wake-ups whose hints are lost are due before the one that is served first: a dispatcher that only reads
    // on from there misses them.
    let earlier = subject.clock().now();
    subject.pass(Duration::from_secs(1));
    let now = subject.clock().now();
    let recorder = Recorder::new(subject, |_, _| Does::Serve);
    let (stop, dispatcher) = (CancellationToken::new(), subject.dispatcher(8));
    let engine: Arc<dyn Advance> = Arc::<Recorder>::clone(&recorder);
    // Only this test polls the dispatcher, so that it receives no hint while the test commits.
    let mut run = pin!(dispatcher.run(engine, subject.store(), subject.clock(), stop.clone()));
    wake(subject, &made[..1], now).await;
    tokio::select! {
        ended = &mut run => panic!("it ended: {ended:?}"),
        () = recorder.until("the first is served", |seen| seen.served.len() == 1) => {}
    }
    let mut hints = subject.store().woken();
    for agent in &made[1..] {
        wake(subject, std::slice::from_ref(agent), earlier).await;
    }
    assert!(matches!(hints.try_recv(), Err(TryRecvError::Lagged(_))), "the store keeps as many hints");
    tokio::select! {
        ended = &mut run => panic!("it ended: {ended:?}"),
        () = recorder.until("all are served", |seen| seen.served.len() == made.len()) => {}
    }
    stop.cancel();
    assert!(run.await.is_ok(), "the dispatcher ends in order");
    nothing_is_due(subject).await;
}
