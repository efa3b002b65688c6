//! How a kind names tools: one by its name, all of a connected server by `mcp__server`, those of all
//! servers by `mcp`, and any others by `*` for any characters and `?` for one.

use entourage_types::is_tool_of;

/// Whether a name in a kind's file denotes this tool.
#[must_use]
pub fn names(pattern: &str, tool: &str) -> bool {
    let of_server = |server: &str| tool == server || is_tool_of(server, tool);
    (pattern == "mcp" && tool.contains("__"))
        || pattern.strip_prefix("mcp__").is_some_and(of_server)
        || fits(pattern, tool)
}

/// Whether a name in a kind's file may denote a tool of this server, whichever tools the server has.
pub(crate) fn may_name_tool_of(pattern: &str, server: &str) -> bool {
    let tools = format!("{server}__");
    let literal = pattern.strip_prefix("mcp__").unwrap_or(pattern);
    let fixed = literal.split(['*', '?']).next().unwrap_or_default();
    pattern == "mcp"
        || literal == server
        || fixed.starts_with(&tools)
        || fixed != literal && tools.starts_with(fixed)
}

/// Whether a pattern matches a whole text.
pub(crate) fn fits(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut at, mut seen) = (0, 0);
    // The position of the last `*`, and how far it reaches.
    let mut star: Option<(usize, usize)> = None;
    while seen < text.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, seen));
                at += 1;
            }
            Some(&one) if one == '?' || one == text[seen] => {
                at += 1;
                seen += 1;
            }
            // The last `*` reaches one character further.
            _ => match &mut star {
                Some((after, reach)) => {
                    *reach += 1;
                    (at, seen) = (*after + 1, *reach);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|&rest| rest == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_only_the_whole_text() {
        for (pattern, text) in [
            ("*", ""),
            ("bank__*", "bank__pay"),
            ("*@example.com", "ann@example.com"),
            ("a*b*c", "aXbbYc"),
            ("?ü", "aü"),
            ("**a", "ba"),
            ("", ""),
        ] {
            assert!(fits(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [
            ("bank", "bank__pay"),
            ("*@example.com", "ann@example.com.evil"),
            ("?", ""),
            ("a*b", "acc"),
            ("", "a"),
        ] {
            assert!(!fits(pattern, text), "{pattern} {text}");
        }
    }

    #[test]
    fn an_mcp_name_matches_all_tools_of_one_or_of_every_server() {
        assert!(names("mcp", "bank__pay") && !names("mcp", "read_file"));
        assert!(names("mcp__bank", "bank__pay") && !names("mcp__bank", "bank2__pay"));
        assert!(names("mcp__bank__pay", "bank__pay") && names("read_*", "read_file"));
    }
    #[test]
    fn a_pattern_is_matched_to_a_server_before_its_tools_are_known() {
        for pattern in ["mcp", "mcp__bank", "mcp__bank__pay", "bank__pay", "bank__*", "b*", "*", "?ank__pay"]
        {
            assert!(may_name_tool_of(pattern, "bank"), "{pattern}");
        }
        for pattern in ["bank2__pay", "mcp__other", "read_*", "wait", "banker"] {
            assert!(!may_name_tool_of(pattern, "bank"), "{pattern}");
        }
    }
}
