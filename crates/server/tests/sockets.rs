//! Explorations over WebSockets: the same chunks as server-sent events, answers and overrides upstream, and how a
//! connection ends.

use std::time::Duration;

use entourage_server::{Settings, mint};
use entourage_types::Owner;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::{
    Message,
    protocol::frame::{
        Frame,
        coding::{CloseCode, Data, OpCode},
    },
};

use crate::{
    auth::{settings, token_of},
    chunks::Chunks,
    explorations::{kinds, open},
    site::{Site, send},
    socket::{Socket, connect, connect_small},
    stream::within,
};

fn types(chunks: &[Value]) -> Vec<&str> {
    chunks.iter().map(|chunk| chunk["type"].as_str().unwrap()).collect()
}

/// A chunk without what tells where it is in the stream.
fn bare(mut chunk: Value) -> Value {
    assert!(chunk.as_object_mut().unwrap().remove("eventId").unwrap().is_string());
    chunk
}

/// The chunks, with pieces of text that follow each other as one: how a text is cut differs between clients.
fn joined(chunks: impl IntoIterator<Item = Value>) -> Vec<Value> {
    let mut whole: Vec<Value> = Vec::new();
    for chunk in chunks {
        match (whole.last_mut(), chunk["textDelta"].as_str()) {
            (Some(last), Some(piece)) if last["type"] == chunk["type"] => {
                last["textDelta"] = json!(format!("{}{piece}", last["textDelta"].as_str().unwrap()));
            }
            _ => whole.push(chunk),
        }
    }
    whole
}

fn answer(query: &Value, response: Value) -> Value {
    json!({"type": "user-answer", "queryId": query["queryId"], "response": response})
}

async fn agents(site: &Site) -> usize {
    site.get("/v1/agents").await.expect(200)["data"].as_array().unwrap().len()
}

/// Shows: S3-R071, S3-R096, S3-R101.
#[tokio::test]
async fn a_socket_has_the_chunks_of_the_stream_and_takes_the_answer_to_a_question() {
    let site = open().await;
    let mut socket = Socket::open(&site, "?prompt=ask&agentId=scout").await;
    let mut stream = Chunks::get(&site, "?agentId=scout", None).await;
    let mut seen = socket.until("user-query").await;
    let reply = socket.ask(&answer(seen.last().unwrap(), json!("red"))).await;
    // The agent may be quicker than the reply, or slower.
    assert_eq!(reply, json!({"type": "reply", "success": true}));
    drop(socket);
    let mut again = Socket::open(&site, &format!("?lastEventId={}", seen_id(&seen))).await;
    seen.extend(again.until("finish").await);
    assert_eq!(again.closed().await, CloseCode::Normal);
    again.end().await;
    let of_stream = stream.until("finish").await;
    assert_eq!(joined(seen.into_iter().map(bare)), joined(of_stream.clone()));
    let answered: Vec<&Value> = of_stream.iter().filter(|chunk| chunk["type"] == "user-answer").collect();
    assert_eq!((answered.len(), &answered[0]["response"]), (1, &json!("red")));
    assert_eq!(agents(&site).await, 1);
}

/// The id of the last chunk.
fn seen_id(seen: &[Value]) -> &str {
    seen.last().unwrap()["eventId"].as_str().unwrap()
}

/// Shows: S3-R101.
#[tokio::test]
async fn a_question_that_a_client_declines_is_answered_with_nothing() {
    let site = open().await;
    let mut socket = Socket::open(&site, "?prompt=ask").await;
    let asked = socket.until("user-query").await;
    socket.say(&answer(asked.last().unwrap(), Value::Null)).await;
    let rest = socket.until("finish").await;
    let answered = rest.iter().find(|chunk| chunk["type"] == "user-answer").unwrap();
    assert_eq!(answered["response"], Value::Null);
    assert!(rest.iter().any(|message| message["success"] == true));
}

