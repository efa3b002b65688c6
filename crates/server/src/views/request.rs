//! What a model received.

use entourage_api::{ModelMessage, ModelRequest, OfferedTool, PrefixBreak, RequestBefore, ToolCall};
use entourage_engine::{ModelMessage as Message, ModelRequest as Request, RebuiltRequest};
use entourage_types::ToolSpec;

pub(crate) fn request(rebuilt: RebuiltRequest) -> ModelRequest {
    let RebuiltRequest { run, number, item, request, asked, doubt, before } = rebuilt;
    let may_call = !request.tools.is_empty() && !request.forbids_calls();
    let Request { model, system, messages, tools, one_call, output_schema, temperature, max_tokens, .. } =
        request;
    ModelRequest {
        run,
        number,
        agent: item.agent,
        item: item.seq,
        exact: doubt.is_none(),
        doubt,
        asked: asked.map(Into::into),
        before: before.map(request_before),
        model,
        system: system.to_string(),
        tools: tools.iter().map(tool).collect(),
        messages: messages.into_iter().map(message).collect(),
        may_call,
        one_call,
        output_schema: output_schema.map(|schema| (*schema).clone()),
        temperature,
        max_tokens,
    }
}

fn request_before(before: entourage_engine::RequestBefore) -> RequestBefore {
    let entourage_engine::RequestBefore { run, number, kept, messages, broken } = before;
    RequestBefore { run, number, kept, messages, broken: broken.map(prefix_break) }
}

fn prefix_break(broken: entourage_engine::PrefixBreak) -> PrefixBreak {
    match broken {
        entourage_engine::PrefixBreak::Model => PrefixBreak::Model,
        entourage_engine::PrefixBreak::Kind => PrefixBreak::Kind,
        entourage_engine::PrefixBreak::Tools => PrefixBreak::Tools,
        entourage_engine::PrefixBreak::Digest => PrefixBreak::Digest,
        entourage_engine::PrefixBreak::Window => PrefixBreak::Window,
    }
}

fn tool(ToolSpec { name, description, parameters, .. }: &ToolSpec) -> OfferedTool {
    OfferedTool { name: name.clone(), description: description.clone(), parameters: parameters.clone() }
}

fn message(message: Message) -> ModelMessage {
    match message {
        Message::User(text) => ModelMessage::User { text },
        Message::Notice(text) => ModelMessage::Notice { text },
        Message::Context(text) => ModelMessage::Context { text },
        Message::Assistant { text, calls } => {
            ModelMessage::Assistant { text, calls: calls.into_iter().map(ToolCall::from).collect() }
        }
        Message::Output { call, tool, text } => ModelMessage::Output { call, tool, text },
    }
}
