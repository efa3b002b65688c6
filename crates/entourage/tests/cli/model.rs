//! A model behind a provider's API, whose answers a test controls.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    process::Command,
    sync::mpsc,
    thread,
    time::Duration,
};

use serde_json::{Value, json};

/// A server with OpenAI's chat completions API.
pub(crate) struct Model {
    listener: TcpListener,
}

/// The next connection; if none comes, the test fails instead of waiting for ever.
#[track_caller]
pub(crate) fn accepted(listener: &TcpListener) -> TcpStream {
    let (says, comes) = mpsc::channel();
    let theirs = listener.try_clone().expect("cloned");
    thread::spawn(move || says.send(theirs.accept()));
    let (stream, _) = comes.recv_timeout(Duration::from_secs(60)).expect("somebody asks").expect("taken");
    stream
}

/// A request that waits for its answer.
pub(crate) struct Asked {
    /// The body of the request.
    pub(crate) body: Value,
    stream: TcpStream,
}

impl Model {
    pub(crate) fn new() -> Self {
        Self { listener: TcpListener::bind("127.0.0.1:0").expect("a port") }
    }

    /// A model that answers every request with this text.
    pub(crate) fn saying(text: &str) -> Self {
        let text = text.to_owned();
        Self::new().answering(move |asked| asked.text(&text).end())
    }

    /// A model that asks the user this at every request.
    pub(crate) fn asking(question: &str) -> Self {
        Self::calling("ask_user", &json!({ "question": question }))
    }

    /// A model that calls this tool.
    pub(crate) fn calling(tool: &'static str, arguments: &Value) -> Self {
        let arguments = arguments.clone();
        Self::new().answering(move |asked| asked.call(tool, &arguments).end())
    }

    /// A model that calls this tool, and then repeats its output.
    pub(crate) fn calling_once(tool: &'static str, arguments: &Value) -> Self {
        let arguments = arguments.clone();
        Self::new().answering(move |asked| {
            let messages = asked.body["messages"].as_array().cloned().unwrap_or_default();
            match messages.iter().rev().find(|message| message["role"] == "tool") {
                Some(output) => {
                    let said = output["content"].as_str().unwrap_or_default();
                    asked.text(&format!("It said: {said}")).end();
                }
                None => asked.call(tool, &arguments).end(),
            }
        })
    }

