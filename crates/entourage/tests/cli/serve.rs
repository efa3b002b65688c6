//! Tests of a server, and of the other commands that find it.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    process::{Child, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{
    data_dir::{DataDir, Patience, id},
    provider::Provider,
    server::Server,
};

#[test]
fn other_commands_use_the_running_server() {
    let place = DataDir::new();
    let server = Server::start(&place);
    assert_eq!(server.get("/healthz", None) / 100, 2);
    assert_eq!(server.greeting["model"], "rehearsal");

    let asked = place.entourage(&["run", "Please ask me first"]);
    assert_eq!(asked.code, 3, "{asked:?}");
    let (question, agent) = (id(&asked.stderr, "qst_"), id(&asked.stderr, "agt_"));
    assert!(place.entourage(&["tree"]).good().stdout.contains(question));
    let answered = place.entourage(&["answer", question, "Green"]).good();
    assert!(answered.stderr.contains("the agent reads it"), "{answered:?}");
    let ended = place.entourage(&["run", "--resume", agent]).good();
    assert!(ended.stdout.contains("Green"), "{ended:?}");

    let mut lines = place.entourage(&["run", "Another", "--json"]).good().json();
    let result = lines.pop().expect("a result");
    assert_eq!(result["status"], "succeeded");
    let root = result["agent"].as_str().expect("an id");
    assert_eq!(place.entourage(&["tail", root, "--json"]).good().json(), lines);
    assert_eq!(place.entourage(&["agents", "--json"]).good().json().len(), 2);
    let tree = place.entourage(&["tree", root, "--json"]).good().json();
    assert_eq!(tree[0]["agents"].as_array().map(Vec::len), Some(2));

    let files = place.entourage(&["run", "Read", "--files", "."]);
    assert!(files.error(2).contains("--files has no effect on the server"), "{files:?}");
    let unknown = place.entourage(&["run", "x", "--kind", "nobody"]);
    assert!(unknown.error(2).contains("nobody"), "{unknown:?}");
    let foreign = place.entourage(&["tree", "agt_00000000000070008000000000000000"]);
    assert_eq!(foreign.code, 2, "{foreign:?}");

    assert_eq!(server.stop(), 0);
    assert!(!place.data().join("server.json").exists(), "its sign is gone");
    assert!(place.entourage(&["tree", root]).good().stdout.contains("Another"), "and its data is there");
}

#[test]
fn a_server_file_left_by_a_crash_does_not_mislead_commands() {
    let place = DataDir::new();
    let server = Server::start(&place);
    place.entourage(&["run", "Before"]).good();
    let pid = server.pid();
    drop(server);
    let sign = fs::read_to_string(place.data().join("server.json")).expect("left behind");
    assert!(sign.contains(&pid.to_string()), "{sign}");
    assert!(place.entourage(&["tree"]).good().stdout.contains("Before"));
}

/// Makes clients expect heartbeats so often that an idle server soon counts as silent. Returns the start of
/// their note.
fn expect_frequent_heartbeats(place: &DataDir) -> String {
    let sign = place.data().join("server.json");
    let mut running: Value = serde_json::from_slice(&fs::read(&sign).expect("read")).expect("JSON");
    running["heartbeat"] = json!({ "secs": 0, "nanos": 300_000_000 });
    fs::write(&sign, running.to_string()).expect("written");
    format!("note: the server at {} has been silent for ", running["url"].as_str().expect("a URL"))
}

/// A message to a server that does not answer is waited for, with a note, and sent once.
#[test]
fn a_message_to_a_silent_server_waits_and_is_sent_once() {
    let place = DataDir::new();
    let server = Server::start(&place);
    let silent = expect_frequent_heartbeats(&place);
    let mut chat = place.process(&["chat"]);
    chat.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut chat = chat.spawn().expect("it starts");
    let _patience = Patience::with(&chat);
    let mut typed = chat.stdin.take().expect("piped");
    let mut answers = BufReader::new(chat.stdout.take().expect("piped")).lines().map_while(Result::ok);
    let mut notes = BufReader::new(chat.stderr.take().expect("piped")).lines().map_while(Result::ok);
    writeln!(typed, "Hello").expect("it reads");
    assert!(answers.any(|line| line == "Asked: Hello"));
    assert!(notes.any(|line| line.ends_with(" tokens")), "it rests");
    server.freezes();
    writeln!(typed, "Again").expect("it reads");
    assert!(notes.any(|line| line.starts_with(&silent) && line.ends_with("; waiting for its answer")));
    server.signal(Signal::CONT);
    drop(typed);
    assert!(answers.any(|line| line == "Asked: Again"));
    assert!(chat.wait().expect("it ends").success());
    let tail = place.entourage(&["tail"]).good().stdout;
    assert_eq!(tail.matches("assistant reads from user: Again").count(), 1, "{tail}");
}

