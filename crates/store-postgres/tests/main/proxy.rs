//! A proxy before the server that cuts a connection after so many messages of the client.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
};

/// What the proxy does.
#[derive(Default)]
struct Rules {
    /// How many more messages pass; none is limited while this is `u64::MAX`.
    left: AtomicU64,
    /// Whether the message at which it cuts still reaches the server, so that its answer alone is lost.
    passes_last: AtomicBool,
}

/// A proxy, until it is dropped.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    rules: Arc<Rules>,
    task: tokio::task::JoinHandle<()>,
}

impl Proxy {
    /// Starts a proxy before this server. Nothing is cut yet.
    pub(crate) async fn start(server: (String, u16)) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let rules = Arc::new(Rules { left: AtomicU64::new(u64::MAX), ..Rules::default() });
        let of_task = Arc::clone(&rules);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect((server.0.as_str(), server.1)).await.unwrap();
                tokio::spawn(carry(client, server, Arc::clone(&of_task)));
            }
        });
        Self { port, rules, task }
    }

    /// Lets so many more messages pass on whichever connection, then cuts the connection of the next one: before that
    /// message, or after it and before its answer. Everything passes again afterwards.
    pub(crate) fn cut_after(&self, messages: u64, passes_last: bool) {
        self.rules.passes_last.store(passes_last, Ordering::SeqCst);
        self.rules.left.store(messages, Ordering::SeqCst);
    }

    /// Whether a cut is still to come.
    pub(crate) fn is_pending(&self) -> bool {
        self.rules.left.swap(u64::MAX, Ordering::SeqCst) != u64::MAX
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Carries a connection's messages until it ends or is cut.
async fn carry(client: TcpStream, server: TcpStream, rules: Arc<Rules>) {
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (from_client, mut to_client) = client.into_split();
    let (mut from_server, to_server) = server.into_split();
    tokio::select! {
        () = requests(from_client, to_server, &rules) => {}
        _ = copy(&mut from_server, &mut to_client) => {}
    }
}

/// The type of the message with which a client ends its connection.
const TERMINATE: u8 = b'X';

/// Carries the requests of a client, message by message: a type and a length, except the first one, which has no type. The
/// end of a connection is not counted: nobody waits for its answer, and it may come late from a connection that was used
/// before the one that is cut.
async fn requests(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, rules: &Rules) {
    let mut is_first = true;
    loop {
        let mut message = Vec::new();
        if !is_first {
            let Ok(of_type) = from.read_u8().await else { return };
            message.push(of_type);
        }
        is_first = false;
        let Ok(length) = from.read_u32().await else { return };
        message.extend(length.to_be_bytes());
        let begin = message.len();
        message.resize(begin + length as usize - 4, 0);
        if from.read_exact(&mut message[begin..]).await.is_err() {
            return;
        }
        if message[0] == TERMINATE {
            let _ = to.write_all(&message).await;
            return;
        }
        let spend = |left: u64| (left != u64::MAX).then(|| left.checked_sub(1).unwrap_or(u64::MAX));
        let is_last = rules.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, spend) == Ok(0);
        let passes = !is_last || rules.passes_last.load(Ordering::SeqCst);
        if passes && to.write_all(&message).await.is_err() {
            return;
        }
        if is_last {
            return;
        }
    }
}
