//! The hints that a worker hears: those of its store, and perhaps those of other nodes.

use tokio::sync::broadcast::{
    Receiver,
    error::{RecvError, TryRecvError},
};

/// Where hints come from.
pub(crate) struct Hints<H> {
    own: Receiver<H>,
    others: Option<Receiver<H>>,
}

impl<H: Clone> Hints<H> {
    /// Those of `own`, and those of `others`.
    pub(crate) fn both(own: Receiver<H>, others: Receiver<H>) -> Self {
        Self { own, others: Some(others) }
    }

    /// Waits for the next hint. They end with those of its own store.
    pub(crate) async fn recv(&mut self) -> Result<H, RecvError> {
        let Self { own, others } = self;
        let elsewhere = async {
            match others {
                Some(others) => match others.recv().await {
                    Err(RecvError::Closed) => std::future::pending().await,
                    hint => hint,
                },
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            hint = own.recv() => hint,
            hint = elsewhere => hint,
        }
    }

    /// The next hint that is there already.
    pub(crate) fn try_recv(&mut self) -> Result<H, TryRecvError> {
        match (self.own.try_recv(), &mut self.others) {
            (Err(TryRecvError::Empty), Some(others)) => others.try_recv(),
            (hint, _) => hint,
        }
    }
}

impl<H> From<Receiver<H>> for Hints<H> {
    fn from(own: Receiver<H>) -> Self {
        Self { own, others: None }
    }
}