/// A silent server is reported for as long as it lasts, and no event is missed once it continues.
#[test]
fn tail_reports_a_silent_server_and_misses_no_event() {
    let place = DataDir::new();
    let server = Server::start(&place);
    place.entourage(&["run", "Before", "--quiet"]).good();
    let silent = expect_frequent_heartbeats(&place);
    let mut tail = place.process(&["tail", "@last", "--follow", "--json"]);
    let mut tail = tail.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let _patience = Patience::with(&tail);
    let events = BufReader::new(tail.stdout.take().expect("piped")).lines();
    let mut said = BufReader::new(tail.stderr.take().expect("piped")).lines().map_while(Result::ok);
    // It sends nothing for longer than expected, and answers when asked again.
    assert!(said.any(|line| line.starts_with(&silent)));
    server.freezes();
    let mut in_a_row = 0;
    while in_a_row < 2 {
        let line = said.next().expect("it goes on saying so");
        in_a_row = if line.starts_with(&silent) { in_a_row + 1 } else { 0 };
    }
    server.signal(Signal::CONT);
    assert!(said.any(|line| line.ends_with(" answers again")));
    place.entourage(&["comment", "@last", "well done"]).good();
    let (mut numbers, mut is_told) = (Vec::new(), false);
    for line in events {
        let event: Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
        numbers.push(event["seq"].as_u64().expect("a number"));
        is_told = event["event"] == "intervention";
        if is_told {
            break;
        }
    }
    assert!(is_told, "it ended before it told of what came last");
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>(), "each event, once");
    tail.kill().and_then(|()| tail.wait()).expect("it ends");
}

/// A server that is gone is reported as gone, even if its silence was reported before.
#[test]
fn tail_that_follows_a_killed_server_ends_with_an_error() {
    let place = DataDir::new();
    let server = Server::start(&place);
    place.entourage(&["run", "Before", "--quiet"]).good();
    let silent = expect_frequent_heartbeats(&place);
    let mut tail = spawn_command(&place, &["tail", "@last", "--follow"]);
    let _patience = Patience::with(&tail);
    let mut said = BufReader::new(tail.stderr.take().expect("piped")).lines().map_while(Result::ok);
    assert!(said.any(|line| line.starts_with(&silent)), "it follows");
    drop(server);
    assert!(said.any(|line| line.starts_with("error: ") && line.contains("it does not listen any more")));
    assert_eq!(tail.wait().expect("it ends").code(), Some(1));
}

/// A command that waits for events does not keep another one from causing them.
#[test]
fn tail_waits_for_a_server_without_keeping_other_commands_out() {
    let place = DataDir::new();
    place.entourage(&["run", "Before", "--quiet"]).good();
    let mut tail = spawn_command(&place, &["tail", "@last", "--follow"]);
    let _patience = Patience::with(&tail);
    let mut noted = BufReader::new(tail.stderr.take().expect("piped")).lines().map_while(Result::ok);
    assert!(noted.any(|line| line.contains("nothing works on this tree")), "it says so");
    place.entourage(&["comment", "@last", "first"]).good();
    let _server = Server::start(&place);
    place.entourage(&["comment", "@last", "second"]).good();
    let mut events = BufReader::new(tail.stdout.take().expect("piped")).lines().map_while(Result::ok);
    assert!(events.any(|line| line.contains("first")) && events.any(|line| line.contains("second")));
    tail.kill().and_then(|()| tail.wait()).expect("it ends");
}

