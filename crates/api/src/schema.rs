//! Schemas of the small types: ids, enums, times, money. They are derived from the types themselves.

use std::borrow::Cow;

use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        RefOr,
        schema::{KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type},
    },
};

/// Defines a schema with a name.
macro_rules! schema {
    ($(#[$doc:meta])* $name:ident = $object:expr) => {
        $(#[$doc])*
        pub enum $name {}

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                $object.build().into()
            }
        }

        impl ToSchema for $name {
            fn name() -> Cow<'static, str> {
                Cow::Borrowed(stringify!($name))
            }
        }
    };
}

macro_rules! ids {
    ($($name:ident)+) => {
        $(schema! {
            /// The schema of the id.
            $name = string().pattern(Some(format!("^{}_[0-9a-f]{{32}}$", entourage_types::$name::PREFIX)))
        })+
    };
}

macro_rules! words {
    ($($name:ident)+) => {
        $(schema! {
            /// The schema of the enum.
            $name = string().enum_values(Some(entourage_types::$name::WORDS.iter().copied()))
        })+
    };
}

ids! { AgentId RunId TaskId QuestionId GrantId PostId CallId NoteId InterventionId LearningId SessionId DeliveryId ScheduleId ProjectId DocumentId }
words! { AgentState Status ShownStatus WorksFor WaitingOn StopReason StepStatus QuestionStatus Reply Input OnLimit Action InterventionStatus
LearningStatus GoalStatus ScheduleStatus BudgetAction Section SessionEnd Timeframe FailureClass About Verdict GrantStatus Occasion HealthAct OnEnd DeliveryStatus
EventName Change Switch }

schema! {
    /// The schema of the order of a list of agents.
    AgentOrder = string().enum_values(Some(["created", "updated"]))
}

schema! {
    /// The schema of the order of a list of questions.
    QuestionOrder = string().enum_values(Some(["created", "due"]))
}

schema! {
    /// The schema of a chat's id: its orchestrator's.
    ChatId = agent()
}

schema! {
    /// The schema of a goal's id: its agent's.
    GoalId = agent()
}

schema! {
    /// The schema of the name of a secret.
    SecretName = string().pattern(Some(format!("^[A-Za-z0-9_-]{{1,{}}}$", entourage_types::SecretName::LONGEST)))
}

schema! {
    /// The schema of the id by which a caller knows an agent: one that the caller gave it, or its own.
    ExplorerAgentId = string()
}

schema! {
    /// The schema of a sub-agent's id.
    SubAgentId = agent()
}

schema! {
    /// The schema of the number of a project.
    ProjectNumber = number()
}

schema! {
    /// The schema of the number of a document.
    DocumentNumber = number()
}

schema! {
    /// The schema of the number of a chat about a project.
    ProjectChatNumber = number()
}

schema! {
    /// The schema of what is recorded before a call.
    Intent = ObjectBuilder::new()
        .property("effect", string().enum_values(Some(entourage_types::Effect::WORDS.iter().copied())))
        .required("effect")
        .property("edited", ObjectBuilder::new().schema_type(Type::Object))
}

schema! {
    /// The schema of a time.
    Time = string().format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
}

schema! {
    /// The schema of a day.
    Day = string().format(Some(SchemaFormat::KnownFormat(KnownFormat::Date)))
}

schema! {
    /// The schema of an amount of money.
    Cost = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)))
        .minimum(Some(0))
        .description(Some("Billionths of a US dollar, so that sums are exact."))
}

// A derived schema takes no other type for the field of a tuple, so the variants with ids are repeated here.
/// The effect of an output on the run of its call.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
pub enum OutputEffect {
    /// The run's answer, which ends it.
    Answer(String),
    /// A message to the user.
    Said(String),
    /// An output guardrail refused the text.
    Refused {
        /// The name of the guardrail.
        by: String,
    },
    /// The id of the task that another agent works on, or has worked on.
    Delegated(TaskId),
    /// The id of the question to the user; the output's text is the answer.
    Asked(QuestionId),
    /// The id of the question that the user declined to answer.
    Declined(QuestionId),
    /// The id of the question that the user did not answer in time.
    Expired(QuestionId),
}

fn agent() -> ObjectBuilder {
    string().pattern(Some(format!("^{}_[0-9a-f]{{32}}$", entourage_types::AgentId::PREFIX)))
}

/// Larger ones are not given.
fn number() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(0)).maximum(Some(i64::MAX as f64))
}

fn string() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}