/// Shows: S3-R046, S3-R047.
#[tokio::test]
async fn a_client_intervenes_over_its_socket() {
    let site = open().await;
    let mut socket = Socket::open(&site, "?prompt=ask&agentId=scout").await;
    socket.until("user-query").await;
    let intervene = |fields: Value| {
        let mut message = json!({"type": "intervene", "agentId": "scout", "id": 7});
        message.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        message
    };
    let done = json!({"type": "reply", "success": true, "to": 7});
    assert_eq!(socket.ask(&intervene(json!({"userComment": "fine so far"}))).await, done);
    assert_eq!(site.get("/agent/tree").await.expect(200)["scout"]["userComment"], "fine so far");
    let modify = intervene(json!({"userComment": "modify", "userContent": "ask again"}));
    socket.say(&modify).await;
    let seen = socket.until("user-query").await;
    let modified = seen.iter().any(|chunk| chunk["state"] == "modified");
    assert!(modified && seen.contains(&done), "{seen:#?}");
    socket.say(&intervene(json!({"status": "deleted"}))).await;
    let seen = socket.until("finish").await;
    assert!(seen.iter().any(|chunk| chunk["state"] == "deleted"), "{seen:#?}");
    assert_eq!(socket.closed().await, CloseCode::Normal);
}

/// Shows: S3-R006, S3-R101.
#[tokio::test]
async fn what_makes_no_sense_is_replied_to_with_the_reason_and_changes_nothing() {
    let site = open().await;
    let mut socket = Socket::open(&site, "?prompt=ask&agentId=scout").await;
    let query = socket.until("user-query").await.pop().unwrap();
    // An agent that is not of the followed one, though it is the same owner's.
    let mut other = Socket::open(&site, "?prompt=ask&agentId=other").await;
    let foreign = other.until("user-query").await.pop().unwrap();
    let before = site.get("/agent/tree").await.expect(200);
    let no_question = format!("qst_{:032x}", 1);
    let set = |name: &str, fields: Value| {
        let mut message = json!({"type": "intervene", "agentId": name});
        message.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        message
    };
    for (wrong, why) in [
        (json!([1]), "JSON object"),
        (json!({}), "`type`"),
        (json!({"type": "delete", "agentId": "scout"}), "`type`"),
        (json!({"type": "user-answer", "response": "red"}), "queryId"),
        (json!({"type": "user-answer", "queryId": 7, "response": "red"}), "queryId"),
        (json!({"type": "user-answer", "queryId": query["queryId"]}), "response"),
        (json!({"type": "user-answer", "queryId": query["queryId"], "response": 7}), "string"),
        (json!({"type": "user-answer", "queryId": query["queryId"], "response": "", "id": "a"}), "empty"),
        (json!({"type": "user-answer", "queryId": no_question, "response": "red"}), "qst_"),
        (answer(&foreign, json!("red")), "qst_"),
        (json!({"type": "intervene", "userComment": "delete"}), "agentId"),
        (json!({"type": "intervene", "agentId": "scout", "comment": "delete"}), "comment"),
        (set("scout", json!({"userComment": 7})), "string"),
        (set("scout", json!({"userComment": " "})), "empty"),
        (set("scout", json!({"status": "asleep"})), "awaiting_user"),
        (set("nobody", json!({"userComment": "delete"})), "nobody"),
        (set("other", json!({"userComment": "delete"})), "other"),
        (json!({"type": "intervene", "agentId": "scout", "userComment": "delete", "id": {}}), "`id`"),
    ] {
        let reply = socket.ask(&wrong).await;
        assert_eq!(reply["success"], false, "{wrong}: {reply}");
        assert!(reply["error"].as_str().unwrap().contains(why), "{wrong}: {reply}");
        assert_eq!(reply.get("to"), wrong.get("id").filter(|id| id.is_string()));
    }
    for no_json in [Message::text("{"), Message::binary(b"{}".to_vec())] {
        socket.send(no_json).await;
        assert_eq!(socket.until("reply").await.pop().unwrap()["success"], false);
    }
    assert_eq!(site.get("/agent/tree").await.expect(200), before);
    // What is unknown and what is another agent's read the same.
    let told = async |socket: &mut Socket, id: &Value| {
        let reply = socket.ask(&json!({"type": "user-answer", "queryId": id, "response": "x"})).await;
        reply["error"].as_str().unwrap().replace(id.as_str().unwrap(), "ID")
    };
    let unknown = told(&mut socket, &json!(no_question)).await;
    assert_eq!(told(&mut socket, &foreign["queryId"]).await, unknown);
    assert_eq!(socket.ask(&answer(&query, json!("red"))).await["success"], true);
    let late = socket.ask(&answer(&query, json!("blue"))).await;
    assert!(late["error"].as_str().unwrap().contains("open"), "the first answer counts: {late}");
}

