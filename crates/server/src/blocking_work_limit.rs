//! Work that takes a core and memory for a moment: a few pieces at once, and the others wait.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use entourage_types::Owner;
use tokio::sync::Semaphore;

/// Places for such work.
pub(crate) struct BlockingWorkLimit(Semaphore);

impl BlockingWorkLimit {
    /// So many places.
    pub(crate) const fn new(most: usize) -> Self {
        Self(Semaphore::const_new(most))
    }

    /// Does the work on a thread for blocking work, once it has a place. It keeps its place until it ends, even
    /// if its caller has gone.
    pub(crate) async fn run<T: Send + 'static>(
        &'static self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        let place = self.0.acquire().await;
        let done = tokio::task::spawn_blocking(move || {
            let _place = place;
            work()
        });
        done.await.unwrap_or_else(|failed| std::panic::resume_unwind(failed.into_panic()))
    }
}

/// Places for such work, one for each owner: whoever has much of it waits for themselves.
pub(crate) struct OnePerOwner(Mutex<BTreeMap<Owner, Arc<Semaphore>>>);

impl OnePerOwner {
    /// Places that nobody has taken.
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    /// Does the work on a thread for blocking work, once the owner's last one has ended.
    pub(crate) async fn run<T: Send + 'static>(
        &'static self,
        owner: &Owner,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        let own = Arc::clone(
            self.0
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .entry(owner.clone())
                .or_insert_with(|| Arc::new(Semaphore::new(1))),
        );
        let turn = Turn { places: self, owner: owner.clone(), own: Arc::clone(&own) };
        // It is never closed.
        let place = own.acquire_owned().await;
        let done = tokio::task::spawn_blocking(move || {
            let done = work();
            drop(place);
            drop(turn);
            done
        });
        done.await.unwrap_or_else(|failed| std::panic::resume_unwind(failed.into_panic()))
    }
}

/// Work of an owner that waits or is done. The last one forgets the owner.
struct Turn {
    places: &'static OnePerOwner,
    owner: Owner,
    own: Arc<Semaphore>,
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut all = self.places.0.lock().unwrap_or_else(PoisonError::into_inner);
        // This one, and that of all places: new ones are only taken under the lock.
        if Arc::strong_count(&self.own) == 2 {
            all.remove(&self.owner);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{pin::pin, sync::mpsc};

    use futures::FutureExt;
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn work_keeps_its_place_after_its_caller_has_gone_and_other_work_waits_for_it() {
        static ONE: BlockingWorkLimit = BlockingWorkLimit::new(1);
        let (begins, begun) = oneshot::channel();
        let (let_go, may_end) = mpsc::channel::<()>();
        let first = tokio::spawn(ONE.run(move || {
            begins.send(()).unwrap();
            may_end.recv()
        }));
        begun.await.unwrap();
        first.abort();
        assert!(first.await.unwrap_err().is_cancelled());
        let mut second = pin!(ONE.run(|| 2));
        assert_eq!((second.as_mut().now_or_never(), ONE.0.available_permits()), (None, 0));
        let_go.send(()).unwrap();
        assert_eq!(second.await, 2);
    }

    #[tokio::test]
    async fn work_of_one_owner_waits_for_itself_and_never_for_that_of_another() {
        static EACH: OnePerOwner = OnePerOwner::new();
        let (one, other) = (Owner::new("one"), Owner::new("other"));
        let (begins, begun) = oneshot::channel();
        let (let_go, may_end) = mpsc::channel::<()>();
        let busy = one.clone();
        let first = tokio::spawn(async move {
            let work = move || {
                begins.send(()).unwrap();
                may_end.recv()
            };
            EACH.run(&busy, work).await
        });
        begun.await.unwrap();
        let mut second = Box::pin(EACH.run(&one, || 2));
        assert_eq!(second.as_mut().now_or_never(), None);
        assert_eq!(EACH.run(&other, || 3).await, 3);
        let_go.send(()).unwrap();
        assert_eq!(second.await, 2);
        first.await.unwrap().unwrap();
        assert!(EACH.0.lock().unwrap().is_empty(), "whoever has no work is forgotten");
    }
}
