//! Tests of when a tree rests, and of the descriptions of what its agents do.

use entourage_api::{TaskResult, ToolCall};
use entourage_types::{About, OnEnd, Owner, StepStatus, Time};
use serde_json::json;

use super::*;

/// A tree with hand-made events.
struct HandmadeTree {
    root: AgentId,
    child: AgentId,
    progress: Progress,
}

impl HandmadeTree {
    fn new() -> Self {
        let (root, child) = (AgentId::new(), AgentId::new());
        let mut story = Self { root, child, progress: Progress::new(root) };
        let made = EventBody::AgentCreated { parent: None, kind: "boss".into(), title: String::new() };
        story.tell(root, made);
        story.progress.begins();
        story
    }

    fn tell(&mut self, agent: AgentId, body: EventBody) {
        let seq = self.progress.last + 1;
        self.progress.event(&Event { root: self.root, seq, agent, at: Time::now(), body });
    }

    fn item(&mut self, agent: AgentId, body: ItemBody) {
        let item = Item { agent, seq: 0, run: RunId::new(), session: 1, at: Time::now(), step: None, body };
        self.tell(agent, EventBody::Item { item_seq: 0, item: Some(Box::new(item)) });
    }

    fn reads_message(&mut self, task: Option<TaskId>) {
        let from = match task {
            Some(_) => Author::Agent { id: self.child, kind: "worker".into() },
            None => Author::User,
        };
        self.item(self.root, message(from, task, None));
    }

    fn reads_post(&mut self, post: PostId) {
        self.item(self.root, message(Author::User, None, Some(post)));
    }

    fn run(&mut self, status: ShownStatus) {
        let (usage, cost) = (entourage_api::Usage::default(), Cost::default());
        let stop_reason = status.is_terminal().then_some(StopReason::Completed);
        let run = RunId::new();
        let body = EventBody::Run { run, status, waiting_on: None, stop_reason, error: None, usage, cost };
        self.tell(self.root, body);
    }

    fn sets_status(&mut self, agent: AgentId, status: ShownStatus) {
        let waiting_on = (status == ShownStatus::Waiting).then_some(WaitingOn::Agent);
        self.tell(agent, EventBody::AgentStatus { status, waiting_on, stop_reason: None });
    }

    fn task(&mut self, call: CallId, wait: bool) -> Task {
        let on_end = if wait { OnEnd::Answer } else { OnEnd::Wake };
        Task {
            id: TaskId::new(),
            owner: Owner::local(),
            root: self.root,
            from: self.root,
            to: self.child,
            call,
            on_end,
            group: None,
            kind: "worker".into(),
            instruction: "…".into(),
            title: String::new(),
            origin: None,
            status: Status::Queued,
            result: None,
            post: None,
            run: None,
            created: Time::now(),
            updated: Time::now(),
        }
    }

    fn tell_task(&mut self, task: &Task) {
        self.tell(self.child, EventBody::Task { task: Box::new(task.clone()) });
    }
}

fn message(from: Author, task: Option<TaskId>, post: Option<PostId>) -> ItemBody {
    ItemBody::Message { from, text: "…".into(), task, ended: None, post, options: None }
}

#[test]
fn a_tree_rests_only_once_every_message_to_it_is_done() {
    let mut story = HandmadeTree::new();
    assert_eq!(story.progress.rest(), None, "the first message is unread");
    story.reads_message(None);
    assert_eq!(story.progress.rest(), None, "it was read, so there is work");
    story.run(ShownStatus::Running);
    story.sets_status(story.root, ShownStatus::Running);
    story.run(ShownStatus::Succeeded);
    assert_eq!(story.progress.rest(), None, "the agent's own event is still to come");
    story.sets_status(story.root, ShownStatus::Succeeded);
    assert_eq!(story.progress.rest(), Some(Standstill::Ended(Status::Succeeded)));

    let (first, second) = (PostId::new(), PostId::new());
    story.progress.sent(first);
    story.progress.sent(second);
    story.reads_post(first);
    story.run(ShownStatus::Succeeded);
    assert_eq!(story.progress.rest(), None, "the second of two messages is unread");
    story.reads_post(PostId::new());
    story.run(ShownStatus::Succeeded);
    assert_eq!(story.progress.rest(), None, "what somebody else said is not the second");
    story.reads_post(second);
    story.run(ShownStatus::Succeeded);
    assert_eq!(
        story.progress.rest(),
        Some(Standstill::Ended(Status::Succeeded)),
        "no change of status to tell"
    );
}

