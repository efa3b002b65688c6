//! The clock of the machine is set while agents work.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use entourage_engine::{Clock, Engine, NewAgent, Tick};
use entourage_llm::{Script, ScriptedModel};
use entourage_store::{MemoryStore, Page};
use entourage_testkit::FakeClock;
use entourage_tools::{Effect, Outcome, Toolbox};
use entourage_types::{Agent, Limits, Owner, Run, Status, StopReason, Time};
use serde_json::json;

use crate::kit::{Effects, TestTool, one_kind, within};

/// The clock of a machine that somebody sets.
#[derive(Clone, Default)]
struct SetClock {
    steady: FakeClock,
    set: Arc<AtomicI64>,
}

impl SetClock {
    /// Sets it forward by so many seconds, or back.
    fn set(&self, seconds: i64) {
        self.set.fetch_add(seconds * 1_000_000, Ordering::SeqCst);
    }
}

#[async_trait]
impl Clock for SetClock {
    fn now(&self) -> Time {
        Time::from_micros(self.steady.now().micros() + self.set.load(Ordering::SeqCst))
    }

    async fn sleep_until(&self, until: Time) {
        let set = self.set.load(Ordering::SeqCst);
        self.steady.sleep_until(Time::from_micros(until.micros() - set)).await;
    }

    fn tick(&self) -> Tick {
        self.steady.tick()
    }

    async fn sleep(&self, span: Duration) {
        self.steady.sleep(span).await;
    }
}

/// An agent at work under these limits, which calls this tool once, and what comes of it.
async fn worked(clock: &SetClock, limits: Limits, tool: TestTool) -> (Agent, Run) {
    let model = ScriptedModel::new([Script::call("tool", json!({})), Script::text("Done.")]);
    let engine = Engine::builder(Arc::new(MemoryStore::default()), Arc::new(model))
        .kinds(one_kind(|kind| kind.limits = limits))
        .tools(Toolbox::new().with(tool))
        .clock(Arc::new(clock.clone()))
        .build();
    let client = engine.client(Owner::local());
    let new = NewAgent { message: Some("Go.".into()), ..NewAgent::default() };
    let agent = client.create(new, None).await.unwrap();
    within("it has worked", engine.advance(agent.id)).await.unwrap();
    let runs = client.runs(agent.id, Page::default()).await.unwrap();
    (client.agent(agent.id).await.unwrap(), runs[0].clone())
}

#[tokio::test]
async fn a_clock_that_is_set_is_no_time_at_work() {
    for seconds in [3600, -3600] {
        let clock = SetClock::default();
        let hands = clock.clone();
        let tool = TestTool::answering("tool", Effect::Pure, &Effects::default(), move |_, _| {
            hands.set(seconds);
            hands.steady.advance(Duration::from_secs(7));
            Ok(Outcome::text("worked"))
        });
        let limits = Limits { max_seconds: 120, ..Limits::default() };
        let (agent, run) = worked(&clock, limits, tool).await;
        assert_eq!(
            (agent.status, run.stop_reason),
            (Status::Succeeded, Some(StopReason::Completed)),
            "{seconds}"
        );
        assert_eq!(run.worked_ms, 7000, "{seconds}");
    }
}
