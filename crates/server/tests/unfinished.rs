//! Connections that begin a request and never end it: each gets its time and no more, and keeps no other
//! client out.

use std::{
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    process::{Command, Stdio},
    time::Duration,
};

use entourage_server::Settings;
use futures::FutureExt as _;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::site::Site;

/// Begins a request and leaves it there.
async fn half_open(address: SocketAddr, beginning: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    stream.write_all(beginning.as_bytes()).await.expect("it is taken");
    stream
}

/// Reads what the server sends before it disconnects.
async fn read_until_closed(mut stream: TcpStream) -> String {
    let mut said = Vec::new();
    if let Err(error) = stream.read_to_end(&mut said).await {
        // It disconnected before it had read everything.
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    }
    String::from_utf8(said).expect("text")
}

const HALF_A_HEAD: &str = "GET /v1/agents HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Never";

fn brief() -> Settings {
    let brief = Duration::from_millis(50);
    Settings { header_timeout: brief, body_timeout: brief, ..Settings::default() }
}

/// How soon a connection that must make room is closed: far below the half minute that each may take for its
/// head.
const SOON: Duration = Duration::from_secs(5);

/// Asserts that the server closed the `oldest` first of these connections, and not the `left` last ones.
async fn assert_oldest_were_closed(mut silent: Vec<TcpStream>, oldest: usize, left: usize) {
    assert!(Settings::default().header_timeout > 2 * SOON);
    let stay = silent.split_off(silent.len() - left);
    silent.truncate(oldest);
    let gone = async {
        for stream in silent {
            assert_eq!(read_until_closed(stream).await, "");
        }
    };
    tokio::time::timeout(SOON, gone).await.expect("the oldest give way");
    for mut stream in stay {
        let byte = &mut [0; 1];
        assert!(stream.read(byte).now_or_never().is_none(), "one that came later has given way");
    }
}

#[tokio::test]
async fn new_clients_displace_the_oldest_unfinished_connections() {
    let site = Site::with(Settings { connections: Some(8), ..Settings::default() }).await;
    let mut silent = Vec::new();
    for _ in 0..40 {
        silent.push(half_open(site.address, HALF_A_HEAD).await);
    }
    assert_eq!(site.get("/healthz").await.status, 204);
    // One address may have six of eight: the last five, and the one with the request.
    assert_oldest_were_closed(silent, 35, 5).await;
}

/// Set for the process that is the server of the test below.
const FEW_FILES: &str = "SERVER_WITH_FEW_FILES";
/// How the server reports its address.
const LISTENS: &str = "listens at ";

#[tokio::test]
async fn a_server_at_its_open_file_limit_answers_new_clients() {
    let few = "ulimit -n 256 && exec \"$0\" --exact unfinished::child_process_with_few_files --nocapture";
    let tests = std::env::current_exe().expect("this program");
    let mut server = Command::new("sh");
    let server = server.args(["-c", few]).arg(tests).env(FEW_FILES, "1");
    let mut server = server.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a server");
    let said = BufReader::new(server.stdout.take().expect("it speaks")).lines().map_while(Result::ok);
    let address = said.into_iter().find_map(|line| Some(line.split_once(LISTENS)?.1.to_owned()));
    let address: SocketAddr = address.expect("the server ended early").parse().expect("an address");
    let asked = async {
        let mut silent = Vec::new();
        for _ in 0..400 {
            silent.push(half_open(address, HALF_A_HEAD).await);
        }
        for path in ["/healthz", "/v1/agents"] {
            let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
            let answer = read_until_closed(half_open(address, &request).await).await;
            assert!(answer.starts_with("HTTP/1.1 20"), "{path}: {answer}");
        }
    };
    // The silent connections have not timed out by then.
    tokio::time::timeout(2 * SOON, asked).await.expect("an answer");
    server.kill().expect("it was there");
    server.wait().expect("it ends");
}

/// The server of the test above, in a process of its own; in any other there is nothing to do.
#[tokio::test]
async fn child_process_with_few_files() {
    if std::env::var_os(FEW_FILES).is_none() {
        return;
    }
    let site = Site::open().await;
    println!("{LISTENS}{}", site.address);
    // It ends with the process that started it.
    let ended = tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new()));
    ended.await.expect("no panic").expect("an end");
}

#[tokio::test]
async fn an_open_stream_is_not_displaced_by_new_clients() {
    let site = Site::with(Settings { connections: Some(6), ..Settings::default() }).await;
    let id = site.post("/v1/agents", &json!({})).await.expect(201)["id"].as_str().unwrap().to_owned();
    let stream = site.follow(&id, 0).await;
    let mut silent = Vec::new();
    for _ in 0..20 {
        silent.push(half_open(site.address, HALF_A_HEAD).await);
    }
    site.post(&format!("/v1/agents/{id}/messages"), &json!({"message": "hello"})).await.expect(202);
    stream.until(|frame| frame.is_status_of(&id, "succeeded")).await;
    // One address may have five of six: the stream, the one with the POST, and the last three.
    assert_oldest_were_closed(silent, 17, 3).await;
}

#[tokio::test]
async fn a_header_timeout_closes_the_connection_but_no_open_stream() {
    let site = Site::with(brief()).await;
    let id = site.post("/v1/agents", &json!({})).await.expect(201)["id"].as_str().unwrap().to_owned();
    let stream = site.follow(&id, 0).await;
    assert_eq!(read_until_closed(half_open(site.address, HALF_A_HEAD).await).await, "");
    // The timeout for the head of the stream's own request has passed, too.
    site.post(&format!("/v1/agents/{id}/messages"), &json!({"message": "hello"})).await.expect(202);
    stream.until(|frame| frame.is_status_of(&id, "succeeded")).await;
}

#[tokio::test]
async fn a_body_that_times_out_is_answered_with_408() {
    let site = Site::with(brief()).await;
    let head = "POST /v1/agents HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
                Content-Length: 100\r\n\r\n{\"title\":";
    let said = read_until_closed(half_open(site.address, head).await).await;
    assert!(said.starts_with("HTTP/1.1 408"), "{said}");
    let problem: Value = serde_json::from_str(said.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    assert_eq!(problem["type"], "urn:entourage:problem:too-slow");
    assert_eq!(site.get("/v1/agents").await.expect(200)["data"], json!([]));
}

#[tokio::test]
async fn a_json_array_is_rejected_as_a_body() {
    let site = Site::open().await;
    let problem = site.post("/v1/agents", &json!(["assistant", "A title", "hello"])).await;
    assert!(problem.problem(422, "invalid-body").detail.contains("expected an object"));
}

#[tokio::test]
async fn a_path_that_is_not_utf8_returns_a_problem_document() {
    let site = Site::open().await;
    for path in ["/v1/agencies/%ff/chats/x/threads", "/v1/agencies/x/chats/%ff/threads"] {
        site.get(path).await.problem(400, "invalid-path");
    }
}
