//! The outbox: whoever stands outside and is to be told of tasks and questions is told by rows that
//! are written in the commit that they tell of. Nobody waits for a receiver, and nothing that a
//! receiver is to be told is lost with the process.

mod backoff;
mod deliver;
mod queue;
mod transport;

use std::sync::Arc;

use async_trait::async_trait;
use entourage_store::{Commit, Committed, Result, Store, StoreLayer, Write};
use entourage_types::{Delivery, DeliveryId, DeliveryStatus, Occasion, Owner, Record, Subject, Time};
use tokio::sync::broadcast;

pub use transport::{Transport, Undelivered};

pub(crate) use deliver::each;

/// Somebody outside the engine who is told what happens to one owner's tasks and questions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receiver {
    /// Its name in the settings.
    pub name: String,
    /// Whose tasks and questions it is told of; never anybody else's.
    pub owner: Owner,
    /// What it is told of.
    pub events: Vec<Occasion>,
}

/// The receivers there are, and the hints to whoever delivers. Clones are the same outbox; one
/// without receivers costs nothing.
#[derive(Debug, Clone)]
pub struct Outbox {
    receivers: Arc<[Receiver]>,
    hints: broadcast::Sender<Hint>,
}

/// That a receiver is to be told something.
#[derive(Debug, Clone)]
struct Hint {
    receiver: String,
    due: Time,
    id: DeliveryId,
}

impl Default for Outbox {
    fn default() -> Self {
        Self::new([])
    }
}

impl Outbox {
    /// Hints that wait for whoever delivers; one who lags looks into the store again.
    pub const HINTS: usize = 1024;

    /// An outbox for these receivers.
    #[must_use]
    pub fn new(receivers: impl IntoIterator<Item = Receiver>) -> Self {
        Self { receivers: receivers.into_iter().collect(), hints: broadcast::Sender::new(Self::HINTS) }
    }

    /// The receivers.
    #[must_use]
    pub fn receivers(&self) -> &[Receiver] {
        &self.receivers
    }

    pub(crate) fn hint(&self, delivery: &Delivery) {
        let Delivery { receiver, due, id, .. } = delivery;
        // Nobody listens where nothing is delivered: the next who does looks into the store.
        let _ = self.hints.send(Hint { receiver: receiver.clone(), due: *due, id: *id });
    }

    /// What a commit has to tell, each with whom.
    fn deliveries(&self, commit: &Commit) -> Vec<Delivery> {
        let mut all = Vec::new();
        for write in &commit.writes {
            match write {
                Write::Task(task) => {
                    let occasions = Occasion::of_task(task);
                    self.tell(occasions, || Subject::Task(Box::new(task.clone())), commit.at, &mut all);
                }
                Write::Question(question) => {
                    let occasions = Occasion::of_question(question);
                    let subject = || Subject::Question(Box::new(question.clone()));
                    self.tell(occasions, subject, commit.at, &mut all);
                }
                _ => {}
            }
        }
        all
    }

    fn tell(
        &self,
        occasions: impl IntoIterator<Item = Occasion>,
        subject: impl Fn() -> Subject,
        at: Time,
        all: &mut Vec<Delivery>,
    ) {
        for occasion in occasions {
            for receiver in self.receivers.iter().filter(|receiver| receiver.events.contains(&occasion)) {
                let subject = subject();
                if *subject.owner() != receiver.owner {
                    continue;
                }
                all.push(Delivery {
                    id: DeliveryId::new(),
                    owner: receiver.owner.clone(),
                    receiver: receiver.name.clone(),
                    occasion,
                    subject,
                    status: DeliveryStatus::Pending,
                    attempts: 0,
                    due: at,
                    error: None,
                    created: at,
                    updated: at,
                });
            }
        }
    }
}

#[async_trait]
impl StoreLayer for Outbox {
    async fn commit(&self, store: &Arc<dyn Store>, mut commit: Commit) -> Result<Committed> {
        let deliveries = self.deliveries(&commit);
        for delivery in &deliveries {
            commit.push(Write::Entity(delivery.entity()?));
        }
        let committed = store.commit(commit).await?;
        deliveries.iter().for_each(|delivery| self.hint(delivery));
        Ok(committed)
    }
}

#[cfg(test)]
mod tests {
    use entourage_types::{AgentId, CallId, Status, Task, TaskId};

    use super::*;

    fn task(owner: &str) -> Task {
        let at = Time::from_micros(1);
        Task {
            id: TaskId::new(),
            owner: Owner::new(owner),
            root: AgentId::new(),
            from: AgentId::new(),
            to: AgentId::new(),
            call: CallId::new(),
            wait: false,
            kind: "researcher".into(),
            instruction: "look".into(),
            status: Status::Queued,
            result: None,
            post: None,
            run: None,
            created: at,
            updated: at,
        }
    }

    fn told(outbox: &Outbox, task: Task) -> Vec<(String, Occasion)> {
        let commit = Commit::new(task.updated).write(Write::Task(task));
        let told = outbox.deliveries(&commit).into_iter();
        told.map(|delivery| (delivery.receiver, delivery.occasion)).collect()
    }

    #[test]
    fn a_receiver_is_told_what_it_asked_for_of_its_owner_alone() {
        let receiver = |name: &str, owner: &str, events: &[Occasion]| Receiver {
            name: name.into(),
            owner: Owner::new(owner),
            events: events.to_vec(),
        };
        let outbox = Outbox::new([
            receiver("all", "ada", &Occasion::ALL),
            receiver("ends", "ada", &[Occasion::TaskCompleted]),
            receiver("other", "bob", &Occasion::ALL),
        ]);
        assert_eq!(told(&outbox, task("ada")), [("all".to_owned(), Occasion::TaskCreated)]);
        let again = Task { updated: Time::from_micros(2), ..task("ada") };
        assert_eq!(told(&outbox, again), [("all".to_owned(), Occasion::TaskReactivated)]);
        let done = Task { status: Status::Succeeded, ..task("ada") };
        let names: Vec<_> = told(&outbox, done).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["all", "ends"]);
        assert_eq!(told(&outbox, task("eve")), []);
    }
}
