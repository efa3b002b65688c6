//! Makes a tool from an async Rust function and the type of its arguments.

use std::{fmt::Display, marker::PhantomData};

use async_trait::async_trait;
use entourage_tools::{Caller, Context, Effect, Error as ToolError, Outcome, Tool, parse, spec_of};
use entourage_types::ToolSpec;
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// A tool made from an async function. Its calls count as unsafe, so they are never silently repeated after a
/// crash, unless the tool is declared [`pure`](FunctionTool::pure) or
/// [`idempotent`](FunctionTool::idempotent).
pub struct FunctionTool<A, F> {
    name: String,
    description: String,
    effect: Effect,
    function: F,
    arguments: PhantomData<fn() -> A>,
}

/// Makes a tool from a name, a description and a function. The model reads the doc comments of the argument
/// type.
///
/// ```
/// use entourage::agency::function_tool;
/// use entourage::schemars::{self, JsonSchema};
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Sum {
///     /// The numbers to add.
///     numbers: Vec<i64>,
/// }
///
/// let sum = function_tool("sum", "Adds numbers.", |_context, sum: Sum| async move {
///     sum.numbers.iter().sum::<i64>().to_string()
/// })
/// .pure();
/// ```
pub fn function_tool<A, F, Fut>(
    name: impl Into<String>,
    description: impl Into<String>,
    function: F,
) -> FunctionTool<A, F>
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    F: Fn(Context, A) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoOutcome> + Send + 'static,
{
    FunctionTool {
        name: name.into(),
        description: description.into(),
        effect: Effect::Unsafe,
        function,
        arguments: PhantomData,
    }
}

impl<A, F> FunctionTool<A, F> {
    /// Declares that the function changes nothing: it may run again at any time.
    #[must_use]
    pub fn pure(self) -> Self {
        Self { effect: Effect::Pure, ..self }
    }

    /// Declares that the function has its effect once for each [`Context::call`], however often it runs with
    /// it.
    #[must_use]
    pub fn idempotent(self) -> Self {
        Self { effect: Effect::Idempotent, ..self }
    }
}

#[async_trait]
impl<A, F, Fut> Tool for FunctionTool<A, F>
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    F: Fn(Context, A) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoOutcome> + Send + 'static,
{
    fn name(&self) -> &str {
        &self.name
    }

    fn offer(&self, _: &Caller<'_>) -> Option<ToolSpec> {
        Some(spec_of::<A>(&self.name, self.description.clone()))
    }

    fn effect(&self) -> Effect {
        self.effect
    }

    async fn call(&self, context: &Context, arguments: Value) -> Result<Outcome, ToolError> {
        let arguments: A = parse(&self.name, arguments)?;
        (self.function)(context.clone(), arguments).await.into_outcome()
    }
}

/// What the function of a tool may return.
pub trait IntoOutcome {
    /// Converts it to the outcome that the engine commits.
    ///
    /// # Errors
    /// The model reads the error as the error of the call.
    fn into_outcome(self) -> Result<Outcome, ToolError>;
}

/// A value that the model reads as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Json<T>(pub T);

impl IntoOutcome for Outcome {
    fn into_outcome(self) -> Result<Outcome, ToolError> {
        Ok(self)
    }
}

impl IntoOutcome for String {
    fn into_outcome(self) -> Result<Outcome, ToolError> {
        Ok(Outcome::text(self))
    }
}

impl IntoOutcome for &str {
    fn into_outcome(self) -> Result<Outcome, ToolError> {
        Ok(Outcome::text(self))
    }
}

impl IntoOutcome for () {
    fn into_outcome(self) -> Result<Outcome, ToolError> {
        Ok(Outcome::text("done"))
    }
}

impl<T: Serialize> IntoOutcome for Json<T> {
    fn into_outcome(self) -> Result<Outcome, ToolError> {
        match serde_json::to_string(&self.0) {
            Ok(text) => Ok(Outcome::text(text)),
            Err(error) => Err(ToolError::Failed(format!("the result cannot be written as JSON: {error}"))),
        }
    }
}

impl<T: IntoOutcome, E: Display> IntoOutcome for Result<T, E> {
    fn into_outcome(self) -> Result<Outcome, ToolError> {
        self.map_err(|error| ToolError::Failed(error.to_string()))?.into_outcome()
    }
}
