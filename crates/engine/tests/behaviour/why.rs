//! Why an agent does not go on, from rows alone.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use entourage_engine::{Cause, Clock, Engine, GoalChange, Kinds, NewGoal, NewSchedule};
use entourage_llm::{
    Connection, Error as ModelError, Gated, Model, NoDeltas, Request, Script, ScriptedModel,
};
use entourage_store::{Commit, Layered, MemoryStore, Page, Result as StoreResult, Store, StoreLayer, Write};
use entourage_testkit::{FakeClock, HeldModel, World, quiet};
use entourage_types::{
    About, Action, Agent, AgentId, Author, CallId, GoalStatus, Intervention, InterventionId,
    InterventionStatus, OnEnd, OpenQuestion, Owner, Post, PostBody, Question, QuestionId, QuestionStatus,
    Recurrence, Retry, Run, RunId, Status, Step, StepKey, StepState, StopReason, Task, TaskId, TaskResult,
    Time, Trigger, Usage, Wait, WaitingOn,
};

use serde_json::{Value, json};

use crate::{
    gate::BothClocks,
    kit::{at_once, eventually, first_tools, one_kind},
};

/// Counts the calls of a store.
#[derive(Clone, Default)]
struct Calls(Arc<AtomicUsize>);

#[async_trait]
impl StoreLayer for Calls {
    async fn pass(&self) -> StoreResult<()> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

/// An engine whose agents do not work, over rows that a test writes.
pub(crate) struct Rows {
    pub(crate) engine: Engine,
    calls: Calls,
    pub(crate) now: Time,
}

impl Rows {
    pub(crate) fn new() -> Self {
        Self::before(Arc::new(ScriptedModel::deciding(|_| None)))
    }

    /// Rows of an engine with this model.
    fn before(model: Arc<dyn Model>) -> Self {
        let calls = Calls::default();
        let store: Arc<dyn Store> = Arc::new(Layered::new(Arc::new(MemoryStore::default()), calls.clone()));
        let engine = Engine::builder(store, model).kinds(Kinds::builtin());
        Self { engine: engine.build(), calls, now: Time::now() }
    }

    /// How many calls of the store there were.
    pub(crate) fn calls(&self) -> usize {
        self.calls.0.load(Ordering::SeqCst)
    }

    pub(crate) async fn write(&self, writes: Vec<Write>) {
        let commit = Commit { writes, ..Commit::new(self.now) };
        self.engine.store().commit(commit).await.unwrap();
    }

    pub(crate) fn agent(&self, title: &str) -> Agent {
        Agent::root(Owner::local(), "researcher", title, self.now)
    }

    /// Stores an agent that waits on this, with the step that it waits in. Returns the call of that step.
    pub(crate) async fn waits(&self, agent: &Agent, on: WaitingOn, state: Option<StepState>) -> CallId {
        let call = CallId::new();
        self.write(vec![Write::NewAgent(agent.clone())]).await;
        let store = self.engine.store();
        let claimed = store.claim(agent.id, 0).await.unwrap().unwrap().agent;
        let row = Agent { status: Status::Waiting, waiting_on: Some(on), ..claimed };
        let mut commit = Commit::fenced(&row, self.now).write(Write::Agent(row.clone()));
        if let Some(state) = state {
            let run = self.run(agent, on);
            let step = self.step(run.id, call, state);
            commit = commit.write(Write::Run(run)).write(Write::Step(step));
        }
        store.commit(commit).await.unwrap();
        call
    }

    /// Stores an agent in this status.
    async fn stands(&self, agent: &Agent, status: Status, stop_reason: Option<StopReason>) {
        self.write(vec![Write::NewAgent(agent.clone())]).await;
        let store = self.engine.store();
        let claimed = store.claim(agent.id, 0).await.unwrap().unwrap().agent;
        let row = Agent { status, stop_reason, ..claimed };
        store.commit(Commit::fenced(&row, self.now).write(Write::Agent(row.clone()))).await.unwrap();
    }

    fn run(&self, agent: &Agent, on: WaitingOn) -> Run {
        Run {
            id: RunId::new(),
            agent: agent.id,
            owner: agent.owner.clone(),
            status: Status::Waiting,
            waiting_on: Some(on),
            stop_reason: None,
            error: None,
            kind_version: String::new(),
            switches: Default::default(),
            tasks: Vec::new(),
            model_calls: 1,
            worked_ms: 0,
            usage: Usage::default(),
            cost: entourage_types::Cost::default(),
            spent: Vec::new(),
            started: self.now,
            ended: None,
        }
    }

