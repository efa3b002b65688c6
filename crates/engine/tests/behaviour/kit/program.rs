//! Programs of tests, written as closures.

use std::sync::Arc;

use async_trait::async_trait;
use entourage_engine::{Interrupt, Kinds, NewTask, Program, Run};
use entourage_llm::Request;
use entourage_testkit::WorldBuilder;
use entourage_types::{Kind, ProgramName};
use futures::future::BoxFuture;

use super::one_kind;

/// A program that is a function, with the tools that it calls itself.
struct Function<F>(F, &'static [&'static str]);

#[async_trait]
impl<F> Program for Function<F>
where
    F: for<'r, 'e> Fn(&'r mut Run<'e>) -> BoxFuture<'r, Result<String, Interrupt>> + Send + Sync + 'static,
{
    async fn run(&self, run: &mut Run<'_>) -> Result<String, Interrupt> {
        (self.0)(run).await
    }

    fn tools(&self) -> &[&str] {
        self.1
    }
}

pub(crate) trait WithProgram {
    /// Gives the world one kind, whose program is this function. Of the tools its model is offered none, and the
    /// program calls those named.
    fn program<F>(self, tools: &'static [&'static str], program: F) -> WorldBuilder
    where
        F: for<'r, 'e> Fn(&'r mut Run<'e>) -> BoxFuture<'r, Result<String, Interrupt>>
            + Send
            + Sync
            + 'static;
}

impl WithProgram for WorldBuilder {
    fn program<F>(self, tools: &'static [&'static str], program: F) -> WorldBuilder
    where
        F: for<'r, 'e> Fn(&'r mut Run<'e>) -> BoxFuture<'r, Result<String, Interrupt>>
            + Send
            + Sync
            + 'static,
    {
        let program: Arc<dyn Program> = Arc::new(Function(program, tools));
        self.engine(move |engine| engine.program("tested", Arc::clone(&program)))
    }
}

/// One kind whose runs the program of the test drives; its model is offered no tools.
pub(crate) fn programmed(change: impl FnOnce(&mut Kind)) -> Kinds {
    one_kind(|kind| {
        (kind.program, kind.tools) = (ProgramName::new("tested"), Some(Vec::new()));
        change(kind);
    })
}

/// A leader whose program the test drives, and workers that answer by the model.
pub(crate) fn team() -> Kinds {
    let worker = Kind { instructions: "You are a worker".into(), ..Kind::bare("worker") };
    programmed(|kind| kind.peers = vec!["worker".into()]).with(worker)
}

/// Whether a worker of the [`team`] asks its model.
pub(crate) fn is_worker(request: &Request) -> bool {
    request.system.contains("You are a worker")
}

/// Work for workers of the [`team`].
pub(crate) fn work(texts: &[&str]) -> Vec<NewTask> {
    texts.iter().map(|text| NewTask { kind: "worker".into(), text: (*text).to_owned() }).collect()
}
