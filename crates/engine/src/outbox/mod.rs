//! The outbox: notifications about tasks, questions and acts for receivers outside the engine. They are rows,
//! written in the commit that they report: no agent waits for a receiver, and no notification is lost with
//! the process.

mod backoff;
mod deliver;
mod transport;

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use async_trait::async_trait;
use entourage_store::{Commit, Committed, Result, Store, StoreLayer, Write};
use entourage_types::{
    Act, Delivery, DeliveryId, DeliveryStatus, EntityKind, EventBody, Occasion, Owner, Subject, Time,
};
use tokio::sync::broadcast;

pub use transport::{Transport, Undelivered};

use crate::signals::{DeliveryHint, NodeSignal, Signals};

pub(crate) use deliver::each;

/// A receiver outside the engine that is notified of what happens to one owner's tasks and questions, and of what
/// messages to the document agent come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receiver {
    /// Its name, which no other receiver has.
    pub name: String,
    /// The owner whose tasks, questions and acts it is notified of; never another owner's.
    pub owner: Owner,
    /// What it is notified of.
    pub events: Vec<Occasion>,
}

/// The receivers, and the hints for the loop that delivers. Clones are the same outbox; one without receivers
/// costs nothing.
#[derive(Clone)]
pub struct Outbox {
    receivers: Arc<[Receiver]>,
    hints: broadcast::Sender<DeliveryHint>,
    /// What tells the other nodes, of which one makes the deliveries of all.
    signals: Arc<OnceLock<Arc<dyn Signals>>>,
}

impl fmt::Debug for Outbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbox").field("receivers", &self.receivers).finish_non_exhaustive()
    }
}

impl Default for Outbox {
    fn default() -> Self {
        Self::new([])
    }
}

impl Outbox {
    /// Hints that wait for the loop that delivers; if it lags behind, it reads the store again.
    pub const HINTS: usize = 1024;

    /// An outbox for these receivers.
    #[must_use]
    pub fn new(receivers: impl IntoIterator<Item = Receiver>) -> Self {
        let hints = broadcast::Sender::new(Self::HINTS);
        Self { receivers: receivers.into_iter().collect(), hints, signals: Arc::default() }
    }

    /// The receivers.
    #[must_use]
    pub fn receivers(&self) -> &[Receiver] {
        &self.receivers
    }

    /// Tells the other nodes by these signals from here on.
    pub(crate) fn tell_by(&self, signals: &Arc<dyn Signals>) {
        // A clone in a second engine of this process tells by the first one's.
        let _ = self.signals.set(Arc::clone(signals));
    }

    pub(crate) fn hint(&self, delivery: &Delivery) {
        let Delivery { receiver, due, id, .. } = delivery;
        let hint = DeliveryHint { receiver: receiver.clone(), due: *due, id: *id };
        if let Some(signals) = self.signals.get() {
            signals.broadcast(NodeSignal::Delivery(hint.clone()));
        }
        self.hear(hint);
    }

    /// Takes note of a delivery, which perhaps another node has written.
    pub(crate) fn hear(&self, hint: DeliveryHint) {
        // The send fails if nothing delivers at the moment: the next loop that delivers begins by reading the
        // store.
        let _ = self.hints.send(hint);
    }

    /// The deliveries that a commit causes, one per receiver and occasion.
    fn deliveries(&self, commit: &Commit) -> Vec<Delivery> {
        let mut all = Vec::new();
        for write in &commit.writes {
            let Write::Record(entity, event) = write else { continue };
            match event.as_ref().map(|event| &event.body) {
                // An act is written once, and changes no more.
                _ if entity.kind == EntityKind::ACT => {
                    let Some(act) = write.as_record::<Act>() else { continue };
                    let subject = || Subject::Act(Box::new(act.clone()));
                    self.tell([Occasion::AgentActionCompleted], subject, commit.at, &mut all);
                }
                Some(EventBody::Task { task }) => {
                    let occasions = Occasion::of_task(task);
                    self.tell(occasions, || Subject::Task(task.clone()), commit.at, &mut all);
                }
                Some(EventBody::Question { question }) => {
                    let occasions = Occasion::of_question(question);
                    let subject = || Subject::Question(question.clone());
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
                    attempts_before: 0,
                    tried: None,
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
            commit.push(Write::record(delivery)?);
        }
        let committed = store.commit(commit).await?;
        deliveries.iter().for_each(|delivery| self.hint(delivery));
        Ok(committed)
    }
}

#[cfg(test)]
mod tests {
    use entourage_types::{AgentId, CallId, OnEnd, Status, Task, TaskId};

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
            on_end: OnEnd::Wake,
            group: None,
            kind: "researcher".into(),
            instruction: "look".into(),
            title: String::new(),
            origin: None,
            status: Status::Queued,
            result: None,
            post: None,
            run: None,
            reactivated: 0,
            created: at,
            updated: at,
        }
    }

    fn deliveries_of(outbox: &Outbox, task: Task) -> Vec<(String, Occasion)> {
        let commit = Commit::new(task.updated).write(Write::record(&task).unwrap());
        let told = outbox.deliveries(&commit).into_iter();
        told.map(|delivery| (delivery.receiver, delivery.occasion)).collect()
    }

    #[test]
    fn a_receiver_gets_only_the_events_of_its_owner_that_it_asked_for() {
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
        assert_eq!(deliveries_of(&outbox, task("ada")), [("all".to_owned(), Occasion::TaskCreated)]);
        let again = Task { reactivated: 1, ..task("ada") };
        assert_eq!(deliveries_of(&outbox, again), [("all".to_owned(), Occasion::TaskReactivated)]);
        let done = Task { status: Status::Succeeded, ..task("ada") };
        let names: Vec<_> = deliveries_of(&outbox, done).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["all", "ends"]);
        assert_eq!(deliveries_of(&outbox, task("eve")), []);
    }
}