    fn step(&self, run: RunId, call: CallId, state: StepState) -> Step {
        let key = if matches!(state, StepState::Retry(_)) { StepKey::Model(1) } else { StepKey::Tool(call) };
        Step {
            run,
            key,
            state,
            intent: None,
            attempt: 4,
            used: None,
            asked: None,
            started: self.now,
            updated: self.now,
        }
    }

    /// A chain of agents, each of which waits for the next; the last one asks a person. Returns the first.
    async fn chain(&self, depth: usize) -> Agent {
        let mut agents = vec![self.agent("the root")];
        for depth in 1..=depth {
            let above = agents[depth - 1].clone();
            agents.push(above.child("researcher", format!("at depth {depth}"), None, self.now));
        }
        let asks = agents.pop().unwrap();
        let mut worker = asks.id;
        let question = self.question(&asks);
        for agent in &agents {
            self.write(vec![Write::NewAgent(agent.clone())]).await;
        }
        self.waits(&asks, WaitingOn::User, Some(open(Wait::Question(asked(question.id))))).await;
        self.write(vec![Write::record(&question).unwrap()]).await;
        for agent in agents.iter().rev() {
            let task = self.task(agent, worker);
            let claimed = self.engine.store().claim(agent.id, 0).await.unwrap().unwrap().agent;
            let row = Agent { status: Status::Waiting, waiting_on: Some(WaitingOn::Agent), ..claimed };
            let run = self.run(agent, WaitingOn::Agent);
            let step = self.step(run.id, CallId::new(), open(Wait::Task { task: task.id, existing: None }));
            let commit =
                Commit::fenced(&row, self.now).write(Write::Agent(row.clone())).write(Write::Run(run));
            let commit = commit.write(Write::Step(step)).write(Write::record(&task).unwrap());
            self.engine.store().commit(commit).await.unwrap();
            worker = agent.id;
        }
        agents[0].clone()
    }

    fn task(&self, from: &Agent, to: entourage_types::AgentId) -> Task {
        Task {
            id: TaskId::new(),
            owner: from.owner.clone(),
            root: from.root,
            from: from.id,
            to,
            call: CallId::new(),
            on_end: OnEnd::Answer,
            group: None,
            kind: "researcher".into(),
            instruction: "look".into(),
            title: String::new(),
            origin: None,
            status: Status::Queued,
            result: None,
            post: None,
            run: None,
            reactivated: 0,
            created: self.now,
            updated: self.now,
        }
    }

    pub(crate) fn question(&self, agent: &Agent) -> Question {
        Question {
            id: QuestionId::new(),
            owner: agent.owner.clone(),
            root: agent.root,
            agent: agent.id,
            kind: agent.kind.clone(),
            run: RunId::new(),
            call: CallId::new(),
            task: None,
            about: About::Information,
            text: "Which year?".into(),
            options: Vec::new(),
            proposal: None,
            due: None,
            otherwise: None,
            status: QuestionStatus::Open,
            answer: None,
            answered_by: None,
            created: self.now,
            updated: self.now,
        }
    }

    pub(crate) async fn cause(&self, agent: &Agent) -> Cause {
        self.engine.client(Owner::local()).why(agent.id).await.unwrap().cause().clone()
    }

