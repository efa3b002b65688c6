//! What earlier versions stored in words: the answers of questions, and what grants exempt from.

use entourage_store::{Commit, EntityQuery, Store, Write};
use entourage_store_sqlite::{Settings, SqliteStore};
use entourage_types::{
    About, Agent, Answer, CallId, EntityKind, EventBody, Grant, GrantId, GrantStatus, GrantSubject, Owner,
    Proposal, Question, QuestionId, QuestionStatus, Record, RunId, Scope, Time, Verdict,
};
use rusqlite::{Connection, params};
use serde_json::json;
use tempfile::TempDir;

use crate::older::undo_later;

const AT: Time = Time::from_micros(1_794_182_400_000_000);

fn question(agent: &Agent, about: About, answer: Option<Answer>) -> Question {
    let status = match &answer {
        None => QuestionStatus::Open,
        Some(Answer::Declined) => QuestionStatus::Declined,
        Some(Answer::Expired) => QuestionStatus::Expired,
        Some(_) => QuestionStatus::Answered,
    };
    Question {
        id: QuestionId::new(),
        owner: agent.owner.clone(),
        root: agent.root,
        agent: agent.id,
        kind: agent.kind.clone(),
        run: RunId::new(),
        call: CallId::new(),
        task: None,
        about,
        text: "May I?".to_owned(),
        options: Vec::new(),
        proposal: None,
        due: None,
        otherwise: (about == About::Approval).then_some(Verdict::Reject),
        status,
        answer,
        answered_by: None,
        created: AT,
        updated: AT,
    }
}

/// Writes the answers as version 24 did: in the question's body and in the event that reports it.
fn in_words(file: &Connection, questions: &[Question]) {
    for question in questions {
        let id = question.id.to_string();
        let words = question.answer_in_words();
        for sql in [
            "UPDATE entities SET body = json_remove(body, '$.answer') WHERE id = ?1 AND ?2 IS NULL",
            "UPDATE events SET body = json_remove(body, '$.question.answer')
             WHERE body ->> '$.question.id' = ?1 AND ?2 IS NULL",
            "UPDATE entities SET body = json_set(body, '$.answer', ?2) WHERE id = ?1 AND ?2 IS NOT NULL",
            "UPDATE events SET body = json_set(body, '$.question.answer', ?2)
             WHERE body ->> '$.question.id' = ?1 AND ?2 IS NOT NULL",
        ] {
            file.execute(sql, params![id, words]).unwrap();
        }
    }
    undo_later(file);
    file.pragma_update(None, "user_version", 24).unwrap();
}

#[tokio::test]
async fn an_answer_that_was_stored_in_words_is_read_as_it_was_given() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("entourage.db");
    let store = SqliteStore::open(&path, Settings::default()).unwrap();
    let agent = Agent::root(Owner::local(), "helper", "", AT);
    let approved = |arguments, always| Answer::Approve { arguments, always, digest: None };
    let rejected = |reason: Option<&str>| Answer::Reject { reason: reason.map(str::to_owned) };
    let questions: Vec<Question> = [
        (About::Information, None),
        (About::Information, Some(Answer::Text("approve".to_owned()))),
        (About::Information, Some(Answer::Text("{\"text\": 1}".to_owned()))),
        (About::Information, Some(Answer::Declined)),
        (About::Information, Some(Answer::Expired)),
        (About::Approval, Some(approved(None, false))),
        (About::Approval, Some(approved(None, true))),
        (About::Approval, Some(approved(Some(json!({"n": 7, "text": "approve"})), false))),
        (About::Approval, Some(approved(Some(json!({"n": 7})), true))),
        (About::Approval, Some(rejected(None))),
        (About::Approval, Some(rejected(Some("too: dear")))),
        (About::Approval, Some(Answer::Expired)),
        (About::Doubt, Some(Answer::Retry)),
        (About::Doubt, Some(Answer::GiveUp)),
        (About::Doubt, Some(Answer::Text("it was paid".to_owned()))),
    ]
    .map(|(about, answer)| question(&agent, about, answer))
    .into();
    let mut commit = Commit::new(AT).write(Write::NewAgent(agent.clone()));
    for question in &questions {
        commit.push(Write::record(question).unwrap());
    }
    store.commit(commit).await.unwrap();
    drop(store);
    in_words(&Connection::open(&path).unwrap(), &questions);

    let store = SqliteStore::open(&path, Settings::default()).unwrap();
    let query = EntityQuery::records::<Question>();
    let mut kept: Vec<Question> = store
        .entities(&Scope::All, query)
        .await
        .unwrap()
        .iter()
        .map(|entity| Question::from_entity(entity).unwrap())
        .collect();
    kept.sort_by_key(|question| questions.iter().position(|other| other.id == question.id));
    assert_eq!(kept, questions);
    let events = store.events(&Scope::All, agent.id, 0, 100).await.unwrap();
    let reported = events.into_iter().filter_map(|event| match event.body {
        EventBody::Question { question } => Some(*question),
        _ => None,
    });
    assert_eq!(reported.collect::<Vec<_>>(), questions);
}