/// A child of the followed agent asks, too, while that waits itself.
///
/// Shows: S3-R090, S3-R101.
#[tokio::test]
async fn questions_from_below_the_followed_agent_are_answered_over_its_socket() {
    let site = open().await;
    let mut socket = Socket::open(&site, "?prompt=ask&agentId=top").await;
    let above = socket.until("user-query").await.pop().unwrap();
    let mut child = Socket::open(&site, "?prompt=ask&agentId=child&parentId=top").await;
    let below = child.until("user-query").await.pop().unwrap();
    assert_eq!(socket.until("user-query").await.pop().unwrap()["queryId"], below["queryId"]);
    assert_eq!(
        child.ask(&answer(&above, json!("red"))).await["success"],
        false,
        "the agent above is not its"
    );
    assert_eq!(socket.ask(&answer(&below, json!("blue"))).await["success"], true);
    assert_eq!(child.until("user-answer").await.pop().unwrap()["response"], "blue");
    child.until("finish").await;
    assert_eq!(site.get("/agent/tree").await.expect(200)["top"]["status"], "awaiting_user");
    assert_eq!(socket.ask(&answer(&above, json!("red"))).await["success"], true);
}

/// Shows: S3-R102.
#[tokio::test]
async fn a_lost_socket_strands_no_agent_and_another_goes_on_where_it_was() {
    let site = open().await;
    let mut lost = Socket::open(&site, "?prompt=ask&agentId=scout").await;
    let query = lost.until("user-query").await.pop().unwrap();
    let last = lost.last_id.take().unwrap();
    drop(lost);
    let mut again = Socket::open(&site, &format!("?agentId=scout&lastEventId={last}")).await;
    assert_eq!(again.ask(&answer(&query, json!("red"))).await["success"], true);
    let mut by_header = connect(&site, "", &[("last-event-id", &last)]).await.unwrap();
    let rest = by_header.until("finish").await;
    assert!(!types(&rest).contains(&"user-query"), "what it had does not come again: {rest:#?}");
    let end = by_header.last_id.unwrap();
    // Whoever has had everything is told so at once.
    let mut over = Socket::open(&site, &format!("?lastEventId={end}&prompt=ask")).await;
    assert_eq!(over.next().await.unwrap_err().unwrap().code, CloseCode::Normal);
    assert_eq!(agents(&site).await, 1);
}

/// Shows: S3-R079, S3-R096.
#[tokio::test]
async fn what_is_refused_is_refused_before_there_is_a_socket_and_starts_nothing() {
    let site = open().await;
    for (query, status, kind) in [
        ("", 422, "invalid-request"),
        ("?prompt=%20", 422, "invalid-request"),
        ("?prompt=go&agentId=ws", 422, "invalid-request"),
        ("?prompt=go&parentId=nobody", 404, "not-found"),
        ("?prompt=go&last=x", 400, "invalid-query"),
        ("?prompt=go&lastEventId=7", 400, "invalid-query"),
        ("?prompt=go&token=unknown", 401, "unauthorized"),
    ] {
        let (refused, problem) = connect(&site, query, &[]).await.err().expect(query);
        assert_eq!((refused, &problem["type"]), (status, &json!(format!("urn:entourage:problem:{kind}"))));
    }
    // A page of another site can open a WebSocket without asking, and would read all of it.
    for origin in ["https://evil.example", "http://localhost.evil.example", "null"] {
        let (status, problem) =
            connect(&site, "?prompt=go", &[("origin", origin)]).await.err().expect(origin);
        assert_eq!((status, &problem["type"]), (403, &json!("urn:entourage:problem:foreign-site")));
    }
    send(site.request(Method::GET, "/agent/ws?prompt=go")).await.problem(400, "invalid-header");
    assert_eq!(agents(&site).await, 0);
    let own = format!("http://{}", site.address);
    let mut socket = connect(&site, "?prompt=go", &[("origin", &own)]).await.unwrap();
    socket.until("finish").await;
}

