//! The event that a message to the document agent was acted upon: it is in the commit of the answer and the change, with
//! the fields of the design, and whoever is told of it disturbs nobody.

use std::time::Duration;

use entourage_engine::{Builder, NewAct, Outbox, Page, Receiver, Retention, Transport, Undelivered};
use entourage_llm::{Error as ModelError, ScriptedModel};
use entourage_store::{Commit, EntityQuery, MemoryStore, Write};
use entourage_testkit::{Fact, Fault, World, crash_stride};
use entourage_types::{
    Act, ActOutcome, Delivery, DeliveryStatus, DocumentHead, EntityKind, ItemBody, Occasion, Owner, Record,
    Scope, StepKey, Subject,
};
use serde_json::{Value, json};

use crate::{
    acts::{Place, builder, deciding, work},
    kit::{WorldBuilderExt, eventually, insist},
};

/// A receiver of all events of the owner `local`, and one of another owner.
fn heard(engine: Builder) -> Builder {
    let receiver = |name: &str, owner: &str| Receiver {
        name: name.into(),
        owner: Owner::new(owner),
        events: Occasion::ALL.to_vec(),
    };
    engine.outbox(Outbox::new([receiver("analytics", "local"), receiver("elsewhere", "eve")]))
}

/// The deliveries about acts.
async fn reported(world: &World) -> Vec<Delivery> {
    let found = world.store().entities(&Scope::All, EntityQuery::records::<Delivery>()).await.unwrap();
    let all = found.iter().map(|entity| Delivery::from_entity(entity).unwrap());
    all.filter(|delivery| delivery.occasion == Occasion::AgentActionCompleted).collect()
}

/// What is in a commit: an act, a delivery about one, the last text of a run, a document.
fn parts(commit: &Commit) -> [usize; 4] {
    let count = |is: &dyn Fn(&Write) -> bool| commit.writes.iter().filter(|write| is(write)).count();
    let is_delivery = |write: &Write| {
        write.as_record().is_some_and(|told: Delivery| told.status == DeliveryStatus::Pending)
    };
    let is_text = |write: &Write| {
        matches!(write, Write::Item(item)
            if item.step == Some(StepKey::LastText) && matches!(item.body, ItemBody::Turn(_)))
    };
    let is_document =
        |write: &Write| matches!(write, Write::Record(entity, _) if entity.kind == EntityKind::DOCUMENT);
    [
        count(&|write| write.as_record::<Act>().is_some()),
        count(&is_delivery),
        count(&is_text),
        count(&is_document),
    ]
}

/// The commits that write an act, a delivery or a last text.
fn closing(world: &World) -> Vec<[usize; 4]> {
    let facts = world.witness().facts().into_iter();
    let parts = facts.filter_map(|fact| match fact {
        Fact::Committed(commit) => Some(parts(&commit)),
        _ => None,
    });
    parts.filter(|parts| parts[..3] != [0; 3]).collect()
}

/// Shows: S5-R102, S5-R103, S5-R104, S5-R105, S5-R106, S5-R107, S5-R109.
#[tokio::test]
async fn each_outcome_is_reported_in_the_commit_of_its_answer() {
    let edit = || json!({ "should_edit": true, "document_id": 1 });
    let create = |name| json!({ "should_create": true, "document_name": name, "document_content": "# Stew" });
    let searched = json!({ "needs_web_search": true, "search_query": "stew", "should_create": true, "document_name": "Stew" });
    let salted = "# Soup\n\nWater, salt.\n";
    let refused = || {
        ScriptedModel::deciding(|_| {
            Some(Err(ModelError::Refused { model: "m".into(), cause: "key org-1".into() }))
        })
    };
    let cases: [(_, _, Option<u64>, [bool; 5]); 10] = [
        // Searched, updated, asked what is meant, asked whether to go on, to be created.
        (deciding(edit(), salted), ActOutcome::Updated, Some(1), [false, true, false, false, false]),
        (deciding(edit(), "# Soup\n\nWater.\n"), ActOutcome::NotUpdated, None, [false; 5]),
        (deciding(edit(), "S"), ActOutcome::Confirmation, None, [false, false, false, true, false]),
        (deciding(create("Stew"), ""), ActOutcome::Created, Some(2), [false, false, false, false, true]),
        (deciding(searched, ""), ActOutcome::Created, Some(2), [true, false, false, false, true]),
        (deciding(create("recipes"), ""), ActOutcome::NotCreated, None, [false, false, false, false, true]),
        (
            deciding(json!({ "needs_clarification": true, "clarification_question": "Which?" }), ""),
            ActOutcome::Clarification,
            None,
            [false, false, true, false, false],
        ),
        (
            deciding(json!({ "pending_confirmation": true, "confirmation_prompt": "Should I?" }), ""),
            ActOutcome::Confirmation,
            None,
            [false, false, false, true, false],
        ),
        (
            deciding(json!({ "conversational_response": "Water." }), ""),
            ActOutcome::Conversation,
            None,
            [false; 5],
        ),
        (refused(), ActOutcome::ModelFailed, None, [false; 5]),
    ];
    for (model, outcome, document, [searched, updated, clarification, confirmation, create]) in cases {
        let place = Place::with(model, heard).await;
        let (act, ..) = place.act(place.message("What of the soup?")).await;
        assert_eq!(act.outcome, outcome);
        let success = document.is_some();
        assert_eq!(closing(&place.world), [[1, 1, 1, usize::from(success)]], "{outcome}: in one commit");
        let [delivery] = &reported(&place.world).await[..] else { panic!("{outcome}: one event") };
        let Subject::Act(subject) = &delivery.subject else { panic!("{delivery:?}") };
        assert_eq!((&**subject, &delivery.owner, delivery.created), (&act, &Owner::local(), act.at));
        assert_eq!(
            serde_json::to_value(subject.completed()).unwrap(),
            json!({
                "user_id": "local", "chat_id": 1, "project_id": 1, "document_id": document,
                "action_type": "agent_action", "success": success,
                "metadata": {
                    "decision": act.decision, "web_search_performed": searched, "document_updated": updated,
                    "needs_clarification": clarification, "pending_confirmation": confirmation,
                    "should_create": create,
                },
            }),
            "{outcome}"
        );
    }
}

