//! Tests that secrets are used and never shown: not in logs of any level, not in the database, not in events.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::Path,
    process::Stdio,
    sync::{Arc, Mutex},
    thread,
};

use serde_json::json;

use super::data_dir::{DataDir, Ended};

/// One for each way to set a secret; none is a part of another.
const MODEL_KEY: &str = "canary-model-7Qx2";
const ENVIRONMENT_KEY: &str = "canary-environment-9Kd4";
const SEARCH_KEY: &str = "canary-search-3Vb8";
const MCP_HEADER: &str = "canary-header-5Tn1";
const MCP_ENVIRONMENT: &str = "canary-child-6Wm0";
const PASSWORD: &str = "canary-password-2Lp3";
const TOKEN_SECRET: &str = "canary-of-more-than-thirty-two-bytes-8Rf5";
const WEBHOOK_SECRET: &str = "Y2FuYXJ5LW9mLXdlYmhvb2tzLW91dC00WnMx";
const WEBHOOK_ADDRESS: &str = "canary-address-1Hc9";
const OWNERS_SECRET: &str = "canary-of-owner-3Hn6";
const OWNERS_CHILD: &str = "canary-of-child-7Yb2";
const OWNERS_PASSWORD: &str = "canary/of-database-4Gj8";
/// What is left of it however it is written: as it is, escaped or in an address, and in Base64 behind `u:`.
const OF_PASSWORD: [&str; 2] = ["of-database-4Gj8", "YW5hcnkvb2YtZGF0YWJhc2UtNEdq"];
const SECRETS_KEY: &str = "Y2FuYXJ5LWtleS10aGF0LXNlYWxzLXNlY3JldHMtOUY=";
const SENDER_SECRET: &str = "Y2FuYXJ5LW9mLXdlYmhvb2tzLWluLTBKdDc=";
const ALL: [&str; 14] = [
    MODEL_KEY,
    ENVIRONMENT_KEY,
    SEARCH_KEY,
    MCP_HEADER,
    MCP_ENVIRONMENT,
    PASSWORD,
    TOKEN_SECRET,
    WEBHOOK_SECRET,
    WEBHOOK_ADDRESS,
    SENDER_SECRET,
    OWNERS_SECRET,
    OWNERS_CHILD,
    OWNERS_PASSWORD,
    SECRETS_KEY,
];

/// A server of an owner that works: it repeats what it was given in the list of its tools, in its log and in whatever its
/// tool returns, whole and in parts.
const TALKATIVE: &str = r#"
printf %s "$DB" > talkative.txt
pw=${DB#*:*:} pw=${pw%%@*}
coded=$(printf 'u:%s' "$pw" | base64)
percent=$(printf %s "$pw" | sed 's|/|%2F|g')
escaped=$(printf %s "$pw" | sed 's|/|\\\\/|g')
echo "I was given $SECRET and $DB" >&2
while read -r line; do
    id=${line#*\"id\":} id=${id%%,*}
    case $line in
    *'"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"own","version":"1"}}' ;;
    *'"tools/list"'*) result='{"tools":[{"name":"greet","description":"Greets '"$SECRET"' of '"$DB"'.","inputSchema":{"type":"object","properties":{"to":{"type":"string","description":"Not '"$pw"'.","default":"'"$SECRET"'"}}}}]}' ;;
    *'"tools/call"'*) result='{"content":[{"type":"text","text":"Greetings to '"$SECRET"' at '"$DB"' with '"$pw"', Basic '"$coded"', ?k='"$percent"', \"'"$escaped"'\"."}],"structuredContent":{"'"$pw"'":["'"$SECRET"'"]}}' ;;
    *) continue ;;
    esac
    printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
done
"#;

/// Everything that an engine requests on the network, in one server; it repeats the request wherever it
/// refuses.
#[derive(Clone)]
struct FakeNetwork {
    address: String,
    /// The heads of all requests.
    seen: Arc<Mutex<String>>,
    /// Their bodies: what models, servers and receivers read.
    told: Arc<Mutex<String>>,
}