fn spawn_command(place: &DataDir, arguments: &[&str]) -> Child {
    let mut command = place.process(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("it starts")
}

/// A fake server of a place. It answers when a test says so; once the test stops listening, it is gone.
struct FakeServer {
    asked: mpsc::Receiver<(String, TcpStream)>,
}

impl FakeServer {
    fn at(place: &DataDir) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let heartbeat = json!({ "secs": 0, "nanos": 100_000_000 });
        let sign = json!({ "url": url, "pid": std::process::id(), "heartbeat": heartbeat });
        place.write("data/server.json", &sign.to_string());
        let (says, asked) = mpsc::channel();
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let head = BufReader::new(&stream).lines().map_while(Result::ok);
                let head: Vec<String> = head.take_while(|line| !line.is_empty()).collect();
                let asked = head.first().and_then(|line| line.rsplit_once(' ')).expect("a request").0;
                if asked == "GET /healthz" {
                    answer(&mut stream, "{}");
                } else if says.send((asked.to_owned(), stream)).is_err() {
                    return;
                }
            }
        });
        Self { asked }
    }

    /// The next request, which waits for its answer.
    fn next(&self, wanted: &str) -> TcpStream {
        let (asked, stream) = self.asked.recv_timeout(Duration::from_secs(60)).expect("somebody asks");
        assert_eq!(asked, wanted);
        stream
    }
}

fn answer(stream: &mut TcpStream, body: &str) {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close", body.len());
    // The client may be gone.
    let _ = write!(stream, "{head}\r\n\r\n{body}");
}

/// Waits until a command has said that the server has been silent.
fn wait_for_silence_note(command: &mut Child) {
    let _patience = Patience::with(command);
    let mut notes = BufReader::new(command.stderr.take().expect("piped")).lines().map_while(Result::ok);
    let is_note = |line: &String| line.contains(" has been silent for ") && line.ends_with("for its answer");
    assert!(notes.any(|line| is_note(&line)), "it says nothing of the silence");
}

/// Every command reports that it waits, whatever its request.
#[test]
fn every_command_reports_that_it_waits_for_a_silent_server() {
    let place = DataDir::new();
    let fake = FakeServer::at(&place);
    for (arguments, asked) in [
        (&["kinds", "reload"][..], "POST /v1/kinds/reload"),
        (&["jobs", "run", "stuck"], "POST /v1/jobs/stuck/run"),
        (&["webhooks", "retry", "crm"], "POST /v1/webhooks/crm/retry"),
        (&["agency", "delete-chat", "studio", "first"], "DELETE /v1/agencies/studio/chats/first"),
        (
            &["revoke", "grt_00000000000070008000000000000000"],
            "DELETE /v1/grants/grt_00000000000070008000000000000000",
        ),
    ] {
        let mut command = spawn_command(&place, arguments);
        let _unanswered = fake.next(asked);
        wait_for_silence_note(&mut command);
        command.kill().and_then(|()| command.wait()).expect("it ends");
    }
}

