//! An HTTP server with prepared answers, including malformed ones.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Notify,
};

/// One prepared answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    status: u16,
    headers: String,
    body: String,
    end: End,
}

/// What follows the body of an answer.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    /// The connection closes at the announced length.
    Close,
    /// Nothing more, on an open connection.
    Silence,
    /// The connection closes before the announced length is reached.
    Cut,
    /// Not even a status line.
    Mute,
    /// The body repeated until the client disconnects, as slowly as over a network.
    Never,
    /// The body repeated, as fast as the client reads it.
    Flood,
}

impl Answer {
    pub(crate) fn new(body: impl Into<String>) -> Self {
        Self { status: 200, headers: String::new(), body: body.into(), end: End::Close }
    }

    pub(crate) fn status(status: u16, body: impl Into<String>) -> Self {
        Self { status, ..Self::new(body) }
    }

    pub(crate) fn mute() -> Self {
        Self { end: End::Mute, ..Self::new("") }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push_str(&format!("{name}: {value}\r\n"));
        self
    }

    pub(crate) fn then_silence(self) -> Self {
        Self { end: End::Silence, ..self }
    }

    /// Repeats the body endlessly.
    pub(crate) fn without_end(self) -> Self {
        Self { end: End::Never, ..self }
    }

    /// Repeats the body endlessly, as fast as the client reads it.
    pub(crate) fn flooding(self) -> Self {
        Self { end: End::Flood, ..self }
    }

    pub(crate) fn then_cut(self) -> Self {
        Self { end: End::Cut, ..self }
    }
}

/// A request that the server received.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// Request line and headers.
    pub(crate) head: String,
    pub(crate) body: String,
}

/// A server on a free port. It returns its answers in order, the last one repeatedly.
pub(crate) struct Server {
    pub(crate) url: String,
    state: Arc<State>,
}

struct State {
    answers: Mutex<VecDeque<Answer>>,
    seen: Mutex<Vec<Seen>>,
    sent: AtomicUsize,
    left: Notify,
}

impl Server {
    pub(crate) async fn start(answers: impl IntoIterator<Item = Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let state = Arc::new(State {
            answers: Mutex::new(answers.into_iter().collect()),
            seen: Mutex::default(),
            sent: AtomicUsize::new(0),
            left: Notify::new(),
        });
        let served = Arc::clone(&state);
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                let state = Arc::clone(&served);
                tokio::spawn(async move { serve(connection, &state).await });
            }
        });
        Self { url, state }
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.state.seen.lock().expect("not poisoned").clone()
    }

    /// Returns how many bytes of endless bodies it has sent.
    pub(crate) fn sent(&self) -> usize {
        self.state.sent.load(Ordering::Relaxed)
    }

    /// Waits until a client that was kept waiting has disconnected.
    pub(crate) async fn left(&self) {
        self.state.left.notified().await;
    }
}

async fn serve(mut connection: TcpStream, state: &State) {
    let Some(seen) = receive(&mut connection).await else { return };
    state.seen.lock().expect("not poisoned").push(seen);
    let answer = {
        let mut answers = state.answers.lock().expect("not poisoned");
        if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() }
    };
    let answer = answer.expect("a server has an answer");
    if answer.end != End::Mute {
        let missing = match answer.end {
            End::Close => 0,
            End::Never | End::Flood => usize::MAX >> 8,
            _ => 1000,
        };
        let head = format!(
            "HTTP/1.1 {} Status\r\ncontent-length: {}\r\nconnection: close\r\n{}\r\n",
            answer.status,
            answer.body.len() + missing,
            answer.headers,
        );
        let _ = connection.write_all(head.as_bytes()).await;
        let _ = connection.write_all(answer.body.as_bytes()).await;
    }
    while matches!(answer.end, End::Never | End::Flood)
        && connection.write_all(answer.body.as_bytes()).await.is_ok()
    {
        state.sent.fetch_add(answer.body.len(), Ordering::Relaxed);
        if answer.end == End::Never {
            // Slowly, so that the client reads little of it.
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    if matches!(answer.end, End::Silence | End::Mute) {
        // Reading ends when the client disconnects.
        let _ = connection.read(&mut [0; 1]).await;
        state.left.notify_one();
    }
}

async fn receive(connection: &mut TcpStream) -> Option<Seen> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return Some(Seen { head, body: body.to_owned() });
            }
        }
        let mut chunk = [0; 4096];
        match connection.read(&mut chunk).await {
            Ok(0) | Err(_) => return None,
            Ok(read) => bytes.extend_from_slice(&chunk[..read]),
        }
    }
}
