//! The gate before a model: one caller's refusal applies to all calls of its owner.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use entourage_llm::{
    Connection, Delta, Deltas, Error, GateStatus, Gated, Gates, Model, NoDeltas, Priority, Provider, Reply,
    Request, Result, Router, Settings,
};
use entourage_types::Owner;
use tokio::{
    sync::{Semaphore, mpsc},
    task::JoinHandle,
    time::advance,
};

use crate::server::{Answer, Server};

const SECOND: Duration = Duration::from_secs(1);

/// Reports each call, begins its answer, and completes it when the test releases it.
struct HeldModel {
    inside: AtomicUsize,
    most: AtomicUsize,
    came: mpsc::UnboundedSender<String>,
    go: Semaphore,
}

#[async_trait]
impl Model for HeldModel {
    async fn call(&self, request: Request, deltas: &mut dyn Deltas) -> Result<Reply> {
        let inside = self.inside.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(inside, Ordering::SeqCst);
        self.came.send(request.system.to_string()).expect("a listener");
        deltas.delta(Delta::Text("I".into()));
        self.go.acquire().await.expect("open").forget();
        self.inside.fetch_sub(1, Ordering::SeqCst);
        Ok(Reply::default())
    }

    fn describe(&self) -> String {
        "held".into()
    }
}

/// Returns the scripted answers, then replies; counts its calls.
#[derive(Default)]
struct ScriptedAnswers {
    answers: Mutex<VecDeque<Result<Reply>>>,
    asked: AtomicUsize,
}

impl ScriptedAnswers {
    fn gated(
        errors: impl IntoIterator<Item = Error>,
        connection: Connection,
    ) -> (Arc<Self>, Arc<Gated<Arc<Self>>>) {
        let answers = errors.into_iter().map(Err).collect();
        let scripted = Arc::new(Self { answers: Mutex::new(answers), ..Self::default() });
        (Arc::clone(&scripted), Arc::new(Gated::new(scripted, connection)))
    }