    async fn text(&self, agent: &Agent) -> String {
        self.engine.client(Owner::local()).why(agent.id).await.unwrap().text()
    }
}

/// A time without its fraction of a second, as RFC 3339.
fn second(time: Time) -> String {
    let text = time.to_string();
    format!("{}Z", text.split(['.', 'Z']).next().unwrap_or_default())
}

pub(crate) fn open(wait: Wait) -> StepState {
    StepState::Open(wait)
}

/// An attempt that failed and is made again then.
fn retry(due: Time) -> Retry {
    Retry {
        due,
        error: "503".into(),
        models_failed: 0,
        said: Vec::new(),
        spent: 0,
        failed: Vec::new(),
        put_off: 0,
        shortage: None,
        held_back: false,
    }
}

pub(crate) fn asked(question: QuestionId) -> OpenQuestion {
    OpenQuestion { question, about: About::Information, holds_for: String::new(), due: None, otherwise: None }
}

#[tokio::test]
async fn a_chain_ends_at_the_question_and_costs_as_many_reads_for_each_link() {
    let mut reads = Vec::new();
    for depth in [1, 2, 3, 6] {
        let rows = Rows::new();
        let top = rows.chain(depth).await;
        let before = rows.calls();
        let why = rows.engine.client(Owner::local()).why(top.id).await.unwrap();
        reads.push(rows.calls() - before);
        assert_eq!(why.chain().len(), depth + 1);
        assert!(matches!(why.cause(), Cause::Question { asks, .. } if asks == "Which year?"), "{why:?}");
        assert!(why.text().ends_with(", which asks: Which year?"), "{}", why.text());
        // All of them began to wait when the rows were written.
        assert_eq!(why.since(), Some(rows.now));
        assert!(why.chain().iter().all(|link| link.since == rows.now), "{why:?}");
    }
    let each = reads[1] - reads[0];
    assert_eq!((reads[2] - reads[1], reads[3] - reads[2]), (each, 3 * each), "{reads:?}");
}

#[tokio::test]
async fn a_failed_model_call_names_its_attempts_its_error_and_the_time_of_the_next_one() {
    let rows = Rows::new();
    let agent = rows.agent("a");
    let due = rows.now + Duration::from_secs(3600);
    rows.waits(&agent, WaitingOn::Retry, Some(StepState::Retry(retry(due)))).await;
    assert_eq!(rows.cause(&agent).await, Cause::Retry { attempt: 4, error: "503".into(), due });
    let told = format!("asks its model again at {}, after 4 failed attempts: 503", second(due));
    assert_eq!(rows.text(&agent).await, told);
}

#[tokio::test]
async fn a_timer_says_until_when_it_holds_and_once_it_is_over_a_place_is_missing() {
    let rows = Rows::new();
    let (sleeps, is_over) = (rows.agent("sleeps"), rows.agent("is over"));
    let due = rows.now + Duration::from_secs(3600);
    rows.waits(&sleeps, WaitingOn::Timer, Some(open(Wait::Until { until: due }))).await;
    assert_eq!(rows.cause(&sleeps).await, Cause::Timer { due });
    assert_eq!(rows.text(&sleeps).await, format!("sleeps until {}", second(due)));
    let past = open(Wait::Until { until: rows.now - Duration::from_secs(1) });
    rows.waits(&is_over, WaitingOn::Timer, Some(past)).await;
    assert_eq!(rows.cause(&is_over).await, Cause::Process, "no dispatcher works here");
}

#[tokio::test]
async fn an_agent_that_waits_goes_on_with_an_answer_and_not_with_a_message() {
    let rows = Rows::new();
    let agent = rows.agent("asks");
    let question = rows.question(&agent);
    let call = rows.waits(&agent, WaitingOn::User, Some(open(Wait::Question(asked(question.id))))).await;
    rows.write(vec![Write::record(&question).unwrap()]).await;
    let said = PostBody::Message {
        from: Author::User,
        text: "by the way".into(),
        task: None,
        queued: true,
        options: None,
    };
    rows.write(vec![Write::Post(Post::new(agent.id, rows.now, said))]).await;
    assert!(matches!(rows.cause(&agent).await, Cause::Question { .. }));
    let answer = entourage_types::Answer::Declined;
    let answered = PostBody::Answer { question: question.id, call, answer };
    rows.write(vec![Write::Post(Post::new(agent.id, rows.now, answered))]).await;
    assert_eq!(rows.cause(&agent).await, Cause::Process);
}

#[tokio::test]
async fn a_result_ends_the_wait_of_its_own_call_and_no_other() {
    let rows = Rows::new();
    let (sleeps, delegates, worker) = (rows.agent("sleeps"), rows.agent("delegates"), AgentId::new());
    let ended = |call| PostBody::Done {
        task: TaskId::new(),
        call,
        from: worker,
        kind: "researcher".into(),
        result: TaskResult::Text("done".into()),
    };
    let due = rows.now + Duration::from_secs(3600);
    rows.waits(&sleeps, WaitingOn::Timer, Some(open(Wait::Until { until: due }))).await;
    rows.write(vec![Write::Post(Post::new(sleeps.id, rows.now, ended(CallId::new())))]).await;
    assert_eq!(rows.cause(&sleeps).await, Cause::Timer { due });
    let why = rows.engine.client(Owner::local()).why(sleeps.id).await.unwrap();
    assert_eq!((why.text(), why.unread()), (format!("sleeps until {}", second(due)), ["result"].as_slice()));
    let wait = open(Wait::Task { task: TaskId::new(), existing: None });
    let call = rows.waits(&delegates, WaitingOn::Agent, Some(wait)).await;
    rows.write(vec![Write::Post(Post::new(delegates.id, rows.now, ended(call)))]).await;
    assert_eq!(rows.cause(&delegates).await, Cause::Process);
}

#[tokio::test]
async fn a_pause_gives_its_reason_and_rest_is_no_wait() {
    let rows = Rows::new();
    let agent = rows.agent("paused");
    rows.waits(&agent, WaitingOn::Resume, None).await;
    let pause = Intervention {
        id: InterventionId::new(),
        owner: agent.owner.clone(),
        root: agent.root,
        agent: agent.id,
        by: Author::User,
        action: Action::Pause,
        text: Some("until Monday".into()),
        of: None,
        status: InterventionStatus::Applied,
        created: rows.now,
        updated: rows.now,
    };
    rows.write(vec![Write::record(&pause).unwrap()]).await;
    assert_eq!(rows.cause(&agent).await, Cause::Pause { reason: Some("until Monday".into()) });
    let rests = rows.agent("rests");
    rows.write(vec![Write::NewAgent(rests.clone())]).await;
    assert_eq!(
        rows.cause(&rests).await,
        Cause::Rest { failed: None, error: None, archived: false, below: 0, more_below: false }
    );
}

#[tokio::test]
async fn an_agent_at_rest_leads_to_what_does_not_go_on_below_it_and_to_who_needs_a_person_first() {
    let rows = Rows::new();
    let top = rows.agent("rests");
    rows.write(vec![Write::NewAgent(top.clone())]).await;
    let below = |title: &str| top.child("researcher", title.to_owned(), None, rows.now);
    let (begins, sleeps, tried, asks) = (below("begins"), below("sleeps"), below("tried"), below("asks"));
    let due = rows.now + Duration::from_secs(3600);
    rows.waits(&sleeps, WaitingOn::Timer, Some(open(Wait::Until { until: due }))).await;
    assert_eq!(rows.cause(&top).await, Cause::Timer { due });
    let said = PostBody::Message {
        from: Author::User,
        text: "Go.".into(),
        task: None,
        queued: false,
        options: None,
    };
    rows.write(vec![Write::NewAgent(begins.clone()), Write::Post(Post::new(begins.id, rows.now, said))])
        .await;
    assert_eq!(rows.cause(&top).await, Cause::Process, "nobody works on its first message");
    rows.waits(&tried, WaitingOn::Retry, Some(StepState::Retry(retry(due)))).await;
    assert!(matches!(rows.cause(&top).await, Cause::Retry { .. }));
    let question = rows.question(&asks);
    rows.waits(&asks, WaitingOn::User, Some(open(Wait::Question(asked(question.id))))).await;
    rows.write(vec![Write::record(&question).unwrap()]).await;
    let why = rows.engine.client(Owner::local()).why(top.id).await.unwrap();
    let [rests, last] = why.chain() else { panic!("{why:?}") };
    assert!(matches!(rests.cause, Cause::Rest { below: 0, .. }), "none of them is at work: {why:?}");
    assert_eq!(last.agent, asks.id);
    assert_eq!(why.text(), "has nothing to do; below it, researcher \"asks\" asks: Which year?");
    // Beside it nothing is below.
    assert!(matches!(rows.cause(&begins).await, Cause::Process));
}

/// What is at work below the agent of a goal is counted, and an archived goal says that nothing is taken up.
#[tokio::test]
async fn the_agent_of_a_goal_counts_the_tasks_at_work_and_names_that_its_goal_is_archived() {
    let model = ScriptedModel::deciding(|request| {
        let is_of_task = request.system.starts_with("You work on one task");
        Some(Ok(match is_of_task {
            true => Script::text("Six a day."),
            false => Script::call("create_task", json!({ "title": "Trains", "instructions": "Look." }))
                .and_call("send_message", json!({ "message": "It has begun." })),
        }))
    });
    let model = HeldModel::new(model);
    let world =
        World::builder(model.clone()).tools(first_tools()).kinds(quiet(Kinds::builtin())).start().await;
    let client = world.engine().client(Owner::local());
    let goal = NewGoal { title: "See Rome".into(), ..NewGoal::default() };
    let goal = client.create_goal(goal, None).await.unwrap();
    client.send(goal.agent, "Go.", None).await.unwrap();
    model.begun().await;
    model.let_go(1);
    model.begun().await;
    world.ended(goal.agent).await;
    let rest =
        |archived, below| Cause::Rest { failed: None, error: None, archived, below, more_below: false };
    let why = async || client.why(goal.agent).await.unwrap();
    assert_eq!(*why().await.cause(), rest(false, 1));
    let archive = GoalChange { status: Some(GoalStatus::Archived), ..GoalChange::default() };
    client.change_goal(goal.agent, archive).await.unwrap();
    assert_eq!(*why().await.cause(), rest(true, 1), "what is under way goes on");
    model.let_go(1);
    let why = eventually("its task has ended", why, |why| *why.cause() == rest(true, 0)).await;
    assert_eq!(why.text(), "takes nothing up, because its goal is archived");
}

/// A world whose model fails for good, with an error of two lines.
async fn failed() -> (World, Agent) {
    let cause = "no such model\nAsk for another one.".to_owned();
    let fail = move |_: &Request| Some(Err(ModelError::Refused { model: "m".into(), cause: cause.clone() }));
    let world = World::builder(ScriptedModel::deciding(fail)).kinds(one_kind(|_| {})).start().await;
    let agent = world.ask("Go.").await;
    let agent = world.ended(agent.id).await;
    (world, agent)
}

#[tokio::test]
async fn an_agent_whose_last_run_failed_names_the_cause_and_that_it_can_be_tried_again() {
    let (world, agent) = failed().await;
    let error = world.client().runs(agent.id, Page::default()).await.unwrap().remove(0).error;
    let first = error.as_deref().unwrap().lines().next().unwrap().to_owned();
    assert!(first.contains("no such model") && error.as_deref() != Some(&first), "{error:?}");
    let why = world.client().why(agent.id).await.unwrap();
    assert_eq!(
        *why.cause(),
        Cause::Rest {
            failed: Some(StopReason::ModelFailed),
            error,
            archived: false,
            below: 0,
            more_below: false
        }
    );
    let told = format!("has nothing to do; its last run failed, and can be tried again: {first}");
    assert_eq!(why.text(), told);
}

#[tokio::test]
async fn a_stopped_agent_and_a_deleted_one_say_so_in_words() {
    let rows = Rows::new();
    let (stopped, deleted) = (rows.agent("stopped"), rows.agent("deleted"));
    rows.stands(&stopped, Status::Failed, Some(StopReason::Cancelled)).await;
    assert_eq!(
        rows.text(&stopped).await,
        "has nothing to do; its last run was stopped, and can be tried again"
    );
    rows.stands(&deleted, Status::Cancelled, None).await;
    assert_eq!(rows.cause(&deleted).await, Cause::Deleted);
    assert_eq!(rows.text(&deleted).await, "was deleted and does nothing any more");
}

#[tokio::test]
async fn a_wait_for_nothing_on_record_says_so() {
    let rows = Rows::new();
    let agent = rows.agent("stranded");
    rows.waits(&agent, WaitingOn::Agent, None).await;
    assert_eq!(rows.cause(&agent).await, Cause::Nothing);
}

/// A model whose first answer is that its provider needs a pause of this length, behind its gate.
fn pausing(pause: Duration) -> Arc<Gated<ScriptedModel>> {
    let model = ScriptedModel::new([]);
    model.push(Err(ModelError::RateLimited { model: "m".into(), retry_after: Some(pause) }));
    model.push(Ok(Script::text("Here.")));
    Arc::new(Gated::new(model, Connection::default()))
}

/// What failed before is not what keeps it: nothing is asked while the gate is closed.
#[tokio::test]
async fn a_call_that_is_due_later_waits_for_its_gate_while_that_is_closed() {
    let gate = pausing(Duration::from_secs(3600));
    let rows = Rows::before(Arc::<Gated<ScriptedModel>>::clone(&gate));
    let agent = rows.agent("waits");
    let due = rows.now + Duration::from_secs(3600);
    rows.waits(&agent, WaitingOn::Retry, Some(StepState::Retry(retry(due)))).await;
    assert!(matches!(rows.cause(&agent).await, Cause::Retry { .. }), "the gate is open");
    let request = Request { owner: Some(Owner::local()), ..Request::default() };
    gate.call(request, &mut NoDeltas).await.unwrap_err();
    let model = gate.describe();
    assert_eq!(rows.cause(&agent).await, Cause::Gate { model: model.clone(), due });
    let why = rows.engine.client(Owner::local()).why(agent.id).await.unwrap();
    assert_eq!(why.text(), format!("waits until {model} takes calls again, at {}", second(due)));
}

/// A short pause is waited out in memory.
#[tokio::test(start_paused = true)]
async fn an_agent_at_work_before_a_closed_gate_says_when_that_opens() {
    let pause = Duration::from_secs(2);
    let gate = pausing(pause);
    let world = World::builder(Arc::clone(&gate)).kinds(one_kind(|_| {})).start().await;
    let hands = BothClocks::on(world.clock());
    let root = world.ask("Go.").await;
    assert_eq!(world.clock().sleeper(pause).await, pause);
    let why = world.engine().client(Owner::local()).why(root.id).await.unwrap();
    let due = world.clock().now() + pause;
    assert_eq!(*why.cause(), Cause::Gate { model: gate.describe(), due });
    hands.advance(pause).await;
    assert_eq!(world.ended(root.id).await.status, Status::Succeeded);
}

#[tokio::test]
async fn an_agent_for_which_no_place_is_free_says_how_many_are_taken() {
    let model = HeldModel::new(ScriptedModel::deciding(|_| Some(Ok(Script::text("Done.")))));
    let world = World::builder(model.clone()).kinds(one_kind(|_| {})).dispatchers(at_once(2)).start().await;
    let first = world.ask("One.").await;
    model.begun().await;
    let second = world.ask("Two.").await;
    model.begun().await;
    let third = world.ask("Three.").await;
    let client = world.engine().client(Owner::local());
    assert_eq!(*client.why(first.id).await.unwrap().cause(), Cause::Work);
    let is_full = |cause: &Cause| matches!(cause, Cause::Place { busy, limit } if busy == limit);
    let why = async || client.why(third.id).await.unwrap();
    let why = eventually("its place is taken", why, |why| is_full(why.cause())).await;
    assert_eq!(*why.cause(), Cause::Place { busy: 2, limit: 2 });
    assert_eq!(why.text(), "waits for a place: all 2 are taken");
    model.let_go(3);
    for agent in [first, second, third] {
        assert_eq!(world.ended(agent.id).await.status, Status::Succeeded);
    }
}

/// Nobody is there to give an agent what its schedule has for it.
#[tokio::test]
async fn a_schedule_that_is_due_is_what_an_agent_at_rest_could_go_on_with() {
    let clock = FakeClock::default();
    let world = World::builder(ScriptedModel::new([])).clock(clock.clone()).dispatchers([]).start().await;
    let client = world.client();
    let goal =
        client.create_goal(NewGoal { title: "Plants".into(), ..NewGoal::default() }, None).await.unwrap();
    let new = NewSchedule {
        agent: goal.agent,
        text: "Water?".into(),
        trigger: Trigger { name: "look".into(), payload: Value::Null, schedule: None },
        first: Some(clock.now() + Duration::from_secs(60)),
        recurrence: Recurrence::Once,
    };
    client.schedule(new, None).await.unwrap();
    let why = async || client.why(goal.agent).await.unwrap().text();
    assert_eq!(why().await, "has nothing to do");
    clock.advance(Duration::from_secs(60));
    assert_eq!(why().await, "could go on, but no process works here");
    let archive = GoalChange { status: Some(GoalStatus::Archived), ..GoalChange::default() };
    client.change_goal(goal.agent, archive).await.unwrap();
    assert_eq!(why().await, "takes nothing up, because its goal is archived");
}
