//! So many calls at once, and no more.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use async_trait::async_trait;
use entourage_llm::{Deltas, Gate, Model, NoDeltas, Reply, Request, Result};
use tokio::sync::{Semaphore, mpsc};

/// Says when a call has come in, and lets it go when told to.
struct Held {
    inside: AtomicUsize,
    most: AtomicUsize,
    came: mpsc::UnboundedSender<String>,
    go: Semaphore,
}

#[async_trait]
impl Model for Held {
    async fn call(&self, request: Request, _: &mut dyn Deltas) -> Result<Reply> {
        let inside = self.inside.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(inside, Ordering::SeqCst);
        self.came.send(request.model.unwrap_or_default()).expect("a listener");
        self.go.acquire().await.expect("open").forget();
        self.inside.fetch_sub(1, Ordering::SeqCst);
        Ok(Reply::default())
    }

    fn describe(&self) -> String {
        "held".into()
    }
}

#[tokio::test]
async fn calls_wait_in_the_order_they_came() {
    let (came, mut arrivals) = mpsc::unbounded_channel();
    let held = Arc::new(Held {
        inside: AtomicUsize::new(0),
        most: AtomicUsize::new(0),
        came,
        go: Semaphore::new(0),
    });
    let gate = Arc::new(Gate::new(Arc::clone(&held), 2));
    let mut calls = Vec::new();
    for number in 0..6 {
        let gate = Arc::clone(&gate);
        let request = Request { model: Some(number.to_string()), ..Request::default() };
        calls.push(tokio::spawn(async move { gate.call(request, &mut NoDeltas).await }));
        // On this one thread the call has reached the gate before the next one is made.
        tokio::task::yield_now().await;
    }
    let mut order = vec![arrivals.recv().await.expect("0"), arrivals.recv().await.expect("1")];
    assert!(arrivals.try_recv().is_err(), "the third waits");
    // One that gives up while it waits takes no place with it.
    calls.remove(2).abort();
    for _ in 0..3 {
        held.go.add_permits(1);
        order.push(arrivals.recv().await.expect("the next"));
    }
    held.go.add_permits(2);
    for call in calls {
        call.await.expect("no panic").expect("a reply");
    }
    assert_eq!(order, ["0", "1", "3", "4", "5"]);
    assert_eq!(held.most.load(Ordering::SeqCst), 2);
}
