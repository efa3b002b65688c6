//! A model that knows the tasks: it does each correctly, or answers without looking.

use std::convert::Infallible;

use axum::{
    Json, Router,
    response::sse::{Event, Sse},
    routing::post,
};
use serde_json::{Value, json};

use super::tasks::TASKS;

/// Serves it on loopback, for as long as the program runs; returns its address.
pub(super) async fn serve(page: String, looks: bool) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let answer = move |Json(request): Json<Value>| {
        let said = next(&request, &page, looks).to_string();
        async move {
            let chunk = |delta: Value, stop: Value| {
                json!({"choices": [{"index": 0, "delta": delta, "finish_reason": stop}],
                       "usage": {"prompt_tokens": 10, "completion_tokens": 5}})
            };
            let parts = [
                chunk(json!({"content": said}), Value::Null).to_string(),
                chunk(json!({}), json!("stop")).to_string(),
                "[DONE]".to_owned(),
            ];
            let events = parts.map(|data| Ok::<_, Infallible>(Event::default().data(data)));
            Sse::new(futures::stream::iter(events))
        }
    };
    let app = Router::new().route("/v1/chat/completions", post(answer));
    tokio::spawn(async move { axum::serve(listener, app).await });
    format!("http://{address}/v1")
}

/// The next action: by the task in the messages, and the number of earlier actions.
fn next(request: &Value, page: &str, looks: bool) -> Value {
    let messages = request["messages"].as_array().unwrap();
    let text = |message: &Value| message["content"].as_str().unwrap_or_default().to_owned();
    let asked: Vec<String> = messages.iter().filter(|m| m["role"] == "user").map(text).collect();
    let is_asked = |ask: &str| asked.iter().any(|message| message.contains(&ask.replace("{page}", page)));
    let task = TASKS.iter().find(|task| is_asked(task.ask)).unwrap();
    let may = |tool: &str| text(&messages[0]).contains(&format!("\"{tool}\""));
    let done = messages.iter().filter(|message| message["role"] == "assistant").count();
    let mut calls = if looks { (task.calls)(page) } else { Vec::new() };
    // An agent without the tool delegates the task.
    if calls.first().is_some_and(|(tool, _)| !may(tool)) {
        let handed = json!({"recipient": "researcher", "message": task.ask.replace("{page}", page)});
        calls = vec![("send_message", handed)];
    }
    match calls.get(done) {
        Some((tool, arguments)) => json!({"action": tool, "arguments": arguments}),
        None if looks => json!({"action": "final_answer", "text": task.answer}),
        None => json!({"action": "final_answer", "text": "It is known."}),
    }
}
