//! What was found, with what goes beyond the nouns themselves.

use entourage_api::{ActiveAgent, Child, Event, EventPage, Question, Subtree};
use entourage_engine as engine;
use entourage_types::ShownStatus;

pub(crate) fn child(engine::Child { agent, subtree: sums }: engine::Child) -> Child {
    Child { agent: agent.into(), subtree: subtree(&sums) }
}

pub(crate) fn subtree(engine::Subtree { agents, open_questions, used }: &engine::Subtree) -> Subtree {
    let counted = ShownStatus::ALL.into_iter().zip(agents).filter(|(_, count)| **count > 0);
    let agents = counted.map(|(status, count)| (status.to_string(), *count)).collect();
    Subtree { agents, open_questions: *open_questions, used: (*used).into() }
}

pub(crate) fn asked(engine::AskedQuestion { question, path, because }: engine::AskedQuestion) -> Question {
    Question { path, because, ..question.into() }
}

pub(crate) fn event_page(page: engine::EventPage) -> EventPage {
    let engine::EventPage { events, earlier, later, first, last } = page;
    EventPage { data: events.into_iter().map(Event::from).collect(), earlier, later, first, last }
}

pub(crate) fn active(node: engine::ActiveNode) -> ActiveAgent {
    let engine::ActiveNode { agent, step, question, retry_due, used, subtree: sums } = node;
    let engine::ActiveAgent { agent, name, parent, content, comment, state, subagents, metadata } = agent;
    ActiveAgent {
        agent: agent.into(),
        name,
        parent_name: parent,
        subagents,
        state,
        content,
        comment,
        metadata,
        step: step.map(|step| step.to_string()),
        question: question.map(Question::from),
        retry_due,
        used: used.into(),
        subtree: subtree(&sums),
    }
}