impl FakeNetwork {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound").to_string();
        let world = Self { address, seen: Arc::default(), told: Arc::default() };
        let serving = world.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let world = serving.clone();
                thread::spawn(move || world.answer(stream));
            }
        });
        world
    }

    /// Answers one request; none if the client hangs up.
    fn answer(&self, mut stream: TcpStream) -> Option<()> {
        let mut reader = BufReader::new(stream.try_clone().ok()?);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).ok()? == 0 {
                return None;
            }
        }
        let length = head.to_lowercase();
        let length =
            length.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body).ok()?;
        let body = String::from_utf8(body).ok()?;
        self.seen.lock().expect("whole").push_str(&head);
        self.told.lock().expect("whole").push_str(&format!("{body}\n"));
        let (status, kind, answer) = if head.starts_with("POST /chat/") {
            ("200 OK", "text/event-stream", model_stream(&body))
        } else {
            let words = head.replace(['"', '\\'], "").replace("\r\n", " ");
            ("403 Forbidden", "application/json", format!(r#"{{"error":{{"message":"I saw {words}"}}}}"#))
        };
        let head = format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nConnection: close\r\n");
        write!(stream, "{head}Content-Length: {}\r\n\r\n{answer}", answer.len()).ok()
    }
}

/// A model that calls one tool once and then answers: that of the talkative server if it has it, or the search.
fn model_stream(body: &str) -> String {
    let called = body.contains(r#""role":"tool""#);
    let (tool, arguments) = match body.contains(r#""name":"talkative__greet""#) {
        true => ("talkative__greet", "{}"),
        false => ("web_search", r#"{\"query\":\"canaries\"}"#),
    };
    let call = format!(
        r#"{{"tool_calls":[{{"index":0,"id":"c1","type":"function","function":{{"name":"{tool}","arguments":"{arguments}"}}}}]}}"#
    );
    let delta = if called { r#"{"content":"Nothing was found."}"#.to_owned() } else { call };
    let end = if called { "stop" } else { "tool_calls" };
    format!(
        "data: {{\"choices\":[{{\"index\":0,\"delta\":{delta}}}]}}\n\n\
         data: {{\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"{end}\"}}]}}\n\ndata: [DONE]\n\n"
    )
}

/// The bytes of every file below a directory that the engine wrote.
fn files_below(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("readable").path());
    entries
        .filter(|path| !path.ends_with("entourage.toml"))
        .flat_map(|path| match path.is_dir() {
            true => files_below(&path),
            false => vec![(path.display().to_string(), fs::read(&path).expect("readable"))],
        })
        .collect()
}

/// The whole response to a GET.
fn get(address: &str, path: &str, token: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let authorization = format!("Authorization: Bearer {token}");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n{authorization}\r\nConnection: close\r\n\r\n")
        .expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("answered");
    answer
}

#[test]
fn every_secret_is_used_and_never_shown_or_stored() {
    let world = FakeNetwork::start();
    let at = &world.address;
    let place = DataDir::new();
    place.write("data/kinds/searcher.md", "---\nname: searcher\ntools: [web_search]\n---\nSearch.\n");
    let held = "---\nname: held\ntools: [web_search]\napproval: [{ tools: web_search }]\n---\nSearch.\n";
    place.write("data/kinds/held.md", held);
    place.write("data/kinds/owners.md", "---\nname: owners\ntools: [web_search, mcp]\n---\nSearch.\n");
    place.write("data/kinds/greeter.md", "---\nname: greeter\ntools: [mcp__talkative]\n---\nGreet.\n");
    place.write("data/kinds/denied.md", "---\nname: denied\nmodel: anthropic::m\n---\nHelp.\n");
    place.write("data/kinds/guest.md", "---\nname: guest\nmodel: compatible::m\n---\nHelp.\n");
    let talkative = json!(["-c", TALKATIVE]);
    place.write(
        "data/entourage.toml",
        &format!(
            "[models]\ndefault = \"openai::m\"\n\
             [models.providers.openai]\nbase_url = \"http://{at}/chat/v1\"\nkey = \"{MODEL_KEY}\"\n\
             [models.providers.anthropic]\nbase_url = \"http://{at}/messages\"\n\
             [models.providers.compatible]\nbase_url = \"http://me:{PASSWORD}@{at}/guest/v1\"\n\
             [tools.search]\nbackend = \"brave\"\nbrave_api_key = \"{SEARCH_KEY}\"\nbrave_url = \"http://{at}/brave\"\n\
             [[tools.mcp]]\nname = \"remote\"\nurl = \"http://{at}/mcp\"\nheaders = {{Authorization = \"Bearer {MCP_HEADER}\"}}\n\
             [[tools.mcp]]\nname = \"child\"\ncommand = \"sh\"\nargs = [\"-c\", \"printf %s $SECRET > child.txt\"]\nenv = {{SECRET = \"{MCP_ENVIRONMENT}\"}}\n\
             [[tools.mcp]]\nname = \"owners\"\nurl = \"http://{at}/mcp\"\nheaders = {{Authorization = \"Bearer ${{secret:web}}\"}}\n\
             [[tools.mcp]]\nname = \"own_child\"\ncommand = \"sh\"\nargs = [\"-c\", \"printf %s $SECRET > own_child.txt; echo $SECRET >&2\"]\nenv = {{SECRET = \"${{secret:child}}\"}}\n\
             [[tools.mcp]]\nname = \"talkative\"\ncommand = \"sh\"\nargs = {talkative}\nenv = {{SECRET = \"${{secret:child}}\", DB = \"postgres://u:${{secret:pw}}@host/db\"}}\n\
             [webhooks.crm]\nurl = \"http://{at}/hooks?key={WEBHOOK_ADDRESS}\"\nsecret = \"whsec_{WEBHOOK_SECRET}\"\n\
             [server.webhooks.database]\nsecret = \"whsec_{SENDER_SECRET}\"\n\
             [server.auth.jwt]\nalgorithm = \"HS256\"\nkey = \"{TOKEN_SECRET}\"\n"
        ),
    );
    let with_keys = |arguments: &[&str]| {
        let mut command = place.process(arguments);
        command.env("ANTHROPIC_API_KEY", ENVIRONMENT_KEY).env("ENTOURAGE_LOG", "trace");
        command.env("ENTOURAGE_SECRETS__KEYS", SECRETS_KEY);
        command.env_remove("ENTOURAGE_MODEL");
        command
    };
    let log = place.path().join("server.log");
    let mut serve = with_keys(&["serve", "--bind", "127.0.0.1:0", "--json", "--log-format", "json"]);
    let errors = fs::File::create(&log).expect("a log");
    let mut server = serve.stdout(Stdio::piped()).stderr(errors).spawn().expect("it starts");
    let mut shown = String::new();
    let mut greeting = BufReader::new(server.stdout.take().expect("piped"));
    greeting.read_line(&mut shown).expect("a greeting");

    let said = |arguments: &[&str]| {
        let ended = Ended::of(&mut assert_cmd::Command::from_std(with_keys(arguments)));
        format!("{}{}", ended.stdout, ended.stderr)
    };
    let token = said(&["token", "--owner", "local", "--ttl", "5m", "--quiet"]);
    assert!(token.lines().next().is_some_and(|token| token.starts_with("ey")), "{token}");
    for (name, value) in [("web", OWNERS_SECRET), ("child", OWNERS_CHILD), ("pw", OWNERS_PASSWORD)] {
        let mut set = assert_cmd::Command::from_std(with_keys(&["secrets", "set", name, "--json"]));
        let set = Ended::of(set.write_stdin(format!("{value}\n")));
        assert!(set.stdout.contains(name), "{set:?}");
        shown.push_str(&format!("{}{}", set.stdout, set.stderr));
    }
    for kind in ["searcher", "denied", "guest", "held", "owners", "greeter"] {
        let told = said(&["run", "Find the canaries", "--kind", kind, "-vv"]);
        assert!(told.contains("agt_"), "{kind} ran: {told}");
        shown.push_str(&told);
        for arguments in [&["tail", "@last", "--json"][..], &["export", "@last"], &["show", "@last"]] {
            shown.push_str(&said(arguments));
        }
    }
    let told = (0..100).any(|_| said(&["webhooks", "--json"]).contains("403"));
    assert!(told, "the receiver was told of the question, and refused");
    let copy = place.path().join("copy.db");
    for arguments in
        [&["mcp"][..], &["secrets"], &["secrets", "reseal"], &["export", "@last"], &["backup", "copy.db"]]
    {
        shown.push_str(&said(arguments));
    }
    for arguments in [&["webhooks"][..], &["doctor"], &["agents", "--json"], &["tree"], &["kinds"]] {
        shown.push_str(&said(arguments));
    }
    shown.push_str(&said(&["settings", "--in-force"]));
    let address = shown.split_once("http://").and_then(|(_, rest)| rest.split_once('"')).expect("a URL").0;
    let address = address.to_owned();
    for (path, words) in [
        ("/v1/settings", "\"ANTHROPIC_API_KEY\""),
        ("/v1/settings", "\"tools.mcp[1].env\""),
        ("/v1/doctor", "\"mcp child\""),
    ] {
        let told = get(&address, path, token.lines().next().unwrap_or_default());
        assert!(told.starts_with("HTTP/1.1 200") && told.contains(words), "{told}");
        shown.push_str(&told);
    }
    server.kill().expect("it ran until now");
    server.wait().expect("it ends");
    shown.push_str(&fs::read_to_string(&log).expect("a log"));

    let seen = world.seen.lock().expect("whole").clone();
    for used in [
        MODEL_KEY,
        ENVIRONMENT_KEY,
        SEARCH_KEY,
        MCP_HEADER,
        OWNERS_SECRET,
        WEBHOOK_ADDRESS,
        "webhook-signature: v1,",
    ] {
        assert!(seen.contains(used), "{used} was used: {seen}");
    }
    assert_eq!(fs::read_to_string(place.path().join("child.txt")).expect("it ran"), MCP_ENVIRONMENT);
    assert_eq!(fs::read_to_string(place.path().join("own_child.txt")).expect("it ran"), OWNERS_CHILD);
    let database_of_owner = format!("postgres://u:{OWNERS_PASSWORD}@host/db");
    assert_eq!(fs::read_to_string(place.path().join("talkative.txt")).expect("it ran"), database_of_owner);
    // What the talkative server said was read, without what it was given.
    let told = world.told.lock().expect("whole").clone();
    for said in ["Greets [secret] of", "Greetings to [secret] at"] {
        assert!(told.contains(said), "{said}: {told}");
    }
    assert!(shown.contains("Greetings to [secret] at") && shown.contains("?k=[secret]"), "{shown}");
    let mut files = files_below(&place.data());
    files.push(("the backup".to_owned(), fs::read(copy).expect("it was made")));
    for secret in ALL.into_iter().chain(OF_PASSWORD) {
        let line = shown.lines().find(|line| line.contains(secret));
        assert_eq!(line, None, "{secret} is shown");
        let line = told.lines().find(|line| line.contains(secret));
        assert_eq!(line, None, "{secret} is told to a model, a server or a receiver");
        for (file, bytes) in &files {
            let found = bytes.windows(secret.len()).any(|part| part == secret.as_bytes());
            assert!(!found, "{secret} is in {file}");
        }
    }
    let database: usize = files_below(&place.data()).iter().map(|(_, bytes)| bytes.len()).sum();
    assert!(database > 4096 && shown.contains("web_search"), "there was something to look at");
}
