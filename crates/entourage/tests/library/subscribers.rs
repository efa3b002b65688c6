//! Functions of a program that are told of events: at least once, also after a restart, and at nobody's cost.

use std::{path::Path, sync::Arc, time::Duration};

use entourage::{
    Entourage, Error, Owner, Page, Settings, Subscriber,
    engine::{NewAct, NewProject},
    types::{Act, Delivery, DeliveryId, Occasion, Subject},
};
use entourage_testkit::FakeClock;
use tokio::{sync::mpsc, task::JoinHandle};

use crate::{chain, hands_on, scripted, within};

/// A subscriber that sends on what it is told.
fn listener(name: &str, events: &[Occasion]) -> (Subscriber, mpsc::UnboundedReceiver<Delivery>) {
    let (tell, told) = mpsc::unbounded_channel();
    let subscriber = Subscriber::new(name, events.to_vec(), move |delivery| {
        let tell = tell.clone();
        async move { tell.send(delivery).map_err(|_| "nobody listens") }
    });
    (subscriber, told)
}

/// A subscriber that is told and never comes back; it says when it has been told.
fn hanging(name: &str, events: &[Occasion]) -> (Subscriber, mpsc::UnboundedReceiver<DeliveryId>) {
    let (tell, told) = mpsc::unbounded_channel();
    let subscriber = Subscriber::new(name, events.to_vec(), move |delivery| {
        tell.send(delivery.id).unwrap();
        std::future::pending::<Result<(), String>>()
    });
    (subscriber, told)
}

async fn next<T>(told: &mut mpsc::UnboundedReceiver<T>) -> T {
    within("it is told", told.recv()).await.expect("the subscriber is there")
}

/// Shows: S5-R108, S5-R123.
#[tokio::test]
async fn a_subscriber_that_panics_or_fails_is_told_again_later_and_one_that_hangs_delays_nobody() {
    let clock = FakeClock::default();
    let (well, mut heard) = listener("well", &[Occasion::TaskCompleted]);
    let (hangs, mut hung) = hanging("hangs", &Occasion::ALL);
    let (tell, mut told) = mpsc::unbounded_channel();
    // It panics before it returns a future, then in it; then it fails; then it is well.
    let weak = Subscriber::new("weak", [Occasion::TaskCompleted], move |delivery: Delivery| {
        let attempt = delivery.attempts;
        tell.send((attempt, delivery.id)).unwrap();
        assert_ne!(attempt, 0, "the subscriber panics");
        async move {
            assert_ne!(attempt, 1, "the subscriber panics in its future");
            if attempt == 2 { Err("no room") } else { Ok(()) }
        }
    });
    let builder = chain().0.in_memory().model(scripted(hands_on)).clock(Arc::new(clock.clone()));
    let agency = builder.subscriber(weak).subscriber(hangs).subscriber(well).open().await.unwrap();
    let result = within("the agents answer", agency.get_response("Go.").into_future()).await.unwrap();
    assert_eq!(result.final_output.as_deref(), Some("<<<Go.>>>"));
    // Two tasks were completed: one of the developer, one of the reviewer.
    for _ in 0..2 {
        let told = next(&mut heard).await;
        assert!(matches!(told.subject, Subject::Task(_)), "{told:?}");
    }
    next(&mut hung).await;
    let mut attempts = Vec::new();
    within("both are told four times", async {
        while attempts.len() < 8 {
            clock.advance(Duration::from_secs(10));
            match told.try_recv() {
                Ok(attempt) => attempts.push(attempt),
                Err(_) => tokio::task::yield_now().await,
            }
        }
    })
    .await;
    attempts.sort_unstable();
    let ids = |attempt: u32| -> Vec<DeliveryId> {
        attempts.iter().filter(|(of, _)| *of == attempt).map(|(_, id)| *id).collect()
    };
    assert_eq!(ids(0).len(), 2);
    assert!((1..4).all(|attempt| ids(attempt) == ids(0)), "under the same ids: {attempts:?}");
    within("it closes", agency.close()).await;
}

/// Settings of a directory, with the model that needs no network.
fn settings(directory: &Path) -> Settings {
    let mut settings = Settings { data: directory.to_owned(), ..Settings::default() };
    settings.models.default = Some("rehearsal".into());
    settings
}

/// An engine at work on this directory, whose program has these subscribers.
async fn at_work(directory: &Path, subscribers: Vec<Subscriber>) -> (Entourage, JoinHandle<()>) {
    let entourage = Entourage::open_with(&settings(directory), subscribers).await.unwrap();
    let worker = entourage.clone();
    (entourage, tokio::spawn(async move { worker.work().await.unwrap() }))
}

async fn stopped((entourage, worker): (Entourage, JoinHandle<()>)) {
    entourage.engine.stopping().cancel();
    within("it stops", worker).await.unwrap();
}

/// Sends a message to the document agent, and returns what it came to.
async fn act(entourage: &Entourage) -> Act {
    let client = entourage.engine.client(Owner::local());
    let project = NewProject { name: "Kitchen".into(), ..NewProject::default() };
    let project = Some(client.create_project(project).await.unwrap().id);
    let message = "What is soup?".to_owned();
    let new = NewAct { message, project, chat: None, open: None };
    let chat = client.act(new, None).await.unwrap().chat;
    within("the message is answered", async {
        loop {
            if let Some(act) = client.acts(chat, Page::all()).await.unwrap().pop() {
                return act;
            }
            tokio::task::yield_now().await;
        }
    })
    .await
}

/// Shows: S5-R102, S5-R108, S5-R123.
#[tokio::test]
async fn an_event_that_is_pending_as_the_program_ends_is_told_by_the_next_one() {
    let directory = tempfile::tempdir().unwrap();
    let only = [Occasion::AgentActionCompleted];
    let (hangs, mut hung) = hanging("analytics", &only);
    let broken =
        Subscriber::new("broken", only, |_| async { panic!("the subscriber panics") as Result<(), String> });
    let (beside, mut heard) = listener("beside", &only);
    let running = at_work(directory.path(), vec![broken, hangs, beside]).await;
    let done = act(&running.0).await;
    let told = next(&mut heard).await;
    let Subject::Act(reported) = &told.subject else { panic!("{told:?}") };
    assert_eq!(**reported, done);
    let event = reported.completed();
    assert_eq!((event.chat_id, event.project_id, event.user_id), (1, 1, Owner::local()));
    let pending = next(&mut hung).await;
    stopped(running).await;

    let (analytics, mut heard) = listener("analytics", &only);
    let running = at_work(directory.path(), vec![analytics]).await;
    let again = next(&mut heard).await;
    assert_eq!((again.id, again.subject), (pending, told.subject));
    stopped(running).await;
}

#[tokio::test]
async fn a_subscriber_with_the_name_of_a_webhook_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let mut settings = settings(directory.path());
    let webhook = serde_json::json!({
        "url": "http://127.0.0.1:9/", "secret": "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
        "events": ["agent_action.completed"],
    });
    settings.webhooks.insert("crm".into(), serde_json::from_value(webhook).unwrap());
    let (crm, _) = listener("crm", &Occasion::ALL);
    let refused = Entourage::open_with(&settings, vec![crm]).await.err().expect("it is refused");
    assert!(matches!(&refused, Error::Subscriber { name, .. } if name == "crm"), "{refused}");
    assert!(refused.to_string().contains("webhooks.crm"), "{refused}");
}
