//! A provider on this machine: a list of models, and a model that answers `yes`, or refuses what asks for that.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    thread,
};

/// The key that it accepts.
pub(crate) const KEY: &str = "sk-good";

/// A provider with the models `listed` on its list; it knows `unlisted`, too, when it is called.
pub(crate) struct Provider {
    pub(crate) url: String,
}

impl Provider {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/v1", listener.local_addr().expect("bound"));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                thread::spawn(move || answer(stream));
            }
        });
        Self { url }
    }

    /// Settings that lead to it.
    pub(crate) fn settings(&self, model: &str, key: &str) -> String {
        format!(
            "[models]\ndefault = \"openai::{model}\"\n[models.providers.openai]\nbase_url = \"{}\"\nkey = \"{key}\"\n",
            self.url
        )
    }
}

/// Answers one request; none if the client hangs up.
fn answer(mut stream: TcpStream) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let lower = head.to_lowercase();
    let length = lower.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let body = String::from_utf8(body).ok()?;
    let knows = |name: &str| body.contains(&format!("\"{name}\""));
    let (status, text) = if !lower.contains(&format!("bearer {KEY}")) {
        ("401 Unauthorized", r#"{"error":{"message":"Incorrect API key provided"}}"#.to_owned())
    } else if head.starts_with("GET /v1/models ") {
        ("200 OK", r#"{"data":[{"id":"listed"},{"id":"another","max_model_len":16384},{"id":"loud\u001b[2J\u202e"}]}"#.to_owned())
    } else if body.contains("Refuse this") {
        ("400 Bad Request", r#"{"error":{"message":"It makes no sense"}}"#.to_owned())
    } else if knows("listed") || knows("another") || knows("unlisted") {
        let chunk = r#"{"choices":[{"index":0,"delta":{"content":"yes"},"finish_reason":"stop"}]}"#;
        let usage = r#"{"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":1,"total_tokens":12}}"#;
        ("200 OK", format!("data: {chunk}\n\ndata: {usage}\n\ndata: [DONE]\n\n"))
    } else {
        ("404 Not Found", r#"{"error":{"message":"The model does not exist"}}"#.to_owned())
    };
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: text/event-stream\r\nConnection: close\r\n");
    write!(stream, "{head}Content-Length: {}\r\n\r\n{text}", text.len()).ok()
}