#[test]
fn a_tree_does_not_rest_until_a_background_result_is_read() {
    let mut story = HandmadeTree::new();
    story.reads_message(None);
    let mut task = story.task(CallId::new(), false);
    let made =
        EventBody::AgentCreated { parent: Some(story.root), kind: "worker".into(), title: "…".into() };
    story.tell(story.child, made);
    story.tell_task(&task);
    story.sets_status(story.root, ShownStatus::Succeeded);
    assert_eq!(story.progress.rest(), None, "the worker has not begun yet");
    story.sets_status(story.child, ShownStatus::Running);
    assert_eq!(story.progress.rest(), None);
    (task.status, task.result) = (Status::Succeeded, Some(TaskResult::Text("done".into())));
    story.tell_task(&task);
    story.sets_status(story.child, ShownStatus::Succeeded);
    assert_eq!(story.progress.rest(), None, "the result is in the inbox");
    story.reads_message(Some(task.id));
    story.sets_status(story.root, ShownStatus::Running);
    story.sets_status(story.root, ShownStatus::Succeeded);
    assert_eq!(story.progress.rest(), Some(Standstill::Ended(Status::Succeeded)));
}

/// A dropped task has two events, from the agent that dropped it and from the agent that worked on it, and no
/// agent gets its result.
#[test]
fn a_tree_rests_without_waiting_for_a_dropped_task() {
    let mut story = HandmadeTree::new();
    story.reads_message(None);
    let call = CallId::new();
    let mut task = story.task(call, true);
    story.tell_task(&task);
    story.sets_status(story.root, ShownStatus::Waiting);
    task.status = Status::Cancelled;
    story.tell_task(&task);
    story.sets_status(story.root, ShownStatus::Failed);
    task.run = Some(RunId::new());
    story.tell_task(&task);
    assert_eq!(story.progress.rest(), Some(Standstill::Ended(Status::Failed)));
}

/// An agent that has an answer continues, also before an event shows it.
#[test]
fn a_tree_does_not_rest_while_an_answer_is_unread() {
    let mut story = HandmadeTree::new();
    story.reads_message(None);
    let created =
        EventBody::AgentCreated { parent: Some(story.root), kind: "worker".into(), title: "…".into() };
    story.tell(story.child, created);
    let question = Question {
        id: QuestionId::new(),
        owner: Owner::local(),
        root: story.root,
        agent: story.child,
        kind: "worker".into(),
        run: RunId::new(),
        call: CallId::new(),
        task: None,
        about: About::Information,
        text: "Which?".into(),
        options: Vec::new(),
        proposal: None,
        due: None,
        otherwise: None,
        status: QuestionStatus::Open,
        answer: None,
        path: Vec::new(),
        because: None,
        created: Time::now(),
        updated: Time::now(),
    };
    story.tell(story.child, EventBody::Question { question: Box::new(question.clone()) });
    let waiting_on = Some(WaitingOn::User);
    story.tell(
        story.child,
        EventBody::AgentStatus { status: ShownStatus::Waiting, waiting_on, stop_reason: None },
    );
    story.sets_status(story.root, ShownStatus::Succeeded);
    assert_eq!(story.progress.rest(), Some(Standstill::Asks(vec![question.clone()])));
    story.progress.answered(question.id);
    assert_eq!(story.progress.rest(), None, "no event tells of it yet");
    let answered = Question { status: QuestionStatus::Answered, ..question };
    story.tell(story.child, EventBody::Question { question: Box::new(answered) });
    assert_eq!(story.progress.rest(), None, "it has yet to read the answer");
}

#[test]
fn progress_describes_what_an_agent_is_doing() {
    let mut story = HandmadeTree::new();
    story.reads_message(None);
    let doing = |story: &HandmadeTree| story.progress.doing(&story.progress.members()[0]);
    assert_eq!(doing(&story), "thinks");
    let arguments = json!({ "recipient": "worker", "message": "Count the sheep" });
    let call = ToolCall { id: CallId::new(), tool: "send_message".into(), arguments };
    let turn = ItemBody::Turn { text: String::new(), calls: vec![call.clone()], used: None, asked: None };
    story.item(story.root, turn);
    assert_eq!(doing(&story), "send_message worker");
    let task = story.task(call.id, true);
    story.tell_task(&task);
    story.sets_status(story.root, ShownStatus::Waiting);
    assert_eq!(doing(&story), "waits for worker");
    let output = ItemBody::Output {
        call: call.id,
        tool: call.tool,
        text: "12".into(),
        error: false,
        effect: None,
        details: None,
    };
    story.item(story.root, output);
    story.sets_status(story.root, ShownStatus::Running);
    assert_eq!(doing(&story), "thinks");
}

#[test]
fn a_retrying_agent_shows_its_countdown_and_the_error() {
    let mut story = HandmadeTree::new();
    let due = Time::now() + std::time::Duration::from_millis(7_900);
    let (key, state, error) = ("model/1".into(), StepStatus::Retry, Some("m: HTTP 500".into()));
    let step = EventBody::Step {
        run: RunId::new(),
        key,
        state,
        due: Some(due),
        attempt: Some(3),
        class: None,
        error,
    };
    story.tell(story.root, step);
    let waiting_on = Some(WaitingOn::Retry);
    story.tell(
        story.root,
        EventBody::AgentStatus { status: ShownStatus::Waiting, waiting_on, stop_reason: None },
    );
    let doing = story.progress.doing(story.progress.member(story.root).expect("there"));
    assert!(
        ["trying again in 8 s (m: HTTP 500)", "trying again in 7 s (m: HTTP 500)"].contains(&doing.as_str()),
        "{doing}"
    );
}
