//! Bounds what a server sends on its own initiative. The protocol's implementation accepts any number of
//! messages, as fast as they arrive. Here notifications are dropped, since none is used, and the number of
//! requests is limited until the server has read the answers.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use rmcp::{
    RoleClient,
    model::{JsonRpcMessage, RequestId},
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use tokio::task::coop::consume_budget;
use tokio_util::sync::CancellationToken;

use super::{lines::LineError, silence::LastMessage};

/// How many requests of a server may wait until it reads their answers.
const MOST: usize = 1_000;
/// The longest id of a request, in bytes: the answer repeats it.
const LONGEST_ID: usize = 256;

/// A transport that limits the pending requests of a server, and gives up a server that exceeds the limit.
pub(super) struct Bounded<T> {
    inner: T,
    requests: Arc<Mutex<Requests>>,
    /// Cancelled once the server has sent too much: its answers need not be sent any more.
    given_up: CancellationToken,
    trouble: LineError,
    heard: LastMessage,
}

impl<T> Bounded<T> {
    pub(super) fn new(inner: T, trouble: LineError, heard: LastMessage) -> Self {
        Self { inner, requests: Arc::default(), given_up: CancellationToken::new(), trouble, heard }
    }
}

impl<T: Transport<RoleClient> + 'static> Transport<RoleClient> for Bounded<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let answered = match &message {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            _ => None,
        };
        let sending = self.inner.send(message);
        let (requests, given_up) = (Arc::clone(&self.requests), self.given_up.clone());
        async move {
            let Some(id) = answered else { return sending.await };
            tokio::select! {
                sent = sending => {
                    locked(&requests).answered(&id);
                    sent
                }
                () = given_up.cancelled() => Ok(()),
            }
        }
    }

    /// Cancel-safe: nothing is awaited once a relevant message has arrived.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let message = self.inner.receive().await?;
            self.heard.now();
            let taken = match &message {
                JsonRpcMessage::Notification(_) => Ok(false),
                JsonRpcMessage::Request(request) => locked(&self.requests).take(&request.id),
                _ => Ok(true),
            };
            match taken {
                Ok(true) => return Some(message),
                Ok(false) => drop(message),
                Err(why) => {
                    let _ = self.trouble.set(why);
                    self.given_up.cancel();
                    return None;
                }
            }
            // Yields to other tasks of this thread, however many messages arrive.
            consume_budget().await;
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

fn locked(requests: &Mutex<Requests>) -> MutexGuard<'_, Requests> {
    requests.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The requests of a server whose answers it has not read.
#[derive(Debug, Default)]
struct Requests {
    /// How many requests arrived under each id: more than one violates the protocol, and they get one answer.
    unanswered: HashMap<RequestId, usize>,
    /// The total number of these requests.
    waiting: usize,
}

impl Requests {
    /// Counts a request. Returns whether its id is new.
    fn take(&mut self, id: &RequestId) -> Result<bool, &'static str> {
        if matches!(id, RequestId::String(id) if id.len() > LONGEST_ID) {
            return Err("it sent a request with an id longer than 256 bytes");
        }
        let times = self.unanswered.entry(id.clone()).or_default();
        *times += 1;
        self.waiting += 1;
        if self.waiting > MOST {
            return Err("it sent more than 1000 requests and did not take the answers");
        }
        Ok(*times == 1)
    }

    /// Records that the server has read the answer to the requests with this id.
    fn answered(&mut self, id: &RequestId) {
        self.waiting -= self.unanswered.remove(id).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::VecDeque, future::pending, io};

    use futures::FutureExt;
    use serde_json::{Value, json};

    use super::*;

    /// Sends its messages, and accepts messages if it reads.
    struct Server {
        sends: VecDeque<Value>,
        reads: bool,
    }

    impl Transport<RoleClient> for Server {
        type Error = io::Error;

        fn send(
            &mut self,
            _: TxJsonRpcMessage<RoleClient>,
        ) -> impl Future<Output = io::Result<()>> + Send + 'static {
            let reads = self.reads;
            async move { if reads { Ok(()) } else { pending().await } }
        }

        async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
            Some(serde_json::from_value(self.sends.pop_front()?).unwrap())
        }

        async fn close(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn bounded(sends: impl IntoIterator<Item = Value>, reads: bool) -> (Bounded<Server>, LineError) {
        let (server, trouble) = (Server { sends: sends.into_iter().collect(), reads }, LineError::default());
        (Bounded::new(server, Arc::clone(&trouble), LastMessage::default()), trouble)
    }

    fn ping(id: Value) -> Value {
        json!({ "jsonrpc": "2.0", "id": id, "method": "ping" })
    }

    fn pong(id: &Value) -> TxJsonRpcMessage<RoleClient> {
        serde_json::from_value(json!({ "jsonrpc": "2.0", "id": id, "result": {} })).unwrap()
    }

    #[tokio::test]
    async fn notifications_are_dropped_and_responses_pass_through() {
        let changed = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
        let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": {} });
        let (mut bounded, _) = bounded([changed.clone(), changed, answer], true);
        assert!(matches!(bounded.receive().await, Some(JsonRpcMessage::Response(_))));
        assert!(bounded.receive().await.is_none());
    }

    #[tokio::test]
    async fn a_server_that_reads_no_answers_is_dropped_after_1000_requests() {
        let too_many = "it sent more than 1000 requests and did not take the answers";
        let (mut bounded, trouble) = bounded((0..=MOST).map(|id| ping(id.into())), false);
        let mut answers = Vec::new();
        for id in 0..MOST {
            assert!(bounded.receive().await.is_some());
            answers.push(Box::pin(bounded.send(pong(&id.into()))));
        }
        assert!(answers[0].as_mut().now_or_never().is_none());
        assert!(bounded.receive().await.is_none());
        assert_eq!(trouble.get(), Some(&too_many));
        for answer in answers {
            answer.await.unwrap();
        }
    }

    #[tokio::test]
    async fn a_server_that_reads_its_answers_may_send_any_number_of_requests() {
        let (mut bounded, trouble) = bounded((0..=MOST).map(|id| ping(id.into())), true);
        for id in 0..=MOST {
            assert!(bounded.receive().await.is_some());
            bounded.send(pong(&id.into())).await.unwrap();
        }
        assert_eq!(trouble.get(), None);
    }

    #[test]
    fn requests_with_a_repeated_id_count_towards_the_limit() {
        let (mut requests, id) = (Requests::default(), RequestId::Number(1));
        assert_eq!(requests.take(&id), Ok(true));
        assert!((1..MOST).all(|_| requests.take(&id) == Ok(false)));
        assert!(requests.take(&id).is_err_and(|why| why.contains("more than 1000")));
        requests.answered(&id);
        assert_eq!(requests.take(&id), Ok(true), "what was taken waits no longer");
        let long = RequestId::String("x".repeat(LONGEST_ID + 1).into());
        assert!(requests.take(&long).is_err_and(|why| why.contains("longer than 256")));
    }
}
