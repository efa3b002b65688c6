//! Whether a server is given credentials where no placeholder can stand: those are the operator's.

use url::Url;

use super::{
    McpTransport,
    secrets::{in_address, in_arguments},
};

/// Whether the arguments or the address of a server have what is struck from texts as a secret, or an address there names
/// a user.
pub(super) fn has_credentials(transport: &McpTransport) -> bool {
    let is_given = |found: Vec<String>| found.iter().any(|secret| !secret.is_empty());
    let names_user = |text: &str| Url::parse(text).is_ok_and(|url| !url.username().is_empty());
    match transport {
        McpTransport::Command { args, .. } => {
            let in_option = |arg: &String| arg.split_once('=').is_some_and(|(_, value)| names_user(value));
            is_given(in_arguments(args)) || args.iter().any(|arg| names_user(arg) || in_option(arg))
        }
        McpTransport::Url { url, .. } => is_given(in_address(url)) || names_user(url),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::McpSettings;

    fn is_of_owners(settings: serde_json::Value) -> bool {
        serde_json::from_value::<McpSettings>(settings).unwrap().is_of_owners()
    }

    #[test]
    fn what_has_credentials_in_its_arguments_or_its_address_is_the_operators() {
        let env = json!({ "SECRET": "${secret:own}" });
        let command =
            |args: &[&str]| is_of_owners(json!({ "name": "a", "command": "c", "args": args, "env": env }));
        assert!(command(&[]) && command(&["--port", "80", "http://host/path", "--verbose"]));
        for args in [
            &["--token", "OPARGTOKEN123456"][..],
            &["--api-key=OPARGTOKEN123456"],
            &["http://host/?key=OPARGTOKEN123456"],
            &["--url=http://user:OPARGTOKEN123456@host/"],
            &["http://OPARGTOKEN123456@host/"],
        ] {
            assert!(!command(args), "{args:?}");
        }
        let address = |url: &str| {
            let headers = json!({ "Authorization": "Bearer ${secret:own}" });
            is_of_owners(json!({ "name": "a", "url": url, "headers": headers }))
        };
        assert!(address("http://host/path"));
        for url in
            ["http://user:pass@host/", "http://host/?key=OPARGTOKEN123456", "http://OPARGTOKEN123456@host/"]
        {
            assert!(!address(url), "{url}");
        }
    }
}
