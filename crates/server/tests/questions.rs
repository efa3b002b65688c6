//! Questions: asked at any depth, answered once.

use entourage_api::{Grant, Question};
use entourage_engine::Kinds;
use entourage_types::{GrantStatus, QuestionStatus};
use serde_json::json;

use crate::site::Site;

#[tokio::test]
async fn a_question_of_a_sub_agent_is_listed_and_can_be_answered_once() {
    let site = Site::open().await;
    let (id, question) = site.asked("tell ask").await;
    let list = site.get(&format!("/v1/questions?status=open&root={id}")).await.expect(200);
    assert_eq!((&list["data"][0]["id"], &list["data"][0]["kind"]), (&json!(question), &json!("researcher")));
    let path = format!("/v1/questions/{question}");
    let open: Question = site.get(&path).await.read();
    let plain = Question { path: Vec::new(), because: None, ..open.clone() };
    assert_eq!(plain, site.client().question(open.id).await.unwrap().into());

    let answered: Question = site.post(&format!("{path}/answer"), &json!({"answer": "blue"})).await.read();
    assert_eq!((answered.status, answered.answer.as_deref()), (QuestionStatus::Answered, Some("blue")));
    let again = site.post(&format!("{path}/answer"), &json!({"answer": "red"})).await;
    let told = again.problem(409, "question-not-open").detail;
    assert!(told.contains("answered already: `blue`, by local, at "), "{told}");

    site.follow(&id, 0).await.until(|frame| frame.is_status_of(&id, "succeeded")).await;
    let open = site.get("/v1/questions?status=open").await.expect(200);
    assert_eq!(open["data"], json!([]));
}

#[tokio::test]
async fn a_question_can_be_declined() {
    let site = Site::open().await;
    let (id, question) = site.asked("ask").await;
    let path = format!("/v1/questions/{question}/answer");
    let declined: Question = site.post(&path, &json!({"decline": true})).await.read();
    assert_eq!(declined.status, QuestionStatus::Declined);
    site.follow(&id, 0).await.until(|frame| frame.is_status_of(&id, "succeeded")).await;
}

#[tokio::test]
async fn an_answer_must_be_either_a_text_or_a_refusal() {
    let site = Site::open().await;
    let (_, question) = site.asked("ask").await;
    let path = format!("/v1/questions/{question}/answer");
    for body in [
        json!({}),
        json!({"answer": "blue", "decline": true}),
        json!({"decline": false}),
        json!({"answer": "blue", "verdict": "retry"}),
        json!({"verdict": "perhaps"}),
    ] {
        site.post(&path, &body).await.problem(422, "invalid-body");
    }
    let refused = site.post(&path, &json!({"verdict": "retry"})).await.problem(422, "invalid-request");
    assert!(refused.detail.contains("which is about information"), "{refused:?}");
    let empty = site.post(&path, &json!({"answer": "  "})).await.problem(422, "invalid-body");
    assert!(empty.detail.contains("`answer` is empty"), "{empty:?}");
    let wrong =
        site.post(&path, &json!({"answer": "blue", "digest": "x"})).await.problem(422, "invalid-body");
    assert!(wrong.detail.contains("`digest` go with an approval"), "{wrong:?}");
}

#[tokio::test]
async fn an_approval_can_be_given_with_edits_and_its_grant_revoked_over_http() {
    let front = "name: assistant\napproval:\n  - tools: create_note";
    let (kind, findings) = entourage_engine::kinds::parse("k.md", &format!("---\n{front}\n---\nNote it."));
    let kind = kind.unwrap_or_else(|| panic!("{findings:?}"));
    let site = Site::of_kinds(Kinds::none().with(kind)).await;
    let (id, question) = site.asked("note").await;
    let path = format!("/v1/questions/{question}");
    let asked = site.get(&path).await.expect(200);
    let proposal = &asked["proposal"];
    assert_eq!((&asked["about"], &proposal["tool"]), (&json!("approval"), &json!("create_note")));
    assert_eq!(proposal["parameters"]["type"], "object");
    let to = format!("{path}/answer");
    let judge = async |body: serde_json::Value| site.post(&to, &body).await;
    judge(json!({"verdict": "approve", "reason": "why not"})).await.problem(422, "invalid-body");
    judge(json!({"verdict": "reject", "arguments": {}})).await.problem(422, "invalid-body");
    judge(json!({"answer": "no", "reason": "why"})).await.problem(422, "invalid-body");
    judge(json!({"verdict": "give_up"})).await.problem(422, "invalid-request");
    judge(json!({"verdict": "approve", "arguments": {"title": 1}})).await.problem(422, "invalid-request");
    judge(json!({"verdict": "approve", "digest": "another"})).await.problem(409, "other-call");

    let edited = json!({"title": "Found", "content": "It is green."});
    let body = json!({"verdict": "approve_always", "arguments": edited, "digest": proposal["digest"]});
    assert_eq!(judge(body).await.expect(200)["status"], "answered");
    let late = judge(json!({"verdict": "reject"})).await.problem(409, "question-not-open").detail;
    assert!(late.contains("`approve always with {"), "{late}");
    site.follow(&id, 0).await.until(|frame| frame.is_status_of(&id, "succeeded")).await;
    let notes = site.get(&format!("/v1/notes?root={id}")).await.expect(200);
    assert_eq!(notes["data"][0]["content"], "It is green.");

    let grants = site.get(&format!("/v1/grants?agent={id}&status=standing")).await.expect(200);
    let grant: Grant = serde_json::from_value(grants["data"][0].clone()).unwrap();
    assert_eq!((grant.tool.as_str(), grant.rule.as_str()), ("create_note", "create_note"));
    let revoked = site.delete(&format!("/v1/grants/{}", grant.id)).await;
    assert_eq!(revoked.read::<Grant>().status, GrantStatus::Revoked);
    let standing = site.get("/v1/grants?status=standing").await.expect(200);
    assert_eq!(standing["data"], json!([]));
}
