//! Functions of the program that are told of events. Each is a receiver of the outbox like any other: what it is to be
//! told is a row in the commit that caused it, so that no crash loses it, and nobody waits for it (S5-R108).

use std::{collections::BTreeMap, fmt::Display, sync::Arc};

use async_trait::async_trait;
use entourage_engine::{Outbox, Receiver, Transport, Undelivered};
use entourage_types::{Delivery, Occasion, Owner};
use futures::{FutureExt, future::BoxFuture};

use crate::{Error, Result};

/// The longest name of a receiver.
const NAME_CHARS: usize = 255;

/// A function, with its types forgotten.
type Told = Arc<dyn Fn(Delivery) -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

/// A function that is told of events (S5-R123): of one owner, and of the occasions that it asks for.
///
/// It is told at least once, in no promised order, and always under the same [id](Delivery::id). If it returns an error,
/// panics or takes longer than a minute, it is told again: after 5 seconds, then after twice as long each time up to an
/// hour, for about a day. At most four of its calls are under way at once. It must not block its thread; what blocks
/// belongs into `spawn_blocking`.
#[derive(Clone)]
#[must_use]
pub struct Subscriber {
    receiver: Receiver,
    told: Told,
}

impl Subscriber {
    /// A subscriber to what happens to the owner `local`. What is pending for it is kept under its name: it stays the
    /// same from one process to the next, and no other subscriber and no webhook has it. The text of an error is stored
    /// and shown, so it must hold nothing secret.
    pub fn new<F, A, E>(name: impl Into<String>, events: impl IntoIterator<Item = Occasion>, told: F) -> Self
    where
        F: Fn(Delivery) -> A + Send + Sync + 'static,
        A: Future<Output = Result<(), E>> + Send + 'static,
        E: Display,
    {
        let events = events.into_iter().collect();
        let receiver = Receiver { name: name.into(), owner: Owner::local(), events };
        let told: Told = Arc::new(move |delivery| {
            let telling = told(delivery);
            async move { telling.await.map_err(|error| error.to_string()) }.boxed()
        });
        Self { receiver, told }
    }

    /// Subscribes to what happens to this owner instead.
    pub fn owner(mut self, owner: Owner) -> Self {
        self.receiver.owner = owner;
        self
    }
}

impl std::fmt::Debug for Subscriber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Subscriber").field("receiver", &self.receiver).finish_non_exhaustive()
    }
}

/// The outbox and the transport with these subscribers beside the receivers that they have.
///
/// # Errors
/// [`Error::Subscriber`] names the first that cannot be one.
pub(crate) fn subscribed(
    subscribers: Vec<Subscriber>,
    outbox: Outbox,
    others: Arc<dyn Transport>,
) -> Result<(Outbox, Arc<dyn Transport>)> {
    if subscribers.is_empty() {
        return Ok((outbox, others));
    }
    let mut receivers = outbox.receivers().to_vec();
    let mut own = BTreeMap::new();
    for Subscriber { receiver, told } in subscribers {
        check(&receiver)?;
        let name = receiver.name.clone();
        if own.insert(name.clone(), told).is_some() {
            return Err(unusable(&name, "there are two of this name; give each a name of its own"));
        }
        if outbox.receivers().iter().any(|other| other.name == name) {
            let why =
                format!("the settings have a webhook of this name, `webhooks.{name}`; rename one of them");
            return Err(unusable(&name, &why));
        }
        receivers.push(receiver);
    }
    Ok((Outbox::new(receivers), Arc::new(Functions { own, others })))
}

fn check(receiver: &Receiver) -> Result<()> {
    let Receiver { name, events, .. } = receiver;
    if name.trim().is_empty() || name.chars().count() > NAME_CHARS {
        return Err(unusable(name, &format!("a name has 1 to {NAME_CHARS} characters; give it one")));
    }
    if events.is_empty() {
        return Err(unusable(name, "it asks for no event; name some, or `Occasion::ALL`"));
    }
    Ok(())
}

fn unusable(name: &str, why: &str) -> Error {
    Error::Subscriber { name: name.to_owned(), why: why.to_owned() }
}

/// Delivers to the function of the receiver's name, and what is for nobody among them to other receivers.
struct Functions {
    own: BTreeMap<String, Told>,
    others: Arc<dyn Transport>,
}

#[async_trait]
impl Transport for Functions {
    async fn deliver(&self, delivery: &Delivery) -> std::result::Result<(), Undelivered> {
        match self.own.get(&delivery.receiver) {
            // The engine ends what takes too long, and catches what panics.
            Some(told) => told(delivery.clone()).await.map_err(Undelivered::because),
            None => self.others.deliver(delivery).await,
        }
    }
}

/// Delivers nothing: there are no receivers but the functions of the program.
pub(crate) struct NoReceivers;

#[async_trait]
impl Transport for NoReceivers {
    async fn deliver(&self, _: &Delivery) -> std::result::Result<(), Undelivered> {
        Err(Undelivered::because("this program delivers to its own subscribers alone"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subscriber(name: &str) -> Subscriber {
        Subscriber::new(name, Occasion::ALL, |_| async { Ok::<_, String>(()) })
    }

    fn refused(subscribers: Vec<Subscriber>) -> String {
        let settings = Receiver { name: "crm".into(), owner: Owner::local(), events: Occasion::ALL.into() };
        match subscribed(subscribers, Outbox::new([settings]), Arc::new(NoReceivers)) {
            Err(error) => error.to_string(),
            Ok((outbox, _)) => panic!("{:?}", outbox.receivers()),
        }
    }

    #[test]
    fn a_subscriber_has_a_name_of_its_own_and_asks_for_something() {
        let taken = refused(vec![subscriber("mine"), subscriber("crm")]);
        assert!(taken.contains("`crm`") && taken.contains("webhooks.crm"), "{taken}");
        assert!(refused(vec![subscriber("mine"), subscriber("mine")]).contains("two of this name"));
        assert!(refused(vec![subscriber(" ")]).contains("1 to 255"));
        let deaf = Subscriber::new("mine", [], |_| async { Ok::<_, String>(()) });
        assert!(refused(vec![deaf]).contains("no event"));
    }

    #[test]
    fn the_receivers_of_the_settings_stay() {
        let settings = Receiver { name: "crm".into(), owner: Owner::local(), events: Occasion::ALL.into() };
        let ada = subscriber("mine").owner(Owner::new("ada"));
        let (outbox, _) = subscribed(vec![ada], Outbox::new([settings]), Arc::new(NoReceivers)).unwrap();
        let names = outbox.receivers().iter().map(|receiver| (&*receiver.name, receiver.owner.as_str()));
        assert_eq!(names.collect::<Vec<_>>(), [("crm", "local"), ("mine", "ada")]);
    }
}