    /// The same with errors and replies.
    fn saying(answers: impl IntoIterator<Item = Result<Reply>>) -> (Arc<Self>, Arc<Gated<Arc<Self>>>) {
        let (scripted, gated) = Self::gated([], Connection::default());
        scripted.answers.lock().expect("not poisoned").extend(answers);
        (scripted, gated)
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Model for ScriptedAnswers {
    async fn call(&self, _: Request, _: &mut dyn Deltas) -> Result<Reply> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let answer = self.answers.lock().expect("not poisoned").pop_front();
        tokio::time::sleep(Duration::from_millis(10)).await;
        answer.unwrap_or_else(|| Ok(Reply::default()))
    }

    fn describe(&self) -> String {
        "told".into()
    }
}

fn slower(seconds: Option<u64>) -> Error {
    Error::RateLimited { model: "m".into(), retry_after: seconds.map(Duration::from_secs) }
}

fn down() -> Error {
    Error::Unavailable { model: "m".into(), cause: "HTTP 500".into(), retry_after: None }
}

fn from(who: &str, priority: Priority) -> Request {
    Request { model: Some("m".into()), system: who.into(), priority, ..Request::default() }
}

fn ask<M: Model>(gated: &Arc<Gated<M>>, who: &str, priority: Priority) -> JoinHandle<Result<Reply>> {
    let (gated, request) = (Arc::clone(gated), from(who, priority));
    tokio::spawn(async move { gated.call(request, &mut NoDeltas).await })
}

async fn call_once<M: Model>(gated: &Gated<M>) -> Result<Reply> {
    gated.call(from("", Priority::Person), &mut NoDeltas).await
}

fn expect_busy(result: Result<Reply>) -> Duration {
    match result {
        Err(error @ Error::Busy { after, .. }) => {
            assert!(error.is_retryable());
            assert_eq!(error.retry_after(), Some(after));
            after
        }
        other => panic!("not sent home: {other:?}"),
    }
}

fn held(places: usize) -> (Arc<HeldModel>, Arc<Gated<Arc<HeldModel>>>, mpsc::UnboundedReceiver<String>) {
    let (came, arrivals) = mpsc::unbounded_channel();
    let (inside, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let held = Arc::new(HeldModel { inside, most, came, go: Semaphore::new(0) });
    let connection = Connection { concurrency: Some(places), ..Connection::default() };
    let gated = Arc::new(Gated::new(Arc::clone(&held), connection));
    (held, gated, arrivals)
}

#[tokio::test]
async fn waiting_calls_pass_the_gate_in_order_of_arrival() {
    let (held, gated, mut arrivals) = held(2);
    let mut calls = Vec::new();
    for number in 0..6 {
        calls.push(ask(&gated, &number.to_string(), Priority::Person));
        // On this single thread the call has reached the gate before the next one is spawned.
        tokio::task::yield_now().await;
    }
    let mut order = vec![arrivals.recv().await.expect("0"), arrivals.recv().await.expect("1")];
    assert!(arrivals.try_recv().is_err(), "the third waits");
    let state = &gated.gates()[0];
    assert_eq!((state.model.as_str(), state.in_flight, state.waiting), ("m", 2, 4));
    // A call that is cancelled while it waits takes no place.
    calls.remove(2).abort();
    for _ in 0..3 {
        held.go.add_permits(1);
        order.push(arrivals.recv().await.expect("the next"));
    }
    held.go.add_permits(2);
    for call in calls {
        call.await.expect("no panic").expect("a reply");
    }
    assert_eq!(order, ["0", "1", "3", "4", "5"]);
    assert_eq!(held.most.load(Ordering::SeqCst), 2);
    let state = &gated.gates()[0];
    assert_eq!((state.door, state.in_flight, state.waiting), (GateStatus::Open, 0, 0));
}

#[tokio::test]
async fn calls_for_people_pass_before_background_work() {
    let (held, gated, mut arrivals) = held(1);
    let mut calls = Vec::new();
    for (who, priority) in [
        ("first", Priority::Background),
        ("work 1", Priority::Background),
        ("work 2", Priority::Background),
        ("person 1", Priority::Person),
        ("person 2", Priority::Person),
    ] {
        calls.push(ask(&gated, who, priority));
        tokio::task::yield_now().await;
    }
    held.go.add_permits(5);
    let mut order = Vec::new();
    for call in calls {
        call.await.expect("no panic").expect("a reply");
        order.push(arrivals.recv().await.expect("one each"));
    }
    assert_eq!(order, ["first", "person 1", "person 2", "work 1", "work 2"]);
}

#[tokio::test]
async fn owners_take_turns_regardless_of_how_many_calls_each_has_waiting() {
    let (held, gated, mut arrivals) = held(1);
    let mut calls = Vec::new();
    for (who, owner, priority) in [
        ("ann 1", "ann", Priority::Person),
        ("ann 2", "ann", Priority::Person),
        ("ann 3", "ann", Priority::Person),
        ("ann's work", "ann", Priority::Background),
        ("ann 4", "ann", Priority::Person),
        ("bob 1", "bob", Priority::Person),
        ("bob 2", "bob", Priority::Person),
        ("carol's work", "carol", Priority::Background),
    ] {
        let (gated, request) =
            (Arc::clone(&gated), Request { owner: Some(Owner::new(owner)), ..from(who, priority) });
        calls.push(tokio::spawn(async move { gated.call(request, &mut NoDeltas).await }));
        tokio::task::yield_now().await;
    }
    // A cancelled call does not use up a turn of its owner.
    calls.remove(1).abort();
    tokio::task::yield_now().await;
    let mut order = Vec::new();
    for _ in 0..7 {
        order.push(arrivals.recv().await.expect("one each"));
        held.go.add_permits(1);
    }
    assert_eq!(order, ["ann 1", "ann 3", "bob 1", "ann 4", "bob 2", "ann's work", "carol's work"]);
    for call in calls {
        call.await.expect("no panic").expect("a reply");
    }
}

#[tokio::test]
async fn each_model_of_a_provider_has_its_own_gate() {
    let (held, gated, mut arrivals) = held(1);
    for model in ["a", "b"] {
        let (gated, request) =
            (Arc::clone(&gated), Request { model: Some(model.into()), ..Request::default() });
        tokio::spawn(async move { gated.call(request, &mut NoDeltas).await });
        arrivals.recv().await.expect("not held up by the other");
    }
    held.go.add_permits(2);
    let states = gated.gates();
    assert_eq!(states.iter().map(|state| state.model.as_str()).collect::<Vec<_>>(), ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn a_long_pause_rejects_calls_and_a_short_one_is_waited_out() {
    let (scripted, gated) =
        ScriptedAnswers::gated([slower(Some(30)), slower(Some(2))], Connection::default());
    assert_eq!(call_once(&gated).await, Err(slower(Some(30))));
    assert_eq!(expect_busy(call_once(&gated).await), 30 * SECOND);
    advance(10 * SECOND).await;
    assert_eq!(expect_busy(call_once(&gated).await), 20 * SECOND);
    assert_eq!(gated.gates()[0].door, GateStatus::Paused(20 * SECOND));
    assert_eq!(scripted.asked(), 1, "nobody else was told the same");
    advance(20 * SECOND).await;
    assert_eq!(call_once(&gated).await, Err(slower(Some(2))));
    call_once(&gated).await.expect("waits in memory");
    assert_eq!((scripted.asked(), gated.gates()[0].door), (3, GateStatus::Open));
}

/// Shows: S4-R114.
#[tokio::test(start_paused = true)]
async fn a_requested_pause_lasts_at_most_five_minutes() {
    let (scripted, gated) = ScriptedAnswers::gated([slower(Some(86_400))], Connection::default());
    assert_eq!(call_once(&gated).await, Err(slower(Some(86_400))));
    assert_eq!(gated.gates()[0].door, GateStatus::Paused(300 * SECOND));
    advance(300 * SECOND).await;
    call_once(&gated).await.expect("it is asked again");
    // The limit also applies to a call that was pending when the gate closed.
    let (gates, closing) =
        (Gates::new(Connection { concurrency: Some(2), ..Connection::default() }, false), scripted);
    closing.answers.lock().expect("not poisoned").extend([Err(slower(Some(30))), Err(slower(Some(86_400)))]);
    let gated = Arc::new(Gated::behind(closing, Arc::new(gates)));
    let calls = [ask(&gated, "", Priority::Person), ask(&gated, "", Priority::Person)];
    for call in calls {
        call.await.expect("no panic").expect_err("refused");
    }
    assert_eq!(gated.gates()[0].door, GateStatus::Paused(300 * SECOND));
}

#[tokio::test(start_paused = true)]
async fn a_call_with_priority_now_passes_a_closed_gate_and_may_reopen_it() {
    let (scripted, gated) =
        ScriptedAnswers::gated([slower(Some(200)), slower(Some(100))], Connection::default());
    assert_eq!(call_once(&gated).await, Err(slower(Some(200))));
    assert_eq!(expect_busy(call_once(&gated).await), 200 * SECOND);
    // The first request that a person asks for is refused like any other, with a new pause.
    let asked = ask(&gated, "", Priority::Now);
    tokio::task::yield_now().await;
    assert_eq!(expect_busy(gated.call(from("", Priority::Now), &mut NoDeltas).await), 200 * SECOND);
    assert_eq!(asked.await.expect("no panic"), Err(slower(Some(100))));
    assert_eq!((scripted.asked(), gated.gates()[0].door), (2, GateStatus::Paused(100 * SECOND)));
    assert_eq!(expect_busy(call_once(&gated).await), 100 * SECOND);
    // The provider accepts the next one: later callers pass.
    gated.call(from("", Priority::Now), &mut NoDeltas).await.expect("a reply");
    assert_eq!(gated.gates()[0].door, GateStatus::Open);
    call_once(&gated).await.expect("a reply");
    assert_eq!(scripted.asked(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_call_with_priority_now_does_not_exceed_the_configured_rate() {
    let connection = Connection { requests_per_minute: Some(1), ..Connection::default() };
    let (scripted, gated) = ScriptedAnswers::gated([], connection);
    call_once(&gated).await.expect("a reply");
    let after = expect_busy(gated.call(from("", Priority::Now), &mut NoDeltas).await);
    assert_eq!((after, scripted.asked()), (60 * SECOND - Duration::from_millis(10), 1));
}

#[tokio::test(start_paused = true)]
async fn a_pause_of_unknown_length_doubles_until_a_request_is_accepted() {
    let (_, gated) =
        ScriptedAnswers::gated([slower(None), slower(None), slower(None)], Connection::default());
    for seconds in [2, 4, 8] {
        assert_eq!(call_once(&gated).await, Err(slower(None)));
        assert_eq!(gated.gates()[0].door, GateStatus::Paused(seconds * SECOND));
        advance(seconds * SECOND).await;
    }
    call_once(&gated).await.expect("a reply");
}

/// Returns how many calls had been made after each of so many answers, which take 10 ms each.
async fn calls_after_each_answer(scripted: &ScriptedAnswers, answers: usize) -> Vec<usize> {
    let mut asked = Vec::new();
    for _ in 0..answers {
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
        asked.push(scripted.asked());
        advance(Duration::from_millis(11)).await;
    }
    asked
}

#[tokio::test(start_paused = true)]
async fn a_reopened_gate_lets_through_one_call_and_then_more_with_each_reply() {
    let (scripted, gated) = ScriptedAnswers::gated([slower(Some(1))], Connection::default());
    assert_eq!(call_once(&gated).await, Err(slower(Some(1))));
    let calls: Vec<_> = (0..20).map(|_| ask(&gated, "", Priority::Person)).collect();
    tokio::task::yield_now().await;
    assert_eq!((scripted.asked(), gated.gates()[0].waiting), (1, 20));
    advance(Duration::from_millis(1001)).await;
    // The refused call, and then one, two and four at once.
    assert_eq!(calls_after_each_answer(&scripted, 4).await, [2, 4, 8, 16]);
    for call in calls {
        call.await.expect("no panic").expect("a reply");
    }
    assert_eq!(scripted.asked(), 21);
}

#[tokio::test(start_paused = true)]
async fn a_new_gate_raises_its_concurrency_with_each_reply() {
    let (scripted, gated) = ScriptedAnswers::gated([], Connection::default());
    let calls: Vec<_> = (0..50).map(|_| ask(&gated, "", Priority::Person)).collect();
    assert_eq!(calls_after_each_answer(&scripted, 4).await, [1, 5, 21, 50]);
    for call in calls {
        call.await.expect("no panic").expect("a reply");
    }
}

#[tokio::test(start_paused = true)]
async fn a_configured_concurrency_applies_at_once_and_drops_to_one_on_refusal() {
    let connection = Connection { concurrency: Some(20), ..Connection::default() };
    let (scripted, gated) = ScriptedAnswers::gated([slower(Some(1))], connection);
    let calls: Vec<_> = (0..30).map(|_| ask(&gated, "", Priority::Person)).collect();
    assert_eq!(calls_after_each_answer(&scripted, 1).await, [20]);
    // One call was refused, and the gate is closed.
    assert_eq!(calls_after_each_answer(&scripted, 1).await, [20]);
    advance(SECOND).await;
    assert_eq!(calls_after_each_answer(&scripted, 3).await, [21, 23, 27]);
    let mut refused = 0;
    for call in calls {
        refused += usize::from(call.await.expect("no panic").is_err());
    }
    assert_eq!(refused, 1);
}

#[tokio::test(start_paused = true)]
async fn a_self_hosted_server_gets_all_calls_at_once() {
    let scripted = Arc::new(ScriptedAnswers::default());
    let gates = Arc::new(Gates::new(Connection::default(), true));
    let gated = Arc::new(Gated::behind(Arc::clone(&scripted), gates));
    let calls: Vec<_> = (0..50).map(|_| ask(&gated, "", Priority::Person)).collect();
    assert_eq!(calls_after_each_answer(&scripted, 1).await, [50]);
    for call in calls {
        call.await.expect("no panic").expect("a reply");
    }
}

/// Reports how many more requests it accepts, once its first answer begins.
struct ReportsItsLimit(AtomicUsize);

#[async_trait]
impl Model for ReportsItsLimit {
    async fn call(&self, _: Request, deltas: &mut dyn Deltas) -> Result<Reply> {
        self.0.fetch_add(1, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(10)).await;
        deltas.delta(Delta::Taken);
        deltas.delta(Delta::RequestsRemaining(30));
        tokio::time::sleep(Duration::from_millis(500)).await;
        Ok(Reply::default())
    }

    fn describe(&self) -> String {
        "saying".into()
    }
}

#[tokio::test(start_paused = true)]
async fn a_limit_reported_by_the_provider_sets_the_concurrency() {
    let saying = Arc::new(ReportsItsLimit(AtomicUsize::new(0)));
    let gated = Arc::new(Gated::new(Arc::clone(&saying), Connection::default()));
    let calls: Vec<_> = (0..25).map(|_| ask(&gated, "", Priority::Person)).collect();
    let mut asked = Vec::new();
    for _ in 0..2 {
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
        asked.push(saying.0.load(Ordering::SeqCst));
        advance(Duration::from_millis(11)).await;
    }
    assert_eq!(asked, [1, 25]);
    for call in calls {
        call.await.expect("no panic").expect("a reply");
    }
}

/// A router with both protocols of OpenAI, at a server that never answers, with one call at a time.
fn both_wires(server: &Server, key: &str, other_key: &str) -> Arc<Router> {
    let connection = |key: &str| Connection {
        base_url: Some(format!("{}/v1/", server.url)),
        key: Some(key.to_owned().into()),
        concurrency: Some(1),
        ..Connection::default()
    };
    let providers = [(Provider::OpenAi, connection(key)), (Provider::OpenAiResp, connection(other_key))];
    let settings = Settings { providers: providers.into(), ..Settings::default() };
    Arc::new(Router::new(settings, "openai::m").expect("a router"))
}

fn ask_for(router: &Arc<Router>, model: &str) -> JoinHandle<Result<Reply>> {
    let (router, request) = (Arc::clone(router), Request { model: Some(model.into()), ..Request::default() });
    tokio::spawn(async move { router.call(request, &mut NoDeltas).await })
}

/// Waits until the condition is true.
async fn until(what: &str, is_so: impl Fn() -> bool) {
    let comes = async {
        while !is_so() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(30 * SECOND, comes).await.unwrap_or_else(|_| panic!("not so: {what}"));
}

#[tokio::test]
async fn two_protocols_of_one_account_share_the_gate_of_a_model() {
    let server = Server::start([Answer::mute()]).await;
    let router = both_wires(&server, "key", "key");
    let first = ask_for(&router, "openai::m");
    until("the first request comes", || server.seen().len() == 1).await;
    let second = ask_for(&router, "openai_resp::m");
    until("the second waits", || router.gates().iter().map(|gate| gate.waiting).sum::<usize>() == 1).await;
    assert_eq!((router.gates().len(), server.seen().len()), (1, 1), "the account has one place");
    first.abort();
    until("the second request comes", || server.seen().len() == 2).await;
    let seen = server.seen();
    assert!(seen[0].head.starts_with("post /v1/chat/completions"), "{}", seen[0].head);
    assert!(seen[1].head.starts_with("post /v1/responses"), "{}", seen[1].head);
    second.abort();
}

#[tokio::test]
async fn two_accounts_at_one_address_have_separate_gates() {
    let server = Server::start([Answer::mute()]).await;
    let router = both_wires(&server, "key", "other key");
    let calls = ["openai::m", "openai_resp::m"].map(|model| ask_for(&router, model));
    until("neither waits for the other", || server.seen().len() == 2).await;
    let under_way: Vec<_> = router.gates().iter().map(|gate| (gate.in_flight, gate.waiting)).collect();
    assert_eq!(under_way, [(1, 0), (1, 0)]);
    calls.iter().for_each(JoinHandle::abort);
}

#[tokio::test(start_paused = true)]
async fn five_failures_in_a_row_open_the_breaker_for_a_growing_time() {
    let (scripted, gated) = ScriptedAnswers::gated((0..7).map(|_| down()), Connection::default());
    for _ in 0..5 {
        assert_eq!(call_once(&gated).await, Err(down()));
    }
    for seconds in [5, 10, 20] {
        assert_eq!(gated.gates()[0].door, GateStatus::Broken(seconds * SECOND));
        assert_eq!(expect_busy(call_once(&gated).await), seconds * SECOND);
        advance(seconds * SECOND).await;
        if seconds < 20 {
            assert_eq!(call_once(&gated).await, Err(down()), "one probe");
        }
    }
    assert_eq!(scripted.asked(), 7);
    call_once(&gated).await.expect("it is back");
    assert_eq!(gated.gates()[0].door, GateStatus::Open);
}

/// Fails for the owner `hurt`, never answers `slow`, and replies to all others.
#[derive(Default)]
struct FailsForOneOwner {
    asked: Mutex<Vec<String>>,
    is_down: std::sync::atomic::AtomicBool,
}

#[async_trait]
impl Model for FailsForOneOwner {
    async fn call(&self, request: Request, _: &mut dyn Deltas) -> Result<Reply> {
        let owner = request.owner.map(|owner| owner.to_string()).unwrap_or_default();
        self.asked.lock().expect("not poisoned").push(owner.clone());
        tokio::time::sleep(Duration::from_millis(10)).await;
        match &*owner {
            "hurt" => Err(down()),
            "slow" => std::future::pending().await,
            _ if self.is_down.load(Ordering::SeqCst) => Err(down()),
            _ => Ok(Reply::default()),
        }
    }

    fn describe(&self) -> String {
        "fragile".into()
    }
}

fn of_owner(owner: &str) -> Request {
    Request { owner: Some(Owner::new(owner)), ..from("", Priority::Background) }
}

/// One owner's input may be what makes the provider fail or hang: no other owner pays for it.
#[tokio::test(start_paused = true)]
async fn failures_of_one_owner_do_not_block_other_owners() {
    let fragile = Arc::new(FailsForOneOwner::default());
    let gated = Arc::new(Gated::new(Arc::clone(&fragile), Connection::default()));
    let mut calls = 0;
    for second in 0..600 {
        // One call per second, whatever the result, and one that never ends every ten seconds.
        drop(gated.call(of_owner("hurt"), &mut NoDeltas).await);
        if second % 10 == 0 {
            let gated = Arc::clone(&gated);
            tokio::spawn(async move { gated.call(of_owner("slow"), &mut NoDeltas).await });
            tokio::task::yield_now().await;
        }
        // An occasional failure of an owner's own does not affect it either.
        if second % 100 == 50 {
            fragile.is_down.store(true, Ordering::SeqCst);
            assert_eq!(gated.call(of_owner("well"), &mut NoDeltas).await, Err(down()));
            fragile.is_down.store(false, Ordering::SeqCst);
            calls += 1;
        }
        let begun = tokio::time::Instant::now();
        let well = gated.call(of_owner("well"), &mut NoDeltas).await;
        well.unwrap_or_else(|error| panic!("{error:?} at {second} s"));
        assert!(begun.elapsed() < 4 * SECOND, "{:?} at {second} s", begun.elapsed());
        calls += 1;
        advance(SECOND).await;
    }
    let asked = fragile.asked.lock().expect("not poisoned").clone();
    let of = |owner: &str| asked.iter().filter(|asked| *asked == owner).count();
    assert_eq!(of("well"), calls);
    assert!((5..30).contains(&of("hurt")), "its breaker is open nearly all the time: {}", of("hurt"));
    assert_eq!(gated.gates()[0].door, GateStatus::Open, "the provider answers");
    assert_eq!(gated.gates()[0].blocked_owners, 1);
}

/// Refuses the owner `hurt`, and replies to all others until it refuses all.
#[derive(Default)]
struct RefusesOneOwner {
    refuses_all: std::sync::atomic::AtomicBool,
    /// The pause in seconds, if it states one.
    pause: Option<u64>,
}

#[async_trait]
impl Model for RefusesOneOwner {
    async fn call(&self, request: Request, _: &mut dyn Deltas) -> Result<Reply> {
        tokio::time::sleep(Duration::from_millis(10)).await;
        let is_hurt = request.owner.is_some_and(|owner| owner.as_str() == "hurt");
        match is_hurt || self.refuses_all.load(Ordering::SeqCst) {
            true => Err(slower(self.pause)),
            false => Ok(Reply::default()),
        }
    }

    fn describe(&self) -> String {
        "picky".into()
    }
}

/// A provider may refuse what one owner alone does, such as too many requests at once: no other owner waits
/// for that. If a second owner is refused as well, the gate closes for all.
#[tokio::test(start_paused = true)]
async fn a_pause_for_one_owner_does_not_block_other_owners() {
    let picky = Arc::new(RefusesOneOwner { pause: Some(300), ..RefusesOneOwner::default() });
    let gated = Gated::new(Arc::clone(&picky), Connection::default());
    for second in 0..400 {
        let hurt = gated.call(of_owner("hurt"), &mut NoDeltas).await;
        assert!(hurt.is_err(), "{second}");
        let begun = tokio::time::Instant::now();
        gated.call(of_owner("well"), &mut NoDeltas).await.expect("a reply");
        assert!(begun.elapsed() < SECOND, "{:?} at {second} s", begun.elapsed());
        advance(SECOND).await;
    }
    let hurt = expect_busy(gated.call(of_owner("hurt"), &mut NoDeltas).await);
    picky.refuses_all.store(true, Ordering::SeqCst);
    assert_eq!(gated.call(of_owner("well"), &mut NoDeltas).await, Err(slower(Some(300))));
    // Each of the two has its own pause, and all others the shorter one.
    assert_eq!(expect_busy(gated.call(of_owner("well"), &mut NoDeltas).await), 300 * SECOND);
    for owner in ["hurt", "third"] {
        let left = expect_busy(gated.call(of_owner(owner), &mut NoDeltas).await);
        assert!(left < hurt && hurt < left + SECOND, "{owner}: {left:?}, {hurt:?}");
    }
}

/// The same if the refused owner has several calls that come back, and the pauses are short.
#[tokio::test(start_paused = true)]
async fn short_pauses_of_one_owner_do_not_delay_other_owners() {
    /// Makes calls for ten seconds, one after the other. Returns how many were answered, and the longest
    /// wait.
    async fn call_on(gated: Arc<Gated<Arc<RefusesOneOwner>>>, owner: &str) -> (usize, Duration) {
        let (began, mut answered, mut longest) = (tokio::time::Instant::now(), 0, Duration::ZERO);
        while began.elapsed() < 10 * SECOND {
            let asked = tokio::time::Instant::now();
            match gated.call(of_owner(owner), &mut NoDeltas).await {
                Ok(_) => answered += 1,
                Err(error) => tokio::time::sleep(error.retry_after().unwrap_or(2 * SECOND)).await,
            }
            longest = longest.max(asked.elapsed());
        }
        (answered, longest)
    }

    for pause in [None, Some(1), Some(2)] {
        let picky = Arc::new(RefusesOneOwner { pause, ..RefusesOneOwner::default() });
        let gated = Arc::new(Gated::new(picky, Connection::default()));
        let hurt = (0..4).map(|_| tokio::spawn(call_on(Arc::clone(&gated), "hurt"))).collect::<Vec<_>>();
        let well = (0..2).map(|_| tokio::spawn(call_on(Arc::clone(&gated), "well"))).collect::<Vec<_>>();
        for call in well {
            let (answered, longest) = call.await.expect("no panic");
            assert!(longest < SECOND / 10 && answered > 900, "{pause:?}: {answered} answered, {longest:?}");
        }
        for call in hurt {
            assert_eq!(call.await.expect("no panic").0, 0, "{pause:?}");
        }
    }
}

/// No owner named by a token takes all places: another one does not wait for calls that hang.
#[tokio::test(start_paused = true)]
async fn one_owner_cannot_take_every_place_of_a_gate() {
    let (scripted, gated, mut begun) = held(4);
    let ask = |owner: &str, priority| {
        let request = Request { owner: Some(Owner::new(owner)), ..from(owner, priority) };
        let gated = Arc::clone(&gated);
        tokio::spawn(async move { gated.call(request, &mut NoDeltas).await })
    };
    let calls: Vec<_> = (0..6).map(|_| ask("eve", Priority::Person)).collect();
    for _ in 0..3 {
        assert_eq!(begun.recv().await.as_deref(), Some("eve"));
    }
    let other = ask("bob", Priority::Background);
    assert_eq!(begun.recv().await.as_deref(), Some("bob"), "eve has three of four");
    drop((scripted, calls, other));
}

/// While one owner's breaker is open, a single failure opens another owner's breaker.
#[tokio::test(start_paused = true)]
async fn one_failure_opens_an_owners_breaker_while_another_owners_is_open() {
    let fragile = Arc::new(FailsForOneOwner::default());
    fragile.is_down.store(true, Ordering::SeqCst);
    let gated = Gated::new(Arc::clone(&fragile), Connection::default());
    for _ in 0..5 {
        assert_eq!(gated.call(of_owner("first"), &mut NoDeltas).await, Err(down()));
    }
    for owner in ["second", "third"] {
        assert_eq!(gated.call(of_owner(owner), &mut NoDeltas).await, Err(down()));
        assert_eq!(expect_busy(gated.call(of_owner(owner), &mut NoDeltas).await), 5 * SECOND);
    }
    assert!(matches!(gated.gates()[0].door, GateStatus::Broken(_)));
    // Each failed test doubles the pause of its owner, whatever opened its breaker.
    for seconds in [5, 10, 20] {
        advance(seconds * SECOND).await;
        assert_eq!(gated.call(of_owner("second"), &mut NoDeltas).await, Err(down()));
        assert_eq!(expect_busy(gated.call(of_owner("second"), &mut NoDeltas).await), 2 * seconds * SECOND);
    }
    fragile.is_down.store(false, Ordering::SeqCst);
    gated.call(of_owner("fourth"), &mut NoDeltas).await.expect("a reply");
    assert_eq!(gated.gates()[0].door, GateStatus::Open);
    advance(60 * SECOND).await;
    for owner in ["first", "second", "third"] {
        gated.call(of_owner(owner), &mut NoDeltas).await.expect("a reply");
    }
}

/// A reply resets the count: four more failures leave the breaker closed, and the fifth opens it.
#[tokio::test(start_paused = true)]
async fn a_reply_resets_the_failure_count_of_the_breaker() {
    let (scripted, gated) = ScriptedAnswers::saying([
        Err(down()),
        Err(down()),
        Err(down()),
        Err(down()),
        Ok(Reply::default()),
        Err(down()),
        Err(down()),
        Err(down()),
        Err(down()),
        Err(down()),
    ]);
    for _ in 0..4 {
        assert_eq!(call_once(&gated).await, Err(down()));
    }
    call_once(&gated).await.expect("a reply");
    for _ in 0..4 {
        assert_eq!(call_once(&gated).await, Err(down()));
    }
    assert_eq!(gated.gates()[0].door, GateStatus::Open);
    assert_eq!(call_once(&gated).await, Err(down()));
    assert_eq!(gated.gates()[0].door, GateStatus::Broken(5 * SECOND));
    assert_eq!(scripted.asked(), 10);
}

#[tokio::test(start_paused = true)]
async fn the_rate_limit_holds_over_any_minute() {
    let connection = Connection { requests_per_minute: Some(2), ..Connection::default() };
    let (scripted, gated) = ScriptedAnswers::gated([], connection);
    call_once(&gated).await.expect("the first");
    advance(30 * SECOND).await;
    call_once(&gated).await.expect("the second");
    let left = expect_busy(call_once(&gated).await);
    assert!(left > 29 * SECOND && left < 30 * SECOND, "{left:?}");
    advance(left).await;
    call_once(&gated).await.expect("the third");
    expect_busy(call_once(&gated).await);
    assert_eq!(scripted.asked(), 3);
}

/// An owner that comes late with a few calls gets a share of the rate, instead of a place behind hundreds of
/// calls, and calls that a person waits for do not wait for the person's background work; yet no part of the
/// rate is unused.
#[tokio::test(start_paused = true)]
async fn owners_share_the_rate_limit_regardless_of_how_many_calls_each_has() {
    let connection = Connection { requests_per_minute: Some(10), ..Connection::default() };
    let (_, gated) = ScriptedAnswers::gated([], connection);
    let order = Arc::new(Mutex::new(Vec::new()));
    let call = |owner: &'static str, priority: Priority, nth: u64| {
        let (gated, order) = (Arc::clone(&gated), Arc::clone(&order));
        let request = Request { owner: Some(Owner::new(owner)), ..from("", priority) };
        tokio::spawn(async move {
            // Rejected calls do not come back on the exact moment, and stay away for five minutes at most.
            let late = Duration::from_millis(nth * 379 % 1_000);
            while let Err(Error::Busy { after, .. }) = gated.call(request.clone(), &mut NoDeltas).await {
                tokio::time::sleep((after + late).min(300 * SECOND)).await;
            }
            order.lock().expect("not poisoned").push((owner, priority));
        })
    };
    let begun = tokio::time::Instant::now();
    let mut calls: Vec<_> = (0..200).map(|nth| call("ann", Priority::Background, nth)).collect();
    tokio::time::sleep(5 * SECOND).await;
    calls.extend((0..3).map(|nth| call("bob", Priority::Background, nth)));
    calls.push(call("ann", Priority::Person, 0));
    for call in calls {
        call.await.expect("no panic");
    }
    let order = order.lock().expect("not poisoned");
    let last_of = |who| order.iter().rposition(|done| *done == who).expect("it was done");
    let (bob, ann) = (last_of(("bob", Priority::Background)), last_of(("ann", Priority::Person)));
    assert!(
        bob <= 30 && ann <= 20,
        "after the first 10 at once: bob's third came as {bob}, ann's own as {ann}"
    );
    let minutes = begun.elapsed().as_secs_f64() / 60.0;
    assert!(minutes < 22.0, "204 calls, 10 a minute, took {minutes} minutes");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_probe_makes_room_for_the_next() {
    let (scripted, gated) = ScriptedAnswers::gated([slower(Some(30))], Connection::default());
    assert_eq!(call_once(&gated).await, Err(slower(Some(30))));
    advance(30 * SECOND).await;
    let probe = ask(&gated, "", Priority::Person);
    tokio::task::yield_now().await;
    assert_eq!(scripted.asked(), 2);
    probe.abort();
    call_once(&gated).await.expect("the next probe");
    assert_eq!(scripted.asked(), 3);
}

/// Never answers.
#[derive(Default)]
struct NeverAnswers(AtomicUsize);

#[async_trait]
impl Model for NeverAnswers {
    async fn call(&self, _: Request, _: &mut dyn Deltas) -> Result<Reply> {
        self.0.fetch_add(1, Ordering::SeqCst);
        std::future::pending().await
    }

    fn describe(&self) -> String {
        "mute".into()
    }
}

#[tokio::test(start_paused = true)]
async fn an_unanswered_call_lets_one_more_pass_every_three_seconds() {
    let mute = Arc::new(NeverAnswers::default());
    let gated = Arc::new(Gated::new(Arc::clone(&mute), Connection::default()));
    let calls: Vec<_> = (0..4).map(|_| ask(&gated, "", Priority::Person)).collect();
    let mut asked = Vec::new();
    for _ in 0..5 {
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
        asked.push(mute.0.load(Ordering::SeqCst));
        advance(3 * SECOND).await;
    }
    assert_eq!(asked, [1, 2, 3, 4, 4], "one more every three seconds");
    calls.iter().for_each(JoinHandle::abort);
}
