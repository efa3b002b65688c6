//! Learnings: saved with the output, changed and retired by their short names.

use std::sync::Arc;

use entourage_tools::{Error, Outcome, Result, RetireLearning, SaveLearning, Tool, UpdateLearning};
use entourage_types::{Learning, LearningStatus};
use serde_json::{Value, json};

use crate::support::{Shelf, call_in, context, kind};

/// A call of an agent with these learnings.
async fn call(mind: &[Learning], tool: &dyn Tool, arguments: Value) -> Result<Learning> {
    let mut context = context(kind("helper", &[]), true);
    context.reader = Arc::new(Shelf::of(mind));
    match call_in(&context, tool, arguments).await? {
        Outcome::Done(mut done) => {
            let learning: Learning = done.records.remove(0).as_record().unwrap();
            assert!(done.text.contains(&learning.handle()), "{}", done.text);
            Ok(learning)
        }
        other => panic!("not done: {other:?}"),
    }
}

#[tokio::test]
async fn a_learning_is_saved_changed_and_retired() {
    let saved = call(&[], &SaveLearning, json!({ "text": " The user \n likes tea. " })).await.unwrap();
    assert_eq!((saved.text.as_str(), saved.status), ("The user likes tea.", LearningStatus::Kept));
    let mind = [saved.clone()];
    let change = json!({ "id": saved.handle(), "text": "The user likes coffee." });
    let changed = call(&mind, &UpdateLearning, change).await.unwrap();
    assert_eq!((changed.id, changed.text.as_str()), (saved.id, "The user likes coffee."));
    let retired = call(&mind, &RetireLearning, json!({ "id": saved.handle() })).await.unwrap();
    assert_eq!((retired.id, retired.status), (saved.id, LearningStatus::Retired));
}

#[tokio::test]
async fn an_invalid_learning_is_refused_with_advice() {
    let saved = call(&[], &SaveLearning, json!({ "text": "x" })).await.unwrap();
    let refused = |error: Error| error.to_string();
    for (text, why) in [(" ".to_owned(), "is empty"), ("x".repeat(301), "write a note")] {
        let error = call(&[], &SaveLearning, json!({ "text": text })).await.unwrap_err();
        assert!(refused(error).contains(why));
    }
    let unknown = call(std::slice::from_ref(&saved), &RetireLearning, json!({ "id": "zzz" })).await;
    assert!(refused(unknown.unwrap_err()).contains(&saved.handle()), "it names those there are");
    let mut many = Vec::new();
    for _ in 0..40 {
        many.push(call(&[], &SaveLearning, json!({ "text": "y" })).await.unwrap());
    }
    let full = call(&many, &SaveLearning, json!({ "text": "z" })).await.unwrap_err();
    assert!(refused(full).contains("update or retire one"));
}
