//! Questions: asked at any depth, answered once.

use entourage_types::{Question, QuestionStatus};
use serde_json::json;

use crate::site::Site;

#[tokio::test]
async fn a_question_from_below_is_listed_answered_once_and_the_tree_goes_on() {
    let site = Site::open().await;
    let (id, question) = site.asked("tell ask").await;
    let list = site.get(&format!("/v1/questions?status=open&root={id}")).await.expect(200);
    assert_eq!((&list["data"][0]["id"], &list["data"][0]["kind"]), (&json!(question), &json!("researcher")));
    let path = format!("/v1/questions/{question}");
    let open: Question = site.get(&path).await.read();
    assert_eq!(open, site.client().question(open.id).await.unwrap());

    let answered: Question = site.post(&format!("{path}/answer"), &json!({"answer": "blue"})).await.read();
    assert_eq!((answered.status, answered.answer.as_deref()), (QuestionStatus::Answered, Some("blue")));
    let again = site.post(&format!("{path}/answer"), &json!({"answer": "red"})).await;
    assert!(again.problem(409, "question-not-open").detail.contains("answered already"));

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
async fn an_answer_is_a_text_or_a_refusal_not_both_and_not_neither() {
    let site = Site::open().await;
    let (_, question) = site.asked("ask").await;
    let path = format!("/v1/questions/{question}/answer");
    for body in [json!({}), json!({"answer": "blue", "decline": true}), json!({"decline": false})] {
        site.post(&path, &body).await.problem(422, "invalid-body");
    }
    site.post(&path, &json!({"answer": "  "})).await.problem(422, "invalid-request");
}