/// A document gets its number in the closing commit, and the chat's and the project's are those of this user.
///
/// Shows: S5-R103, S5-R107.
#[tokio::test]
async fn the_numbers_are_those_of_the_chat_its_project_and_the_document() {
    let create = json!({ "should_create": true, "document_name": "Stew", "document_content": "# Stew" });
    let place = Place::with(deciding(create, ""), heard).await;
    let client = place.client();
    let other = crate::documents::new_project(&client, "Other").await;
    for name in ["A", "B"] {
        client.create_document(crate::documents::new(other.id, name, "")).await.unwrap();
    }
    place.act(place.message("Write down a stew.")).await;
    let elsewhere = NewAct { project: Some(other.id), ..place.message("And here.") };
    let (act, _, chat) = place.act(elsewhere).await;
    // A chat goes on without its project being named.
    let again = NewAct { chat: Some(chat.agent), project: None, ..place.message("Again.") };
    place.act(again).await;
    let told = reported(&place.world).await;
    let numbers = told.iter().map(|delivery| match &delivery.subject {
        Subject::Act(act) => (act.numbers.chat, act.numbers.project, act.numbers.document),
        other => panic!("{other:?}"),
    });
    let mut numbers: Vec<_> = numbers.collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [(1, 1, Some(4)), (2, 2, None), (2, 2, Some(5))]);
    let head: DocumentHead = client.record(act.document.unwrap()).await.unwrap();
    assert_eq!(head.number, 5);
}

/// Shows: S5-R102, S5-R109, S5-R126.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_event_is_there_exactly_if_the_answer_is_whatever_commit_the_process_dies_at() {
    let run = async |decision: &Value, at: u64, fault: Fault| {
        let model = deciding(decision.clone(), "# Soup\n\nWater, salt.\n");
        let builder = builder(model).engine(heard).store(MemoryStore::default());
        let world = builder.start_with(at, fault).await;
        let faults = world.faults().clone();
        let person = |world: &World| world.engine().client(Owner::local());
        let (world, chat) = insist(world, async |world| work(&person(world)).await).await;
        let (world, _) = insist(world, async |world| Ok(world.ended(chat.agent).await)).await;
        let which = format!("{fault:?} at {at}");
        for [acts, events, texts, _] in closing(&world) {
            assert_eq!([acts, events, texts], [1; 3], "{which}: all of it or nothing");
        }
        let acts = person(&world).acts(chat.agent, Page::all()).await.unwrap();
        let told = reported(&world).await;
        assert_eq!((acts.len(), told.len()), (1, 1), "{which}");
        assert_eq!(told[0].subject, Subject::Act(Box::new(acts[0].clone())), "{which}");
        faults.commits()
    };
    for decision in [
        json!({ "should_edit": true, "document_id": 1 }),
        json!({ "should_create": true, "document_name": "Stew" }),
    ] {
        let commits = run(&decision, u64::MAX, Fault::DieBefore).await;
        for at in (1..=commits).step_by(crash_stride(2)) {
            for fault in Fault::ENDING {
                run(&decision, at, fault).await;
            }
        }
    }
}

/// What was not told yet of a chat and a project is told after they are gone.
#[tokio::test]
async fn a_pending_event_outlives_its_chat_and_its_project() {
    let place = Place::with(deciding(json!({ "conversational_response": "Water." }), ""), heard).await;
    let (act, _, chat) = place.act(place.message("What is soup?")).await;
    place.client().delete_project(place.project.id).await.unwrap();
    assert!(place.client().project(place.project.id).await.is_err());
    place.world.clock().advance(Duration::from_secs(100));
    let old = Retention { trees: Some(Duration::from_secs(10)), ..Retention::default() };
    assert_eq!(place.world.engine().prune(&old).await.unwrap().trees, 1);
    assert!(place.client().agent(chat.agent).await.is_err());
    let [delivery] = &reported(&place.world).await[..] else { panic!("it is still there") };
    assert_eq!(delivery.subject, Subject::Act(Box::new(act)));
}

/// A transport that fails, or never comes back.
struct Broken;

#[async_trait::async_trait]
impl Transport for Broken {
    async fn deliver(&self, delivery: &Delivery) -> Result<(), Undelivered> {
        match delivery.attempts {
            0 => panic!("the receiver is broken"),
            1 => Err(Undelivered::because("answered 500")),
            2 => std::future::pending().await,
            _ => Ok(()),
        }
    }
}

/// Shows: S5-R108.
#[tokio::test]
async fn a_receiver_that_fails_does_no_harm_to_the_message_and_gets_it_later() {
    let place = Place::with(deciding(json!({ "conversational_response": "Water." }), ""), heard).await;
    let engine = place.world.engine().clone();
    tokio::spawn(async move { engine.deliver(std::sync::Arc::new(Broken)).await });
    let (_, text, _) = place.act(place.message("What is soup?")).await;
    assert_eq!(text, "Water.");
    let advanced = async || {
        place.world.clock().advance(Duration::from_secs(61));
        reported(&place.world).await
    };
    let is_told = |told: &Vec<Delivery>| told[0].status == DeliveryStatus::Delivered;
    let told = eventually("it is told", advanced, is_told).await;
    assert_eq!((told.len(), told[0].attempts), (1, 4));
}