#[tokio::test]
async fn a_grant_that_was_stored_with_the_text_of_its_rule_names_the_rule_or_the_host() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("entourage.db");
    let store = SqliteStore::open(&path, Settings::default()).unwrap();
    let agent = Agent::root(Owner::local(), "helper", "", AT);
    let subjects = [
        GrantSubject::Rule("pay when n > 1000".to_owned()),
        GrantSubject::Rule("addresses".to_owned()),
        GrantSubject::Host("example.org:8080".to_owned()),
    ];
    let mut commit = Commit::new(AT).write(Write::NewAgent(agent.clone()));
    let mut expected = Vec::new();
    for subject in subjects {
        let proposal = Proposal {
            tool: "pay".to_owned(),
            arguments: json!({"n": 2000}),
            parameters: json!({}),
            digest: String::new(),
            kind_version: String::new(),
            held_by: Some(subject.clone()),
        };
        let answer = Answer::Approve { arguments: None, always: true, digest: None };
        let asked = Question {
            proposal: Some(Box::new(proposal)),
            ..question(&agent, About::Approval, Some(answer))
        };
        let grant = Grant {
            id: GrantId::new(),
            owner: agent.owner.clone(),
            root: agent.root,
            agent: agent.id,
            tool: "pay".to_owned(),
            subject,
            question: asked.id,
            status: GrantStatus::Standing,
            created: AT,
            updated: AT,
        };
        commit.push(Write::record(&asked).unwrap());
        commit.push(Write::record(&grant).unwrap());
        expected.push((asked, grant));
    }
    store.commit(commit).await.unwrap();
    drop(store);

    let file = Connection::open(&path).unwrap();
    for (asked, grant) in &expected {
        for (id, old, new) in [
            (asked.id.to_string(), "$.proposal.rule", "$.proposal.held_by"),
            (grant.id.to_string(), "$.rule", "$.subject"),
        ] {
            let sql = "UPDATE entities SET body = json_remove(json_set(body, ?2, ?4), ?3) WHERE id = ?1";
            file.execute(sql, params![id, old, new, grant.subject.to_string()]).unwrap();
        }
        for (noun, id, old, new) in [
            ("question", asked.id.to_string(), "$.question.proposal.rule", "$.question.proposal.held_by"),
            ("grant", grant.id.to_string(), "$.grant.rule", "$.grant.subject"),
        ] {
            let sql = format!(
                "UPDATE events SET body = json_remove(json_set(body, ?2, ?4), ?3) WHERE body ->> '$.{noun}.id' = ?1"
            );
            let changed = file.execute(&sql, params![id, old, new, grant.subject.to_string()]).unwrap();
            assert_eq!(changed, 1);
        }
    }
    in_words(&file, &expected.iter().map(|(asked, _)| asked.clone()).collect::<Vec<_>>());
    drop(file);

    let store = SqliteStore::open(&path, Settings::default()).unwrap();
    for (asked, grant) in &expected {
        let kept = store.entity(&Scope::All, EntityKind::QUESTION, &asked.id.to_string()).await.unwrap();
        assert_eq!(Question::from_entity(&kept.unwrap()).unwrap(), *asked);
        let kept = store.entity(&Scope::All, EntityKind::GRANT, &grant.id.to_string()).await.unwrap();
        assert_eq!(Grant::from_entity(&kept.unwrap()).unwrap(), *grant);
    }
    let events = store.events(&Scope::All, agent.id, 0, 100).await.unwrap();
    let reported: Vec<_> = events.into_iter().map(|event| event.body).collect();
    for (asked, grant) in &expected {
        assert!(reported.contains(&EventBody::Question { question: Box::new(asked.clone()) }));
        assert!(reported.contains(&EventBody::Grant { grant: Box::new(grant.clone()) }));
    }
}
