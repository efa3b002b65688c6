//! The spans of a message to the document agent: what was loaded, decided, searched, written and stored.

use std::sync::{Arc, Mutex};

use entourage_engine::{Span, SpanId, TraceValue, Tracer, trace::gen_ai};
use entourage_types::AgentId;
use serde_json::json;

use crate::{
    acts::{Place, deciding},
    kit::eventually,
};

/// A tracer that keeps what it is given.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<Span>>>);

impl Tracer for Kept {
    fn ended(&self, span: Span) {
        self.0.lock().unwrap().push(span);
    }
}

impl Kept {
    /// The spans of the run, once it has ended.
    async fn of_run(&self) -> Vec<Span> {
        let spans = async || self.0.lock().unwrap().clone();
        let has_ended = |spans: &Vec<Span>| operations(spans).contains(&gen_ai::INVOKE_AGENT.to_owned());
        eventually("the run's span", spans, has_ended).await
    }
}

fn attribute(span: &Span, name: &str) -> Option<String> {
    let found = span.attributes.iter().find(|(key, _)| *key == name)?;
    match &found.1 {
        TraceValue::Text(text) => Some(text.clone()),
        TraceValue::Count(count) => Some(count.to_string()),
    }
}

fn operations(spans: &[Span]) -> Vec<String> {
    spans.iter().filter_map(|span| attribute(span, gen_ai::OPERATION)).collect()
}

async fn place(decision: serde_json::Value, text: &'static str) -> (Place, Kept) {
    let kept = Kept::default();
    let tracer: Arc<dyn Tracer> = Arc::new(kept.clone());
    let place = Place::with(deciding(decision, text), move |engine| engine.tracer(Some(Arc::clone(&tracer))));
    (place.await, kept)
}

/// Shows: S5-R122.
#[tokio::test]
async fn each_operation_of_an_act_is_a_span_of_its_run() {
    let edit = json!({
        "should_edit": true, "document_id": 1, "needs_web_search": true, "search_query": "salted soup",
        "intent_statement": "I'll salt it.",
    });
    let (place, kept) = place(edit, "# Soup\n\nWater, salt.\n").await;
    let (act, _, chat) = place.act(place.message("Salt the soup.")).await;
    let spans = kept.of_run().await;
    assert_eq!(
        operations(&spans),
        [gen_ai::LOAD, gen_ai::CHAT, gen_ai::EXECUTE_TOOL, gen_ai::CHAT, gen_ai::STORE, gen_ai::INVOKE_AGENT]
    );
    let steps: Vec<_> = spans.iter().filter_map(|span| attribute(span, gen_ai::STEP)).collect();
    assert_eq!(steps, ["decision/decision", "decision/rewrite of version 1"]);
    let (run, of_run) = spans.split_last().unwrap();
    assert_eq!(run.id, SpanId::of_run(act.run));
    for span in of_run {
        assert_eq!((span.parent, span.trace), (Some(run.id), run.trace), "{span:?}");
        assert!(span.began >= run.began && span.ended <= run.ended && span.error.is_none(), "{span:?}");
        let of_chat = attribute(span, gen_ai::AGENT_ID).map(|agent| agent.parse::<AgentId>());
        assert_eq!(of_chat, Some(Ok(chat.agent)));
    }
    let ids: std::collections::HashSet<_> = spans.iter().map(|span| span.id).collect();
    assert_eq!(ids.len(), spans.len());
    let all = format!("{spans:?}").to_lowercase();
    for word in ["salt", "soup", "water", "recipes", "kitchen"] {
        assert!(!all.contains(word), "`{word}` is content: {all}");
    }
}

/// What was refused is a failed span, and what was said instead another one.
#[tokio::test]
async fn a_refused_commit_is_a_failed_span_without_content() {
    let (place, kept) = place(json!({ "should_create": true, "document_name": "Recipes" }), "").await;
    place.act(place.message("New recipes.")).await;
    let spans = kept.of_run().await;
    let stored: Vec<_> = spans.iter().filter(|span| span.name == gen_ai::STORE).collect();
    let errors: Vec<_> = stored.iter().map(|span| span.error.as_deref()).collect();
    assert_eq!(errors, [Some("the commit was refused"), None]);
    assert_eq!(attribute(stored[0], gen_ai::ERROR_TYPE).as_deref(), Some("refused"));
}