/// Shows: S3-R096.
#[tokio::test]
async fn a_socket_needs_a_token_in_its_header_or_one_for_a_stream_in_its_address() {
    let site = Site::of_kinds_with(kinds(), settings()).await;
    let alice = site.bearing(&token_of("alice"));
    assert_eq!(connect(&site, "?prompt=ask", &[]).await.err().unwrap().0, 401);
    let bearer = format!("Bearer {}", token_of("alice"));
    let mut by_header = connect(&site, "?prompt=ask", &[("authorization", &bearer)]).await.unwrap();
    let others = by_header.until("user-query").await.pop().unwrap();
    let made = alice.post("/agent/stream-token", &json!({})).await.expect(201);
    let query = format!("?prompt=ask&token={}", made["token"].as_str().unwrap());
    let mut by_address = Socket::open(&site, &query).await;
    let own = by_address.until("user-query").await.pop().unwrap();
    // It is for one agent, whatever the address says later, and its holder reaches no other.
    let mut same = Socket::open(&site, &query.replace("ask", "hello")).await;
    assert_eq!(same.until("user-query").await.pop().unwrap()["queryId"], own["queryId"]);
    assert_eq!(same.ask(&answer(&others, json!("red"))).await["success"], false);
    let delete = json!({"type": "intervene", "agentId": others["agentId"], "userComment": "delete"});
    assert_eq!(same.ask(&delete).await["success"], false);
    let elsewhere = format!("{query}&lastEventId={}", by_header.last_id.as_ref().unwrap());
    assert_eq!(connect(&site, &elsewhere, &[]).await.err().unwrap().0, 401);
    assert_eq!(same.ask(&answer(&own, json!("red"))).await["success"], true);
    let mallory = format!("Bearer {}", token_of("mallory"));
    let last = format!("?lastEventId={}", by_header.last_id.as_ref().unwrap());
    assert_eq!(connect(&site, &last, &[("authorization", &mallory)]).await.err().unwrap().0, 404);
    assert_eq!(agents(&alice).await, 2);
}

#[tokio::test]
async fn a_silent_socket_is_pinged() {
    let settings = Settings { heartbeat: Duration::from_millis(20), ..Settings::default() };
    let site = Site::of_kinds_with(kinds(), settings).await;
    let mut socket = Socket::open(&site, "?prompt=ask").await;
    let query = socket.until("user-query").await.pop().unwrap();
    for _ in 0..3 {
        socket.ping().await;
    }
    assert_eq!(socket.ask(&answer(&query, json!("red"))).await["success"], true);
    socket.until("finish").await;
}

#[tokio::test]
async fn a_message_that_is_too_long_or_no_message_closes_the_socket_with_the_reason() {
    let site = open().await;
    let longest = 1 << 20;
    let mut socket = Socket::open(&site, "?prompt=ask&agentId=scout").await;
    let query = socket.until("user-query").await.pop().unwrap();
    let empty = answer(&query, json!("")).to_string().len();
    // The longest that is taken: that it is too long for an answer is another matter.
    let long = answer(&query, json!("x".repeat(longest - empty)));
    assert_eq!(long.to_string().len(), longest);
    let reply = socket.ask(&long).await;
    assert_eq!(reply["type"], "reply");
    let piece = |code, last| Frame::message("x".repeat(longest / 2 + 1), OpCode::Data(code), last);
    for (messages, code) in [
        (vec![Message::text("x".repeat(longest + 1))], CloseCode::Size),
        (vec![Message::text("x".repeat(8 * longest))], CloseCode::Size),
        (
            vec![Message::Frame(piece(Data::Text, false)), Message::Frame(piece(Data::Continue, true))],
            CloseCode::Size,
        ),
        (
            vec![Message::Frame(Frame::message(vec![0xff], OpCode::Data(Data::Text), true))],
            CloseCode::Invalid,
        ),
        (vec![Message::Frame(piece(Data::Continue, true))], CloseCode::Protocol),
    ] {
        let mut socket = Socket::open(&site, "?prompt=ask").await;
        socket.until("user-query").await;
        let (mut writes, reads) = futures::StreamExt::split(socket.inner);
        let writes = async move {
            for message in messages {
                // The server reads no further than to where it has seen that.
                let _ = futures::SinkExt::send(&mut writes, message).await;
            }
        };
        tokio::spawn(writes);
        let closes = futures::StreamExt::filter_map(reads, async |message| match message {
            Ok(Message::Close(why)) => Some(why.unwrap().code),
            Ok(_) => None,
            Err(error) => panic!("{error}"),
        });
        let mut closes = Box::pin(closes);
        assert_eq!(within("it closes", futures::StreamExt::next(&mut closes)).await, Some(code));
    }
}

/// The server stops at once, also beside a client that does not answer its leave.
#[tokio::test]
async fn sockets_are_closed_as_gone_away_when_the_server_stops() {
    let site = open().await;
    let mut socket = Socket::open(&site, "?prompt=ask").await;
    socket.until("user-query").await;
    let mut silent = Socket::open(&site, "?prompt=ask").await;
    silent.until("user-query").await;
    site.stop.cancel();
    assert_eq!(socket.closed().await, CloseCode::Away);
    socket.end().await;
    // The default grace is longer.
    tokio::time::timeout(Duration::from_secs(5), site.served).await.expect("an end").unwrap().unwrap();
    assert_eq!(silent.closed().await, CloseCode::Away);
}

