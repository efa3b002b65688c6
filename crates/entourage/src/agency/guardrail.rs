//! A guardrail: an async function that lets a text pass or refuses it.

use std::{fmt::Display, sync::Arc};

use async_trait::async_trait;
use entourage_engine::{Check, Checked};

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
    pub(super) check: Arc<dyn Check>,
    pub(super) is_beside: bool,
}

impl Guardrail {
    /// A guardrail of this name, by which the transcript tells of it. Its error is what the person, or
    /// the model, is told.
    pub fn new<F, Fut, E>(name: impl Into<String>, check: F) -> Self
    where
        F: Fn(Checked) -> Fut + Send + Sync + 'static,
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

    /// A guardrail of your own type.
    #[must_use]
    pub fn of(name: impl Into<String>, check: Arc<dyn Check>) -> Self {
        Self { name: name.into(), check, is_beside: false }
    }

    /// On the input side: the model is asked at the same time, and what it says is thrown away at a
    /// refusal. Costs tokens then, and saves the wait otherwise.
    #[must_use]
    pub fn beside(self) -> Self {
        Self { is_beside: true, ..self }
    }
}

struct Function<F>(F);

#[async_trait]
impl<F, Fut> Check for Function<F>
where
    F: Fn(Checked) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<(), String>> + Send + 'static,
{
    async fn check(&self, checked: &Checked) -> Result<(), String> {
        (self.0)(checked.clone()).await
    }
}
