//! What the log says of an activation that takes long, and that nothing is done about it before its time is over.

use std::{
    io::Write,
    sync::{Arc, Mutex},
    time::Duration,
};

use entourage_llm::{Script, ScriptedModel};
use entourage_testkit::{HeldModel, World};
use entourage_types::{Limits, Status};
use tracing_subscriber::fmt::MakeWriter;

use crate::{
    kit::{eventually, one_kind},
    stuck::let_every_task_run,
};

/// A log in memory.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(text)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Log {
    /// The lines about slow activations.
    fn slow(&self) -> Vec<String> {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        text.lines().filter(|line| line.contains("has been running for long")).map(str::to_owned).collect()
    }
}

/// Shows: S4-R123.
#[tokio::test]
async fn a_run_of_two_and_of_ten_minutes_is_a_warning_in_the_log_and_goes_on() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(log.clone()).finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    // With a second subscriber, a callsite that another test's thread reaches first is not disabled for all.
    let _second = tracing::Dispatch::new(tracing_subscriber::registry());
    let model = HeldModel::new(ScriptedModel::new([Script::text("At last.")]));
    let kinds = one_kind(|kind| {
        kind.limits = Limits { model_seconds: 100_000, max_seconds: 100_000, ..Limits::default() };
    });
    let world = World::builder(model.clone()).kinds(kinds).start().await;
    let root = world.ask("Take your time.").await;
    model.begun().await;
    for (told, [passed, seconds]) in [[0, 120], [120, 600]].into_iter().enumerate() {
        world.clock().advance(Duration::from_secs(seconds - passed - 1));
        let_every_task_run().await;
        assert_eq!(log.slow().len(), told, "not yet");
        world.clock().advance(Duration::from_secs(1));
        let lines = eventually("it is told", async || log.slow(), |lines| lines.len() > told).await;
        let line = lines.last().unwrap();
        assert!(line.contains("WARN") && line.contains(&format!("seconds={seconds}")), "{line}");
        assert!(line.contains(&root.id.to_string()), "{line}");
        assert_eq!(world.client().agent(root.id).await.unwrap().status, Status::Running);
    }
    world.clock().advance(Duration::from_secs(1000));
    let_every_task_run().await;
    model.let_go(1);
    let ended = world.ended(root.id).await;
    assert_eq!((ended.status, ended.epoch, model.cut_off()), (Status::Succeeded, 1.into(), 0));
    assert_eq!(log.slow().len(), 2, "once each");
}
