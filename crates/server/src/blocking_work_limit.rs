//! Work that takes a core and memory for a moment: a few pieces at once, and the others wait.

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
}