/// A client that has to read much of a stream that it does not read: nothing can be sent to it.
#[tokio::test]
async fn a_server_that_stops_waits_no_longer_for_a_socket_than_for_a_request() {
    let settings = Settings { grace: Duration::from_millis(50), ..Settings::default() };
    let site = Site::of_kinds_with(kinds(), settings).await;
    let query = long_stream(&site).await;
    let _stuck = connect_small(&site, &query, &[]).await.unwrap();
    site.stop.cancel();
    tokio::time::timeout(Duration::from_secs(1), site.served).await.expect("an end").unwrap().unwrap();
}

/// Starts an agent whose stream has a long chunk, and returns the query that goes on with it.
async fn long_stream(site: &Site) -> String {
    let mut stream = Chunks::post(site, &json!({"prompt": "z".repeat(1_000_000)})).await;
    let _first = stream.next().await;
    let last = stream.last_id.take().unwrap();
    stream.until("finish").await;
    format!("?lastEventId={last}")
}

#[tokio::test]
async fn a_socket_is_closed_when_its_token_expires() {
    let settings = settings();
    let brief = mint(&settings, &Owner::new("alice"), Duration::from_secs(2)).unwrap();
    let site = Site::of_kinds_with(kinds(), settings).await;
    let bearer = format!("Bearer {brief}");
    let mut socket = connect(&site, "?prompt=ask", &[("authorization", &bearer)]).await.unwrap();
    assert_eq!(socket.closed().await, CloseCode::Policy);
    socket.end().await;
}

#[tokio::test]
async fn a_socket_counts_as_a_stream_until_it_ends() {
    let site = Site::of_kinds_with(kinds(), Settings { streams: 1, ..Settings::default() }).await;
    let mut socket = Socket::open(&site, "?prompt=ask&agentId=scout").await;
    socket.until("user-query").await;
    let (status, problem) = connect(&site, "?prompt=ask", &[]).await.err().unwrap();
    assert_eq!((status, &problem["type"]), (429, &json!("urn:entourage:problem:too-many-streams")));
    let refused = send(site.request(Method::GET, "/agent/stream?prompt=ask")).await;
    refused.problem(429, "too-many-streams");
    assert_eq!(agents(&site).await, 1, "none was started for them");
    drop(socket);
    let again = async { while connect(&site, "?agentId=scout", &[]).await.is_err() {} };
    within("there is room again", again).await;
}

/// Connections without a request give way to others; a socket is a request under way, and is a connection of its owner.
#[tokio::test]
async fn a_socket_counts_as_a_connection_under_way_and_does_not_give_way_to_others() {
    let site = Site::of_kinds_with(kinds(), Settings { connections: Some(8), ..settings() }).await;
    let [ann, bob] = ["ann", "bob"].map(|owner| format!("Bearer {}", token_of(owner)));
    let open = async |bearer: &str| connect(&site, "?prompt=ask", &[("authorization", bearer)]).await;
    let mut hers = Vec::new();
    for _ in 0..4 {
        hers.push(open(&ann).await.unwrap());
    }
    assert_eq!(open(&ann).await.err().unwrap().0, 429, "half of the connections");
    let mut silent = Vec::new();
    for _ in 0..20 {
        silent.push(TcpStream::connect(site.address).await.unwrap());
    }
    let mut his = open(&bob).await.unwrap();
    for socket in hers.iter_mut().chain([&mut his]) {
        let query = socket.until("user-query").await.pop().unwrap();
        assert_eq!(socket.ask(&answer(&query, json!("red"))).await["success"], true, "it is open");
    }
}

#[tokio::test]
async fn a_socket_that_is_not_read_is_cut_off_and_its_stream_freed() {
    let brief = Duration::from_millis(50);
    let site =
        Site::of_kinds_with(kinds(), Settings { streams: 1, write_timeout: brief, ..settings() }).await;
    let (token, ann) = (token_of("ann"), site.bearing(&token_of("ann")));
    let query = long_stream(&ann).await;
    let bearer = format!("Bearer {token}");
    let headers = [("authorization", bearer.as_str())];
    let unread = async {
        loop {
            // Until the streams before it have ended.
            if let Ok(socket) = connect_small(&site, &query, &headers).await {
                return socket;
            }
        }
    };
    let _unread = within("there is room", unread).await;
    let again = async { while connect(&site, &query, &headers).await.is_err() {} };
    within("what is not read is cut off", again).await;
}