#[test]
fn a_quiet_command_does_not_report_a_silent_server() {
    let place = DataDir::new();
    let fake = FakeServer::at(&place);
    for (arguments, asked) in
        [(&["kinds", "list"][..], "GET /v1/kinds"), (&["doctor", "--offline"], "GET /v1/jobs")]
    {
        let quiet = spawn_command(&place, &[arguments, &["--quiet"]].concat());
        let _patience = Patience::with(&quiet);
        let mut first = fake.next(asked);
        // A command that asked later has reported it by now.
        let mut loud = spawn_command(&place, arguments);
        let _unanswered = fake.next(asked);
        wait_for_silence_note(&mut loud);
        loud.kill().and_then(|()| loud.wait()).expect("it ends");
        answer(&mut first, r#"{"data":[]}"#);
        let ended = quiet.wait_with_output().expect("it ends");
        assert!(ended.status.success(), "{ended:?}");
        assert_eq!(String::from_utf8_lossy(&ended.stderr), "");
    }
}

/// Options must take effect, also if a server starts while a command waits for the database.
#[test]
fn run_with_files_is_refused_if_a_server_starts_meanwhile() {
    let place = DataDir::new();
    place.entourage(&["run", "Before", "--quiet"]).good();
    let lock = fs::File::open(place.data().join("entourage.db.lock")).expect("there");
    lock.lock().expect("free");
    let mut run = spawn_command(&place, &["run", "Read", "--files", "."]);
    let _patience = Patience::with(&run);
    let mut said = BufReader::new(run.stderr.take().expect("piped")).lines().map_while(Result::ok);
    assert!(said.any(|line| line.starts_with("waiting for another entourage")));
    // It is gone at its first request.
    drop(FakeServer::at(&place));
    assert!(said.any(|line| line.contains("error: --files has no effect on the server")));
    assert_eq!(run.wait().expect("it ends").code(), Some(2));
}

#[test]
fn with_authentication_the_server_requires_a_token() {
    let place = DataDir::new();
    let secret = "a-secret-of-more-than-thirty-two-bytes";
    place.write(
        "data/entourage.toml",
        &format!("[server.auth.jwt]\nalgorithm = \"HS256\"\nkey = \"{secret}\"\n"),
    );
    let server = Server::start(&place);
    assert_eq!(server.greeting["auth"], "a token signed with HS256");
    assert!(!server.greeting.to_string().contains(secret));
    assert_eq!(server.get("/v1/agents", None), 401);
    let token = place.entourage(&["token", "--owner", "ada", "--ttl", "5m"]).good().stdout;
    assert_eq!(server.get("/v1/agents", Some(token.trim())), 200);

    // A user who can read the secret needs no token; a bad token is reported.
    place.entourage(&["run", "Mine"]).good();
    let agents = place.entourage(&["agents", "--json"]).good().json();
    let path = format!("/v1/agents/{}", agents[0]["id"].as_str().expect("an id"));
    assert_eq!(server.get(&path, Some(token.trim())), 404, "of another owner");
    let mut command = place.command(&["agents"]);
    let refused = super::data_dir::Ended::of(command.env("ENTOURAGE_TOKEN", "not-a-token"));
    assert!(refused.error(2).contains("ENTOURAGE_TOKEN"), "{refused:?}");
}

#[test]
fn the_root_path_answers_and_a_server_error_is_printed_once() {
    let place = DataDir::new();
    let server = Server::start(&place);
    assert_eq!(server.get("/", None), 200);
    let missing = place.entourage(&["tree", "agt_00000000000070008000000000000000"]);
    let error = missing.error(2);
    assert_eq!(error.matches("agt_00000000000070008000000000000000").count(), 1, "{error}");
    assert_eq!(error.matches("no agent").count() + error.matches("not found").count(), 1, "{error}");
}

/// A request that is running at SIGTERM is answered as any other, and its connection accepts no further one.
#[test]
fn a_request_in_progress_at_sigterm_is_answered() {
    const PATIENCE: Duration = Duration::from_secs(30);
    let place = DataDir::new();
    let server = Server::start(&place);
    let address = server.address().to_owned();
    let mut socket = TcpStream::connect(&address).expect("it listens");
    socket.set_read_timeout(Some(PATIENCE)).expect("taken");
    let body = r#"{"title":"late"}"#;
    let (begun, last) = body.split_at(body.len() - 1);
    let head = format!(
        "POST /v1/agents HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\nexpect: 100-continue\r\n\r\n",
        body.len()
    );
    socket.write_all(head.as_bytes()).expect("taken");
    // The server asks for the body once a handler waits for it: now the request is running.
    let mut asked = [0; 25];
    socket.read_exact(&mut asked).expect("it goes on");
    assert_eq!(&asked, b"HTTP/1.1 100 Continue\r\n\r\n");
    socket.write_all(begun.as_bytes()).expect("taken");

    server.signal(Signal::TERM);
    let told = Instant::now();
    while TcpStream::connect(&address).is_ok() {
        assert!(told.elapsed() < PATIENCE, "new connections are taken after the end");
        std::thread::yield_now();
    }
    let next = format!("{last}GET /v1/agents HTTP/1.1\r\nhost: {address}\r\n\r\n");
    socket.write_all(next.as_bytes()).expect("taken");
    let mut answer = String::new();
    socket.read_to_string(&mut answer).expect("answered, and closed");
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{answer}");
    assert_eq!(server.ended(), 0);
    assert_eq!(place.entourage(&["agents", "--json"]).good().json()[0]["title"], "late");
}

/// Users read a sentence about a failed model call; the operator finds the provider's message in the log.
#[test]
fn the_log_has_the_providers_message_about_a_failed_model_call() {
    let (place, provider) = (DataDir::new(), Provider::start());
    place.write("data/entourage.toml", &provider.settings("listed", "sk-bad"));
    let mut command = place.process(&["serve", "--bind", "127.0.0.1:0", "--json"]);
    command.env_remove("ENTOURAGE_MODEL");
    let mut server = Server::of(command);
    assert_eq!(place.entourage(&["run", "Hello"]).code, 1);
    let logged = server.logged("a model call failed");
    assert!(logged.contains("WARN") && logged.contains("Incorrect API key provided"), "{logged}");
}
