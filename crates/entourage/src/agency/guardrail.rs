//! A guardrail: an async function that lets a text pass or refuses it.

use std::{fmt::Display, sync::Arc};

use async_trait::async_trait;
use entourage_engine::{self as engine, GuardrailInput};

/// Lets a text pass or refuses it, with a message.
///
/// ```
/// use entourage::agency::Guardrail;
///
/// let short = Guardrail::new("short", |checked| async move {
///     if checked.text.len() < 2_000 { Ok(()) } else { Err("say it in fewer words") }
/// });
/// ```
#[derive(Clone)]
pub struct Guardrail {
    pub(super) name: String,
    pub(super) check: Arc<dyn engine::Guardrail>,
    pub(super) is_parallel: bool,
}

impl Guardrail {
    /// Makes a guardrail of this name; the transcript refers to it by the name. The user, or the model, is
    /// shown its error.
    pub fn new<F, Fut, E>(name: impl Into<String>, check: F) -> Self
    where
        F: Fn(GuardrailInput) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), E>> + Send + 'static,
        E: Display + 'static,
    {
        Self::of(
            name,
            Arc::new(Function(move |checked| {
                let checking = check(checked);
                async move { checking.await.map_err(|why| why.to_string()) }
            })),
        )
    }

    /// Makes a guardrail from your own type.
    #[must_use]
    pub fn of(name: impl Into<String>, check: Arc<dyn engine::Guardrail>) -> Self {
        Self { name: name.into(), check, is_parallel: false }
    }

    /// Runs this input guardrail at the same time as the model, and discards the model's answer when the
    /// guardrail refuses. A refusal then costs tokens; otherwise the wait for the guardrail is saved.
    #[must_use]
    pub fn parallel(self) -> Self {
        Self { is_parallel: true, ..self }
    }
}

struct Function<F>(F);

#[async_trait]
impl<F, Fut> engine::Guardrail for Function<F>
where
    F: Fn(GuardrailInput) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<(), String>> + Send + 'static,
{
    async fn check(&self, checked: &GuardrailInput) -> Result<(), String> {
        (self.0)(checked.clone()).await
    }
}
