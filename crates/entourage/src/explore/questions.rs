//! Puts the open questions of the explorer's user to the handler: those that are asked, and those that were open before.
//! The rows say which are open; events only say when to look.

use std::{collections::HashMap, future, sync::Arc, time::Duration};

use entourage_engine::{Client, Clock, Error as EngineError, NewsFeed, Page, RecordFilter};
use entourage_store::{CommittedEvents, Store};
use entourage_types::{Answer, Backoff, EventBody, Question, QuestionId, QuestionStatus};
use tokio::{
    sync::broadcast::error::RecvError,
    task::{AbortHandle, JoinSet},
};
use tokio_util::sync::CancellationToken;

use super::handler::{CurrentHandler, Handler, WithoutHandler, put};

/// Between two attempts at something that the store refused.
const PAUSES: Backoff = Backoff::new(Duration::from_millis(200), Duration::from_secs(60));

/// Puts open questions to the handler.
pub(super) struct Questions {
    pub(super) client: Client,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) handler: Arc<CurrentHandler>,
    pub(super) otherwise: WithoutHandler,
    pub(super) stop: CancellationToken,
    /// Whether agents of other processes ask, too.
    pub(super) is_shared: bool,
}

/// The questions that are being answered, each by a task of its own, so that none waits for another (S3-R090).
#[derive(Default)]
struct InProgress {
    tasks: JoinSet<()>,
    asked: HashMap<QuestionId, AbortHandle>,
}

impl Questions {
    /// Works until the explorer is closed. What is not answered by then stays open, and is asked again by the next
    /// explorer on the same database.
    pub(super) async fn follow(self, store: Arc<dyn Store>) {
        // Before the rows are read, so that no question is missed in between.
        let mut events = store.changed();
        drop(store);
        let (mut in_progress, mut failures) = (InProgress::default(), 0);
        let (mut look, mut elsewhere) = (true, None);
        loop {
            if look {
                if self.is_shared && elsewhere.is_none() {
                    elsewhere = self.client.news().await.ok();
                }
                match self.open().await {
                    Ok(open) => {
                        failures = 0;
                        look = false;
                        in_progress.keep(&open);
                        open.into_iter().for_each(|question| self.ask(question, &mut in_progress));
                    }
                    Err(error) => {
                        failures += 1;
                        tracing::warn!(%error, "open questions cannot be read; it is tried again");
                    }
                }
            }
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = self.pause(failures), if look => {}
                () = self.handler.changed.notified() => look = true,
                event = events.recv() => match event {
                    Ok(committed) => look |= self.concerns(&committed),
                    Err(RecvError::Lagged(_)) => look = true,
                    Err(RecvError::Closed) => return,
                },
                () = next(&mut elsewhere) => look = true,
                Some(_) = in_progress.tasks.join_next() => in_progress.tidy(),
            }
        }
    }

    /// All open questions of the user, oldest first.
    async fn open(&self) -> entourage_engine::Result<Vec<Question>> {
        let status = Some(QuestionStatus::Open);
        self.client.records(RecordFilter { status, page: Page::all(), ..RecordFilter::default() }).await
    }

    /// Whether a commit asked or closed a question of the user.
    fn concerns(&self, committed: &CommittedEvents) -> bool {
        let is_own = |question: &Question| question.owner == *self.client.owner();
        let mut bodies = committed.events.iter().map(|event| &event.body);
        bodies.any(|body| matches!(body, EventBody::Question { question } if is_own(question)))
    }

    /// Has a question answered, unless that is in progress, or nobody may answer it here.
    fn ask(&self, question: Question, in_progress: &mut InProgress) {
        if in_progress.asked.contains_key(&question.id) {
            return;
        }
        let handler = self.handler.get();
        if handler.is_none() && self.otherwise == WithoutHandler::KeepOpen {
            return;
        }
        let (id, client, clock) = (question.id, self.client.clone(), Arc::clone(&self.clock));
        let task = in_progress.tasks.spawn(async move { answer(&client, &*clock, handler, &question).await });
        in_progress.asked.insert(id, task);
    }

    async fn pause(&self, failures: u32) {
        self.clock.sleep_until(self.clock.now() + PAUSES.after(failures)).await;
    }
}

impl InProgress {
    /// Ends what is in progress for questions that are closed by now: nobody waits for these handlers any more.
    fn keep(&mut self, open: &[Question]) {
        self.asked.retain(|id, task| {
            let is_open = open.iter().any(|question| question.id == *id);
            if !is_open {
                task.abort();
            }
            is_open
        });
    }

    /// Forgets the tasks that have ended.
    fn tidy(&mut self) {
        self.asked.retain(|_, task| !task.is_finished());
    }
}

/// Waits for the next news; for ever if there are none to come.
async fn next(news: &mut Option<NewsFeed>) {
    if let Some(feed) = news
        && feed.next().await.is_some()
    {
        return;
    }
    future::pending().await
}

/// Puts a question to the handler and answers it with what that returns. Without a handler it is declined.
async fn answer(client: &Client, clock: &dyn Clock, handler: Option<Handler>, question: &Question) {
    let mut answer = match handler {
        Some(handler) => {
            let name = client.agent_name(question.agent).await;
            let name = name.unwrap_or_else(|_| question.agent.to_string());
            put(handler, &name, &question.text).await.map_or(Answer::Declined, Answer::Text)
        }
        None => {
            tracing::info!(agent = %question.agent, "no query handler is set; the question is declined");
            Answer::Declined
        }
    };
    let mut failures = 0;
    loop {
        match client.answer(question.id, answer.clone()).await {
            Err(error @ EngineError::Invalid(_)) if answer != Answer::Declined => {
                let agent = question.agent;
                tracing::error!(%agent, %error, "the query handler's answer is refused; the question is declined");
                answer = Answer::Declined;
            }
            // It was answered, or its agent deleted, at the same moment.
            Ok(_)
            | Err(EngineError::NotOpen { .. } | EngineError::NotFound { .. } | EngineError::Invalid(_)) => {
                return;
            }
            Err(error) => {
                failures += 1;
                tracing::warn!(agent = %question.agent, %error, "an answer cannot be stored; it is tried again");
                clock.sleep_until(clock.now() + PAUSES.after(failures)).await;
            }
        }
    }
}