    /// A model that explores: it asks which one if the request is vague, has no parts explored, and repeats in the
    /// result what the user said.
    pub(crate) fn exploring() -> Self {
        Self::new().answering(|asked| {
            let messages = asked.body["messages"].as_array().cloned().unwrap_or_default();
            let of = |role: &str| {
                let of_role = messages.iter().filter(|message| message["role"] == role);
                let words = of_role.filter_map(|message| message["content"].as_str().map(str::to_owned));
                words.collect::<Vec<_>>().join("\n")
            };
            let system = of("system");
            // A decision reads the conversation as one text.
            let conversation = of("user");
            let said = |line: &'_ str| {
                let words =
                    line.strip_prefix("User: ").or_else(|| line.strip_prefix("ask_user returned: "))?;
                Some(words.to_owned())
            };
            let words = conversation.lines().filter_map(said).collect::<Vec<_>>().join("; ");
            let answer = if system.contains("whether the user's request is ambiguous") {
                json!({ "ambiguous": words.contains("vague"), "question": "Which one?" })
            } else if system.contains("whether critical information is missing") {
                json!({ "missing": false, "question": "" })
            } else if system.contains("independent subquestions") {
                json!({ "subquestions": [] })
            } else if system.contains("Write the whole result") {
                json!({ "summary": format!("The result: {words}"), "needs_more_info": false, "question": "" })
            } else {
                return asked.text("found").end();
            };
            asked.text(&answer.to_string()).end();
        })
    }

    /// A model that acts on documents as the first word of the message says: it creates `Packing list`, changes the
    /// document with the number 1, asks before it deletes, asks what is meant, or answers.
    pub(crate) fn acting() -> Self {
        Self::new().answering(|asked| {
            let messages = asked.body["messages"].as_array().cloned().unwrap_or_default();
            let text = |message: &Value| message["content"].as_str().unwrap_or_default().to_owned();
            let system = messages.first().map(text).unwrap_or_default();
            if system.contains("You change one document as the user asks") {
                return asked.text("# Plan\n\nBy train.\n").end();
            }
            let request = messages.last().map(text).unwrap_or_default();
            let said = request.split_once("<user_message>").map_or("", |(_, said)| said.trim_start());
            let answer = match said.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default() {
                "Create" => json!({
                    "should_create": true, "document_name": "Packing list", "document_content": "- socks\n",
                    "intent_statement": "I'll create the packing list.",
                }),
                "Change" | "yes" => json!({
                    "should_edit": true, "document_id": 1, "change_summary": "The train.",
                    "intent_statement": "I'll change the plan.",
                }),
                "Delete" => json!({
                    "pending_confirmation": true, "document_id": 1,
                    "confirmation_prompt": "All of it goes. Should I proceed?",
                }),
                "Hm" => json!({ "needs_clarification": true, "clarification_question": "Which document?" }),
                _ => json!({ "conversational_response": "There is a plan." }),
            };
            asked.text(&answer.to_string()).end();
        })
    }

    /// Answers every request in a thread of its own.
    fn answering(self, mut answer: impl FnMut(Asked) + Send + 'static) -> Self {
        let theirs = self.listener.try_clone().expect("cloned");
        thread::spawn(move || {
            for stream in theirs.incoming().flatten() {
                if let Some(asked) = Asked::read(stream) {
                    answer(asked);
                }
            }
        });
        self
    }

    /// The next request for a completion.
    pub(crate) fn next(&self) -> Asked {
        loop {
            if let Some(asked) = Asked::read(accepted(&self.listener)) {
                return asked;
            }
        }
    }

    /// Makes a command use this model.
    pub(crate) fn ask(&self, command: &mut Command) {
        for (name, value) in self.variables() {
            command.env(name, value);
        }
    }

    /// The same, for a command that runs to its end.
    pub(crate) fn asked_by<'a>(&self, command: &'a mut assert_cmd::Command) -> &'a mut assert_cmd::Command {
        command.envs(self.variables())
    }

    fn variables(&self) -> [(&'static str, String); 2] {
        let address: SocketAddr = self.listener.local_addr().expect("an address");
        let model = "compatible::scripted".to_owned();
        [("ENTOURAGE_MODEL", model), ("COMPATIBLE_BASE_URL", format!("http://{address}/v1"))]
    }
}

impl Asked {
    /// Reads a request; none if it asks for something else than a completion.
    fn read(mut stream: TcpStream) -> Option<Self> {
        let mut reader = BufReader::new(stream.try_clone().expect("cloned"));
        let (mut first, mut length) = (String::new(), 0);
        reader.read_line(&mut first).ok()?;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let line = line.trim().to_lowercase();
            if let Some(given) = line.strip_prefix("content-length:") {
                length = given.trim().parse().expect("a length");
            }
            if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        if !first.starts_with("POST ") {
            let _ =
                stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            return None;
        }
        let body = serde_json::from_slice(&body).expect("JSON");
        let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
        stream.write_all(head).ok()?;
        Some(Self { body, stream })
    }

    /// Sends a piece of the answer.
    pub(crate) fn text(mut self, text: &str) -> Self {
        self.send(&json!({ "content": text }), Value::Null);
        self
    }

    /// Calls a tool.
    pub(crate) fn call(mut self, tool: &str, arguments: &Value) -> Self {
        let function = json!({ "name": tool, "arguments": arguments.to_string() });
        let call = json!({ "index": 0, "id": "call-1", "type": "function", "function": function });
        self.send(&json!({ "tool_calls": [call] }), Value::Null);
        self
    }

    /// Breaks off before the end.
    pub(crate) fn fail(self) {
        drop(self.text("The beginning of nothi").stream);
    }

    /// Ends the answer.
    pub(crate) fn end(mut self) {
        self.send(&json!({}), "stop".into());
        let _ = self.stream.write_all(b"data: [DONE]\n\n");
    }

    /// Ends the answer and says what it used.
    pub(crate) fn end_with_usage(mut self, input: u64, output: u64) {
        self.send(&json!({}), "stop".into());
        let usage =
            json!({ "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output });
        let _ = write!(self.stream, "data: {}\n\n", json!({ "choices": [], "usage": usage }));
        let _ = self.stream.write_all(b"data: [DONE]\n\n");
    }

    fn send(&mut self, delta: &Value, reason: Value) {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": reason });
        let chunk = json!({ "id": "x", "object": "chat.completion.chunk", "created": 1, "model": "scripted", "choices": [choice] });
        // The client may be gone.
        let _ = write!(self.stream, "data: {chunk}\n\n");
    }
}
