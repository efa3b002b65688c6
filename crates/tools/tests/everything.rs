//! An MCP server with a tool for each success and failure.

use std::{fs, future::pending, process::Stdio, sync::Arc};

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject, ListToolsResult,
        PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
    },
    service::RequestContext,
};
use serde_json::{Value, json};

/// The server.
#[derive(Debug, Clone, Default)]
pub(crate) struct Everything;

/// A tool that takes one optional text.
fn tool(name: &'static str, annotations: ToolAnnotations) -> Tool {
    let Value::Object(schema) = json!({
        "type": "object",
        "properties": { "text": { "type": "string" } },
        "additionalProperties": false,
    }) else {
        unreachable!("an object")
    };
    Tool::new(name, format!("The {name} tool."), Arc::new(schema)).with_annotations(annotations)
}

/// A tool whose schema expands to millions of validations.
fn doubling() -> Tool {
    let next = |n: usize| json!({ "$ref": format!("#/$defs/{n}") });
    let mut definitions: JsonObject =
        (0..24).map(|n| (n.to_string(), json!({ "anyOf": [next(n + 1), next(n + 1)] }))).collect();
    definitions.insert("24".to_owned(), json!({ "type": "number" }));
    let mut doubling = tool("doubling", ToolAnnotations::new());
    let schema = [("properties", json!({ "text": next(0) })), ("$defs", definitions.into())];
    doubling.input_schema =
        Arc::new(schema.map(|(key, value)| (key.to_owned(), value)).into_iter().collect());
    doubling
}

impl ServerHandler for Everything {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let plain = ToolAnnotations::new;
        let of_type = |name, word| {
            let mut tool = tool(name, plain());
            tool.input_schema = Arc::new(JsonObject::from_iter([("type".to_owned(), json!(word))]));
            tool
        };
        Ok(ListToolsResult::with_all_items(vec![
            tool("echo", plain().read_only(true)),
            tool("structured", plain()),
            tool("picture", plain()),
            of_type("nothing", "object"),
            tool("fail", plain()),
            tool("refuse", plain()),
            tool("life", plain().read_only(true)),
            tool("variable", plain()),
            tool("die", plain().idempotent(true).destructive(true)),
            tool("key", plain().idempotent(true)),
            tool("die once", plain().read_only(true)),
            tool("spawn", plain()),
            tool("hang", plain()),
            of_type("broken", "nonsense"),
            doubling(),
            tool("nested", plain().read_only(true)),
        ]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let text = arguments.get("text").and_then(Value::as_str).unwrap_or_default();
        let says = |text: String| CallToolResult::success(vec![ContentBlock::text(text)]);
        let result = match request.name.as_ref() {
            "echo" => says(text.to_owned()),
            "structured" => {
                let mut result = CallToolResult::structured(json!({ "length": text.len() }));
                result.content.clear();
                result
            }
            "picture" => CallToolResult::success(vec![
                ContentBlock::text("look"),
                ContentBlock::image("aGk=", "image/png"),
                ContentBlock::embedded_text("memo://1", "a memo"),
            ]),
            "nothing" => CallToolResult::success(vec![]),
            "nested" => CallToolResult::structured((0..200).fold(json!(0), |inner, _| json!([inner]))),
            "fail" => CallToolResult::error(vec![ContentBlock::text("the disk is full")]),
            "refuse" => return Err(ErrorData::invalid_params("no such thing", None)),
            "life" => says(std::process::id().to_string()),
            "variable" => says(std::env::var(text).unwrap_or_else(|_| "[unset]".to_owned())),
            "key" => {
                let key = context.meta.get("entourage/idempotency-key").and_then(Value::as_str);
                says(key.unwrap_or("[none]").to_owned())
            }
            "die" => std::process::exit(1),
            "die once" => match fs::File::create_new(text) {
                Ok(_) => std::process::exit(1),
                Err(_) => says("a second life".to_owned()),
            },
            "spawn" => says(spawn(text).map_err(|error| ErrorData::internal_error(error.to_string(), None))?),
            "hang" => {
                // Begun, then cancelled: the test waits for a file for each.
                let _ = fs::write(format!("{text}/begun"), "");
                context.ct.cancelled().await;
                let _ = fs::write(format!("{text}/cancelled"), "");
                pending().await
            }
            _ => return Err(ErrorData::invalid_params("unknown tool", None)),
        };
        Ok(CallToolResponse::Complete(result))
    }
}

/// Starts a grandchild that survives until it is killed, and holds the pipe at this path open while it runs.
fn spawn(pipe: &str) -> std::io::Result<String> {
    let pipe = fs::File::options().write(true).open(pipe)?;
    let child = std::process::Command::new("sleep")
        .arg("1000")
        .stdin(Stdio::null())
        .stdout(Stdio::from(pipe))
        .stderr(Stdio::null())
        .spawn()?;
    Ok(child.id().to_string())
}
